# SPDX-License-Identifier: MIT
"""The agent's loop against a provider that accepts valid histories only."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List

import pytest
from agent_support import (
    USAGE, calls, check_history, check_result, kinds, loopback, says, scene, statuses, told,
)
from strict_server import StrictServer

from streamcore.agent import REASONS, TURN_ENDS, Agent, AgentEvent, AgentLimits
from streamcore.agent.result import STATUSES
from streamcore.agent.tools import Tool, ToolError, ToolRegistry, tool
from streamcore.client import Client
from streamcore.runtime import LlmRuntime
from streamcore.session import Session
from streamcore.values.calls import CallConfig
from streamcore.values.chunks import FINISH_KINDS, Finish, TextDelta
from streamcore.values.errors import LlmError
from streamcore.values.messages import Message, TextBlock, ToolCall
from streamcore.values.retry import RetryPolicy
from streamcore.values.usage import TokenUsage


@tool
def echo(text: str = "") -> str:
    """Say it again."""
    return f"echo {text}"


@tool
def fail(text: str = "") -> str:
    """Fail in a way the model may mend."""
    raise ToolError(f"no {text}")


@tool
def crash() -> str:
    """Fail in a way nobody knows."""
    raise ValueError("a bug")


@tool(mutating=True)
def write(text: str = "") -> str:
    """Change something."""
    return "written"


TOOLS = (echo, fail, crash, write)


def test_text_ends_the_turn() -> None:
    """An answer without calls ends the turn: one step, its message, its usage."""
    with scene([says("hello", usage=USAGE)], TOOLS, system="be kind") as at:
        result = at.run("hi")
        assert (result.reason, result.ok, result.text, result.steps) == ("stop", True, "hello", 1)
        assert result.failure is None and result.tool_calls == ()
        assert result.usage == TokenUsage(10, 2)
        assert result.message is not None and result.messages[-1] == result.message
        sent = at.server.requests[0]
        assert sent["messages"] == [
            {"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"},
        ]
        assert [one["function"]["name"] for one in sent["tools"]] == [
            "echo", "fail", "crash", "write",
        ]


def test_tools_run_in_order_and_their_results_go_back() -> None:
    """Every call of a step is answered once, in call order, and the model goes on."""
    answers = [
        calls(("echo", '{"text": "a"}'), ("echo", '{"text": "b"}'), usage=USAGE),
        says("done", usage=USAGE),
    ]
    with scene(answers, TOOLS) as at:
        result = at.run()
        assert told(result) == [("echo", "ok", "echo a"), ("echo", "ok", "echo b")]
        assert (result.reason, result.text, result.steps) == ("stop", "done", 2)
        assert result.usage == TokenUsage(20, 4)
        assert at.server.requests[1]["messages"][2:] == [
            {"role": "tool", "tool_call_id": "call_0", "content": "echo a"},
            {"role": "tool", "tool_call_id": "call_1", "content": "echo b"},
        ]


def test_second_run_goes_on_with_the_conversation() -> None:
    """A second run sends the earlier messages, and a step may use ids again."""
    answers = [calls(("echo", '{"text": "1"}')), says("one"),
               calls(("echo", '{"text": "2"}')), says("two")]
    with scene(answers, TOOLS) as at:
        first, second = at.run("first"), at.run("second")
        assert (first.text, second.text) == ("one", "two")
        assert second.messages[: len(first.messages)] == first.messages
        assert second.steps == 2 and len(second.tool_calls) == 1
        assert at.agent.messages == second.messages
        roles = [message["role"] for message in at.server.requests[-1]["messages"]]
        assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]


def test_log_holds_the_whole_turn_in_order() -> None:
    """Turn, prompt, requests, answers, tool starts before results, and the end are recorded."""
    with scene([calls(("echo", "{}"), ("nothing", "{}")), says("x")], TOOLS) as at:
        at.run()
        assert kinds(at.agent.session) == [
            "turn/start", "user/message", "request/header", "request/context",
            "assistant/message", "tool/start", "tool/result", "tool/result",
            "request/context", "assistant/message", "turn/end",
        ]
        assert at.agent.session.events[-1].data == {"reason": "stop"}


def test_events_of_a_turn() -> None:
    """``iter`` gives each event, in order, with its step; the last one has the result."""
    with scene([calls(("echo", "{}")), says("hi")], TOOLS) as at:
        events = list(at.agent.iter("go"))
        shown = [(e.type, e.step) for e in events if e.type != "chunk"]
        assert shown == [
            ("step-start", 1), ("message", 1), ("tool-start", 1), ("tool-result", 1),
            ("step-start", 2), ("message", 2), ("end", 2),
        ]
        chunks = [(e.step, e.chunk) for e in events if e.chunk is not None]
        assert {step for step, _ in chunks} == {1, 2}
        assert "".join(c.text for _, c in chunks if isinstance(c, TextDelta)) == "hi"
        result = events[-1].result
        assert result is not None and result.text == "hi"
        check_result(result)


def test_callbacks_see_chunks_and_events() -> None:
    """``on_chunk`` gets the chunks, ``on_event`` everything else."""
    chunks: List[Any] = []
    events: List[AgentEvent] = []
    options: Dict[str, Any] = {"on_chunk": chunks.append, "on_event": events.append}
    with scene([says("a b")], **options) as at:
        at.run()
        assert isinstance(chunks[-1], Finish)
        assert [event.type for event in events] == ["step-start", "message", "end"]


def test_bare_runtime_serves_too() -> None:
    """An ``LlmRuntime`` works with its own config, and is refused without one."""
    with scene([says("hi")]) as at:
        runtime: LlmRuntime = at.client.runtime
        with pytest.raises(ValueError, match="config"):
            Agent(runtime)
        agent = Agent(runtime, config=CallConfig("other", at.client.provider, temperature=0.5))
        assert agent.run("x").text == "hi"
        assert at.server.requests[0]["model"] == "other"
        assert at.server.requests[0]["temperature"] == 0.5


def test_client_with_a_config() -> None:
    """A config given with a client sets how the model is asked."""
    with scene([says("hi")], config=CallConfig("m2", max_tokens=7)) as at:
        at.run()
        assert at.server.requests[0]["max_tokens"] == 7


def test_retry_of_the_client_holds_and_unseen_chunks_allow_it() -> None:
    """A step that broke off is tried again if nobody saw its chunks."""
    broken = {"steps": [{"text": "half"}]}
    policy = RetryPolicy(max_retries=1, initial_delay=0.01)
    with scene([broken, says("whole")], retry=policy) as at:
        assert at.run().text == "whole"
        assert len(at.server.requests) == 2
    with scene([broken, says("whole")], retry=policy, on_chunk=lambda chunk: None) as at:
        result = at.run()
        assert (result.reason, result.partial.text) == ("error", "half")


EMPTY = {"steps": [{"finish": "stop"}, {"done": True}]}


@pytest.mark.parametrize("answer, reason, code", [
    ({"steps": [{"text": "so"}, {"finish": "content_filter"}, {"done": True}]},
     "content-filter", "CONTENT_FILTER"),
    ({"steps": [{"text": "half"}]}, "error", "STREAM_CLOSED"),
    ({"status": 401, "json": {"error": {"message": "who?"}}}, "error", "AUTH"),
    ({"status": 500, "json": {}}, "error", "SERVER"),
    ({"steps": [{"tool_call": {"index": 0, "id": "c", "name": "f", "arguments": "{"}},
                {"finish": "tool_calls"}, {"done": True}]}, "error", "MALFORMED_TOOL_CALL"),
])
@pytest.mark.parametrize("after_tools", [False, True])
def test_failed_answer_ends_the_turn(
    answer: Dict[str, Any], reason: str, code: str, after_tools: bool
) -> None:
    """Each failure of the model has its reason, is not raised, and leaves a valid history."""
    before = [calls(("echo", "{}"))] if after_tools else []
    with scene([*before, answer, says("again")], TOOLS) as at:
        result = at.run()
        assert result.reason == reason
        assert result.failure is not None and result.failure.code == code
        assert result.steps == len(before)
        assert result.messages[-1].role == ("tool" if after_tools else "user")
        assert at.run("again").text == "again"


def test_empty_answer_is_a_failure_unless_tools_ran_before_it() -> None:
    """A model may have nothing to add to its tools' results (row L7)."""
    with scene([EMPTY, calls(("echo", "{}")), EMPTY, says("again")], TOOLS) as at:
        result = at.run()
        assert result.reason == "empty-response"
        assert result.failure is not None and result.failure.code == "EMPTY_RESPONSE"
        result = at.run("now with tools")
        assert (result.reason, result.text, result.failure) == ("stop", "", None)
        assert at.run("again").text == "again"


