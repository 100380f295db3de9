# SPDX-License-Identifier: MIT
"""The session: one log of a conversation, and what can be read from it.

In: a file, or nothing. Out: a valid history, a recorded request, an answer's chunk
stream, and what can be saved of a damaged file. Refused: ``SESSION`` for the file, its
lock and its disk; ``ValueError`` for an event that has no such thing.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, List, Union

from ..values.chunks import StreamChunk
from ..values.messages import Message
from . import recorded
from .recorder import CallRecorder
from .salvage import Salvaged, salvage
from .writing import WrittenLog


class Session(WrittenLog):
    """An append-only log of one conversation, in memory or in a JSON-lines file.

    Each recording method returns the ``seq`` of its event, and returns only when
    the event is in the log: record first, then act. One turn at a time is the
    use it is made for. Several threads may call it; their calls run one after another.
    After a fork, the child has a copy of a log in memory, and may only read one in a file.

    What a runtime records, in this order: ``turn_start``; ``user_message``; per
    request ``request_header`` and ``request_context``, both before the first byte
    goes out; each ``chunk`` before the consumer sees it; ``assistant_message`` with
    the numbers of its chunks once the message is whole (a failed attempt gets
    none); ``retry_scheduled`` and ``retry_started`` between attempts; per call
    ``tool_start`` before it runs and ``tool_result``; ``turn_end``. Each of them raises
    ``LlmError`` with ``SESSION`` when its event is not in the log for sure.

    Args:
        path: the file to continue, or to make (mode 0600); None keeps all in memory.
            One process at a time writes it, through one ``Session``, held by a lock
            that ends with the process.
        durability: when the file is synced to the disk. ``os``: never; what was
            recorded outlives the process, not a power cut. ``turn``: before a
            request or a tool starts, and at the end of a turn. ``event``: always.
            At the same moments, and at closing, a file that was removed, replaced or
            changed by somebody else is noticed.
        clock: gives seconds since the epoch, for the events' ``time``.
        about: facts for ``session/start`` of a new log, secrets masked.
        write, fsync: how bytes reach a file and its disk.
    Raises:
        LlmError: ``SESSION`` when the file cannot be opened, is being written by
            another, is no session, or is damaged before its last line.
        ValueError: for an unknown ``durability``.
    """

    @classmethod
    def open(cls, path: Union[str, os.PathLike[str]], **options: Any) -> Session:
        """Open the session kept in a file, recovering it, or begin a new one there.

        A last line that a killed process left unfinished is dropped from the file
        and told of in ``recovered``; everything before it is there, and recording
        goes on. Arguments and errors are those of ``Session``.
        """
        return cls(path, **options)

    def recorder(self, turn: bool = True) -> CallRecorder:
        """Return what writes one call of the runtime into this log.

        Args:
            turn: whether the call is a turn of its own, with its start and end.
        """
        return CallRecorder(self, turn)

    @staticmethod
    def salvage(
        path: Union[str, os.PathLike[str]], to: Union[str, os.PathLike[str], None] = None
    ) -> Salvaged:
        """Write all whole records of a damaged file into a new file, which ``open`` continues.

        Each record keeps its number. Where records are missing, events of the type
        ``session/lost`` stand in their place.

        Args:
            path: the damaged file, which stays as it is.
            to: the new file; by default ``path`` with ``.salvaged`` after it.
        Returns:
            What was kept, and what was left out and where.
        Raises:
            LlmError: ``SESSION`` when the file cannot be read, has no whole record or is of
                another format, and when the new file is there already or cannot be written.
        """
        return salvage(os.fsdecode(path), None if to is None else os.fsdecode(to))

    def derive_messages(self) -> List[Message]:
        """Return the conversation so far, as any strict provider accepts it.

        Each tool call has exactly one result, directly after its message and in call
        order: its own, or ``OUTCOME_UNKNOWN`` when it was started, or ``NOT_STARTED``.
        Failed attempts and empty answers are not in it. An assistant's message is an
        ``AssistantMessage``.
        """
        return self._state.history.messages()

    def replay(self, seq: int) -> Iterator[StreamChunk]:
        """Return the chunk stream of the answer recorded at ``seq``, equal to the first.

        Raises:
            ValueError: at once, when that event is no ``assistant/message``.
            IndexError: when there is no such event.
        """
        return recorded.replay(self.events, seq)

    def request_at(self, seq: int) -> recorded.RecordedRequest:
        """Return the pieces of the request that event ``seq`` is, or belongs to.

        With the same dialect and options they give the very body that was sent: messages
        are those of the time, not those the log derives now.

        Args:
            seq: number of a ``request/context`` or of any event after it, such as the
                answer; the last context up to there counts.
        Raises:
            ValueError: when no request was recorded before it, or an event that it was
                made of is lost.
            IndexError: when there is no such event.
        """
        seq = range(len(self))[seq]
        return recorded.request_at(self.events, self._state.notes, seq)

    def rebuild_request(self, seq: int) -> bytes:
        """Return the very body that was sent with event ``seq``; see ``request_at``.

        A value that was masked in the log (a key put into ``extra_body``, say) is
        masked in the body too.

        Raises:
            ValueError: as ``request_at``, and when the log does not say how the body was
                written.
            IndexError: when there is no such event.
        """
        return recorded.rebuild_body(self.request_at(seq))
