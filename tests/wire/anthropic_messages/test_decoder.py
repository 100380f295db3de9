# SPDX-License-Identifier: MIT
"""Answers as Anthropic's servers, and servers that copy its API, send them."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

import pytest

from streamcore.values.limits import Limits
from streamcore.values.messages import OpaqueBlock
from streamcore.wire.pipeline import parse_stream
from streamcore.wire.assembler import assemble

from anthropic_support import (
    E, answer, call, delta, ends, opens, run, start, stops, tell, text, thinking,
    told,
)
from support import J, bytewise

OVERLOADED = {"details": None, "type": "overloaded_error", "message": "Overloaded"}
HTML = "[HTTP 502] <!DOCTYPE html><html><title>Bad gateway</title></html>"
THROTTLED = '{"message": "Too many requests, please wait before trying again."}'
BLOCKED = "Output blocked by content filtering policy"


def error(**fields: Any) -> bytes:
    return E("error", error=fields)


FAILURES: List[Tuple[str, bytes, str, bool]] = [
    ("the first event is an overload", error(**OVERLOADED), "SERVER", True),
    ("a gateway's 502", start() + error(type="internal_error", message=HTML), "SERVER", True),
    ("a throttle told as a bad request",
     error(type="invalid_request_error", message=THROTTLED), "RATE_LIMIT", True),
    ("an error after text", start() + text(0, "Hi") + error(**OVERLOADED), "SERVER", True),
    ("a content filter", start() + text(0, "Hi") + error(
        type="invalid_request_error", message=BLOCKED), "CONTENT_FILTER", False),
    ("an error without its event's name", start() + J({"type": "error", "error": OVERLOADED}),
     "SERVER", True),
    ("an error in plain words", start() + b"event: error\ndata: upstream died\n\n",
     "SERVER", True),
    ("an error of another dialect", J({"error": {"type": "x", "code": "invalid_api_key"}}),
     "AUTH", False),
    ("no message_stop", start() + text(0, "Hi"), "STREAM_CLOSED", True),
    ("no message_stop after a stop reason", start() + text(0, "Hi") + told("end_turn"),
     "STREAM_CLOSED", True),
    ("another dialect's end", start() + text(0, "Hi") + told("end_turn") + b"data: [DONE]\n\n",
     "STREAM_CLOSED", True),
    ("no stop reason", start() + text(0, "Hi") + E("message_stop"), "STREAM_CLOSED", True),
    ("arguments cut", start() + call(0, "t", "rm", '{"command": "rm -rf ./scra'),
     "STREAM_CLOSED", True),
    ("arguments cut under a stop reason that says whole", start() + opens(
        0, "tool_use", id="t", name="rm", input={}) + delta(
        0, "input_json", partial_json='{"command": "rm -rf ./scra') + ends("tool_use"),
     "MALFORMED_TOOL_CALL", False),
    ("tool_use without a block", answer(text(0, "Hi"), reason="tool_use"),
     "MALFORMED_TOOL_CALL", True),
    ("arguments without a block", start() + delta(-1, "input_json", partial_json="{}"),
     "MALFORMED_TOOL_CALL", False),
    ("arguments in a text block", start() + opens(0, "text", text="") + delta(
        0, "input_json", partial_json="{}"), "MALFORMED_TOOL_CALL", False),
    ("arguments after their block stopped", start() + call(0, "t", "f", "{}") + delta(
        0, "input_json", partial_json="{}"), "MALFORMED_TOOL_CALL", False),
    ("an index told again for a call", start() + call(0, "a", "f") + call(0, "b", "g"),
     "MALFORMED_RESPONSE", False),
    ("a second answer", start() + text(0, "Hi") + start(id="msg_2"), "MALFORMED_RESPONSE", False),
    ("another id at once", start() + start(id="msg_2"), "MALFORMED_RESPONSE", False),
    ("a call told twice, differently", answer(opens(
        0, "tool_use", id="t", name="f", input={"x": 1}) + delta(
        0, "input_json", partial_json='{"x": 2}') + stops(0), reason="tool_use"),
     "MALFORMED_RESPONSE", False),
    ("a call whose input has a key twice", answer(opens(
        0, "tool_use", id="t", name="f", input={"x": 1, "y": 2}).replace(b'"y"', b'"x"') + stops(0),
        reason="tool_use"), "MALFORMED_TOOL_CALL", False),
    ("arguments with a number beyond Python's", answer(
        call(0, "t", "f", '{"x": 1e999}'), reason="tool_use"), "MALFORMED_TOOL_CALL", False),
    ("citations that are no list", start() + opens(0, "text", text="", citations={"a": 1}) + delta(
        0, "citations", citation={"b": 2}), "MALFORMED_RESPONSE", False),
    ("a call without a name", answer(call(0, "t", " ", "{}"), reason="tool_use"),
     "MALFORMED_TOOL_CALL", False),
    ("nothing at all", answer(), "EMPTY_RESPONSE", True),
    ("an empty text", answer(text(0)), "EMPTY_RESPONSE", True),
    ("a refusal", answer(text(0), reason="refusal"), "REFUSAL", False),
    ("a full window", answer(reason="model_context_window_exceeded"),
     "CONTEXT_WINDOW_EXCEEDED", False),
    ("a stop reason nobody knows", answer(reason="moon_phase"), "MOON_PHASE", False),
    ("an input of a server tool that is no JSON", answer(opens(
        0, "server_tool_use", id="s", name="web_search", input={}) + delta(
        0, "input_json", partial_json='{"q": ') + stops(0)), "MALFORMED_RESPONSE", False),
    ("a delta of no type", start() + E("content_block_delta", index=0, delta={"text": "x"}),
     "MALFORMED_RESPONSE", False),
    ("a block that is no object", start() + E("content_block_start", index=0, content_block=3),
     "MALFORMED_RESPONSE", False),
    ("a payload that is a list", start() + J([1]), "MALFORMED_RESPONSE", False),
    ("a name and a type that contradict each other", start() + E("content_block_stop").replace(
        b'"content_block_stop"', b'"content_blok"'), "MALFORMED_RESPONSE", False),
    ("chat completions", J({"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}),
     "MALFORMED_RESPONSE", False),
]


@pytest.mark.parametrize("body, code, retryable", [row[1:] for row in FAILURES],
                         ids=[row[0] for row in FAILURES])
def test_body_that_is_no_answer_fails_with_its_code(
    body: bytes, code: str, retryable: bool
) -> None:
    """A broken or refused answer is an error, even byte by byte, and never a message."""
    outcome = run(body)
    assert outcome.error is not None, outcome.answer
    assert (outcome.code, outcome.error.retryable) == (code, retryable), outcome.error
    assert run(bytewise(body)).told == outcome.told


def test_refusal_tells_its_category() -> None:
    """The failure's details hold the provider's reason; its partial holds the text so far."""
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    end = E("message_delta", delta={"stop_reason": "refusal", "stop_details": details})
    outcome = run(start() + text(0, "Well, ") + end + E("message_stop"))
    assert outcome.error is not None
    assert outcome.error.failure.details == {"category": "cyber", "explanation": "Not this."}
    assert "cyber: Not this." in str(outcome.error)
    assert outcome.error.partial.text == "Well, "


def test_stop_sequence_hit_at_once_is_a_message_without_blocks() -> None:
    """The provider told why the answer ended, so it may be empty."""
    message = run(answer(reason="stop_sequence")).message
    assert (message.content, message.finish) == ((), "stop")


def test_empty_turn_after_tool_results_is_a_message() -> None:
    """After tool results, a model may end its turn without another word."""
    message = run(answer(), after_tools=True).message
    assert (message.content, message.finish) == ((), "stop")


@pytest.mark.parametrize("reason, finish", [
    ("end_turn", "stop"), ("max_tokens", "max-tokens"), ("pause_turn", "paused"),
    ("compaction", "paused"), ("stop_sequence", "stop"),
])
def test_stop_reason_is_the_finish(reason: str, finish: str) -> None:
    """Each stop reason has one meaning, and the finish chunk keeps the provider's word."""
    outcome = run(answer(text(0, "Hi"), reason=reason))
    assert outcome.message.finish == finish
    assert getattr(outcome.chunks[-1], "raw") == reason