def test_max_tokens_has_a_reason_and_keeps_its_text() -> None:
    """A cut answer keeps its text, its calls are dropped, and an empty one is not recorded."""
    cut = {"steps": [{"text": "half"}, {"finish": "length"}, {"done": True}]}
    call = {"index": 0, "id": "c", "name": "echo", "arguments": "{}"}
    empty = {"steps": [{"tool_call": call}, {"finish": "length"}, {"done": True}]}
    with scene([cut, empty, says("x")], TOOLS) as at:
        result = at.run()
        assert (result.reason, result.text, result.failure) == ("max-tokens", "half", None)
        result = at.run()
        assert (result.reason, result.text, result.tool_calls) == ("max-tokens", "", ())
        assert [message.role for message in result.messages] == ["user", "assistant", "user"]
        assert at.run().ok


def test_reasoning_alone_is_a_success() -> None:
    """An answer of reasoning alone is an answer without text (row L7 b)."""
    answer = {"steps": [{"reasoning": "hm"}, {"finish": "stop"}, {"done": True}]}
    with scene([answer, says("x")]) as at:
        result = at.run()
        assert (result.reason, result.text) == ("stop", "")
        assert result.message is not None and result.message.reasoning == "hm"
        assert at.run().ok


def test_tool_only_turn_sends_empty_content() -> None:
    """A message of calls alone is sent with ``""``, never null (row L10)."""
    with scene([calls(("echo", "{}")), says("x")], TOOLS) as at:
        result = at.run()
        sent = at.server.requests[1]["messages"][1]
        assert sent["content"] == "" and sent["tool_calls"]
        assert "content" not in result.messages[1].to_dict()


