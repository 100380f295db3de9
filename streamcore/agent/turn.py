# SPDX-License-Identifier: MIT
"""One turn: answers and tools in alternation until the model stops, or a gate does.

In: what the user said. Out: events, the result last. The log is written first and the
thing done second, and whatever way the turn ends (an exception and a consumer that leaves
included) each call has its one result and the log its ``turn/end``.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import (
    Callable, Dict, Generator, List, Optional, Protocol, Sequence, Tuple, TypeVar, Union,
)

from ..runtime import Recorder, RunningCall
from ..runtime.secrets import hide
from ..session import Session
from ..values.agent_limits import AgentLimits
from ..values.calls import CallConfig, CallContext, LlmRequest
from ..values.chunks import Finish
from ..values.errors import LlmError, aborted_error
from ..values.frozen import FrozenDict
from ..values.limits import Limits
from ..values.messages import AssistantMessage, Message, ToolCall
from ..values.usage import TokenUsage
from ..wire.history import context_bytes
from .dispatch import INTERRUPTED, NOT_EXECUTED, NOT_RUN, Dispatcher, Ready
from .gates import Gates
from .result import AgentEvent, AgentResult, Stop, ToolOutcome
from .trimming import Trim, drop_tool_outputs, read_trimmed

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")
Events = Generator[AgentEvent, None, _Made]  # the events of a part of the turn, and its value

_CODES = {
    "ABORTED": "cancelled", "EMPTY_RESPONSE": "empty-response", "CONTENT_FILTER": "content-filter",
}
"""Codes that end a turn with a reason of their own; any other is ``error``."""


class Start(Protocol):
    """What the agent needs of a client: a call started, and recorded as part of a turn."""

    def __call__(
        self, request: LlmRequest, *, recorder: Optional[Recorder], whole: bool
    ) -> RunningCall:
        """Start a call; as ``Client.start`` does."""


@dataclass(frozen=True)
class Model:
    """Who is asked, and how.

    Args:
        start: starts a call.
        whole: whether nobody sees the chunks, so that a failed attempt may be tried again.
        The other fields are those of ``LlmRequest`` and ``CallContext``.
    """

    start: Start
    config: CallConfig
    system: Optional[str]
    tools: Tuple[FrozenDict, ...]
    limits: Optional[Limits]
    whole: bool


class Turn:
    """One turn; ``events`` is taken once.

    Args:
        model: who is asked.
        session: the log.
        dispatcher: runs the calls.
        limits: the caps.
        trim: shortens a history that is over its cap: a function, or ``tool-outputs``.
        report: whether failures of tools go to the model and stop nothing.
    """

    def __init__(
        self,
        model: Model,
        session: Session,
        dispatcher: Dispatcher,
        limits: AgentLimits,
        trim: Union[Trim, str, None],
        report: bool,
    ) -> None:
        self._model, self._session, self._dispatcher = model, session, dispatcher
        self._gates = Gates(limits, report)
        self._trim = trim
        self._step = 0  # the number of the step under way
        self._steps = 0  # whole answers
        self._usage: Optional[TokenUsage] = None
        self._message: Optional[AssistantMessage] = None
        self._outcomes: List[ToolOutcome] = []
        self._open: Dict[str, ToolCall] = {}  # calls of the last answer without a result
        self._context: Optional[CallContext] = None  # of the last call of the model
        self._running = ""  # the id of the call whose tool is running
        self._stop: Optional[Stop] = None
        self._callers: Optional[BaseException] = None  # what a callback of the caller raised

    def events(self, said: Optional[Message]) -> Events[None]:
        """Take the turn; ``said`` is what the user says, or None to go on."""
        try:
            try:
                self._session.turn_start()
                self._stop = yield from self._loop(said)
            except LlmError as error:
                if error is self._callers:
                    raise
                reason = _CODES.get(error.code, "error")
                self._stop = Stop(reason, error.failure, error.partial)
        finally:
            self._settle()
        yield AgentEvent("end", self._step, result=self._result())

    def _loop(self, said: Optional[Message]) -> Events[Stop]:
        """Take steps until there is a reason to stop, and return it."""
        while True:
            messages, stop = self._history(said)
            if stop is not None:
                return stop
            call = self._start(messages)
            if said is not None:  # a prompt that cannot be sent would spoil every later turn
                self._session.user_message(said)
                said = None
            self._step += 1
            yield AgentEvent("step-start", self._step)
            message = yield from self._answer(call)
            yield AgentEvent("message", self._step, message=message)
            if message.finish == "max-tokens" or not message.tool_calls:
                return Stop("max-tokens" if message.finish == "max-tokens" else "stop")
            stop = yield from self._calls(message.tool_calls)
            if stop is not None:
                return stop

    def _history(self, said: Optional[Message]) -> Tuple[Sequence[Message], Optional[Stop]]:
        """Return the messages to send, ``said`` the last of them, or why they cannot be."""
        messages: Sequence[Message] = self._session.derive_messages()
        messages = messages if said is None else [*messages, said]
        size = self._size(messages)
        stop = self._gates.check_context(size, False)
        if stop is None or self._trim is None:
            return messages, stop
        if isinstance(self._trim, str):
            messages = drop_tool_outputs(messages, self._gates.excess(size))
            size = self._size(messages)
        else:
            given = self._ask(self._trim, tuple(messages))
            messages, size = read_trimmed(given, self._size)
        return messages, self._gates.check_context(size, True)

    def _size(self, messages: Sequence[Message]) -> int:
        return context_bytes(messages, self._model.tools, self._model.system or "")

    def _start(self, messages: Sequence[Message]) -> RunningCall:
        """Start a call of the model: all is checked that can be here, and nothing sent yet.

        Raises:
            LlmError: what is wrong locally.
        """
        model = self._model
        context = self._context = CallContext(self._dispatcher.cancel, model.limits)
        request = LlmRequest(model.config, tuple(messages), model.system, model.tools, context)
        return model.start(request, recorder=self._session.recorder(turn=False), whole=model.whole)

    def _answer(self, call: RunningCall) -> Events[AssistantMessage]:
        """Let the model answer, and return its whole message.

        Raises:
            LlmError: when there is none.
        """
        with closing(call.chunks()) as chunks:
            for chunk in chunks:
                if chunk.__class__ is Finish:
                    self._take(call)
                yield AgentEvent("chunk", self._step, chunk=chunk)
        return call.answer.message

    def _take(self, call: RunningCall) -> None:
        """Note an answer that has ended: from here on its calls are owed a result."""
        for usage in (call.answer.usage, call.failed_usage):
            if usage is not None:
                self._usage = usage if self._usage is None else self._usage + usage
        if call.answer.finish not in ("error", "aborted"):
            self._message = call.answer.message
            self._steps += 1
            self._open = {made.id: made for made in self._message.tool_calls}

    def _calls(self, calls: Sequence[ToolCall]) -> Events[Optional[Stop]]:
        """Answer every call of a step, in order; return why the loop stops, or None."""
        stop = self._gates.check_calls(calls, self._steps)
        failed = False  # whether a change that a call of this answer was to make has failed
        for call in calls:
            if stop is not None:
                outcome = self._dispatcher.skipped(call, stop)
            elif failed and self._dispatcher.depends(call):
                outcome = self._dispatcher.outcome(call, "not-executed", NOT_RUN)
            else:
                outcome = yield from self._call(call)
            failed = failed or self._dispatcher.is_failed_change(outcome)
            outcome, judged = (outcome, stop) if stop else self._weighed(outcome)
            self._record(outcome)
            yield AgentEvent("tool-result", self._step, outcome=outcome)
            if outcome.status == "cancelled" or self._dispatcher.cancelled:
                judged = Stop("cancelled", aborted_error().failure)
            stop = stop or judged
        return stop

    def _call(self, call: ToolCall) -> Events[ToolOutcome]:
        ready = self._ask(self._dispatcher.prepare, call)
        if not isinstance(ready, Ready):
            return ready
        yield AgentEvent("tool-start", self._step, call=call)
        try:
            self._session.tool_start(call)
        except ValueError as error:
            raise _meddled(error) from error
        self._running = call.id
        return self._dispatcher.run(ready)

    def _record(self, outcome: ToolOutcome) -> None:
        fault = self._keep(outcome)
        if fault is not None:
            raise _meddled(fault) from fault

    def _keep(self, outcome: ToolOutcome) -> Optional[ValueError]:
        """Record an outcome; return why that is refused, as where there is a result already."""
        call, fault = outcome.call, None
        try:
            self._session.tool_result(call.id, outcome.content, is_error=outcome.is_error)
        except ValueError as error:
            fault = error
        self._running = ""
        self._open.pop(call.id, None)
        self._outcomes.append(outcome)
        return fault

    def _weighed(self, outcome: ToolOutcome) -> Tuple[ToolOutcome, Optional[Stop]]:
        """Return what came of a call as the model gets it, and why the loop stops, or None.

        A tool may have read a key, from a file or the environment: it goes no further.
        """
        assert self._context is not None  # it asked for the call
        outcome = replace(outcome, content=hide(outcome.content, self._context.secrets))
        return self._gates.weigh(outcome, self._dispatcher.is_polling(outcome.call))

    def _ask(self, callback: Callable[[_Given], _Made], value: _Given) -> _Made:
        """Call what may raise an error of the caller's own, and remember such an error."""
        try:
            return callback(value)
        except BaseException as error:
            self._callers = error
            raise

    def _settle(self) -> None:
        """Give each open call its result and end the turn in the log."""
        stop = self._stop or Stop("closed", None)
        try:
            for call in list(self._open.values()):
                running = call.id == self._running
                text = INTERRUPTED if running else f"{NOT_EXECUTED}: the turn was broken off"
                status = "interrupted" if running else "not-executed"
                # A refusal is passed over: it was recorded when the interruption came.
                self._keep(self._dispatcher.outcome(call, status, text))
            self._session.turn_end(stop.reason, stop.failure)
        except LlmError as error:
            # SESSION: the log cannot be written. It is the result of a turn that had no other
            # failure, and dropped where the turn has one or an exception is on its way out.
            # The history stays valid: a missing result reads as unknown or not started.
            if self._stop is not None and self._stop.failure is None:
                self._stop = replace(self._stop, reason="error", failure=error.failure)

    def _result(self) -> AgentResult:
        stop = self._stop
        assert stop is not None
        return AgentResult(
            stop.reason, self._message, tuple(self._session.derive_messages()), self._usage,
            self._steps, tuple(self._outcomes), stop.failure, stop.partial,
        )


def _meddled(fault: ValueError) -> LlmError:
    """Return the error of a turn in which a tool, say, wrote to the session itself."""
    return LlmError(f"something else wrote to the session during this turn: {fault}", "SESSION")
