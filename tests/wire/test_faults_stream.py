# SPDX-License-Identifier: MIT
"""The rows of FAULTS.md that concern bytes only, one test or more a row.

Sections SSE, payload, tool calls, usage and finish. ``test_S1_…`` is row S1. Rows about
clocks, sockets and requests are tested where bytes meet time.
"""

from __future__ import annotations

import json
import random
import time
from typing import Any, Dict, List

import pytest

from streamcore.values.errors import LlmError
from streamcore.values.limits import Limits
from streamcore.values.usage import TokenUsage

from support import DONE, D, F, J, Outcome, bytewise, call, random_cuts, run, two_ways

USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
KB = 1024


def hi(text: str = "hi") -> bytes:
    return D({"content": text})


def code(*parts: bytes, **options: Any) -> Any:
    return run(b"".join(parts), **options).code


def text(*parts: bytes, **options: Any) -> str:
    return run(b"".join(parts), **options).message.text


def calls(*parts: bytes) -> List[Any]:
    return run(b"".join(parts)).calls()


# -- SSE framing --------------------------------------------------------------------------


def test_S1_character_split_between_reads() -> None:
    """日本😀 cut at every byte reads the same, with no U+FFFD."""
    body = hi("日本😀") + DONE
    for _, pieces in two_ways(body, range(len(body) + 1)):
        assert run(pieces).message.text == "日本😀"


@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\r\r", b"\n\r\n", b"\r\n\n", b"\n\r", b"\r\n\r"])
def test_S2_line_ends_of_every_kind(end: bytes) -> None:
    """CRLF, CR alone and mixed give the same events, split between reads too."""
    body = b"".join(part[:-2] + end for part in (hi("a"), hi("b"), F("stop"), DONE))
    for pieces in [[body], bytewise(body), *(cut for _, cut in two_ways(body, range(len(body))))]:
        assert run(pieces).message.text == "ab"


def test_S2_lone_cr_at_the_end_ends_the_event() -> None:
    """A last blank line that is only CR counts."""
    assert text(hi(), b"data: [DONE]\r\r") == text(hi(), b"data: [DONE]\n\r") == "hi"


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085"])
def test_S3_unicode_line_marks_are_data(mark: str) -> None:
    """U+2028 and the like, raw in a JSON string, stay in the text."""
    assert text(hi(f"a{mark}b"), DONE) == f"a{mark}b"


@pytest.mark.parametrize("byte", [b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e"])
def test_S3_control_characters_end_no_line(byte: bytes) -> None:
    """They are no line end; JSON itself forbids them raw in a string, beside it they are blank."""
    body = hi("aXb").replace(b"X", byte)
    outcome = run(body + DONE)
    assert outcome.code == "MALFORMED_RESPONSE" and run(bytewise(body + DONE)).told == outcome.told
    assert text(hi(f"a{byte.decode()}b"), DONE) == f"a{byte.decode()}b"  # escaped it is fine


def test_S5_data_in_several_lines_is_joined_by_lf() -> None:
    """One document over two data lines is one payload; two documents are none."""
    assert text(b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"a"}}]}\n\n', DONE) == "a"
    assert code(b'data: {"choices":[]}\ndata: {"choices":[]}\n\n', DONE) == "MALFORMED_RESPONSE"


@pytest.mark.parametrize("last", [F("stop")[:-1], F("stop")[:-2], b'data: {"choices":[{"ind'])
def test_S6_last_event_without_blank_line_is_closed(last: bytes) -> None:
    """An event cut before its blank line is STREAM_CLOSED."""
    assert code(hi(), last) == "STREAM_CLOSED"


@pytest.mark.parametrize("alive", [
    b": OPENROUTER PROCESSING\n\n", b":\n\n", b"event: ping\ndata: {}\n\n", b"data: \n\n",
    b"data\n\n",
])
def test_S7_keep_alives_say_nothing(alive: bytes) -> None:
    """Keep-alives give no chunk, wherever they come."""
    plain = run(hi("a") + hi("b") + F("stop") + DONE).chunks
    body = alive + hi("a") + alive + hi("b") + alive + F("stop") + alive + DONE
    assert run(body).chunks == plain == run(bytewise(body)).chunks


