# SPDX-License-Identifier: MIT
"""The chat-completions decoder: policies of DESIGN.md §8 that need more than one small stream.

What one stream shows is in tests/streams and in test_faults_stream; here are the orders of
chunks, the error messages, what is kept beside the text, the state of the machine, its limits.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Dict, List

import pytest

from streamcore.values.chunks import BlockStart, TextDelta, ToolCallDelta
from streamcore.values.errors import LlmError, Partial
from streamcore.values.limits import Limits, resolve_limits
from streamcore.values.messages import ReasoningBlock
from streamcore.values.usage import TokenUsage
from streamcore.wire.dialects import find_dialect
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions
from streamcore.wire.dialects.chat_completions.decoder import ChatCompletionsDecoder
from streamcore.wire.sse import SseEnd, SseEvent

from support import DONE, D, F, J, call, run, make_decoder

END = F("tool_calls") + DONE


def event(payload: Any, name: str = "message") -> SseEvent:
    return SseEvent(payload if isinstance(payload, str) else json.dumps(payload), name)


def delta(fields: Dict[str, Any], finish: Any = None) -> SseEvent:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


CLEAN = SseEnd(False, "", "", (), True)


def test_machine_returns_the_chunks_each_event_completed() -> None:
    """``push`` returns chunks at once; ``[DONE]`` gives the rest and sets ``done``."""
    decoder = make_decoder()
    assert isinstance(decoder, ChatCompletionsDecoder)
    assert decoder.push(delta({"role": "assistant", "content": ""})) == []
    assert decoder.push(delta({"content": "a"})) == [BlockStart(0, "text"), TextDelta(0, "a")]
    assert decoder.push(delta({"content": "b"}, "stop")) == [TextDelta(0, "b")]
    assert decoder.partial() == Partial("ab") and not decoder.done
    assert [chunk.type for chunk in decoder.push(event("[DONE]"))] == ["block-end", "finish"]
    assert decoder.done


@pytest.mark.parametrize("late", [
    delta({"content": "late"}), event("[DONE]"), event("no json"), event({"error": "x"}),
    event("x", "error"), event("[1]"),
])
def test_machine_that_is_done_takes_nothing_more(late: SseEvent) -> None:
    """Whatever comes after [DONE] gives no chunk and no error."""
    decoder = make_decoder()
    decoder.push(delta({"content": "a"}))
    decoder.push(event("[DONE]"))
    assert decoder.push(late) == [] == decoder.finish(CLEAN)
    assert decoder.partial() == Partial("a")


def test_machine_refuses_a_source_that_ends_without_done() -> None:
    """The decoder itself raises STREAM_CLOSED, even without the pipeline."""
    decoder = make_decoder()
    decoder.push(delta({"content": "a"}, "stop"))
    with pytest.raises(LlmError) as caught:
        decoder.finish(CLEAN)
    assert caught.value.code == "STREAM_CLOSED" and caught.value.retryable


def closed(body: bytes, **options: Any) -> str:
    outcome = run(body, **options)
    assert outcome.code == "STREAM_CLOSED"
    return str(outcome.error)


def test_closed_stream_says_what_there_was() -> None:
    """The error tells the setting to use, the body's tail, and lines that were not fields."""
    assert "done_marker='optional'" in closed(D({"content": "a"}) + F("stop"))
    assert "done_marker" not in closed(D({"content": "a"}))
    assert '{"choices":[{"del' in closed(D({"content": "a"}) + b'data: {"choices":[{"del')
    stray = D({"content": "a"}) + F("stop") + b"Internal Server Error\nupstream reset\n"
    for marker in ("required", "optional"):
        said = closed(stray, done_marker=marker)
        assert "Internal Server Error" in said and "upstream reset" in said


def test_proof_of_the_end_comes_before_the_meaning_of_the_finish_word() -> None:
    """A bad finish word without a proven end is a closed stream."""
    for word in ("content_filter", "error", "tool_calls", "length"):
        assert run(D({"content": "a"}) + F(word)).code == "STREAM_CLOSED"
    assert run(F("stop")).code == "STREAM_CLOSED"


