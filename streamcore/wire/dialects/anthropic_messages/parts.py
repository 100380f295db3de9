# SPDX-License-Identifier: MIT
"""The content blocks of an answer while they form, one class for each neutral block.

In: the block as ``content_block_start`` has it, then its deltas. Out: chunks, and at the
end the whole block. The first character of a text or thinking block opens it, or its first
extra, such as a signature. A block with neither is dropped. Refused with
``MALFORMED_RESPONSE``: a field of the wrong type.
"""

from __future__ import annotations

import json
from typing import Any, Callable, ClassVar, Dict, List, Optional, Type, Union

from ....values.chunks import (
    BlockStart, ReasoningDelta, StreamChunk, TextDelta, ToolCallDelta,
)
from ....values.messages import (
    Block, OpaqueBlock, ReasoningBlock, TextBlock, parse_arguments,
)
from ....values.strictjson import loads, mend_surrogates
from ...growing import Count, GrowingText
from ...payload import malformed, shown
from ...toolcalls import OpenCall, ToolCallAssembler

Chunks = List[StreamChunk]
NextIndex = Callable[[], int]
"""Returns the index of the next neutral block. Called when the block opens."""

_UNOPENED = -1

SERVER_TOOLS = ("server_tool_use", "mcp_tool_use")
"""Calls that the provider runs itself: opaque blocks whose input arrives in fragments."""


class TextPart(GrowingText):
    """A text block; its citations are extras."""

    __slots__ = ("extras", "_next")
    delta_type: ClassVar[str] = "text_delta"
    key: ClassVar[str] = "text"
    block_type: ClassVar[str] = "text"
    chunk: ClassVar[Type[Union[TextDelta, ReasoningDelta]]] = TextDelta

    def __init__(self, next_index: NextIndex, count: Count) -> None:
        super().__init__(_UNOPENED, count)
        self.extras: Dict[str, Any] = {}
        self._next = next_index

    def begin(self, block: Dict[str, Any]) -> Chunks:
        """Take the block as it started; return its chunks."""
        extras = {k: v for k, v in block.items() if k not in ("type", self.key) and has_value(v)}
        self.extras.update(extras)
        return self.grow(block) or (self._open() if extras else [])

    def grow(self, delta: Dict[str, Any]) -> Chunks:
        """Take a delta of the block's own type."""
        text = delta.get(self.key)
        if text.__class__ is not str:
            if text is None:
                return []
            raise malformed(f"the {self.key} of a block is a {type(text).__name__}")
        if not text or self._half or self.index < 0 or not text.isascii():
            return self._show(self.add(text)) if text else []
        self.pieces.append(text)  # nearly every delta: this saves two calls
        return [self.chunk(self.index, text)]

    def also(self, kind: Any, delta: Dict[str, Any]) -> Optional[Chunks]:
        """Take a delta of another type; None if it cannot belong to this block."""
        if kind != "citations_delta":
            return None
        if has_value(delta.get("citation")):
            citations = self.extras.setdefault("citations", [])
            if not isinstance(citations, list):
                raise malformed(f"the citations of a text are a {type(citations).__name__}")
            citations.append(delta["citation"])
        return self._open() if self.extras else []

    def stop(self) -> Chunks:
        """Say that no more deltas come."""
        return self._show(self.finish())

    def whole(self, cut: bool) -> Block:
        """Return the block; ``cut`` says whether the answer was cut at its token limit."""
        return TextBlock(self.joined(), mend_surrogates(self.extras) or None)

    def _show(self, text: str) -> Chunks:
        if not text:
            return []
        if self.index == _UNOPENED:
            return [*self._open(), self.chunk(self.index, text)]
        return [self.chunk(self.index, text)]

    def _open(self) -> Chunks:
        if self.index != _UNOPENED:
            return []
        self.index = self._next()
        return [BlockStart(self.index, self.block_type)]


class ThinkingPart(TextPart):
    """A thinking block; its signature is an extra."""

    __slots__ = ()
    delta_type = "thinking_delta"
    key = "thinking"
    block_type = "reasoning"
    chunk = ReasoningDelta

    def also(self, kind: Any, delta: Dict[str, Any]) -> Optional[Chunks]:
        """Take the signature. It arrives once, after the thinking."""
        if kind != "signature_delta":
            return None
        if has_value(delta.get("signature")):
            self.extras["signature"] = delta["signature"]
        return self._open() if self.extras else []

    def whole(self, cut: bool) -> Block:
        """Return the block; ``cut`` as in ``TextPart``."""
        return ReasoningBlock(self.joined(), "thinking", mend_surrogates(self.extras) or None)


