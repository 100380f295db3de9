# SPDX-License-Identifier: MIT
"""Blocks: the whole parts of a message, as values.

In: text, names, ids; or a dict of the session log. Out: frozen blocks, equal when they
say the same; ``to_dict`` then ``block_from_dict`` gives the block again.
Refused: a dict of no known type (``ValueError``) or with wrong fields (``TypeError``);
a call's arguments are text here, and are checked when they are parsed.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, fields
from typing import IO, Any, Callable, ClassVar, Dict, Mapping, Optional, Tuple, Type, Union

from ..frozen import FrozenDict, FrozenList, freeze, thaw
from ..strictjson import loads_unique, mend_surrogates
from .media import image_type, read_media

Extras = Optional[FrozenDict]
"""Fields that streamcore does not know, by name. They are kept, and sent as they are."""

NO_OUTPUT = "(no output)"
"""Stands for an empty tool output: several providers refuse an empty tool message."""


class Block:
    """One whole part of a message; ``type`` names its kind.

    ``extras`` holds fields that only the provider can read. They go back to the
    provider unchanged.
    """

    type: ClassVar[str]
    _frozen: ClassVar[Tuple[str, ...]] = ("extras",)  # what is frozen when the block is made

    def __post_init__(self) -> None:
        for name in self._frozen:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, freeze(value))

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
    _frozen = ("extras", "content")
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

    @classmethod
    def from_file(
        cls,
        path: Any,
        detail: Optional[str] = None,
        open_file: Callable[[Any, str], IO[bytes]] = io.open,
    ) -> ImageBlock:
        """Read an image file into a ``data:`` URL.

        Args:
            path: the file. Its bytes tell the format; its name does not matter.
            detail: as the provider takes it: ``low``, ``high``, ``auto``.
            open_file: opens the path with the mode ``rb``.
        Raises:
            OSError: when the file cannot be read.
            ValueError: for a file that is not PNG, JPEG, GIF or WebP.
        """
        with open_file(path, "rb") as file:
            data = file.read()
        kind = image_type(data)
        if kind is None:
            raise ValueError("the file is no PNG, JPEG, GIF or WebP image")
        return cls(f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}", detail)


@dataclass(frozen=True)
class OpaqueBlock(Block):
    """A part that only the provider can read: kept whole, never run, sent back unchanged.

    Args:
        part: the part as it came.
        kind: the provider's word for it; None takes the part's own ``type``.
        extras: as in ``Block``.
    """

    type: ClassVar[str] = "opaque"
    _frozen = ("part", "extras")
    part: FrozenDict
    kind: Optional[str] = None
    extras: Extras = None

    def __post_init__(self) -> None:
        if not isinstance(self.part, dict):
            raise TypeError(f"an opaque part is a dict, not {type(self.part).__name__}")
        super().__post_init__()
        own = self.part.get("type")
        if self.kind is None and isinstance(own, str):
            object.__setattr__(self, "kind", own)

    @property
    def media_type(self) -> Optional[str]:
        """The media type of an image, audio or file part, such as ``image/png``.

        None if the part does not tell it, and for parts of other kinds.
        """
        return read_media(self.kind, self.part).type

    def data(self) -> Optional[bytes]:
        """Return the bytes of an image, audio or file part; None if it has no bytes.

        Raises:
            ValueError: for data that should be base64 but is not.
        """
        return read_media(self.kind, self.part).decoded()


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
    """Parse a finished call's arguments, strictly.

    Empty, blank and ``null`` arguments give ``{}``; surrogate halves are joined.

    Raises:
        ValueError: with the reason, when the text is not one JSON document, an object
            in it has a key twice, or it nests too deeply for what is left of the stack.
    """
    try:
        return mend_surrogates(loads_unique(said_arguments(text)))
    except RecursionError:  # from mending: the caller's own stack is deep
        raise ValueError("nested too deeply") from None


def said_arguments(text: str) -> str:
    """Return a call's arguments; empty, blank and ``null`` arguments become ``{}``."""
    return "{}" if not text or text.isspace() or text.strip(" \t\r\n") == "null" else text