def test_tool_error_goes_back_once() -> None:
    """The model gets a ToolError, an unknown name and bad arguments, and goes on."""
    answer = calls(
        ("fail", '{"text": "a"}'), ("nothing", "{}"), ("echo", '{"text": 5}'), ("echo", "[1]"),
        ("fail", '{"text": "b"}'), ("echo", "{}"),
    )
    with scene([answer, says("sorry")], TOOLS) as at:
        result = at.run()
        assert told(result) == [
            ("fail", "error", "error: no a"),
            ("nothing", "unknown-tool",
             "error: there is no tool 'nothing' (there are: echo, fail, crash, write)"),
            ("echo", "invalid-arguments",
             "error: invalid arguments: arguments.text must be string, not integer"),
            ("echo", "invalid-arguments",
             "error: invalid arguments: they must be a JSON object"),
            ("fail", "error", "error: no b"),
            ("echo", "ok", "echo "),
        ]
        assert result.text == "sorry"


@pytest.mark.parametrize("name, arguments", [
    ("fail", '{"text": "a"}'), ("nothing", "{}"), ("echo", '{"text": 5}'),
])
def test_same_failure_again_stops(name: str, arguments: str) -> None:
    """The same call with the same error a second time stops the loop."""
    spaced = arguments.replace(":", " :")  # the same arguments in other letters
    answers = [calls((name, arguments)), calls(("echo", "{}")),
               calls((name, spaced), ("echo", '{"text": "b"}')), says("never")]
    with scene(answers, TOOLS) as at:
        result = at.run()
        assert result.reason == "repeated-failure" and result.steps == 3
        assert result.failure is not None and result.failure.code == "TOOL_FAILED"
        assert result.tool_calls[-1].status == "not-executed"
        assert result.tool_calls[-1].content.startswith("error: not executed: ")
        assert len(at.server.requests) == 3


def test_same_failure_in_a_later_run_is_new() -> None:
    """In a later run the model may make the failed call again."""
    answers = [calls(("fail", "{}")), says("one"), calls(("fail", "{}")), says("two")]
    with scene(answers, TOOLS) as at:
        assert at.run().text == "one"
        assert at.run().text == "two"


def test_other_exception_stops_as_polluted() -> None:
    """A crash stops the loop; the calls after it get "not executed"."""
    ran: List[str] = []

    @tool
    def note(text: str) -> None:
        """Note it."""
        ran.append(text)

    answer = calls(("note", '{"text": "a"}'), ("crash", "{}"), ("note", '{"text": "b"}'))
    with scene([answer, says("after")], [note, crash]) as at:
        result = at.run()
        assert result.reason == "tool-failure" and ran == ["a"]
        assert statuses(result.tool_calls) == ["ok", "failed", "not-executed"]
        assert result.tool_calls[0].content == "(no output)"
        assert result.tool_calls[1].content == (
            "error: ValueError: a bug; its effects are unknown")
        assert result.failure is not None and "crash" in result.failure.message
        assert len(at.server.requests) == 1
        assert at.run().text == "after"


def test_report_hands_every_failure_to_the_model() -> None:
    """With ``on_tool_error="report"`` crashes and repeated failures do not stop the loop."""
    answers = [calls(("crash", "{}"), ("echo", "{}")), calls(("crash", "{}")),
               calls(("fail", "{}")), calls(("fail", "{}")), says("done")]
    with scene(answers, TOOLS, on_tool_error="report") as at:
        result = at.run()
        assert result.reason == "stop" and result.text == "done"
        assert statuses(result.tool_calls) == ["failed", "ok", "failed", "error", "error"]


@pytest.mark.parametrize("value, text", [
    ({"k": "é"}, '{"k": "é"}'), (b"bytes", "bytes"), (None, "(no output)"), ([1], "[1]"),
    ("\ud800", "\ufffd"),
])
def test_tool_may_return_anything(value: Any, text: str) -> None:
    """Any value that a tool returns becomes text that the provider accepts (row L6)."""
    with scene([calls(("any", "{}")), says("x")], [Tool("any", "", None, lambda: value)]) as at:
        result = at.run()
        assert result.tool_calls[0].content == text
        assert at.server.requests[1]["messages"][-1]["content"] == text


@pytest.mark.parametrize("raises", [False, True])
def test_output_is_capped(raises: bool) -> None:
    """A result or an error has at most ``max_output_bytes``, and says what was cut."""
    def flood() -> str:
        if raises:
            raise ToolError("é" * 1_000_000)
        return "é" * 1_000_000

    with scene([calls(("flood", "{}")), says("x")], [flood]) as at:
        content = at.run().tool_calls[0].content
        assert 16_000 < len(content.encode("utf-8")) <= 16 * 1024
        assert "bytes left out]" in content