def test_calls_at_the_token_limit_are_dropped() -> None:
    """Calls that may have been cut are dropped and counted, and the text stays."""
    cut = opens(1, "tool_use", id="t", name="f", input={}) + delta(
        1, "input_json", partial_json='{"x": ')
    outcome = run(answer(text(0, "Hi"), cut, call(2, "u", "g"), reason="max_tokens"))
    assert (outcome.message.text, outcome.message.tool_calls) == ("Hi", ())
    assert outcome.diagnostics["tool_calls_dropped"] == 2


@pytest.mark.parametrize("option, finish", [(True, "max-tokens"), (False, "tool-calls")])
def test_answer_as_long_as_the_cap_is_cut_where_the_server_does_not_tell(
    option: bool, finish: str
) -> None:
    """Under cut_as_complete its calls are dropped; elsewhere it is only counted."""
    body = start() + call(0, "t", "f") + ends("tool_use", output_tokens=7)
    outcome = run(body, output_cap=7, cut_as_complete=option)
    assert (outcome.message.finish, len(outcome.message.tool_calls)) == (finish, 1 - option)
    assert getattr(outcome.chunks[-1], "raw") == "tool_use"
    assert outcome.diagnostics["output_at_cap"] == 1
    for cap in (8, None):
        outcome = run(body, output_cap=cap, cut_as_complete=option)
        assert outcome.message.finish == "tool-calls" and "output_at_cap" not in outcome.diagnostics


