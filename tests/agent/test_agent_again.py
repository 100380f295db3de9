# SPDX-License-Identifier: MIT
"""When the model is asked again (broken calls, failures, paused answers), and with what."""

from __future__ import annotations

import json
import threading
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from agent_support import ONCE, USAGE, calls, kinds, loopback, says, scene

from streamcore.agent import Agent, AgentEvent, AgentLimits
from streamcore.agent.tools import tool
from streamcore.client import Client
from streamcore.runtime import LlmRuntime
from streamcore.session import Session
from streamcore.values.calls import CallConfig
from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, StreamChunk, TextDelta, ToolCallDelta,
)
from streamcore.values.errors import LlmError
from streamcore.values.frozen import FrozenDict
from streamcore.values.messages import OpaqueBlock, TextBlock, ToolCall
from streamcore.values.retry import RetryPolicy
from streamcore.values.usage import TokenUsage

QUICK = RetryPolicy(initial_delay=0.001)
BROKEN = {"steps": [
    {"text": "I look. "},
    {"tool_call": {"index": 0, "id": "a", "name": "echo", "arguments": "{}"}},
    {"tool_call": {"index": 1, "id": "b", "name": "echo", "arguments": '{"text": '}},
    {"finish": "tool_calls"}, {"usage": USAGE}, {"done": True},
]}
BUSY = {"status": 503, "json": {"error": {"message": "busy"}}}
GOOD = calls(("echo", '{"text": "x"}'))


@tool
def echo(text: str = "") -> str:
    """Say it again."""
    return f"echo {text}"


# -- a call that does not parse --------------------------------------------------------------


def watched(answers: List[Any], **options: Any) -> Tuple[Any, List[AgentEvent], Any]:
    """Take a turn event by event; return its result, its events, and the scene."""
    with scene(answers, [echo], retry=options.pop("retry", QUICK), **options) as at:
        events = list(at.agent.iter("go"))
        assert at.server.refused == []
        return events[-1].result, events, at


def test_step_with_a_broken_call_is_asked_again_and_its_chunks_are_void() -> None:
    """No call of the broken answer runs; an event says its chunks do not count."""
    result, events, at = watched([BROKEN, GOOD, says("done")])
    assert (result.reason, result.text, result.steps) == ("stop", "done", 2)
    assert [outcome.content for outcome in result.tool_calls] == ["echo x"]
    told = [(event.type, event.step) for event in events if event.type != "chunk"]
    assert told == [("step-start", 1), ("void", 1), ("message", 1), ("tool-start", 1),
                    ("tool-result", 1), ("step-start", 2), ("message", 2), ("end", 2)]
    void = [event.type for event in events].index("void")
    before = [e.chunk.text for e in events[:void] if isinstance(e.chunk, TextDelta)]
    assert "".join(before) == "I look. "
    finishes = [event for event in events if isinstance(event.chunk, Finish)]
    assert len(finishes) == 2, "the broken attempt has no finish of its own"
    assert len(at.server.requests) == 3
    assert at.server.requests[0] == at.server.requests[1], "the same step is asked again"


def test_broken_call_nobody_saw_is_asked_again_without_a_word() -> None:
    """Without shown chunks there is no ``void`` event; the log has the failed attempt."""
    told: List[str] = []
    with scene([BROKEN, says("done")], [echo], retry=QUICK,
               on_event=lambda event: told.append(event.type)) as at:
        result = at.run()
        assert result.text == "done" and "void" not in told
        assert "retry/scheduled" in kinds(at.agent.session)
        assert [m.role for m in result.messages] == ["user", "assistant"]


@pytest.mark.parametrize("retries", [0, 1, 2])
@pytest.mark.parametrize("seen", [True, False])
def test_broken_calls_share_the_tries_of_the_step(retries: int, seen: bool) -> None:
    """A step has the policy's number of tries for all kinds of failure; then the turn ends."""
    policy = RetryPolicy(max_retries=retries, initial_delay=0.001)
    failing = [BUSY, BROKEN, BROKEN][-retries - 1:]
    chunks: List[StreamChunk] = []
    on_chunk = chunks.append if seen else None
    with scene([*failing, says("late")], [echo], retry=policy, on_chunk=on_chunk) as at:
        result = at.run()
        assert result.failure.code == "MALFORMED_TOOL_CALL" and result.reason == "error"
        assert len(at.server.requests) == retries + 1
        assert result.tool_calls == () and result.partial.text == "I look. "
        broken = failing.count(BROKEN)
        assert result.usage == TokenUsage(10 * broken, 2 * broken)


def test_each_step_has_tries_of_its_own() -> None:
    """A try that one step used is available again for the next step."""
    answers = [BROKEN, BROKEN, GOOD, BROKEN, BROKEN, says("done")]
    result, events, _ = watched(answers)
    assert result.text == "done"
    assert [event.step for event in events if event.type == "void"] == [1, 1, 2, 2]


