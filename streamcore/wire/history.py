# SPDX-License-Identifier: MIT
"""Checks that a strict provider can accept a history.

In: neutral messages, as read or made by hand. Refused with ``INVALID_REQUEST``: a tool
call without exactly one result directly after its message, arguments that do not parse,
and hand-made blocks that no wire message can hold (DESIGN.md §6).
"""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Sequence, Tuple, Type

from ..values.given import invalid
from ..values.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
)
from ..values.showing import show


def check_history(messages: Sequence[Message]) -> None:
    """Refuse a history in which a tool call does not have exactly one result.

    The results must directly follow their assistant message, in any order. Ids are compared
    only between an assistant message and its results, because some providers begin again
    with ``call_0`` at every step.

    Raises:
        LlmError: ``INVALID_REQUEST``. The message names the history's message and the call.
    """
    answered: Dict[str, bool] = {}  # call id → whether it has a result; of the last answer only
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        _check_blocks(message, where)
        for result in message.tool_results:
            if answered.get(result.call_id, True):
                fault = "a second result" if result.call_id in answered else "a result without call"
                raise invalid(f"{where}: {fault} has the id {show(result.call_id)}")
            answered[result.call_id] = True
        if not only_results(message):
            _check_answered(answered, where)
            answered = _open_calls(message, where)
    _check_answered(answered, "the end of the messages")


def context_bytes(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = (), system: str = ""
) -> int:
    """Return the size of messages and tools as compact JSON, in UTF-8 bytes.

    The size is the same for every dialect.

    Args:
        messages, tools: what is about to be sent.
        system: the system prompt; it counts as a message.
    Raises:
        LlmError: ``INVALID_REQUEST`` for a history that no provider can accept.
    """
    check_history(messages)
    # Every message sent to a provider has a content field, even if it is empty.
    said = [{"content": "", **message.to_dict()} for message in messages]
    if system:
        said.insert(0, {"role": "system", "content": system})
    asked = {"messages": said, **({"tools": list(tools)} if tools else {})}
    # A value that JSON cannot hold is measured too. It is refused when the body is written.
    text = json.dumps(asked, ensure_ascii=False, separators=(",", ":"), default=str)
    return len(text.encode("utf-8", "surrogatepass"))


def only_results(message: Message) -> bool:
    """Say whether the message holds tool results and nothing else but empty text."""
    others = [
        block
        for block in message.content
        if not isinstance(block, ToolResult) and block != TextBlock("")
    ]
    return bool(message.tool_results) and not others


def _check_answered(answered: Mapping[str, bool], where: str) -> None:
    for call_id, done in answered.items():
        if not done:
            raise invalid(f"the tool call {show(call_id)} has no result before {where}")


def _open_calls(message: Message, where: str) -> Dict[str, bool]:
    answered: Dict[str, bool] = {}
    for call in message.tool_calls:
        if call.id in answered:
            raise invalid(f"{where}: two tool calls have the id {show(call.id)}")
        try:
            call.parsed()
        except ValueError as exc:
            reason = f"the arguments of the tool call {show(call.id)} do not parse: {exc}"
            raise invalid(f"{where}: {reason}") from None
        answered[call.id] = False
    return answered


_STRINGS: Dict[Type[Block], Tuple[str, ...]] = {
    TextBlock: ("text",),
    ReasoningBlock: ("text", "field"),
    ToolCall: ("id", "name", "arguments"),
    ToolResult: ("call_id",),
    ImageBlock: ("url",),
    OpaqueBlock: (),
}


def _check_blocks(message: Message, where: str) -> None:
    """Refuse hand-made blocks that no wire message can hold, or that are in a wrong message."""
    _check_extras(message.extras, where)
    if message.name is not None and not isinstance(message.name, str):
        raise invalid(f"{where}: name is a string, not {type(message.name).__name__}")
    for block in message.content:
        kind = next((kind for kind in _STRINGS if isinstance(block, kind)), None)
        if kind is None:
            raise invalid(f"{where}: a message cannot hold a {type(block).__name__}")
        for name in _STRINGS[kind]:
            if not isinstance(getattr(block, name), str):
                raise invalid(f"{where}: {name} of a {block.type} block must be a string")
        _check_extras(getattr(block, "part" if kind is OpaqueBlock else "extras"), where)
        _check_place(block, message.role, where)
    if message.role == "tool" and not only_results(message):
        raise invalid(f"{where}: a tool message holds tool results and nothing else")


def _check_place(block: Block, role: str, where: str) -> None:
    if isinstance(block, ToolCall):
        if role != "assistant":
            raise invalid(f"{where}: a {role} message cannot hold a tool call")
        if not block.name.strip():
            raise invalid(f"{where}: the tool call {show(block.id)} has no name")
        extras: Mapping[str, Any] = block.extras or {}
        if not isinstance(extras.get("function", {}), dict):
            reason = "function in the extras of the tool call"
            raise invalid(f"{where}: {reason} {show(block.id)} must be a dict")
    if isinstance(block, ToolResult):
        if role not in ("user", "tool"):
            raise invalid(f"{where}: {role} messages cannot hold tool results")
        if not isinstance(block.content, (str, list, type(None))):
            raise invalid(f"{where}: the result of {show(block.call_id)} must be text or parts")


def _check_extras(extras: Any, where: str) -> None:
    if extras is not None and not isinstance(extras, dict):
        raise invalid(f"{where}: extras are a dict, not {type(extras).__name__}")
