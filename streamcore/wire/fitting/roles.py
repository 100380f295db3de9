# SPDX-License-Identifier: MIT
"""Roles of messages in a form that a provider accepts.

In: fitted messages. Out: messages without the role ``developer``, with one system message at
the front, or with user and assistant taking turns. Nothing is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import List, Sequence

from ...values.frozen import FrozenDict
from ...values.messages import ImageBlock, Message, OpaqueBlock, ReasoningBlock, TextBlock
from .counting import Counts

NO_ANSWER = "(no answer)"
"""The text of an answer without text: one broken off after its tools ran, or only reasoning."""

NO_MESSAGE = "(no message)"
"""The text of a user message that is blank, or that is missing before a first answer."""

_SYSTEM = ("system", "developer")


def is_system(message: Message) -> bool:
    """Say whether a message has the role ``system`` or ``developer``."""
    return message.role in _SYSTEM


def without_developer(messages: Sequence[Message], counts: Counts) -> List[Message]:
    """Return the messages with the role ``system`` instead of ``developer``."""
    fitted = []
    for message in messages:
        if message.role == "developer":
            counts.add("role_changed")
            message = replace(message, role="system")
        fitted.append(message)
    return fitted


def with_one_system(messages: Sequence[Message], counts: Counts) -> List[Message]:
    """Return the messages with all system messages joined at the front."""
    head = [message for message in messages if is_system(message)]
    if messages[: len(head)] != head:
        counts.add("system_message_moved")
    fitted: List[Message] = []
    for message in head:
        _append(fitted, message, counts)
    return fitted + [message for message in messages if not is_system(message)]


def alternated(messages: Sequence[Message], counts: Counts) -> List[Message]:
    """Return messages in which user and assistant take turns.

    Neighbours of one role are joined. A placeholder is added between tool results and a user
    message, and before a first answer.

    Args:
        messages: the messages, with the system message at the front.
        counts: counts the changes.
    """
    fitted: List[Message] = []
    for message in messages:
        before = fitted[-1].role if fitted else "system"
        if message.role == "user" and before == "tool":
            counts.add("placeholder_added")
            fitted.append(Message("assistant", (TextBlock(NO_ANSWER),)))
        elif message.role == "assistant" and before in _SYSTEM:
            counts.add("placeholder_added")
            fitted.append(Message("user", (TextBlock(NO_MESSAGE),)))
        _append(fitted, message, counts)
    return fitted


def _append(fitted: List[Message], message: Message, counts: Counts) -> None:
    if message.role == "tool" or not fitted or fitted[-1].role != message.role:
        fitted.append(message)
    else:
        counts.add("messages_joined")
        fitted[-1] = _joined(fitted[-1], message)


def _joined(first: Message, second: Message) -> Message:
    """Return one message with the content of both; its texts are joined if none needs parts."""
    content = (*first.content, *second.content)
    texts = [block for block in content if isinstance(block, TextBlock)]
    parted = any(isinstance(block, (ImageBlock, OpaqueBlock)) for block in content)
    form = None
    if not parted and all(block.extras is None for block in texts):
        text = "\n\n".join(filter(None, (first.text, second.text)))
        thoughts = [block for block in content if isinstance(block, ReasoningBlock)]
        rest = [b for b in content if not isinstance(b, (TextBlock, ReasoningBlock))]
        content = (*thoughts, *((TextBlock(text),) if text else ()), *rest)
        form = "text"
    extras = FrozenDict({**(first.extras or {}), **(second.extras or {})}) or None
    return Message(first.role, content, second.name or first.name, extras, form)
