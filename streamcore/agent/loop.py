# SPDX-License-Identifier: MIT
"""The agent: a prompt in, a result out, whatever happens in between.

In: a client or a runtime, tools, caps. Out: ``AgentResult``, or the events of a turn one
by one. Failures of a model, a network, a disk or a tool (``sys.exit()`` too) are in the
result and are not raised. Raised after the history was made valid: exceptions of the
caller's own callbacks, and ``KeyboardInterrupt``. Raised before anything happens: errors
for wrong arguments. The session keeps the conversation between two runs.
"""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from typing import Any, Callable, Generator, Iterable, Mapping, Optional, Sequence, Tuple, Union

from ..runtime import LlmRuntime, RunningCall
from ..session import Session
from ..session.records import check_said
from ..values.agent_limits import AgentLimits
from ..values.calls import CallConfig
from ..values.chunks import StreamChunk
from ..values.given import read_tools
from ..values.limits import Limits
from ..values.messages import Message, TextBlock, ToolCall
from ..values.retry import RetryPolicy
from .dispatch import Dispatcher
from .model import Model, Start
from .result import AgentEvent, AgentResult
from .tools import ToolRegistry
from .trimming import Trim, check_trim
from .turn import Turn

Prompt = Union[str, Message, Mapping[str, Any], None]

_ASKED = frozenset(field.name for field in fields(CallConfig)) - {"model", "provider"}


class Agent:
    """A model in a loop with tools; one turn at a time.

    Args:
        client_or_runtime: a ``Client``, whose retry policy and limits hold for every
            step, or an ``LlmRuntime``, which needs ``config``.
        tools: ``Tool`` values, functions that ``tool`` makes tools of, or a registry.
        system: the system prompt of every request.
        config: the settings of each call; by default the client's model and nothing else.
        limits: the caps; each holds for one run.
        session: the log that keeps the conversation; by default a new one in memory. An
            opened session is continued.
        approve: called with each ``ToolCall`` that could run. True lets it run. False
            refuses it, and a string refuses it with this reason. Anything else refuses too.
        allow_mutating: lets tools marked mutating run without an approver.
        on_chunk: called with each chunk of each answer. If it is None, ``run`` may retry
            an attempt even after chunks have come.
        on_event: called with every other ``AgentEvent``.
        cancel: set it, from any thread or signal handler, to stop. Clear it to go on.
        on_tool_error: ``stop`` or ``report``. With ``report`` the model gets every failure
            of a tool, and none stops the loop. The caps still hold.
        trim: what to do when a request is over ``max_context_bytes``. A function gets the
            request's messages and returns those to send instead, a valid history.
            ``tool-outputs`` replaces tool outputs with marks, the oldest first. None stops
            the run. The log keeps the whole conversation.
        call_limits: clocks and sizes of each call of the model; they override the client's.
        headers: headers of each call of the model; they override the client's.
        retry: when a failed call of the model is tried again; by default the client's
            policy, else that of the provider's profile, else ``RetryPolicy()``. Its attempts
            also serve a step whose answer has a tool call that does not parse. No call of that
            answer runs, and the event ``void`` says that the step's chunks so far do not count.
        The other arguments are the fields of ``CallConfig``, such as ``temperature``. They
            override ``config``.
    Raises:
        TypeError, ValueError: for an argument of a wrong type or value.
    """

    def __init__(
        self,
        client_or_runtime: Any,
        tools: Union[ToolRegistry, Iterable[Any]] = (),
        *,
        system: Optional[str] = None,
        config: Optional[CallConfig] = None,
        limits: AgentLimits = AgentLimits(),
        session: Optional[Session] = None,
        approve: Optional[Callable[[ToolCall], Any]] = None,
        allow_mutating: bool = False,
        on_chunk: Optional[Callable[[StreamChunk], Any]] = None,
        on_event: Optional[Callable[[AgentEvent], Any]] = None,
        cancel: Optional[threading.Event] = None,
        on_tool_error: str = "stop",
        trim: Union[Trim, str, None] = None,
        call_limits: Optional[Limits] = None,
        headers: Optional[Mapping[str, str]] = None,
        retry: Optional[RetryPolicy] = None,
        **asked: Any,
    ) -> None:
        if not isinstance(limits, AgentLimits):
            raise TypeError(f"limits must be AgentLimits, not {type(limits).__name__}")
        if on_tool_error not in ("stop", "report"):
            raise ValueError(f"on_tool_error must be 'stop' or 'report', not {on_tool_error!r}")
        if not isinstance(retry, (RetryPolicy, type(None))):
            raise TypeError(f"retry must be a RetryPolicy, not {type(retry).__name__}")
        check_trim(trim)
        self.session = Session() if session is None else session
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self.limits = limits
        self._start, self.config = _model_of(client_or_runtime, config)
        self.config = _with_asked(self.config, asked)
        self._system, self._call_limits = system, call_limits
        self._headers, self._retry = headers, retry
        self._dispatcher = Dispatcher(
            self.tools, approve, bool(allow_mutating), cancel, limits.max_output_bytes
        )
        self._report, self._trim = on_tool_error == "report", trim
        self._on_chunk, self._on_event = on_chunk, on_event
        self._running = threading.Lock()

    @property
    def messages(self) -> Tuple[Message, ...]:
        """The conversation so far, without the system prompt; always a valid history."""
        return tuple(self.session.derive_messages())

    def run(self, prompt: Prompt) -> AgentResult:
        """Take one turn, and return its result.

        Args:
            prompt: what the user says, as text or as a user message. None adds nothing and
                continues a conversation that ends with a user's message, a tool's result or
                a paused answer. The prompt is not recorded if its request cannot be sent,
                because it is over its cap or holds something the provider does not accept.
        Raises:
            TypeError, ValueError: for a prompt that is empty, or is not a user's message.
            RuntimeError: when a turn of this agent is under way.
            KeyboardInterrupt: subclasses too. Any other exception of a tool is a failure of
                the tool.
            Exceptions of ``approve``, ``trim``, ``on_chunk``, ``on_event`` and a runtime's hooks.
        """
        events = self._events(self._read(prompt), self._on_chunk is None)
        try:
            return _last_result(events)
        except RuntimeError as error:
            raised = _turned(error)
            if raised is None:
                raise
        raise raised

    def iter(self, prompt: Prompt) -> Generator[AgentEvent, None, None]:
        """Take one turn, event by event; the last event carries the result.

        Leaving early closes the connection and makes the history valid. Arguments and
        errors are those of ``run``, and the callbacks are called too. A ``StopIteration`` of
        a callback is raised as the cause of a ``RuntimeError``, because it would end the loop.
        """
        return self._events(self._read(prompt), False)

    def _events(self, said: Optional[Message], whole: bool) -> Generator[AgentEvent, None, None]:
        if not self._running.acquire(blocking=False):
            raise RuntimeError("a turn of this agent is under way")
        try:
            with closing(self._turn(whole).events(said)) as events:
                for event in events:
                    self._tell(event)
                    yield event
        finally:
            self._running.release()

    def _turn(self, whole: bool) -> Turn:
        specs = read_tools(self.tools.specs())  # the registry may have grown since the last turn
        model = Model(
            self._start, self.config, self._system, specs, self._call_limits, self._headers,
            self._retry, whole,
        )
        return Turn(
            model, self.session, self._dispatcher, self.limits, self._trim, self._report
        )

    def _tell(self, event: AgentEvent) -> None:
        if event.chunk is None:
            if self._on_event is not None:
                self._on_event(event)
        elif self._on_chunk is not None:
            self._on_chunk(event.chunk)

    def _read(self, prompt: Prompt) -> Optional[Message]:
        if prompt is None:
            last: Sequence[Message] = self.messages[-1:]
            paused = last and getattr(last[0], "finish", None) == "paused"
            if not last or (last[0].role == "assistant" and not paused):
                raise ValueError("there is nothing to go on from: a prompt is needed")
            return None
        if not isinstance(prompt, (str, Message, Mapping)):
            raise TypeError(f"a prompt must be text or a message, not {type(prompt).__name__}")
        said = _message_of(prompt)
        if said.role != "user" or said.tool_calls or said.tool_results:
            raise ValueError("a prompt must be a user message without tool calls or results")
        check_said(said)
        if all(isinstance(block, TextBlock) and not block.text for block in said.content):
            raise ValueError("the prompt is empty; pass None to go on without a prompt")
        return said


