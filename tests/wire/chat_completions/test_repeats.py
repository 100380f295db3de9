# SPDX-License-Identifier: MIT
"""Payloads that repeat an earlier one but for one string: the short way gives the long way's.

The twin is the decoder without it, which reads every payload in full. Both take the same runs:
made-up ones in which every field changes now and then, every capture, and cases of which each
would be told wrongly if one condition were left out.
"""

from __future__ import annotations

import json
import random
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from streamcore.values.errors import LlmError
from streamcore.values.limits import Limits, resolve_limits
from streamcore.wire.dialects.chat_completions import ChatCompletionsDecoder
from streamcore.wire.dialects.chat_completions.repeats import PATIENCE, Repeats
from streamcore.wire.dialects.options import DialectOptions
from streamcore.wire.sse import SseEvent, SseParser

from support import capture_bytes, capture_rows

GEMINI = {"google": {"thought": True}}


def told(
    payloads: List[str], repeats: bool, limits: Limits = Limits(), **options: Any
) -> Tuple[Any, ...]:
    """Everything a decoder says to payloads, an error and what it counted included."""
    decoder = ChatCompletionsDecoder(DialectOptions(**options), resolve_limits(limits))
    if not repeats:
        decoder._repeats = None
    chunks: List[Dict[str, Any]] = []
    error = ""
    try:
        for data in payloads:
            chunks += [chunk.to_dict() for chunk in decoder.push(SseEvent(data))]
    except LlmError as failed:
        error = f"{failed.code}: {failed}"
    return chunks, error, decoder.partial(), decoder.diagnostics, decoder.done


def both(payloads: List[str], limits: Limits = Limits(), **options: Any) -> Tuple[Any, ...]:
    """What both ways say, which is the same."""
    short = told(payloads, True, limits, **options)
    assert short == told(payloads, False, limits, **options), payloads
    return short


def payload(delta: Any, top: Optional[Dict[str, Any]] = None, **choice: Any) -> str:
    """A payload in the form most providers write."""
    whole = {"id": "c1", "model": "m", **(top or {}),
             "choices": [{"index": 0, "delta": delta, **choice}]}
    return json.dumps(whole, separators=(",", ":"))


def text(word: str, **beside: Any) -> str:
    return payload({"content": word, **beside})


def arguments(word: Any, index: Any = 0) -> str:
    return payload({"tool_calls": [{"index": index, "function": {"arguments": word}}]})


def opened(index: int = 0) -> str:
    return payload({"tool_calls": [{"index": index, "id": f"c{index}", "type": "function",
                                    "function": {"name": "f", "arguments": ""}}]})


KNOWN = [text("a"), text("b"), text("c"), text("d")]  # after these, text(x) is read the short way
END = [payload({}, finish_reason="stop"), "[DONE]"]


def read_in_full(payloads: List[str]) -> int:
    """How many payloads a decoder reads in full."""
    decoder, count = ChatCompletionsDecoder(), 0
    whole: Callable[..., Any] = decoder._decode

    def counting(data: str, at: int) -> Any:
        nonlocal count
        count += 1
        return whole(data, at)

    decoder._decode = counting
    for data in payloads:
        decoder.push(SseEvent(data))
    return count


@pytest.mark.parametrize("make", [
    text,
    lambda word: payload({"role": "assistant", "content": word, "reasoning_content": None}),
    lambda word: payload({"reasoning": word, "content": ""}),
    lambda word: json.dumps({"choices": [{"index": 0, "delta": {"content": word}}], "usage": None}),
    arguments,
    lambda word: payload({"tool_calls": [{"index": 0, "id": None, "type": "function", "function": {
        "name": "", "arguments": word}}]}),
], ids=["text", "nulls beside", "reasoning", "spaced", "arguments", "arguments, nulls beside"])
def test_short_way_is_taken(make: Callable[[str], str]) -> None:
    """The third of a kind is not read in full, nor any after it."""
    run = [opened(), *(make(f"w{i}") for i in range(50))]
    assert read_in_full(run) <= 4
    both([*run, *END])


