# SPDX-License-Identifier: MIT
"""ThinkTags: content split at <think> tags, however the deltas are cut."""

from __future__ import annotations

import random
import re
import time
from typing import List, Tuple

import pytest

from streamcore.wire.dialects.chat_completions.think_tags import ThinkTags


def split(*deltas: str) -> Tuple[str, str]:
    """Return (text, reasoning) of the deltas."""
    tags = ThinkTags()
    pieces = [piece for delta in deltas for piece in tags.push(delta)] + tags.finish()
    assert all(text for _, text in pieces), "an empty piece"
    return (
        "".join(text for inside, text in pieces if not inside),
        "".join(text for inside, text in pieces if inside),
    )


def reference(text: str) -> Tuple[str, str]:
    """Return (text, reasoning) of the whole text, found without the package."""
    outside: List[str] = []
    inside: List[str] = []
    here, other, tag, close = outside, inside, "<think>", "</think>"
    while tag in text:
        before, text = text.split(tag, 1)
        here.append(before)
        here, other, tag, close = other, here, close, tag
    here.append(text)
    return "".join(outside), "".join(inside)


@pytest.mark.parametrize("text, expected", [
    ("<think>secret</think>answer", ("answer", "secret")),
    ("a<think>b</think>c<think>d</think>e", ("ace", "bd")),
    ("no tags, a < b, <b>", ("no tags, a < b, <b>", "")),
    ("orphan</think>x", ("orphan</think>x", "")),
    ("<think>never closed", ("", "never closed")),
    ("ends on <thi", ("ends on <thi", "")),
    ("<think>ends on </thin", ("", "ends on </thin")),
    ("<think></think>", ("", "")),
    ("<think>a<think>b</think>c", ("c", "a<think>b")),
    ("<<think>a<</think>", ("<", "a<")),
    ("<thi<think>a", ("<thi", "a")),
    ("<THINK>a</THINK>", ("<THINK>a</THINK>", "")),
    ("", ("", "")),
])
def test_tags_are_told_from_text_at_every_cut(text: str, expected: Tuple[str, str]) -> None:
    """Whole, character by character, and cut in two anywhere."""
    assert split(text) == split(*text) == expected == reference(text)
    for at in range(len(text) + 1):
        assert split(text[:at], text[at:]) == expected


def test_random_deltas_give_what_the_whole_gives() -> None:
    """Thousands of made-up texts of tags and parts of tags."""
    for seed in range(2000):
        chance = random.Random(seed)
        text = "".join(chance.choice(
            ("<think>", "</think>", "<thi", "nk>", "</", "<", ">", "a", "</think", "think>")
        ) for _ in range(chance.randint(0, 12)))
        marks = sorted(chance.randint(0, len(text)) for _ in range(4))
        deltas = [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)])]
        assert split(*deltas) == reference(text), (seed, deltas)


def test_no_more_than_a_possible_tag_is_held_back() -> None:
    """Text is given at once, but for at most 7 characters that may become a tag."""
    tags = ThinkTags()
    assert tags.push("hello") == [(False, "hello")]
    assert tags.push("x <thin") == [(False, "x ")]
    assert tags.push("g>") == [(False, "<thing>")]
    assert tags.push("<think>a</think") == [(True, "a")]
    assert tags.push("") == [] and tags.push("!") == [(True, "</think!")]


def test_many_tags_in_one_delta_are_linear() -> None:
    """8 MB of tags take seconds at most."""
    text = "<think>a</think>b" * 500_000
    start = time.perf_counter()
    told, thought = split(text)
    assert (len(told), len(thought)) == (500_000, 500_000)
    assert time.perf_counter() - start < 8
    assert re.fullmatch("b+", told) and re.fullmatch("a+", thought)
