# SPDX-License-Identifier: MIT
"""The chunks: a logged chunk is read back as the same chunk."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, Dict

import pytest

from streamcore.values.chunks import (
    BLOCK_TYPES,
    FAILED_KINDS,
    FINISH_KINDS,
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
    chunk_from_dict,
)
from streamcore.values.errors import Failure
from streamcore.values.frozen import freeze
from streamcore.values.messages import OpaqueBlock, ReasoningBlock, TextBlock, ToolCall
from streamcore.values.usage import TokenUsage

FAILURE = Failure("SERVER", "it broke", True, status=500, retry_after=1.5)

TABLE = [
    (BlockStart(0, "text"), {"type": "block-start", "index": 0, "block_type": "text"}),
    (
        BlockStart(3, "opaque", "web_search_call"),
        {"type": "block-start", "index": 3, "block_type": "opaque", "kind": "web_search_call"},
    ),
    (
        BlockEnd(3, OpaqueBlock(freeze({"type": "made_up", "n": [1]}), extras=freeze({"x": 1}))),
        {
            "type": "block-end", "index": 3,
            "block": {
                "type": "opaque", "part": {"type": "made_up", "n": [1]}, "kind": "made_up",
                "extras": {"x": 1},
            },
        },
    ),
    (TextDelta(0, "结论"), {"type": "text-delta", "index": 0, "text": "结论"}),
    (ReasoningDelta(1, "先"), {"type": "reasoning-delta", "index": 1, "text": "先"}),
    (
        ToolCallDelta(2, "c", "f", ""),
        {"type": "tool-call-delta", "index": 2, "id": "c", "name": "f", "arguments_delta": ""},
    ),
    (
        ToolCallDelta(2, None, None, "{"),
        {"type": "tool-call-delta", "index": 2, "arguments_delta": "{"},
    ),
    (
        BlockEnd(0, TextBlock("a")),
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "a"}},
    ),
    (
        BlockEnd(0, ReasoningBlock("a", "reasoning")),
        {
            "type": "block-end", "index": 0,
            "block": {"type": "reasoning", "text": "a", "field": "reasoning"},
        },
    ),
    (
        BlockEnd(2, ToolCall("c", "f", "{}", freeze({"extra_content": {"s": [1]}}))),
        {
            "type": "block-end", "index": 2,
            "block": {
                "type": "tool-call", "id": "c", "name": "f", "arguments": "{}",
                "extras": {"extra_content": {"s": [1]}},
            },
        },
    ),
    (
        UsageChunk(TokenUsage(5, 2)),
        {"type": "usage", "usage": {"input_tokens": 5, "output_tokens": 2}},
    ),
    (UsageChunk(TokenUsage()), {"type": "usage", "usage": {}}),
    (Finish(FinishReason("stop")), {"type": "finish", "reason": {"kind": "stop"}}),
    (
        Finish(FinishReason("tool-calls"), "tool_calls", "m", "r", {"opaque": [1]}),
        {
            "type": "finish", "reason": {"kind": "tool-calls"}, "raw": "tool_calls", "model": "m",
            "response_id": "r", "extras": {"opaque": [1]},
        },
    ),
    (
        Finish(FinishReason("error", FAILURE), "error"),
        {
            "type": "finish", "raw": "error",
            "reason": {"kind": "error", "failure": FAILURE.to_dict()},
        },
    ),
]
IDS = [f"{shown['type']}-{i}" for i, (_, shown) in enumerate(TABLE)]


@pytest.mark.parametrize("chunk, shown", TABLE, ids=IDS)
def test_chunk_to_dict_and_back(chunk: StreamChunk, shown: Dict[str, Any]) -> None:
    """A dict has the type and the set fields, survives JSON, and reads back as the chunk."""
    assert chunk.to_dict() == shown
    assert chunk.type == shown["type"]
    assert chunk_from_dict(json.loads(json.dumps(chunk.to_dict()))) == chunk


@pytest.mark.parametrize("chunk, shown", TABLE, ids=IDS)
def test_chunk_copies_and_pickles(chunk: StreamChunk, shown: Dict[str, Any]) -> None:
    """A copied or pickled chunk equals the chunk."""
    for twin in (copy.copy(chunk), copy.deepcopy(chunk), pickle.loads(pickle.dumps(chunk))):
        assert twin == chunk and repr(twin) == repr(chunk)


def test_chunks_of_different_kind_or_value_differ() -> None:
    """Two chunks are equal only if their class and every field are equal."""
    for i, (one, _) in enumerate(TABLE):
        for j, (other, _) in enumerate(TABLE):
            assert (one == other) is (i == j)
    assert TextDelta(0, "a") != ReasoningDelta(0, "a")
    assert TextDelta(0, "a") != "a"


@pytest.mark.parametrize("chunk, shown", TABLE, ids=IDS)
def test_chunk_is_small(chunk: StreamChunk, shown: Dict[str, Any]) -> None:
    """Chunks have only slots: no dict, no misspelt field, no hash."""
    assert not hasattr(chunk, "__dict__")
    with pytest.raises(AttributeError):
        chunk.txt = "x"  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        hash(chunk)


def test_chunk_to_dict_is_plain() -> None:
    """A reader may change a chunk's dict, including extras that were frozen."""
    chunk = Finish(FinishReason("stop"), extras={"a": [1]})
    chunk.to_dict()["extras"]["a"].append(2)
    assert chunk.to_dict()["extras"] == {"a": [1]}


@pytest.mark.parametrize(
    "data",
    [
        {}, {"type": "x"}, {"type": None}, {"type": "text-delta", "index": 0, "txt": "a"},
        {"type": "finish", "reason": {"kind": "well"}},
        {"type": "block-end", "index": 0, "block": {"type": "x"}},
    ],
    ids=str,
)
def test_chunk_from_dict_unknown(data: Dict[str, Any]) -> None:
    """An unknown chunk, field, finish or block is a ValueError."""
    with pytest.raises(ValueError):
        chunk_from_dict(data)


@pytest.mark.parametrize("kind", FINISH_KINDS)
def test_finish_reason_kinds(kind: str) -> None:
    """Each way to end goes into a dict and back, with its failure if it has one."""
    reason = FinishReason(kind, FAILURE if kind in FAILED_KINDS else None)
    assert FinishReason.from_dict(reason.to_dict()) == reason


@pytest.mark.parametrize("kind", FINISH_KINDS)
def test_finish_reason_and_its_failure(kind: str) -> None:
    """A failed end is refused without a failure, and any other end with one."""
    with pytest.raises(ValueError, match=f"a finish {kind} comes with"):
        FinishReason(kind, None if kind in FAILED_KINDS else FAILURE)


def test_finish_reason_unknown() -> None:
    """An unknown kind of finish is refused."""
    with pytest.raises(ValueError, match="not 'length'"):
        FinishReason("length")


def test_block_types_are_the_blocks_of_an_answer() -> None:
    """The block types of a block-start are the types of the blocks in an answer."""
    assert BLOCK_TYPES == (TextBlock.type, ReasoningBlock.type, ToolCall.type, OpaqueBlock.type)