def test_call_beside_end_turn_is_a_call() -> None:
    """Some gateways send end_turn although the answer has a tool_use block."""
    message = run(answer(call(0, "t", "f", '{"x"', ": 1}"))).message
    assert (message.finish, message.tool_calls[0].arguments) == ("tool-calls", '{"x": 1}')


@pytest.mark.parametrize("block, arguments", [
    (opens(0, "tool_use", id="t", name="f") + stops(0), "{}"),  # llama-server has no input
    (call(0, "t", "f", ""), "{}"),
    (call(0, "t", "f", "", '{"x":', " 1}"), '{"x": 1}'),
    (opens(0, "tool_use", id="t", name="f", input={"x": "é"}) + stops(0), '{"x": "é"}'),
    (opens(0, "tool_use", id="t", name="f", input={"x": 1}) + delta(
        0, "input_json", partial_json='{"x":1}') + stops(0), '{"x":1}'),
    (opens(0, "tool_use", id="t", name="f", input={"x": 1}), '{"x": 1}'),  # never stopped
])
def test_arguments_arrive_in_deltas_or_whole(block: bytes, arguments: str) -> None:
    """The input may come in fragments, whole at the start, in both ways, or not at all."""
    assert run(answer(block, reason="tool_use")).message.tool_calls[0].arguments == arguments


def test_answer_whole_in_its_message_start() -> None:
    """message_start may hold the content and the stop reason; message_stop proves the end."""
    content = [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}, "caller": {"type": "y"}},
    ]
    message = run(start(content=content, stop_reason="tool_use") + E("message_stop")).message
    assert (message.text, message.finish) == ("Hi", "tool-calls")
    assert message.tool_calls[0].extras == {"caller": {"type": "y"}}


def test_message_start_is_not_required() -> None:
    """llama-server sends none; message_stop still proves the end."""
    assert run(text(0, "Hi") + ends()).message.text == "Hi"


def test_message_start_told_twice_at_once_is_dropped() -> None:
    """A gateway repeats message_start before any block; this is counted, and the answer is read."""
    outcome = run(start() + start() + text(0, "Hi") + ends())
    assert outcome.message.text == "Hi"
    assert outcome.diagnostics["message_start_again"] == 1


