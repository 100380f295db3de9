# SPDX-License-Identifier: MIT
"""The grammar checker accepts what DESIGN.md §5 allows, and names each broken rule."""

from __future__ import annotations

from typing import Any, List

import pytest

from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, ReasoningDelta, TextDelta, ToolCallDelta,
    UsageChunk,
)
from streamcore.values.errors import Failure
from streamcore.values.frozen import FrozenDict
from streamcore.values.grammar import ChunkFault, ChunkGrammar, check_grammar
from streamcore.values.messages import OpaqueBlock, ReasoningBlock, TextBlock, ToolCall
from streamcore.values.usage import TokenUsage

FAILURE = Failure("SERVER", "why")


def end(kind: str, failure: Any = None) -> Finish:
    return Finish(FinishReason(kind, failure))


TEXT = [BlockStart(0, "text"), TextDelta(0, "a"), TextDelta(0, "b")]
TEXT_END = BlockEnd(0, TextBlock("ab"))
CALL = [
    BlockStart(1, "tool-call"), ToolCallDelta(1, "i", "f", ""), ToolCallDelta(1, None, None, "{}"),
]
CALL_END = BlockEnd(1, ToolCall("i", "f", "{}"))
SECOND = [BlockStart(2, "tool-call"), ToolCallDelta(2, "i", "f", CALL_END.block.arguments)]
USAGE = UsageChunk(TokenUsage(1, 1))
SEARCH = BlockStart(0, "opaque", "web_search_call")
SEARCH_END = BlockEnd(0, OpaqueBlock(FrozenDict(type="web_search_call")))
SIGNED = ReasoningBlock("", extras=FrozenDict(signature="c2ln"))
CITED = TextBlock("", FrozenDict(citations=[]))


@pytest.mark.parametrize("chunks", [
    [*TEXT, TEXT_END, end("stop")],
    [*TEXT, TEXT_END, USAGE, end("stop")],
    [*TEXT, *CALL, TEXT_END, CALL_END, USAGE, end("tool-calls")],
    [TEXT[0], CALL[0], TEXT[1], CALL[1], TEXT[2], CALL[2], TEXT_END, CALL_END, end("tool-calls")],
    [*TEXT, *CALL, TEXT_END, end("max-tokens")],
    [end("max-tokens")],
    [*TEXT, *CALL, end("error", FAILURE)],
    [*TEXT, end("aborted", FAILURE)],
    [BlockStart(0, "tool-call"), ToolCallDelta(0, None, "f", " "),
     BlockEnd(0, ToolCall("call_0", "f", "{}")), end("tool-calls")],
    [BlockStart(0, "reasoning"), ReasoningDelta(0, "h"), BlockEnd(0, ReasoningBlock("h")),
     end("stop")],
    [*TEXT, BlockStart(1, "reasoning"), BlockStart(2, "text"), BlockStart(3, "reasoning"),
     ReasoningDelta(3, "h"), TEXT_END, BlockEnd(1, SIGNED), BlockEnd(2, CITED),
     BlockEnd(3, ReasoningBlock("h")), end("stop")],
    [SEARCH, SEARCH_END, end("paused")],
    [SEARCH, SEARCH_END, end("awaits-client")],
    [end("paused")],
])
def test_allowed_stream_passes_unchanged(chunks: List[Any]) -> None:
    """The checker yields the chunks that it is given."""
    assert list(check_grammar(iter(chunks))) == chunks