def test_approver_decides() -> None:
    """True runs, False refuses, a string refuses with a reason, anything else refuses."""
    verdicts: Dict[str, Any] = {"a": True, "b": False, "c": "too late", "d": None, "e": 1}
    asked: List[ToolCall] = []

    def approve(call: ToolCall) -> Any:
        asked.append(call)
        return verdicts[call.parsed()["text"]]

    answer = calls(*(("write", json.dumps({"text": text})) for text in verdicts),
                   ("nothing", "{}"), ("write", '{"text": 5}'))
    with scene([answer, says("x")], TOOLS, approve=approve) as at:
        result = at.run()
        assert [o.content for o in result.tool_calls[:5]] == [
            "written", "error: refused by the user", "error: refused: too late",
            "error: refused by the user", "error: refused by the user",
        ]
        assert statuses(result.tool_calls)[1:5] == ["refused"] * 4
        assert len(asked) == 5, "asked about a call that could not run"


@pytest.mark.parametrize("allowed", [False, True])
def test_mutating_tool_needs_an_approver_unless_allowed(allowed: bool) -> None:
    """Without an approver a mutating tool runs only with ``allow_mutating``."""
    answers = [calls(("write", "{}"), ("echo", "{}")), says("x")]
    with scene(answers, TOOLS, allow_mutating=allowed) as at:
        result = at.run()
        assert statuses(result.tool_calls) == ["ok" if allowed else "refused", "ok"]
        assert result.ok


def test_tool_gets_cancel_and_call_id() -> None:
    """A tool that takes them is given the agent's event and the call's id."""
    got: List[Any] = []

    @tool
    def curious(cancel: Any, call_id: str) -> None:
        """Look."""
        got.append((cancel, call_id))

    event = threading.Event()
    with scene([calls(("curious", "{}"), ids="x"), says("x")], [curious], cancel=event) as at:
        assert at.run().ok
        assert got == [(event, "x0")]


def test_cancel_in_a_tool_leaves_a_valid_history() -> None:
    """After a cancel in the first of three calls, each has one result, and the session goes on."""
    event = threading.Event()

    @tool
    def stopper() -> str:
        """Set the event."""
        event.set()
        return "stopped"

    answer = calls(("stopper", "{}"), ("echo", "{}"), ("echo", '{"text": "b"}'))
    with scene([answer, says("on")], [stopper, echo], cancel=event) as at:
        result = at.run()
        assert result.reason == "cancelled"
        assert result.failure is not None and result.failure.code == "ABORTED"
        assert told(result) == [
            ("stopper", "ok", "stopped"),
            ("echo", "cancelled", "error: cancelled before it ran"),
            ("echo", "cancelled", "error: cancelled before it ran"),
        ]
        assert len(at.server.requests) == 1
        event.clear()
        assert at.run("go on").text == "on"


def test_cancel_in_the_approver_runs_nothing() -> None:
    """If the user cancels during the approver, its decision does not count."""
    event = threading.Event()

    def approve(call: ToolCall) -> bool:
        event.set()
        return True

    with scene([calls(("echo", "{}")), says("x")], TOOLS, cancel=event, approve=approve) as at:
        result = at.run()
        assert statuses(result.tool_calls) == ["cancelled"] and result.reason == "cancelled"


def test_cancel_between_answer_and_tools_runs_nothing() -> None:
    """After a cancel at the whole answer, no tool runs and nobody is asked to approve."""
    event = threading.Event()
    asked: List[ToolCall] = []

    def stop(told_event: AgentEvent) -> None:
        if told_event.type == "message":
            event.set()

    options: Dict[str, Any] = {"cancel": event, "on_event": stop, "approve": asked.append}
    with scene([calls(("echo", "{}"), ("crash", "{}"))], TOOLS, **options) as at:
        result = at.run()
        assert statuses(result.tool_calls) == ["cancelled", "cancelled"] and asked == []
        assert "tool/start" not in kinds(at.agent.session)


def test_tool_that_raises_for_cancel_is_cancelled_not_polluted() -> None:
    """A tool that raises after the user cancelled does not count as failed."""
    event = threading.Event()

    @tool
    def nervous() -> str:
        """Set the event and fall over it."""
        event.set()
        raise RuntimeError("cancelled!")

    with scene([calls(("nervous", "{}"), ("echo", "{}"))], [nervous, echo], cancel=event) as at:
        result = at.run()
        assert result.reason == "cancelled"
        assert statuses(result.tool_calls) == ["failed", "cancelled"]


def test_cancel_in_the_model_s_stream() -> None:
    """The stream stops, the partial answer is in the result, and the session can go on."""
    event = threading.Event()
    stalls = {"steps": [{"text": "hal"}, {"stall": True}]}

    def stop(chunk: Any) -> None:
        if isinstance(chunk, TextDelta):
            event.set()

    with scene([stalls, says("on")], cancel=event, on_chunk=stop) as at:
        result = at.run()
        assert (result.reason, result.partial.text) == ("cancelled", "hal")
        assert [message.role for message in result.messages] == ["user"]
        event.clear()
        assert [e.result.text for e in at.agent.iter("again") if e.result] == [""]
        assert at.server.refused == [] and len(at.server.requests) == 2