def test_other_failures_after_chunks_are_not_asked_again() -> None:
    """An answer that broke off after shown chunks ends the turn."""
    result, events, at = watched([{"steps": [{"text": "half"}]}, says("late")])
    assert result.failure.code == "STREAM_CLOSED" and len(at.server.requests) == 1
    assert "void" not in [event.type for event in events]


def test_cancel_while_waiting_to_ask_again() -> None:
    """A cancel ends the wait between a broken answer and the next attempt."""
    cancel = threading.Event()
    policy = RetryPolicy(initial_delay=30, max_delay=30)

    def on_chunk(chunk: StreamChunk) -> None:
        cancel.set()

    with scene([BROKEN, says("late")], [echo], retry=policy, cancel=cancel,
               on_chunk=on_chunk) as at:
        result = at.run()
        assert result.reason == "cancelled" and len(at.server.requests) == 1


def test_consumer_that_leaves_at_the_event_leaves_a_valid_history() -> None:
    """Leaving after the broken answer closes the turn; the next turn works."""
    with scene([BROKEN, says("x"), says("done")], [echo], retry=QUICK) as at:
        events = at.agent.iter("go")
        assert any(event.type == "void" for event in events)
        events.close()
        assert at.run("again").ok
        assert [m.role for m in at.agent.messages] == ["user", "user", "assistant"]


# -- who says how often ----------------------------------------------------------------------


@pytest.mark.parametrize("of_client, of_agent, requests", [
    (QUICK, None, 3),
    (ONCE, None, 1),
    (ONCE, QUICK, 3),
    (QUICK, ONCE, 1),
    (RetryPolicy(max_retries=1, initial_delay=0.001), None, 2),
])
def test_policy_of_the_agent_then_of_the_client(
    of_client: Any, of_agent: Any, requests: int
) -> None:
    """The agent's own policy counts first, then the client's."""
    with scene([BUSY], retry=of_client) as at:
        agent = Agent(at.client, retry=of_agent)
        assert agent.run("go").failure.code == "SERVER"
        assert len(at.server.requests) == requests


def test_agent_retries_where_nobody_says_otherwise() -> None:
    """An agent retries by RetryPolicy(); the same client alone makes one request."""
    busy = {**BUSY, "status": 429}
    with scene([busy, says("yes"), busy], retry=None) as at:
        assert at.run().text == "yes" and len(at.server.requests) == 2
        with pytest.raises(LlmError, match="RATE_LIMIT"):
            at.client.complete("hi")
        assert len(at.server.requests) == 3


def test_policy_of_a_runtime_is_the_adapters_or_the_default() -> None:
    """A runtime uses its adapter's policy, or RetryPolicy() without one."""
    failing = Adapter([LlmError("busy", "SERVER")], said("yes"))
    assert agent_of(failing).run("go").text == "yes"
    alone = Adapter([LlmError("busy", "SERVER")], said("yes"))
    alone.retry = ONCE
    assert agent_of(alone).run("go").failure.code == "SERVER"


def test_policy_must_be_one() -> None:
    """A number is refused as a policy."""
    with pytest.raises(TypeError, match="retry must be a RetryPolicy, not int"):
        Agent(Client("m", base_url="http://127.0.0.1:9/v1"), retry=2)


# -- answers that are not the last word ------------------------------------------------------


class Adapter:
    """Gives answers in order, each a list of chunks or exceptions; keeps the requests."""

    retry: Any = None

    def __init__(self, *answers: List[Any]) -> None:
        self.answers = list(answers)
        self.requests: List[Any] = []

    def stream(self, request: Any) -> Iterator[StreamChunk]:
        """Give the next answer; the last one again and again."""
        self.requests.append(request)
        for step in self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]:
            if isinstance(step, Exception):
                raise step
            yield step


def said(text: str, finish: str = "stop", **part: Any) -> List[StreamChunk]:
    """Return the chunks of an answer: its text, and an opaque block if ``part`` is given."""
    block = OpaqueBlock(FrozenDict(part))
    ends: List[StreamChunk] = [BlockEnd(0, TextBlock(text)), Finish(FinishReason(finish))]
    if part:
        ends[1:1] = [BlockEnd(1, block)]
    opened = [BlockStart(1, "opaque", block.kind)] if part else []
    return [BlockStart(0, "text"), TextDelta(0, text), *opened, *ends]


def agent_of(adapter: Adapter, **options: Any) -> Agent:
    """Return an agent that talks to an adapter."""
    runtime = LlmRuntime()
    runtime.register_adapter(["p"], adapter)
    return Agent(runtime, config=CallConfig("m", "p"), **options)


