# SPDX-License-Identifier: MIT
"""What a session keeps at hand of its log, and how it gets that from a file.

In: events, as they are recorded or as an opened file holds them. Out: the
history, the last header, the numbers of all events that are no chunks. Refused
with ``SESSION``: a file that is no session, or is damaged before its last line.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, Mapping, Optional

from ..values.errors import LlmError
from .history import Entry, History, read_entry
from .lines import CHUNK, HEADER, START, Event, parse_line, to_event
from .storage import LogFile

FORMAT = 1
"""Written into ``session/start``; a file of another format is not touched."""

_FIRST_BYTES = b'{"seq":0,"time":'


@dataclass(frozen=True)
class Recovery:
    """What opening a session had to drop: one unfinished line at the end.

    Args:
        bytes_dropped: its length, 1 or more.
        line: its number in the file, from 1.
    """

    bytes_dropped: int
    line: int


class LogState:
    """The log's events so far, digested."""

    def __init__(self) -> None:
        self.history = History()
        self.notes = array("q")  # numbers of the events that are no chunks
        self.header: Optional[Event] = None  # the last request/header
        self.resumed = False  # an older log was opened, and no header written since

    def digest(self, event: Event, entry: Optional[Entry]) -> None:
        """Take the next event that is no chunk, and what it means to the history."""
        self.notes.append(event.seq)
        self.history.push(entry)
        if event.type == HEADER:
            self.header, self.resumed = event, False


def load(file: LogFile, state: LogState) -> Optional[Recovery]:
    """Take up what an opened file holds, and cut off an unfinished last line.

    Returns:
        What was dropped, or None.
    Raises:
        LlmError: ``SESSION``, and the file is as it was, when it is no session log
            or is damaged before its last line; naming the line.
    """
    for line in file.stored():
        state.resumed = len(file.ends) > 0
        try:
            if not line.endswith(b"\n"):
                raise ValueError("it has no end")
            value = parse_line(line)
        except ValueError as exc:
            return _drop(file, line, exc)
        _accept(file, state, value)
        file.keep(line)
    state.resumed = len(file.ends) > 0
    return None


def _drop(file: LogFile, line: bytes, why: ValueError) -> Recovery:
    if file.size + len(line) < file.found:
        raise _damaged(file, why) from None
    if not file.size and not line.startswith(_FIRST_BYTES[: len(line)]):
        # Somebody's notes, given by mistake: what is no session must not be cut.
        raise LlmError(f"{file.path} is no session log", "SESSION")
    file.cut()
    return Recovery(len(line), len(file.ends) + 1)


def _accept(file: LogFile, state: LogState, value: Mapping[str, Any]) -> None:
    seq, kind, data = value["seq"], value["type"], value["data"]
    if seq != len(file.ends) or (seq == 0) != (kind == START):
        raise _damaged(file, ValueError(f"event {seq}, {kind}, is out of place"))
    if kind == START and data.get("format") != FORMAT:
        text = f"the session {file.path} has format {data.get('format')!r}, not {FORMAT}"
        raise LlmError(text, "SESSION")
    if kind == CHUNK:
        return
    event = to_event(value)
    try:
        entry = read_entry(event)
    except ValueError as exc:
        raise _damaged(file, exc) from None
    state.digest(event, entry)


def _damaged(file: LogFile, why: ValueError) -> LlmError:
    line = len(file.ends) + 1
    return LlmError(f"the session {file.path} is damaged in line {line}: {why}", "SESSION")
