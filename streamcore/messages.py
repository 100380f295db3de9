# SPDX-License-Identifier: MIT
"""Messages: what was said, by whom, in whole blocks.

In: OpenAI-style message dicts, or blocks made by hand.
Out: frozen ``Message`` values, and the same dicts again: ``from_dict`` then
``to_dict`` loses nothing, fields unknown to us included (``extras``).
Refused with ``ValueError`` or ``TypeError``: a shape no provider would read.
``AssistantMessage`` is the one trusted result of a finished stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Dict, List, Mapping, Optional, Tuple, Type, Union

from . import strictjson
from .frozen import FrozenDict, FrozenList, freeze, thaw
from .usage import TokenUsage

Extras = Optional[FrozenDict]

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""The names under which providers send and take reasoning, the commonest first."""


class Block:
    """One whole part of a message; ``type`` names its kind.

    ``extras`` holds fields of the provider that only it can read; they go back
    to it unchanged.
    """

    type: ClassVar[str]

    def __post_init__(self) -> None:
        for name in ("extras", "content", "part"):
            if hasattr(self, name):
                object.__setattr__(self, name, freeze(getattr(self, name)))

    def to_dict(self) -> Dict[str, Any]:
        """Return the block as the session log keeps it; ``block_from_dict`` reads it."""
        shown: Dict[str, Any] = {"type": self.type}
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if value is not None:
                shown[item.name] = thaw(value)
        return shown


@dataclass(frozen=True)
class TextBlock(Block):
    """Text for the reader."""

    type: ClassVar[str] = "text"
    text: str
    extras: Extras = None


@dataclass(frozen=True)
class ReasoningBlock(Block):
    """The model's reasoning; ``field`` is the name the provider sent it under."""

    type: ClassVar[str] = "reasoning"
    text: str
    field: str = "reasoning_content"
    extras: Extras = None


@dataclass(frozen=True)
class ToolCall(Block):
    """A whole call of a tool; ``arguments`` is the raw JSON text the model wrote."""

    type: ClassVar[str] = "tool-call"
    id: str
    name: str
    arguments: str = "{}"
    extras: Extras = None

    def parsed(self) -> Any:
        """Return the arguments as a value; empty, blank and ``null`` give ``{}``.

        Raises:
            ValueError: when they are not one strict JSON document.
        """
        return parse_arguments(self.arguments)


@dataclass(frozen=True)
class ToolResult(Block):
    """The answer to one call: text, or the provider's own list of parts."""

    type: ClassVar[str] = "tool-result"
    call_id: str
    content: Union[str, FrozenList] = ""
    is_error: bool = False
    extras: Extras = None


@dataclass(frozen=True)
class ImageBlock(Block):
    """A reference to an image: an address, or a ``data:`` URL."""

    type: ClassVar[str] = "image"
    url: str
    detail: Optional[str] = None
    extras: Extras = None


@dataclass(frozen=True)
class OpaqueBlock(Block):
    """A content part of a kind unknown to us, kept as it is."""

    type: ClassVar[str] = "opaque"
    part: FrozenDict


_BLOCKS: Dict[str, Type[Any]] = {
    kind.type: kind
    for kind in (TextBlock, ReasoningBlock, ToolCall, ToolResult, ImageBlock, OpaqueBlock)
}


def block_from_dict(data: Mapping[str, Any]) -> Block:
    """Read what ``Block.to_dict`` wrote.

    Raises:
        ValueError: for an unknown type; TypeError for missing or unknown fields.
    """
    values = dict(data)
    kind = _BLOCKS.get(values.pop("type", None))
    if kind is None:
        raise ValueError(f"no block has the type {data.get('type')!r}")
    block: Block = kind(**values)
    return block


def parse_arguments(text: str) -> Any:
    """Parse a finished call's arguments, strictly, once.

    Empty, blank and ``null`` arguments read ``{}``; surrogate halves are mended.

    Raises:
        ValueError: with the reason, when the text is not one JSON document,
            or an object in it has a key twice.
    """
    if not text or text.isspace():
        return {}
    value = strictjson.loads_unique(text)
    return {} if value is None else strictjson.mend_surrogates(value)


