# SPDX-License-Identifier: MIT
"""The result of a turn, and its events.

Frozen values: ``AgentResult`` at the end, ``AgentEvent`` for each thing that happens,
``ToolOutcome`` for each call of a tool. ``REASONS`` and ``STATUSES`` are closed lists:
``reason`` and ``status`` never hold another word. ``TURN_ENDS`` is the closed list for the
log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional, Tuple

from ..session import CALL_ENDS
from ..values.chunks import StreamChunk
from ..values.errors import Failure, Partial
from ..values.messages import AssistantMessage, Message, ToolCall
from ..values.usage import TokenUsage

REASONS: Dict[str, str] = {
    "stop": "the model ended its turn",
    "max-tokens": "the answer was cut at the token limit; its text is in the message",
    "empty-response": "the model answered nothing (EMPTY_RESPONSE)",
    "content-filter": "the provider's filter ended the answer (CONTENT_FILTER)",
    "cancelled": "the caller's cancel event was set",
    "error": "a call of the model, or the log, failed; the failure's code says how",
    "max-calls-per-step": "one answer asked for more tool calls than the limit; none was run",
    "max-calls": "the run would pass its limit of tool calls; the last answer's calls were not run",
    "max-steps": "the run reached its limit of answers; the last answer's calls were not run",
    "max-pauses": "the provider paused more answers in a row than the limit",
    "max-context": "the next request would be larger than the limit; it was not sent",
    "repeated-call": "the same call had the same result as many times as the limit",
    "repeated-failure": "the same call failed in the same way again",
    "tool-failure": "a tool raised another exception than ToolError, or passed its timeout",
}
"""The reasons why a turn ends, with their meanings."""

TURN_ENDS: Dict[str, str] = {**CALL_ENDS, **REASONS}
"""Every word that a ``turn/end`` in the log can have. An agent's turn has one of ``REASONS``
and a client's call one of ``CALL_ENDS``. Either can have ``closed``, but no result has it."""

STATUSES: Dict[str, str] = {
    "ok": "the tool returned",
    "error": "the tool raised ToolError",
    "unknown-tool": "there is no tool of that name",
    "invalid-arguments": "the arguments do not fit the tool",
    "refused": "the approver refused the call, or a mutating tool had no approver",
    "failed": "the tool raised another exception, or its process died or could not be started",
    "timeout": "the tool was killed at its timeout",
    "cancelled": "the caller cancelled before or while the tool ran",
    "interrupted": "the turn was broken off from outside while the tool ran",
    "not-executed": "the loop had stopped, or an earlier call of the answer had failed",
}
"""The ways one call ends, with their meanings."""


@dataclass(frozen=True)
class ToolOutcome:
    """One call and its one result.

    Args:
        call: the call as the model wrote it.
        content: the result's text, as the model gets it.
        status: one of ``STATUSES``.
    """

    call: ToolCall
    content: str
    status: str

    @property
    def is_error(self) -> bool:
        """Whether the status is any other than ``ok``."""
        return self.status != "ok"


@dataclass(frozen=True)
class AgentResult:
    """The result of a turn.

    Args:
        reason: one of ``REASONS``.
        message: the last whole answer of this turn; None without a whole answer.
        messages: the whole conversation, without the system prompt: a history that any
            strict provider accepts.
        usage: the token usage of all model calls of the turn; None when no call reported any.
        steps: the number of whole answers in this turn.
        tool_calls: every call of a tool in this turn and its result, in order.
        failure: what went wrong, or which limit was passed, its value and its setting;
            None for ``stop`` and ``max-tokens``.
        partial: what had arrived of an answer that failed.
    """

    reason: str
    message: Optional[AssistantMessage] = None
    messages: Tuple[Message, ...] = ()
    usage: Optional[TokenUsage] = None
    steps: int = 0
    tool_calls: Tuple[ToolOutcome, ...] = ()
    failure: Optional[Failure] = None
    partial: Partial = Partial()

    @property
    def ok(self) -> bool:
        """Whether the model ended its turn by itself."""
        return self.reason == "stop"

    @property
    def text(self) -> str:
        """The text of the last answer; "" without one."""
        return "" if self.message is None else self.message.text


@dataclass(frozen=True)
class AgentEvent:
    """One thing that happened in a turn; ``type`` says which field is set.

    ``step-start``: a request is about to go out · ``chunk``: ``chunk`` came ·
    ``void``: the chunks of this step so far do not count, because the model wrote a broken
    call and is asked again · ``message``: ``message`` is whole · ``tool-start``: ``call`` is
    about to run · ``tool-result``: ``outcome`` is recorded · ``end``: the turn is over, and
    ``result`` is set. ``step`` counts from 1.
    """

    type: str
    step: int
    chunk: Optional[StreamChunk] = None
    message: Optional[AssistantMessage] = None
    call: Optional[ToolCall] = None
    outcome: Optional[ToolOutcome] = None
    result: Optional[AgentResult] = None


@dataclass(frozen=True)
class Stop:
    """Why the loop ends: a reason, and the failure behind it."""

    reason: str
    failure: Optional[Failure] = None
    partial: Partial = Partial()
