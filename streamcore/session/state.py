# SPDX-License-Identifier: MIT
"""What a session keeps in memory of its log, and how that is loaded from a file.

In: events, as they are recorded or as an opened file holds them. Out: the history,
the last header, the numbers of all events that are not chunks. Refused with
``SESSION``: a file that is not a session, or is damaged before its last line.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

from ..values.errors import LlmError
from .events import Event
from .history import Entry, History, read_entry
from .lines import CHUNK, HEADER, START, TooDeep, parse_line, to_event
from .storage import LogFile

FORMAT = 1
"""Written into ``session/start``; a file of another format is refused and not changed."""

_FIRST_BYTES = b'{"seq":0,"time":'


@dataclass(frozen=True)
class Recovery:
    """The unfinished last line that opening a session cut off.

    Args:
        bytes_dropped: its length, 1 or more.
        line: its number in the file, from 1.
    """

    bytes_dropped: int
    line: int


class LogState:
    """What a session keeps in memory of its log's events so far.

    Args:
        opened: how many events the log had when it was opened; 0 for a new one.
    """

    def __init__(self, opened: int = 0) -> None:
        self.opened = opened
        self.history = History()
        self.notes = array("q")  # numbers of the events that are not chunks
        self.header: Optional[Event] = None  # the last request/header

    @property
    def resumed(self) -> bool:
        """Whether the log was opened with events in it, and has no header since."""
        return self.opened > 0 and (self.header is None or self.header.seq < self.opened)

    def digest(self, event: Event, entry: Optional[Entry]) -> None:
        """Add the next event that is not a chunk, and what it adds to the history."""
        self.notes.append(event.seq)
        self.history.push(entry)
        if event.type == HEADER:
            self.header = event


def load(file: LogFile, state: LogState) -> Optional[Recovery]:
    """Read the lines of an opened file into ``state``, and cut off an unfinished last line.

    Returns:
        What was cut off, or None.
    Raises:
        LlmError: ``SESSION`` when the file is not a session log, or is damaged before
            its last line. The message names the line, and the file is not changed.
    """
    for line in file.stored():
        try:
            if not line.endswith(b"\n"):
                raise ValueError("it has no line feed")
            value = parse_line(line)
        except TooDeep as exc:  # not an unfinished line: the line is deep, or the stack full
            raise _damaged(file, exc) from None
        except ValueError as exc:
            return _drop(file, line, exc)
        try:
            if value["seq"] != len(file.ends):
                raise ValueError(f"event {value['seq']}, {value['type']}, is out of place")
            note = read_note(value)
        except ValueError as exc:
            raise _damaged(file, exc) from None
        check_format(value, file.path)
        if note is not None:
            state.digest(*note)
        file.keep(line)
        state.opened = len(file.ends)
    return None


def read_note(value: Mapping[str, Any]) -> Optional[Tuple[Event, Optional[Entry]]]:
    """Return the event ``parse_line`` read, and what it adds to the history; None for a chunk.

    Raises:
        ValueError: when the data does not fit the type, or when event 0 is not the
            ``session/start`` or a later event is.
    """
    kind = value["type"]
    if (value["seq"] == 0) != (kind == START):
        raise ValueError(f"event {value['seq']}, {kind}, is out of place")
    if kind == CHUNK:
        return None
    event = to_event(value)
    return event, read_entry(event)


def check_format(value: Mapping[str, Any], path: str) -> None:
    """Refuse the start of a log of another format.

    Raises:
        LlmError: ``SESSION``.
    """
    found = value["data"].get("format")
    if value["type"] == START and found != FORMAT:
        raise LlmError(f"the session {path} has format {found!r}, not {FORMAT}", "SESSION")


def _drop(file: LogFile, line: bytes, why: ValueError) -> Recovery:
    if file.size + len(line) < file.found:
        raise _damaged(file, why) from None
    if not file.ends and not line.startswith(_FIRST_BYTES[: len(line)]):
        # Another kind of file, given by mistake, must not be cut.
        raise LlmError(f"{file.path} is not a session log", "SESSION")
    file.cut()
    return Recovery(len(line), len(file.ends) + 1)


def _damaged(file: LogFile, why: ValueError) -> LlmError:
    line = len(file.ends) + 1
    return LlmError(
        f"the session {file.path} is damaged in line {line}: {why}; Session.salvage() writes "
        "its whole records to a new file", "SESSION",
    )