def test_optional_marker_still_reads_to_done_where_there_is_one() -> None:
    """Usage after the finish word is not lost, and [DONE] ends the answer."""
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    body = D({"content": "a"}) + F("stop") + J({"choices": [], "usage": usage})
    for end in (b"", DONE):
        assert run(body + end, done_marker="optional").message.usage == TokenUsage(5, 2)


@pytest.mark.parametrize("error", [{}, 0, [], "x", {"message": "x"}, True, 1, [{}], ["x"]])
@pytest.mark.parametrize("where", ["top", "choice", "with text"])
def test_error_of_any_shape_fails_the_stream(where: str, error: Any) -> None:
    """Any error but null, false and "" counts, at the top and in the choice."""
    choice: Dict[str, Any] = {"index": 0, "delta": {"content": "a"}}
    payload = {
        "top": {"error": error}, "choice": {"choices": [{**choice, "error": error}]},
        "with text": {"error": error, "choices": [choice]},
    }[where]
    outcome = run(D({"content": "a"}) + J(payload) + F("stop") + DONE)
    assert outcome.error is not None and outcome.code not in ("STREAM_CLOSED", None)
    assert outcome.error.partial.text == "a"


@pytest.mark.parametrize("frame", [
    J({"code": 500, "msg": "it broke"}), J({"status": 500, "message": "it broke"}),
    J({"fault": {"faultstring": "it broke"}}), J({"statusCode": 503, "message": "it broke"}),
    D({"error": "it broke"}), D({"content": "b", "error": {"message": "it broke"}}),
    D({"error": {"message": "it broke"}}, "stop"),
])
@pytest.mark.parametrize("end", [b"", F("stop"), D({"content": "c"}) + F("stop")])
def test_error_without_a_wrapper_fails_the_stream(frame: bytes, end: bytes) -> None:
    """An error that names a status or a code counts, even if more comes after it."""
    outcome = run(D({"content": "a"}) + frame + end + DONE)
    assert outcome.error is not None and outcome.code == "SERVER" and outcome.error.retryable
    assert "it broke" in outcome.error.failure.message


SENTENCES = [{"message": "it broke"}, {"status": "failed", "msg": "it broke"}]


@pytest.mark.parametrize("payload", SENTENCES)
@pytest.mark.parametrize("end", [DONE, J({"choices": []}) + DONE, b""])
def test_sentence_before_an_end_without_finish_word_is_the_error(
    payload: Dict[str, Any], end: bytes
) -> None:
    """A stream that ends with a sentence instead of a finish word fails with that sentence."""
    outcome = run(D({"content": "a"}) + J(payload) + end)
    assert outcome.error is not None and outcome.code == "SERVER" and outcome.error.retryable
    assert outcome.error.failure.message == "it broke" and outcome.error.partial.text == "a"


@pytest.mark.parametrize("payload", [*SENTENCES, {"code": 0, "message": "it broke"}])
@pytest.mark.parametrize("end", [F("stop"), D({"content": "b"}), D({"content": "b"}, "stop")])
def test_sentence_in_a_stream_that_goes_on_is_a_note(
    payload: Dict[str, Any], end: bytes
) -> None:
    """A sentence with text or a finish word after it, or after the finish word, is a note."""
    body = D({"content": "b"}) + J(payload)
    assert run(body + end + DONE).message.text in ("b", "bb")
    assert run(D({"content": "b"}) + F("stop") + J(payload) + DONE).message.text == "b"


@pytest.mark.parametrize("nothing", [None, False, ""])
def test_error_that_is_none_fails_nothing(nothing: Any) -> None:
    """Null, false and "" are not errors, at the top, in the choice and in its delta."""
    choice = {"index": 0, "delta": {"content": "a", "error": nothing}, "error": nothing}
    assert run(J({"error": nothing, "choices": [choice]}) + DONE).message.text == "a"


