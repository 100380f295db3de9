# SPDX-License-Identifier: MIT
"""Neutral messages as the wire takes them.

In: the messages of a request and the provider's bends. Out: message dicts: tool
results in call order directly after their calls, reasoning and opaque extras only
where they may go. Refused: a bad history, images where there are none to be
(DESIGN.md §6, §8.16).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ....values import strictjson
from ....values.errors import LlmError
from ....values.frozen import FrozenDict, freeze, thaw
from ....values.messages import (
    REASONING_FIELDS,
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
    said_arguments,
)
from ....values.messages.blocks import NO_OUTPUT
from ...history import check_history, only_results
from .options import ChatCompletionsOptions

NO_ANSWER = "(no answer)"
"""Stands for the answer of a turn that was broken off after its tools had run."""

_WRITTEN = ("role", "content", "tool_calls", "tool_call_id")  # never taken from extras


def write_messages(
    messages: Sequence[Message], provider: Optional[str], options: ChatCompletionsOptions
) -> List[Dict[str, Any]]:
    """Return the message dicts, in the order they are sent.

    Args:
        messages: the conversation, oldest first.
        provider: the route they go to.
        options: the provider's bends.
    Raises:
        LlmError: ``INVALID_REQUEST`` for a history no provider can take;
            ``UNSUPPORTED_CONTENT`` for images where ``options`` has none.
    """
    check_history(messages)
    wire: List[Dict[str, Any]] = []
    results: Dict[str, Dict[str, Any]] = {}  # of the last calls, in the order of the calls
    for position, message in enumerate(messages):
        if not options.images:
            _refuse_images(message, f"messages[{position}]")
        for result in message.tool_results:
            results[result.call_id] = _write_result(result, message)
        if only_results(message):
            continue
        wire.extend(results.values())
        results = {call.id: {} for call in message.tool_calls}
        shown = _neutral(message, provider, options)
        if shown is not None:
            wire.append(shown.to_dict())
    wire.extend(results.values())
    return _alternating(wire) if options.alternate else wire


def _alternating(wire: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Join user messages in a row; put a word between tool results and a user message."""
    fit: List[Dict[str, Any]] = []
    for message in wire:
        before = fit[-1]["role"] if fit else None
        if message["role"] != "user" or before not in ("user", "tool"):
            fit.append(message)
        elif before == "tool":
            fit += [{"role": "assistant", "content": NO_ANSWER}, message]
        else:
            fit[-1] = {**fit[-1], **message, "content": _joined(fit[-1], message)}
    return fit


def _joined(first: Dict[str, Any], second: Dict[str, Any]) -> Any:
    contents = [message.get("content") or "" for message in (first, second)]
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(content for content in contents if content)
    return [part for content in contents for part in _parts(content)]


