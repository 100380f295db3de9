# SPDX-License-Identifier: MIT
"""The grammar of the chunk stream: which chunk may follow which, and what a block's end holds.

In: chunks, one by one. Out: the blocks, the usage and the finish. Refused with ``ChunkFault``,
which names the rule: a chunk that breaks the grammar. The block in a block's end must equal what
the deltas said. The dialect decides how many text and reasoning blocks an answer has.
``check_grammar`` checks any iterator of chunks.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Optional, Set

from .chunks import (
    BLOCK_TYPES,
    FAILED_KINDS,
    BlockEnd,
    BlockStart,
    Finish,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from .messages import Block, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall, said_arguments
from .usage import TokenUsage

_TAKES = {"text": TextDelta, "reasoning": ReasoningDelta, "tool-call": ToolCallDelta}


class ChunkFault(ValueError):
    """A chunk breaks the grammar of the chunk stream; the text names the rule."""


class GrowingBlock:
    """One block: what opened it, what its deltas said, and the whole block once it has ended."""

    __slots__ = ("type", "kind", "takes", "pieces", "id", "name", "whole")

    def __init__(self, start: BlockStart) -> None:
        self.type = start.block_type
        self.kind = start.kind
        self.takes = _TAKES.get(self.type)  # the class of its deltas
        self.pieces: List[str] = []
        self.id: Optional[str] = None
        self.name: Optional[str] = None
        self.whole: Optional[Block] = None


class ChunkGrammar:
    """Checks one stream chunk by chunk. ``finish`` says that no more chunks will come.

    ``blocks`` are the blocks in the order of opening. ``usage`` is the usage report and
    ``end`` the finish chunk; each is None until it has come.
    """

    def __init__(self) -> None:
        self.blocks: List[GrowingBlock] = []
        self.usage: Optional[TokenUsage] = None
        self.end: Optional[Finish] = None
        self._open: Dict[int, GrowingBlock] = {}  # takes deltas; {} once the end has begun
        self._ending = False  # a block-end or the usage has come
        self._last_end = -1
        self._ids: Set[str] = set()  # of the whole calls

    def push(self, chunk: StreamChunk) -> None:
        """Check the next chunk.

        Raises:
            ChunkFault: with the rule that the chunk breaks.
            TypeError: for a value that is not a chunk, such as a chunk's dict.
        """
        kind = chunk.__class__
        if kind is TextDelta or kind is ReasoningDelta:
            delta: Any = chunk
            block = self._open.get(delta.index)
            if block is None or block.takes is not kind or not delta.text:
                raise self._odd_delta(delta, block)
            block.pieces.append(delta.text)
        elif kind is ToolCallDelta:
            self._call(chunk)
        elif not isinstance(chunk, StreamChunk):
            raise TypeError(f"a chunk is a StreamChunk, not {kind.__name__}")
        elif self.end is not None:
            raise _after_finish(chunk)
        elif isinstance(chunk, BlockStart):
            self._start(chunk)
        elif isinstance(chunk, BlockEnd):
            self._end(chunk)
        elif isinstance(chunk, UsageChunk):
            _hold(self.usage is None, "a second usage")
            self._begin_end()
            self.usage = chunk.usage
        elif isinstance(chunk, Finish):
            self._finish(chunk)

    def finish(self) -> None:
        """Say that the stream is over.

        Raises:
            ChunkFault: if no finish chunk has come.
        """
        _hold(self.end is not None, "the stream has no finish")

    def said(self, block_type: str) -> str:
        """Return what the deltas of all blocks of a type have said so far, joined."""
        found = (block for block in self.blocks if block.type == block_type)
        return "".join(piece for block in found for piece in block.pieces)

    def _start(self, chunk: BlockStart) -> None:
        _hold(not self._ending, "block-start after the end began")
        _hold(chunk.index == len(self.blocks), f"block-start {chunk.index} out of order")
        _hold(chunk.block_type in BLOCK_TYPES, f"no block type {chunk.block_type!r}")
        opaque = chunk.block_type == "opaque"
        _hold(bool(chunk.kind) == opaque, f"{chunk.block_type} block of the kind {chunk.kind!r}")
        block = self._open[chunk.index] = GrowingBlock(chunk)
        self.blocks.append(block)

    def _call(self, chunk: Any) -> None:
        block = self._open.get(chunk.index)
        if block is None or block.takes is not ToolCallDelta:
            raise self._odd_delta(chunk, block)
        _hold(chunk.id is None or block.id is None, "a call's id came twice")
        _hold(chunk.name is None or block.name is None, "a call's name came twice")
        block.id, block.name = chunk.id or block.id, chunk.name or block.name
        block.pieces.append(chunk.arguments_delta)

    def _odd_delta(self, chunk: Any, block: Optional[GrowingBlock]) -> ChunkFault:
        if self.end is not None:
            return _after_finish(chunk)
        if self._ending:
            return ChunkFault(f"{chunk.type} after the end began")
        if block is None:
            return ChunkFault(f"{chunk.type} for block {chunk.index}, which never opened")
        fits = block.takes is type(chunk)
        where = f"in the {block.type} block {chunk.index}"
        return ChunkFault(f"an empty {chunk.type}" if fits else f"{chunk.type} {where}")

    def _begin_end(self) -> None:
        self._ending = True
        self._open = {}

    def _end(self, chunk: BlockEnd) -> None:
        known = 0 <= chunk.index < len(self.blocks)
        _hold(known, f"block-end for block {chunk.index}, which never opened")
        _hold(self.usage is None, "block-end after usage")
        again = self.blocks[chunk.index].whole is not None
        _hold(not again, f"a second block-end for block {chunk.index}")
        _hold(chunk.index > self._last_end, f"block-end {chunk.index} out of order")
        self._begin_end()
        self._last_end = chunk.index
        block, whole = self.blocks[chunk.index], chunk.block
        _hold(whole.type == block.type, f"a {block.type} block ends as {whole.type}")
        self._compare(block, whole)
        block.whole = whole

    def _compare(self, block: GrowingBlock, whole: Block) -> None:
        """Compare the block in a block's end with its start and its deltas."""
        said = "".join(block.pieces)
        if isinstance(whole, ToolCall):
            _hold(bool(whole.id) and bool(whole.name), "a whole call without id or name")
            # If the provider sent no id, one is made at the end; the deltas do not have it.
            _hold(block.id in (None, whole.id), f"the deltas said {block.id!r}, not {whole.id!r}")
            _hold(block.name == whole.name, f"the deltas said {block.name!r}, not {whole.name!r}")
            _hold(whole.arguments == said_arguments(said), "the arguments differ from the deltas")
            _hold(whole.id not in self._ids, f"two calls with the id {whole.id!r}")
            self._ids.add(whole.id)
            try:
                whole.parsed()
            except ValueError as bad:
                raise ChunkFault(f"the arguments of a whole call do not parse: {bad}") from None
        elif isinstance(whole, OpaqueBlock):
            _hold(whole.kind == block.kind, f"the start said {block.kind!r}, not {whole.kind!r}")
        elif isinstance(whole, (TextBlock, ReasoningBlock)):
            _hold(bool(said or whole.extras), f"an empty {whole.type} block")
            _hold(whole.text == said, f"the {whole.type} differs from the deltas")

    def _finish(self, chunk: Finish) -> None:
        kind = chunk.reason.kind
        if kind not in FAILED_KINDS:
            for index, block in enumerate(self.blocks):
                ended = block.whole is not None
                dropped = kind == "max-tokens" and block.type == "tool-call"
                _hold(ended or dropped, f"block {index} is open at the finish {kind}")
                _hold(not (ended and dropped), f"call {index} kept under max-tokens")
            calls = any(block.type == "tool-call" for block in self.blocks)
            _hold(kind in ("tool-calls", "max-tokens") or not calls, f"finish {kind} with calls")
            _hold(kind != "tool-calls" or calls, "finish tool-calls without a call")
        self._begin_end()
        self.end = chunk


def check_grammar(chunks: Iterable[StreamChunk]) -> Iterator[StreamChunk]:
    """Yield ``chunks`` and check each.

    Raises:
        ChunkFault: with the rule that a chunk, or the end of the stream, breaks.
    """
    grammar = ChunkGrammar()
    for chunk in chunks:
        grammar.push(chunk)
        yield chunk
    grammar.finish()


def _after_finish(chunk: StreamChunk) -> ChunkFault:
    return ChunkFault(f"a {chunk.type} chunk after the finish")


def _hold(condition: bool, rule: str) -> None:
    if not condition:
        raise ChunkFault(rule)
