# SPDX-License-Identifier: MIT
"""A captured file on its way into the pipeline, and how far it has come.

In: a binary file. Out: its bytes in pieces, and the place the reading stands at. Nothing is
refused: what a file may hold is for the pipeline to judge, how much of it too.
"""

from __future__ import annotations

from typing import BinaryIO, Iterator, List, Tuple

from ..wire.sse import SseEvent

_BLOCK = 65536


class Tape:
    """A file as byte pieces, one line each, that knows how far it has come.

    How a body is cut changes nothing; a piece for each line lets the place of a failure be
    told to the line.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.raw: List[SseEvent] = []  # the pipeline appends every event
        self.size = 0  # bytes handed out
        self._taken = 0  # events that are no longer in ``raw``
        self._before = 0  # events there were when the last piece was handed out
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
        """Events so far."""
        return self._taken + len(self.raw)

    def take(self) -> List[Tuple[int, SseEvent]]:
        """Return the events that came since the last call, with their numbers from 1."""
        events = list(enumerate(self.raw, self._taken + 1))
        self._taken += len(self.raw)
        self.raw.clear()
        return events

    def place(self) -> str:
        """Return where in the file the reading stands, in words."""
        if self.events > self._before:
            return f"in event {self.events}, which ends at byte {self.size}"
        end = "the end, " if self._ended else ""
        return f"at {end}byte {self.size}, after event {self.events}"
