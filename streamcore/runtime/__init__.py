# SPDX-License-Identifier: MIT
"""The provider-neutral runtime: a call is resolved, frozen, recorded, dispatched once.

``registry``: which adapter answers for which route. ``prepared``: one call, frozen,
recorded and dispatched once. ``running``: the attempts of a call under a retry policy.
``http``: the adapter for providers asked over HTTP, and its settings. ``headers``: what
goes on the wire beside the body, the key among it. ``attempt``: one dispatch over HTTP.
``secrets``: what no text may show. ``carried``: where a caller's HTTP session and proxies
hold more of these.
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
