# SPDX-License-Identifier: MIT
"""The lines of a session in memory.

In: whole lines. Out: the same lines by number. Nothing is refused.
"""

from __future__ import annotations

from array import array


class MemoryLines:
    """Lines in one growing buffer; each takes about nine bytes more than its text."""

    def __init__(self) -> None:
        self.ends = array("q")  # where each line ends; its length is the number of lines
        self._buffer = bytearray()

    def check_owner(self) -> None:
        """Do nothing: after a fork, parent and child each have their own copy."""

    def append(self, line: bytes, sync: bool) -> None:
        """Keep one more line."""
        end = (self.ends[-1] if self.ends else 0) + len(line)
        self._buffer[end - len(line) :] = line  # overwrites what an interrupted append left
        self.ends.append(end)

    def line(self, number: int) -> bytes:
        """Return the line with this number, from 0."""
        return bytes(self._buffer[self.ends[number - 1] if number else 0 : self.ends[number]])

    def saved(self) -> None:
        """Do nothing: a saved copy changes nothing here."""

    def close(self, sync: bool, look: bool = True) -> None:
        """Do nothing: there is no file to close."""
