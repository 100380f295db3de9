# SPDX-License-Identifier: MIT
"""A captured file as pieces of bytes, with the place that was read last.

In: a binary file. Out: its bytes in pieces, and the place of the reading, in words. Nothing is
refused here: the pipeline checks the content and the size.
"""

from __future__ import annotations

from typing import BinaryIO, Iterator, List, Tuple

from ..wire.sse import SseEvent

_BLOCK = 65536


class Tape:
    """Iterates over a file line by line, and counts the bytes and events so far.

    The pipeline reads the same from any pieces. Pieces of one line make the place of a failure
    exact to the line.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.raw: List[SseEvent] = []  # the pipeline appends each event
        self.size = 0  # bytes handed out
        self._taken = 0  # events that are no longer in ``raw``
        self._before = 0  # count of events when the last piece was handed out
        self._ended = False
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        read = getattr(self._file, "read1", self._file.read)  # what is there, without waiting
        while True:
            block = read(_BLOCK)
            if not block:
                break
            for line in block.splitlines(True):
                self._before = self.events
                self.size += len(line)
                yield line
        self._before, self._ended = self.events, True

    @property
    def events(self) -> int:
        """The number of events so far."""
        return self._taken + len(self.raw)

    def take(self) -> List[Tuple[int, SseEvent]]:
        """Return the events that came since the last call, with their numbers from 1."""
        events = list(enumerate(self.raw, self._taken + 1))
        self._taken += len(self.raw)
        self.raw.clear()
        return events

    def place(self) -> str:
        """Return the place in the file that was read last, in words."""
        if self.events > self._before:
            return f"in event {self.events}, which ends at byte {self.size}"
        end = "the end, " if self._ended else ""
        return f"at {end}byte {self.size}, after event {self.events}"
