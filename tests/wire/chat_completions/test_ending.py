# SPDX-License-Identifier: MIT
"""How an answer ends: finish words of two kinds, cuts at the token cap, empty answers."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import pytest

from streamcore.values.errors import LlmError
from streamcore.values.messages import AssistantMessage
from streamcore.wire.assembler import assemble
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions
from streamcore.wire.pipeline import parse_stream

from support import DONE, D, F, J, Outcome, call, run

CALL = D(call(0, "c", "f", '{"x":1}'))


def ended(word: Any, native: Any, *, body: bytes = CALL, early: bool = False) -> Outcome:
    """End a body with both words, the native one in the finish frame or one before."""
    first = {"index": 0, "delta": {}, "finish_reason": None, "native_finish_reason": native}
    last = {**first, "finish_reason": word}
    if early:
        del last["native_finish_reason"]
        body += J({"choices": [first]})
    return run(body + J({"choices": [last]}) + DONE)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("native", ["length", "max_output_tokens", "MAX_TOKENS", " max_tokens "])
def test_native_word_tells_that_an_answer_was_cut(native: str, early: bool) -> None:
    """The gateway's tool_calls is overruled, and even a call that looks whole is dropped."""
    for body in (CALL, D(call(0, "c", "f", '{"x":'))):
        outcome = ended("tool_calls", native, body=body, early=early)
        assert outcome.message.finish == "max-tokens" and not outcome.message.tool_calls
        assert outcome.diagnostics["tool_calls_dropped"] == 1
        assert outcome.chunks[-1].raw == native.strip()  # type: ignore[attr-defined]


@pytest.mark.parametrize("native, code", [
    ("content_filter", "CONTENT_FILTER"), ("SAFETY", "SAFETY"), ("refusal", "REFUSAL"),
    ("error", "SERVER"), ("model_context_window_exceeded", "CONTEXT_WINDOW_EXCEEDED"),
])
def test_native_word_tells_an_error(native: str, code: str) -> None:
    """The provider's own error word overrules the gateway's stop."""
    for word in ("stop", "tool_calls", "length", None):
        assert ended(word, native).code == code


@pytest.mark.parametrize("native", ["completed", "stop", "tool_use", "whatever", 5, ["x"]])
def test_other_native_words_are_passed_over_and_counted(native: Any) -> None:
    """Other native words change nothing: an unknown word is not an error."""
    outcome = ended("stop", native, body=D({"content": "a"}))
    assert outcome.message.finish == "stop"
    assert outcome.diagnostics == {"native_finish_reason_skipped": 1}


def test_most_cautious_of_several_native_words_counts() -> None:
    """In whichever order they come."""
    frames = [J({"choices": [{"index": 0, "delta": {}, "native_finish_reason": word}]})
              for word in ("length", "content_filter")]
    for body in (frames, frames[::-1]):
        assert run(CALL + b"".join(body) + F("stop") + DONE).code == "CONTENT_FILTER"


def test_native_word_never_softens_and_proves_nothing() -> None:
    """The more cautious word wins, and a native word alone is no finish."""
    assert ended("content_filter", "length").code == "CONTENT_FILTER"
    assert ended("length", "completed").message.finish == "max-tokens"
    choice = {"index": 0, "delta": {"content": "a"}, "native_finish_reason": "length"}
    assert run(J({"choices": [choice]}), done_marker="optional").code == "STREAM_CLOSED"


def usage(tokens: Any, **more: Any) -> Dict[str, Any]:
    return {"prompt_tokens": 3, "completion_tokens": tokens, **more}


def read(
    body: bytes,
    cap: Optional[int],
    cut_as_complete: bool = True,
    diagnostics: Optional[Dict[str, int]] = None,
    **asked: Any,
) -> AssistantMessage:
    options = ChatCompletionsOptions(cut_as_complete=cut_as_complete)
    return assemble(parse_stream(
        [body], options=options, max_tokens=cap, diagnostics=diagnostics, **asked))