def test_first_error_counts() -> None:
    """The first error is raised, and nothing after it is read."""
    first = J({"error": {"code": "insufficient_quota"}})
    assert run(first + J({"error": {"code": 500}}) + b"data: no\n\n").code == "QUOTA"


NAMES = ["reasoning_content", "reasoning", "reasoning_text"]


@pytest.mark.parametrize("name", NAMES)
def test_reasoning_block_remembers_its_field(name: str) -> None:
    """The block keeps the field's name, so that it can go back in the same field."""
    message = run(D({name: "h"}) + D({"reasoning": "m"}) + D({"content": "a"}) + DONE).message
    assert message.content[0] == ReasoningBlock("hm", name)


def test_blocks_are_numbered_as_they_open_and_ended_in_that_order() -> None:
    """Blocks keep the order of opening: text before reasoning, with calls between."""
    outcome = run(
        D({"content": "a"}) + D(call(0, "x", "f", "{}")) + D({"reasoning": "h"})
        + D(call(1, "y", "g", "{}")) + D({"content": "b"}) + D({"reasoning": "m"}) + END)
    opened = [(c.index, c.block_type) for c in outcome.chunks if isinstance(c, BlockStart)]
    assert opened == [(0, "text"), (1, "tool-call"), (2, "reasoning"), (3, "tool-call")]
    assert [c.index for c in outcome.chunks if c.type == "block-end"] == [0, 1, 2, 3]
    assert [block.type for block in outcome.message.content] == [t for _, t in opened]


def test_one_delta_tells_reasoning_then_text_then_calls() -> None:
    """The content of one payload comes in this order."""
    fields = {**call(0, "x", "f", "{}"), "content": "a", "reasoning": "h", "refusal": "r"}
    assert [c.type for c in make_decoder().push(delta(fields))] == [
        "block-start", "reasoning-delta", "block-start", "text-delta", "text-delta", "block-start",
        "tool-call-delta"]


def test_id_and_name_are_told_once_where_they_become_known() -> None:
    """They come in the first delta or a later one; an id that is made comes at the end."""
    outcome = run(D(call(0, None, None, "{")) + D(call(0, "a")) + D(call(0, "a", "f", "}"))
                  + D(call(0, "b", "")) + D(call(1, None, "g", "{}")) + END)
    told = [(c.index, c.id, c.name) for c in outcome.chunks if isinstance(c, ToolCallDelta)]
    assert told == [(0, "a", "f"), (1, None, "g")]
    assert [id for id, _, _ in outcome.calls()] == ["a", "call_1"]


def test_what_the_provider_says_of_itself_is_kept() -> None:
    """The first model and id that are not empty are kept; values of wrong types are skipped."""
    odd = J({"id": "", "model": 5, "choices": []}) + J({"id": None, "model": "", "choices": []})
    said = J({"id": "r\ud83d", "model": "m", "choices": [{"delta": {"content": "a"}}]})
    said = said.replace("\ud83d".encode("utf-8", "surrogatepass"), b"\\ud83d")
    message = run(odd + said + J({"id": "r2", "model": "m2", "choices": []}) + DONE).message
    assert (message.response_id, message.model) == ("r\ufffd", "m")


