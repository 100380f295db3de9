# SPDX-License-Identifier: MIT
"""The provider-neutral runtime: a call is resolved, frozen, recorded, dispatched once.

``registry``: which adapter answers for which route. ``prepared``: one call, frozen,
dispatched once. ``running``: attempts of a call under a retry policy, and their record.
``http``: the adapter for providers asked over HTTP, and its settings. ``headers``: what
goes on the wire beside the body, the key among it. ``attempt``: one dispatch over HTTP.
``secrets``: what no text may show. ``carried``: where a caller's HTTP session and proxies
hold more of these.
"""

from __future__ import annotations

from .http import Credential, HttpAdapter, HttpSettings, LlmAdapter
from .prepared import NO_RETRY, Middleware, PreparedCall
from .recording import CALL_ENDS
from .registry import AdapterHandle, LlmRuntime
from .running import RunningCall

__all__ = [
    "CALL_ENDS", "NO_RETRY", "AdapterHandle", "Credential", "HttpAdapter", "HttpSettings",
    "LlmAdapter", "LlmRuntime", "Middleware", "PreparedCall", "RunningCall",
]
