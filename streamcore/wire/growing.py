# SPDX-License-Identifier: MIT
"""Text that grows by deltas, which may be cut in the middle of a character.

In: deltas, as parsed from JSON. Out: the same text with the halves of its characters
joined. Some providers split a surrogate pair between two deltas. A half that stays alone
becomes U+FFFD and is counted. Nothing is refused.
"""

from __future__ import annotations

from typing import Callable, List

from ..values.strictjson import mend_text

Count = Callable[[str], None]


class GrowingText:
    """The text of one block while it grows; ``add`` returns what can be shown now.

    A high surrogate at the end of a delta is held back until its other half comes. If none
    comes, ``finish`` returns U+FFFD. Each half that stays alone is counted, wherever it is.
    """

    __slots__ = ("index", "pieces", "_half", "_count")

    def __init__(self, index: int, count: Count) -> None:
        self.index = index
        self.pieces: List[str] = []
        self._half = ""  # a high surrogate that waits for its other half
        self._count = count

    def add(self, text: str) -> str:
        """Take a delta; return the text that can be shown now, or "" if all of it must wait."""
        if self._half or not text.isascii():
            text, self._half = self._half + text, ""
            if "\ud800" <= text[-1] <= "\udbff":
                text, self._half = text[:-1], text[-1]
            text = self._mended(text)
        if text:
            self.pieces.append(text)
        return text

    def finish(self) -> str:
        """Return what was held back, with U+FFFD in the place of a half that stayed alone."""
        text, self._half = self._mended(self._half), ""
        if text:
            self.pieces.append(text)
        return text

    def joined(self) -> str:
        """Return all text so far."""
        return "".join(self.pieces)

    def _mended(self, sent: str) -> str:
        text = mend_text(sent)
        if text != sent:
            for _ in range(text.count("\ufffd") - sent.count("\ufffd")):
                self._count("surrogate_half_alone")
        return text