@pytest.mark.parametrize("body, dropped", [
    (CALL + F("tool_calls", usage=usage(7)) + DONE, 1),
    (CALL + F("stop") + J({"choices": [], "usage": usage(7)}) + DONE, 1),
    (D(call(0, "c", "f", '{"x":')) + F("tool_calls", usage=usage(7)) + DONE, 1),
    (D(call(0, "c", "f", "{}")) + F("tool_calls", usage=usage(7)) + DONE, 1),
    (D({"content": "a"}) + F("tool_calls", usage=usage(7)) + DONE, 0),
    (D({"content": "a"}) + F("stop", usage=usage(7)) + DONE, 0),
    (F("stop", usage=usage(7)) + DONE, 0),
])
def test_answer_as_long_as_the_cap_was_cut(body: bytes, dropped: int) -> None:
    """Under cut_as_complete it is max-tokens whatever the server says, and its calls go."""
    counters: Dict[str, int] = {}
    message = read(body, 7, diagnostics=counters)
    assert (message.finish, message.tool_calls) == ("max-tokens", ())
    assert counters["output_at_cap"] == 1 and counters.get("tool_calls_dropped", 0) == dropped


def test_cut_answer_keeps_the_providers_word() -> None:
    """``raw`` is the provider's own word."""
    options = ChatCompletionsOptions(cut_as_complete=True)
    body = D({"content": "a"}) + F("stop", usage=usage(7)) + DONE
    *_, finish = parse_stream([body], options=options, max_tokens=7)
    assert (finish.reason.kind, finish.raw) == ("max-tokens", "stop")  # type: ignore[attr-defined]


def test_answer_at_the_cap_is_only_counted_elsewhere() -> None:
    """Without cut_as_complete such an answer is only counted."""
    counters: Dict[str, int] = {}
    body = CALL + F("tool_calls", usage=usage(7)) + DONE
    assert read(body, 7, False, counters).finish == "tool-calls"
    assert counters == {"output_at_cap": 1}


@pytest.mark.parametrize("cap, report", [(None, usage(7)), (8, usage(7)), (6, usage(7)), (7, {})])
def test_answer_shorter_than_the_cap_is_complete(cap: Optional[int], report: Any) -> None:
    """So is an answer with an unknown cap or length, and one longer than the cap."""
    counters: Dict[str, int] = {}
    assert read(CALL + F("tool_calls", usage=report) + DONE, cap, True, counters).tool_calls
    assert counters == {}


def test_cap_is_a_whole_number() -> None:
    """Any other cap is refused at once."""
    for cap, kind in ((0, ValueError), ("7", TypeError), (True, TypeError)):
        with pytest.raises(kind):
            parse_stream([], max_tokens=cap)  # type: ignore[arg-type]


EMPTY: List[bytes] = [F("stop") + DONE, D({"content": ""}) + F("end_turn") + DONE]


@pytest.mark.parametrize("body", EMPTY)
def test_empty_answer_after_tools_is_a_message(body: bytes) -> None:
    """The model had nothing to add to what its tools did; without tools that is no answer."""
    message = read(body, None, after_tools=True)
    assert (message.finish, message.content) == ("stop", ())
    with pytest.raises(LlmError) as caught:
        read(body, None)
    assert caught.value.code == "EMPTY_RESPONSE"


def test_empty_answer_after_tools_needs_a_plain_stop() -> None:
    """An empty answer fails without a finish word, and if the window is full."""
    with pytest.raises(LlmError) as caught:
        read(DONE, None, after_tools=True)
    assert caught.value.code == "EMPTY_RESPONSE"
    options = ChatCompletionsOptions(context_window=3)
    with pytest.raises(LlmError) as caught:
        assemble(parse_stream(
            [F("stop", usage=usage(0)) + DONE], options=options, after_tools=True))
    assert caught.value.code == "CONTEXT_WINDOW_EXCEEDED"


@pytest.mark.parametrize("end", [
    {"finish_reason": "stop_sequence"}, {"finish_reason": "stop", "stop_reason": "###"},
    {"finish_reason": "stop", "matched_stop": "###"},
])
def test_empty_answer_that_a_stop_sequence_ended_is_a_message(end: Dict[str, Any]) -> None:
    """The provider says why there is nothing: vLLM and SGLang name the sequence."""
    outcome = run(J({"choices": [{"index": 0, "delta": {}, **end}]}) + DONE)
    assert outcome.message.content == () and outcome.message.finish == "stop"


@pytest.mark.parametrize("told", [
    {"stop_reason": 154829}, {"matched_stop": 2}, {"stop_reason": "end_turn"}, {"stop_reason": ""},
])
def test_end_token_is_no_stop_sequence(told: Dict[str, Any]) -> None:
    """Servers name the model's own end token by its number, and gateways a finish word."""
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", **told}
    assert run(J({"choices": [choice]}) + DONE).code == "EMPTY_RESPONSE"
