# SPDX-License-Identifier: MIT
"""The reader of tool-call fragments: what it counts."""

from __future__ import annotations

import json
from typing import Any, List

import pytest

from streamcore.wire.dialects.chat_completions.call_reader import CallReader
from streamcore.wire.toolcalls import ToolCallAssembler


def counted(deltas: List[Any]) -> List[str]:
    """All that a reader counts over a run of deltas."""
    counts: List[str] = []
    opened = iter(range(1000))
    reader = CallReader(ToolCallAssembler(), lambda *_: next(opened), counts.append)
    for fragments in deltas:
        reader.add([], fragments)
    reader.flush([])
    reader.finish()
    return counts


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
def test_repairs_are_counted(sent: List[Any], counts: List[str]) -> None:
    """Arguments made text, ids passed over, once a fragment, halves replaced; all at index 0."""
    deltas = [[{"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}]
              for id, name, arguments in sent]
    deltas = json.loads(json.dumps(deltas))
    assert counted(deltas) == counts