def test_cancel_while_the_server_is_silent() -> None:
    """A timer in another thread ends the wait soon."""
    event = threading.Event()
    timer = threading.Timer(0.2, event.set)
    with loopback([{"no_answer": True}], cancel=event) as (agent, server):
        timer.start()
        result = agent.run("x")
        timer.join()
        assert result.reason == "cancelled"
        check_result(result)


def test_cancel_set_before_sends_nothing() -> None:
    """Nothing is sent, and the prompt is kept."""
    event = threading.Event()
    event.set()
    with scene([says("x")], cancel=event) as at:
        result = at.run("hi")
        assert result.reason == "cancelled" and at.server.requests == []
        event.clear()
        assert at.run(None).text == "x"
        assert at.server.requests[0]["messages"] == [{"role": "user", "content": "hi"}]


class Broken(Exception):
    """An error of the caller's own."""


@pytest.mark.parametrize("error", [
    Broken("mine"), LlmError("mine", "SERVER"), KeyboardInterrupt(), SystemExit(2),
])
@pytest.mark.parametrize("where", ["on_chunk", "on_event", "approve", "trim"])
def test_error_of_a_callback_comes_out_unchanged(where: str, error: BaseException) -> None:
    """The history is made valid first; then the same exception is raised."""
    at_work = [True]

    def raises(given: Any) -> Any:
        kind = getattr(given, "type", "")
        early = ("step-start", "message", "block-start", "tool-call-delta", "block-end")
        if not at_work or kind in early:
            return True
        at_work.clear()
        raise error

    answers = [calls(("echo", "{}"), ("echo", '{"text": "b"}')), says("on")]
    options: Dict[str, Any] = {where: raises}
    if where == "trim":
        options["limits"] = AgentLimits(max_context_bytes=10)
    with scene(answers, [echo], **options) as at:
        with pytest.raises(type(error)) as caught:
            at.agent.run("go")
        assert caught.value is error
        check_history(list(at.agent.messages))
        assert kinds(at.agent.session)[-1] == "turn/end"
        if where != "trim":
            done = [e for e in at.agent.session if e.type == "tool/result"]
            assert len(done) == 2, "a call without its result"
            assert at.run("again").ok


def leave(*_: Any) -> Any:
    """End the program, as a checker built on a command-line parser does."""
    sys.exit(3)


@dataclass
class Leaving:
    """A value that ends the program when it is made."""

    text: str = ""

    __post_init__ = leave


@tool
def leaves() -> str:
    """End the program."""
    return str(leave())


@tool
def leaves_late() -> Any:
    """Return a value that ends the program when it is shown."""
    return type("Odd", (), {"__str__": leave})()


@tool
def leaves_early(made: Leaving) -> str:
    """Take a value that ends the program when it is made."""
    return "never"


@pytest.mark.parametrize("name", ["leaves", "leaves_late"])
def test_sys_exit_in_a_tool_is_a_failure_of_the_tool(name: str) -> None:
    """It stops the loop as a tool failure, and ends neither the run nor the program."""
    answer = calls(("echo", "{}"), (name, "{}"), ("echo", '{"text": "b"}'))
    with scene([answer, says("on")], [echo, leaves, leaves_late]) as at:
        result = at.run()
        assert result.reason == "tool-failure"
        assert statuses(result.tool_calls) == ["ok", "failed", "not-executed"]
        assert "SystemExit: 3" in result.tool_calls[1].content
        assert result.failure is not None and "effects are unknown" in result.failure.message
        assert at.agent.session.events[-1].data["reason"] == "tool-failure"
        assert at.run("again").text == "on"


def test_sys_exit_in_a_tool_is_reported_where_failures_are() -> None:
    """With ``report`` the model gets it like any other failure."""
    with scene([calls(("leaves", "{}")), says("on")], [leaves], on_tool_error="report") as at:
        result = at.run()
        assert result.text == "on" and statuses(result.tool_calls) == ["failed"]


def test_sys_exit_in_a_check_refuses_the_arguments() -> None:
    """``validate`` and a dataclass may refuse with any exception."""
    checked = Tool("checked", "", {}, lambda: "never", validate=leave)
    answer = calls(("checked", "{}"), ("leaves_early", '{"made": {}}'))
    with scene([answer, says("on")], [checked, leaves_early]) as at:
        result = at.run()
        assert result.text == "on"
        assert statuses(result.tool_calls) == ["invalid-arguments"] * 2


class Signalled(KeyboardInterrupt):
    """The exception of a program's own signal handler."""


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Signalled()])
def test_interrupt_in_a_tool_makes_history_valid_and_comes_out(error: BaseException) -> None:
    """Ctrl-C in a tool: each call gets its result, started or not, then it is raised."""
    @tool
    def interrupted() -> str:
        """Be interrupted."""
        raise error

    answer = calls(("echo", "{}"), ("interrupted", "{}"), ("echo", '{"text": "b"}'))
    with scene([answer, says("on")], [echo, interrupted]) as at:
        with pytest.raises(type(error)) as caught:
            at.agent.run("go")
        assert caught.value is error
        texts = [message.tool_results[0].content for message in at.agent.messages[2:]]
        assert texts == [
            "echo ", "error: interrupted while it ran; its effects are unknown",
            "error: not executed: the turn was broken off",
        ]
        assert at.run("again").text == "on"


