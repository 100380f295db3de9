# SPDX-License-Identifier: MIT
"""What a running call writes to a session log, and when.

In: the attempts, chunks and retries of one call. Out: events of a ``Session``: the
request before its first byte goes out, each chunk before the caller sees it, the
message once it is whole, the turn's end with its last chunk. A failed attempt keeps
its chunks and gets no message. Refused as ``Session`` refuses: ``SESSION``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional

from ..session import Session
from ..values.calls import LlmRequest
from ..values.chunks import FINISH_KINDS, Finish, FinishReason, StreamChunk
from ..values.retry import RetryRecord
from ..wire.assembler import MessageAssembler
from .prepared import PreparedCall

CALL_ENDS: Dict[str, str] = {
    **FINISH_KINDS,
    "closed": "the turn was left before its end: its consumer went away, or raised",
}
"""Why a turn that is one call ended, and what the word means: the kinds of a finish, and
``closed`` where none came."""


class Record:
    """Records one call in a session.

    Args:
        session: the log.
        turn: whether the call is a turn of its own: then the messages the log does
            not have yet, and the turn's start and end, are recorded with it.
    """

    def __init__(self, session: Session, turn: bool) -> None:
        self._session = session
        self._turn = turn
        self._write: Callable[[StreamChunk], int] = session.chunk
        self._assembler = MessageAssembler()
        self._seqs: List[int] = []
        self._provider = ""
        self._begun = False
        self._ended = False

    def attempt(self, prepared: PreparedCall, request: LlmRequest) -> None:
        """Record the request, all of it, before any of it goes out.

        Raises:
            LlmError: ``INVALID_REQUEST`` for a conversation no log can hold; ``SESSION``.
        """
        session = self._session
        if self._turn and not self._begun:
            session.turn_start()
            self._begun = True
            session.catch_up(request.messages)
        self._assembler, self._seqs = MessageAssembler(), []
        self._provider = prepared.config.provider
        session.request_header(
            prepared.config.to_dict(), prepared.adapter_defaults, request.system, request.tools
        )
        session.request_context(request.messages, prepared.facts)

    def chunk(self, chunk: StreamChunk) -> None:
        """Record a chunk; with a good finish, the whole message too."""
        self._seqs.append(self._write(chunk))
        self._assembler.push(chunk)
        if chunk.__class__ is Finish:
            finish = self._assembler.finish
            if finish is not None and finish.kind not in ("error", "aborted"):
                self._message()

    def retry_scheduled(self, record: RetryRecord) -> None:
        """Record that another attempt was decided on."""
        self._session.retry_scheduled(record)

    def retry_started(self, attempt: int) -> None:
        """Record that the wait is over."""
        self._session.retry_started(attempt)

    def ended(self, finish: Optional[FinishReason]) -> None:
        """Record the end of the turn, once, where the call is one; None: it was left."""
        if not self._turn or not self._begun or self._ended:
            return
        self._ended = True
        if finish is None:
            self._session.turn_end("closed")
        else:
            self._session.turn_end(finish.kind, finish.failure)

    def _message(self) -> None:
        message: Any = replace(self._assembler.message, provider=self._provider)
        self._session.assistant_message(message, self._assembler.usage, self._seqs)
