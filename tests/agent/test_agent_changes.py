# SPDX-License-Identifier: MIT
"""Changes after a failed change: which calls of the answer still run."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from agent_support import Answer, calls, says, scene

from streamcore.agent.tools import ToolError, tool


def kept(*wanted: Any) -> Answer:
    """Return an answer that asks for these changes, by name."""
    return calls(*((name, "{}") for name in wanted))


class Bench:
    """Tools that change things, and a list of those that ran."""

    def __init__(self) -> None:
        self.ran: List[str] = []
        self.tools = [
            tool(mutating=True)(self.patch), tool(mutating=True)(self.commit), tool(self.read),
            tool(mutating=True, independent=True)(self.note), tool(mutating=True)(self.crash),
            tool(mutating=True)(self.status),
        ]

    def patch(self) -> str:
        """Change files; it fails."""
        raise ToolError("does not apply")

    def commit(self, text: str = "") -> str:
        """Keep what was changed."""
        self.ran.append("commit")
        return "kept"

    def read(self) -> str:
        """Read."""
        self.ran.append("read")
        return "text"

    def note(self) -> str:
        """Write a note, whatever happened."""
        self.ran.append("note")
        return "noted"

    def crash(self) -> str:
        """Fail in a way nobody knows."""
        raise ValueError("a bug")

    def status(self) -> str:
        """Run a program that fails."""
        self.ran.append("status")
        return "exit status 1"


@pytest.mark.parametrize("answer, report, ran, last", [
    (kept("patch", "commit"), False, [], "not-executed"),
    (kept("patch", "read", "note", "commit"), False, ["read", "note"], "not-executed"),
    (kept("crash", "commit"), True, [], "not-executed"),
    (kept("status", "commit"), False, ["status", "commit"], "ok"),
    (kept("comit", "read", "commit"), False, ["read"], "not-executed"),
    (calls(("commit", '{"text": 5}'), ("commit", "{}")), False, [], "not-executed"),
    (kept("commit", "patch", "read"), False, ["commit", "read"], "ok"),
], ids=["error", "others run", "crash", "exit status", "unknown tool", "bad arguments", "after"])
def test_change_after_a_failed_change_is_not_run(
    answer: Answer, report: bool, ran: List[str], last: str
) -> None:
    """In [patch, commit] commit does not run when patch fails; reading and others run."""
    bench = Bench()
    options: Dict[str, Any] = {"on_tool_error": "report"} if report else {}
    with scene([answer, says("x")], bench.tools, allow_mutating=True, **options) as at:
        result = at.run()
        assert bench.ran == ran and result.reason == "stop"
        assert result.tool_calls[-1].status == last
        if last == "not-executed":
            assert result.tool_calls[-1].content == "error: not run: an earlier call failed"


def test_change_in_the_next_answer_runs() -> None:
    """The next answer may make changes, because the model has read of the failure."""
    bench = Bench()
    answers = [kept("patch", "commit"), kept("commit"), says("x")]
    with scene(answers, bench.tools, allow_mutating=True) as at:
        assert at.run().reason == "stop" and bench.ran == ["commit"]


def test_nobody_is_asked_to_approve_what_is_not_run() -> None:
    """The approver gets only calls that could run."""
    bench, asked = Bench(), []

    def approve(call: Any) -> bool:
        asked.append(call.name)
        return True

    with scene([kept("patch", "commit"), says("x")], bench.tools, approve=approve) as at:
        assert at.run().reason == "stop" and asked == ["patch"]