def test_blocks_keep_their_order_and_their_extras() -> None:
    """Several thinking and text blocks stay separate and in order, each with its own extras."""
    cited = {"type": "page_location", "cited_text": "x"}
    body = answer(
        thinking(0, "One", "s1"), thinking(1, "", "s2"), text(2, "A"),
        opens(3, "redacted_thinking", data="ZW5j") + stops(3),
        opens(4, "text", text="B") + delta(4, "citations", citation=cited) + stops(4),
    )
    message = run(body).message
    assert [(b.type, getattr(b, "text", None)) for b in message.content] == [
        ("reasoning", "One"), ("reasoning", ""), ("text", "A"), ("opaque", None), ("text", "B"),
    ]
    assert [getattr(b, "extras", None) for b in message.content] == [
        {"signature": "s1"}, {"signature": "s2"}, None, None, {"citations": [cited]},
    ]
    assert message.content[3] == OpaqueBlock({"type": "redacted_thinking", "data": "ZW5j"})


def test_block_of_a_kind_nobody_knows_is_kept_whole() -> None:
    """An unknown block is opaque; a later field is added to the field of the same name."""
    body = answer(
        opens(0, "compaction", content=None) + delta(0, "compaction", content="so ")
        + delta(0, "compaction", content="far") + delta(0, "compaction", content=None) + stops(0),
        opens(1, "dream", scenes=[1]) + E(
            "content_block_delta", index=1, delta={"type": "dream_delta", "scenes": [2], "n": 3}
        ) + stops(1),
        text(2, "Hi"),
    )
    content = run(body).message.content
    assert content[0] == OpaqueBlock({"type": "compaction", "content": "so far"})
    assert content[1] == OpaqueBlock({"type": "dream", "scenes": [1, 2], "n": 3})


def test_server_tool_is_never_a_call() -> None:
    """A tool that the provider runs is an opaque block with its input, and the finish is stop."""
    body = answer(
        opens(0, "server_tool_use", id="s", name="web_search", input={})
        + delta(0, "input_json", partial_json='{"q":') + delta(0, "input_json", partial_json='1}')
        + stops(0), text(1, "Hi"),
    )
    outcome = run(body)
    assert (outcome.message.tool_calls, outcome.message.finish) == ((), "stop")
    part = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}}
    assert outcome.message.content[0] == OpaqueBlock(part)
    assert getattr(outcome.chunks[0], "kind") == "server_tool_use"


def test_server_tool_cut_at_the_token_limit_keeps_what_was_whole() -> None:
    """The cut input is not guessed; the block stays as it started."""
    body = start() + text(0, "Hi") + opens(
        1, "server_tool_use", id="s", name="web_search", input={}
    ) + delta(1, "input_json", partial_json='{"q": "par') + ends("max_tokens")
    part = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    assert run(body).message.content[1] == OpaqueBlock(part)


MISPLACED: List[Tuple[str, bytes, Tuple[str, str]]] = [
    ("text on an open tool_use", opens(0, "tool_use", id="t", name="f", input={}) + delta(
        0, "text", text="Hi") + delta(0, "input_json", partial_json='{"x": 1}') + stops(0),
     ("Hi", "")),
    ("thinking in a text block", opens(0, "text", text="") + delta(0, "text", text="Hi") + delta(
        0, "thinking", thinking="hm") + stops(0), ("Hi", "hm")),
    ("text without a block", delta(-1, "text", text="H") + delta(-1, "text", text="i"),
     ("Hi", "")),
    ("text after its block stopped", text(0, "H") + delta(0, "text", text="i"), ("Hi", "")),
    ("two blocks at one index", opens(0, "text", text="") + delta(0, "text", text="Hi") + opens(
        0, "thinking", thinking="") + delta(0, "thinking", thinking="hm") + stops(0),
     ("Hi", "hm")),
]


@pytest.mark.parametrize("body, said", [row[1:] for row in MISPLACED],
                         ids=[row[0] for row in MISPLACED])
