# SPDX-License-Identifier: MIT
"""Foreign texts, made short and safe for our own messages.

In: a text of any length and content. Out: a short text. Nothing is refused. Secrets are
masked by ``redaction``, not here.
"""

from __future__ import annotations


def shorten(text: str, characters: int, mark: str = "…") -> str:
    """Return at most ``characters`` of a text; a text that was cut ends with ``mark``."""
    return text if len(text) <= characters else text[: characters - len(mark)] + mark


def show(text: str, characters: int = 80) -> str:
    """Return a text in quotes, in ASCII and on one line, cut to ``characters``."""
    return ascii(shorten(text, characters, "..."))
