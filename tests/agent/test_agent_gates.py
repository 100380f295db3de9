# SPDX-License-Identifier: MIT
"""The agent's caps: each is exact at n and n+1, and is judged before any tool of the step runs."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

import pytest
from agent_support import Answer, calls, check_result, loopback, says, scene, statuses

from streamcore.agent import AgentLimits
from streamcore.agent.tools import Tool, tool
from streamcore.agent.trimming import drop_tool_outputs
from streamcore.values.messages import Message, ToolResult
from streamcore.wire.history import context_bytes


class Counter:
    """Counts how often its tool ran."""

    def __init__(self) -> None:
        self.ran = 0

    def count(self, n: int = 0) -> str:
        """Count."""
        self.ran += 1
        return "counted"


def asks(number: int, start: int = 0) -> Answer:
    """Return an answer with this many calls, all different."""
    return calls(*(("count", json.dumps({"n": start + i})) for i in range(number)))


@pytest.mark.parametrize("limits, answers, reason, ran, requests, words", [
    ({}, [asks(8)], "stop", 8, 2, ()),
    ({}, [asks(9)], "max-calls-per-step", 0, 1, ("9 tool calls", "max_calls_per_step=8")),
    ({"max_calls": 10}, [asks(8), asks(2, 8)], "stop", 10, 3, ()),
    ({"max_calls": 10}, [asks(8), asks(3, 8)], "max-calls", 8, 2,
     ("11 tool calls", "max_calls=10")),
    ({}, [asks(8, i * 8) for i in range(6)] + [asks(2, 48)], "stop", 50, 8, ()),
    ({}, [asks(8, i * 8) for i in range(6)] + [asks(3, 48)], "max-calls", 48, 7,
     ("51 tool calls", "max_calls=50")),
    ({}, [asks(1, i) for i in range(19)], "stop", 19, 20, ()),
    ({}, [asks(1, i) for i in range(20)], "max-steps", 19, 20, ("answer 20", "max_steps=20")),
    ({"max_steps": 1}, [], "stop", 0, 1, ()),
    ({"max_steps": 1}, [asks(1)], "max-steps", 0, 1, ("answer 1", "max_steps=1")),
    ({}, [asks(1), asks(1)], "stop", 2, 3, ()),
])
def test_gate_is_exact(
    limits: Dict[str, int], answers: List[Answer], reason: str, ran: int, requests: int,
    words: Tuple[str, ...],
) -> None:
    """The limit itself passes; one more runs no tool of its step, and no request follows."""
    counter = Counter()
    with scene([*answers, says("x")], [counter.count], limits=AgentLimits(**limits)) as at:
        result = at.run()
        assert result.reason == reason
        assert (counter.ran, len(at.server.requests)) == (ran, requests)
        if words:
            assert result.failure is not None and result.failure.code == "AGENT_LIMIT"
            assert all(word in result.failure.message for word in words), result.failure
            last = statuses(result.tool_calls)[-1]
            assert last == "not-executed"
            assert result.failure.message in result.tool_calls[-1].content


def test_endless_loop_is_stopped() -> None:
    """A model that repeats one call for ever is stopped, and asked no more (row L1)."""
    counter = Counter()
    with loopback([asks(1)], [counter.count]) as (agent, server):
        result = agent.run("go")
        assert (result.reason, counter.ran, len(server.requests)) == ("repeated-call", 6, 6)
        check_result(result)


def test_caps_hold_for_one_run() -> None:
    """Every run counts from zero."""
    counter = Counter()
    answers = [asks(2), says("one"), asks(2), says("two")]
    with scene(answers, [counter.count], limits=AgentLimits(max_calls=2)) as at:
        assert at.run().text == "one"
        assert at.run().text == "two"


def test_same_arguments_in_other_letters_are_the_same_call() -> None:
    """Blanks and the order of keys do not make a call different."""
    @tool
    def pair(a: int, b: int) -> int:
        """Add."""
        return a + b

    answers = 2 * [calls(("pair", text)) for text in (
        '{"a": 1, "b": 2}', '{"b":2,"a":1}', '{"a":1,"b":2}',
    )]
    with scene([*answers, says("x")], [pair]) as at:
        assert at.run().reason == "repeated-call"


def context_of(body: Dict[str, Any]) -> int:
    """Return the size of messages and tools in a request body."""
    kept = {name: body[name] for name in ("messages", "tools") if name in body}
    return len(json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))


@pytest.mark.parametrize("over", [0, 1])
def test_context_gate_is_exact(over: int) -> None:
    """A request of exactly the limit is sent; one byte more is not."""
    counter = Counter()
    answers = [asks(1), says("é")]
    with scene(answers, [counter.count], system="ü") as at:
        at.run("日本 😀")
        size = context_of(at.server.requests[-1])
    limits = AgentLimits(max_context_bytes=size - over)
    with scene(answers, [counter.count], system="ü", limits=limits) as at:
        result = at.run("日本 😀")
        if not over:
            assert result.ok
            return
        assert (result.reason, len(at.server.requests)) == ("max-context", 1)
        assert result.failure is not None
        for word in (f"{size} bytes", f"max_context_bytes={size - 1}"):
            assert word in result.failure.message
        assert statuses(result.tool_calls) == ["ok"], "its result was there already"


def test_context_is_measured_as_it_is_sent() -> None:
    """Messages, tools and the system prompt count, in UTF-8."""
    said = [Message("user", "é")]  # type: ignore[arg-type]
    assert context_bytes(said) == len(
        '{"messages":[{"role":"user","content":"é"}]}'.encode("utf-8"))
    tools = [{"type": "function", "function": {"name": "f"}}]
    assert context_bytes(said, tools, "ü") == len(
        '{"messages":[{"role":"system","content":"ü"},{"role":"user","content":"é"}],'
        '"tools":[{"type":"function","function":{"name":"f"}}]}'.encode("utf-8"))


def test_prompt_over_the_context_is_not_kept() -> None:
    """A prompt that is too large is reported, and does not block the next prompt."""
    with scene([says("x")], limits=AgentLimits(max_context_bytes=500)) as at:
        result = at.run("a" * 500)
        assert (result.reason, result.messages) == ("max-context", ())
        assert at.run("short").ok
        assert at.server.requests[0]["messages"] == [{"role": "user", "content": "short"}]


def keep_last(messages: Tuple[Message, ...]) -> List[Message]:
    """Return the last user message and the messages after it."""
    start = max(i for i, message in enumerate(messages) if message.role == "user")
    return list(messages[start:])


def test_trim_makes_room() -> None:
    """The messages that ``trim`` returns are sent; the log and the result keep everything."""
    limits = AgentLimits(max_context_bytes=1500)
    answers = [says("x" * 1000), says("short"), says("end")]
    with scene(answers, limits=limits, trim=keep_last) as at:
        at.run("a" * 400)
        result = at.run("second")
        assert result.text == "short"
        assert at.server.requests[1]["messages"] == [{"role": "user", "content": "second"}]
        assert len(result.messages) == 4
        recorded = at.agent.session.request_at(len(at.agent.session) - 1)
        assert [message.text for message in recorded.messages] == ["second"]


@pytest.mark.parametrize("trim, reason, words", [
    (lambda messages: messages, "max-context", "after trim"),
    (lambda messages: [m for m in messages if m.role != "assistant"], "error",
     "trim gave no valid history"),
    (lambda messages: 5, "error", "trim gave no valid history"),
    (lambda messages: None, "error", "trim gave no valid history"),
])
def test_trim_that_does_not_help(trim: Any, reason: str, words: str) -> None:
    """A history that is still too large, or not valid, is not sent."""
    counter = Counter()
    first = calls(("count", "{}"))
    limits = AgentLimits(max_context_bytes=600)
    with scene([first, says("x")], [counter.count], limits=limits, trim=trim) as at:
        result = at.run("a" * 200)
        assert result.reason == reason and result.failure is not None
        assert words in result.failure.message
        assert len(at.server.requests) == 1


@pytest.mark.parametrize("text", ["x" * 2000, "ü" * 1000, "\n\"" * 500])
def test_oldest_tool_outputs_make_room(text: str) -> None:
    """Marks replace the oldest outputs, each call keeps its result, the newest output stays."""
    @tool
    def read(n: int) -> str:
        """Read."""
        return f"{n} {text}"

    limits = AgentLimits(max_context_bytes=5000)
    answers = [calls(("read", json.dumps({"n": n}))) for n in range(9)]
    with scene([*answers, says("x")], [read], limits=limits, trim="tool-outputs") as at:
        result = at.run()
        assert result.text == "x"
        assert max(context_of(body) for body in at.server.requests) <= 5000
        sent = [m["content"] for m in at.server.requests[-1]["messages"] if m["role"] == "tool"]
        size = len(json.dumps(f"0 {text}", ensure_ascii=False).encode())
        mark = f"[an older tool output of {size} bytes, left out to make room]"
        assert sent == [mark] * (9 - sent.count(f"8 {text}") - (f"7 {text}" in sent)) + [
            f"{n} {text}" for n in (7, 8) if f"{n} {text}" in sent]
        assert sent[-1] == f"8 {text}" and len(sent) == 9
        kept = [m.tool_results[0].content for m in result.messages if m.tool_results]
        assert kept == [f"{n} {text}" for n in range(9)], "the log keeps everything"


def test_no_more_tool_outputs_go_than_have_to() -> None:
    """One byte over the cap costs one output."""
    sizes = []
    for limit in (200 * 1024, None):
        limits = AgentLimits(max_context_bytes=limit or sizes[-1] - 1)
        answers = [calls(("count", "{}"), ids=f"c{n}") for n in range(3)]
        tools = [Tool("count", "", None, lambda: "y" * 300)]
        with scene([*answers, says("x")], tools, limits=limits, trim="tool-outputs") as at:
            assert at.run().text == "x"
            sizes = [context_of(body) for body in at.server.requests]
            sent = [m["content"] for m in at.server.requests[-1]["messages"] if m["role"] == "tool"]
    assert [text[0] for text in sent] == ["[", "y", "y"]


def test_outputs_in_parts_and_of_one_message_go_too() -> None:
    """A trimmed result keeps its call, its error flag and its own fields."""
    parts = [{"type": "text", "text": "z" * 400}]
    results = (ToolResult("a", parts, True, {"x": 1}), ToolResult("b", "y" * 400), ToolResult("c"))
    said = [Message("tool", results), Message("assistant", "x" * 400), Message("user", "hi")]
    first, *rest = drop_tool_outputs(said, 1)
    assert rest == said[1:]
    one, two, three = first.tool_results
    assert (one.call_id, one.is_error, one.extras) == ("a", True, {"x": 1})
    assert "left out" in one.content and "left out" in two.content
    assert three == results[2] and drop_tool_outputs(said, 0) == said
    assert drop_tool_outputs(said[:1], 9999) == said[:1], "the newest stays"


def test_short_outputs_and_the_users_words_are_left() -> None:
    """Outputs shorter than a mark stay, and only tool outputs are replaced."""
    tools = [Tool("count", "", None, lambda: "short")]
    limits = AgentLimits(max_context_bytes=1200)
    answers = [calls(("count", "{}")), says("y" * 900), says("never")]
    with scene(answers, tools, limits=limits, trim="tool-outputs") as at:
        assert at.run("a" * 100).ok
        result = at.run("next")
        assert result.reason == "max-context" and result.failure is not None
        assert "after trim" in result.failure.message


@pytest.mark.parametrize("trim, error", [
    ("tool_outputs", ValueError), ("", ValueError), (5, TypeError), (["tool-outputs"], TypeError),
])
def test_odd_trim_is_refused_when_made(trim: Any, error: Any) -> None:
    """``trim`` is a function or a known word."""
    with pytest.raises(error, match="trim must be 'tool-outputs' or a function"):
        with scene([], trim=trim):
            pass


@pytest.mark.parametrize("name, value, error", [
    ("max_steps", 0, ValueError), ("max_calls", -1, ValueError), ("max_calls", 1.5, TypeError),
    ("max_steps", True, TypeError), ("max_steps", None, TypeError),
    ("max_output_bytes", 255, ValueError), ("max_repeats", 1, ValueError),
])
def test_odd_limit_is_refused_when_made(name: str, value: Any, error: Any) -> None:
    """A cap is a whole number of a size that makes sense."""
    with pytest.raises(error, match=name):
        AgentLimits(**{name: value})


def test_defaults_are_the_documented_ones() -> None:
    """DESIGN.md §7 gives the numbers."""
    assert AgentLimits() == AgentLimits(8, 50, 20, 16 * 1024, 200 * 1024, 6)