def _parts(content: Any) -> List[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def _neutral(
    message: Message, provider: Optional[str], options: ChatCompletionsOptions
) -> Optional[Message]:
    """Return what of the message goes out; None when nothing does."""
    if message.role == "assistant":
        return _assistant(message, provider, options)
    dropped = (ToolResult, ReasoningBlock)
    parts = [_bare(block, True) for block in message.content if not isinstance(block, dropped)]
    form = _form(parts, message.form or ("text" if len(parts) < 2 else "parts"))
    return Message(message.role, tuple(parts), message.name, _clean(message.extras), form)


def _assistant(
    message: Message, provider: Optional[str], options: ChatCompletionsOptions
) -> Optional[Message]:
    """Return an answer as it goes back.

    With reasoning alone it goes back with ``"content": ""``: chat templates of
    local servers insist that user and assistant alternate, so it is not left out,
    and strict providers refuse null and a missing content alike. An answer with
    nothing in it is left out: there is nothing a provider could accept.
    """
    made_by = getattr(message, "provider", None)
    own = made_by is None or made_by == provider  # only its maker can read opaque extras
    parts = [
        _bare(block, own)
        for block in message.content
        if isinstance(block, (TextBlock, ImageBlock)) or (own and isinstance(block, OpaqueBlock))
    ]
    parts = [block for block in parts if block != TextBlock("")]
    calls = tuple(_call(call, own) for call in message.tool_calls)
    hidden = {*REASONING_FIELDS, options.reasoning_field}
    extras = _clean(message.extras if own else None, *_WRITTEN, *hidden)
    reasoning = _reasoning(message, own, options.reasoning_field)
    if not (parts or calls or extras or reasoning):
        return None
    when = options.reasoning_passback
    sent = reasoning if when == "always" or (when == "tool-calls" and calls) else ()
    content = (*sent, *parts, *calls)
    return Message("assistant", content, message.name, extras, _form(parts, message.form))


def _reasoning(message: Message, own: bool, field: str) -> Tuple[ReasoningBlock, ...]:
    blocks = [block for block in message.content if isinstance(block, ReasoningBlock)]
    if not blocks and own:  # a message made by hand may carry it in its extras
        extras: Mapping[str, Any] = message.extras or {}
        texts = [extras.get(name) for name in (*REASONING_FIELDS, field)]
        blocks = [ReasoningBlock(text) for text in texts if isinstance(text, str)][:1]
    owned = (*_WRITTEN, *REASONING_FIELDS, field)
    return tuple(
        ReasoningBlock(block.text, field, _clean(block.extras if own else None, *owned))
        for block in blocks
    )


def _form(parts: List[Block], form: Optional[str]) -> str:
    plain = all(isinstance(block, TextBlock) and block.extras is None for block in parts)
    return "text" if not parts or (plain and form != "parts") else "parts"


def _bare(block: Block, own: bool) -> Block:
    """Return a content part with the extras that may go out."""
    if isinstance(block, TextBlock):
        return TextBlock(block.text, _clean(block.extras if own else None, "type", "text"))
    if isinstance(block, ImageBlock):
        return replace(block, extras=_clean(block.extras if own else None, "type", "image_url"))
    return block


def _call(call: ToolCall, own: bool) -> ToolCall:
    extras: Dict[str, Any] = dict(_clean(call.extras if own else None, "id") or {})
    function = _clean(extras.pop("function", None), "name", "arguments")
    if function:
        extras["function"] = function
    # Said in full: strict servers parse what they get.
    return ToolCall(call.id, call.name, said_arguments(call.arguments), freeze(extras) or None)


def _write_result(result: ToolResult, message: Message) -> Dict[str, Any]:
    content: Any = result.content
    if isinstance(content, list):
        content = [_part(part) for part in content]
        content = [part for part in content if part != {"type": "text", "text": ""}]
    # Output of a program may hold anything; it is mended where other text is refused.
    content = strictjson.mend_surrogates(content or NO_OUTPUT)
    shown = ToolResult(result.call_id, content, extras=_clean(result.extras))
    if message.role != "tool":  # name and extras belong to the user's own words
        return Message("tool", (shown,)).to_dict()
    return Message("tool", (shown,), message.name, _clean(message.extras)).to_dict()


def _part(part: Any) -> Any:
    if isinstance(part, (TextBlock, ImageBlock, OpaqueBlock)):
        return Message("user", (part,), form="parts").to_dict()["content"][0]
    return thaw(part)


def _clean(extras: Optional[Mapping[str, Any]], *owned: str) -> Optional[FrozenDict]:
    """Return extras without nulls, which say nothing, and without what we write ourselves."""
    owned = owned or _WRITTEN
    kept = {k: v for k, v in (extras or {}).items() if v is not None and k not in owned}
    return freeze(kept) if kept else None


def _refuse_images(message: Message, where: str) -> None:
    parts: List[Any] = list(message.content)
    for result in message.tool_results:
        parts.extend(result.content if isinstance(result.content, list) else ())
    for part in parts:
        raw = part.part if isinstance(part, OpaqueBlock) else part
        kind = raw.get("type") if isinstance(raw, dict) else getattr(raw, "type", None)
        if isinstance(kind, str) and "image" in kind:
            text = f"{where}: this provider takes no images"
            raise LlmError(text, "UNSUPPORTED_CONTENT", phase="prepare")