def test_S9_bom_at_the_start() -> None:
    """The first event is not lost, the BOM split between reads included."""
    body = b"\xef\xbb\xbf" + hi() + DONE
    for _, pieces in two_ways(body, range(6)):
        assert run(pieces).message.text == "hi"


def test_S10_event_over_the_limit_fails_soon() -> None:
    """300 KB without LF fail after 256 KB; 255 KB pass, 257 KB do not."""
    taken = []

    def endless() -> Any:
        yield b"data: "
        for _ in range(300):
            taken.append(1)
            yield b"a" * KB

    assert run(endless()).code == "MALFORMED_RESPONSE" and len(taken) <= 257
    assert code(hi("a" * 255 * KB), DONE) is None
    assert code(hi("a" * 257 * KB), DONE) == "MALFORMED_RESPONSE"


def test_S12_long_line_in_one_byte_reads_is_linear() -> None:
    """250 KB, byte by byte, within seconds."""
    start = time.perf_counter()
    assert run(bytewise(hi("a" * 250 * KB) + DONE)).code is None
    assert time.perf_counter() - start < 6


def test_S13_bad_utf8_and_nul() -> None:
    """A bad byte is told with its offset; a character cut by the end is a closed stream."""
    bad = hi() + hi("aXb").replace(b"X", b"\xff")
    outcome = run(bad + F("stop") + DONE)
    assert outcome.code == "MALFORMED_RESPONSE" and str(bad.index(b"\xff")) in str(outcome.error)
    assert code(hi(), b'data: {"x":"\xe6\x97') == "STREAM_CLOSED"
    assert code(b"data: a\0b\n\n", DONE) == "MALFORMED_RESPONSE"  # data, but no JSON
    assert text(b": a\0b\n", hi("a\0b"), DONE) == "a\0b"


def test_S14_json_that_does_not_parse_is_not_skipped() -> None:
    """MALFORMED_RESPONSE at that frame, with a preview, though the rest is good."""
    broken = b'data: {"choices":[{"index":0,"delta":{"content":"x"\n\n'
    outcome = run(hi("a") + broken + F("stop") + DONE)
    assert outcome.code == "MALFORMED_RESPONSE" and '"content":"x"' in str(outcome.error)
    assert outcome.deltas("text-delta") == ["a"]


def test_S17_nothing_is_asked_for_after_done() -> None:
    """The stream ends at [DONE] while the body is still open."""
    def pieces() -> Any:
        yield hi() + F("stop") + DONE
        raise AssertionError("read on after [DONE]")

    assert run(pieces()).message.text == "hi"


@pytest.mark.parametrize("after", [D({"content": "extra"}), J({"error": {"message": "x"}})])
def test_S18_data_after_done_is_ignored(after: bytes) -> None:
    """More text or an error object after [DONE] changes nothing, however it is cut."""
    body = hi() + F("stop") + DONE
    plain = run(body).told
    for _, pieces in two_ways(body + after, range(len(body) - 20, len(body + after))):
        assert run(pieces).told == plain


def test_S19_finish_word_without_done() -> None:
    """STREAM_CLOSED that names the setting; with the setting, a message."""
    outcome = run(hi() + F("stop"))
    assert outcome.code == "STREAM_CLOSED" and "done_marker" in str(outcome.error)
    assert text(hi(), F("stop"), done_marker="optional") == "hi"


def test_S22_named_error_event() -> None:
    """An error event is raised with its words, JSON or not."""
    outcome = run(
        hi() + b'event: error\ndata: {"message":"overloaded","code":"server_error"}\n\n' + DONE)
    assert outcome.code == "SERVER" and "overloaded" in str(outcome.error)
    outcome = run(b"event: error\ndata: plain text\n\n" + DONE)
    assert outcome.code == "SERVER" and "plain text" in str(outcome.error)


# -- payload translation ------------------------------------------------------------------


