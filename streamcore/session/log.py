# SPDX-License-Identifier: MIT
"""The append-only log under a session: events are numbered, written, and read again.

In: the type and data of an event, or a chunk. Out: its number, once its line is
where the durability asked for says it is; all events by number. Refused: a
write by a forked child, a failing disk, an event recorded inside another.
"""

from __future__ import annotations

import os
import threading
import time
from typing import (
    Any, Callable, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union, overload,
)

from ..values.chunks import StreamChunk
from ..values.errors import LlmError
from ..values.masking import mask_config
from . import lines
from .history import read_entry
from .lines import Event, encode_chunk, encode_given
from .state import FORMAT, LogState, Recovery, load
from .storage import LogFile, MemoryLines, Sync, Write

Log = TypeVar("Log", bound="EventLog")

DURABILITY = ("os", "turn", "event")

_SYNCED = frozenset((lines.HEADER, lines.CONTEXT, lines.TOOL_START, lines.TURN_END))
"""What ``turn`` brings to the disk at once: what is recorded before something leaves for
the world (a request, a tool), and the end of a turn."""


class Events(Sequence[Event]):
    """All events of a session, read where they are kept, when they are asked for."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def __len__(self) -> int:
        return len(self._log)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> List[Event]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Event, List[Event]]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._log._read(number) for number in numbers]
        return self._log._read(numbers)


class EventLog:
    """Events in memory or in a file; ``Session`` says what they are."""

    def __init__(
        self,
        path: Union[str, os.PathLike[str], None] = None,
        *,
        durability: str = "turn",
        clock: Callable[[], float] = time.time,
        about: Optional[Mapping[str, Any]] = None,
        write: Write = os.write,
        fsync: Sync = os.fsync,
    ) -> None:
        if durability not in DURABILITY:
            raise ValueError(f"durability is one of {', '.join(DURABILITY)}, not {durability!r}")
        self.path = None if path is None else os.fspath(path)
        self.recovered: Optional[Recovery] = None
        self._durability, self._clock = durability, clock
        self._each = durability == "event"
        self._state = LogState()
        # A number is given and its line written as one step. The lock lets the same thread
        # in again only so that it can be refused: a collected generator may record anywhere.
        self._lock = threading.RLock()
        self._recording = False
        self._lines: Union[MemoryLines, LogFile] = MemoryLines()
        if path is not None:
            self._lines = LogFile(path, write, fsync)
        try:
            self._begin(about)
        except BaseException:
            self._lines.close(False)
            raise

    def chunk(self, chunk: StreamChunk) -> int:
        """Record one chunk, before the consumer sees it.

        Raises:
            LlmError: ``SESSION`` when it is not in the log for sure.
        """
        kept = self._lines
        kept.check_owner()
        with self._lock:
            if self._recording:
                raise _nested()
            self._recording = True
            try:
                seq = len(kept.ends)
                kept.append(encode_chunk(seq, self._clock(), chunk), self._each)
            finally:
                self._recording = False
        return seq

    @property
    def events(self) -> Events:
        """All events, by number: a sequence that reads them where they are kept."""
        return Events(self)

    def __len__(self) -> int:
        return len(self._lines.ends)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def close(self) -> None:
        """Give the file and its lock back; closing again does nothing.

        Raises:
            LlmError: ``SESSION`` when the last lines could not be brought to the disk.
        """
        self._lines.close(self._durability != "os")

    def __enter__(self: Log) -> Log:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path or 'in memory'}: {len(self)} events>"

    def _begin(self, about: Optional[Mapping[str, Any]]) -> None:
        file = self._lines if isinstance(self._lines, LogFile) else None
        if file is not None:
            self.recovered = load(file, self._state)
        if not len(self):
            self._record(lines.START, {**mask_config(about or {}), "format": FORMAT})
            if file is not None and self._durability != "os":
                file.sync_folder()

    def _record(
        self,
        kind: str,
        data: Mapping[str, Any],
        encode: Callable[[int, float, str, Mapping[str, Any]], bytes] = encode_given,
    ) -> int:
        self._lines.check_owner()
        with self._lock:
            if self._recording:
                raise _nested()
            self._recording = True
            try:
                # What is kept is what reading the line gives: the same as after a restart.
                line = encode(len(self), self._clock(), kind, data)
                event = lines.decode_line(line)
                entry = read_entry(event)
                synced = self._each or (self._durability == "turn" and kind in _SYNCED)
                self._lines.append(line, synced)
                self._state.digest(event, entry)
            finally:
                self._recording = False
        return event.seq

    def _read(self, seq: int) -> Event:
        with self._lock:
            line = self._lines.line(seq)
        return lines.decode_line(line)


def _nested() -> LlmError:
    return LlmError("an event cannot be recorded while one is being recorded", "SESSION")
