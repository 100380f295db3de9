# SPDX-License-Identifier: MIT
"""Decides when the loop must stop: at caps, and when a model repeats itself.

In: what an answer asks for, and what the run has used. Out: None, or a ``Stop`` that names
the gate, its value and the setting. Every cap is exact: the limit itself passes, one more
does not. The calls of an answer are judged together, before any of them runs. Failures
and repeated calls are judged by their results, one by one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Dict, Optional, Sequence, Set, Tuple

from ..values.agent_limits import MAX_PAUSES, PAUSED_TOO_OFTEN, AgentLimits
from ..values.errors import Failure
from ..values.messages import AssistantMessage, OpaqueBlock, ToolCall
from .result import Stop, ToolOutcome

LIMIT_CODE = "AGENT_LIMIT"
"""Code of the failure of a gate."""
TOOL_CODE = "TOOL_FAILED"
"""Code of the failure of a tool."""


class Gates:
    """The caps of one run, and what the run has used of them.

    Args:
        limits: the caps.
        report: whether the model gets every failure of a tool, and none stops the loop.
    """

    def __init__(self, limits: AgentLimits, report: bool = False) -> None:
        self._limits = limits
        self._report = report
        self._calls = 0
        self._pauses = 0  # paused answers in a row
        self._failures: Set[Tuple[str, str]] = set()  # calls, and the errors they had
        self._times: Dict[Tuple[str, str], int] = {}  # calls with their results; see _count

    def check_calls(self, calls: Sequence[ToolCall], step: int) -> Optional[Stop]:
        """Judge all calls of one answer together; ``step`` is the answer's number, from 1."""
        limits = self._limits
        self._pauses = 0
        asked, total = len(calls), self._calls + len(calls)
        self._calls = total
        if asked > limits.max_calls_per_step:
            return _passed(
                "max-calls-per-step", f"one answer asked for {asked} tool calls",
                "max_calls_per_step", limits.max_calls_per_step,
            )
        if total > limits.max_calls:
            return _passed(
                "max-calls", f"the run would come to {total} tool calls", "max_calls",
                limits.max_calls,
            )
        if step >= limits.max_steps:
            return _passed(
                "max-steps", f"answer {step} asks for tools, and another would have to follow",
                "max_steps", limits.max_steps,
            )
        return None

    def check_pause(self, step: int) -> Optional[Stop]:
        """Judge a paused answer; ``step`` is its number, from 1."""
        self._pauses += 1
        if self._pauses > MAX_PAUSES:
            return Stop("max-pauses", PAUSED_TOO_OFTEN)
        if step >= self._limits.max_steps:
            return _passed(
                "max-steps", f"answer {step} is paused, and another would have to follow",
                "max_steps", self._limits.max_steps,
            )
        return None

    def excess(self, size: int) -> int:
        """Return by how many bytes a request of this size is too large."""
        return max(0, size - self._limits.max_context_bytes)

    def check_context(self, size: int, trimmed: bool) -> Optional[Stop]:
        """Judge the size of the request about to be sent, in bytes."""
        limit = self._limits.max_context_bytes
        if self.excess(size) == 0:
            return None
        text = f"the next request would have {size} bytes of messages and tools"
        after = " after trim" if trimmed else ""
        return _passed("max-context", text + after, "max_context_bytes", limit)

    def weigh(self, outcome: ToolOutcome, polling: bool) -> Tuple[ToolOutcome, Optional[Stop]]:
        """Judge the outcome of a call.

        Args:
            outcome: the call and its result.
            polling: whether its tool is meant to be called until its result changes.
        Returns:
            The outcome as the model gets it, and why the run ends, or None.
        """
        stop = None if self._report else self._check_failure(outcome, polling)
        if polling:
            return outcome, stop
        times, limit = self._count(outcome), self._limits.max_repeats
        if times >= max(2, (limit + 1) // 2):
            note = (f"\n[this call has come to the same result {times} times; at {limit} the run "
                    "ends: try something else]")
            outcome = replace(outcome, content=outcome.content + note)
        if times >= limit and stop is None:
            stop = _passed(
                "repeated-call", f"{outcome.call.name} was called {times} times with the same "
                "arguments and the same result", "max_repeats", limit,
            )
        return outcome, stop

    def _check_failure(self, outcome: ToolOutcome, polling: bool) -> Optional[Stop]:
        """Judge a failure: the model gets the same failure of the same call only once."""
        name, status, text = outcome.call.name, outcome.status, outcome.content
        if status in ("failed", "timeout"):
            return Stop("tool-failure", Failure(TOOL_CODE, f"the tool {name} failed: {text}"))
        if status not in ("error", "unknown-tool", "invalid-arguments"):
            return None
        key = (call_key(outcome.call), text)
        if key not in self._failures or (polling and status == "error"):
            self._failures.add(key)
            return None
        again = f"{name} was called again with the same arguments and failed again: {text}"
        return Stop("repeated-failure", Failure(TOOL_CODE, again))

    def _count(self, outcome: ToolOutcome) -> int:
        """Return how often a call has had this result, without progress in between.

        A call or a result that is new in this run is progress: all counts begin again.
        """
        pair = (call_key(outcome.call), outcome.content)
        if pair not in self._times:
            self._times = dict.fromkeys((*self._times, pair), 1)
        else:
            self._times[pair] += 1
        return self._times[pair]


def awaited(message: AssistantMessage) -> Stop:
    """Return the stop of an answer that waits for something only the client can do."""
    kinds = [str(block.kind) for block in message.content if isinstance(block, OpaqueBlock)]
    text = f"the answer waits for what an agent cannot do: {', '.join(kinds)}"
    return Stop("error", Failure("UNSUPPORTED_CONTENT", text))


def call_key(call: ToolCall) -> str:
    """Return a text that two calls share when they ask for the same thing."""
    try:
        arguments = json.dumps(call.parsed(), sort_keys=True)
    except ValueError:  # such a call never runs, but its text can be compared
        arguments = call.arguments
    return f"{call.name} {arguments}"


def _passed(reason: str, what: str, setting: str, value: int) -> Stop:
    return Stop(reason, Failure(LIMIT_CODE, f"{what}; the limit is {setting}={value}"))
