# SPDX-License-Identifier: MIT
"""Placement: which call a fragment belongs to, however calls are numbered (DESIGN.md §8.13)."""

from __future__ import annotations

import json
import random
import time
from typing import Any, List, Optional, Tuple

import pytest

from streamcore.values.errors import LlmError
from streamcore.wire.dialects.chat_completions.call_reader import CallReader
from streamcore.wire.dialects.chat_completions.placing import WholeObject, read_index
from streamcore.wire.toolcalls import ToolCallAssembler

Sent = Tuple[Any, str, str, Any]  # index, id, name, arguments


def placed(*fragments: Sent) -> List[Tuple[str, str, str]]:
    """Place fragments as the decoder does; return id, name and arguments of each call."""
    blocks = iter(range(10_000))
    reader = CallReader(ToolCallAssembler(10_000), lambda *_: next(blocks), lambda _: None)
    for index, id, name, arguments in fragments:
        reader.add([], [{
            "index": index, "id": id, "function": {"name": name, "arguments": arguments}}])
    return [(call.id, call.name, call.joined()) for call in reader._calls]


CASES = [
    # any integer is an index; a new one opens a call
    ([(0, "a", "f", "{}"), (1, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
    ([(-1, "a", "f", "{}"), (3, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")]),
    ([("0", "a", "f", "{"), (0, "", "", "}")], [("a", "f", "{}")]),
    # on a known index the id picks among the calls opened there
    ([(0, "a", "f", "{"), (0, "b", "g", "["), (0, "a", "", "}"), (0, "b", "", "]")],
     [("a", "f", "{}"), ("b", "g", "[]")]),
    ([(0, "a", "f", "{"), (0, "b", "g", "["), (0, "a", "", "}"), (0, "", "", "1")],
     [("a", "f", "{}1"), ("b", "g", "[")]),
    # a new id with a name opens another call, without one it continues
    ([(0, "a", "f", "{}"), (0, "b", "f", "{}")], [("a", "f", "{}"), ("b", "f", "{}")]),
    ([(0, "a", "f", "{"), (0, "b", "", "}"), (0, "c", "", " ")], [("a", "f", "{} ")]),
    # no id continues, unless name and arguments come again after a whole object
    ([(0, "a", "f", "{"), (0, "", "f", "}"), (0, "", "f", "{}")],
     [("a", "f", "{}"), ("", "f", "{}")]),
    ([(0, "", "f", '{"a":'), (0, "", "f", '"}"'), (0, "", "f", "}")], [("", "f", '{"a":"}"}')]),
    ([(0, "", "f", "{}"), (0, "", "f", "")], [("", "f", "{}")]),
    ([(0, "", "f", "{}"), (0, "", "f", " \n")], [("", "f", "{} \n")]),
    ([(0, "", "f", "{}"), (0, "", "g", "{}")], [("", "f", "{}"), ("", "g", "{}")]),
    ([(0, "", "f", {}), (0, "", "g", {})], [("", "f", "{}"), ("", "g", "{}")]),
    ([(0, "", "f", {}), (0, "", "f", {})], [("", "f", "{}"), ("", "f", "{}")]),
    # no index: a known id finds its call, a new id opens one
    ([(None, "a", "f", "{"), (None, "b", "g", "["), (None, "a", "", "}"), (None, "b", "", "]")],
     [("a", "f", "{}"), ("b", "g", "[]")]),
    ([(1, "a", "f", "{"), (None, "a", "", "}")], [("a", "f", "{}")]),
    # neither: a name opens a call unless it is that of the one at hand, still open
    ([(None, "", "f", "{"), (None, "", "f", "}"), (None, "", "f", "{}")],
     [("", "f", "{}"), ("", "f", "{}")]),
    ([(None, "", "f", "{"), (None, "", "g", "}")], [("", "f", "{"), ("", "g", "}")]),
    ([(None, "", "f", ""), (None, "", "", "{"), (None, "", "", "}")], [("", "f", "{}")]),
    ([(0, "a", "f", "{"), (None, "", "", "}")], [("a", "f", "{}")]),
    # two calls with one id
    ([(0, "c", "f", ""), (1, "c", "f", ""), (2, "c_2", "f", "")],
     [("c", "f", ""), ("c_2", "f", ""), ("c_2_2", "f", "")]),
    # a late id and a late name
    ([(0, "", "f", "{"), (0, "a", "", "}")], [("a", "f", "{}")]),
    ([(0, "a", "", "{"), (0, "", "f", "}")], [("a", "f", "{}")]),
    # arguments as an object, once; a repetition of the whole is dropped
    ([(0, "a", "f", {"é": 1})], [("a", "f", '{"é": 1}')]),
    ([(0, "a", "f", {"x": 1}), (0, "a", "f", {"x": 1})], [("a", "f", '{"x": 1}')]),
    ([(0, "a", "f", '{"x":1}'), (0, "", "", {"x": 1})], [("a", "f", '{"x":1}')]),
    ([(0, "a", "f", '{"x"'), (0, "", "", ":1}"), (0, "", "", '{"x":1}')], [("a", "f", '{"x":1}')]),
]


@pytest.mark.parametrize("fragments, expected", CASES)
def test_fragments_find_their_call(fragments: List[Sent], expected: Any) -> None:
    """Nothing is merged and nothing is lost."""
    assert placed(*fragments) == expected


def test_object_with_half_a_character_after_it_is_not_whole() -> None:
    """The half is held back, not shown; the name and arguments again open no other call."""
    told = placed((0, "", "f", "{}"), (0, "", "", "\ud83d"), (0, "", "f", "{}"))
    assert told == [("", "f", "{}\ufffd{}")]


def test_repeated_object_with_half_a_character_is_dropped() -> None:
    """Repeated arguments are compared after mending, as they are kept."""
    for again in ('{"x":"\ud83d"}', {"x": "\ud83d"}):
        assert placed((0, "a", "f", '{"x":"\ud83d"}'), (0, "", "", again)) == [
            ("a", "f", '{"x":"\ufffd"}')]


@pytest.mark.parametrize("fragments", [
    [(None, "", "", "{}")],
    [(None, "", "", "")],
    [(0, "a", "f", '{"x"'), (0, "", "", {"x": 1})],
    [(0, "a", "f", '{"x":2}'), (0, "", "", {"x": 1})],
    [(0, "a", "f", {"x": 1}), (0, "", "", {"x": 2})],
    [(0, "a", "f", '{"x":}'), (0, "", "", {"x": 1})],
    [(0, "a", "f", '{"x":' + "[" * 5000 + "]" * 5000 + "}"), (0, "", "", {"x": 1})],
    [(0, "a", "f", '{"x":NaN}'), (0, "", "", {"x": float("nan")})],
])
def test_fragment_without_a_sure_place_fails(fragments: List[Sent]) -> None:
    """MALFORMED_TOOL_CALL, and no Python exception for what only looks like an object."""
    with pytest.raises(LlmError) as caught:
        placed(*fragments)
    assert caught.value.code == "MALFORMED_TOOL_CALL"


@pytest.mark.parametrize("index, expected", [
    (None, None), (0, 0), (-1, -1), (10**30, 10**30), ("0", 0), (" 12 ", 12), ("-3", -3),
])
def test_index_is_any_integer(index: Any, expected: Optional[int]) -> None:
    """An index may be any integer, or digits in a string."""
    assert read_index(index) == expected


@pytest.mark.parametrize("index", [
    True, 0.0, 1.5, "", "x", "1.0", "٣", "1" * 10, [], {}, float("inf"),
])
def test_odd_index_fails(index: Any) -> None:
    """An index of another type fails."""
    with pytest.raises(LlmError) as caught:
        read_index(index)
    assert caught.value.code == "MALFORMED_TOOL_CALL"


def whole(*pieces: str) -> bool:
    reader = WholeObject()
    for piece in pieces:
        reader.read(piece)
    return reader.done


@pytest.mark.parametrize("text, expected", [
    ("{}", True), (' {"a":1}\n', True), ('{"a":"}"}', True), ('{"a":"\\"}"}', True),
    ('{"a":[{"b":{}}]}', True), ('{"a":"\\\\"}', True), ('{"{":"["}', True),
    ("", False), ("{", False), ('{"a":"}', False), ('{"a":"\\"}', False), ("[]", False),
    ('"{}"', False), ("1", False), ("{}{}", False), ("{} x", False), ("x{}", False), ("}", False),
    ("null", False), ('{}"', False),
])
def test_whole_object_is_told_at_every_cut(text: str, expected: bool) -> None:
    """Whole, character by character, cut anywhere."""
    assert whole(text) == whole(*text) == expected
    for at in range(len(text) + 1):
        assert whole(text[:at], text[at:]) == expected


def test_whole_object_agrees_with_a_json_parser() -> None:
    """For every beginning of made-up documents, done means that the object ends there."""
    for seed in range(300):
        chance = random.Random(seed)
        value = {"a\"{": [chance.choice(["}", "\\", "\"", {}, [], 1, None])] * chance.randint(0, 3),
                 "b": {"c\\": chance.choice(["{", "]", {"d": "}"}])}}
        text = json.dumps(value)
        reader = WholeObject()
        for at, letter in enumerate(text):
            reader.read(letter)
            assert reader.done == (at == len(text) - 1), (text, at)
        assert reader.size == len(text)


def seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.parametrize("middle, count", [
    ([(0, "", "f", "abcd")], 100_000),  # the name in each fragment, no id
    ([(0, "", "f", "}}}}")], 100_000),  # each looks like an end, inside a string
    ([(0, "", "", "a}")], 100_000),
    ([(None, "", "f", "abcd")], 100_000),
    ([(0, "a", "f", "abc")], 100_000),
])
def test_many_fragments_are_linear(middle: List[Sent], count: int) -> None:
    """Each character is looked at once, however often the name comes again."""
    start: Sent = (middle[0][0], middle[0][1], "f", '{"x":"')
    end: Sent = (middle[0][0], middle[0][1], "", '"}')
    assert seconds(lambda: placed(start, *middle * count, end)) < 10


def test_repeated_whole_object_costs_its_own_size_and_not_that_of_the_call() -> None:
    """Thousands of small fragments after a large call take seconds at most."""
    large = "{" + '"a":1,' * 150_000 + '"a":1}'
    again: List[Sent] = [(0, "", "", {"a": 1})] * 5000
    assert seconds(lambda: placed((0, "a", "f", large), *again)) < 10


@pytest.mark.parametrize("text", [
    '{"a":"' + '\\"' * 400_000 + '"}', '{"a":[' + '"x",' * 200_000 + "1]}", "{" * 500_000,
    '{"a":' + "[" * 300_000 + "]" * 300_000 + "}", '"' * 500_000, " " * 1_000_000,
])
def test_huge_piece_of_strings_and_brackets_is_linear(text: str) -> None:
    """One fragment, then the name again: the whole is read once."""
    assert seconds(lambda: placed((0, "", "f", text), *[(0, "", "f", "x")] * 2000)) < 10


def test_many_calls_at_one_index_stay_quick() -> None:
    """Thousands of calls with ids, all at the index 0, take seconds at most."""
    fragments: List[Sent] = [(0, f"c{at}", "f", "{}") for at in range(2000)]
    assert seconds(lambda: placed(*fragments)) < 10
