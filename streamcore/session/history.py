# SPDX-License-Identifier: MIT
"""From events to the messages that a strict provider accepts.

In: events, in order. Out: messages in which each tool call has exactly one
result, directly after it and in call order. A call that was started but has no
result gets "outcome unknown". A call that was never started gets "not started".
Chunks, failed attempts and empty answers are left out.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Union

from ..values.messages import Message, ReasoningBlock, TextBlock, ToolResult
from .events import Event
from .lines import ASSISTANT, TOOL_RESULT, TOOL_START, USER
from .records import check_answer, check_said, message_from_record

OUTCOME_UNKNOWN = "outcome unknown, do not repeat blindly"
"""Result of a call that was started and whose end was never recorded."""
NOT_STARTED = "not started"
"""Result of a call that was never started."""


class Started(NamedTuple):
    """A tool was started for the call with this id."""

    call_id: str


Entry = Union[Message, Started, ToolResult]


def read_entry(event: Event) -> Optional[Entry]:
    """Return what an event adds to the history; None when it adds nothing.

    Raises:
        ValueError: when the event's data does not fit its type.
    """
    try:
        return _read_entry(event)
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise ValueError(f"{event.type}: {type(exc).__name__}: {exc}") from None


def _read_entry(event: Event) -> Optional[Entry]:
    data = event.data
    if event.type == USER:
        message = message_from_record(data["message"])
        check_said(message)
        return message
    if event.type == ASSISTANT:
        message = message_from_record(data["message"], data["usage"])
        check_answer(message)
        return message
    if event.type == TOOL_START:
        return Started(_id(data["call_id"]))
    if event.type == TOOL_RESULT:
        extras = data.get("extras")
        return ToolResult(_id(data["call_id"]), data["content"], data["is_error"], extras)
    return None


def _id(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("call_id must be a string")
    return value


class _CallState:
    """Whether a tool call was started, and its result."""

    __slots__ = ("started", "result")

    def __init__(self) -> None:
        self.started = False
        self.result: Optional[ToolResult] = None


class _Said(NamedTuple):
    message: Message
    calls: Dict[str, _CallState]  # by call id, in call order


class History:
    """The conversation so far: ``push`` each entry, read ``messages``."""

    def __init__(self) -> None:
        self._said: List[_Said] = []
        # The latest call of each id: some providers begin with call_0 at every step.
        self._latest: Dict[str, _CallState] = {}

    def push(self, entry: Optional[Entry]) -> None:
        """Add the next entry; a start or result without an open call is ignored."""
        if isinstance(entry, Message):
            if entry.role != "assistant" or not _is_empty(entry):
                calls = {call.id: _CallState() for call in entry.tool_calls}
                self._said.append(_Said(entry, calls))
                self._latest.update(calls)
        elif entry is not None:
            call = self._latest.get(entry.call_id)
            if call is not None and call.result is None:
                call.started = True
                call.result = entry if isinstance(entry, ToolResult) else None

    def state(self, call_id: str) -> str:
        """Return ``unknown``, ``open``, ``started`` or ``answered``, of the id's latest call."""
        call = self._latest.get(call_id)
        if call is None:
            return "unknown"
        if call.result is not None:
            return "answered"
        return "started" if call.started else "open"

    def check_open(self, call_id: str) -> None:
        """Refuse a start or a result when the latest call of this id is not open.

        Raises:
            ValueError: when no answer has such a call, or it has its result already.
        """
        state = self.state(call_id)
        if state == "unknown":
            raise ValueError(f"no answer has a tool call with the id {call_id!r}")
        if state == "answered":
            raise ValueError(f"the tool call {call_id!r} has its result already")

    def messages(self, pending: bool = True) -> List[Message]:
        """Return the messages.

        Args:
            pending: whether open calls of the last message get a stand-in result, as
                open calls of earlier messages always do.
        """
        found: List[Message] = []
        for said in self._said:
            found.append(said.message)
            last = said is self._said[-1]
            for call_id, call in said.calls.items():
                if call.result is not None or pending or not last:
                    result = call.result or _stand_in(call_id, call)
                    found.append(Message("tool", (result,)))
        return found


def _stand_in(call_id: str, call: _CallState) -> ToolResult:
    text = OUTCOME_UNKNOWN if call.started else NOT_STARTED
    return ToolResult(call_id, text, is_error=True)


def _is_empty(message: Message) -> bool:
    return all(
        isinstance(block, (TextBlock, ReasoningBlock)) and not block.text
        for block in message.content
    )
