# SPDX-License-Identifier: MIT
"""Separates ``<think>…</think>`` in content from the answer.

In: text deltas; a tag may be split between deltas. Out: (is_reasoning, text) pieces. Only the
start of a possible tag is held back, 7 characters at most; ``finish`` returns it as text. A
``</think>`` without a ``<think>`` stays text. Nothing is refused.
"""

from __future__ import annotations

from typing import List, Tuple

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkTags:
    """Splits content at think tags; ``push`` deltas, then ``finish``."""

    def __init__(self) -> None:
        self._held = ""  # the end of the last delta, while it may become a tag
        self._inside = False  # after an opening tag and before its closing tag

    def push(self, text: str) -> List[Tuple[bool, str]]:
        """Take a delta and return its pieces as (is_reasoning, text)."""
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
        """Return what was held back as a piece, if there is any."""
        held, self._held = self._held, ""
        return [(self._inside, held)] if held else []


def _possible_start(text: str, start: int, tag: str) -> int:
    for size in range(min(len(text) - start, len(tag) - 1), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0