def test_paused_answer_goes_back_unchanged() -> None:
    """It is the last message of the next request, with no user message after it."""
    adapter = Adapter(said("one ", "paused", type="search", q="x"), said("two"))
    result = agent_of(adapter).run("go")
    assert (result.reason, result.steps, result.text) == ("stop", 2, "two")
    assert [m.role for m in adapter.requests[1].messages] == ["user", "assistant"]
    assert adapter.requests[1].messages[-1] == result.messages[1]
    assert result.messages[1].finish == "paused"


@pytest.mark.parametrize("pauses, reason, requests", [(6, "stop", 7), (7, "max-pauses", 7)])
def test_seventh_pause_in_a_row_ends_the_turn(pauses: int, reason: str, requests: int) -> None:
    """After six pauses the provider is asked again; after the seventh it is not."""
    adapter = Adapter(*[said(f"{n} ", "paused") for n in range(pauses)], said("end"))
    result = agent_of(adapter).run("go")
    assert (result.reason, len(adapter.requests), result.steps) == (reason, requests, requests)
    if reason != "stop":
        assert result.failure.code == "AGENT_LIMIT" and "6" in result.failure.message


def test_pauses_are_counted_in_a_row() -> None:
    """A step with tools between them restarts the count; the cap of steps counts all answers."""
    six = [said(f"{n} ", "paused") for n in range(6)]
    call = calls_of("echo")
    adapter = Adapter(*six, call, *six, said("end"))
    assert agent_of(adapter, tools=[echo]).run("go").text == "end"
    capped = agent_of(Adapter(*six, said("end")), limits=AgentLimits(max_steps=3)).run("go")
    assert (capped.reason, capped.steps) == ("max-steps", 3)
    assert "answer 3 is paused" in capped.failure.message


def calls_of(name: str) -> List[StreamChunk]:
    """Return the chunks of an answer that calls a tool."""
    return [BlockStart(0, "tool-call"), ToolCallDelta(0, "c", name, "{}"),
            BlockEnd(0, ToolCall("c", name, "{}")), Finish(FinishReason("tool-calls"))]


def test_paused_conversation_goes_on_without_a_prompt() -> None:
    """None continues after a paused answer, also in a session opened again."""
    adapter = Adapter(said("one ", "paused"), said("two"))
    session = Session()
    first = agent_of(adapter, session=session, limits=AgentLimits(max_steps=1))
    assert first.run("go").reason == "max-steps"
    assert agent_of(adapter, session=session).run(None).text == "two"
    with pytest.raises(ValueError, match="nothing to go on from"):
        first.run(None)


def test_answer_that_waits_for_the_client_ends_the_turn() -> None:
    """The failure names its kind; the answer stays in the history; nothing more is sent."""
    adapter = Adapter(waits("local_shell_call"))
    result = agent_of(adapter).run("go")
    assert (result.reason, result.failure.code) == ("error", "UNSUPPORTED_CONTENT")
    assert "local_shell_call" in result.failure.message
    assert len(adapter.requests) == 1 and result.messages[-1].finish == "awaits-client"


def waits(kind: str) -> List[StreamChunk]:
    """Return the chunks of an answer that waits for its client."""
    return [BlockStart(0, "opaque", kind), BlockEnd(0, OpaqueBlock(FrozenDict(type=kind))),
            Finish(FinishReason("awaits-client"))]


# -- how the model is asked ------------------------------------------------------------------


def test_agent_takes_what_a_call_takes() -> None:
    """Sampling, ids, extra body fields and headers are arguments of the agent."""
    asked: Dict[str, Any] = {
        "temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 9, "stop": ["x"],
        "reasoning_effort": "low", "parallel_tool_calls": False, "tool_choice": "auto",
        "response_format": {"type": "text"}, "extra_body": {"best": True},
    }
    with loopback([says("hi")], [echo], headers={"X-Team": "blue"}, **asked) as (agent, server):
        agent.run("go")
        assert server.requests[0].headers["x-team"] == "blue"
        sent = json.loads(server.requests[0].body)
        wanted = {**asked, "best": True}
        del wanted["extra_body"]
        assert {name: sent[name] for name in wanted} == wanted
        assert sent["model"] == "m"


def test_what_is_asked_goes_over_the_config() -> None:
    """An argument replaces the config's field; the others stay."""
    with scene([says("hi")], config=CallConfig("m2", max_tokens=7, seed=1), max_tokens=8) as at:
        at.run()
        sent = at.server.requests[0]
        assert (sent["model"], sent["max_tokens"], sent["seed"]) == ("m2", 8, 1)


@pytest.mark.parametrize("name", ["temprature", "model", "provider", "raw"])
def test_argument_that_no_call_takes_is_refused(name: str) -> None:
    """A misspelt argument is a TypeError that names it."""
    with pytest.raises(TypeError, match=f"Agent.. got an unexpected argument '{name}'"):
        Agent(Client("m", base_url="http://127.0.0.1:9/v1"), **{name: 1})
