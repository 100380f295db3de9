# SPDX-License-Identifier: MIT
"""Text that providers wrap in lists of parts, and opaque details."""

from __future__ import annotations

import time
from typing import Any, List

import pytest

from streamcore.values.errors import LlmError
from streamcore.wire.dialects.chat_completions.content import (
    OpaqueDetails, read_content, read_details,
)


def details(items: Any, opaque: OpaqueDetails) -> List[str]:
    counts: List[str] = []
    texts = read_details(items, opaque, counts.append)
    odd = [item for item in items if not isinstance(item, (dict, type(None)))]
    assert counts == ["reasoning_details_odd"] * len(odd)
    return texts


@pytest.mark.parametrize("parts, expected", [
    ([{"type": "text", "text": "a"}], [("text", "a")]),
    ([{"type": "output_text", "text": "a"}, {"text": "b"}, "c"],
     [("text", "a"), ("text", "b"), ("text", "c")]),
    ([{"type": "text", "text": {"text": "a"}}], [("text", "a")]),
    ([{"type": "text", "text": ""}, {"type": "text"}, {"type": "text", "text": None}], []),
    ([None, ""], []),
    ([{"type": "thinking", "thinking": "h"}], [("reasoning", "h")]),
    ([{"type": "thinking", "thinking": [{"type": "text", "text": "h"}, "m"]}],
     [("reasoning", "hm")]),
    ([{"type": "reasoning", "text": "h"}], [("reasoning", "h")]),
    ([{"type": "reasoning", "summary": [{"text": "h"}]}], [("reasoning", "h")]),
    ([{"type": "thinking", "closed": True}], []),
    ([{"type": "refusal", "refusal": "no"}], [("text", "no")]),
])
def test_texts_are_read_by_their_kind(parts: List[Any], expected: Any) -> None:
    """Text and reasoning are kept apart, whichever field of a part holds them."""
    assert [(kind, text) for kind, text, _ in read_content(parts) if text] == expected


@pytest.mark.parametrize("part, kind", [
    ({"type": "image_url", "image_url": {}}, "image_url"), ({"type": 5}, "unknown"),
    ({"type": ""}, "unknown"), ({"x": 1}, "unknown"),
])
def test_part_of_another_kind_is_given_whole(part: Any, kind: str) -> None:
    """Another part has the kind that it names, and no text; an empty part is skipped."""
    assert list(read_content([part, {}])) == [(kind, "", part)]


@pytest.mark.parametrize("parts", [
    [5], [True], [["text"]], [{"type": "text", "text": 5}], [{"type": "thinking", "thinking": [5]}],
])
def test_part_of_a_wrong_shape_is_malformed(parts: List[Any]) -> None:
    """A part of a wrong type is refused and never written with str()."""
    with pytest.raises(LlmError) as caught:
        list(read_content(parts))
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_details_give_their_texts_and_stay_as_they_are() -> None:
    """The texts are returned, and every item is kept whole, to be sent back."""
    opaque = OpaqueDetails()
    assert details([{"type": "reasoning.text", "text": "a", "index": 0}], opaque) == ["a"]
    assert details(
        [{"type": "reasoning.text", "text": "b", "index": 0, "signature": "s"}], opaque) == ["b"]
    assert details([{"type": "reasoning.encrypted", "data": "x", "index": 0}], opaque) == []
    assert details(
        [{"type": "reasoning.summary", "summary": "c", "index": 1}, 5, None], opaque) == ["c"]
    opaque.keep("reasoning_opaque", "o")
    assert opaque.extras() == {"reasoning_opaque": "o", "reasoning_details": [
        {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "x", "index": 0},
        {"type": "reasoning.summary", "summary": "c", "index": 1},
    ]}


def test_details_of_other_shapes_go_back_as_they_came() -> None:
    """A summary in parts is not shown as text, and goes back unchanged."""
    opaque = OpaqueDetails()
    parts = [{"type": "summary_text", "text": "s"}]
    assert details([{"type": "reasoning.summary", "summary": parts, "index": 0}], opaque) == []
    assert details([{"type": "t", "text": None, "index": 1}], opaque) == []
    assert opaque.extras() == {"reasoning_details": [
        {"type": "reasoning.summary", "summary": parts, "index": 0}, {"type": "t", "index": 1}]}


def test_details_without_anything_are_none() -> None:
    """Empty details give nothing; details that are not a list are malformed."""
    assert OpaqueDetails().extras() is None
    with pytest.raises(LlmError):
        read_details({"text": "a"}, OpaqueDetails(), lambda _: None)


def test_details_hold_no_half_characters() -> None:
    """Halves are joined between fragments; a lone half is replaced, in keys too."""
    opaque = OpaqueDetails()
    details([{"type": "t", "text": "\ud83d"}], opaque)
    details([{"type": "t", "text": "\ude00"}, {"\ud83d": "\ud83d"}], opaque)
    assert opaque.extras() == {"reasoning_details": [
        {"type": "t", "text": "😀"}, {"\ufffd": "\ufffd"}]}


def test_many_fragments_of_details_are_linear() -> None:
    """100 000 fragments of one item take seconds at most."""
    opaque = OpaqueDetails()
    start = time.perf_counter()
    for _ in range(100_000):
        details([{"type": "reasoning.text", "text": "abcdefgh", "index": 0}], opaque)
    extras: Any = opaque.extras()
    assert len(extras["reasoning_details"][0]["text"]) == 800_000
    assert time.perf_counter() - start < 10


def test_signature_alone_belongs_to_the_text_before_it() -> None:
    """Text in pieces and then a signature, of the same type and index, are one item."""
    opaque = OpaqueDetails()
    for item in (
        {"type": "reasoning.text", "text": "a", "index": 0},
        {"type": "reasoning.text", "text": "x", "index": 1},
        {"type": "reasoning.text", "text": "b", "index": 0},
        {"type": "reasoning.text", "signature": "S0", "index": 0},
        {"type": "reasoning.encrypted", "data": "E1", "index": 2},
        {"type": "reasoning.encrypted", "data": "E2", "index": 2},
    ):
        opaque.add(item)
    assert opaque.extras() == {"reasoning_details": [
        {"type": "reasoning.text", "index": 0, "signature": "S0", "text": "ab"},
        {"type": "reasoning.text", "index": 1, "text": "x"},
        {"type": "reasoning.encrypted", "data": "E1", "index": 2},
        {"type": "reasoning.encrypted", "data": "E2", "index": 2},
    ]}


def test_lists_kept_as_they_are_grow() -> None:
    """Thinking blocks in several deltas are all kept."""
    opaque, first = OpaqueDetails(), [{"signature": "a"}]
    opaque.keep("thinking_blocks", first)
    opaque.keep("thinking_blocks", [{"signature": "b"}])
    assert opaque.extras() == {"thinking_blocks": [{"signature": "a"}, {"signature": "b"}]}
    assert first == [{"signature": "a"}]
