# SPDX-License-Identifier: MIT
"""GrowingText: deltas cut in the middle of a character, and what can be shown of them."""

from __future__ import annotations

import random
from typing import List

import pytest

from streamcore.wire.growing import GrowingText


def mended(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def grown(*deltas: str) -> List[str]:
    counts: List[str] = []
    text = GrowingText(0, counts.append)
    shown = [text.add(delta) for delta in deltas] + [text.finish()]
    assert "".join(shown) == text.joined()
    alone = text.joined().count("\ufffd") - "".join(deltas).count("\ufffd")
    assert counts == ["surrogate_half_alone"] * alone
    return shown


@pytest.mark.parametrize("deltas, shown", [
    (["a", "b"], ["a", "b", ""]),
    (["😀"], ["😀", ""]),
    (["a\ud83d", "\ude00b"], ["a", "😀b", ""]),
    (["\ud83d", "\ude00"], ["", "😀", ""]),
    (["\ud83d"], ["", "\ufffd"]),
    (["\ud83d", "a"], ["", "\ufffda", ""]),
    (["\ud83d", "\ud83d", "\ude00"], ["", "\ufffd", "😀", ""]),
    (["\ude00", "a"], ["\ufffd", "a", ""]),
    (["a\ud83d\ude00b"], ["a😀b", ""]),
    (["a\ud83db"], ["a\ufffdb", ""]),
    (["\ude00\ude00\ufffd\ud83d\ud83d", "\ufffd"], ["\ufffd" * 4, "\ufffd" * 2, ""]),
])
def test_half_characters_wait_for_their_other_half(deltas: List[str], shown: List[str]) -> None:
    """Halves are joined before they are shown; a lone half becomes U+FFFD and is counted."""
    assert grown(*deltas) == shown


def test_any_cut_of_any_text_shows_the_same() -> None:
    """Thousands of made-up texts show the same however they are cut into deltas."""
    for seed in range(3000):
        chance = random.Random(seed)
        text = "".join(chance.choice("ab\ud83d\ude00é日😀\udbff\udc00\ufffd") for _ in range(8))
        marks = sorted(chance.randint(0, len(text)) for _ in range(3))
        deltas = [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)]) if text[a:b]]
        assert "".join(grown(*deltas)) == mended(text), (seed, deltas)
