# SPDX-License-Identifier: MIT
"""The session log: what was asked, sent, shown and answered, in order and for good.

``Session`` is an append-only list of events in memory or in a JSON-lines file.
Who made the events is not its business: it records, recovers, and gives back
the history a provider accepts. Refused with ``SESSION``: a second writer, a
damaged file, a disk that fails.
"""

from __future__ import annotations

from .events import Event
from .history import NOT_STARTED, OUTCOME_UNKNOWN
from .recorded import RecordedRequest
from .salvage import LeftOut, Salvaged
from .session import Session
from .state import Recovery

__all__ = [
    "Event", "LeftOut", "NOT_STARTED", "OUTCOME_UNKNOWN", "RecordedRequest", "Recovery",
    "Salvaged", "Session",
]
