# SPDX-License-Identifier: MIT
"""Texts of others as they can stand in a message of ours.

In: a text of any length, with anything in it. Out: a short one. Nothing is refused.
What is secret in a text is masked by ``redaction``, not here.
"""

from __future__ import annotations


def shorten(text: str, characters: int, mark: str = "…") -> str:
    """Return a text of at most ``characters``; one that was cut ends with ``mark``."""
    return text if len(text) <= characters else text[: characters - len(mark)] + mark


def show(text: str, characters: int = 80) -> str:
    """Return a text quoted, in ASCII and on one line, cut after ``characters``."""
    return ascii(shorten(text, characters, "..."))
