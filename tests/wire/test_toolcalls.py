# SPDX-License-Identifier: MIT
"""ToolCallAssembler: fragments by integer index in, whole calls or one error out."""

from __future__ import annotations

import json
import time
from typing import Any, Dict, List, Tuple

import pytest

from streamcore.values.errors import LlmError
from streamcore.values.messages import ToolCall
from streamcore.wire.toolcalls import ToolCallAssembler, unique_id

from support import with_frames_left

KB = 1024


def fragment(
    index: Any, id: Any = None, name: Any = None, arguments: Any = None, **more: Any
) -> Dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}, **more}


def assembled(*fragments: Dict[str, Any], **limits: int) -> List[ToolCall]:
    machine = ToolCallAssembler(**limits)
    for one in fragments:
        machine.push(one)
    return machine.finish()


def failure(*fragments: Dict[str, Any], **limits: int) -> str:
    with pytest.raises(LlmError) as caught:
        assembled(*fragments, **limits)
    assert caught.value.code == "MALFORMED_TOOL_CALL" and not caught.value.retryable
    return str(caught.value)


def told(calls: List[ToolCall]) -> List[Tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in calls]


def test_fragments_are_joined_by_index_interleaved_or_not() -> None:
    """The calls come in opening order, whatever their numbers."""
    calls = assembled(
        fragment(7, "a", "f", '{"x"'), fragment(-1, "b", "g", '{"y"'),
        fragment(7, arguments=":1}"), fragment(-1, arguments=":2}"),
    )
    assert told(calls) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]
    assert [call.parsed() for call in calls] == [{"x": 1}, {"y": 2}]


@pytest.mark.parametrize("index", [None, "0", 0.0, True, False, [], {}, "x"])
def test_fragment_without_legal_index_is_ignored_and_counted(index: Any) -> None:
    """A fragment without an integer index is ignored and counted."""
    machine = ToolCallAssembler()
    machine.push(fragment(index, "a", "f", "{}"))
    machine.push({"id": "a"})
    assert machine.ignored == 2 and machine.finish() == []


def test_first_id_and_name_that_are_not_empty_win() -> None:
    """A later id or name changes nothing and is never appended."""
    calls = assembled(
        fragment(0, "", " "), fragment(0, None, ""), fragment(0, "a", "f"),
        fragment(0, "b", "g", "{}"),
    )
    assert told(calls) == [("a", "f", "{}")]


def test_missing_id_is_made_from_the_index_and_unique() -> None:
    """``call_<index>``, or the next free one."""
    calls = assembled(
        fragment(1, None, "f"), fragment(0, "call_1", "g"), fragment(2, "call_1_2", "h"),
        fragment(3, "", "i"),
    )
    assert [call.id for call in calls] == ["call_1_3", "call_1", "call_1_2", "call_3"]


@pytest.mark.parametrize("parts", [[], [""], [None], [" ", "\n"], ["null"], ["nu", "ll "]])
def test_no_arguments_read_as_an_empty_object(parts: List[Any]) -> None:
    """Absent, blank and null arguments read as {}."""
    assert told(assembled(fragment(0, "a", "f"), *(fragment(0, arguments=p) for p in parts))) == [
        ("a", "f", "{}")]


@pytest.mark.parametrize("arguments, reason", [
    ('{"a":1', ""), ('{"a":1,}', ""), ('{"a":1}{"b":2}', ""), ('{"a":1}x', ""), ("'a'", ""),
    ('{"a":NaN}', "NaN"), ('{"a":-Infinity}', "Infinity"), ('{"a":1,"a":1}', "twice"),
    ('{"a":"x\ny"}', ""), ('{"a":' + "[" * 5000 + "]" * 5000 + "}", "deep"), ("[" * 100_000, ""),
    ('{"a":' + "9" * 5000 + "}", ""),
])
def test_arguments_that_are_not_one_json_document_fail(arguments: str, reason: str) -> None:
    """Nothing is repaired; the message says index, name and the reason."""
    said = failure(fragment(4, "a", "my_tool", arguments))
    assert "tool call 4" in said and "'my_tool'" in said and reason in said


@pytest.mark.parametrize("what", ["arguments", "extras"])
def test_deep_call_on_a_deep_stack_is_whole_or_fails(what: str) -> None:
    """However little room the caller's stack leaves, no RecursionError comes out."""
    deep: Any = "x"
    for _ in range(190):
        deep = [deep]
    parts = {"arguments": json.dumps({"a": deep})} if what == "arguments" else {"x": {"a": deep}}
    one = fragment(0, "a", "f", parts.get("arguments"), extras=parts.get("x"))

    def outcome() -> str:
        try:
            return assembled(one)[0].id
        except LlmError as error:
            return error.code

    assert outcome() == "a"
    found = {with_frames_left(left, outcome) for left in range(60, 760, 20)}
    assert found == {"a", "MALFORMED_TOOL_CALL"}


