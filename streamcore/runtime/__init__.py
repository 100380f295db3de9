# SPDX-License-Identifier: MIT
"""The runtime for any provider: it resolves, freezes and records a call, and sends it once.

``registry``: which adapter answers for which route. ``prepared``: one call, frozen,
recorded and dispatched once. ``running``: the attempts of a call under a retry policy.
``http``: the adapter for providers that are called over HTTP, and its settings.
``headers``: the headers of a request, the key among them. ``attempt``: one request over
HTTP. ``secrets``: the texts that nothing may show. ``carried``: the secrets that a caller's
HTTP session and proxies add.
"""

from __future__ import annotations

from .http import Credential, HttpAdapter, HttpSettings, LlmAdapter
from .prepared import Middleware, PreparedCall, Recorder, finish_of
from .registry import NO_RETRY, AdapterHandle, LlmRuntime
from .running import RunningCall

__all__ = [
    "NO_RETRY", "AdapterHandle", "Credential", "HttpAdapter", "HttpSettings", "LlmAdapter",
    "LlmRuntime", "Middleware", "PreparedCall", "Recorder", "RunningCall", "finish_of",
]
