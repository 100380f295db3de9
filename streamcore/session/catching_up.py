# SPDX-License-Identifier: MIT
"""Finds the messages of a caller's list that a log does not have yet.

In: the messages of the log and of the caller. Out: the messages to record. Refused with
``INVALID_REQUEST``: a message that no request could carry.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Iterable, List, Sequence, Tuple

from ..values.messages import Message, ToolResult
from . import lines
from .history import History
from .records import check_answer, check_said, message_to_record, result_content, same_message


def news(known: List[Message], messages: Iterable[Message]) -> Tuple[List[Message], bool, bool]:
    """Return what to record of a caller's messages.

    Args:
        known: the log's history, without stand-ins for the last message's open calls.
        messages: the conversation as the caller has it.
    Returns:
        The new messages; whether the caller's list begins with the log's history; and
        whether the log will end as the list does, once they are recorded.
    Raises:
        LlmError: ``INVALID_REQUEST`` for a message that no request could carry.
    """
    with lines.refusing("the conversation"):
        given = _in_call_order(messages)
    continues = _begins_with(given, known)
    if not continues:
        given, known = _after_last_answer(given), _after_last_answer(known)
    new = given[len(known) :] if _begins_with(given, known) else given
    for message in new:
        _check(message)
    return new, continues, continues or bool(given)


def _in_call_order(messages: Iterable[Message]) -> List[Message]:
    """Return a caller's messages in the form that a log's history has.

    Results are in the order of their calls, each in a message of its own. Empty answers
    are left out.
    """
    history = History()
    for message in messages:
        results = message.tool_results
        for result in results:
            history.push(replace(result, content=result_content(result.content)))
        words = tuple(block for block in message.content if not isinstance(block, ToolResult))
        if not results:
            history.push(message)
        elif words and message.role != "tool":
            history.push(replace(message, content=words))
    return history.messages(pending=False)


def _check(message: Message) -> None:
    with lines.refusing("the conversation"):
        if message.role == "assistant":
            check_answer(message)
        elif message.role != "tool":
            check_said(message)
    lines.encode_given("the conversation", message_to_record(message))


def _begins_with(messages: Sequence[Message], start: Sequence[Message]) -> bool:
    return len(start) <= len(messages) and all(map(same_message, start, messages))


def _after_last_answer(messages: List[Message]) -> List[Message]:
    answers = [place for place, message in enumerate(messages) if message.role == "assistant"]
    return messages[answers[-1] + 1 :] if answers else messages
