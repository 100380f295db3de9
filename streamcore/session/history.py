# SPDX-License-Identifier: MIT
"""From events to the messages a strict provider accepts.

In: events, in order. Out: messages in which each tool call has exactly one
result, directly after it and in call order. A call recorded as started without
a result is answered with "outcome unknown", one never started with "not
started". Chunks, failed attempts and empty answers are not in it.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Union

from ..values.messages import Message, ReasoningBlock, TextBlock, ToolResult
from .events import Event
from .lines import ASSISTANT, TOOL_RESULT, TOOL_START, USER
from .records import check_answer, check_said, message_from_record

OUTCOME_UNKNOWN = "outcome unknown, do not repeat blindly"
"""Result of a call that was started and never seen to end."""
NOT_STARTED = "not started"
"""Result of a call that was never started."""


class Started(NamedTuple):
    """A tool was started for the call with this id."""

    call_id: str


Entry = Union[Message, Started, ToolResult]


def read_entry(event: Event) -> Optional[Entry]:
    """Return what an event means to the history; None when it means nothing.

    Raises:
        ValueError: when its data is not of the shape its type has.
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
        raise TypeError("call_id is a string")
    return value


class _Answer:
    """What is known of one call."""

    __slots__ = ("started", "result")

    def __init__(self) -> None:
        self.started = False
        self.result: Optional[ToolResult] = None


class _Said(NamedTuple):
    message: Message
    answers: Dict[str, _Answer]  # of its calls, in call order


class History:
    """The conversation so far: ``push`` each entry, read ``messages``."""

    def __init__(self) -> None:
        self._said: List[_Said] = []
        # The latest call of each id: some providers begin with call_0 at every step.
        self._latest: Dict[str, _Answer] = {}

    def push(self, entry: Optional[Entry]) -> None:
        """Take the next entry; a start or result that fits no call is passed over."""
        if isinstance(entry, Message):
            if entry.role != "assistant" or not _is_empty(entry):
                answers = {call.id: _Answer() for call in entry.tool_calls}
                self._said.append(_Said(entry, answers))
                self._latest.update(answers)
        elif entry is not None:
            answer = self._latest.get(entry.call_id)
            if answer is not None and answer.result is None:
                answer.started = True
                answer.result = entry if isinstance(entry, ToolResult) else None

    def state(self, call_id: str) -> str:
        """Return ``unknown``, ``open``, ``started`` or ``answered`` for the latest such call."""
        answer = self._latest.get(call_id)
        if answer is None:
            return "unknown"
        if answer.result is not None:
            return "answered"
        return "started" if answer.started else "open"

    def check_open(self, call_id: str) -> None:
        """Refuse the start or the result of a call that cannot have one.

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
            pending: whether unanswered calls of the last message are answered for
                the time being, as all the others are.
        """
        found: List[Message] = []
        for said in self._said:
            found.append(said.message)
            last = said is self._said[-1]
            for call_id, answer in said.answers.items():
                if answer.result is not None or pending or not last:
                    result = answer.result or _stand_in(call_id, answer)
                    found.append(Message("tool", (result,)))
        return found


def _stand_in(call_id: str, answer: _Answer) -> ToolResult:
    text = OUTCOME_UNKNOWN if answer.started else NOT_STARTED
    return ToolResult(call_id, text, is_error=True)


def _is_empty(message: Message) -> bool:
    return all(
        isinstance(block, (TextBlock, ReasoningBlock)) and not block.text
        for block in message.content
    )
