# SPDX-License-Identifier: MIT
"""The chunk stream, which a dialect yields and all other code reads.

    block-start(i) → deltas(i)* → block-end(i, block)      deltas of blocks interleave
    all block-ends in opening order → usage? → finish → nothing

Blocks are numbered from 0 in the order of opening. Any number of each type may come. An
``opaque`` block has no deltas. A block may stay open only if the finish is ``error`` or
``aborted``, or if it is a call that is dropped under ``max-tokens``. Chunks are plain slots
objects for speed; do not change them. ``chunk_from_dict`` reads what ``to_dict`` wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Dict, Mapping, Optional, Tuple, Type

from .errors import Failure
from .frozen import freeze, thaw
from .messages import Block, block_from_dict
from .usage import TokenUsage

BLOCK_TYPES = ("text", "reasoning", "tool-call", "opaque")
FAILED_KINDS = ("aborted", "error")
FINISH_KINDS: Dict[str, str] = {
    "stop": "the model ended its answer",
    "tool-calls": "the answer has tool calls, which the caller runs",
    "max-tokens": "the answer was cut at the token limit",
    "paused": "the answer is whole; send it back unchanged, and the provider continues",
    "awaits-client": "an opaque block of the answer waits for a step that only the client can take",
    "aborted": "the caller cancelled the call, or closed its stream",
    "error": "the call failed; the failure's code says how",
}
"""Every way that a stream can end, and what each word means."""


@dataclass(frozen=True)
class FinishReason:
    """Why a stream ended.

    Args:
        kind: one of ``FINISH_KINDS``, which explains each.
        failure: what went wrong; required for ``aborted`` and ``error``, refused for others.
    Raises:
        ValueError: for another kind, for a missing failure, and for one that is refused.
    """

    kind: str
    failure: Optional[Failure] = None

    def __post_init__(self) -> None:
        if self.kind not in FINISH_KINDS:
            raise ValueError(f"a finish is one of {', '.join(FINISH_KINDS)}, not {self.kind!r}")
        if (self.kind in FAILED_KINDS) != (self.failure is not None):
            which = "its failure" if self.failure is None else "no failure"
            raise ValueError(f"a finish {self.kind} comes with {which}")

    def to_dict(self) -> Dict[str, Any]:
        """Return ``{"kind": …}`` and the failure if there is one."""
        if self.failure is None:
            return {"kind": self.kind}
        return {"kind": self.kind, "failure": self.failure.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FinishReason:
        """Read what ``to_dict`` wrote."""
        failure = data.get("failure")
        return cls(data["kind"], None if failure is None else Failure.from_dict(failure))


class StreamChunk:
    """One piece of an answer, in the same form for all providers; ``type`` names its kind."""

    __slots__: Tuple[str, ...] = ()
    type: ClassVar[str]

    def to_dict(self) -> Dict[str, Any]:
        """Return the chunk as a JSON-able dict; fields that are None are left out."""
        shown: Dict[str, Any] = {"type": self.type}
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None:
                shown[name] = value.to_dict() if hasattr(value, "to_dict") else thaw(value)
        return shown

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({shown})"


class BlockStart(StreamChunk):
    """A block opens: ``block_type`` is one of ``BLOCK_TYPES``.

    ``kind`` is the provider's word for an ``opaque`` block, and None for all others.
    """

    __slots__ = ("index", "block_type", "kind")
    type = "block-start"

    def __init__(self, index: int, block_type: str, kind: Optional[str] = None) -> None:
        self.index = index
        self.block_type = block_type
        self.kind = kind


class TextDelta(StreamChunk):
    """More text of the block ``index``; never empty."""

    __slots__ = ("index", "text")
    type = "text-delta"

    def __init__(self, index: int, text: str) -> None:
        self.index = index
        self.text = text


class ReasoningDelta(StreamChunk):
    """More reasoning of the block ``index``; never empty."""

    __slots__ = ("index", "text")
    type = "reasoning-delta"

    def __init__(self, index: int, text: str) -> None:
        self.index = index
        self.text = text


class ToolCallDelta(StreamChunk):
    """More of a call. ``id`` and ``name`` are each set in one delta, which makes them known."""

    __slots__ = ("index", "id", "name", "arguments_delta")
    type = "tool-call-delta"

    def __init__(
        self, index: int, id: Optional[str], name: Optional[str], arguments_delta: str
    ) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.arguments_delta = arguments_delta


class BlockEnd(StreamChunk):
    """The block ``index`` is whole. It comes only once the end of the answer is proven."""

    __slots__ = ("index", "block")
    type = "block-end"

    def __init__(self, index: int, block: Block) -> None:
        self.index = index
        self.block = block


class UsageChunk(StreamChunk):
    """The provider's last usage report."""

    __slots__ = ("usage",)
    type = "usage"

    def __init__(self, usage: TokenUsage) -> None:
        self.usage = usage


class Finish(StreamChunk):
    """The last chunk: why the stream ended, and what the provider says about the answer.

    ``raw`` is the provider's own finish word. ``model`` and ``response_id`` are what the
    provider says it served. ``extras`` are opaque fields of the whole message.
    """

    __slots__ = ("reason", "raw", "model", "response_id", "extras")
    type = "finish"

    def __init__(
        self,
        reason: FinishReason,
        raw: Optional[str] = None,
        model: Optional[str] = None,
        response_id: Optional[str] = None,
        extras: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.reason = reason
        self.raw = raw
        self.model = model
        self.response_id = response_id
        self.extras = freeze(extras)


_CHUNKS: Dict[str, Type[Any]] = {
    kind.type: kind
    for kind in (
        BlockStart, TextDelta, ReasoningDelta, ToolCallDelta, BlockEnd, UsageChunk, Finish,
    )
}
_READERS = {
    "block": block_from_dict,
    "usage": TokenUsage.from_dict,
    "reason": FinishReason.from_dict,
}


def chunk_from_dict(data: Mapping[str, Any]) -> StreamChunk:
    """Read what ``StreamChunk.to_dict`` wrote; fields left out are None.

    Raises:
        ValueError: for an unknown type, or a field that this type does not have.
    """
    kind = _CHUNKS.get(data.get("type", ""))
    if kind is None:
        raise ValueError(f"no chunk has the type {data.get('type')!r}")
    values: Dict[str, Any] = dict.fromkeys(kind.__slots__)
    for name, value in data.items():
        if name != "type":
            if name not in values:
                raise ValueError(f"a {kind.type} chunk has no field {name!r}")
            values[name] = _READERS[name](value) if name in _READERS else value
    chunk: StreamChunk = kind(**values)
    return chunk
