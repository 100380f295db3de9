# SPDX-License-Identifier: MIT
"""Chunks in, one trusted message out.

A message exists only after the finish chunk; until then there is ``partial``.
The blocks of the message are those of the block-ends, in the order of opening: a call
that got none is in no message. ``error`` and ``aborted`` finishes raise.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, Optional

from ..values.chunks import (
    BlockEnd,
    Finish,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from ..values.errors import Failure, LlmError, Partial
from ..values.frozen import freeze
from ..values.messages import AssistantMessage
from ..values.usage import TokenUsage


class ChunkFault(ValueError):
    """A chunk that breaks the grammar of the chunk stream; the text names the rule."""


class MessageAssembler:
    """Collects one chunk stream: ``push`` each chunk, then read ``message``.

    Args:
        provider, dialect, requested_model: who was asked, in what dialect, for which
            model; the message keeps them, for its extras go back to the same three only.
    ``error`` is the failure as it was raised, where whoever gives the chunks sets it: an
    error finish has its facts only, and ``message`` then raises the very exception.
    """

    def __init__(
        self,
        provider: Optional[str] = None,
        dialect: Optional[str] = None,
        requested_model: Optional[str] = None,
    ) -> None:
        self._provider = provider
        self._dialect = dialect
        self._requested_model = requested_model
        self._text: List[str] = []
        self._reasoning: List[str] = []
        self._ends: Dict[int, BlockEnd] = {}
        self._finish: Optional[Finish] = None
        self._usage: Optional[TokenUsage] = None
        self.error: Optional[LlmError] = None

    def push(self, chunk: StreamChunk) -> None:
        """Take the next chunk.

        Raises:
            TypeError: for what is no chunk, such as a chunk's dict.
            ChunkFault: for a chunk after the finish, or a second end of one block.
        """
        kind = chunk.__class__
        if self._finish is not None:
            raise ChunkFault(f"a {getattr(chunk, 'type', kind.__name__)} chunk after the finish")
        if kind is TextDelta:
            self._text.append(chunk.text)  # type: ignore[attr-defined]
        elif kind is ReasoningDelta:
            self._reasoning.append(chunk.text)  # type: ignore[attr-defined]
        elif kind is ToolCallDelta:
            return  # the block-end has the whole call
        elif isinstance(chunk, BlockEnd):
            if chunk.index in self._ends:
                raise ChunkFault(f"a second block-end for block {chunk.index}")
            self._ends[chunk.index] = chunk
        elif isinstance(chunk, UsageChunk):
            self._usage = chunk.usage
        elif isinstance(chunk, Finish):
            self._finish = chunk
        elif not isinstance(chunk, StreamChunk):
            raise TypeError(f"a chunk is a StreamChunk, not {kind.__name__}")

    @property
    def finish(self) -> Optional[str]:
        """The word for how the stream ended, a kind of ``FinishReason``; None while it runs."""
        return None if self._finish is None else self._finish.reason.kind

    @property
    def failure(self) -> Optional[Failure]:
        """The failure of an ``error`` or ``aborted`` finish; None for any other, and before."""
        return None if self._finish is None else self._finish.reason.failure

    @property
    def finish_word(self) -> Optional[str]:
        """The provider's own word for how the answer ended, or None."""
        return None if self._finish is None else self._finish.raw

    @property
    def usage(self) -> Optional[TokenUsage]:
        """The provider's last usage report, or None."""
        return self._usage

    @property
    def message(self) -> AssistantMessage:
        """The whole message.

        Raises:
            LlmError: the failure of an ``error`` or ``aborted`` finish;
                ``STREAM_CLOSED`` when no finish has come.
        """
        end = self._finish
        if end is None:
            raise LlmError(
                "the chunk stream has no finish", "STREAM_CLOSED", partial=self.partial
            )
        if self.error is not None and self.error.failure == end.reason.failure:
            raise self.error
        if end.reason.failure is not None:
            raise LlmError.from_failure(end.reason.failure, self.partial)
        return AssistantMessage(
            content=tuple(self._ends[index].block for index in sorted(self._ends)),
            extras=freeze(end.extras),
            finish=end.reason.kind,
            usage=self._usage,
            model=end.model,
            response_id=end.response_id,
            provider=self._provider,
            dialect=self._dialect,
            requested_model=self._requested_model,
        )

    @property
    def partial(self) -> Partial:
        """What has arrived so far; never a tool call."""
        return Partial("".join(self._text), "".join(self._reasoning), self._usage)


def assemble(chunks: Iterable[StreamChunk]) -> AssistantMessage:
    """Take a whole chunk stream and return its message.

    Raises:
        LlmError: when the stream fails, or ends without a finish.
    """
    assembler = MessageAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    return assembler.message
