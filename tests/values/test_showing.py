# SPDX-License-Identifier: MIT
"""Foreign texts in our messages are short, and a cut is visible."""

from __future__ import annotations

from streamcore.values.showing import shorten, show


def test_a_short_text_stays() -> None:
    """A text of exactly the allowed length is not cut."""
    assert shorten("abcde", 5) == "abcde"
    assert show("abcde", 5) == "'abcde'"


def test_a_long_text_is_cut_visibly() -> None:
    """The mark of a cut counts towards the length."""
    assert shorten("abcdef", 5) == "abcd…"
    assert shorten("abcdef", 5, "...") == "ab..."
    assert show("abcdef", 5) == "'ab...'"


def test_a_shown_text_is_ascii_on_one_line() -> None:
    """Any name can be shown in a message on any terminal."""
    assert show("a\nb\u2028\x1b[1mä") == "'a\\nb\\u2028\\x1b[1m\\xe4'"
