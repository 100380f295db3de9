# SPDX-License-Identifier: MIT
"""The pipeline from bytes to a message: every hand-written stream, every cut, every truncation.

``tests/streams/NAME.sse`` is a body and ``expected.json`` what it must come to: a ``code``, or
``finish`` with ``text``, ``reasoning``, ``calls`` ([id, name, arguments]) and ``usage``, each
empty where it is left out; ``diagnostics`` are the counters that must be among those told.
"""

from __future__ import annotations

import importlib.util
import json
import pickle
import random
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, Iterator, List, Optional

import pytest

from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, ReasoningDelta, TextDelta, ToolCallDelta,
    UsageChunk,
)
from streamcore.values.errors import LlmError
from streamcore.values.grammar import check_grammar
from streamcore.values.limits import Limits
from streamcore.values.messages import ReasoningBlock, TextBlock, ToolCall
from streamcore.values.usage import TokenUsage
from streamcore.wire.assembler import assemble
from streamcore.wire.pipeline import parse_stream
from streamcore.wire.sse import SseEvent

from decoded import Decoded
from support import (
    DONE, STREAMS, D, F, J, Outcome, bytewise, call, done_position, merge, nested, random_cuts,
    run, sample, tell, two_ways, with_frames_left,
)

EXPECTED: Dict[str, Dict[str, Any]] = json.loads(
    (STREAMS / "expected.json").read_text(encoding="utf-8")
)
NAMES = sorted(EXPECTED)
KB = 1024

each_stream = pytest.mark.parametrize("name", NAMES)


def body_of(name: str) -> bytes:
    return (STREAMS / f"{name}.sse").read_bytes()


def run_stream(name: str, pieces: Any) -> Outcome:
    return run(pieces, **options_of(name))


def options_of(name: str) -> Dict[str, Any]:
    """Return the settings a stream is to be read with."""
    expected = EXPECTED[name]
    return {
        "done_marker": expected.get("done_marker", "required"),
        "think_tags": expected.get("think_tags", False),
    }


def test_each_stream_has_an_expectation() -> None:
    """No body without an outcome, no outcome without a body."""
    assert sorted(path.stem for path in STREAMS.glob("*.sse")) == NAMES


@each_stream
def test_stream_comes_to_what_it_must(name: str) -> None:
    """The message, or the error's code, is the one written down."""
    expected, outcome = EXPECTED[name], run_stream(name, body_of(name))
    if "code" in expected:
        assert outcome.code == expected["code"], outcome.error
    else:
        message = outcome.message
        assert message.text == expected.get("text", "")
        assert message.reasoning == expected.get("reasoning", "")
        assert [list(call) for call in outcome.calls()] == expected.get("calls", [])
        assert message.finish == expected["finish"]
        usage = {} if message.usage is None else message.usage.to_dict()
        usage.pop("raw", None)
        assert usage == expected.get("usage", {})
    told = {key: outcome.diagnostics.get(key) for key in expected.get("diagnostics", {})}
    assert told == expected.get("diagnostics", {})


@each_stream
def test_stream_reads_the_same_at_every_cut(name: str) -> None:
    """Byte by byte, cut in two anywhere, in random pieces: the same chunks and the same error."""
    body, options = body_of(name), options_of(name)
    whole, told = run_stream(name, body).told, tell([body], **options)
    assert (merge(told.chunks), told.diagnostics) == whole[:2]
    assert run_stream(name, bytewise(body)).told == whole
    for position, pieces in two_ways(body, range(len(body) + 1)):
        assert tell(pieces, **options).same(told), f"cut at {position}"
    chance = random.Random(name)
    for _ in range(5):
        assert run_stream(name, random_cuts(body, chance)).told == whole


@each_stream
def test_stream_cut_short_is_never_a_message(name: str) -> None:
    """Truncated at every byte before its proof of the end, a stream gives an error."""
    expected, body = EXPECTED[name], body_of(name)
    if name.startswith("body-"):  # blanks after a whole JSON document may go
        end = len(body.split(b"\n{")[0].rstrip())
    elif expected.get("done_marker") == "optional":
        end = body.find(b'"finish_reason":"')
        end = body.find(b"data: [DONE]") if end < 0 else end
    else:
        end = done_position(body)
    options = options_of(name)
    whole = tell([body], **options).chunks
    for position in sample(max(end, 1) - 1, 400, 1):
        told = tell([body[:position]], **options)
        assert told.failure is not None, f"a message from {position} of {len(body)} bytes"
        assert told.chunks == whole[: len(told.chunks)], f"cut short at {position}"
        assert not any(chunk.type == "block-end" for chunk in told.chunks)