def test_P1_error_object_inside_a_stream() -> None:
    """The error has the mapped code and what had arrived."""
    outcome = run(hi("par") + J({"error": {"message": "Internal", "type": "server_error",
                                           "code": 500}}))
    assert outcome.code == "SERVER" and "Internal" in str(outcome.error)
    assert outcome.error is not None and outcome.error.partial.text == "par"


@pytest.mark.parametrize("payload", [
    {"error": {"code": 502, "message": "Provider disconnected"},
     "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]},
    {"choices": [{"index": 0, "delta": {}, "error": {"code": 502,
                                                     "message": "Provider disconnected"}}]},
])
def test_P2_error_object_with_choices(payload: Dict[str, Any]) -> None:
    """SERVER with the provider's words; the half-made call is in nothing."""
    outcome = run(D(call(0, "a", "f", '{"x"')) + J(payload) + DONE)
    assert outcome.code == "SERVER" and "Provider disconnected" in str(outcome.error)
    assert not any(chunk.type == "block-end" for chunk in outcome.chunks)


@pytest.mark.parametrize("payload", [
    {"choices": [], "prompt_filter_results": [{}]}, {"choices": None}, {"id": "x"},
])
def test_P4_empty_choices(payload: Dict[str, Any]) -> None:
    """No crash, and usage in such a frame is still taken."""
    outcome = run(J(payload) + hi() + F("stop") + J({**payload, "usage": USAGE}) + DONE)
    assert outcome.message.text == "hi" and outcome.message.usage == TokenUsage(5, 2)


def test_P5_delta_null_missing_or_message_in_its_place() -> None:
    """The finish word is read; a message stands in only while no delta has come."""
    for choice in ({"index": 0, "delta": None, "finish_reason": "length"},
                   {"index": 0, "finish_reason": "length"}):
        assert run(hi() + J({"choices": [choice]}) + DONE).message.finish == "max-tokens"
    whole = J({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"},
                            "finish_reason": "stop"}]})
    assert text(whole, DONE) == "hi" == text(hi(), whole, DONE)


def test_P6_nulls_are_absent() -> None:
    """Null in any field has no effect."""
    nulls = D({"role": None, "content": None, "tool_calls": None, "refusal": None}, usage=None)
    assert run(nulls + hi() + nulls + F("stop") + DONE).message == run(
        hi() + F("stop") + DONE).message


def test_P7_content_as_a_list_of_parts() -> None:
    """Text is text, thinking is reasoning, the rest is passed over and counted."""
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
             {"type": "text", "text": "ok"}, {"type": "reference", "reference_ids": [1]},
             {"type": "hologram"}]
    outcome = run(D({"content": parts}) + hi("!") + F("stop") + DONE)
    assert (outcome.message.reasoning, outcome.message.text) == ("hm", "ok!")
    assert outcome.diagnostics["content_part_unknown"] == 2


