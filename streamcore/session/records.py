# SPDX-License-Identifier: MIT
"""Messages as the log keeps them: neutral blocks, and nothing lost.

In: a message, or its record. Out: the record, a dict that JSON can carry, or an equal
message. The record includes the form of the content and the provider, because both
decide how the message is sent. Refused with ``ValueError`` or ``TypeError``: a message
that would make every later request of the session fail.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Dict, List, Mapping, Optional

from ..values.messages import Block, Message, ToolCall, ToolResult
from ..values.strictjson import mend_surrogates

_STRINGS = ("text", "field", "id", "name", "arguments", "call_id", "url")


def message_to_record(message: Message) -> Dict[str, Any]:
    """Return the message's record without its usage, with tool results as they are sent."""
    content = tuple(
        replace(block, content=result_content(block.content))
        if isinstance(block, ToolResult) else block
        for block in message.content
    )
    record = replace(message, content=content).to_record()
    record.pop("usage", None)
    return record


def message_from_record(
    record: Mapping[str, Any], usage: Optional[Mapping[str, Any]] = None
) -> Message:
    """Return the message of a record; the role ``assistant`` gives an ``AssistantMessage``.

    Args:
        record: the message's record.
        usage: what the answer cost, as ``TokenUsage.to_dict`` wrote it.
    Raises:
        KeyError, TypeError, ValueError: when ``record`` is not the record of a message.
    """
    if record["role"] != "assistant":
        return Message.from_record(record)
    return Message.from_record({"finish": None, **record, "usage": usage})


def result_content(content: Any) -> Any:
    """Return a tool's output as it is sent: text, or a list of parts.

    Lone surrogate halves become U+FFFD. Blocks in a list become parts. None becomes ``""``.

    Raises:
        TypeError: when the output is neither text nor a list.
    """
    if content is None:
        return ""
    if isinstance(content, (list, tuple)):
        return mend_surrogates([_part(part) for part in content])
    if not isinstance(content, str):
        raise TypeError(f"a tool result is text or parts, not {type(content).__name__}")
    return mend_surrogates(content)


def _part(part: Any) -> Any:
    if isinstance(part, Block):
        return Message("user", (part,), form="parts").to_dict()["content"][0]
    return part


def check_said(message: Any) -> None:
    """Refuse a message that cannot be a user's, a system's or a developer's.

    Raises:
        TypeError: when it is not a ``Message``, or a text in it is not a string.
        ValueError: when its role is ``assistant`` or ``tool``, or it has a tool call or a
            tool result.
    """
    _check_strings(message)
    if message.role in ("assistant", "tool"):
        raise ValueError(f"a {message.role} message is not recorded as what the user said")
    if message.tool_calls or message.tool_results:
        raise ValueError(
            f"a {message.role} message has no tool calls; record results with tool_result()"
        )


def check_answer(message: Any) -> None:
    """Refuse an answer that no provider would accept in a later request.

    Raises:
        TypeError: when it is not a ``Message``, or a text in it is not a string.
        ValueError: when it has another role, a tool result, a call without id or name,
            an id that comes twice, or arguments that do not parse.
    """
    _check_strings(message)
    if message.role != "assistant" or message.tool_results:
        raise ValueError(f"a {message.role} message is not recorded as an answer")
    seen: List[str] = []
    for call in message.tool_calls:
        if not call.id or call.id in seen or not call.name.strip():
            raise ValueError(f"the tool call {call.id!r} has no id or name, or its id comes twice")
        seen.append(call.id)
        _check_arguments(call)


def _check_arguments(call: ToolCall) -> None:
    try:
        call.parsed()
    except ValueError as exc:
        text = f"the arguments of the tool call {call.id!r} do not parse: {exc}"
        raise ValueError(text) from None


def _check_strings(message: Any) -> None:
    if not isinstance(message, Message):
        raise TypeError(f"expected a Message, not {type(message).__name__}")
    for block in message.content:
        for item in fields(block):  # type: ignore[arg-type]
            value = getattr(block, item.name)
            if item.name in _STRINGS and not isinstance(value, str):
                raise TypeError(f"{item.name} of a {block.type} block must be a string")


def same_message(one: Message, other: Message) -> bool:
    """Return whether two messages have equal OpenAI-style dicts, once surrogates are mended."""
    return bool(mend_surrogates(one.to_dict()) == mend_surrogates(other.to_dict()))
