# SPDX-License-Identifier: MIT
"""Writes neutral messages as chat completions.

In: messages that ``wire.fitting`` has fitted, and the field that reasoning goes back in. Out:
message dicts. Extras are written too, but never replace a field that this module writes. Nothing
is refused. Before the fitting, ``with_reasoning`` reads reasoning from the extras of messages
made by hand, and ``without_facts`` removes extras that are only facts of an answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Sequence

from ....values.frozen import FrozenDict, freeze, thaw
from ....values.messages import (
    REASONING_FIELDS,
    AssistantMessage,
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
)
from .options import ANSWER_FACTS, TEXT_FACTS

_WRITTEN = ("role", "content", "tool_calls", "tool_call_id")  # never taken from extras
_OWNED = {TextBlock: ("type", "text"), ImageBlock: ("type", "image_url")}
"""The fields of a part that its extras cannot replace."""


def without_facts(message: Message) -> Message:
    """Return an answer without the facts in its extras; return other messages unchanged."""
    if not isinstance(message, AssistantMessage):
        return message
    content = tuple(
        replace(block, extras=_clean(block.extras, *TEXT_FACTS))
        if isinstance(block, TextBlock) and block.extras else block
        for block in message.content
    )
    return replace(message, content=content, extras=_clean(message.extras, *ANSWER_FACTS))


def with_reasoning(message: Message, field: str) -> Message:
    """Return a message without reasoning, nulls and written fields in its extras.

    If an assistant message has no reasoning block, its reasoning becomes one. That is the text
    in the first of the fields that providers use, or else in ``field``.
    """
    if not message.extras or not isinstance(message.extras, dict):  # wrong types: refused later
        return message
    named = (*REASONING_FIELDS, field) if message.role == "assistant" else ()
    texts = [text for text in map(message.extras.get, named) if isinstance(text, str)]
    told = any(isinstance(block, ReasoningBlock) for block in message.content)
    first = () if told else tuple(map(ReasoningBlock, texts[:1]))
    extras = _clean(message.extras, *_WRITTEN, *named)
    return replace(message, content=(*first, *message.content), extras=extras)


def write_message(message: Message, field: str) -> Dict[str, Any]:
    """Return the dict of a fitted message, with its reasoning in ``field``."""
    if message.role == "tool":
        return replace(message, content=tuple(map(_result, message.tool_results))).to_dict()
    beside = [block for block in message.content if _is_beside(block)]
    content = tuple(_written(b, field) for b in message.content if not _is_beside(b))
    parts = [b for b in content if not isinstance(b, (ReasoningBlock, ToolCall))]
    form = message.form
    if form is None and message.role != "assistant" and len(parts) > 1:
        form = "parts"
    written = replace(message, content=content, form=_form(parts, form)).to_dict()
    return {**written, **_media_fields(beside)}


def _is_beside(block: Block) -> bool:
    """Say whether a block came beside the content of an answer, and not in it."""
    if not isinstance(block, OpaqueBlock) or block.kind not in ("image", "audio"):
        return False
    return block.part.get("type") != block.kind


def _media_fields(beside: Sequence[Any]) -> Dict[str, Any]:
    """Return the message fields for the images and the audio of an answer."""
    fields: Dict[str, Any] = {}
    for block in beside:
        if block.kind == "image":
            fields.setdefault("images", []).append(thaw(block.part))
        elif block.part.get("id"):  # OpenAI takes its own audio back by the id alone
            fields["audio"] = {"id": block.part["id"]}
    return fields


def _form(parts: Sequence[Block], form: Optional[str]) -> str:
    plain = all(isinstance(block, TextBlock) and block.extras is None for block in parts)
    return "text" if not parts or (plain and form != "parts") else "parts"


def _written(block: Block, field: str) -> Block:
    if isinstance(block, ReasoningBlock):
        extras = _clean(block.extras, *_WRITTEN, *REASONING_FIELDS, field)
        return ReasoningBlock(block.text, field, extras)
    extras = getattr(block, "extras", None)
    if isinstance(block, ToolCall) and extras:
        return replace(block, extras=_call_extras(extras))
    if isinstance(block, (TextBlock, ImageBlock)) and extras:
        return replace(block, extras=_clean(extras, *_OWNED[type(block)]))
    return block


def _call_extras(extras: Optional[Mapping[str, Any]]) -> Optional[FrozenDict]:
    kept: Dict[str, Any] = dict(_clean(extras, "id") or {})
    function = _clean(kept.pop("function", None), "name", "arguments")
    if function:
        kept["function"] = function
    return freeze(kept) or None


def _result(result: ToolResult) -> ToolResult:
    content: Any = result.content
    if isinstance(content, list):
        content = [_part(part) for part in content]
    return ToolResult(result.call_id, content, extras=_clean(result.extras, *_WRITTEN))


def _part(part: Any) -> Any:
    if isinstance(part, (TextBlock, ImageBlock, OpaqueBlock)):
        return Message("user", (part,), form="parts").to_dict()["content"][0]
    return thaw(part)


def _clean(extras: Optional[Mapping[str, Any]], *owned: str) -> Optional[FrozenDict]:
    """Return extras without nulls and without the ``owned`` fields; None if nothing is left."""
    kept = {k: v for k, v in (extras or {}).items() if v is not None and k not in owned}
    return freeze(kept) if kept else None
