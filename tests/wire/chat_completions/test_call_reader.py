# SPDX-License-Identifier: MIT
"""The reader of tool-call fragments: its short way gives what its long way gives."""

from __future__ import annotations

import json
import random
from typing import Any, Dict, List

import pytest

from streamcore.values.chunks import StreamChunk
from streamcore.values.errors import LlmError
from streamcore.wire.dialects.chat_completions.call_reader import CallReader
from streamcore.wire.toolcalls import ToolCallAssembler


class LongWay(CallReader):
    """A reader without the short way."""

    def more(self, index: int, text: Any) -> Any:
        return None


def read(kind: type, deltas: List[Any], **limits: int) -> List[Any]:
    """Everything a reader says to a run of deltas, its last error included."""
    counts: List[str] = []
    chunks: List[StreamChunk] = []
    opened = iter(range(1000))
    reader = kind(ToolCallAssembler(**limits), lambda *_: next(opened), counts.append)
    said: List[Any] = []
    try:
        for fragments in deltas:
            reader.add(chunks, fragments)
        reader.flush(chunks)
        said = reader.finish()
    except LlmError as error:
        said = [error.code, str(error)]
    return [[chunk.to_dict() for chunk in chunks], counts, said]


def random_fragment(rng: random.Random) -> Dict[str, Any]:
    fragment: Dict[str, Any] = {}
    if rng.random() < 0.9:
        fragment["index"] = rng.choice([0, 0, 0, 1, 1, 2, True, 1.0, "1", None, []])
    if rng.random() < 0.25:
        fragment["id"] = rng.choice(["a", "b", "", None, 5])
    if rng.random() < 0.1:
        fragment["type"] = "function"
    if rng.random() < 0.05:
        fragment["extra"] = 1
    function: Dict[str, Any] = {}
    if rng.random() < 0.2:
        function["name"] = rng.choice(["f", "g", "", None])
    if rng.random() < 0.9:
        function["arguments"] = rng.choice(
            ['{"a":', "1", "}", '{"a":1}', "", None, " ", "\ud83d", "\ude00", "é", {"a": 1}, 7]
        )
    if rng.random() < 0.95:
        fragment["function"] = function
    return fragment


@pytest.mark.parametrize("seed", range(40))
def test_short_way_equals_the_long_way(seed: int) -> None:
    """On any run of fragments both give the same chunks, counts, calls and errors."""
    rng = random.Random(seed)
    for _ in range(60):
        deltas = [
            [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}],
            *([random_fragment(rng) for _ in range(rng.randint(1, 2))]
              for _ in range(rng.randint(0, 8))),
        ]
        limits = {"max_tool_argument_bytes": rng.choice([5, 12, 1000]), "max_tool_calls": 3}
        assert read(CallReader, deltas, **limits) == read(LongWay, deltas, **limits), deltas


@pytest.mark.parametrize("sent, counts", [
    ([("a", "f", {"x": 1})], ["tool_call_arguments_object"]),
    ([("a", "f", {})], ["tool_call_arguments_object"]),
    ([("a", "f", {"x": 1}), ("a", None, {"x": 1})],
     ["tool_call_arguments_object", "tool_call_arguments_repeated"]),
    ([("a", "f", '{"x":'), ("b", "", "1"), ("b", None, ""), ("a", None, "}")],
     ["tool_call_id_changed"] * 2),
    ([(None, "f", '{"x":'), ("late", None, "1"), ("late", None, "}")], []),
    ([("a", "f", "{}"), ("b", "f", "{}"), ("a", None, "")], []),
    ([("a", "f", "{}"), ("a", "g", "{}"), ("a", None, " ")], ["tool_call_id_repeated"]),
    ([("a", "f", '{"\ude00":"\ud83d'), (None, None, 'x\ud83d"}')], ["surrogate_half_alone"] * 3),
    ([("a", "f", '{"x":"\ud83d'), (None, None, "\ude00"), (None, None, '"}')], []),
])
@pytest.mark.parametrize("kind", [CallReader, LongWay])
def test_repairs_are_counted(kind: type, sent: List[Any], counts: List[str]) -> None:
    """Arguments made text, ids passed over, once a fragment, halves replaced; all at index 0."""
    deltas = [[{"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}]
              for id, name, arguments in sent]
    deltas = json.loads(json.dumps(deltas))
    assert read(kind, deltas)[1] == counts


def test_short_way_is_taken() -> None:
    """An index and more text for a call that is there does not go the long way."""
    reader = CallReader(ToolCallAssembler(), lambda *_: 0, lambda *_: None)
    chunks: List[StreamChunk] = []
    reader.add(chunks, [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"a'}}])
    reader._add = None  # type: ignore[method-assign,assignment]
    reader.add(chunks, [{"index": 0, "function": {"arguments": '":1}'}}])
    assert reader.finish()[0][1].arguments == '{"a":1}'  # type: ignore[attr-defined]