def test_opaque_fields_of_the_message_are_kept() -> None:
    """Encrypted details and reasoning_opaque are kept, to be sent back."""
    body = D({"content": "a", "reasoning_opaque": "o",
              "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]})
    message = run(body + F("stop") + DONE).message
    details = [{"type": "reasoning.encrypted", "data": "x"}]
    assert message.extras == {"reasoning_opaque": "o", "reasoning_details": details}


def test_half_characters_are_in_nothing_that_is_told() -> None:
    """No lone surrogate half is in ids, names, extras, finish words or errors."""
    frame = (b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a\\ud83d","x":"\\ud83d",'
             b'"function":{"name":"f\\ud83d","arguments":"{}"}}]}}]}\n\n')
    ends = [b'data: {"choices":[{"finish_reason":"tool_calls"}]}\n\n' + DONE,
            b'data: {"choices":[{"finish_reason":"x\\ud83d"}]}\n\n' + DONE,
            b'data: {"error":"x\\ud83d"}\n\n', b'data: {"choices":"\\ud83d"}\n\n',
            b'data: \\ud83d\n\n', b'data: {"x":"\\ud83d"\n\n']
    for end in ends:
        outcome = run(frame + end)
        for chunk in outcome.chunks:
            json.dumps(chunk.to_dict(), ensure_ascii=False).encode("utf-8")
        if outcome.error is not None:
            json.dumps(outcome.error.failure.to_dict(), ensure_ascii=False).encode("utf-8")
            outcome.error.code.encode("utf-8")
    assert run(frame + ends[0]).calls() == [("a\ufffd", "f\ufffd", "{}")]


@pytest.mark.parametrize("depth", [199, 201, 450, 900, 990, 3000, 100_000])
@pytest.mark.parametrize("where", [
    '{"x":%s}', '{"error":%s}', '{"usage":%s,"choices":[]}', '{"choices":%s}',
    '{"choices":[{"delta":{"content":%s}}]}', '{"choices":[{"delta":{"reasoning_details":[%s]}}]}',
    '{"choices":[{"delta":{"reasoning_opaque":%s,"content":"a"}}]}',
    '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","x":%s,"function":{"name":"f"}}]}}]}',
    '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f",'
    '"arguments":{"x":%s}}}]}}]}',
    '{"choices":[{"delta":{"tool_calls":[{"index":%s,"function":{"name":"f"}}]}}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":%s}]}',
])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_nesting_never_raises_what_is_no_llm_error(where: str, depth: int, brackets: str) -> None:
    """Deep values in any field give an LlmError or a message, on every Python."""
    opening = "[" if brackets == "[]" else '{"a":'
    deep = opening * depth + "1" + brackets[1] * depth
    body = b"data: " + (where % deep).encode() + b"\n\n" + F("stop") + DONE
    outcome = run(body, limits=Limits(max_event_bytes=2_000_000))
    if depth > 201:
        assert outcome.code == "MALFORMED_RESPONSE"
    if outcome.error is None:
        json.dumps(outcome.message.to_dict())


@pytest.mark.parametrize("number", [
    "1" * 5000, "-" + "1" * 100_000, "1" * 4000, "1e999", "0." + "1" * 9999,
])
@pytest.mark.parametrize("where", [
    '{"x":%s}', '{"usage":{"prompt_tokens":%s},"choices":[]}', '{"error":{"code":%s}}',
    '{"choices":[{"index":%s,"delta":{"content":"a"}}]}', '{"choices":[{"delta":{"content":%s}}]}',
    '{"choices":[{"delta":{"tool_calls":[{"index":%s,"function":{"name":"f"}}]}}]}',
    '{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f",'
    '"arguments":{"a":%s}}}]}}]}',
])
def test_huge_numbers_never_raise_what_is_no_llm_error(where: str, number: str) -> None:
    """Numbers that Python refuses are MALFORMED_RESPONSE; all others are read."""
    body = b"data: " + (where % number).encode() + b"\n\n" + D({"content": "b"}) + DONE
    outcome = run(body)
    if len(number) >= 5000 and number[0] != "0" and hasattr(sys, "get_int_max_str_digits"):
        assert outcome.code == "MALFORMED_RESPONSE"


def test_message_that_stands_in_never_stands_beside_deltas() -> None:
    """A message counts only while no delta has come."""
    def message(text: str) -> bytes:
        return J({"choices": [{"message": {"role": "assistant", "content": text}}]})

    outcome = run(message("Hel") + message("lo") + D({"content": "!"}) + message("Hello!") + DONE)
    assert outcome.message.text == "Hello!"
    assert outcome.diagnostics["message_in_place_of_delta"] == 2
    empty = D({"role": "assistant", "content": ""})
    assert run(empty + message("hi") + DONE).message.text == "hi"


def test_document_gives_what_a_stream_would() -> None:
    """A whole completion gives its reasoning, text, calls and usage."""
    document = {
        "id": "r", "model": "m", "usage": {"prompt_tokens": 5, "completion_tokens": 2},
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "a", "reasoning_content": "h",
            **call(None, "x", "f", '{"a":1}')}}],
    }
    whole = run(json.dumps(document).encode())
    assert whole.calls() == [("x", "f", '{"a":1}')] and whole.diagnostics == {
        "json_document": 1, "message_in_place_of_delta": 1}
    streamed = run(J({"id": "r", "model": "m", "choices": [{"delta": {
        "reasoning_content": "h", "content": "a", **call(None, "x", "f", '{"a":1}')}}]})
        + F("tool_calls", usage=document["usage"]) + DONE)
    assert whole.chunks == streamed.chunks and whole.message == streamed.message


