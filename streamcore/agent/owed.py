# SPDX-License-Identifier: MIT
"""Gives every tool call of an answer its result in the log.

In: the calls of a whole answer, and the outcome of each. Out: one result in the log for each
call, however the turn ends. Refused with ``SESSION``: a log that cannot be written, or that
something else wrote to during the turn.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence

from ..session import Session
from ..values.errors import LlmError
from ..values.messages import ToolCall
from .dispatch import INTERRUPTED, NOT_EXECUTED, Dispatcher
from .result import ToolOutcome


class Owed:
    """The calls of the last answer that have no result in the log yet.

    ``outcomes`` has all results of the turn, in order.
    """

    def __init__(self, session: Session, dispatcher: Dispatcher) -> None:
        self.outcomes: List[ToolOutcome] = []
        self._session, self._dispatcher = session, dispatcher
        self._open: Dict[str, ToolCall] = {}
        self._running = ""  # the id of the call whose tool is running

    def add(self, calls: Sequence[ToolCall]) -> None:
        """Note the calls of a whole answer; from now on each must get a result."""
        self._open = {call.id: call for call in calls}

    def start(self, call: ToolCall) -> None:
        """Record that the tool of a call is about to run.

        Raises:
            LlmError: ``SESSION``.
        """
        try:
            self._session.tool_start(call)
        except ValueError as error:
            raise _meddled(error) from error
        self._running = call.id

    def give(self, outcome: ToolOutcome) -> None:
        """Record the outcome of a call.

        Raises:
            LlmError: ``SESSION``.
        """
        fault = self._keep(outcome)
        if fault is not None:
            raise _meddled(fault) from fault

    def settle(self) -> None:
        """Give each call without a result one that says the turn was broken off.

        Raises:
            LlmError: ``SESSION``.
        """
        for call in list(self._open.values()):
            running = call.id == self._running
            text = INTERRUPTED if running else f"{NOT_EXECUTED}: the turn was broken off"
            status = "interrupted" if running else "not-executed"
            # A refusal is ignored: the result was recorded just before the interruption.
            self._keep(self._dispatcher.outcome(call, status, text))

    def _keep(self, outcome: ToolOutcome) -> Optional[ValueError]:
        """Record an outcome; return the log's refusal, if there is a result already, or None."""
        call, fault = outcome.call, None
        try:
            self._session.tool_result(call.id, outcome.content, is_error=outcome.is_error)
        except ValueError as error:
            fault = error
        self._running = ""
        self._open.pop(call.id, None)
        self.outcomes.append(outcome)
        return fault


def _meddled(fault: ValueError) -> LlmError:
    """Return the error of a turn in which something else, such as a tool, wrote to the session."""
    return LlmError(f"something else wrote to the session during this turn: {fault}", "SESSION")
