# SPDX-License-Identifier: MIT
"""``<think>…</think>`` in content, told apart from the answer.

In: text deltas, tags split over them anywhere. Out: (is_reasoning, text)
pieces. Only what may still become a tag is held back, 7 characters at most;
``finish`` gives it out as the text it was. An orphan ``</think>`` stays text.
"""

from __future__ import annotations

from typing import List, Tuple

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkTags:
    """Splits content at think tags; ``push`` deltas, then ``finish``."""

    def __init__(self) -> None:
        self._held = ""  # the end of the last delta, while it may become a tag
        self._inside = False  # between an opening tag and its closing one

    def push(self, text: str) -> List[Tuple[bool, str]]:
        """Take a delta and return its pieces, each with whether it is reasoning."""
        text = self._held + text
        pieces: List[Tuple[bool, str]] = []
        start = 0
        while True:
            tag = _CLOSE if self._inside else _OPEN
            found = text.find(tag, start)
            end = found if found >= 0 else len(text) - _possible_start(text, start, tag)
            if end > start:
                pieces.append((self._inside, text[start:end]))
            if found < 0:
                self._held = text[end:]
                return pieces
            self._inside = not self._inside
            start = found + len(tag)

    def finish(self) -> List[Tuple[bool, str]]:
        """Return what was held back, as the text it is."""
        held, self._held = self._held, ""
        return [(self._inside, held)] if held else []


def _possible_start(text: str, start: int, tag: str) -> int:
    for size in range(min(len(text) - start, len(tag) - 1), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0
