# SPDX-License-Identifier: MIT
"""Chunks in, one trusted message out.

A message exists only after the finish chunk. Until then, ``partial`` has what has arrived.
The message holds the blocks that have a block-end, in the order in which they were opened. A
tool call without a block-end is left out. Refused: a chunk that breaks the grammar
(``ChunkFault``). After an ``error`` or ``aborted`` finish, reading ``message`` raises.
"""

from __future__ import annotations

from typing import Iterable, Optional

from ..values.chunks import StreamChunk
from ..values.errors import Failure, LlmError, Partial
from ..values.frozen import freeze
from ..values.grammar import ChunkGrammar
from ..values.messages import AssistantMessage
from ..values.usage import TokenUsage


class MessageAssembler:
    """Collects one chunk stream: ``push`` each chunk, then read ``message``.

    Args:
        provider, dialect, requested_model: who was asked, in which dialect, and for which
            model. The message keeps them, because its extras go back only to the same three.
    ``push`` takes the next chunk. It raises ``ChunkFault`` for a chunk that breaks the grammar
    and ``TypeError`` for a value that is not a chunk. The source of the chunks may set
    ``error`` to the exception that ended the stream, because an error finish holds only its
    facts. ``message`` then raises that exception itself.
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
        self._grammar = ChunkGrammar()
        self.push = self._grammar.push
        self.error: Optional[LlmError] = None

    @property
    def finish(self) -> Optional[str]:
        """The word for how the stream ended, a kind of ``FinishReason``; None while it runs."""
        end = self._grammar.end
        return None if end is None else end.reason.kind

    @property
    def failure(self) -> Optional[Failure]:
        """The failure of an ``error`` or ``aborted`` finish; None for any other or no finish."""
        end = self._grammar.end
        return None if end is None else end.reason.failure

    @property
    def finish_word(self) -> Optional[str]:
        """The provider's own word for how the answer ended, or None."""
        end = self._grammar.end
        return None if end is None else end.raw

    @property
    def usage(self) -> Optional[TokenUsage]:
        """The provider's last usage report, or None."""
        return self._grammar.usage

    @property
    def message(self) -> AssistantMessage:
        """The whole message.

        Raises:
            LlmError: the failure of an ``error`` or ``aborted`` finish;
                ``STREAM_CLOSED`` when no finish has come.
        """
        end = self._grammar.end
        if end is None:
            raise LlmError(
                "the chunk stream has no finish", "STREAM_CLOSED", partial=self.partial
            )
        if self.error is not None and self.error.failure == end.reason.failure:
            raise self.error
        if end.reason.failure is not None:
            raise LlmError.from_failure(end.reason.failure, self.partial)
        return AssistantMessage(
            content=tuple(b.whole for b in self._grammar.blocks if b.whole is not None),
            extras=freeze(end.extras),
            finish=end.reason.kind,
            usage=self._grammar.usage,
            model=end.model,
            response_id=end.response_id,
            provider=self._provider,
            dialect=self._dialect,
            requested_model=self._requested_model,
        )

    @property
    def partial(self) -> Partial:
        """What has arrived so far, without tool calls."""
        grammar = self._grammar
        return Partial(grammar.said("text"), grammar.said("reasoning"), grammar.usage)


def assemble(chunks: Iterable[StreamChunk]) -> AssistantMessage:
    """Take a whole chunk stream and return its message.

    Raises:
        LlmError: when the stream fails, or ends without a finish.
        ChunkFault: when a chunk breaks the grammar of the stream.
    """
    assembler = MessageAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    return assembler.message
