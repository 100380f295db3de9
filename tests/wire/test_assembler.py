# SPDX-License-Identifier: MIT
"""MessageAssembler: chunks in, one message out, and only after the finish."""

from __future__ import annotations

from typing import List, Optional

import pytest

from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, ReasoningDelta, StreamChunk, TextDelta,
    ToolCallDelta, UsageChunk,
)
from streamcore.values.errors import Failure, LlmError, Partial
from streamcore.values.frozen import freeze
from streamcore.values.grammar import ChunkFault
from streamcore.values.messages import OpaqueBlock, ReasoningBlock, TextBlock, ToolCall
from streamcore.values.usage import TokenUsage
from streamcore.wire.assembler import MessageAssembler, assemble

CALL = ToolCall("a", "f", "{}")
BODY: List[StreamChunk] = [
    BlockStart(0, "reasoning"), ReasoningDelta(0, "h"), BlockStart(1, "text"), TextDelta(1, "x"),
    BlockStart(2, "tool-call"), ToolCallDelta(2, "a", "f", "{}"),
    ReasoningDelta(0, "m"), TextDelta(1, "y"),
]
ENDS: List[StreamChunk] = [
    BlockEnd(0, ReasoningBlock("hm")), BlockEnd(1, TextBlock("xy")), BlockEnd(2, CALL),
    UsageChunk(TokenUsage(3, 2)),
]


def finish(kind: str, failure: Optional[Failure] = None) -> Finish:
    return Finish(FinishReason(kind, failure), "word", "m", "r1", {"o": 1})


def test_whole_stream_gives_its_message() -> None:
    """Blocks in opening order, and what the provider said of itself."""
    message = assemble([*BODY, *ENDS, finish("tool-calls")])
    assert message.content == (ReasoningBlock("hm"), TextBlock("xy"), CALL)
    assert (message.text, message.reasoning, message.tool_calls) == ("xy", "hm", (CALL,))
    assert (message.finish, message.usage) == ("tool-calls", TokenUsage(3, 2))
    assert (message.model, message.response_id, message.extras) == ("m", "r1", {"o": 1})
    assert message.role == "assistant"


def test_stream_without_finish_is_closed() -> None:
    """A stream cut anywhere raises with what had arrived, without calls."""
    for size in range(len(BODY + ENDS) + 1):
        with pytest.raises(LlmError) as caught:
            assemble((BODY + ENDS)[:size])
        assert caught.value.code == "STREAM_CLOSED"
    assert caught.value.partial == Partial("xy", "hm", TokenUsage(3, 2))


@pytest.mark.parametrize("kind, code", [("error", "QUOTA"), ("aborted", "ABORTED")])
def test_error_and_aborted_finish_raise_their_failure(kind: str, code: str) -> None:
    """The error carries the partial answer."""
    failure = Failure(code, "why", False, 402)
    with pytest.raises(LlmError) as caught:
        assemble([*BODY, finish(kind, failure)])
    assert caught.value.failure == failure
    assert (caught.value.partial.text, caught.value.partial.reasoning) == ("xy", "hm")


def test_call_without_block_end_is_in_no_message() -> None:
    """A call dropped under max-tokens is not in the message."""
    message = assemble([*BODY, *ENDS[:2], finish("max-tokens")])
    assert message.tool_calls == () and message.text == "xy" and message.finish == "max-tokens"


def test_state_can_be_read_at_any_time() -> None:
    """``finish``, ``usage`` and ``partial`` while it runs and after."""
    machine = MessageAssembler()
    assert (machine.finish, machine.usage, machine.partial) == (None, None, Partial())
    for chunk in BODY + ENDS:
        machine.push(chunk)
    assert machine.partial == Partial("xy", "hm", TokenUsage(3, 2)) and machine.finish is None
    machine.push(finish("tool-calls"))
    assert machine.finish == "tool-calls" and machine.usage == TokenUsage(3, 2)
    assert machine.message == machine.message


def test_chunks_after_the_finish_and_second_ends_are_refused() -> None:
    """Chunks after the finish, and second ends, break the grammar."""
    machine = MessageAssembler()
    for chunk in (BlockStart(0, "text"), TextDelta(0, "x"), BlockEnd(0, TextBlock("x"))):
        machine.push(chunk)
    with pytest.raises(ChunkFault, match="second block-end"):
        machine.push(BlockEnd(0, TextBlock("x")))
    machine.push(finish("stop"))
    with pytest.raises(ChunkFault, match="after the finish"):
        machine.push(TextDelta(0, "more"))


def test_many_blocks_keep_their_order() -> None:
    """Several text and reasoning blocks, and opaque ones, stand in the order of opening."""
    search = OpaqueBlock(freeze({"type": "server_tool_use", "id": "s"}))
    signed = ReasoningBlock("", extras=freeze({"signature": "c2ln"}))
    message = assemble([
        BlockStart(0, "text"), BlockStart(1, "opaque", "server_tool_use"),
        BlockStart(2, "reasoning"), BlockStart(3, "text"), BlockStart(4, "reasoning"),
        TextDelta(3, "second"), TextDelta(0, "first "), ReasoningDelta(4, "hm"),
        BlockEnd(0, TextBlock("first ")), BlockEnd(1, search), BlockEnd(2, signed),
        BlockEnd(3, TextBlock("second")), BlockEnd(4, ReasoningBlock("hm")), finish("paused"),
    ])
    assert message.content == (
        TextBlock("first "), search, signed, TextBlock("second"), ReasoningBlock("hm"),
    )
    assert (message.text, message.reasoning, message.finish) == ("first second", "hm", "paused")


def test_message_says_whom_it_was_asked_of() -> None:
    """Provider, dialect and requested model are the assembler's to set; None by default."""
    machine = MessageAssembler("p", "d", "asked")
    for chunk in [*BODY, *ENDS, finish("tool-calls")]:
        machine.push(chunk)
    message = machine.message
    assert (message.provider, message.dialect, message.requested_model) == ("p", "d", "asked")
    message = assemble([*BODY, *ENDS, finish("tool-calls")])
    assert (message.provider, message.dialect, message.requested_model) == (None, None, None)


def test_what_is_no_chunk_is_refused() -> None:
    """A chunk's dict, pushed by mistake, is a TypeError and no empty message."""
    with pytest.raises(TypeError, match="not dict"):
        MessageAssembler().push(BODY[0].to_dict())  # type: ignore[arg-type]
