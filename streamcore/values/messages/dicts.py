# SPDX-License-Identifier: MIT
"""Message dicts: OpenAI's form of a message, read into blocks and written from blocks.

In: a message dict, or the fields of a ``Message``. Out: the fields, or the dict. A dict that
was read is written again the same; fields that streamcore does not know stay in ``extras``.
Refused with ``TypeError``: content, calls or ids of a shape that no provider would read.
Sources: OpenAI's chat-completions reference, and fields that providers were seen to add.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..frozen import freeze, thaw
from .blocks import (
    Block,
    Extras,
    ImageBlock,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
)

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""The names under which providers send and take reasoning, the most common first."""

Fields = Tuple[Any, Tuple[Block, ...], Optional[str], Extras, Optional[str]]
"""The fields of ``Message`` in its order: role, content, name, extras, form."""


def read_message(data: Mapping[str, Any]) -> Fields:
    """Read an OpenAI-style message dict; the role is not checked here.

    Raises:
        TypeError: when its content or calls have no readable shape.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"a message is a dict, not {type(data).__name__}")
    rest = dict(data)  # what the readers below leave in it becomes extras
    role = rest.pop("role", None)
    form, blocks = _read_content(rest)
    if role == "tool":
        blocks = [_read_result(rest, form, blocks, data)]
    else:
        blocks = [*_read_reasoning(rest), *blocks, *_read_calls(rest)]
    name = rest.pop("name") if isinstance(rest.get("name"), str) else None
    return role, tuple(blocks), name, freeze(rest) or None, form


def write_message(
    role: str,
    content: Sequence[Block],
    name: Optional[str],
    extras: Extras,
    form: Optional[str],
) -> Dict[str, Any]:
    """Return the OpenAI-style dict of a message; the reverse of ``read_message``.

    Raises:
        TypeError: for a block that cannot be a content part.
    """
    shown: Dict[str, Any] = {"role": role}
    # A single result is the tool message itself; beside other blocks it is a content part.
    if role == "tool" and len(content) == 1 and isinstance(content[0], ToolResult):
        shown.update(_write_result(content[0], form))
    else:
        shown.update(_write_content(role, content, form))
        _add_reasoning(shown, content)
        calls = [_write_call(block) for block in content if isinstance(block, ToolCall)]
        if calls:
            shown["tool_calls"] = calls
    if name is not None:
        shown["name"] = name
    shown.update(thaw(extras or {}))
    return shown


# Reading.


def _read_content(rest: Dict[str, Any]) -> Tuple[str, List[Block]]:
    if "content" not in rest:
        return "absent", []
    content = rest.pop("content")
    if content is None:
        return "null", []
    if isinstance(content, str):
        return "text", [TextBlock(content)] if content else []
    if isinstance(content, (list, tuple)):
        return "parts", [_read_part(part) for part in content]
    raise TypeError(f"content is a string, a list of parts or null, not {type(content).__name__}")


def _read_part(part: Any) -> Block:
    if isinstance(part, Block):
        return part
    if not isinstance(part, Mapping):
        raise TypeError(f"a content part is a dict, not {type(part).__name__}")
    rest = dict(part)
    kind = rest.pop("type", None)
    if kind == "text" and isinstance(rest.get("text"), str):
        return TextBlock(rest.pop("text"), freeze(rest) or None)
    image = rest.get("image_url")
    if kind == "image_url" and isinstance(image, Mapping) and isinstance(image.get("url"), str):
        inner = dict(rest.pop("image_url"))
        url = inner.pop("url")
        detail = inner.pop("detail") if isinstance(inner.get("detail"), str) else None
        if not inner:  # otherwise a field such as a null detail would be lost
            return ImageBlock(url, detail, freeze(rest) or None)
    if kind == "tool_result" and isinstance(rest.get("tool_call_id"), str):
        return _read_result_part(rest)
    return OpaqueBlock(freeze(dict(part)))


def _read_result_part(rest: Dict[str, Any]) -> ToolResult:
    call_id, content = rest.pop("tool_call_id"), rest.pop("content", "")
    # Only true becomes is_error; any other value stays in extras as it was written.
    is_error = rest.get("is_error") is True and bool(rest.pop("is_error"))
    if not isinstance(content, (str, list, tuple)):
        raise TypeError(f"a tool result is text or parts, not {type(content).__name__}")
    return ToolResult(call_id, freeze(content), is_error, freeze(rest) or None)


def _read_result(
    rest: Dict[str, Any], form: str, blocks: List[Block], data: Mapping[str, Any]
) -> ToolResult:
    call_id = rest.pop("tool_call_id", None)
    if not isinstance(call_id, str):
        raise TypeError(f"tool_call_id is a string, not {type(call_id).__name__}")
    if form == "parts":  # kept as they are: only the provider knows a result's parts
        return ToolResult(call_id, freeze(list(data["content"])))
    return ToolResult(call_id, "".join(b.text for b in blocks if isinstance(b, TextBlock)))


def _read_reasoning(rest: Dict[str, Any]) -> List[Block]:
    for name in REASONING_FIELDS:
        if isinstance(rest.get(name), str):
            return [ReasoningBlock(rest.pop(name), name)]
    return []


def _read_calls(rest: Dict[str, Any]) -> List[Block]:
    calls = rest.get("tool_calls")
    if not calls:  # null and [] mean no calls, and stay as they were written
        return []
    if not isinstance(calls, (list, tuple)):
        raise TypeError(f"tool_calls is a list, not {type(calls).__name__}")
    del rest["tool_calls"]
    return [_read_call(call) for call in calls]


def _read_call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
        raise TypeError("a tool call is a dict with a function in it")
    rest, function = dict(call), dict(call["function"])
    del rest["function"]
    call_id, name = rest.pop("id", None), function.pop("name", None)
    arguments = function.pop("arguments", "")
    for label, value in (("id", call_id), ("name", name), ("arguments", arguments)):
        if not isinstance(value, str):
            raise TypeError(f"a tool call's {label} is a string, not {type(value).__name__}")
    if rest.get("type") == "function":  # writing adds it again
        del rest["type"]
    if function:
        rest["function"] = function
    return ToolCall(call_id, name, arguments, freeze(rest) or None)


# Writing.


def _write_content(role: str, content: Sequence[Block], form: Optional[str]) -> Dict[str, Any]:
    parts = [b for b in content if not isinstance(b, (ReasoningBlock, ToolCall))]
    form = form or _choose_form(role, parts)
    texts = [b.text for b in parts if isinstance(b, TextBlock)]
    if form == "text" and len(texts) == len(parts):
        return {"content": "".join(texts)}
    if form == "null" and not parts:
        return {"content": None}
    if parts or form == "parts":
        return {"content": [_write_part(b) for b in parts]}
    return {}


def _choose_form(role: str, parts: List[Block]) -> str:
    if not parts:
        return "absent" if role == "assistant" else "text"
    only = parts[0]
    plain = len(parts) == 1 and isinstance(only, TextBlock) and only.extras is None
    return "text" if plain else "parts"


def _write_part(block: Block) -> Dict[str, Any]:
    if isinstance(block, OpaqueBlock):
        return dict(thaw(block.part))
    extras = thaw(getattr(block, "extras", None) or {})
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text, **extras}
    if isinstance(block, ImageBlock):
        image = {"url": block.url}
        if block.detail is not None:
            image["detail"] = block.detail
        return {"type": "image_url", "image_url": image, **extras}
    if isinstance(block, ToolResult):
        shown = {"type": "tool_result", "tool_call_id": block.call_id, "content": block.content}
        return {**thaw(shown), **({"is_error": True} if block.is_error else {}), **extras}
    raise TypeError(f"a {block.type} block cannot be a content part")


def _add_reasoning(shown: Dict[str, Any], content: Sequence[Block]) -> None:
    for block in content:
        if isinstance(block, ReasoningBlock):
            shown[block.field] = shown.get(block.field, "") + block.text
            shown.update(thaw(block.extras or {}))


def _write_result(result: ToolResult, form: Optional[str]) -> Dict[str, Any]:
    shown: Dict[str, Any] = {"tool_call_id": result.call_id}
    if result.content or form in (None, "text", "parts"):
        shown["content"] = thaw(result.content)
    elif form == "null":
        shown["content"] = None
    shown.update(thaw(result.extras or {}))
    return shown


def _write_call(call: ToolCall) -> Dict[str, Any]:
    rest = thaw(call.extras or {})
    function = {"name": call.name, "arguments": call.arguments, **rest.pop("function", {})}
    return {"id": call.id, "type": "function", "function": function, **rest}