class Group(BaseException):
    """Stands for the builtin class, which older Pythons lack."""

    def __init__(self, *exceptions: BaseException) -> None:
        super().__init__(f"unhandled errors in a TaskGroup ({len(exceptions)} sub-exceptions)")
        self.exceptions = exceptions


GROUP = type("BaseExceptionGroup", (Group,), {})


class TimedOut(BaseException):
    """A time-out of another library, which is not an ``Exception``."""


@pytest.mark.parametrize("error, words", [
    (TimedOut("5 seconds"), "TimedOut: 5 seconds"),
    (GROUP(SystemExit(3)), "SystemExit: 3"),
    (GROUP(ValueError("a"), GROUP(TimedOut("b"))), "ValueError: a; TimedOut: b"),
    (type("Empty", (BaseException,), {})(), "Empty"),
])
@pytest.mark.parametrize("where", ["run", "show", "check"])
def test_only_an_interrupt_comes_out_of_a_tool(
    error: BaseException, words: str, where: str
) -> None:
    """Any other exception is an outcome like that of ``sys.exit()``."""
    def raises(*_: Any) -> Any:
        raise error

    odd = type("Odd", (), {"__str__": raises})()
    made = {
        "run": lambda: Tool("t", "", {}, raises),
        "show": lambda: Tool("t", "", {}, lambda: odd),
        "check": lambda: Tool("t", "", {}, lambda: "never", validate=raises),
    }[where]()
    with scene([calls(("t", "{}")), says("on")], [made], on_tool_error="report") as at:
        result = at.run()
        assert result.text == "on"
        status = "invalid-arguments" if where == "check" else "failed"
        assert statuses(result.tool_calls) == [status]
        if where != "check":
            assert words in result.tool_calls[0].content
            assert result.tool_calls[0].content.endswith("; its effects are unknown")


@pytest.mark.parametrize("error", [
    KeyboardInterrupt("mine"), GROUP(ValueError("a"), KeyboardInterrupt("mine")),
    GROUP(GROUP(Signalled("mine"))),
])
@pytest.mark.parametrize("where", ["run", "check"])
def test_interrupt_comes_out_of_a_group_too(error: BaseException, where: str) -> None:
    """Ctrl-C inside an exception group is raised as a KeyboardInterrupt."""
    def raises(*_: Any) -> Any:
        raise error

    made = Tool("t", "", {}, raises, validate=raises if where == "check" else None)
    with scene([calls(("t", "{}")), says("on")], [made]) as at:
        with pytest.raises(KeyboardInterrupt, match="mine"):
            at.agent.run("go")
        check_history(list(at.agent.messages))
        assert at.run("again").text == "on"


@pytest.mark.parametrize("leave_at", range(1, 14))
def test_leaving_iter_anywhere_leaves_a_valid_history(leave_at: int) -> None:
    """A consumer may leave after any event."""
    answers = [calls(("echo", "{}"), ("fail", "{}")), says("on")]
    with scene(answers, TOOLS) as at:
        events = at.agent.iter("go")
        for _, _ in zip(range(leave_at), events):
            pass
        events.close()
        check_history(list(at.agent.messages))
        assert at.run("again").ok


def test_one_turn_at_a_time() -> None:
    """An agent refuses a second turn while one is under way, and accepts it afterwards."""
    holder: List[Agent] = []

    @tool
    def nested() -> str:
        """Ask the agent itself."""
        return holder[0].run("inner").text

    with scene([calls(("nested", "{}")), says("x")], [nested]) as at:
        holder.append(at.agent)
        result = at.run()
        assert result.reason == "tool-failure"
        assert "RuntimeError" in result.tool_calls[0].content
        assert at.run().ok


def test_prompt_may_be_a_message() -> None:
    """A prompt may be a user message, for example with an image."""
    image = {"type": "image_url", "image_url": {"url": "https://h/u"}}
    parts = [{"type": "text", "text": "what?"}, image]
    with scene([says("x")]) as at:
        assert at.run({"role": "user", "content": parts}).ok
        assert at.run(Message("user", "plain")).ok  # type: ignore[arg-type]
        assert at.server.requests[0]["messages"] == [{"role": "user", "content": parts}]


@pytest.mark.parametrize("prompt, error", [
    (5, TypeError), (["a"], TypeError), (Message("assistant"), ValueError),
    ({"role": "tool", "tool_call_id": "x", "content": "y"}, ValueError), (None, ValueError),
])
def test_odd_prompt_is_refused_before_anything(prompt: Any, error: Any) -> None:
    """An invalid prompt raises, and nothing is recorded."""
    with scene([says("x")]) as at:
        for way in (at.agent.run, at.agent.iter):
            with pytest.raises(error):
                way(prompt)
        assert len(at.agent.session) == 1
        assert at.run().ok