@pytest.mark.parametrize("document", [
    {}, {"choices": []}, {"choices": None}, {"choices": [{}]}, {"choices": ["x"]}, {"choices": {}},
    {"choices": [{"text": "legacy"}]}, {"choices": [{"message": None}]}, {"message": {}},
    {"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]},
    {"choices": [{"message": ["a"]}]},
])
def test_document_that_is_no_completion_is_malformed(document: Any) -> None:
    """A document that is not a completion is never an empty success."""
    assert run(json.dumps(document).encode()).code == "MALFORMED_RESPONSE"


def test_diagnostics_count_what_was_skipped_repaired_or_dropped() -> None:
    """The counters are written by name into the caller's own dict."""
    counters: Dict[str, int] = {}
    decoder = make_decoder(diagnostics=counters)
    assert decoder.diagnostics is counters
    decoder.push(event({"object": "ping"}))
    decoder.push(event({"choices": [], "usage": "odd"}))
    decoder.push(delta({"content": [{"type": "x"}]}))
    decoder.push(delta(call(0, 5, "f", "{}")))
    decoder.push(delta(call(0, None, "g")))
    decoder.push(delta(call(0, None, None, "{}")))
    decoder.push(delta(call(1, "a", "f", {})))
    decoder.push(delta(call(1, "b")))
    decoder.push(delta({"reasoning_details": ["x", None, {"text": "\ude00"}]}))
    decoder.push(delta({"content": "a\ud83d"}))
    decoder.push(delta({"content": "b"}))
    assert counters["surrogate_half_alone"] == 2  # at once: an answer may fail before its end
    decoder.push(event({"choices": [{"index": 1, "delta": {}}]}))
    decoder.push(event({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]}))
    decoder.push(event("[DONE]"))
    assert counters == {
        "payload_without_choices": 1, "usage_odd": 1, "content_part_unknown": 1,
        "tool_call_id_odd": 1, "tool_call_name_changed": 1, "tool_call_arguments_repeated": 1,
        "tool_call_arguments_object": 1, "tool_call_id_changed": 1, "reasoning_details_odd": 1,
        "surrogate_half_alone": 2, "choice_index_grew": 1, "tool_calls_dropped": 2,
    }


def test_limits_count_in_the_decoder() -> None:
    """A limit raises as soon as it is passed, before the stream ends."""
    decoder = make_decoder(
        ChatCompletionsOptions(), resolve_limits(Limits(max_tool_calls=1)))
    decoder.push(delta(call(0, "a", "f")))
    with pytest.raises(LlmError, match="max_tool_calls"):
        decoder.push(delta(call(1, "b", "f")))


def test_unknown_dialect_is_a_value_error() -> None:
    """The error tells the known names."""
    with pytest.raises(ValueError, match="chat-completions"):
        find_dialect("other")


def quick(work: Any, bound: float = 10.0) -> Any:
    start = time.perf_counter()
    value = work()
    assert time.perf_counter() - start < bound
    return value


