# SPDX-License-Identifier: MIT
"""Writes fitted messages in Anthropic's form.

In: messages that are fitted to their receiver, so that each result is a tool message directly
after its call. Out: the system prompt, and user and assistant messages that alternate,
beginning with the user. All results of a step stand at the front of one user message.
Thinking and opaque blocks are written as they came. Refused: content that this dialect
cannot express (``UNSUPPORTED_CONTENT``).
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ....values.frozen import thaw
from ....values.messages import (
    Block, ImageBlock, Message, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall, ToolResult,
)
from ...fitting import NO_ANSWER, NO_MESSAGE
from ...fitting.counting import Counts
from .media import write_image, write_part
from .options import AnthropicMessagesOptions
from .parts import SERVER_TOOLS

WireMessage = Dict[str, Any]
_SYSTEM = ("system", "developer")
THOUGHTS = ("thinking", "redacted_thinking")
"""Kinds of blocks that the API refuses at the end of a message."""


def write_messages(
    messages: Sequence[Message],
    options: AnthropicMessagesOptions,
    diagnostics: Dict[str, int],
) -> Tuple[Any, List[WireMessage]]:
    """Return the system prompt, as text or blocks, and the messages.

    Raises:
        LlmError: ``UNSUPPORTED_CONTENT`` for content that this dialect cannot express.
    """
    counts = Counts(diagnostics)
    system: List[Dict[str, Any]] = []
    wire: List[WireMessage] = []
    for message in messages:
        if message.role in _SYSTEM:
            system += [_write(block, options) for block in message.content]
            continue
        role = "assistant" if message.role == "assistant" else "user"
        content = [_write(b, options) for b in message.content if _is_sent(b, options, counts)]
        if wire and wire[-1]["role"] == role:
            wire[-1]["content"] += content
        else:
            wire.append({"role": role, "content": content})
    if wire:
        _check_server_tools(wire, counts)
    if not wire or wire[0]["role"] == "assistant":
        wire.insert(0, {"role": "user", "content": [{"type": "text", "text": NO_MESSAGE}]})
    for one in wire:
        if not one["content"] or one["content"][-1]["type"] in THOUGHTS:
            one["content"].append({"type": "text", "text": NO_ANSWER})
    plain = len(system) == 1 and set(system[0]) == {"type", "text"}
    return (system[0]["text"] if plain else system), wire


def _is_sent(
    block: Block, options: AnthropicMessagesOptions, counts: Counts
) -> bool:
    """Say whether a block is sent. Unsigned thinking is sent only if the option says so."""
    if not isinstance(block, ReasoningBlock) or options.unsigned_thinking == "send":
        return True
    if block.extras and block.extras.get("signature"):
        return True
    counts.add("reasoning_left_out")
    return False


def _write(block: Block, options: AnthropicMessagesOptions) -> Dict[str, Any]:
    if isinstance(block, OpaqueBlock):
        return write_part(thaw(block.part))
    extras = _clean(getattr(block, "extras", None))
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text, **extras}
    if isinstance(block, ReasoningBlock):
        return {"type": "thinking", "thinking": block.text, **extras}
    if isinstance(block, ToolCall):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": _input(block),
                **extras}
    if isinstance(block, ImageBlock):
        return {**write_image(block.url), **extras}
    assert isinstance(block, ToolResult)
    return _write_result(block, options, extras)


def _input(call: ToolCall) -> Dict[str, Any]:
    """Return the arguments as an object; any other value is put into one."""
    value = call.parsed()
    return value if isinstance(value, dict) else {"value": value}


def _write_result(
    result: ToolResult, options: AnthropicMessagesOptions, extras: Dict[str, Any]
) -> Dict[str, Any]:
    content: Any = result.content
    if isinstance(content, list):
        content = [
            _write(part, options) if isinstance(part, Block) else write_part(thaw(part))
            for part in content
        ]
    shown = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return {**shown, **({"is_error": True} if result.is_error else {}), **extras}


def _clean(extras: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """Return extras without nulls, and without the fields that the writer sets."""
    written = ("type", "text", "thinking", "id", "name", "input", "tool_use_id", "content")
    return {k: thaw(v) for k, v in (extras or {}).items() if v is not None and k not in written}


def _check_server_tools(wire: List[WireMessage], counts: Counts) -> None:
    """Leave out calls of the provider's own tools that have no result.

    The last answer may keep such a call if only tool results follow. It was paused, or it
    waits for the results of other tools; the provider then goes on with it.
    """
    open_turn = wire[-1:] if wire and wire[-1]["role"] == "assistant" else wire[-2:]
    waits = open_turn[0] if all(map(only_results, open_turn[1:])) else None
    answered = {block.get("tool_use_id") for message in wire for block in message["content"]}
    for message in wire:
        kept = [
            block for block in message["content"]
            if block["type"] not in SERVER_TOOLS or block.get("id") in answered
        ]
        if len(kept) < len(message["content"]) and message is not waits:
            counts.add("server_tool_without_result")
            message["content"] = kept


def only_results(message: WireMessage) -> bool:
    """Say whether a message holds nothing but tool results."""
    return all(block["type"] == "tool_result" for block in message["content"])
