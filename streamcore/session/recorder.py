# SPDX-License-Identifier: MIT
"""Records one call in a session log.

In: the chunks of a call and of each of its attempts. Out: the same chunks, each written
before it is passed on. The request is written before its first byte goes out. The message
is written just before the last chunk of a good attempt is passed on, and so is the turn's
end. A failed attempt keeps its chunks and gets no message. Refused with ``SESSION``: an
event that the log cannot take.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any, Dict, Generator, List, Optional

from ..runtime import PreparedCall, finish_of
from ..values.calls import LlmRequest
from ..values.chunks import FINISH_KINDS, Finish, FinishReason, StreamChunk
from ..values.errors import LlmError
from ..values.retry import RetryRecord

CALL_ENDS: Dict[str, str] = {
    **FINISH_KINDS,
    "closed": "the consumer left the stream, or raised, before the turn ended",
}
"""The reasons why a turn of one call ends, with their meanings: the kinds of a finish, and
``closed`` when there was no finish."""


class CallRecorder:
    """Writes one call to a session; the runtime's ``Recorder``.

    Args:
        session: the log, a ``Session``.
        turn: whether the call is a turn of its own. If so, the recorder also writes the
            turn's start and end, and the messages that the log does not have yet.
    """

    def __init__(self, session: Any, turn: bool = True) -> None:
        self._session = session
        self._turn = turn
        self._attempts = 0

    def turn(
        self, request: LlmRequest, chunks: Generator[StreamChunk, None, None]
    ) -> Generator[StreamChunk, None, None]:
        """Pass on the chunks of the whole call, and write the start and end of its turn.

        Raises:
            LlmError: ``INVALID_REQUEST`` for a conversation that no log can hold; ``SESSION``.
        """
        return self._whole_turn(request, chunks) if self._turn else chunks

    def attempt(
        self, call: PreparedCall, request: LlmRequest, chunks: Generator[StreamChunk, None, None]
    ) -> Generator[StreamChunk, None, None]:
        """Write the request, then pass on each chunk of the attempt after it was written."""
        session = self._session
        seqs: List[int] = []
        self._attempts += 1
        if self._attempts > 1:
            session.retry_started(self._attempts)
        session.request_header(
            call.config.to_dict(), call.adapter_defaults, request.system, request.tools
        )
        session.request_context(request.messages, call.facts)
        write = session.chunk
        with closing(chunks):
            for chunk in chunks:
                seqs.append(write(chunk))
                if isinstance(chunk, Finish) and chunk.reason.failure is None:
                    session.assistant_message(call.answer.message, None, seqs)
                yield chunk

    def retry(self, record: RetryRecord) -> None:
        """Write that another attempt will follow."""
        self._session.retry_scheduled(record)

    def _whole_turn(
        self, request: LlmRequest, chunks: Generator[StreamChunk, None, None]
    ) -> Generator[StreamChunk, None, None]:
        session = self._session
        session.turn_start()
        try:
            session.catch_up(request.messages)
            for chunk in chunks:
                if isinstance(chunk, Finish):
                    break
                yield chunk
            assert isinstance(chunk, Finish)  # the runtime's streams have exactly one
        except LlmError as error:
            self._left(finish_of(error))
            raise
        except BaseException:
            self._left(None)
            raise
        finally:
            chunks.close()
        session.turn_end(chunk.reason.kind, chunk.reason.failure)
        yield chunk

    def _left(self, end: Optional[FinishReason]) -> None:
        """Write the end of a turn that an exception ended; None if the consumer left or raised."""
        try:
            if end is None:
                self._session.turn_end("closed")
            else:
                self._session.turn_end(end.kind, end.failure)
        except LlmError:  # SESSION: the caller gets the exception that ended the turn instead
            pass