def test_kinds_and_calls_in_turn_are_known_each() -> None:
    """Calls interleaved, then reasoning, then text: each kind is read in full a few times."""
    calls = [opened(0), opened(1), opened(2)] + [arguments("1", i % 3) for i in range(60)]
    thoughts = [payload({"reasoning": "x"}) for _ in range(20)]
    run = calls + thoughts + [text("x") for _ in range(20)]
    assert read_in_full(run) <= 3 + 2 * 3 + 3 + 3
    both([*run, *END])


def test_answer_of_which_each_payload_differs_is_not_looked_through_for_ever() -> None:
    """A provider that changes something else in each one costs a few looks and no more."""
    run = [payload({"content": "w"}, {"obfuscation": str(i)}) for i in range(PATIENCE * 3)]
    decoder = ChatCompletionsDecoder()
    for data in run:
        decoder.push(SseEvent(data))
    assert decoder._repeats is None
    assert read_in_full(run) == len(run)


def test_payloads_that_were_met_again_buy_further_looks() -> None:
    """Only what differs without end is given up: known ones in between begin the count anew."""
    run = [text("a"), text("b")]
    for turn in range(4):
        run += [payload({"content": "w"}, {"n": f"{turn} {i}"}) for i in range(PATIENCE - 2)]
        run += [text("c")] * 3
    assert read_in_full(run) == 2 + 4 * (PATIENCE - 2) + 1
    both([*run, *END])


def test_large_payloads_are_not_kept() -> None:
    """What is remembered of one answer stays small, whatever a server sends."""
    repeats = Repeats()
    for i in range(100):
        data = payload({"content": "w"}, {"padding": "x" * 10_000})
        value = json.loads(data)
        repeats.learn(data, value, lambda _: lambda _: None)
    assert not repeats._seen and not repeats._known


def test_payloads_without_end_are_not_all_kept() -> None:
    """Known ones between others, and each other one twice: what is kept stays small."""
    decoder = ChatCompletionsDecoder()
    for data in KNOWN:
        decoder.push(SseEvent(data))
    for i in range(1000):
        for data in (payload({"content": "w"}, {"n": i}), payload({"content": "w"}, {"n": i}),
                     *[text("x")] * 3):
            decoder.push(SseEvent(data))
    repeats = decoder._repeats
    assert repeats is not None and len(repeats._seen) <= 64 and len(repeats._known) <= 64