def test_failure_shows_the_last_64_characters() -> None:
    """The characters shown may come from several fragments."""
    said = failure(*(fragment(0, "a", "f", letter * 10) for letter in "abcdefghij"))
    tail = ("abcdefghij".translate({ord(c): c * 10 for c in "abcdefghij"}))[-64:]
    assert repr(tail) in said and "c" * 10 not in said.split("ends with")[1]


def test_half_characters_are_joined_and_lone_ones_replaced() -> None:
    """This holds for arguments and for extras."""
    calls = assembled(
        fragment(0, "a", "f", '{"x":"\ud83d'), fragment(0, arguments='\ude00\ud83d"}'),
        fragment(0, extras={"s": ["\ud83d"]}),
    )
    assert calls[0].arguments == '{"x":"😀\ufffd"}' and calls[0].extras == {"s": ["\ufffd"]}


def test_call_without_a_name_fails() -> None:
    """A call without a name fails even if its arguments are good."""
    assert "name" in failure(fragment(0, "a", None, "{}"))
    assert "name" in failure(fragment(0, "a", "\t", "{}"))


def test_limit_of_calls_holds_before_it_is_passed() -> None:
    """n pass and the next one fails when it opens; a known index opens none."""
    some = [fragment(at, f"c{at}", "f") for at in range(33)]
    assert len(assembled(*some[:32], *some[:32])) == 32
    machine = ToolCallAssembler()
    for one in some[:32]:
        machine.push(one)
    with pytest.raises(LlmError, match="max_tool_calls"):
        machine.push(some[32])
    assert failure(fragment(0, "a", "f"), fragment(1, "b", "f"), max_tool_calls=1)


@pytest.mark.parametrize("letter", ["a", "é", "日", "😀", "\ud83d"])
def test_limit_of_arguments_counts_utf8_bytes(letter: str) -> None:
    """At n they pass, one byte more fails before it is kept."""
    width = len(letter.encode("utf-8", "surrogatepass"))
    limit = 10 * width + 8
    machine = ToolCallAssembler(max_tool_argument_bytes=limit)
    for part in ['{"x":"', *[letter] * 10, '"}']:
        machine.push(fragment(0, "a", "f", part))
    with pytest.raises(LlmError, match="max_tool_argument_bytes"):
        machine.push(fragment(0, arguments=" "))
    machine.push(fragment(1, "b", "g", "{}"))
    assert len(machine.finish()) == 2


def test_default_limit_is_a_mebibyte_for_each_call() -> None:
    """1 MB passes twice, 1 MB and a byte does not."""
    whole = '{"x":"' + "a" * (KB * KB - 8) + '"}'
    assert len(assembled(fragment(0, "a", "f", whole), fragment(1, "b", "f", whole))) == 2
    assert "1048576" in failure(fragment(0, "a", "f", whole + " "))


def test_extras_of_all_fragments_stay_with_the_call() -> None:
    """Each opaque field keeps its last value."""
    calls = assembled(
        fragment(0, "a", "f", "{}", extras={"s": 1, "t": 1}), fragment(0, extras={"s": 2}))
    assert calls[0].extras == {"s": 2, "t": 1}
    assert assembled(fragment(0, "a", "f"))[0].extras is None


def test_million_one_character_fragments_are_linear() -> None:
    """The fragments are joined and parsed only once, at the end."""
    machine = ToolCallAssembler()
    start = time.perf_counter()
    machine.push(fragment(0, "a", "f", '{"x":"'))
    letter = fragment(0, arguments="a")
    for _ in range(KB * KB - 8):
        machine.push(letter)
    machine.push(fragment(0, arguments='"}'))
    assert len(machine.finish()[0].arguments) == KB * KB
    assert time.perf_counter() - start < 15


def test_unique_id_takes_the_next_free_one() -> None:
    """The id is the wanted one, or has the first free number appended."""
    assert [unique_id("a", taken) for taken in (set(), {"a"}, {"a", "a_2"})] == ["a", "a_2", "a_3"]


def test_deep_arguments_are_parsed_or_refused_on_a_deep_stack() -> None:
    """``parsed`` raises what it promises to raise."""
    made = ToolCall("c", "f", '{"a":' + "[" * 190 + "]" * 190 + "}")

    def outcome() -> Any:
        try:
            return made.parsed()
        except ValueError as error:
            return str(error)

    whole = made.parsed()
    found = [with_frames_left(left, outcome) for left in range(60, 400, 7)]
    assert found.count("nested too deeply") > 5
    assert all(one in (whole, "nested too deeply") for one in found)


@pytest.mark.parametrize("limit, error", [(0, ValueError), (None, TypeError), (True, TypeError)])
@pytest.mark.parametrize("name", ["max_tool_calls", "max_tool_argument_bytes"])
def test_limit_that_cannot_be_is_refused(name: str, limit: Any, error: Any) -> None:
    """It is refused when the machine is made, and named."""
    with pytest.raises(error, match=name):
        ToolCallAssembler(**{name: limit})
