# SPDX-License-Identifier: MIT
"""The append-only log under a session: it numbers events, writes them and reads them.

In: the type and data of an event, or a chunk. Out: its number, once its line is
written as durably as was asked for; all events by number. Refused with ``SESSION``:
a write by a forked child, after closing, or to a failing disk.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import (
    Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union,
)

from ..values.chunks import StreamChunk
from ..values.errors import LlmError
from ..values.masking import mask_config
from . import lines
from .events import Event, Events
from .handle import write_new
from .history import Entry, read_entry
from .lines import encode_chunk, encode_given
from .memory import MemoryLines
from .state import FORMAT, LogState, Recovery, load, read_note
from .storage import LogFile, Sync, Write

Unnumbered = Tuple[bytes, bool, Optional[Event], Optional[Entry]]
"""The body of an event and whether to sync it. If it is not a chunk: the event, and what it
adds to the history."""

Log = TypeVar("Log", bound="EventLog")

DURABILITY = ("os", "turn", "event")

_SYNCED = frozenset((lines.HEADER, lines.CONTEXT, lines.TOOL_START, lines.TURN_END))
"""Types that ``turn`` syncs at once: those recorded before a request or a tool starts, and
the end of a turn."""


class _Own:
    """What each process has of its own, a forked child too: a lock, and what it guards."""

    __slots__ = ("lock", "state", "taken", "waiting", "busy", "closing")

    def __init__(self, state: LogState, taken: int) -> None:
        # Reentrant, because the garbage collector may run a finaliser while this thread
        # records, and the finaliser of an abandoned stream records the end of its turn.
        self.lock = threading.RLock()
        self.state = state
        self.taken = taken  # how many of the log's lines are in the state
        self.waiting: List[Unnumbered] = []
        self.busy: Optional[int] = None  # the number of the event being written
        self.closing = False  # close() was called while an event was being written


class EventLog:
    """An append-only list of events, in memory or in a file."""

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
        self._owns: Dict[int, _Own] = {os.getpid(): _Own(LogState(), 0)}  # by process
        self._lines: Union[MemoryLines, LogFile] = MemoryLines()
        if path is not None:
            self._lines = LogFile(path, write, fsync)
        try:
            self._begin(about)
        except BaseException:
            self._lines.close(False, look=False)
            raise

    def chunk(self, chunk: StreamChunk) -> int:
        """Record one chunk, before the consumer sees it.

        Raises:
            LlmError: ``SESSION`` when the chunk may be missing from the log.
        """
        return self._append(encode_chunk(chunk), self._each)

    @property
    def events(self) -> Events:
        """All events by number; each is read from the log when it is asked for."""
        return Events(self, self._read)

    def __len__(self) -> int:
        return len(self._lines.ends)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def save_as(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write the events so far into a new file, which ``Session.open`` can continue.

        This log stays open, and later events are written only to it.

        Args:
            path: the new file, created with mode 0600 and synced to the disk.
        Raises:
            LlmError: ``SESSION`` when the new file exists already or cannot be written, or
                when this log is closed or its file was overwritten.
        """
        with self._own().lock:
            write_new(os.fsdecode(path), map(self._line, range(len(self))))
            self._lines.saved()

    def close(self) -> None:
        """Close the file and release its lock; closing again does nothing.

        Raises:
            LlmError: ``SESSION`` when the last lines could not be synced to the disk, or
                when somebody else removed, replaced or changed the file. In the second case
                the events can still be read and saved with ``save_as``, and a second
                ``close`` closes the file.
        """
        own = self._own()
        with own.lock:
            if own.busy is not None:
                own.closing = True
                return
            try:
                self._write_waiting(own)
            finally:
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
            own = self._own()
            self.recovered = load(file, own.state)
            own.taken = len(self)
        if not len(self):
            self._record(lines.START, {**mask_config(about or {}), "format": FORMAT})
            if file is not None and self._durability != "os":
                file.sync_folder()

    def _record(
        self,
        kind: str,
        data: Mapping[str, Any],
        encode: Callable[[str, Mapping[str, Any]], bytes] = encode_given,
    ) -> int:
        # Keep the event as reading its line gives it: the same as after a restart.
        body = encode(kind, data)
        event = lines.parse_body(body)
        sync = self._each or (self._durability == "turn" and kind in _SYNCED)
        return self._append(body, sync, event, read_entry(event))

    def _append(
        self, body: bytes, sync: bool, event: Optional[Event] = None, entry: Optional[Entry] = None
    ) -> int:
        """Write an event and return its number.

        A finaliser may record an event while this thread is writing another one. Its event
        is written directly after that one, and its number is returned already.
        """
        own = self._own()
        self._lines.check_owner()
        with own.lock:
            if own.busy is not None:
                own.waiting.append((body, sync, event, entry))
                return own.busy + len(own.waiting)
            if own.waiting:  # an interrupt came before they were written
                self._write_waiting(own)
            try:
                seq = self._write(own, body, sync, event, entry)
                if own.waiting:
                    self._write_waiting(own)
            finally:
                if own.closing:
                    own.closing = False
                    self.close()
        return seq

    def _write_waiting(self, own: _Own) -> None:
        while own.waiting:
            self._write(own, *own.waiting.pop(0))

    def _write(
        self, own: _Own, body: bytes, sync: bool, event: Optional[Event], entry: Optional[Entry]
    ) -> int:
        seq = own.busy = len(self._lines.ends)
        try:
            now = float(self._clock())
            self._lines.append(lines.stamp(seq, now, body), sync)
            if event is not None:
                own.state.digest(replace(event, seq=seq, time=now), entry)
            own.taken = seq + 1
        finally:
            own.busy = None
        return seq

    def _read(self, seq: int) -> Event:
        with self._own().lock:
            line = self._lines.line(seq)
        with self._reading(seq):
            return lines.to_event(lines.parse_line(line))

    def _line(self, seq: int) -> bytes:
        line = self._lines.line(seq)
        with self._reading(seq):
            if lines.parse_line(line)["seq"] != seq or not line.endswith(b"\n"):
                raise ValueError("another line is in its place")
        return line

    @contextmanager
    def _reading(self, seq: int) -> Iterator[None]:
        try:
            yield
        except ValueError as exc:
            text = f"event {seq} of the session {self.path or 'in memory'} cannot be read: {exc}"
            raise LlmError(text, "SESSION") from None

    @property
    def _state(self) -> LogState:
        """The state after all events so far."""
        own = self._own()
        with own.lock:
            if own.busy is None:
                self._take_up(own)
            return own.state

    def _own(self) -> _Own:
        return self._owns.get(os.getpid()) or self._forked()

    def _forked(self) -> _Own:
        """Make a new lock for a forked child: a thread of the parent may have held the old one."""
        last = list(self._owns.values())[-1]
        own = _Own(last.state, last.taken)
        self._take_up(own)
        return self._owns.setdefault(os.getpid(), own)

    def _take_up(self, own: _Own) -> None:
        """Rebuild the state if an interrupt or a fork kept it from the last events."""
        size = len(self)
        if own.taken == size:
            return
        state = LogState(own.state.opened)
        for seq in range(size):
            note = read_note(lines.parse_line(self._lines.line(seq)))
            if note is not None:
                state.digest(*note)
        own.state, own.taken = state, size