def test_misplaced_delta_opens_a_block_of_its_own(body: bytes, said: Tuple[str, str]) -> None:
    """A misplaced delta is counted and kept, and does not get into another block."""
    outcome = run(answer(body, reason="tool_use" if b"tool_use" in body else "end_turn"))
    assert (outcome.message.text, outcome.message.reasoning) == said
    assert [c.arguments for c in outcome.message.tool_calls] == ['{"x": 1}'] * (b"_use" in body)
    assert {"delta_without_its_block", "block_index_again"} & set(outcome.diagnostics)


def test_pings_and_notes_count_for_nothing() -> None:
    """Pings, padding and events after message_stop do not change the answer."""
    ping = E("ping")
    padded = text(0, "Hi").replace(b"}}\n", b"}}       \n").replace(b"}\n\n", b"   }\n\n")
    note = b"event: keep-alive\ndata: still here\n\n"
    plain = run(start() + text(0, "Hi") + ends())
    body = ping + start() + ping + padded + note + ping + ends() + E("ping", cost="0")
    assert run(body + b"data: [DONE]\n\n").message == plain.message


def test_type_in_the_data_decides_and_the_name_stands_in() -> None:
    """A stream reads the same without event lines, and without types in the data."""
    whole = answer(text(0, "Hi"))
    unnamed = b"".join(line + b"\n" for line in whole.split(b"\n") if line[:6] != b"event:")
    untyped = whole.replace(b'"type":"content_block_stop",', b"")
    assert run(unnamed).message == run(whole).message == run(untyped).message


def test_usage_is_merged_field_by_field() -> None:
    """For each field the last value that is not null counts; usage.raw keeps the reports."""
    begun = {"input_tokens": 8834, "cache_read_input_tokens": 0, "output_tokens": 1,
             "service_tier": "standard", "cache_creation": {"ephemeral_1h_input_tokens": 5}}
    body = start(usage=begun) + text(0, "Hi") + ends(
        input_tokens=18, cache_read_input_tokens=8816, output_tokens=40,
        cache_creation_input_tokens=None, output_tokens_details={"thinking_tokens": 30})
    usage = run(body).message.usage
    assert usage is not None and usage.raw is not None
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens,
              usage.cache_write_tokens, usage.reasoning_tokens)
    assert counts == (18, 40, 8816, None, 30)
    assert usage.raw["service_tier"] == "standard"
    assert usage.raw["cache_creation"] == {"ephemeral_1h_input_tokens": 5}


@pytest.mark.parametrize("odd", [[1], "x", {"input_tokens": -1}, {"output_tokens": "9"},
                                 {"output_tokens_details": 3}])
def test_odd_usage_never_fails_an_answer(odd: Any) -> None:
    """Usage that makes no sense is ignored."""
    body = start(usage=odd) + text(0, "Hi") + E(
        "message_delta", delta={"stop_reason": "end_turn"}, usage=odd) + E("message_stop")
    assert run(body).message.text == "Hi"


def test_facts_of_the_whole_message_are_kept() -> None:
    """Container, context management and the stop sequence become extras of the message."""
    container = {"id": "container_1"}
    end = E("message_delta", delta={"stop_reason": "stop_sequence", "stop_sequence": "END",
                                    "container": container}, context_management={"x": []})
    message = run(start() + text(0, "Hi") + end + E("message_stop")).message
    assert message.extras == {
        "stop_sequence": "END", "container": container, "context_management": {"x": []},
    }
    assert (message.model, message.response_id) == ("claude-test", "msg_1")


def test_end_without_its_marker_where_the_profile_says_so() -> None:
    """With done_marker optional, a stop reason, stopped blocks and a clean end prove the end."""
    whole = start() + text(0, "Hi") + told("end_turn")
    assert run(whole, done_marker="optional").message.text == "Hi"
    unstopped = start() + opens(0, "text", text="Hi") + told("end_turn")
    for body in (whole[:-1], start() + text(0, "Hi"), unstopped):
        assert run(body, done_marker="optional").code == "STREAM_CLOSED"


