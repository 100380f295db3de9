# SPDX-License-Identifier: MIT
"""Repeated calls: the model is warned, then the run ends; progress and polling are allowed."""

from __future__ import annotations

from typing import List

import pytest
from agent_support import Answer, calls, says, scene, statuses

from streamcore.agent import AgentLimits
from streamcore.agent.tools import ToolError, tool

A, B = calls(("look", '{"at": "a"}')), calls(("look", '{"at": "b"}'))
MANY = AgentLimits(max_steps=50)


@tool
def look(at: str) -> str:
    """Look at something that stays as it is."""
    return f"this is {at}"


@tool
def edit(text: str) -> str:
    """Do something that is new each time."""
    return "done"


def edits(text: str) -> Answer:
    """Return an answer that asks for an edit."""
    return calls(("edit", f'{{"text": "{text}"}}'))


@pytest.mark.parametrize("answers, noted, ran", [
    ([A] * 9, [3, 4, 5, 6], 6),
    ([A, B] * 9, [3, 3, 4, 4, 5, 5, 6], 11),
    ([A, B, B] * 9, [3, 4, 3, 5, 6], 9),
    ([calls(*[("look", '{"at": "a"}')] * 7)], [3, 4, 5, 6], 7),
], ids=["in a row", "in turn", "in a pattern", "in one answer"])
def test_model_is_told_at_the_third_and_the_run_ends_at_the_sixth(
    answers: List[Answer], noted: List[int], ran: int
) -> None:
    """The same call with the same result counts, unless something new comes in between."""
    with scene([*answers, says("x")], [look, edit], limits=MANY) as at:
        result = at.run()
        assert result.reason == "repeated-call"
        assert result.failure is not None
        assert "look was called 6 times" in result.failure.message
        assert "max_repeats=6" in result.failure.message
        told = [one.content.partition("\n")[2] for one in result.tool_calls if one.status == "ok"]
        assert [note for note in told if note] == [
            f"[this call has come to the same result {times} times; at 6 the run ends: "
            "try something else]" for times in noted
        ]
        assert len(result.tool_calls) == ran
        assert set(statuses(result.tool_calls[6:])) <= {"ok", "not-executed"}


def test_something_new_in_between_is_progress() -> None:
    """Tests that fail in the same way after each of ten edits are not a loop."""
    answers = [answer for number in range(10) for answer in (edits(str(number)), A)]
    with scene([*answers, says("x")], [look, edit], limits=MANY) as at:
        result = at.run()
        assert result.reason == "stop"
        assert not any("the same result" in one.content for one in result.tool_calls)


def test_edits_to_and_fro_are_a_loop() -> None:
    """Calls that undo each other count as new only once."""
    answers = [answer for _ in range(9) for answer in (edits("on"), edits("off"))]
    with scene([*answers, says("x")], [edit], limits=MANY) as at:
        assert at.run().reason == "repeated-call"


def test_changing_results_are_no_repeat() -> None:
    """The same call with a changing result is not a loop."""
    seen: List[int] = []

    @tool
    def count() -> int:
        """Count."""
        seen.append(1)
        return len(seen)

    with scene([calls(("count", "{}"))] * 12 + [says("x")], [count]) as at:
        assert at.run().reason == "stop" and len(seen) == 12


@pytest.mark.parametrize("ready", [10, 15])
@pytest.mark.parametrize("raises", [False, True])
def test_polling_tool_is_exempt(ready: int, raises: bool) -> None:
    """A polling tool may return "not yet", or raise it as a ToolError, without end."""
    polls: List[int] = []

    @tool(polling=True)
    def poll() -> str:
        """Ask whether it is ready."""
        polls.append(1)
        if len(polls) < ready and raises:
            raise ToolError("not yet")
        return "ready" if len(polls) >= ready else "not yet"

    with scene([calls(("poll", "{}"))] * ready + [says("x")], [poll], limits=MANY) as at:
        result = at.run()
        assert result.reason == "stop" and len(polls) == ready
        assert "same result" not in "".join(one.content for one in result.tool_calls)


def test_refused_and_reported_calls_are_repeats_too() -> None:
    """Refused calls and reported failures count as repeats too."""
    with scene([A] * 9, [look], approve=lambda call: "not now") as at:
        result = at.run()
        assert (result.reason, len(result.tool_calls)) == ("repeated-call", 6)
    with scene([calls(("none", "{}"))] * 9, [look], on_tool_error="report") as at:
        result = at.run()
        assert (result.reason, len(result.tool_calls)) == ("repeated-call", 6)


@pytest.mark.parametrize("limit, noted", [(2, [2]), (3, [2, 3]), (5, [3, 4, 5]), (7, [4, 5, 6, 7])])
def test_limit_is_exact(limit: int, noted: List[int]) -> None:
    """The run ends at the limit, and the model is warned from half of it on."""
    with scene([A] * 9, [look], limits=AgentLimits(max_repeats=limit)) as at:
        result = at.run()
        assert (result.reason, len(result.tool_calls)) == ("repeated-call", limit)
        told = [one.content for one in result.tool_calls if "same result" in one.content]
        assert [int(text.partition("result ")[2].split()[0]) for text in told] == noted


def test_note_comes_on_top_of_a_capped_output() -> None:
    """The note is added to an output that has its cap already, and is short."""
    @tool
    def flood() -> str:
        """Say much."""
        return "x" * 9000

    limits = AgentLimits(max_output_bytes=1000)
    with scene([calls(("flood", "{}"))] * 9, [flood], limits=limits) as at:
        sizes = [len(one.content.encode()) for one in at.run().tool_calls]
        assert max(sizes[:2]) <= 1000 and max(sizes) < 1150