@pytest.mark.parametrize("frames", [
    [D(call(0, None, "f", "abcd"))] * 30_000,  # the name in each, no id, no index known before
    [D(call(0, "a", "f", "}}}}"))] * 30_000,
    [D(call(None, None, "f", '\\"}'))] * 30_000,
    [D(call(0, "a", "f", {"x": 1}))] * 30_000,
    [D({"reasoning": "a", "reasoning_content": "a"})] * 30_000,
    [D({"content": [{"type": "text", "text": "a"}]})] * 30_000,
    [D({"reasoning_details": [{"type": "reasoning.text", "text": "a"}]})] * 20_000,
    [D({"content": "a"}, usage={"prompt_tokens": 1})] * 30_000,
    [J({"object": "ping"})] * 30_000,
    [D({"tool_calls": [{}] * 5_000})],
    [D({"content": [{"type": "text", "text": "a"}] * 7000})],
], ids=range(11))
def test_many_events_are_linear(frames: List[bytes]) -> None:
    """Tens of thousands of each kind of frame take seconds."""
    start = D(call(0, None, "f", '{"x":"')) if b"tool_calls" in frames[0] else b""
    outcome = quick(lambda: run([start + D({"content": "t"}), b"".join(frames), DONE]))
    assert outcome.code in (None, "MALFORMED_TOOL_CALL")


@pytest.mark.parametrize("word", ["null", "None", " none "])
def test_null_written_as_text_is_no_finish_word(word: str) -> None:
    """"null" as text does not end the answer."""
    outcome = run(D({"content": "a"}) + F(word) + D({"content": "b"}) + F("stop") + DONE)
    assert outcome.answer is not None and outcome.answer.text == "ab"


@pytest.mark.parametrize("name,data", [("ping", "ping"), ("end", "end of stream"), ("x", "1")])
def test_named_event_of_plain_words_is_skipped(name: str, data: str) -> None:
    """A gateway's notes are counted and skipped; a broken payload is still refused."""
    note = f"event: {name}\ndata: {data}\n\n".encode()
    outcome = run(D({"content": "a"}) + note + F("stop") + DONE)
    assert outcome.answer is not None and outcome.answer.text == "a"
    assert outcome.diagnostics == {"named_event_skipped": 1}
    broken = f"event: {name}\ndata: {{\"choices\n\n".encode()
    assert run(D({"content": "a"}) + broken + F("stop") + DONE).code == "MALFORMED_RESPONSE"
    assert run(D({"content": "a"}) + f"data: {data}\n\n".encode()).code == "MALFORMED_RESPONSE"


def test_payload_parser_may_be_handed_in() -> None:
    """A payload that the parser refuses is read again strictly; others are used as read."""
    from streamcore.wire.pipeline import parse_stream

    asked: List[str] = []

    def loads(text: str) -> Any:
        asked.append(text)
        if "strict" in text:
            raise ValueError("not by me")
        return json.loads(text)

    body = [D({"content": "a"}), D({"content": "strict"}), F("stop"), DONE]
    texts = [c.text for c in parse_stream(body, json_loads=loads) if c.type == "text-delta"]
    assert texts == ["a", "strict"] and len(asked) == 3
    with pytest.raises(LlmError, match="NaN"):
        list(parse_stream([b'data: {"a": NaN, "strict": 1}\n\n'], json_loads=loads))


GOOD = '{"choices":[{"index":0,"delta":{"content":"a"}}]}'
TEXTS = [
    GOOD, f" {GOOD}", f"{GOOD}\n", f"{GOOD}{GOOD}", f"{GOOD} x", GOOD[:-1],
    GOOD.replace("0", "NaN"), GOOD.replace("0", "Infinity"), GOOD.replace("0", "1e999"),
    GOOD.replace("0", "9" * 5000),
    GOOD.replace('"a"', '"\\ud83d"'), GOOD.replace('"a"', '"\n"'), "\ufeff" + GOOD, "", " ", "null",
    " null ", "true", "5", '"x"', "[]", "[5]", "[[" * 300 + "]]" * 300, "[DONE]", " [DONE] ",
    "[DONE", "data", "{}", "[" * 100_000, f"[{GOOD}]", '[{"error":"x"}]',
    '{"choices":[],"x":' + "[" * 300 + "]" * 300 + "}",
    '{"choices":[],"x":' + "[" * 150 + "]" * 150 + "}",
    '{"choices":[],"x":"' + "[" * 500 + '"}',
]


