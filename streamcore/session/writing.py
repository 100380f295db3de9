# SPDX-License-Identifier: MIT
"""The recording methods of a session, one for each type of event.

In: what happens, before it takes effect. Out: the number of its event, once the event is
in the log. Refused: ``SESSION`` for the file, its lock and its disk; ``INVALID_REQUEST``
for a value that no request could carry; ``ValueError`` and ``TypeError`` for misuse.
"""

from __future__ import annotations

from typing import Any, Iterable, List, Mapping, Optional, Sequence

from ..values.errors import Failure
from ..values.masking import mask_config
from ..values.messages import Message, ToolCall
from ..values.retry import RetryRecord
from ..values.strictjson import mend_surrogates
from ..values.usage import TokenUsage
from . import lines, recorded
from .catching_up import news
from .lines import bounded, refusing
from .log import EventLog
from .records import check_answer, check_said, message_to_record, result_content


class WrittenLog(EventLog):
    """A log with a method to record each event of a conversation.

    Each method raises ``LlmError`` with ``SESSION`` when its event may be missing from the log.
    """

    def turn_start(self) -> int:
        """Record that a turn begins."""
        return self._record(lines.TURN_START, {})

    def turn_end(self, reason: str, failure: Optional[Failure] = None) -> int:
        """Record that a turn ended, and why.

        Args:
            reason: a word, recorded as it is given. The package itself records only the
                words in the agent's ``TURN_ENDS``.
            failure: what went wrong, if anything did.
        """
        told = {} if failure is None else {"failure": failure.to_dict()}
        return self._record(lines.TURN_END, {"reason": reason, **told}, lines.encode_received)

    def user_message(self, message: Message) -> int:
        """Record what the user (or the system, or a developer) said.

        Raises:
            TypeError, ValueError: when the role is ``assistant`` or ``tool``, or the message
                has a tool call or a tool result.
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
        """Record what the next requests share, if it differs from the last header.

        The event's ``reason`` is ``initial`` for the log's first header, ``resume`` for
        the first since the log was opened again, else ``change``.

        Args:
            config: the settings as they are sent; secrets are masked.
            adapter_defaults: which settings the adapter filled in.
            system: the system prompt.
            tools: the tools as dicts.
        Returns:
            The event's number, or None when nothing differs.
        Raises:
            LlmError: ``INVALID_REQUEST`` when JSON cannot carry it; ``SESSION``.
        """
        with refusing(lines.HEADER):
            shared = {
                "config": mask_config(config), "adapter_defaults": adapter_defaults,
                "system": system,
                # A schema holds no secret, though a property in it may have the name of one.
                "tools": [tool if "function" in tool else mask_config(tool) for tool in tools],
            }
        with self._own().lock:
            last = self._state.header
            reason = "resume" if self._state.resumed else "change"
            if last is None:
                reason = "initial"
            else:
                with refusing(lines.HEADER):
                    if _is_same(shared, last.data):
                        return None
            return self._record(lines.HEADER, {"reason": reason, **shared})

    def request_context(
        self,
        messages: Optional[Sequence[Message]] = None,
        facts: Optional[Mapping[str, Any]] = None,
    ) -> int:
        """Record one request about to go out, after its header.

        Args:
            messages: the conversation as it is sent, without the system prompt. None
                stands for ``derive_messages()``. Only messages that differ from the
                history are recorded in full.
            facts: what else to record of the request, such as the provider, the model
                and its context window; secrets are masked.
        Raises:
            LlmError: ``INVALID_REQUEST`` when JSON cannot carry it; ``SESSION``.
        """
        with refusing(lines.CONTEXT):
            known = mask_config(facts or {})
        with self._own().lock:  # the slices below refer to the history of this moment
            derived = self._state.history.messages()
            packed: List[Any] = [[0, len(derived)]]
            if messages is not None:
                with refusing(lines.CONTEXT):
                    packed = recorded.pack_messages(derived, messages)
            return self._record(lines.CONTEXT, {"messages": packed, "facts": known})

    def assistant_message(
        self,
        message: Message,
        usage: Optional[TokenUsage] = None,
        source_seqs: Iterable[int] = (),
    ) -> int:
        """Record a whole answer.

        Args:
            message: the answer.
            usage: its token usage; by default that of the message.
            source_seqs: numbers of the chunks it was made of, in order; empty for an
                answer that came from elsewhere.
        Raises:
            TypeError, ValueError: for a message that no provider would accept in a later
                request, such as one whose tool arguments do not parse.
            LlmError: ``SESSION``.
        """
        check_answer(message)
        usage = getattr(message, "usage", None) if usage is None else usage
        with bounded(lines.ASSISTANT, "SESSION"):
            record = mend_surrogates(message_to_record(message))
        data = {
            "message": record,
            "usage": None if usage is None else usage.to_dict(),
            "source_seqs": list(source_seqs),
        }
        return self._record(lines.ASSISTANT, data, lines.encode_received)

    def tool_start(self, call: ToolCall) -> int:
        """Record that a tool call is about to run.

        Raises:
            ValueError: when no answer has such a call, or it has its result already.
            LlmError: ``SESSION``.
        """
        data = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        with self._own().lock:
            self._state.history.check_open(call.id)
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
            call_id: the id of a call; of several calls with this id, the latest counts.
            content: text, or the provider's list of parts; lone surrogate halves in
                it become U+FFFD.
            is_error: whether the result reports a failure.
            extras: more fields for the provider.
        Raises:
            TypeError: when ``content`` is neither text nor a list.
            ValueError: when no answer has such a call, or it has its result already.
            LlmError: ``INVALID_REQUEST`` when JSON cannot carry it; ``SESSION``.
        """
        with bounded(lines.TOOL_RESULT, "INVALID_REQUEST"):
            shown = result_content(content)
        data = {"call_id": call_id, "content": shown, "is_error": bool(is_error)}
        if extras:
            data["extras"] = extras
        with self._own().lock:
            self._state.history.check_open(call_id)
            return self._record(lines.TOOL_RESULT, data)

    def retry_scheduled(self, record: RetryRecord) -> int:
        """Record that another attempt will follow, and after which delay."""
        return self._record(lines.RETRY_SCHEDULED, record.to_dict(), lines.encode_received)

    def retry_started(self, attempt: int) -> int:
        """Record that attempt number ``attempt`` begins; the first retry is 2."""
        return self._record(lines.RETRY_STARTED, {"attempt": attempt})

    def catch_up(self, messages: Sequence[Message]) -> bool:
        """Record the messages of a caller's own list that this log does not have yet.

        If the list begins with this log's history, the rest of it is recorded. If not (it
        was trimmed, or is another conversation), only the messages after its last answer
        are recorded, unless the log ends with them already.

        Args:
            messages: the conversation as the caller has it, without the system prompt.
        Returns:
            Whether the log now ends as the list does. False, with nothing recorded, when
            the list ends with an answer of another conversation.
        Raises:
            LlmError: ``INVALID_REQUEST``, with nothing recorded, for a message that no
                request could carry; ``SESSION``.
        """
        with self._own().lock:
            known = self._state.history.messages(pending=False)
            new, continues, caught_up = news(known, messages)
            for message in new:
                self._take(message, strict=continues)
        return caught_up

    def _take(self, message: Message, strict: bool) -> None:
        if message.role == "assistant":
            self.assistant_message(message)
        elif message.role != "tool":
            self.user_message(message)
        for result in () if message.role != "tool" else message.tool_results:
            # Not strict: skip results whose call this log does not have, or has answered.
            if strict or self._state.history.state(result.call_id) in ("open", "started"):
                self.tool_result(
                    result.call_id, result.content, is_error=result.is_error, extras=result.extras
                )


def _is_same(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    # Compared as text, because the order of keys is part of the body that is sent.
    return all(
        lines.encode_value(ours[name]) == lines.encode_value(theirs[name]) for name in ours
    )
