# SPDX-License-Identifier: MIT
"""The reader of tool-call fragments: what it counts, repairs and refuses."""

from __future__ import annotations

import json
from typing import Any, List

import pytest

from streamcore.values.limits import Limits
from streamcore.wire.dialects.chat_completions.call_reader import CallReader
from streamcore.wire.toolcalls import ToolCallAssembler

from support import DONE, D, F, J, call, run


def counted(deltas: List[Any]) -> List[str]:
    """Return the counters of a reader after these deltas."""
    counts: List[str] = []
    opened = iter(range(1000))
    reader = CallReader(ToolCallAssembler(), lambda *_: next(opened), counts.append)
    for fragments in deltas:
        reader.add([], fragments)
    reader.flush([])
    reader.finish()
    return counts


@pytest.mark.parametrize("sent, counts", [
    ([("a", "f", {"x": 1})], ["tool_call_arguments_object"]),
    ([("a", "f", {})], ["tool_call_arguments_object"]),
    ([("a", "f", {"x": 1}), ("a", None, {"x": 1})],
     ["tool_call_arguments_object", "tool_call_arguments_repeated"]),
    ([("a", "f", '{"x":'), ("b", "", "1"), ("b", None, ""), ("a", None, "}")],
     ["tool_call_id_changed"] * 2),
    ([(None, "f", '{"x":'), ("late", None, "1"), ("late", None, "}")], []),
    ([("a", "f", "{}"), ("b", "f", "{}"), ("a", None, "")], []),
    ([("a", "f", "{}"), ("a", "g", "{}"), ("a", None, " ")], ["tool_call_id_repeated"]),
    ([("a", "f", '{"\ude00":"\ud83d'), (None, None, 'x\ud83d"}')], ["surrogate_half_alone"] * 3),
    ([("a", "f", '{"x":"\ud83d'), (None, None, "\ude00"), (None, None, '"}')], []),
])
def test_repairs_are_counted(sent: List[Any], counts: List[str]) -> None:
    """Each repair of a fragment has its counter; all fragments here have the index 0."""
    deltas = [[{"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}]
              for id, name, arguments in sent]
    deltas = json.loads(json.dumps(deltas))
    assert counted(deltas) == counts


LEGACY = {"name": "f", "arguments": '{"x":1}'}
NEW = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"x":1}'}}


@pytest.mark.parametrize("deltas", [
    [{"function_call": LEGACY, "tool_calls": [NEW]}],
    [{"function_call": LEGACY}, {"tool_calls": [NEW]}],
    [{"tool_calls": [NEW]}, {"function_call": LEGACY}],
    [{"function_call": {"name": "f", "arguments": '{"x"'}}, {"function_call": {"arguments": ":1}"}},
     {"tool_calls": [NEW]}],
])
def test_call_told_in_both_forms_is_one_call(deltas: List[Any]) -> None:
    """A ``function_call`` beside ``tool_calls`` is counted and not read, whichever comes first."""
    outcome = run(b"".join(map(D, deltas)) + F("tool_calls") + DONE)
    assert outcome.calls() == [("c", "f", '{"x":1}')]
    assert outcome.diagnostics == {"function_call_beside_tool_calls": 1}


def test_fragments_told_twice_in_each_delta_are_one_call() -> None:
    """llama-cpp-python sends both forms of a forced tool in each delta; only one is read."""
    pieces = ['{"', "city", '":', ' "Oslo"', "}"]
    body = b"".join(
        D({"function_call": {"name": "f", "arguments": piece},
           "tool_calls": [{"index": 0, "id": "c", "type": "function",
                           "function": {"name": "f", "arguments": piece}}]})
        for piece in pieces
    )
    assert run(body + F("tool_calls") + DONE).calls() == [("c", "f", "".join(pieces))]


def test_legacy_call_beside_calls_of_a_closing_message_is_one_call() -> None:
    """A whole message with both forms gives one call, instead of deltas or after them."""
    message = {"content": None, "function_call": LEGACY, "tool_calls": [NEW]}
    closing = J({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    for body in (closing, D({"function_call": LEGACY}) + closing):
        assert run(body + DONE).calls() == [("c", "f", '{"x":1}')]


def test_legacy_call_alone_is_read() -> None:
    """It may come in pieces; a message that repeats it after them adds nothing."""
    body = D({"function_call": {"name": "f", "arguments": '{"x"'}})
    body += D({"function_call": {"arguments": ":1}"}})
    for closing in (b"", J({"choices": [{"index": 0, "message": {"function_call": LEGACY}}]})):
        calls = run(body + closing + F("function_call") + DONE).calls()
        assert calls == [("call_0", "f", '{"x":1}')]


def test_legacy_call_is_bounded() -> None:
    """Fragments that are held back until the end count towards a limit at once."""
    body = b"".join(D({"function_call": {"arguments": "x" * 100}}) for _ in range(100))
    outcome = run(body, limits=Limits(max_document_bytes=5000))
    assert outcome.code == "MALFORMED_RESPONSE" and "max_document_bytes" in str(outcome.error)


@pytest.mark.parametrize("first", ["{}", "null", " {} ", {}])
@pytest.mark.parametrize("rest", [['{"x":', "1}"], ['{"x":1}'], [{"x": 1}]])
def test_arguments_may_follow_an_empty_object(first: Any, rest: List[Any]) -> None:
    """The empty object is dropped and counted, and is never shown."""
    body = D(call(0, "c", "f", first)) + b"".join(D(call(0, arguments=piece)) for piece in rest)
    outcome = run(body + F("tool_calls") + DONE)
    (made,) = outcome.message.tool_calls
    assert made.parsed() == {"x": 1}
    assert "".join(outcome.deltas("tool-call-delta")) == made.arguments
    assert outcome.diagnostics["tool_call_arguments_begun_again"] == 1


@pytest.mark.parametrize("fragments, arguments", [
    (["{}"], "{}"), (["{}", "{}"], "{}"), (["{}", "", "\n"], "{}\n"), (["null"], "null"),
    (["{}", None], "{}"),
])
def test_empty_object_alone_is_the_arguments(fragments: List[Any], arguments: str) -> None:
    """The empty object is shown at the end if no arguments replaced it."""
    body = b"".join(D(call(0, "c", "f", piece)) for piece in fragments)
    outcome = run(body + F("tool_calls") + DONE)
    assert [made.parsed() for made in outcome.message.tool_calls] == [{}]
    assert outcome.deltas("tool-call-delta") == [arguments]
    assert "tool_call_arguments_begun_again" not in outcome.diagnostics


@pytest.mark.parametrize("fragments", [
    ["{}", "x"], ["{", "}", '{"x":1}'], ['{"x":1}', "{}", "{}"], ["null", "null"], ["{}", " 1"],
])
def test_other_text_after_a_whole_document_is_refused(fragments: List[str]) -> None:
    """Only a first empty object in one piece can be replaced by other arguments."""
    body = b"".join(D(call(0, None if at else "c", None if at else "f", piece))
                    for at, piece in enumerate(fragments))
    assert run(body + F("tool_calls") + DONE).code == "MALFORMED_TOOL_CALL"


@pytest.mark.parametrize("index, named", [(7, "7"), (-1, "-1"), ("3", "3"), (None, "1")])
def test_error_names_a_call_by_the_index_that_was_sent(index: Any, named: str) -> None:
    """An error names a call by its place if the provider sent no index."""
    for bad in ("{", '{"x":1'):
        body = D(call(0, "a", "f", "{}")) + D(call(index, "b", "g", bad)) + F("tool_calls") + DONE
        outcome = run(body)
        assert outcome.code == "MALFORMED_TOOL_CALL"
        assert f"tool call {named} ('g')" in str(outcome.error)
    body = D(call(index, "b", "g", '{"x"')) + D(call(index, "b", None, {"x": 1}))
    assert f"call {'0' if index is None else named}: an object" in str(run(body).error)
