# SPDX-License-Identifier: MIT
"""The session log: what was asked, sent, shown and answered, in order and for good.

``Session`` is an append-only list of events in memory or in a JSON-lines file.
It records, recovers, and gives back the history a provider accepts. ``recorder`` writes
what a call of the runtime does. Refused with ``SESSION``: a second writer, a
damaged file, a disk that fails.
"""

from __future__ import annotations

from .events import Event
from .history import NOT_STARTED, OUTCOME_UNKNOWN
from .recorded import RecordedRequest
from .recorder import CALL_ENDS, CallRecorder
from .salvage import LeftOut, Salvaged
from .session import Session
from .state import Recovery

__all__ = [
    "CALL_ENDS", "CallRecorder", "Event", "LeftOut", "NOT_STARTED", "OUTCOME_UNKNOWN",
    "RecordedRequest", "Recovery", "Salvaged", "Session",
]
