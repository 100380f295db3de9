# SPDX-License-Identifier: MIT
"""The content of one answer: which block each event belongs to.

In: starts, deltas and stops, each with the provider's index. Out: chunks, and the block-ends
at the proven end. A delta never gets into a block of another kind. If no block of its kind
is open at its index, a text or thinking delta opens a new block, and this is counted. Refused:
arguments that belong to no call (``MALFORMED_TOOL_CALL``); wrong types, and an index that is
used again by a tool_use, or while a tool_use is open there (``MALFORMED_RESPONSE``).
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Set, Tuple

from ....values.chunks import BlockEnd
from ....values.errors import LlmError
from ....values.limits import ResolvedLimits
from ....values.strictjson import mend_text
from ...payload import malformed
from ...toolcalls import OpenCall, ToolCallAssembler, unique_id
from .parts import CallPart, Chunks, OpaquePart, Part, TextPart, ThinkingPart, has_value

Count = Callable[..., None]
"""Takes the name of a counter, and how many to add; one if no number is given."""

_TEXTS = {"text": TextPart, "thinking": ThinkingPart}
_HOMES = {
    "text_delta": "text", "citations_delta": "text",
    "thinking_delta": "thinking", "signature_delta": "thinking",
}
"""Delta → the kind of block that it belongs to."""


class Content:
    """Collects the blocks of one answer.

    Args:
        limits: only ``max_tool_calls`` and ``max_tool_argument_bytes`` apply here.
        count: counts by name what was skipped, repaired or dropped.
    ``open`` holds the blocks that have started and not stopped. Only this class changes it.
    """

    def __init__(self, limits: ResolvedLimits, count: Count) -> None:
        self._count = count
        self._assembler = ToolCallAssembler(limits.max_tool_calls, limits.max_tool_argument_bytes)
        self._parts: List[Part] = []  # in the order they started
        self.open: Dict[int, Part] = {}  # by the provider's index, until they stop
        self._misplaced: Dict[Tuple[int, str], Part] = {}  # blocks that a misplaced delta opened
        self._used: Set[int] = set()  # the provider's indexes so far
        self._blocks = 0  # neutral blocks opened so far
        self.took_object = False  # a call started with its input; the decoder resets it

    def __len__(self) -> int:
        return len(self._parts)

    def start(self, index: Any, block: Any) -> Chunks:
        """Take a block as it starts.

        Raises:
            LlmError: ``MALFORMED_RESPONSE`` for a wrong type, or an index that is used again
                by a tool_use or while a tool_use is open there.
        """
        kind = block.get("type") if isinstance(block, dict) else None
        if type(index) is not int or not isinstance(kind, str) or not kind:
            raise malformed("a content block has no index, or no type")
        if index in self._used:
            before = self.open.get(index)
            if kind == "tool_use" or isinstance(before, CallPart):
                raise malformed(f"two blocks have the index {index}, and one is a tool_use")
            self._count("block_index_again")
        chunks = self.stop(index) if index in self.open else []
        self._used.add(index)
        part = self.open[index] = self._make(kind, block)
        return chunks + part.begin(block)

    def delta(self, index: Any, delta: Any) -> Chunks:
        """Take a delta.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` for arguments that belong to no call,
                ``MALFORMED_RESPONSE`` for a wrong type.
        """
        if index.__class__ is not int or delta.__class__ is not dict:
            raise malformed("a delta has no index, or is not an object")
        kind = delta.get("type")
        part = self.open.get(index)
        if part is not None:
            if part.delta_type == kind:
                return part.grow(delta)
            chunks = part.also(kind, delta)
            if chunks is not None:
                return chunks
        return self._without_block(index, kind, delta)

    def stop(self, index: Any) -> Chunks:
        """Take the end of a block."""
        part = self.open.pop(index, None) if type(index) is int else None
        if part is None:
            self._count("block_stop_without_block")
            return []
        return part.stop()

    def finish(self) -> Chunks:
        """Say that the answer has ended; stop the blocks that are still open."""
        if self.open:
            self._count("block_never_stopped", len(self.open))
        chunks: Chunks = []
        for part in (*self.open.values(), *self._misplaced.values()):
            chunks += part.stop()
        self.open.clear()
        return chunks

    def ends(self, cut: bool) -> Tuple[List[BlockEnd], int]:
        """Return the block-ends in opening order, and how many of them are calls.

        Args:
            cut: whether the answer was cut at its token limit. Its calls are then dropped
                and counted.
        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` for a call that cannot be trusted.
        """
        ends = [
            BlockEnd(part.index, part.whole(cut)) for part in self._parts
            if not isinstance(part, CallPart) and part.index >= 0
        ]
        calls = [part for part in self._parts if isinstance(part, CallPart)]
        if calls and cut:
            self._count("tool_calls_dropped", len(calls))
        elif calls:
            whole = self._assembler.finish()
            ends += [BlockEnd(part.index, call) for part, call in zip(calls, whole)]
            for part in calls:
                part.check()
        ends.sort(key=lambda end: end.index)
        return ends, 0 if cut else len(calls)

    def so_far(self) -> Tuple[str, str]:
        """Return the text and the thinking that have arrived."""
        texts: List[str] = []
        thoughts: List[str] = []
        for part in self._parts:
            if isinstance(part, TextPart):
                (thoughts if isinstance(part, ThinkingPart) else texts).append(part.joined())
        return "".join(texts), "".join(thoughts)

    def _make(self, kind: str, block: Dict[str, Any]) -> Part:
        part: Part
        if kind in _TEXTS:
            part = _TEXTS[kind](self._next_index, self._count)
        elif kind == "tool_use":
            self.took_object = self.took_object or has_value(block.get("input"))
            part = CallPart(self._open_call(block), self._assembler)
        else:
            part = OpaquePart(mend_text(kind), self._next_index)
        self._parts.append(part)
        return part

    def _open_call(self, block: Dict[str, Any]) -> OpenCall:
        calls = [part.call for part in self._parts if isinstance(part, CallPart)]
        call = OpenCall(len(calls), self._next_index(), self._count)
        for name in ("id", "name"):
            text = block.get(name)
            if text is not None and type(text) is not str:
                raise malformed(f"the {name} of a tool_use block is a {type(text).__name__}")
            if text and text.strip():
                setattr(call, name, mend_text(text))
        taken = {one.id for one in calls}
        if call.id in taken and call.id:
            self._count("tool_call_id_repeated")
            call.id = unique_id(call.id, taken)
        known = ("type", "id", "name", "input")
        call.extras = {k: v for k, v in block.items() if k not in known and has_value(v)}
        return call

    def _without_block(self, index: int, kind: Any, delta: Dict[str, Any]) -> Chunks:
        """Take a delta when no block of its kind is open at its index."""
        if type(kind) is not str:
            raise malformed(f"the type of a delta is a {type(kind).__name__}")
        if kind == "input_json_delta" or "partial_json" in delta:
            if not delta.get("partial_json"):
                return []
            reason = f"arguments came for the block {index}, but no tool_use is open there"
            raise LlmError(reason, "MALFORMED_TOOL_CALL", phase="body")
        home = _HOMES.get(kind)
        if home is None:
            self._count("delta_of_unknown_type")
            return []
        part = self._misplaced.get((index, home))
        if part is None:
            self._count("delta_without_its_block")
            part = self._misplaced[index, home] = self._make(home, {})
        chunks = part.grow(delta) if part.delta_type == kind else part.also(kind, delta)
        return chunks or []

    def _next_index(self) -> int:
        self._blocks += 1
        return self._blocks - 1
