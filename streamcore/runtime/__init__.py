# SPDX-License-Identifier: MIT
"""The provider-neutral runtime: a call is resolved, frozen, recorded, dispatched once.

``registry``: which adapter answers for which route. ``prepared``: one call, frozen,
dispatched once. ``running``: attempts of a call under a retry policy, and their record.
"""

from __future__ import annotations

from .prepared import NO_RETRY, Middleware, PreparedCall
from .recording import CALL_ENDS
from .registry import AdapterHandle, LlmRuntime
from .running import RunningCall

__all__ = [
    "CALL_ENDS", "NO_RETRY", "AdapterHandle", "LlmRuntime", "Middleware", "PreparedCall",
    "RunningCall",
]
