# SPDX-License-Identifier: MIT
"""Chunks in, one trusted message out.

A message exists only after the finish chunk; until then there is ``partial``. The blocks of
the message are those of the block-ends, in the order of opening: a call that got none is in
no message. Refused: a chunk that breaks the grammar (``ChunkFault``). ``error`` and
``aborted`` finishes raise when the message is asked for.
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
        provider, dialect, requested_model: who was asked, in what dialect, for which
            model; the message keeps them, for its extras go back to the same three only.
    ``push`` takes the next chunk, and raises ``ChunkFault`` for one that breaks the grammar
    and ``TypeError`` for what is no chunk. ``error`` is the failure as it was raised, where
    whoever gives the chunks sets it: an error finish has its facts only, and ``message``
    then raises the very exception.
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
        """The failure of an ``error`` or ``aborted`` finish; None for any other, and before."""
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
        """What has arrived so far; never a tool call."""
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