@pytest.mark.parametrize("chunks, rule", [
    ([], "no finish"),
    ([*TEXT, TEXT_END], "no finish"),
    ([*TEXT, TEXT_END, end("stop"), end("stop")], "after the finish"),
    ([end("max-tokens"), TEXT[0]], "after the finish"),
    ([*TEXT, TEXT_END, USAGE, USAGE, end("stop")], "second usage"),
    ([*TEXT, USAGE, TEXT_END, end("stop")], "block-end after usage"),
    ([TEXT[1]], "never opened"),
    ([TEXT_END], "never opened"),
    ([BlockStart(1, "text")], "out of order"),
    ([TEXT[0], BlockStart(0, "tool-call")], "out of order"),
    ([BlockStart(0, "opaque")], "of the kind None"),
    ([BlockStart(0, "text", "web_search_call")], "of the kind 'web_search_call'"),
    ([SEARCH, TextDelta(0, "a")], "in the opaque block 0"),
    ([SEARCH, BlockEnd(0, OpaqueBlock(FrozenDict(), "other"))], "not 'other'"),
    ([BlockStart(0, "reasoning"), BlockEnd(0, ReasoningBlock(""))], "empty reasoning block"),
    ([BlockStart(0, "picture")], "no block type"),
    ([TEXT[0], ReasoningDelta(0, "a")], "in the text block 0"),
    ([TEXT[0], ToolCallDelta(0, "i", "f", "")], "in the text block 0"),
    ([TEXT[0], TextDelta(0, "")], "empty text-delta"),
    ([TEXT[0], BlockEnd(0, TextBlock(""))], "empty text block"),
    ([*TEXT, BlockEnd(0, TextBlock("a"))], "differs from the deltas"),
    ([*TEXT, BlockEnd(0, ReasoningBlock("ab"))], "ends as reasoning"),
    ([*TEXT, TEXT_END, TEXT_END], "second block-end"),
    ([*TEXT, TEXT_END, TextDelta(0, "c")], "after the end began"),
    ([*TEXT, TEXT_END, CALL[0]], "after the end began"),
    ([*TEXT, *CALL, CALL_END, TEXT_END], "out of order"),
    ([*TEXT, *CALL, ToolCallDelta(1, "j", None, "")], "id came twice"),
    ([*TEXT, *CALL, ToolCallDelta(1, None, "g", "")], "name came twice"),
    ([*TEXT, *CALL, TEXT_END, BlockEnd(1, ToolCall("j", "f", "{}"))], "deltas said"),
    ([*TEXT, *CALL, TEXT_END, BlockEnd(1, ToolCall("i", "g", "{}"))], "deltas said"),
    ([*TEXT, *CALL, TEXT_END, BlockEnd(1, ToolCall("i", "f", "{ }"))], "arguments differ"),
    ([*TEXT, CALL[0], TEXT_END, BlockEnd(1, ToolCall("", "", "{}"))], "without id or name"),
    ([*TEXT, end("stop")], "open at the finish"),
    ([*TEXT, *CALL, TEXT_END, end("tool-calls")], "open at the finish"),
    ([*TEXT, end("max-tokens")], "open at the finish"),
    ([*TEXT, *CALL, TEXT_END, CALL_END, end("max-tokens")], "kept under max-tokens"),
    ([*TEXT, *CALL, TEXT_END, CALL_END, end("stop")], "stop with calls"),
    ([*TEXT, *CALL, TEXT_END, CALL_END, end("paused")], "paused with calls"),
    ([*TEXT, *CALL, TEXT_END, CALL_END, end("awaits-client")], "awaits-client with calls"),
    ([SEARCH, end("paused")], "open at the finish paused"),
    ([*TEXT, TEXT_END, end("tool-calls")], "without a call"),
    ([*TEXT, *CALL, *SECOND, TEXT_END, CALL_END, BlockEnd(2, CALL_END.block)], "two calls"),
    ([BlockStart(0, "tool-call"), ToolCallDelta(0, "i", "f", "{"),
      BlockEnd(0, ToolCall("i", "f", "{"))], "do not parse"),
])
def test_broken_rule_is_named(chunks: List[Any], rule: str) -> None:
    """Each broken rule is a ChunkFault that names the rule."""
    with pytest.raises(ChunkFault, match=rule):
        list(check_grammar(chunks))


def test_what_is_no_chunk_is_a_type_error() -> None:
    """A value that is not a chunk, such as a chunk's dict, is a TypeError."""
    for odd in ("text", {"type": "text-delta"}):
        with pytest.raises(TypeError, match="a chunk is a StreamChunk"):
            list(check_grammar([odd]))  # type: ignore[list-item]


def test_machine_and_iterator_check_alike() -> None:
    """``push`` and ``finish`` check the same rules as ``check_grammar``."""
    grammar = ChunkGrammar()
    for chunk in [*TEXT, TEXT_END, end("stop")]:
        grammar.push(chunk)
    grammar.finish()