@pytest.mark.parametrize("name", ["message", "ping"])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_payload_read_at_once_is_what_strict_reading_gives(text: str, name: str) -> None:
    """A parser that refuses everything gives the same chunks, counters and error."""
    def refuse(text: str) -> Any:
        raise ValueError("not by me")

    said: List[Any] = []
    for loads in (None, refuse):
        decoder = make_decoder(json_loads=loads)
        try:
            found: Any = decoder.push(SseEvent(text, name))
        except LlmError as error:
            found = str(error)
        said.append((found, decoder.done, decoder.partial(), decoder.diagnostics))
    assert said[0] == said[1]


def test_null_with_blanks_around_it_is_absent_too() -> None:
    """A null payload is skipped, even with blanks around it."""
    for text in ("null", " null "):
        assert make_decoder().push(SseEvent(text)) == []


@pytest.mark.parametrize("words, code, raw", [
    (["content_filter", "weird"], "CONTENT_FILTER", "content_filter"),
    (["weird", "content_filter"], "WEIRD", "weird"),
    (["stop", "weird", "error", "content_filter"], "WEIRD", "weird"),
])
def test_of_finish_words_that_are_errors_the_first_told_counts(
    words: List[str], code: str, raw: str
) -> None:
    """The code and the message are those of the first word."""
    error = run(b"".join(F(word) for word in words) + DONE).error
    assert error is not None and error.code == code and repr(raw) in str(error)


def test_fields_of_a_delta_are_read_in_one_order_whatever_their_own() -> None:
    """Reasoning comes first, then text, then calls."""
    fields: Dict[str, Any] = {
        "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}],
        "unknown": 1, "refusal": "c", "content": "b", "role": "assistant",
        "reasoning": "a", "reasoning_content": "a", "function_call": None,
    }
    for names in (list(fields), sorted(fields), list(reversed(fields))):
        decoder = make_decoder()
        chunks = decoder.push(delta({name: fields[name] for name in names}))
        assert [chunk.type for chunk in chunks] == [
            "block-start", "reasoning-delta", "block-start", "text-delta", "text-delta",
            "block-start", "tool-call-delta"]
        assert decoder.diagnostics == {"delta_field_unknown": 1}


@pytest.mark.parametrize("before", ["", "said "])
def test_content_marked_as_a_thought_is_reasoning(before: str) -> None:
    """Gemini's marked content becomes reasoning, and no tag is in the text."""
    marked = {"extra_content": {"google": {"thought": True}}}
    body = b"".join([
        *([D({"content": before})] * bool(before)),
        D({"content": "<thought>a", **marked}), D({"content": "b", **marked}),
        D({"content": "</thought>so"}), D({"content": "</thought>"}), F("stop"), DONE,
    ])
    answer = run(body).answer
    assert answer is not None
    assert (answer.reasoning, answer.text) == ("ab", f"{before}so</thought>")


@pytest.mark.parametrize("wrong", [
    {"context_window": -5}, {"context_window": True}, {"context_window": 1.5}, {"images": "no"},
    {"stream_options": None}, {"think_tags": 1}, {"max_tokens_field": 5}, {"reasoning_field": ""},
    {"done_marker": "maybe"}, {"reasoning_passback": "sometimes"},
])
def test_options_are_checked_when_made(wrong: Dict[str, Any]) -> None:
    """A value that an option cannot have is refused when the options are made."""
    with pytest.raises((TypeError, ValueError)):
        ChatCompletionsOptions(**wrong)