def test_decoded_body_tells_what_a_decoder_of_its_own_tells() -> None:
    """The short cut of test_captures: cut, cut short, and where the events are not its own."""
    chance = random.Random(4)
    for name in NAMES:
        body, options = body_of(name), options_of(name)
        decoded = Decoded(body, **options)
        for at in chance.sample(range(len(body)), min(len(body), 3)):
            first, rest = body[:at], body[at:]
            for pieces in ([first, rest], [first], [rest], [first, rest[1:]], [body + first]):
                assert decoded.tell(pieces) == tell(pieces, **options), (name, at)


WIRE = [
    D({"reasoning_content": "先"}), D({"content": "结论"}), D(call(0, "c1", "read")),
    D(call(0, arguments='{"path"')), D(call(0, arguments=':"a"}')),
    F("tool_calls", usage={"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}),
]


def test_wire_sequence_gives_exactly_these_chunks() -> None:
    """Reasoning, text and a call in three fragments, with usage beside the finish word."""
    tool_call = ToolCall("c1", "read", '{"path":"a"}')
    chunks = list(check_grammar(parse_stream([b"".join(WIRE), DONE])))
    assert chunks == [
        BlockStart(0, "reasoning"), ReasoningDelta(0, "先"),
        BlockStart(1, "text"), TextDelta(1, "结论"),
        BlockStart(2, "tool-call"), ToolCallDelta(2, "c1", "read", ""),
        ToolCallDelta(2, None, None, '{"path"'), ToolCallDelta(2, None, None, ':"a"}'),
        BlockEnd(0, ReasoningBlock("先")), BlockEnd(1, TextBlock("结论")), BlockEnd(2, tool_call),
        UsageChunk(TokenUsage(5, 2)), Finish(FinishReason("tool-calls"), "tool_calls", None, "c1"),
    ]
    message = assemble(chunks)
    assert (message.reasoning, message.text, message.tool_calls) == ("先", "结论", (tool_call,))
    assert message.tool_calls[0].parsed() == {"path": "a"}
    assert (message.finish, message.usage) == ("tool-calls", TokenUsage(5, 2))


def test_wire_sequence_without_done_is_closed() -> None:
    """The same without its last event is STREAM_CLOSED, with what had arrived but no call."""
    outcome = run(WIRE)
    assert outcome.code == "STREAM_CLOSED" and outcome.error is not None
    assert not any(chunk.type in ("block-end", "usage", "finish") for chunk in outcome.chunks)
    partial = outcome.error.partial
    assert (partial.text, partial.reasoning) == ("结论", "先")
    assert partial.usage == TokenUsage(5, 2)


@pytest.mark.parametrize("after", [
    D({"content": "more"}), J({"error": {"message": "late"}}), b"data: \xff\n\n", b"x" * 300_000,
    b"data: {", DONE,
])
def test_wire_sequence_with_more_after_done_gives_nothing_more(after: bytes) -> None:
    """What follows [DONE] is not read, wherever the reads are cut."""
    body = b"".join(WIRE) + DONE
    plain = run(body).told
    assert run(body + after).told == plain
    assert run([*WIRE, DONE + after]).told == plain
    assert run([*bytewise(body), after]).told == plain


def test_chunks_come_before_the_next_piece_is_asked_for() -> None:
    """The consumer pulls: a chunk is yielded as soon as its bytes have arrived."""
    asked: List[int] = []

    def pieces() -> Iterator[bytes]:
        for number, piece in enumerate([D({"content": "a"}), D({"content": "b"}), F("stop"), DONE]):
            asked.append(number)
            yield piece

    stream = parse_stream(pieces())
    assert next(stream).type == "block-start" and asked == [0]
    assert next(stream) == TextDelta(0, "a") and asked == [0]
    assert next(stream) == TextDelta(0, "b") and asked == [0, 1]


def test_pieces_are_closed_when_the_stream_ends_or_is_left() -> None:
    """At [DONE], after an error, and when the consumer leaves early."""
    def pieces(closed: List[bool], body: bytes) -> Iterator[bytes]:
        try:
            yield body
            yield b": still open\n"
        finally:
            closed.append(True)

    for body in (D({"content": "a"}) + DONE, D({"content": "a"}) + b"data: no\n\n"):
        closed: List[bool] = []
        source = pieces(closed, body)  # kept, so that nothing but the pipeline closes it
        try:
            list(parse_stream(source))
        except LlmError:
            pass
        assert closed == [True]
    closed = []
    source = pieces(closed, D({"content": "a"}))
    stream = parse_stream(source)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert closed == [True]


def test_chunks_before_a_fault_in_the_same_read_are_told() -> None:
    """One read with good events and a broken one gives the good chunks first, then the error."""
    bad = b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n'
    outcome = run(D({"content": "good"}) + bad)
    assert outcome.deltas("text-delta") == ["good"] and outcome.code == "MALFORMED_RESPONSE"
    assert outcome.error is not None and outcome.error.partial.text == "good"


def test_fault_is_told_with_its_own_bytes_and_not_with_the_next_ones() -> None:
    """A server that goes quiet after a broken event does not keep the caller waiting."""
    def pieces() -> Iterator[bytes]:
        yield D({"content": "a"}) + b"data: \xff\n\n"
        raise AssertionError("asked for more after the fault")

    with pytest.raises(LlmError) as caught:
        list(parse_stream(pieces()))
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_error_of_the_pieces_passes_with_what_had_arrived() -> None:
    """A transport's own LlmError keeps its code and gets the partial answer."""
    def pieces() -> Iterator[bytes]:
        yield D({"content": "half"})
        raise LlmError("reset", "TRANSPORT")

    outcome = run(pieces())
    assert outcome.code == "TRANSPORT" and outcome.error is not None
    assert outcome.error.partial.text == "half"
    twin = pickle.loads(pickle.dumps(outcome.error))
    assert (twin.failure, twin.partial) == (outcome.error.failure, outcome.error.partial)


def test_unknown_dialect_or_done_marker_is_refused_at_once() -> None:
    """Wrong arguments are ValueError before anything is read."""
    with pytest.raises(ValueError):
        parse_stream([], dialect="smoke-signals")
    with pytest.raises(ValueError):
        parse_stream([], done_marker="maybe")


def test_raw_events_and_diagnostics_are_written_to_what_the_caller_gave() -> None:
    """Opt-in: the events beside the chunks, and the counters."""
    raw: List[SseEvent] = []
    counters: Dict[str, int] = {}
    list(parse_stream([D({"content": "a"}), DONE], raw_events=raw, diagnostics=counters))
    assert [event.data for event in raw][1:] == ["[DONE]"] and len(raw) == 2
    assert counters == {"finish_reason_missing": 1}


def test_body_limit_is_exact_for_every_cut() -> None:
    """An answer of exactly n bytes passes under n, and at n − 1 fails alike for every cut."""
    body = D({"content": "hi"}) + F("stop") + DONE
    for limit, code in ((len(body), None), (len(body) - 1, "MALFORMED_RESPONSE")):
        limits = Limits(max_stream_bytes=limit)
        whole = run(body, limits=limits)
        assert whole.code == code and whole.deltas("text-delta") == ["hi"]
        for _, pieces in two_ways(body, range(len(body) + 1)):
            assert run(pieces, limits=limits).told == whole.told
        assert run(bytewise(body), limits=limits).told == whole.told
        assert run(body + b": more\n", limits=limits).told == whole.told


def test_body_limit_counts_json_documents_too() -> None:
    """A JSON body that passes max_stream_bytes is refused before it is parsed."""
    body = b'{"choices":[{"finish_reason":"stop","message":{"content":"' + b"a" * 500 + b'"}}]}'
    assert run(body, limits=Limits(max_stream_bytes=len(body))).code is None
    assert run(bytewise(body), limits=Limits(max_stream_bytes=100)).code == "MALFORMED_RESPONSE"


def test_document_limit_is_exact_and_for_documents_only() -> None:
    """A JSON body has a bound of its own, which an event stream does not have."""
    body = b'{"choices":[{"finish_reason":"stop","message":{"content":"' + b"a" * 500 + b'"}}]}'
    assert run(body, limits=Limits(max_document_bytes=len(body))).code is None
    for pieces in (body, bytewise(body)):
        told = run(pieces, limits=Limits(max_document_bytes=len(body) - 1))
        assert told.code == "MALFORMED_RESPONSE" and "max_document_bytes" in str(told.error)
    stream = D({"content": "a" * 500}) + F("stop") + DONE
    assert run(stream, limits=Limits(max_document_bytes=1)).message.text == "a" * 500


@pytest.mark.parametrize("blanks", [b"\n", b" \n", b"\r\n", b"\n  \n", b"\t\r"])
def test_blank_start_of_any_length_changes_nothing(blanks: bytes) -> None:
    """Servers keep a connection alive with blanks; they count towards the limit of an event."""
    answer = D({"content": "a"}) + F("stop")
    for count in (1, 5000):
        start = blanks * count
        whole = b'{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}'
        for body in (start + answer + DONE, start + whole):
            told = run(body)
            assert told.message.text == "a" and run(bytewise(body)).told == told.told
        assert run([start, answer], done_marker="optional").message.text == "a"
        bad = start + b"data: \xff\n\n"
        assert run(bad).told == run(bytewise(bad)).told
    late_bom = b"\n" * 5000 + b"\xef\xbb\xbf" + answer + DONE
    assert run(late_bom).told == run(bytewise(late_bom)).told


def test_endless_blank_start_is_refused_soon() -> None:
    """Blanks alone do not pile up beyond the limit of an event."""
    def blanks(given: List[int]) -> Iterator[bytes]:
        for _ in range(10_000):
            given.append(1)
            yield b"\n" * KB

    given: List[int] = []
    assert run(blanks(given)).code == "MALFORMED_RESPONSE" and len(given) < 300
    for body in (b"\n" * 50 + b"{}", b" " * 50 + D({"content": "a"}) + DONE):
        limits = Limits(max_event_bytes=49)
        told = run(body, limits=limits)
        assert told.code == "MALFORMED_RESPONSE"
        assert run(bytewise(body), limits=limits).told == told.told


@pytest.mark.parametrize("body", [
    b"<html>" + b"x" * 2000, b"<", b"<\xff", b"Not Found", b"a\nb\nc\n",
])
def test_body_that_is_no_stream_is_shown_alike_for_every_cut(body: bytes) -> None:
    """The message shows its beginning, empty reads or not."""
    whole = run(body)
    assert whole.code == "MALFORMED_RESPONSE" and whole.error is not None
    assert body[:1].decode() in str(whole.error) and len(str(whole.error)) < 400
    assert run(bytewise(body)).told == whole.told
    assert run([b"", b"", body[:1], b"", body[1:], b""]).told == whole.told


def event_of(size: int, kind: str = "text") -> bytes:
    """A good event whose lines, without their ends, are ``size`` bytes."""
    head, tail = b'data: {"choices":[{"delta":{"content":"', b'"}}]}'
    if kind == "many lines":
        head, tail = head + b'x"},\ndata: "a":"', b'"}]}'
    fill = size - len(head) - len(tail) + head.count(b"\n")
    return head + b"a" * fill + tail + b"\n\n"


@pytest.mark.parametrize("kind", ["text", "many lines"])
def test_event_of_255_kb_passes_and_of_257_kb_fails(kind: str) -> None:
    """The limit is the same for whole bodies and small reads."""
    for size, code in ((255 * KB, None), (256 * KB, None), (256 * KB + 1, "MALFORMED_RESPONSE"),
                       (257 * KB, "MALFORMED_RESPONSE")):
        body = event_of(size, kind) + DONE
        whole = run(body)
        assert whole.code == code
        assert run([body[at:at + 4099] for at in range(0, len(body), 4099)]).told == whole.told


def test_one_read_of_many_whole_events_is_fine() -> None:
    """10 MB of events in one read pass: the limit is per event."""
    body = event_of(100 * KB) * 100 + DONE
    assert len(run(body).message.text) > 9_000_000


def quick(work: Any, bound: float = 6.0) -> Any:
    """Run ``work`` within a generous number of seconds: quadratic work takes minutes."""
    start = time.perf_counter()
    value = work()
    took = time.perf_counter() - start
    assert took < bound, f"{took:.1f} s"
    return value


def test_long_line_byte_by_byte_is_linear() -> None:
    """250 KB, one byte a read."""
    body = event_of(250 * KB) + DONE
    assert quick(lambda: run(bytewise(body))).code is None


def test_large_event_in_small_pieces_is_linear() -> None:
    """8 MB in 1 KB reads, with a raised limit."""
    body = event_of(8 * KB * KB) + DONE
    pieces = [body[at:at + KB] for at in range(0, len(body), KB)]
    assert quick(lambda: run(pieces, limits=Limits(max_event_bytes=9 * KB * KB))).code is None


def test_many_small_events_in_one_read_are_linear() -> None:
    """60 000 deltas at once."""
    body = D({"content": "a"}) * 60_000 + DONE
    assert len(quick(lambda: run(body)).message.text) == 60_000


def _fuzz() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "scripts" / "fuzz.py"
    spec = importlib.util.spec_from_file_location("fuzz_script", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_fuzz_finds_nothing_in_a_short_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Any bytes give chunks or LlmError, however they are cut (scripts/fuzz.py)."""
    assert _fuzz().main(["--count", "1000", "--seed", "20260101"]) == 0
    assert "seed 20260101" in capsys.readouterr().out


def test_fuzz_tells_the_seed_of_what_it_finds(capsys: pytest.CaptureFixture[str]) -> None:
    """A body that breaks a promise ends the run with exit code 1 and how to run it again."""
    fuzz = _fuzz()
    fuzz.KINDS = {"bytes": lambda chance: 1 / 0}
    assert fuzz.main(["--count", "3", "--seed", "7"]) == 1
    assert "--count 1 --seed 7" in capsys.readouterr().out


def test_document_of_brackets_is_refused_before_it_is_read() -> None:
    """Reading it would take memory and time that no cancel could interrupt."""
    body = b'{"choices":[' + b"[]," * 400_000 + b"[]]}"
    began = time.perf_counter()
    with pytest.raises(LlmError, match="brackets") as caught:
        list(parse_stream([body]))
    assert caught.value.code == "MALFORMED_RESPONSE" and time.perf_counter() - began < 2.0


_NESTED_TEXT = '{"a":' + "[" * 190 + "]" * 190 + "}"
_DEEP: Dict[str, bytes] = {
    "arguments": D(call(0, "c", "f", _NESTED_TEXT)) + F("tool_calls"),
    "arguments as an object": D(call(0, "c", "f", {"a": nested(180)})) * 2 + F("tool_calls"),
    "extras of a call": D(call(0, "c", "f", "{}", x=nested(180))) + F("tool_calls"),
    "reasoning details":
        D({"content": "a", "reasoning_details": [{"x": nested(180)}]}) + F("stop"),
    "an image": D({"images": [{"x": nested(180)}]}) + F("stop"),
    "a fact": D({"content": "a"}, citations=nested(180)) + F("stop"),
    "usage": D({"content": "a"}) + F("stop", usage={"prompt_tokens": 1, "x": nested(180)}),
    "an error": J({"error": {"message": "m", "x": nested(180)}}),
}


@pytest.mark.parametrize("what", _DEEP)
def test_deep_answer_on_a_deep_stack_is_read_or_malformed(what: str) -> None:
    """However little room the caller's stack leaves, no RecursionError comes out."""
    def outcome() -> Optional[str]:
        try:
            assemble(parse_stream([_DEEP[what] + DONE]))
        except LlmError as error:
            return error.code
        return None

    plain = outcome()  # loads what is loaded late
    codes = {with_frames_left(left, outcome) for left in range(60, 460, 7)}
    if sys.version_info < (3, 12) and what != "usage":  # later ones count C's calls apart
        assert codes & {"MALFORMED_RESPONSE", "MALFORMED_TOOL_CALL"}
    assert codes <= {plain, "MALFORMED_RESPONSE", "MALFORMED_TOOL_CALL"}