@pytest.mark.parametrize("odd", [
    [text("")],
    [text("\ud83d"), text("\ude00"), text("é")],
    [text("\ud83d"), text("x")],
    [text("a\ud83db"), text("\ude00\ude00é"), text("\ud83d\ud83d")],
    [text('"quoted" \\ \n \x00')],
    [KNOWN[0].replace('"a"', '"a\nb"')],  # a control character bare in a string
    [KNOWN[0].replace('"a"', '"a\\x"')],
    [KNOWN[0].replace('"a"', '"a')],
    [KNOWN[0].replace('"a"', '"a""b"')],
    [KNOWN[0].replace('"a"', '5')],
    [KNOWN[0].replace('"a"', 'null')],
    [KNOWN[0].replace('"a"', '"a","role":"assistant"')],
    [KNOWN[0].replace('"a"', '"a","content":"b"')],
    [KNOWN[0].replace('"a"', '"a","other":1')],
    [KNOWN[0] + " "], [" " + KNOWN[0]], [KNOWN[0] + "x"], [KNOWN[0][:-1]],
    [payload({"content": "x"}, usage={"prompt_tokens": 1, "completion_tokens": 2})],
    [payload({"content": "x"}, {"usage": {"prompt_tokens": 1, "completion_tokens": 2}})],
    [payload({"content": "x"}, finish_reason="length"), text("y")],
    [payload({"content": "x"}, finish_reason="length")] * 4,
    [payload({"content": "x"}, {"error": {"message": "no"}})],
    [payload({"content": "x"}, index=1), text("y")],
    [payload({"content": "x"}, index=1)] * 4 + [text("y")],
    [payload({"content": "x", "extra_content": GEMINI}), text("y"), text("z")],
    [payload({"content": "x", "extra_content": GEMINI}), text("</thought>y"), text("z")],
    [payload({"content": "x"}, {"x_groq": {"usage": {"prompt_tokens": 3}}})] * 4,
    [payload({"content": "x", "unknown": None})] * 4,
    [payload({"content": "x", "refusal": "y"})] * 4,
    [payload({"content": "x"}, message={"content": "x"})] * 4,
    [payload({"content": "x"}, usage=[])] * 4,
    [payload({"content": "x"}, {"usage": {"prompt_tokens": i}}) for i in (1, 1, 1, 2, 1)],
    [payload({"content": "x"}, {"x_groq": {"usage": {"prompt_tokens": i}}}) for i in (1, 1, 2, 1)],
    [payload({"content": "x"}, finish_reason=word) for word in ("stop", "length", *["stop"] * 4)],
    [KNOWN[0][:-1] + "x"],
    [KNOWN[0].replace('"a"', f'"{word}","content":"a"') for word in "aaabc"],
    [payload({"content": "a"}, {"content": word}) for word in "aaabc"],
    [json.dumps({"content": word, **json.loads(KNOWN[0])}) for word in "aaabc"],
    [text("</think>")],
    [opened()] + [payload({"tool_calls": [{"index": 0, "id": "c0", "function": {
        "name": "f", "arguments": word}}]}) for word in ["1"] * 4 + ["{"] + ["2"] * 4],
    [opened()] + [payload({"tool_calls": [{"index": 0, "id": word, "function": {
        "name": "f" if word == "c1" else None, "arguments": "1"}}]})
        for word in ["c0", "c0", "c0", "c1", "c0"]],
    *([opened()] + [payload({"tool_calls": [{"index": 0, "id": odd, "function": {
        "arguments": "1"}}]})] * 4 for odd in (0, False, 0.0, [], {}, " ")),
    [opened()] + [payload({"tool_calls": [{"index": 0, "signature": word, "function": {
        "arguments": "1"}}]}) for word in "aaaba"],
    [opened()] + [arguments('{"a":')] + [arguments("1")] * 4 + [arguments('{"a":')],
    [opened()] + [arguments("1")] * 4 + [arguments("")] * 2 + [arguments(None), arguments({})],
    [arguments("1")] * 4,
    [opened(0), opened(1)] + [arguments("1", 0)] * 4 + [opened(1)] + [arguments("2", 0)],
    [opened(0)] + [arguments("1", True)] * 4,
    [payload({"content": "a\ud83d"})] * 4 + [text("\ude00")],
    [opened()] + [arguments(word) for word in ("1", "1", "1", "\ude00é", "1\ud83d", "\ud83d1")],
    [opened()] + [payload({"tool_calls": [{"index": 0, "id": word, "function": {
        "arguments": "1"}}]}) for word in ["c0", "new", "new", "new", "c0", ""]],
    [payload({"content": "x", "reasoning_details": [5]})] * 4,
    [payload({"reasoning": "x", "reasoning_content": "x"})] * 4,
    [payload({"reasoning": "x", "reasoning_details": [{"type": "t", "text": "x"}]})] * 4,
])
def test_what_differs_otherwise_is_read_in_full(odd: List[str]) -> None:
    """Each of these, among payloads that are known, comes to what the full reading says."""
    both([*KNOWN, *odd, *KNOWN, *odd, text("z"), *END])
    both([*odd, *KNOWN, *END])


@pytest.mark.parametrize("value", ["[" * 1500 + "]" * 1500, "[" * 100_000, '{"a":' * 100_000])
def test_nesting_in_the_place_of_a_known_string_is_refused(value: str) -> None:
    """As deep as it likes: no exception of the parser's own comes out."""
    said = both([*KNOWN, text("x").replace('"x"', value)])
    assert said[1].startswith("MALFORMED_RESPONSE") and said[2].text == "abcd"


def test_what_a_callers_parser_returns_is_left_as_it_is() -> None:
    """It may keep its values, and give them again: learning changes none of them."""
    kept: Dict[str, Any] = {}

    def loads(data: str) -> Any:
        return kept.setdefault(data, json.loads(data))

    for data in (KNOWN[0], KNOWN[0].replace('"a"', '"a","content":"a"')):
        decoder = ChatCompletionsDecoder(json_loads=loads)
        for _ in range(4):
            decoder.push(SseEvent(data))
        assert decoder.partial().text == "aaaa"
        assert kept[data] == json.loads(data)


