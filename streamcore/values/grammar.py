# SPDX-License-Identifier: MIT
"""The grammar of the chunk stream, as a check to wrap round any chunk iterator.

In: chunks. Out: the same chunks. Refused with ``AssertionError`` and the rule
that was broken: the grammar is a promise of ours, and a break is a bug. What a
block's deltas say must equal the block its end carries. How many text and reasoning
blocks one answer has is the dialect's to say.
"""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Optional

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
from .messages import OpaqueBlock, ReasoningBlock, TextBlock, ToolCall, said_arguments

_DELTAS = {TextDelta: "text", ReasoningDelta: "reasoning", ToolCallDelta: "tool-call"}


class _Open:
    """One block and what its deltas have said."""

    def __init__(self, start: BlockStart) -> None:
        self.type = start.block_type
        self.kind = start.kind
        self.pieces: List[str] = []
        self.id: Optional[str] = None
        self.name: Optional[str] = None
        self.ended = False


class ChunkGrammar:
    """Checks one stream chunk by chunk; ``finish`` says that no more will come."""

    def __init__(self) -> None:
        self._blocks: Dict[int, _Open] = {}
        self._last_end = -1
        self._ending = False
        self._usage = False
        self._finished = False

    def push(self, chunk: StreamChunk) -> None:
        """Check the next chunk.

        Raises:
            AssertionError: with the rule it breaks.
        """
        _hold(isinstance(chunk, StreamChunk), f"a {type(chunk).__name__} is no chunk")
        _hold(not self._finished, f"{chunk.type} after the finish")
        if isinstance(chunk, BlockStart):
            self._start(chunk)
        elif isinstance(chunk, (TextDelta, ReasoningDelta, ToolCallDelta)):
            self._delta(chunk)
        elif isinstance(chunk, BlockEnd):
            self._end(chunk)
        elif isinstance(chunk, UsageChunk):
            _hold(not self._usage, "a second usage")
            self._usage = self._ending = True
        elif isinstance(chunk, Finish):
            self._finish(chunk)

    def finish(self) -> None:
        """Say that the stream is over.

        Raises:
            AssertionError: when it had no finish.
        """
        _hold(self._finished, "the stream has no finish")

    def _start(self, chunk: BlockStart) -> None:
        _hold(not self._ending, "block-start after the end began")
        _hold(chunk.index == len(self._blocks), f"block-start {chunk.index} out of order")
        _hold(chunk.block_type in BLOCK_TYPES, f"no block type {chunk.block_type!r}")
        opaque = chunk.block_type == "opaque"
        _hold(bool(chunk.kind) == opaque, f"{chunk.block_type} block of the kind {chunk.kind!r}")
        self._blocks[chunk.index] = _Open(chunk)

    def _delta(self, chunk: StreamChunk) -> None:
        index: int = chunk.index  # type: ignore[attr-defined]
        block = self._blocks.get(index)
        _hold(block is not None, f"{chunk.type} for block {index}, which never opened")
        assert block is not None
        _hold(not self._ending, f"{chunk.type} after the end began")
        _hold(_DELTAS[type(chunk)] == block.type, f"{chunk.type} in the {block.type} block {index}")
        if isinstance(chunk, ToolCallDelta):
            _hold(chunk.id is None or block.id is None, "a call's id told twice")
            _hold(chunk.name is None or block.name is None, "a call's name told twice")
            block.id, block.name = chunk.id or block.id, chunk.name or block.name
            block.pieces.append(chunk.arguments_delta)
        else:
            text: str = chunk.text  # type: ignore[attr-defined]
            _hold(bool(text), f"an empty {chunk.type}")
            block.pieces.append(text)

    def _end(self, chunk: BlockEnd) -> None:
        block = self._blocks.get(chunk.index)
        _hold(block is not None, f"block-end for block {chunk.index}, which never opened")
        assert block is not None
        _hold(not self._usage, "block-end after usage")
        _hold(chunk.index > self._last_end, f"block-end {chunk.index} out of order")
        self._last_end, self._ending, block.ended = chunk.index, True, True
        said, whole = "".join(block.pieces), chunk.block
        _hold(whole.type == block.type, f"a {block.type} block ends as {whole.type}")
        if isinstance(whole, ToolCall):
            _hold(bool(whole.id) and bool(whole.name), "a whole call without id or name")
            # An id the provider never sent is made at the end, and told there only.
            _hold(block.id in (None, whole.id), f"the deltas told {block.id!r}, not {whole.id!r}")
            _hold(block.name == whole.name, f"the deltas told {block.name!r}, not {whole.name!r}")
            _hold(whole.arguments == said_arguments(said), "arguments unlike the deltas")
        elif isinstance(whole, OpaqueBlock):
            _hold(whole.kind == block.kind, f"the start told {block.kind!r}, not {whole.kind!r}")
        elif isinstance(whole, (TextBlock, ReasoningBlock)):
            _hold(bool(said or whole.extras), f"an empty {whole.type} block")
            _hold(whole.text == said, f"{whole.type} unlike the deltas")

    def _finish(self, chunk: Finish) -> None:
        self._finished = True
        kind = chunk.reason.kind
        if kind in FAILED_KINDS:
            return
        for index, block in self._blocks.items():
            dropped = kind == "max-tokens" and block.type == "tool-call"
            _hold(block.ended or dropped, f"block {index} is open at the finish {kind}")
            _hold(not (block.ended and dropped), f"call {index} kept under max-tokens")
        calls = any(block.type == "tool-call" for block in self._blocks.values())
        _hold(kind in ("tool-calls", "max-tokens") or not calls, f"finish {kind} with calls")
        _hold(kind != "tool-calls" or calls, "finish tool-calls without a call")


def check_grammar(chunks: Iterable[StreamChunk]) -> Iterator[StreamChunk]:
    """Yield ``chunks``, checking each.

    Raises:
        AssertionError: with the rule a chunk, or the end of the stream, breaks.
    """
    grammar = ChunkGrammar()
    for chunk in chunks:
        grammar.push(chunk)
        yield chunk
    grammar.finish()


def _hold(condition: bool, rule: str) -> None:
    if not condition:
        raise AssertionError(f"chunk grammar: {rule}")
