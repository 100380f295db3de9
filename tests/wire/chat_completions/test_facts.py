# SPDX-License-Identifier: MIT
"""The facts that an answer tells beside its text are kept as extras, or counted."""

from __future__ import annotations

from typing import Any, Dict, Optional

import pytest

from streamcore.values.limits import Limits

from support import DONE, D, F, J, Outcome, run


def token(text: str) -> Dict[str, Any]:
    return {"token": text, "logprob": -0.5, "bytes": None, "top_logprobs": []}


def frame(delta: Any, finish: Any = None, beside: Any = None, **choice: Any) -> bytes:
    """One event; ``beside`` are fields of the frame, ``choice`` fields of the choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **choice}
    return J({"id": "c", "choices": [choice], **(beside or {})})


def text_extras(outcome: Outcome) -> Optional[Dict[str, Any]]:
    (block,) = [block for block in outcome.message.content if block.type == "text"]
    return block.extras  # type: ignore[attr-defined,no-any-return]


def test_logprobs_are_on_the_text() -> None:
    """Those of all events, equal ones too, in their order; a null adds nothing."""
    body = b"".join(
        frame({"content": text}, logprobs={"content": [token(text)], "refusal": None})
        for text in ("ha", "ha", "!")
    )
    outcome = run(body + frame({}, "stop", logprobs=None) + DONE)
    assert text_extras(outcome) == {
        "logprobs": {"content": [token("ha"), token("ha"), token("!")], "refusal": None}}
    assert outcome.diagnostics == {} and outcome.message.extras is None


def test_logprobs_of_a_refusal_grow_too() -> None:
    """The lists of an answer grow each by itself."""
    body = frame({"refusal": "n"}, logprobs={"content": None, "refusal": [token("n")]})
    body += frame({"refusal": "o"}, logprobs={"content": None, "refusal": [token("o")]})
    extras = text_extras(run(body + F("stop") + DONE))
    assert extras is not None and extras["logprobs"]["refusal"] == [token("n"), token("o")]


def test_logprobs_without_a_text_are_on_the_message() -> None:
    """The logprobs of a call have no text to belong to."""
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    outcome = run(frame(call, logprobs={"content": [token("{}")]}) + F("tool_calls") + DONE)
    assert outcome.message.extras == {"logprobs": {"content": [token("{}")]}}


def test_logprobs_of_a_whole_document_are_kept() -> None:
    """A JSON document gives the same extras as a stream."""
    choice = {"index": 0, "message": {"content": "a", "annotations": [{"type": "x"}]},
              "finish_reason": "stop", "logprobs": {"content": [token("a")]}}
    outcome = run(J({"choices": [choice], "service_tier": "flex"})[len(b"data: "):])
    assert text_extras(outcome) == {
        "logprobs": {"content": [token("a")]}, "annotations": [{"type": "x"}]}
    assert outcome.message.extras == {"service_tier": "flex"}


def test_annotations_grow_and_a_list_told_whole_again_does_not_double_them() -> None:
    """Some providers send the new ones, some send all."""
    first, second = {"type": "a"}, {"type": "b"}
    for later in ([second], [first, second]):
        body = D({"content": "x", "annotations": [first]}) + D({"annotations": later})
        assert text_extras(run(body + F("stop") + DONE)) == {"annotations": [first, second]}


@pytest.mark.parametrize("name, value", [
    ("citations", ["https://a"]), ("search_results", [{"url": "https://a"}]),
    ("images", [{"image_url": "https://a"}]), ("related_questions", ["why?"]),
    ("cost", {"usd": 0.25}), ("cost", 0), ("service_tier", "flex"), ("provider", "Together"),
    ("copilot_usage", {"total": 1}),
])
def test_fact_of_a_frame_is_on_the_message(name: str, value: Any) -> None:
    """A fact in each frame, in the last one, or in one without choices is kept once."""
    text, end = {"content": "a"}, {"usage": {"prompt_tokens": 1}}
    for body in (
        frame(text, None, {name: value}) + frame({}, "stop", {name: value, **end}),
        frame(text) + frame({}, "stop", {name: value, **end}),
        frame(text) + F("stop") + J({"choices": [], name: value, **end}),
    ):
        outcome = run(body + DONE)
        assert outcome.message.extras == {name: value}
        assert not outcome.diagnostics


def test_last_value_of_a_fact_counts() -> None:
    """The last frame holds all sources that a provider found."""
    body = frame({"content": "a"}, None, {"citations": ["x"]})
    body += frame({}, "stop", {"citations": ["y", "z"]})
    assert run(body + DONE).message.extras == {"citations": ["y", "z"]}


@pytest.mark.parametrize("body, counter", [
    (frame({"content": "a"}, None, {"weather": "fine"}), "frame_field_unknown"),
    (frame({"content": "a"}, weather="fine"), "choice_field_unknown"),
    (frame({"content": "a", "weather": "fine"}), "delta_field_unknown"),
    (frame({"content": [{"type": "text", "text": "a", "weather": 1}]}),
     "content_part_field_unknown"),
    (frame({"content": [{"type": "thinking", "thinking": "a", "signature": "s"}]}),
     "content_part_field_unknown"),
    (frame({"content": "a", "extra_content": {"google": {"thought_signature": "s"}}}),
     "extra_content_skipped"),
])
def test_what_is_dropped_is_counted(body: bytes, counter: str) -> None:
    """Unknown fields are counted at each level; empty fields are not counted."""
    assert run(body + F("stop") + DONE).diagnostics == {counter: 1}


def test_fields_that_say_nothing_are_not_counted() -> None:
    """Null, false and empty values are not counted."""
    nothing: Dict[str, Any] = {"a": None, "b": [], "c": "", "d": {}, "e": False}
    body = frame({"content": "x", "a": None}, None, nothing, **nothing)
    assert run(body + F("stop") + DONE).diagnostics == {}


def test_facts_beyond_the_limit_are_left_out_whole_and_counted() -> None:
    """The text is kept, and a list over the limit is left out whole, never cut."""
    body = b"".join(
        frame({"content": "a"}, logprobs={"content": [token("a")]}) for _ in range(100))
    body += frame({"content": "b", "annotations": [{"type": "x" * 1500}]})
    outcome = run(body + F("stop") + DONE, limits=Limits(max_document_bytes=2000))
    assert outcome.message.text == "a" * 100 + "b"
    assert text_extras(outcome) == {"annotations": [{"type": "x" * 1500}]}
    assert outcome.diagnostics["facts_over_limit"] > 50


def test_fact_that_each_frame_repeats_counts_once_against_the_limit() -> None:
    """A provider that tells all its sources in each frame, one more each time, loses none."""
    body = b"".join(
        frame({"content": "a"}, None, {"citations": ["x" * 50] * n}) for n in range(1, 30))
    outcome = run(body + F("stop") + DONE, limits=Limits(max_document_bytes=2000))
    assert outcome.message.extras == {"citations": ["x" * 50] * 29}


def test_cost_is_in_the_usage_as_it_was_told() -> None:
    """The report itself stays beside the counts, surrogate halves mended."""
    report = {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.00012, "note": "\ud83d"}
    body = F("stop", usage={**report, "note": "HALF"}).replace(b"HALF", b"\\ud83d")
    usage = run(D({"content": "a"}) + body + DONE).message.usage
    assert usage is not None and usage.raw == {**report, "note": "\ufffd"}


def test_groq_executed_tools_are_kept() -> None:
    """Each run of a tool that the provider ran, equal ones too."""
    ran = {"index": 0, "type": "python", "arguments": "{}"}
    body = D({"executed_tools": [ran]}) + D({"executed_tools": [ran]}) + D({"content": "a"})
    assert run(body + F("stop") + DONE).message.extras == {"executed_tools": [ran, ran]}


@pytest.mark.parametrize("value", [["a"], {"a": [1]}, {"a": {"b": {"c": 1}}}, 5])
def test_fact_may_be_told_at_two_levels(value: Any) -> None:
    """Of a frame, and of its delta, once more in each event: nothing breaks, and it is kept."""
    for first in (value, {"a": 1}, ["x"], 1):
        delta = {"content": "a", "provider_metadata": first}
        body = frame(delta, None, {"provider_metadata": value})
        outcome = run(body + body + F("stop") + DONE)
        assert outcome.message.extras is not None
        assert "provider_metadata" in outcome.message.extras


def test_values_inside_an_object_are_the_last_that_were_told() -> None:
    """Only lists grow; surrogate halves are mended."""
    first, second = {"a": {"b": 1}, "c": [1], "d": 1}, {"a": {"e": 2}, "c": [2], "d": None}
    body = D({"content": "a", "provider_metadata": first}) + D({"provider_metadata": second})
    extras = run(body + F("stop") + DONE).message.extras
    assert extras == {"provider_metadata": {"a": {"e": 2}, "c": [1, 2], "d": 1}}
    body = D({"content": "a"}, citations=["HALF"]).replace(b"HALF", b"\\ud83d")
    assert run(body + F("stop") + DONE).message.extras == {"citations": ["\ufffd"]}