def test_prompt_nothing_can_carry_is_in_the_result() -> None:
    """A lone surrogate half is refused before it gets into the log (row T21)."""
    with scene([says("x")]) as at:
        result = at.run("hi \ud83d")
        assert result.reason == "error" and result.messages == ()
        assert result.failure is not None and result.failure.code == "INVALID_REQUEST"
        assert at.run("hi").ok


@pytest.mark.parametrize("config, code", [
    (CallConfig("m", "nobody"), "NO_ADAPTER"),
    (CallConfig("m", temperature=float("nan")), "INVALID_REQUEST"),
    (CallConfig("m", extra_body={"n": 2}), "INVALID_REQUEST"),
])
def test_local_mistake_is_in_the_result(config: CallConfig, code: str) -> None:
    """A call refused before any I/O ends the turn like any other failed call."""
    with scene([says("x")], config=config) as at:
        result = at.run()
        assert result.reason == "error" and at.server.requests == []
        assert result.failure is not None and result.failure.code == code


def test_disk_that_fails_is_in_the_result(tmp_path: Path) -> None:
    """A log that cannot be written ends the turn, and nothing is raised."""
    room = [5]

    def write_some(fd: int, data: bytes) -> int:
        room[0] -= 1
        if room[0] < 0:
            raise OSError(28, "no space left on device")
        return os.write(fd, data)

    with Session(tmp_path / "log", write=write_some) as session:
        with scene([calls(("echo", "{}")), says("x")], TOOLS, session=session) as at:
            result = at.run()
            assert result.reason == "error"
            assert result.failure is not None and result.failure.code == "SESSION"


@pytest.mark.parametrize("options, error", [
    ({"on_tool_error": "ignore"}, ValueError),
    ({"limits": None}, TypeError),
    ({"tools": [5]}, TypeError),
    ({"tools": [echo, echo]}, ValueError),
])
def test_odd_agent_is_refused_when_made(options: Dict[str, Any], error: Any) -> None:
    """Wrong arguments are ValueError or TypeError."""
    with Client("m", base_url="http://127.0.0.1:9/v1") as client:
        with pytest.raises(error):
            Agent(client, **options)
    with pytest.raises(TypeError, match="Client or an LlmRuntime"):
        Agent(object())


def test_registry_may_grow_between_turns() -> None:
    """A turn offers the tools that the registry has when the turn begins."""
    registry = ToolRegistry()
    with scene([says("x")], registry) as at:
        at.run()
        registry.add(echo)
        at.run()
        assert "tools" not in at.server.requests[0]
        assert len(at.server.requests[1]["tools"]) == 1


def test_words_of_the_lists_are_closed() -> None:
    """Every reason and status in the sources is on its list, and every listed one is used."""
    folder = Path(__file__).resolve().parents[2] / "streamcore" / "agent"
    sources = "".join(
        path.read_text(encoding="utf-8") for path in folder.glob("*.py") if path.name != "result.py"
    )
    for word in (*REASONS, *STATUSES):
        assert f'"{word}"' in sources, word


def test_words_of_turn_end_are_closed() -> None:
    """The agent's reasons, the kinds of a finish, and ``closed``, which no result has."""
    assert set(TURN_ENDS) == {*REASONS, *FINISH_KINDS, "closed"}
    assert {word: TURN_ENDS[word] for word in REASONS} == REASONS
    assert "closed" not in REASONS and all(TURN_ENDS.values())


@pytest.mark.parametrize("how", ["left", "interrupted"])
def test_turn_without_a_result_ends_with_the_word_closed(how: str) -> None:
    """If the consumer leaves or an exception is raised, the turn ends with ``closed``."""
    @tool
    def interrupted() -> str:
        """Be interrupted."""
        raise KeyboardInterrupt

    with scene([calls(("interrupted", "{}"))], [interrupted]) as at:
        if how == "left":
            events = at.agent.iter("go")
            next(events)
            events.close()
        else:
            with pytest.raises(KeyboardInterrupt):
                at.agent.run("go")
        assert at.agent.session.events[-1].data == {"reason": "closed"}


def test_log_of_a_turn_has_no_key(tmp_path: Path) -> None:
    """The key that was sent is nowhere in the log (row L11)."""
    key = "sk-very-secret-0123456789"
    path = tmp_path / "log"
    with Session.open(path) as session, StrictServer([calls(("echo", "{}")), says("x")]) as server:
        headers = {"x-api-key": key}
        with Client("m", base_url=server.base_url, api_key=key, headers=headers) as client:
            assert Agent(client, TOOLS, session=session).run("go").ok
    assert key not in path.read_text(encoding="ascii")


def test_session_of_a_file_is_continued(tmp_path: Path) -> None:
    """A turn in one process and the next in another make one conversation."""
    path = tmp_path / "log"
    with Session.open(path) as session:
        with scene([calls(("echo", "{}")), says("one")], TOOLS, session=session) as at:
            first = at.run("first")
    with Session.open(path) as session:
        with scene([says("two")], TOOLS, session=session) as at:
            second = at.run("second")
            assert second.messages[: len(first.messages)] == first.messages
            assert len(at.server.requests[0]["messages"]) == 5


