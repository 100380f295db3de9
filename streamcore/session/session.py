# SPDX-License-Identifier: MIT
"""The session: one log of a conversation, and what can be read from it.

In: a file, or nothing for a log in memory. Out: a valid history, a recorded request, an
answer's chunk stream, and the whole records of a damaged file. Refused: ``SESSION`` for
the file, its lock and its disk; ``ValueError`` for an event without a request or answer.
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

    Each recording method returns the ``seq`` of its event once the event is in the log.
    Record first, then act. A session holds one turn at a time. Several threads may call
    it; their calls run one after another. After a fork, the child has its own copy of a
    log in memory. It can read a log in a file, but not write it.

    A runtime records in this order: ``turn_start``; ``user_message``; for each request
    ``request_header`` and ``request_context``, both before the first byte goes out; each
    ``chunk`` before the consumer sees it; ``assistant_message`` with the numbers of its
    chunks once the message is whole (a failed attempt has no message);
    ``retry_scheduled`` and ``retry_started`` between attempts; for each tool call
    ``tool_start`` before the tool runs and ``tool_result`` after it; ``turn_end``. Each
    method raises ``LlmError`` with ``SESSION`` when its event may be missing from the log.

    Args:
        path: the file to continue or to create (mode 0600); None keeps the log in
            memory. One process at a time writes the file, through one ``Session``. The
            session holds a lock, which ends with the process.
        durability: when the file is synced to the disk. ``os``: never; recorded events
            outlive the process, but not a power cut. ``turn``: before a request or a
            tool starts, and at the end of a turn. ``event``: after each event. At the
            same moments, and at closing, the session checks that nobody else removed,
            replaced or changed the file.
        clock: returns seconds since the epoch, for the events' ``time``.
        about: facts for ``session/start`` of a new log; secrets are masked.
        write, fsync: write bytes to a descriptor, and sync it to the disk.
    Raises:
        LlmError: ``SESSION`` when the file cannot be opened, another session is writing
            it, it is not a session, or it is damaged before its last line.
        ValueError: for an unknown ``durability``.
    """

    @classmethod
    def open(cls, path: Union[str, os.PathLike[str]], **options: Any) -> Session:
        """Open the session in a file, or begin a new session there.

        A killed process may have left an unfinished last line. It is cut off, and
        ``recovered`` describes it. All events before it are kept, and recording goes on.
        Arguments and errors are those of ``Session``.
        """
        return cls(path, **options)

    def recorder(self, turn: bool = True) -> CallRecorder:
        """Return a recorder that writes one call of the runtime into this log.

        Args:
            turn: whether the call is a turn of its own, with its start and end.
        """
        return CallRecorder(self, turn)

    @staticmethod
    def salvage(
        path: Union[str, os.PathLike[str]], to: Union[str, os.PathLike[str], None] = None
    ) -> Salvaged:
        """Write all whole records of a damaged file into a new file, which ``open`` can continue.

        Each record keeps its number. An event of the type ``session/lost`` replaces each
        missing record.

        Args:
            path: the damaged file, which stays as it is.
            to: the new file; by default ``path`` with ``.salvaged`` after it.
        Returns:
            What was kept, and what was left out and where.
        Raises:
            LlmError: ``SESSION`` when the file cannot be read, has no whole record or is of
                another format, or when the new file exists already or cannot be written.
        """
        return salvage(os.fsdecode(path), None if to is None else os.fsdecode(to))

    def derive_messages(self) -> List[Message]:
        """Return the conversation so far, in a form that any strict provider accepts.

        Each tool call has exactly one result, directly after its message and in call
        order. A call without a recorded result gets ``OUTCOME_UNKNOWN`` if it was
        started, else ``NOT_STARTED``. Failed attempts and empty answers are left out. An
        assistant's message is an ``AssistantMessage``.
        """
        return self._state.history.messages()

    def replay(self, seq: int) -> Iterator[StreamChunk]:
        """Return the recorded chunks of the answer at ``seq``, equal to those first streamed.

        Raises:
            ValueError: at once, when that event is not an ``assistant/message`` or does not
                name its chunks; while iterating, for a damaged chunk.
            IndexError: when there is no such event.
        """
        return recorded.replay(self.events, seq)

    def request_at(self, seq: int) -> recorded.RecordedRequest:
        """Return the parts of the request that event ``seq`` records or belongs to.

        With the same dialect and options they give the same body that was sent. The
        messages are those sent then, not those that ``derive_messages`` returns now.

        Args:
            seq: number of a ``request/context`` or of a later event, such as the answer.
                The last context up to ``seq`` counts.
        Raises:
            ValueError: when no whole request was recorded up to ``seq``, or when an event
                is lost that the request may have been made of.
            IndexError: when there is no such event.
        """
        seq = range(len(self))[seq]
        return recorded.request_at(self.events, self._state.notes, seq)

    def rebuild_request(self, seq: int) -> bytes:
        """Return the body that was sent with event ``seq``, byte for byte; see ``request_at``.

        A value that was masked in the log, such as a key in ``extra_body``, is masked in
        the body too.

        Raises:
            ValueError: as ``request_at``, and when the log does not say how the body was
                written.
            IndexError: when there is no such event.
        """
        return recorded.rebuild_body(self.request_at(seq))
