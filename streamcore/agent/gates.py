# SPDX-License-Identifier: MIT
"""When the loop must stop: caps, and a model that goes round in circles.

In: what an answer asks for, and what the run has had. Out: None, or a ``Stop`` that says
which gate, its value and the setting. Every gate is exact: the limit itself passes, one
more does not; and a step is judged as a whole, before any of its tools runs.
"""

from __future__ import annotations

import json
from typing import Optional, Sequence, Set, Tuple

from ..values.agent_limits import AgentLimits
from ..values.errors import Failure
from ..values.messages import ToolCall
from .result import Stop

LIMIT_CODE = "AGENT_LIMIT"
"""Code of the failure of a gate."""
TOOL_CODE = "TOOL_FAILED"
"""Code of the failure of a tool."""


class Gates:
    """The caps of one run, and what the run has used of them."""

    def __init__(self, limits: AgentLimits) -> None:
        self._limits = limits
        self._calls = 0
        self._last = ""  # the call seen last, and how often in a row
        self._row = 0
        self._failures: Set[Tuple[str, str]] = set()  # calls, and the errors they had

    def check_calls(self, calls: Sequence[ToolCall], step: int) -> Optional[Stop]:
        """Judge the calls of one answer, all together; ``step`` is the answer's number."""
        limits = self._limits
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
        return self._check_repeats(calls)

    def check_context(self, size: int, trimmed: bool) -> Optional[Stop]:
        """Judge the size of the request about to be sent, in bytes."""
        limit = self._limits.max_context_bytes
        if size <= limit:
            return None
        text = f"the next request would have {size} bytes of messages and tools"
        after = " after trim" if trimmed else ""
        return _passed("max-context", text + after, "max_context_bytes", limit)

    def check_failure(self, call: ToolCall, error: str) -> Optional[Stop]:
        """Judge a failure that goes back to the model: once, not again."""
        key = (call_key(call), error)
        if key not in self._failures:
            self._failures.add(key)
            return None
        text = f"{call.name} was called again with the same arguments and failed again: {error}"
        return Stop("repeated-failure", Failure(TOOL_CODE, text))

    def _check_repeats(self, calls: Sequence[ToolCall]) -> Optional[Stop]:
        for call in calls:
            key = call_key(call)
            self._row = self._row + 1 if key == self._last else 1
            self._last = key
            if self._row >= self._limits.max_repeats:
                return _passed(
                    "repeated-call", f"{call.name} was asked for {self._row} times in a row with "
                    "the same arguments", "max_repeats", self._limits.max_repeats,
                )
        return None


def call_key(call: ToolCall) -> str:
    """Return a text that two calls share when they ask for the same thing."""
    try:
        arguments = json.dumps(call.parsed(), sort_keys=True)
    except ValueError:  # such a call never runs; its text is all it has
        arguments = call.arguments
    return f"{call.name} {arguments}"


def _passed(reason: str, what: str, setting: str, value: int) -> Stop:
    return Stop(reason, Failure(LIMIT_CODE, f"{what}; the limit is {setting}={value}"))
