# SPDX-License-Identifier: MIT
"""Texts of others in our messages: short, and visibly cut."""

from __future__ import annotations

from streamcore.values.showing import shorten, show


def test_a_short_text_stays() -> None:
    """Up to the very number of characters nothing is cut."""
    assert shorten("abcde", 5) == "abcde"
    assert show("abcde", 5) == "'abcde'"


def test_a_long_text_is_cut_visibly() -> None:
    """The mark counts among the characters."""
    assert shorten("abcdef", 5) == "abcd…"
    assert shorten("abcdef", 5, "...") == "ab..."
    assert show("abcdef", 5) == "'ab...'"


def test_a_shown_text_is_ascii_on_one_line() -> None:
    """Whatever a name holds, it can stand in a message on any terminal."""
    assert show("a\nb\u2028\x1b[1mä") == "'a\\nb\\u2028\\x1b[1m\\xe4'"