@pytest.mark.parametrize("delta", [
    {"reasoning_content": "a"}, {"reasoning": "a"}, {"reasoning_text": "a"},
    {"reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
    {"reasoning_details": [{"type": "reasoning.summary", "summary": "a"}]},
    {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
    {"reasoning": "a", "reasoning_content": "a"},
])
def test_P8_reasoning_under_different_names(delta: Dict[str, Any]) -> None:
    """Each name gives one reasoning delta, told once."""
    outcome = run(D(delta) + hi() + F("stop") + DONE)
    assert outcome.deltas("reasoning-delta") == ["a"] and outcome.message.text == "hi"


def test_P11_think_tags() -> None:
    """Tags stay text by default; with the option they are removed and no text is lost."""
    parts = [hi(part) for part in ("<thi", "nk>secret</th", "ink>answer")]
    assert text(*parts, DONE) == "<think>secret</think>answer"
    outcome = run(b"".join(parts) + DONE, think_tags=True)
    assert (outcome.message.reasoning, outcome.message.text) == ("secret", "answer")
    for plain in ("a < b", "x</think>y", "ends on <thi"):
        assert text(hi(plain), DONE, think_tags=True) == plain


def test_P13_role_frames_and_white_space() -> None:
    """Empty text opens no block; white space is kept exactly."""
    frame = D({"role": "assistant", "content": ""})
    outcome = run(frame + hi(" ") + frame + hi("\n") + frame + F("stop") + DONE)
    assert [chunk.type for chunk in outcome.chunks][:2] == ["block-start", "text-delta"]
    assert outcome.message.text == " \n"
    assert code(frame, F("stop"), DONE) == "EMPTY_RESPONSE"


def choice(index: Any, words: str, finish: Any = None) -> bytes:
    return J({"choices": [{"index": index, "delta": {"content": words}, "finish_reason": finish}]})


def test_P14_choice_index_may_only_grow() -> None:
    """1, 2, 3 is one answer; a smaller one, a new one after the finish, or two at once is not."""
    assert text(choice(1, "a"), choice(2, "b"), choice(3, "c", "stop"), DONE) == "abc"
    assert code(choice(0, "a"), choice(1, "b"), choice(0, "c"), DONE) == "MALFORMED_RESPONSE"
    assert code(choice(0, "a", "stop"), choice(1, "b"), DONE) == "MALFORMED_RESPONSE"
    both = [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]
    assert code(J({"choices": both}), DONE) == "MALFORMED_RESPONSE"


@pytest.mark.parametrize("markup", [
    '<|tool_calls_section_begin|>functions.f:0{"a":1}', '<tool_call>{"name":"f"}</tool_call>',
])
def test_P15_tool_markup_in_text_stays_text(markup: str) -> None:
    """Markup of a tool call in the text is not read as a call."""
    message = run(hi(markup) + F("stop") + DONE).message
    assert (message.text, message.tool_calls, message.finish) == (markup, (), "stop")


def test_P16_refusal_is_text() -> None:
    """With stop it is the answer; with content_filter it is the partial text of the error."""
    refusal = D({"refusal": "I can't help"})
    assert text(refusal, F("stop"), DONE) == "I can't help"
    error = run(refusal + F("content_filter") + DONE).error
    assert error is not None and error.code == "CONTENT_FILTER"
    assert error.partial.text == "I can't help"


def test_P17_legacy_function_call() -> None:
    """A legacy function_call becomes one tool call."""
    legacy = {"function_call": {"name": "f", "arguments": "{}"}}
    outcome = run(D(legacy) + F("function_call") + DONE)
    assert outcome.calls() == [("call_0", "f", "{}")] and outcome.message.finish == "tool-calls"


@pytest.mark.parametrize("fragments", [
    [call(0, "c", "f", "{}", extra_content={"google": {"thought_signature": "AAA"}})],
    [call(0, "c", "f", "{}"),
     {"tool_calls": [{"index": 0, "extra_content": {"google": {"thought_signature": "AAA"}}}]}],
    [{"tool_calls": [{"function": {"name": "f"},
                      "extra_content": {"google": {"thought_signature": "AAA"}}}]}],
])
def test_P18_extra_fields_of_a_call_survive(fragments: List[Any]) -> None:
    """In the first fragment or in one of their own, whatever else it lacks."""
    message = run(b"".join(map(D, fragments)) + F("tool_calls") + DONE).message
    signature = {"google": {"thought_signature": "AAA"}}
    assert message.tool_calls[0].extras == {"extra_content": signature}


# -- tool calls ---------------------------------------------------------------------------

END = F("tool_calls") + DONE


def test_A1_index_missing() -> None:
    """One call, two calls in two frames, two in one frame; a lone fragment fails."""
    one = [call(None, "a", "f", '{"x"'), call(None, None, None, ":1}")]
    assert calls(*map(D, one), END) == [("a", "f", '{"x":1}')]
    two = [call(None, "a", "f", "{}"), call(None, "b", "f", "{}")]
    assert calls(*map(D, two), END) == [("a", "f", "{}"), ("b", "f", "{}")]
    frame = {"tool_calls": [delta["tool_calls"][0] for delta in two]}
    assert calls(D(frame), END) == [("a", "f", "{}"), ("b", "f", "{}")]
    assert code(D(call(None, None, None, "{}")), END) == "MALFORMED_TOOL_CALL"


def test_A2_every_call_says_index_0() -> None:
    """A new id with a name opens another call."""
    assert calls(D(call(0, "a", "f", '{"x":1}')), D(call(0, "b", "f", '{"x":2}')), END) == [
        ("a", "f", '{"x":1}'), ("b", "f", '{"x":2}')]


def test_A3_interleaved_fragments() -> None:
    """Fragments are joined by index, and calls end in the order of opening."""
    outcome = run(D(call(0, "a", "f", '{"a"')) + D(call(1, "b", "g", '{"b"'))
                  + D(call(0, arguments=":1}")) + D(call(1, arguments=":2}")) + END)
    assert outcome.calls() == [("a", "f", '{"a":1}'), ("b", "g", '{"b":2}')]
    assert [chunk.index for chunk in outcome.chunks if chunk.type == "block-end"] == [0, 1]


@pytest.mark.parametrize("names, expected, changed", [
    (["read_file", "read_file", "read_file"], "read_file", 0),
    (["edit_ex", "isting_file", None], "edit_ex", 1),
    (["read_file", "", None], "read_file", 0),
    (["read_file", None, "write_file"], "read_file", 1),
])
def test_A6_name_repeated_split_or_changed(names: List[Any], expected: str, changed: int) -> None:
    """The first name stays; another one is counted."""
    parts = ['{"x"', ":", "1}"]
    body = b"".join(D(call(0, "a", name, part)) for name, part in zip(names, parts))
    outcome = run(body + END)
    assert outcome.calls() == [("a", expected, '{"x":1}')]
    assert outcome.diagnostics.get("tool_call_name_changed", 0) == changed


@pytest.mark.parametrize("ids, expected", [
    (["", ""], "call_0"), ([None, None], "call_0"), (["", "a"], "a"), ([None, "a"], "a"),
    (["a", "a"], "a"), (["a", "b"], "a"), (["a", ""], "a"),
])
def test_A7_id_repeated_changing_late_or_absent(ids: List[Any], expected: str) -> None:
    """The first non-empty id stays, a missing one is made up, none is joined."""
    body = D(call(0, ids[0], "f", '{"x"')) + D(call(0, ids[1], None, ":1}"))
    assert calls(body, END) == [(expected, "f", '{"x":1}')]


def test_A7_made_up_ids_are_unique_and_stable() -> None:
    """Made-up ids never equal an id that was sent."""
    body = D(call(0, None, "f", "{}")) + D(call(1, "call_0", "g", "{}")) + D(call(2, "", "h", "{}"))
    ids = [id for id, _, _ in calls(body, END)]
    assert ids == ["call_0_2", "call_0", "call_2"] == [id for id, _, _ in calls(body, END)]


def test_A8_two_calls_share_an_id() -> None:
    """The second call gets an id of its own."""
    assert calls(D(call(0, "c", "f", "{}")), D(call(1, "c", "g", "{}")), END) == [
        ("c", "f", "{}"), ("c_2", "g", "{}")]


def test_A9_arguments_as_an_object() -> None:
    """Its JSON text, once; after text it fails."""
    assert calls(D(call(0, "a", "f", {"a": 1})), END) == [("a", "f", '{"a": 1}')]
    assert code(D(call(0, "a", "f", '{"b"')), D(call(0, None, None, {"a": 1})),
                END) == "MALFORMED_TOOL_CALL"


@pytest.mark.parametrize("arguments", ["", None, " ", "null", " null\n", {}])
def test_A10_empty_arguments(arguments: Any) -> None:
    """They read {} in the message."""
    assert calls(D(call(0, "a", "f", arguments)), END) == [("a", "f", "{}")]


@pytest.mark.parametrize("arguments", [
    '{"a":1,}', "{'a':1}", '{"a":"x\ny"}', '{"a":NaN}', '{"a":1,"a":2}', '{"a":1}}</s', '{"a":1',
    '{"a":{"b":1,"b":2}}', '{"a":Infinity}', '{"a":1}{"a":2}', '{"a":01}', "{a:1}", "[", '"',
])
def test_A13_arguments_that_are_no_json(arguments: str) -> None:
    """MALFORMED_TOOL_CALL with index, name and tail; no repair."""
    outcome = run(D(call(0, "a", "my_tool", arguments)) + END)
    assert outcome.code == "MALFORMED_TOOL_CALL"
    said = str(outcome.error)
    assert "tool call 0" in said and "my_tool" in said and repr(arguments)[1:-1] in said


@pytest.mark.parametrize("arguments", ["[1]", "5", '"{\\"a\\":1}"', "true"])
def test_A14_valid_arguments_that_are_no_object(arguments: str) -> None:
    """Kept as the raw text they are."""
    assert calls(D(call(0, "a", "f", arguments)), END) == [("a", "f", arguments)]


def test_A15_call_cut_by_the_token_limit() -> None:
    """With length no call is in the message, whole-looking or not; else a cut one fails."""
    for arguments in ('{"path":"a"', '{"path":"a"}'):
        outcome = run(hi() + D(call(0, "a", "f", arguments)) + F("length") + DONE)
        assert (outcome.message.tool_calls, outcome.message.finish) == ((), "max-tokens")
        assert outcome.diagnostics["tool_calls_dropped"] == 1
    assert code(D(call(0, "a", "f", '{"path":"a"')), END) == "MALFORMED_TOOL_CALL"


def test_A16_call_without_an_end() -> None:
    """Whole arguments, then the end of the body: STREAM_CLOSED and no call."""
    for end in (b"", F("tool_calls")):
        outcome = run(D(call(0, "a", "f", "{}")) + end)
        assert outcome.code == "STREAM_CLOSED"
        assert not any(chunk.type == "block-end" for chunk in outcome.chunks)


@pytest.mark.parametrize("name", [None, "", "  "])
def test_A17_call_without_a_name(name: Any) -> None:
    """A call without a name is refused."""
    assert code(D(call(0, "a", name, "{}")), END) == "MALFORMED_TOOL_CALL"


def test_A18_too_many_calls() -> None:
    """32 pass; the 33rd fails as soon as it opens; used indexes count once."""
    frames = [D(call(at, f"c{at}", "f", "{}")) for at in range(33)]
    again = [D(call(at, None, None, "")) for at in range(32)]
    assert len(calls(*frames[:32], *again, END)) == 32
    outcome = run(b"".join(frames))
    assert outcome.code == "MALFORMED_TOOL_CALL" and "32" in str(outcome.error)


@pytest.mark.parametrize("letter, width", [("a", 1), ("é", 2), ("日", 3), ("😀", 4)])
def test_A18_too_large_arguments(letter: str, width: int) -> None:
    """UTF-8 bytes are counted, and the limit fails before the stream ends."""
    limits = Limits(max_tool_argument_bytes=1000)
    whole = '{"x":"' + letter * ((1000 - 8) // width) + '"}'
    whole += " " * (1000 - len(whole.encode()))
    for arguments, expected in ((whole, None), (whole + " ", "MALFORMED_TOOL_CALL")):
        pieces = [arguments[at:at + 4] for at in range(0, len(arguments), 4)]
        body = D(call(0, "a", "f")) + b"".join(D(call(0, None, None, p)) for p in pieces)
        assert run(body + END, limits=limits).code == expected
        assert run(body, limits=limits).code == (expected or "STREAM_CLOSED")


def test_A19_empty_tool_calls_in_text_frames() -> None:
    """No block, and no tool_calls in the message."""
    for empty in ([], None):
        message = run(D({"content": "a", "tool_calls": empty}) + F("stop") + DONE).message
        assert message.text == "a" and "tool_calls" not in message.to_dict()


def test_A20_text_between_calls() -> None:
    """All the text and both calls are kept, blocks opened in order of coming."""
    outcome = run(hi("a") + D(call(0, "x", "f", "{}")) + hi("b") + D(call(1, "y", "g", "{}"))
                  + hi("c") + END)
    assert outcome.message.text == "abc" and len(outcome.message.tool_calls) == 2
    opened = [getattr(c, "block_type") for c in outcome.chunks if c.type == "block-start"]
    assert opened == ["text", "tool-call", "tool-call"]


def test_A22_many_small_fragments_are_linear() -> None:
    """A megabyte of arguments in small fragments takes seconds."""
    start = time.perf_counter()
    frame = D(call(0, None, None, "abcd"))
    arguments = [D(call(0, "a", "f", '{"x":"')), frame * 250_000, D(call(0, None, None, '"}'))]
    assert len(run([*arguments, END]).calls()[0][2]) == 1_000_008
    assert time.perf_counter() - start < 30


# -- usage and finish ---------------------------------------------------------------------


def test_U1_calls_decide_over_stop() -> None:
    """A whole call and stop is tool-calls, the provider's word kept; not under other words."""
    outcome = run(D(call(0, "a", "f", "{}")) + F("stop") + DONE)
    assert outcome.message.finish == "tool-calls"
    assert outcome.chunks[-1].to_dict()["raw"] == "stop"
    assert run(D(call(0, "a", "f", "{}")) + F("length") + DONE).message.finish == "max-tokens"
    assert code(D(call(0, "a", "f", "{}")), F("content_filter"), DONE) == "CONTENT_FILTER"


def test_U3_done_without_a_finish_word() -> None:
    """The marker proves the end: stop, and counted."""
    outcome = run(hi() + DONE)
    assert outcome.message.finish == "stop" and outcome.diagnostics["finish_reason_missing"] == 1


@pytest.mark.parametrize("word, finish, error", [
    ("eos_token", "stop", None), ("end_turn", "stop", None), ("STOP", "stop", None),
    ("eos", "stop", None), ("stop_sequence", "stop", None), ("MAX_TOKENS", "max-tokens", None),
    ("max_tokens", "max-tokens", None),
    ("insufficient_system_resource", None, "INSUFFICIENT_SYSTEM_RESOURCE"),
    ("model_context_window_exceeded", None, "CONTEXT_WINDOW_EXCEEDED"),
    ("error", None, "SERVER"), ("something new ", None, "SOMETHING NEW"),
    ("quota", None, "SERVER"), ("HTTP_200", None, "SERVER"), ("aborted", None, "SERVER"),
])
def test_U4_finish_words(word: str, finish: Any, error: Any) -> None:
    """Synonyms, words that are codes of ours, and new ones; an empty word is none."""
    body = D({"content": "a"}, "") + F(word) + DONE
    outcome = run(body)
    assert outcome.code == error
    if error is None:
        assert outcome.message.finish == finish
    else:
        assert outcome.error is not None and not outcome.error.retryable or error == "SERVER"


@pytest.mark.parametrize("words, finish", [
    (["stop", "length"], "max-tokens"), (["length", "stop"], "max-tokens"),
    (["stop", "content_filter"], "CONTENT_FILTER"), (["content_filter", "stop"], "CONTENT_FILTER"),
    (["length", "error"], "SERVER"),
])
def test_U4_of_several_finish_words_the_most_cautious_wins(words: List[str], finish: str) -> None:
    """The most cautious finish word counts, in any order."""
    outcome = run(hi() + b"".join(map(F, words)) + DONE)
    assert finish == (outcome.code or outcome.message.finish)


def test_U5_length_is_visible() -> None:
    """Text cut by the token limit says max-tokens."""
    assert run(hi() + F("length") + DONE).message.finish == "max-tokens"


def test_U6_content_filter() -> None:
    """An error with the partial text, not worth another try."""
    for before in (b"", hi()):
        error = run(before + F("content_filter") + DONE).error
        assert error is not None and (error.code, error.retryable) == ("CONTENT_FILTER", False)
        assert error.partial.text == ("hi" if before else "")


def test_U7_usage_after_the_finish_word() -> None:
    """Usage after the finish word is kept."""
    outcome = run(hi() + F("stop") + J({"choices": [], "usage": USAGE}) + DONE)
    assert outcome.message.usage == TokenUsage(5, 2)


def test_U8_usage_in_each_frame() -> None:
    """The last report counts, once."""
    reports = [{"prompt_tokens": 5, "completion_tokens": n} for n in (1, 2, 3)]
    body = b"".join(D({"content": "a"}, usage=report) for report in reports)
    outcome = run(body + F("stop") + J({"choices": [], "usage": reports[-1]}) + DONE)
    assert outcome.message.usage == TokenUsage(5, 3)
    assert sum(chunk.type == "usage" for chunk in outcome.chunks) == 1


@pytest.mark.parametrize("last", [
    J({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]}),
    F("stop", x_groq={"usage": USAGE}), F("stop", x_groq={"usage": USAGE}, usage=None),
])
def test_U9_usage_in_other_places(last: bytes) -> None:
    """Read where the top level has none."""
    assert run(hi() + last + DONE).message.usage == TokenUsage(5, 2)


def test_U13_silent_overflow() -> None:
    """No text is EMPTY_RESPONSE; the window full, where it is known, is told as such."""
    body = F("stop", usage={"prompt_tokens": 8192, "completion_tokens": 0}) + DONE
    assert code(body) == code(body, context_window=8193) == "EMPTY_RESPONSE"
    assert code(body, context_window=8192) == "CONTEXT_WINDOW_EXCEEDED"
    assert text(hi(), body, context_window=8192) == "hi"


def test_U14_usage_is_never_invented() -> None:
    """Without a report there is no usage."""
    outcome = run(hi() + F("stop") + DONE)
    assert outcome.message.usage is None and all(c.type != "usage" for c in outcome.chunks)


# -- rows of other sections that are bytes only ------------------------------------------


def test_T22_bytes_are_utf8_whatever_a_header_says() -> None:
    """A 0x85 inside a character ends no line."""
    assert text(hi("✅ 进入"), DONE) == "✅ 进入"


def test_T24_json_body_in_a_stream_s_place() -> None:
    """A completion gives the chunks a stream would, an error object its code."""
    completion = {"choices": [{"message": {"role": "assistant", "content": "hi"},
                               "finish_reason": "stop"}]}
    told = run(json.dumps(completion).encode())
    streamed = run(hi() + F("stop") + DONE)
    assert [c.type for c in told.chunks] == [c.type for c in streamed.chunks]
    assert told.message.text == "hi"
    assert code(b'{"error":{"message":"no credit","code":"insufficient_quota"}}') == "QUOTA"


def test_T25_empty_body() -> None:
    """An empty body is an error, never an empty message."""
    assert run([]).code == run([b"", b""]).code == code(b"\n\n") == "EMPTY_RESPONSE"


def test_C13_partial_result_after_any_failure() -> None:
    """Text, reasoning and usage so far; never half a call."""
    start = D({"reasoning": "hm"}) + D({"content": "half"}, usage=USAGE)
    start += D(call(0, "a", "f", "{}"))
    for end in (b"", J({"error": "x"}), b"data: no\n\n", F("content_filter") + DONE):
        error: Any = run(start + end).error
        assert isinstance(error, LlmError)
        assert (error.partial.text, error.partial.reasoning) == ("half", "hm")
        assert error.partial.usage == TokenUsage(5, 2) and not hasattr(error.partial, "tool_calls")


def test_E17_error_at_the_first_event() -> None:
    """The error has the code that its HTTP status would have had."""
    outcome: Outcome = run(J({"error": {"code": 400, "type": "exceed_context_size_error"}}))
    assert outcome.code == "CONTEXT_WINDOW_EXCEEDED" and not outcome.chunks
    chance = random.Random(1)
    body = J({"error": {"code": 400, "type": "exceed_context_size_error"}})
    assert run(random_cuts(body, chance)).told == outcome.told
