# SPDX-License-Identifier: MIT
"""The session log: an ordered record of what was asked, sent, shown and answered.

``Session`` is an append-only list of events in memory or in a JSON-lines file. It
records, recovers after a crash, and returns a history that a provider accepts.
``CallRecorder`` records a call of the runtime. Refused with ``SESSION``: a second
writer, a damaged file, a disk that fails.
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
