# SPDX-License-Identifier: MIT
"""The session: one log of a conversation, and what can be read from it.

In: what happens, told by whoever makes it happen, each thing before it takes
effect. Out: a valid history, a recorded request, an answer's chunk stream.
Refused: ``SESSION`` for the file, its lock and its disk; ``INVALID_REQUEST`` for
what no request could carry; ``ValueError`` and ``TypeError`` for misuse.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from ..values.chunks import StreamChunk
from ..values.errors import Failure
from ..values.masking import mask_config
from ..values.messages import Message, ToolCall
from ..values.retry import RetryRecord
from ..values.strictjson import mend_surrogates
from ..values.usage import TokenUsage
from . import lines, recorded
from .history import in_call_order
from .lines import refusing
from .log import EventLog
from .recorder import CallRecorder
from .records import check_answer, check_said, message_to_record, result_content, same_message


class Session(EventLog):
    """An append-only log of one conversation, in memory or in a JSON-lines file.

    Each recording method returns the ``seq`` of its event, and returns only when
    the event is in the log: record first, then act. One turn at a time is the
    use it is made for; calls from several threads are safe, one after another.

    What a runtime records, in this order: ``turn_start``; ``user_message``; per
    request ``request_header`` and ``request_context``, both before the first byte
    goes out; each ``chunk`` before the consumer sees it; ``assistant_message`` with
    the numbers of its chunks once the message is whole (a failed attempt gets
    none); ``retry_scheduled`` and ``retry_started`` between attempts; per call
    ``tool_start`` before it runs and ``tool_result``; ``turn_end``.

    Args:
        path: the file to continue, or to make (mode 0600); None keeps all in memory.
            One process at a time writes it, through one ``Session``, held by a lock
            that ends with the process.
        durability: when the file is synced to the disk. ``os``: never; what was
            recorded outlives the process, not a power cut. ``turn``: before a
            request or a tool starts, and at the end of a turn. ``event``: always.
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

    def turn_start(self) -> int:
        """Record that a turn begins."""
        return self._record(lines.TURN_START, {})

    def turn_end(self, reason: str, failure: Optional[Failure] = None) -> int:
        """Record that a turn ended, and why.

        Args:
            reason: a word. The agent's ``TURN_ENDS`` lists those that are ever recorded
                from inside the package; it is kept as it is given.
            failure: what went wrong, if anything did.
        Raises:
            LlmError: ``SESSION`` when it is not in the log for sure.
        """
        data: Dict[str, Any] = {"reason": reason}
        if failure is not None:
            data["failure"] = failure.to_dict()
        return self._record(lines.TURN_END, data, lines.encode_received)

    def user_message(self, message: Message) -> int:
        """Record what the user (or the system, or a developer) said.

        Raises:
            TypeError, ValueError: for an answer, a tool's message, or blocks of theirs.
            LlmError: ``INVALID_REQUEST`` when no request could carry it; ``SESSION``.
        """
        check_said(message)
        return self._record(lines.USER, {"message": message_to_record(message)})

    def request_header(
        self,
        config: Mapping[str, Any],
        adapter_defaults: Any = (),
        system: Optional[str] = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Optional[int]:
        """Record what the coming requests share; only when it differs from the last.

        The event's ``reason`` is ``initial`` for the first of the log, ``resume`` for
        the first since the log was opened again, else ``change``.

        Args:
            config: the settings as they are sent; secrets are masked.
            adapter_defaults: which settings the adapter filled in.
            system: the system prompt.
            tools: the tools as dicts; of those that the provider runs, secrets are masked.
        Returns:
            The event's number, or None when nothing differs.
        Raises:
            LlmError: ``INVALID_REQUEST`` when JSON cannot carry it; ``SESSION``.
        """
        last = self._state.header
        again = "resume" if self._state.resumed else "change"
        header = {
            "reason": "initial" if last is None else again,
            "config": mask_config(config), "adapter_defaults": adapter_defaults,
            "system": system,
            # A schema holds no secret, though a property in it may have the name of one.
            "tools": [tool if "function" in tool else mask_config(tool) for tool in tools],
        }
        with refusing(lines.HEADER):
            if last is not None and _same_header(header, last.data):
                return None
        return self._record(lines.HEADER, header)

    def request_context(
        self,
        messages: Optional[Sequence[Message]] = None,
        facts: Optional[Mapping[str, Any]] = None,
    ) -> int:
        """Record one request about to go out, after its header.

        Args:
            messages: the conversation as it is sent, without the system prompt; None
                when it is ``derive_messages()``. Only what differs from that is kept.
            facts: what else to remember of it, such as the provider, the model and
                its context window; secrets are masked.
        Raises:
            LlmError: ``INVALID_REQUEST`` when JSON cannot carry it; ``SESSION``.
        """
        derived = self.derive_messages()
        packed: List[Any] = [[0, len(derived)]]
        if messages is not None:
            with refusing(lines.CONTEXT):
                packed = recorded.pack_messages(derived, messages)
        return self._record(lines.CONTEXT, {"messages": packed, "facts": mask_config(facts or {})})

    def assistant_message(
        self,
        message: Message,
        usage: Optional[TokenUsage] = None,
        source_seqs: Iterable[int] = (),
    ) -> int:
        """Record a whole answer.

        Args:
            message: the answer.
            usage: what it cost; by default what the message itself says.
            source_seqs: numbers of the chunks it was made of, in order; none for an
                answer that came from elsewhere.
        Raises:
            TypeError, ValueError: for a message no provider would take back, such as
                one whose arguments do not parse.
            LlmError: ``SESSION`` when it is not in the log for sure.
        """
        check_answer(message)
        usage = getattr(message, "usage", None) if usage is None else usage
        data = {
            "message": mend_surrogates(message_to_record(message)),
            "usage": None if usage is None else usage.to_dict(),
            "source_seqs": list(source_seqs),
        }
        return self._record(lines.ASSISTANT, data, lines.encode_received)

    def tool_start(self, call: ToolCall) -> int:
        """Record that a call is about to be run.

        Raises:
            ValueError: when no answer has such a call, or it has its result already.
            LlmError: ``SESSION`` when it is not in the log for sure.
        """
        self._check_open(call.id)
        data = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        return self._record(lines.TOOL_START, data, lines.encode_received)

    def tool_result(
        self,
        call_id: str,
        content: Any = "",
        *,
        is_error: bool = False,
        extras: Optional[Mapping[str, Any]] = None,
    ) -> int:
        """Record the one result of a call.

        Args:
            call_id: the id of a call of the last answer that has one with it.
            content: text, or the provider's list of parts; lone surrogate halves in
                it become U+FFFD.
            is_error: whether it tells of a failure.
            extras: more fields for the provider.
        Raises:
            TypeError: when ``content`` is neither.
            ValueError: when no answer has such a call, or it has its result already.
            LlmError: ``INVALID_REQUEST`` when JSON cannot carry it; ``SESSION``.
        """
        self._check_open(call_id)
        shown = result_content(content)
        data = {"call_id": call_id, "content": shown, "is_error": bool(is_error)}
        if extras:
            data["extras"] = extras
        return self._record(lines.TOOL_RESULT, data)

    def retry_scheduled(self, record: RetryRecord) -> int:
        """Record that another attempt was decided on, and its delay."""
        return self._record(lines.RETRY_SCHEDULED, record.to_dict(), lines.encode_received)

    def retry_started(self, attempt: int) -> int:
        """Record that attempt number ``attempt`` begins; the first retry is 2."""
        return self._record(lines.RETRY_STARTED, {"attempt": attempt})

    def catch_up(self, messages: Sequence[Message]) -> bool:
        """Record what a caller's own list of messages has beyond this log's.

        A list that begins with this log's history is recorded from there on. Of any other
        (trimmed, or another conversation) only what was said after its last answer is,
        unless the log ends with it already.

        Args:
            messages: the conversation as the caller has it, without the system prompt.
        Returns:
            Whether the log now ends with what the list ends with. False, with nothing
            recorded, when that is an answer of another conversation.
        Raises:
            LlmError: ``INVALID_REQUEST``, with nothing recorded, for a message that no
                request could carry; ``SESSION``.
        """
        with refusing("the conversation"):
            given = in_call_order(messages)
        known = self._state.history.messages(pending=False)
        continues = _begins_with(given, known)
        if not continues:
            given, known = _after_last_answer(given), _after_last_answer(known)
        new = given[len(known) :] if _begins_with(given, known) else given
        for message in new:
            _check_new(message)
        for message in new:
            self._take(message, strict=continues)
        return continues or bool(given)

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
            ValueError: when no request was recorded before it.
            IndexError: when there is no such event.
        """
        seq = range(len(self))[seq]
        return recorded.request_at(self.events, self._state.notes, seq)

    def rebuild_request(self, seq: int) -> bytes:
        """Return the very body that was sent with event ``seq``; see ``request_at``.

        A value that was masked in the log (a key put into ``extra_body``, say) is
        masked in the body too.

        Raises:
            ValueError: when no request was recorded before it, or not by what bends
                of the format its body was written.
            IndexError: when there is no such event.
        """
        return recorded.rebuild_body(self.request_at(seq))

    def _take(self, message: Message, strict: bool = True) -> None:
        if message.role == "assistant":
            self.assistant_message(message)
        elif message.role != "tool":
            self.user_message(message)
        for result in () if message.role != "tool" else message.tool_results:
            # Not strict: results of calls this log does not know, or knows the result of,
            # are no news.
            if strict or self._state.history.state(result.call_id) in ("open", "started"):
                content, extras = result.content, result.extras
                self.tool_result(
                    result.call_id, content, is_error=result.is_error, extras=extras
                )

    def _check_open(self, call_id: str) -> None:
        state = self._state.history.state(call_id)
        if state == "unknown":
            raise ValueError(f"no answer has a tool call with the id {call_id!r}")
        if state == "answered":
            raise ValueError(f"the tool call {call_id!r} has its result already")


def _check_new(message: Message) -> None:
    with refusing("the conversation"):
        if message.role == "assistant":
            check_answer(message)
        elif message.role != "tool":
            check_said(message)
    lines.encode_given(0, 0, "the conversation", message_to_record(message))


def _begins_with(messages: Sequence[Message], start: Sequence[Message]) -> bool:
    return len(start) <= len(messages) and all(map(same_message, start, messages))


def _after_last_answer(messages: List[Message]) -> List[Message]:
    answers = [place for place, message in enumerate(messages) if message.role == "assistant"]
    return messages[answers[-1] + 1 :] if answers else messages


def _same_header(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    # Compared as text: the order of keys is part of the body that is sent.
    return all(
        lines.encode_value(ours[name]) == lines.encode_value(theirs[name])
        for name in ("config", "adapter_defaults", "system", "tools")
    )