class CallPart:
    """A tool_use block. The assembler parses and checks the call at the end."""

    delta_type: ClassVar[str] = "input_json_delta"

    def __init__(self, call: OpenCall, assembler: ToolCallAssembler) -> None:
        self.call = call
        self._assembler = assembler
        self._told: Any = None  # the whole input, if the start already had it

    @property
    def index(self) -> int:
        """The index of the neutral block."""
        return self.call.index

    def begin(self, block: Dict[str, Any]) -> Chunks:
        """Take the block as it started: its id, its name, and sometimes its whole input."""
        told = block.get("input")
        self._told = told if has_value(told) else None
        self._assembler.open(self.call)
        start = ToolCallDelta(self.index, self.call.id or None, self.call.name or None, "")
        return [BlockStart(self.index, "tool-call"), start]

    def grow(self, delta: Dict[str, Any]) -> Chunks:
        """Take a fragment of the arguments."""
        text = delta.get("partial_json")
        if text.__class__ is not str:
            if text is None:
                return []
            raise malformed(f"the partial_json of a block is a {type(text).__name__}")
        more = self._assembler.extend(self.call, text) if text else ""
        return [ToolCallDelta(self.call.index, None, None, more)] if more else []

    def also(self, kind: Any, delta: Dict[str, Any]) -> Optional[Chunks]:
        """Take no other delta, so that nothing else gets into the arguments."""
        return None

    def stop(self) -> Chunks:
        """Say that no more fragments come; show the input if only the start had it."""
        chunks: Chunks = []
        if self._told is not None and not self.call.pieces:
            chunks += self._show(json.dumps(self._told, ensure_ascii=False))
            self._told = None
        rest = self.call.finish()
        return chunks + ([ToolCallDelta(self.index, None, None, rest)] if rest else [])

    def check(self) -> None:
        """Refuse arguments that came twice and differ. The assembler has parsed them before."""
        if self._told is None:
            return
        if parse_arguments(self.call.joined()) != mend_surrogates(self._told):
            raise malformed("the input of a tool_use block came twice, and the two differ")

    def _show(self, text: str) -> Chunks:
        more = self._assembler.extend(self.call, text)
        return [ToolCallDelta(self.index, None, None, more)] if more else []


class OpaquePart:
    """A block of any other kind: kept whole and shown as one block.

    Redacted thinking and results of server tools are whole when they start. A field that
    arrives later is added to the field of the same name.
    """

    delta_type: ClassVar[str] = ""  # it takes deltas of any type: see ``also``

    def __init__(self, kind: str, next_index: NextIndex) -> None:
        self.kind = kind
        self.index = next_index()
        self._part: Dict[str, Any] = {}
        self._grown: Dict[str, List[str]] = {}  # field → the text that arrived in deltas

    def begin(self, block: Dict[str, Any]) -> Chunks:
        """Take the block as it started."""
        self._part = dict(block)
        return [BlockStart(self.index, "opaque", self.kind)]

    def grow(self, delta: Dict[str, Any]) -> Chunks:
        """Take a delta that has no type."""
        self._add(delta)
        return []

    def also(self, kind: Any, delta: Dict[str, Any]) -> Optional[Chunks]:
        """Take a delta of any type; a server tool takes only its input."""
        if self.kind in SERVER_TOOLS and kind != "input_json_delta":
            return None
        self._add(delta)
        return []

    def stop(self) -> Chunks:
        """Say that no more deltas come."""
        return []

    def whole(self, cut: bool) -> Block:
        """Return the block.

        Args:
            cut: whether the answer was cut at its token limit. An input that is not whole
                then stays as the start had it.
        Raises:
            LlmError: ``MALFORMED_RESPONSE`` for an input that is not JSON, or that came
                twice and differs.
        """
        part = dict(self._part)
        for name, pieces in self._grown.items():
            text = "".join(pieces)
            if name == "partial_json":
                self._set_input(part, text, cut)
            else:
                before = part.get(name)
                part[name] = before + text if isinstance(before, str) else text
        return OpaqueBlock(mend_surrogates(part), self.kind)

    def _set_input(self, part: Dict[str, Any], text: str, cut: bool) -> None:
        try:
            value = loads(text)
        except ValueError as bad:
            if cut:
                return
            reason = f"the input of a {self.kind} block is not JSON ({bad}): {shown(text)}"
            raise malformed(reason) from None
        if has_value(part.get("input")) and part["input"] != value:
            raise malformed(f"the input of a {self.kind} block came twice, and the two differ")
        part["input"] = value

    def _add(self, delta: Dict[str, Any]) -> None:
        for name, value in delta.items():
            if name == "type" or value is None or value == "":
                continue
            if isinstance(value, str):
                self._grown.setdefault(name, []).append(value)
            elif isinstance(value, list) and isinstance(self._part.get(name), list):
                self._part[name] = [*self._part[name], *value]
            else:
                self._part[name] = value


Part = Union[TextPart, CallPart, OpaquePart]


def has_value(value: Any) -> bool:
    """Say whether a value is more than null, "", [] and {}."""
    return value is not None and value != "" and value != [] and value != {}