IMAGE = {"role": "user", "content": [
    {"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": "data:,x"}},
]}


def test_prompt_the_provider_cannot_take_is_not_kept() -> None:
    """An image that the provider does not accept is refused, and later turns work."""
    with StrictServer([says("x")]) as server:
        with Client("m", provider="deepseek", base_url=server.base_url, api_key="k") as client:
            agent = Agent(client)
            result = agent.run(IMAGE)
            assert result.reason == "error" and result.messages == ()
            assert result.failure is not None and result.failure.code == "UNSUPPORTED_CONTENT"
            assert agent.messages == () and kinds(agent.session)[-1] == "turn/end"
            assert agent.run("hi").ok


@pytest.mark.parametrize("prompt", [
    "", {}, {"role": "user", "content": ""}, {"role": "user", "content": []},
    {"role": "user", "content": None}, {"role": "user", "content": [5]},
    Message("user", ()), Message("user", (TextBlock(""),)),
    Message("user", (TextBlock(5),)),  # type: ignore[arg-type]
])
def test_empty_or_broken_prompt_is_refused_before_anything(prompt: Any) -> None:
    """An empty prompt and a prompt of another shape are refused."""
    with scene([says("x")]) as at:
        for way in (at.agent.run, at.agent.iter):
            with pytest.raises((TypeError, ValueError)):
                way(prompt)
        assert len(at.agent.session) == 1
        assert at.run().ok


class Unshown(ToolError):
    """A failure whose message cannot be shown."""

    def __str__(self) -> str:
        raise self.args[0]


@pytest.mark.parametrize("error, status", [
    (Unshown(ValueError()), "error"), (Unshown(SystemExit()), "error"),
    (GeneratorExit(), "failed"), (asyncio.CancelledError(), "failed"),
    (StopIteration(), "failed"),
])
def test_whatever_a_tool_raises_is_its_own_failure(error: BaseException, status: str) -> None:
    """An exception that cannot be shown is told by its type; asyncio's end only the tool."""
    @tool
    def raises() -> str:
        """Raise it."""
        raise error

    with scene([calls(("raises", "{}")), says("on")], [raises], on_tool_error="report") as at:
        result = at.run()
        assert result.text == "on"
        assert statuses(result.tool_calls) == [status]
        assert type(error).__name__ in result.tool_calls[0].content


def test_check_whose_refusal_cannot_be_shown_refuses() -> None:
    """``validate`` may raise an exception that cannot be shown."""
    def validate(arguments: Any) -> None:
        raise Unshown(KeyError())

    checked = Tool("checked", "", {}, lambda: "never", validate=validate)
    with scene([calls(("checked", "{}")), says("on")], [checked]) as at:
        assert statuses(at.run().tool_calls) == ["invalid-arguments"]


@pytest.mark.parametrize("how", ["result", "nested", "later call", "client"])
def test_tool_that_meddles_is_in_the_result(how: str) -> None:
    """A tool that writes to the session or closes the client ends the turn, not the program."""
    made: List[Any] = []

    @tool
    def meddle() -> str:
        """Do what only the agent does."""
        at = made[0]
        if how == "result":
            at.agent.session.tool_result("call_0", "mine")
        elif how == "later call":
            at.agent.session.tool_result("call_1", "mine")
        elif how == "client":
            at.client.close()
        else:
            Agent(at.client, [echo], session=at.agent.session).run("inner")
        return "done"

    answer = calls(("meddle", "{}"), ("echo", "{}"))
    answers = [answer, calls(("echo", "{}"), ("echo", '{"text": "b"}')), says("x")]
    with scene(answers if how == "nested" else [answer, says("x")], [meddle, echo]) as at:
        made.append(at)
        result = at.agent.run("go")
        check_result(result)
        assert result.reason == "error" and len(result.tool_calls) == 2
        assert result.failure is not None
        assert result.failure.code == ("TRANSPORT" if how == "client" else "SESSION")
        assert kinds(at.agent.session)[-1] == "turn/end"
        if how != "client":
            assert at.run("again").ok


@pytest.mark.parametrize("where", ["on_chunk", "on_event", "approve", "trim", "hook"])
def test_stop_iteration_of_a_callback_comes_out_unchanged(where: str) -> None:
    """``run`` raises it as it is; ``iter`` raises it as the cause of a RuntimeError."""
    error = StopIteration("mine")

    def raises(given: Any) -> Any:
        raise error

    options: Dict[str, Any] = {} if where == "hook" else {where: raises}
    if where == "trim":
        options["limits"] = AgentLimits(max_context_bytes=10)
    with scene([calls(("echo", "{}")), calls(("echo", "{}"))], [echo], **options) as at:
        if where == "hook":
            at.client.runtime.on_request(raises)
        with pytest.raises(StopIteration) as caught:
            at.agent.run("go")
        assert caught.value is error
        with pytest.raises(RuntimeError) as turned:
            list(at.agent.iter("go"))
        assert turned.value.__cause__ is error
        check_history(list(at.agent.messages))
