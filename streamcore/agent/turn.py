# SPDX-License-Identifier: MIT
"""One turn: answers and tools in alternation, until the model or a gate stops it.

In: what the user said. Out: events, the result last. Each thing is recorded in the log
before it is done. However the turn ends, each call gets its one result and the log its
``turn/end``, also after an exception or when the consumer leaves.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Callable, Generator, Optional, Sequence, Tuple, TypeVar, Union

from ..runtime import RunningCall
from ..runtime.secrets import hide
from ..session import Session
from ..values.agent_limits import AgentLimits
from ..values.calls import CallContext
from ..values.chunks import Finish
from ..values.errors import LlmError, aborted_error
from ..values.messages import AssistantMessage, Message, ToolCall
from ..values.usage import TokenUsage
from ..wire.history import context_bytes
from .dispatch import NOT_RUN, Dispatcher, Ready
from .gates import Gates, awaited
from .model import Model
from .owed import Owed
from .result import AgentEvent, AgentResult, Stop, ToolOutcome
from .trimming import Trim, drop_tool_outputs, read_trimmed

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")
Events = Generator[AgentEvent, None, _Made]  # yields events of a part of the turn, returns a value

_CODES = {
    "ABORTED": "cancelled", "EMPTY_RESPONSE": "empty-response", "CONTENT_FILTER": "content-filter",
}
"""Codes that end a turn with a reason of their own; any other is ``error``."""


class Turn:
    """One turn; call ``events`` once.

    Args:
        model: calls the model.
        session: the log.
        dispatcher: runs the tool calls.
        limits: the caps.
        trim: shortens a history that is over its cap: a function, or ``tool-outputs``.
        report: whether the model gets every failure of a tool, and none stops the loop.
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
        self._owed = Owed(session, dispatcher)
        self._context: Optional[CallContext] = None  # of the last call of the model
        self._stop: Optional[Stop] = None
        self._callers: Optional[BaseException] = None  # an exception of a caller's callback

    def events(self, said: Optional[Message]) -> Events[None]:
        """Take the turn; ``said`` is the user's message, or None to go on without one."""
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
            if said is not None:  # recorded only now: an unsendable prompt would spoil later turns
                self._session.user_message(said)
                said = None
            self._step += 1
            yield AgentEvent("step-start", self._step)
            message = yield from self._answer(call)
            yield AgentEvent("message", self._step, message=message)
            stop = yield from self._go_on(message)
            if stop is not None:
                return stop

    def _history(self, said: Optional[Message]) -> Tuple[Sequence[Message], Optional[Stop]]:
        """Return the messages to send, ``said`` last, and why they cannot be sent, or None."""
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
        model = self._model
        self._context = CallContext(self._dispatcher.cancel, model.limits, model.headers)
        return model.ask(messages, self._context, self._session.recorder(turn=False))

    def _answer(self, call: RunningCall) -> Events[AssistantMessage]:
        """Let the model answer, and return its whole message.

        Raises:
            LlmError: when the call fails.
        """
        told = 0  # the attempt whose chunks were shown last; 0 before any
        with closing(call.chunks()) as chunks:
            for chunk in chunks:
                if isinstance(chunk, Finish):
                    self._take(call)
                if told not in (0, call.attempts):
                    yield AgentEvent("void", self._step)
                told = call.attempts
                yield AgentEvent("chunk", self._step, chunk=chunk)
        return call.answer.message

    def _take(self, call: RunningCall) -> None:
        """Note an answer that has ended; from now on each of its calls must get a result."""
        for usage in (call.answer.usage, call.failed_usage):
            if usage is not None:
                self._usage = usage if self._usage is None else self._usage + usage
        if call.answer.finish not in ("error", "aborted"):
            self._message = call.answer.message
            self._steps += 1
            self._owed.add(self._message.tool_calls)

    def _go_on(self, message: AssistantMessage) -> Events[Optional[Stop]]:
        """Do what an answer asks for; return why the loop stops, or None."""
        if message.finish == "paused":  # it is sent back unchanged, as the last message
            return self._gates.check_pause(self._steps)
        if message.finish == "awaits-client":
            return awaited(message)
        if message.finish == "max-tokens" or not message.tool_calls:
            return Stop("max-tokens" if message.finish == "max-tokens" else "stop")
        return (yield from self._calls(message.tool_calls))

    def _calls(self, calls: Sequence[ToolCall]) -> Events[Optional[Stop]]:
        """Answer every call of a step, in order; return why the loop stops, or None."""
        stop = self._gates.check_calls(calls, self._steps)
        failed = False  # whether a call of this answer that changes something has failed
        for call in calls:
            if stop is not None:
                outcome = self._dispatcher.skipped(call, stop)
            elif failed and self._dispatcher.depends(call):
                outcome = self._dispatcher.outcome(call, "not-executed", NOT_RUN)
            else:
                outcome = yield from self._call(call)
            failed = failed or self._dispatcher.is_failed_change(outcome)
            outcome, judged = (outcome, stop) if stop else self._weighed(outcome)
            self._owed.give(outcome)
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
        self._owed.start(call)
        return self._dispatcher.run(ready)

    def _weighed(self, outcome: ToolOutcome) -> Tuple[ToolOutcome, Optional[Stop]]:
        """Return an outcome as the model gets it, and why the loop stops, or None.

        Keys are masked, because a tool may have read one from a file or the environment.
        """
        assert self._context is not None  # set when the model was called
        outcome = replace(outcome, content=hide(outcome.content, self._context.secrets))
        return self._gates.weigh(outcome, self._dispatcher.is_polling(outcome.call))

    def _ask(self, callback: Callable[[_Given], _Made], value: _Given) -> _Made:
        """Call a function that runs a caller's callback, and remember an exception of it."""
        try:
            return callback(value)
        except BaseException as error:
            self._callers = error
            raise

    def _settle(self) -> None:
        """Give each open call its result and end the turn in the log."""
        stop = self._stop or Stop("closed", None)
        try:
            self._owed.settle()
            self._session.turn_end(stop.reason, stop.failure)
        except LlmError as error:
            # SESSION: the log cannot be written. If the turn has another failure, or an
            # exception is being raised, that one is reported and this one is dropped.
            # The history stays valid: a missing result reads as unknown or not started.
            if self._stop is not None and self._stop.failure is None:
                self._stop = replace(self._stop, reason="error", failure=error.failure)

    def _result(self) -> AgentResult:
        stop = self._stop
        assert stop is not None
        return AgentResult(
            stop.reason, self._message, tuple(self._session.derive_messages()), self._usage,
            self._steps, tuple(self._owed.outcomes), stop.failure, stop.partial,
        )