@dataclass(frozen=True)
class Message:
    """One message of a conversation.

    Args:
        role: ``system``, ``developer``, ``user``, ``assistant`` or ``tool``.
        content: the blocks, in order; a string is one text block.
        name: the speaker's name, where the provider takes one.
        extras: fields of the message unknown to us, sent as they are.
        form: how the dict wrote its content (``text``, ``parts``, ``null``,
            ``absent``), so that it is written the same way; None chooses.
    """

    role: str
    content: Tuple[Block, ...] = ()
    name: Optional[str] = None
    extras: Extras = None
    form: Optional[str] = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.role, str) or not self.role:
            raise TypeError(f"role is a non-empty string, not {self.role!r}")
        blocks = (TextBlock(self.content),) if isinstance(self.content, str) else self.content
        object.__setattr__(self, "content", tuple(blocks))
        object.__setattr__(self, "extras", freeze(self.extras))
        for block in self.content:
            if not isinstance(block, Block):
                raise TypeError(f"content holds blocks, not {type(block).__name__}")

    @property
    def text(self) -> str:
        """The text of all text blocks, joined."""
        return "".join(b.text for b in self.content if isinstance(b, TextBlock))

    @property
    def reasoning(self) -> str:
        """The text of all reasoning blocks, joined."""
        return "".join(b.text for b in self.content if isinstance(b, ReasoningBlock))

    @property
    def tool_calls(self) -> Tuple[ToolCall, ...]:
        """The calls in it, in order."""
        return tuple(b for b in self.content if isinstance(b, ToolCall))

    @property
    def tool_results(self) -> Tuple[ToolResult, ...]:
        """The tool results in it, in order."""
        return tuple(b for b in self.content if isinstance(b, ToolResult))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Read an OpenAI-style message dict.

        Raises:
            TypeError, ValueError: when its role, content or calls have no readable shape.
        """
        if not isinstance(data, Mapping):
            raise TypeError(f"a message is a dict, not {type(data).__name__}")
        rest = dict(data)
        role = rest.pop("role", None)
        form, blocks = _read_content(rest)
        if role == "tool":
            blocks = [_read_result(rest, form, blocks, data)]
        else:
            blocks = [*_read_reasoning(rest), *blocks, *_read_calls(rest)]
        name = rest.pop("name") if isinstance(rest.get("name"), str) else None
        return Message(role, tuple(blocks), name, freeze(rest) or None, form)

    def to_dict(self) -> Dict[str, Any]:
        """Return the OpenAI-style message dict; the reverse of ``from_dict``."""
        shown: Dict[str, Any] = {"role": self.role}
        results = self.tool_results
        if self.role == "tool" and len(results) == 1 and len(self.content) == 1:
            shown.update(_write_result(results[0], self.form))
        else:
            _write_content(shown, self)
            for block in self.content:
                if isinstance(block, ReasoningBlock):
                    shown[block.field] = shown.get(block.field, "") + block.text
                    shown.update(thaw(block.extras or {}))
            if self.tool_calls:
                shown["tool_calls"] = [_write_call(call) for call in self.tool_calls]
        if self.name is not None:
            shown["name"] = self.name
        shown.update(thaw(self.extras or {}))
        return shown


@dataclass(frozen=True)
class AssistantMessage(Message):
    """A whole answer of a model, made only from a stream whose end was proven.

    ``finish`` is ``stop``, ``tool-calls`` or ``max-tokens``; ``model`` and
    ``response_id`` are what the provider said it served; ``provider`` is the
    route it came from: opaque extras go back to that provider only.
    """

    role: str = "assistant"
    finish: Optional[str] = None
    usage: Optional[TokenUsage] = None
    model: Optional[str] = None
    response_id: Optional[str] = None
    provider: Optional[str] = None


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
        if not inner:  # a null detail too would be lost
            return ImageBlock(url, detail, freeze(rest) or None)
    if kind == "tool_result" and isinstance(rest.get("tool_call_id"), str):
        return _read_result_part(rest)
    return OpaqueBlock(freeze(dict(part)))


def _read_result_part(rest: Dict[str, Any]) -> ToolResult:
    call_id, content = rest.pop("tool_call_id"), rest.pop("content", "")
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
    if form == "parts":
        return ToolResult(call_id, freeze(list(data["content"])))
    return ToolResult(call_id, "".join(b.text for b in blocks if isinstance(b, TextBlock)))


def _read_reasoning(rest: Dict[str, Any]) -> List[Block]:
    for name in REASONING_FIELDS:
        if isinstance(rest.get(name), str):
            return [ReasoningBlock(rest.pop(name), name)]
    return []


def _read_calls(rest: Dict[str, Any]) -> List[Block]:
    calls = rest.get("tool_calls")
    if not calls:  # null and [] say nothing, and stay as they were written
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
    if rest.get("type") == "function":
        del rest["type"]
    if function:
        rest["function"] = function
    return ToolCall(call_id, name, arguments, freeze(rest) or None)


def _write_content(shown: Dict[str, Any], message: Message) -> None:
    parts = [b for b in message.content if not isinstance(b, (ReasoningBlock, ToolCall))]
    form = message.form or _choose_form(parts, message)
    if form == "text" and all(isinstance(b, TextBlock) for b in parts):
        shown["content"] = message.text
    elif form == "null" and not parts:
        shown["content"] = None
    elif parts or form == "parts":
        shown["content"] = [_write_part(b) for b in parts]


def _choose_form(parts: List[Block], message: Message) -> str:
    if not parts:
        return "absent" if message.role == "assistant" else "text"
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
    raise TypeError(f"a {block.type} block is no content part")


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