def test_repeated_call_id_is_made_unique() -> None:
    """If two calls had the same id, one result would answer both."""
    outcome = run(answer(call(0, "t", "f"), call(1, "t", "f"), reason="tool_use"))
    assert [c.id for c in outcome.message.tool_calls] == ["t", "t_2"]
    assert outcome.diagnostics["tool_call_id_repeated"] == 1


def test_missing_call_id_is_made() -> None:
    """A call without an id gets one, so that a result can answer it."""
    block = opens(0, "tool_use", name="f", input={}) + stops(0)
    assert run(answer(block, reason="tool_use")).message.tool_calls[0].id == "call_0"


@pytest.mark.parametrize("limits, body", [
    (Limits(max_tool_calls=1), call(0, "a", "f") + call(1, "b", "f")),
    (Limits(max_tool_argument_bytes=8), call(0, "a", "f", '{"x": "123456789"}')),
])
def test_limits_of_calls_hold(limits: Limits, body: bytes) -> None:
    """Too many calls and too long arguments are refused."""
    assert run(answer(body, reason="tool_use"), limits).code == "MALFORMED_TOOL_CALL"


def test_halves_of_a_character_are_joined_over_deltas() -> None:
    """A surrogate pair split over two deltas is one character; a half alone is counted."""
    split = opens(0, "text", text="") + delta(0, "text", text="\ud83d").replace(
        b"\xed\xa0\xbd", b"\\ud83d") + delta(0, "text", text="\ude00").replace(
        b"\xed\xb8\x80", b"\\ude00") + stops(0)
    assert run(answer(split)).message.text == "\U0001f600"
    alone = text(0, "a", "\ud83d").replace(b"\xed\xa0\xbd", b"\\ud83d")
    outcome = run(answer(alone))
    assert outcome.message.text == "a\ufffd"
    assert outcome.diagnostics["surrogate_half_alone"] == 1


DOCUMENT: Dict[str, Any] = {
    "type": "message", "id": "msg_1", "role": "assistant", "model": "m", "stop_reason": "tool_use",
    "content": [{"type": "text", "text": "Hi"},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


@pytest.mark.parametrize("changes, code", [
    ({}, None), ({"stop_reason": None}, "MALFORMED_RESPONSE"),
    ({"content": 3}, "MALFORMED_RESPONSE"), ({"type": "error", "error": OVERLOADED}, "SERVER"),
])
def test_whole_document_in_place_of_a_stream(changes: Dict[str, Any], code: Optional[str]) -> None:
    """A message object gives the same chunks as a stream; an error object raises its error."""
    outcome = run(json.dumps({**DOCUMENT, **changes}).encode())
    assert outcome.code == code
    if code is None:
        assert (outcome.message.text, outcome.message.finish) == ("Hi", "tool-calls")


def test_stream_is_read_by_its_name() -> None:
    """``parse_stream`` takes the dialect's name, and with it a faster parser or options."""
    pieces = [answer(text(0, "Hi"))]
    chunks = parse_stream(pieces, dialect="anthropic-messages", json_loads=json.loads)
    assert assemble(chunks).text == "Hi"


def test_stream_asked_for_in_chat_completions_names_its_dialect() -> None:
    """The error's message names the dialect to ask for."""
    with pytest.raises(Exception, match="dialect='anthropic-messages'"):
        list(parse_stream([answer(text(0, "Hi"))]))


def test_nothing_ends_before_message_stop_is_complete() -> None:
    """No block-end and no finish come before the blank line after message_stop."""
    body = answer(thinking(0, "hm"), text(1, "Hi"), call(2, "t", "f", "{}"), reason="tool_use")
    for size in range(len(body)):
        told_so_far = tell([body[:size]])
        assert told_so_far.failure is not None
        assert not {"block-end", "finish"} & {chunk.type for chunk in told_so_far.chunks}