@pytest.mark.parametrize("options", [{"think_tags": True}, {}])
def test_tags_in_text_are_seen(options: Dict[str, Any]) -> None:
    """Where think tags are read, text is never taken as it is."""
    both([*KNOWN, text("<think>"), text("x"), text("</think>"), text("y"), *END], **options)


def test_halves_that_stay_alone_are_counted_the_short_way() -> None:
    """In text and in arguments, each as often as it was replaced."""
    run = [text("a\ud83db"), text("\ude00\ud83d"), text("\ud83d"), opened(), arguments("1"),
           arguments("2"), arguments("3"), arguments("a\ud83db\ude00")]
    assert read_in_full([*KNOWN, *run]) == 3 + 3  # none of those with halves
    assert both([*KNOWN, *run, payload({}, finish_reason="length"), "[DONE]"])[3] == {
        "surrogate_half_alone": 6, "tool_calls_dropped": 1}


def test_limit_of_arguments_holds_the_short_way() -> None:
    """The limit is passed at the same fragment."""
    run = [opened(), *(arguments("1234") for _ in range(10))]
    limits = Limits(max_tool_argument_bytes=30)
    assert "max_tool_argument_bytes" in both(run, limits)[1]


def test_nothing_is_taken_after_the_end() -> None:
    """An event after ``[DONE]`` says nothing, known or not."""
    assert both([*KNOWN, *END, text("late"), text("late")])[4] is True


def test_named_error_in_a_known_form_is_an_error() -> None:
    """The event's name counts before what is in it."""
    decoder = ChatCompletionsDecoder()
    for data in KNOWN:
        decoder.push(SseEvent(data))
    with pytest.raises(LlmError):
        decoder.push(SseEvent(KNOWN[0], "error"))


def random_payload(rng: random.Random) -> str:
    word = rng.choice(["a", " b", "", "é", "\ud83d", "\ude00", '{"x":', "1", "}", "<think>", None])
    name = rng.choice(["content", "content", "reasoning", "reasoning_content", "tool_calls"])
    delta: Dict[str, Any] = {name: word}
    if name == "tool_calls":
        function: Dict[str, Any] = {"arguments": word}
        delta = {name: [{"index": rng.choice([0, 0, 1]), "function": function}]}
        if rng.random() < 0.1:
            function["name"] = rng.choice(["", None, "f"])
    if rng.random() < 0.1:
        beside = ["role", "content", "refusal", "tool_calls", "function_call", "unknown"]
        delta.setdefault(rng.choice(beside), rng.choice([None, "", "t"]))
    choice: Dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": None}
    if rng.random() < 0.03:
        choice[rng.choice(["index", "finish_reason", "usage", "message", "logprobs"])] = (
            rng.choice([0, 1, None, "stop", {}, {"prompt_tokens": 1}, "length"]))
    whole: Dict[str, Any] = {"id": "c", "choices": [choice]}
    if rng.random() < 0.03:
        whole[rng.choice(["usage", "error", "x_groq", "object", "model"])] = (
            rng.choice([None, {}, {"prompt_tokens": 2}, "m", {"error": "e"}]))
    return json.dumps(whole, ensure_ascii=rng.random() < 0.9)


@pytest.mark.parametrize("seed", range(20))
def test_any_run_of_payloads_is_told_alike(seed: int) -> None:
    """On any run both ways give the same chunks, counts, partial and error."""
    rng = random.Random(seed)
    for _ in range(60):
        run = [opened(), *(random_payload(rng) for _ in range(rng.randint(5, 40)))]
        both([*run, *END], think_tags=rng.random() < 0.1)


@pytest.mark.skipif(not capture_rows(), reason="no ../shared/captures beside this checkout")
def test_captures_are_told_alike() -> None:
    """Every recorded stream says the same both ways, and most payloads are known."""
    events = full = 0
    for row in capture_rows():
        run = [event.data for event in SseParser(1 << 24).feed(capture_bytes(row))]
        both(run, done_marker=row["done_marker"])
        events += len(run)
        try:
            full += read_in_full(run)
        except LlmError:
            full += len(run)
    assert full < events * 0.7, f"{full} of {events} were read in full"
