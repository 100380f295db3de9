# SPDX-License-Identifier: MIT
"""The value of a tool as text: every kind of value, and the cap."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import pytest

from streamcore.agent.tools import render_output

CAP = 16 * 1024


@dataclass
class Row:
    """A row."""

    n: int
    tag: bytes = b"t"


class Word(str, Enum):
    """A word."""

    YES = "yes"


@pytest.mark.parametrize("value, text", [
    ("text", "text"),
    ("", ""),
    (None, "(no output)"),
    (b"caf\xc3\xa9", "café"),
    (b"a\xff", "a\ufffd"),
    (b"\x89PNG\x00\x01", "(binary output, 6 bytes)"),
    (bytearray(b"x"), "x"),
    (memoryview(b"x"), "x"),
    ({"k": "é", "n": [1, None, True]}, '{"k": "é", "n": [1, null, true]}'),
    (5, "5"),
    (True, "true"),
    ((1, 2), "[1, 2]"),
    ({"s"}, '["s"]'),
    (Row(1), '{"n": 1, "tag": "t"}'),
    (Word.YES, "yes"),
    ([Word.YES], '["yes"]'),
    ("half \ud83d", "half \ufffd"),
    ("\ud83d\ude00", "😀"),
    ({"k": "\ud800"}, '{"k": "\ufffd"}'),
    ({(1, 2): 3}, "{(1, 2): 3}"),
])
def test_value_as_text(value: Any, text: str) -> None:
    """Text stays, None becomes a note, bytes are decoded, and anything else becomes JSON."""
    shown = render_output(value)
    assert shown == text
    shown.encode("utf-8")


def test_value_that_holds_itself_is_shown() -> None:
    """A value that contains itself is shown."""
    ring: Any = []
    ring.append(ring)
    assert render_output(ring) == "[[...]]"


def deep(levels: int) -> Any:
    """Return a list that many levels deep."""
    made: Any = "x"
    for _ in range(levels):
        made = [made]
    return made


class Unshown:
    """A value whose own code fails when it is shown."""

    def __repr__(self) -> str:
        raise KeyError("gone")


# Made in the test, as pytest names a test after such a value, and cannot show it either.
@pytest.mark.parametrize("make, words", [
    (lambda: 10 ** 5000, "digits"),
    (lambda: {"n": [10 ** 5000]}, "digits"),
    (lambda: Row(10 ** 5000), "digits"),
    (lambda: Fraction(10 ** 5000, 3), "digits"),
    (lambda: deep(100_000), "nested too deeply"),
    (lambda: {"k": deep(100_000)}, "nested too deeply"),
    (Unshown, "gone"),
    (lambda: [Unshown()], "gone"),
    (lambda: {Unshown()}, "gone"),
])
def test_value_that_python_does_not_show_is_a_note(make: Any, words: str) -> None:
    """A value that Python cannot show becomes a note, because the tool did run."""
    shown = render_output(make())
    if hasattr(sys, "get_int_max_str_digits") or words != "digits":
        assert shown.startswith("(output that cannot be shown: ") and words in shown


@pytest.mark.parametrize("character", ["x", "é", "日", "😀"])
def test_cap_is_exact_and_cuts_no_character(character: str) -> None:
    """Text of exactly the cap stays whole; longer text is cut between characters, with a mark."""
    size = len(character.encode("utf-8"))
    whole = character * (CAP // size)
    assert render_output(whole, CAP) == whole
    shown = render_output(whole + character, CAP)
    kept, _, mark = shown.partition("\n")
    assert set(kept) == {character} and len(shown.encode("utf-8")) <= CAP
    total = len((whole + character).encode("utf-8"))
    cut = total - len(kept.encode("utf-8"))
    assert mark == f"[output cut: {cut} of {total} bytes left out]"


def test_any_text_fits_any_cap() -> None:
    """Random texts stay within random caps, and start as the text does."""
    chance = random.Random(5)
    for _ in range(300):
        text = "".join(chance.choice("aé日😀\n") for _ in range(chance.randint(0, 3000)))
        cap = chance.randint(256, 4096)
        shown = render_output(text, cap)
        assert len(shown.encode("utf-8")) <= cap
        assert shown == text or text.startswith(shown.rpartition("\n[output cut")[0])


def test_json_of_a_large_value_is_cut_too() -> None:
    """The cap holds for whatever a tool returns."""
    assert len(json.dumps(list(range(10_000)))) > CAP
    assert len(render_output(list(range(10_000)), CAP)) <= CAP
