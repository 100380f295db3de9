# SPDX-License-Identifier: MIT
"""The lines of a session in memory.

In: whole lines. Out: the same lines by number. What ``LogFile`` refuses cannot happen here.
"""

from __future__ import annotations

from array import array


class MemoryLines:
    """Lines in one growing buffer: about nine bytes more than their text each."""

    def __init__(self) -> None:
        self.ends = array("q")  # where each line ends; its length is the number of lines
        self._buffer = bytearray()

    def check_owner(self) -> None:
        """A copy of memory belongs to whoever has it, after a fork too."""

    def append(self, line: bytes, sync: bool) -> None:
        """Keep one more line."""
        end = (self.ends[-1] if self.ends else 0) + len(line)
        self._buffer[end - len(line) :] = line  # what an interrupt left half done is overwritten
        self.ends.append(end)

    def line(self, number: int) -> bytes:
        """Return the line with this number, from 0."""
        return bytes(self._buffer[self.ends[number - 1] if number else 0 : self.ends[number]])

    def saved(self) -> None:
        """Nothing changes when the lines are somewhere else too."""

    def close(self, sync: bool, look: bool = True) -> None:
        """There is nothing to give back."""