def _message_of(prompt: Union[str, Message, Mapping[str, Any]]) -> Message:
    if isinstance(prompt, str):
        return Message("user", (TextBlock(prompt),))
    if isinstance(prompt, Message):
        return prompt
    try:
        return Message.from_dict(prompt)
    except RecursionError:
        raise ValueError("the prompt is nested too deeply, or contains itself") from None


def _last_result(events: Generator[AgentEvent, None, None]) -> AgentResult:
    result: Optional[AgentResult] = None
    with closing(events):
        for event in events:
            result = event.result
    assert result is not None
    return result


def _turned(error: RuntimeError) -> Optional[StopIteration]:
    """Return the callback's ``StopIteration`` that a generator turned into ``error`` (PEP 479)."""
    cause = error.__cause__
    if isinstance(cause, StopIteration) and str(error) == "generator raised StopIteration":
        return cause
    return None


def _model_of(given: Any, config: Optional[CallConfig]) -> Tuple[Start, CallConfig]:
    """Return the function that starts a call, and the settings of each call."""
    if isinstance(given, LlmRuntime):
        if config is None:
            raise ValueError("an LlmRuntime needs config=CallConfig(model, provider)")
        return partial(RunningCall, given), config
    start = getattr(given, "start", None)
    if not callable(start):
        raise TypeError(f"an agent needs a Client or an LlmRuntime, not {type(given).__name__}")
    return start, CallConfig(given.model, given.provider) if config is None else config


def _with_asked(config: CallConfig, asked: Mapping[str, Any]) -> CallConfig:
    unknown = sorted(asked.keys() - _ASKED)
    if unknown:
        raise TypeError(f"Agent() got an unexpected argument {unknown[0]!r}")
    return replace(config, **asked)
