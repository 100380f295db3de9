# SPDX-License-Identifier: MIT
"""Anthropic Messages events in, neutral chunks out.

``push`` takes one event and returns the chunks that it completed. ``message_stop`` gives the
block-ends, the usage and the finish, once every check has passed. ``finish`` says that the
body ended, and raises ``STREAM_CLOSED`` unless the end is proven. The README.md beside this
file has the rules.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from ....values import strictjson
from ....values.chunks import Finish, FinishReason, StreamChunk, UsageChunk
from ....values.errors import Partial
from ....values.limits import ResolvedLimits, resolve_limits
from ... import failures
from ...ending import check_empty, is_at_cap
from ...payload import (
    check_unique, malformed, named_error, provider_error, reader, shown, strictly,
)
from ...sse import SseEnd, SseEvent
from ..dialect import Asked, JsonLoads
from .content import Content
from .ending import CAUTION, STOP_REASONS, closed_error, no_call_error, stop_error
from .options import AnthropicMessagesOptions
from .parts import has_value
from .usage_report import UsageReport

_LONG = 2 * strictjson.MAX_DEPTH  # a shorter text cannot nest too deeply

_START_READ = ("id", "type", "role", "model", "content", "stop_reason", "usage")
_DELTA_READ = ("type", "delta", "usage")

Chunks = List[StreamChunk]


class AnthropicMessagesDecoder:
    """Reads one answer.

    Args:
        options: the server's habits, resolved.
        limits: only ``max_tool_calls`` and ``max_tool_argument_bytes`` apply here.
        diagnostics: the caller's dict, in which the decoder counts by name what it skipped,
            repaired or dropped.
        json_loads: a faster parser of one JSON text. A text that it refuses is read strictly.
        asked: what is known of the request: its output cap, and whether it ended with tool
            results. If it did, the answer may be empty.
    ``done`` turns true when the finish chunk was returned.
    """

    def __init__(
        self,
        options: Optional[AnthropicMessagesOptions] = None,
        limits: Optional[ResolvedLimits] = None,
        diagnostics: Optional[Dict[str, int]] = None,
        json_loads: Optional[JsonLoads] = None,
        asked: Asked = Asked(),
    ) -> None:
        self.done = False
        self.diagnostics = {} if diagnostics is None else diagnostics
        self._options = options or AnthropicMessagesOptions().resolved()
        self._asked = asked
        self._read = reader(json_loads)
        self._content = Content(limits or resolve_limits(), self._count)
        self._open = self._content.open
        self._usage = UsageReport()
        self._started = False  # message_start has come
        self._model: Optional[str] = None
        self._response_id: Optional[str] = None
        self._word: Optional[str] = None  # the stop reason so far; see ``CAUTION``
        self._extras: Dict[str, Any] = {}  # facts of the whole message
        self._doubt: Optional[Dict[str, Any]] = None  # may be the error that ended the stream
        self._handlers: Dict[str, Callable[[Dict[str, Any]], Chunks]] = {
            "message_start": self._message_start,
            "content_block_start": lambda p: self._content.start(
                p.get("index"), p.get("content_block")
            ),
            "content_block_delta": lambda p: self._content.delta(p.get("index"), p.get("delta")),
            "content_block_stop": lambda p: self._content.stop(p.get("index")),
            "message_delta": self._message_delta,
            "message_stop": lambda p: self._end(),
            "ping": lambda p: [],
        }

    def push(self, event: SseEvent) -> Chunks:
        """Take one event and return its chunks.

        Raises:
            LlmError: for an error that the provider sent, or a payload that breaks the rules.
        """
        if self.done:
            return []
        data = event.data
        if event.skipped:
            self._count("lines_that_are_no_field", event.skipped)
        try:
            payload, stop = self._read(data, 0)
        except (ValueError, StopIteration, RecursionError):
            stop = -1
        if stop != len(data) or (stop > _LONG and strictjson.is_too_deep(data, payload)):
            payload = self._read_strictly(event)
        if payload.__class__ is not dict:
            if payload is None:  # the event has nothing to read
                return []
            raise malformed(f"a payload is no JSON object: {shown(data)}")
        if payload.get("type") != "content_block_delta" or "error" in payload:
            chunks = self._payload(payload, event.event)
            self._check_arguments(data)
            return chunks
        index, delta = payload.get("index"), payload.get("delta")
        if index.__class__ is int and delta.__class__ is dict:
            part = self._open.get(index)
            # Nearly every event ends here. ``Content.delta`` would do the same, one call later.
            if part is not None and part.delta_type == delta.get("type"):
                return part.grow(delta)
        return self._content.delta(index, delta)

    def finish(self, end: SseEnd) -> Chunks:
        """Say that the body ended; return the last chunks if the end is proven.

        Raises:
            LlmError: ``STREAM_CLOSED`` if it is not, or the error that ended the stream.
        """
        if self.done:
            return []
        clean = self._word is not None and not (end.truncated or end.strays or self._content.open)
        if clean and self._options.done_marker == "optional":
            self._count("done_marker_missing")
            return self._end()
        if self._word is None and self._doubt is not None:
            raise provider_error(self._doubt, None)
        raise closed_error(end, self._word, self._options.done_marker)

    def document(self, text: str) -> Chunks:
        """Read a whole JSON document sent instead of a stream: an error or a message.

        Raises:
            LlmError: the error in the document, or ``MALFORMED_RESPONSE`` if it is neither.
        """
        payload = strictly(text.strip())
        if type(payload) is not dict:
            raise malformed(f"a JSON document is not an object: {shown(text)}")
        if payload.get("type") != "message" or not isinstance(payload.get("content"), list):
            found = failures.find_error(payload)
            if found is not None:
                raise provider_error(found, payload)
            raise malformed(f"a JSON document is not a whole message: {shown(text)}")
        if not payload.get("stop_reason"):
            raise malformed("a JSON document is a message without a stop_reason")
        self._count("json_document")
        chunks = self._message_start({"message": payload})
        self._check_arguments(text)
        return chunks + self._end()

    def _check_arguments(self, data: str) -> None:
        """Refuse a payload with a call's input in which a key comes twice."""
        if self._content.took_object:
            self._content.took_object = False
            check_unique(data)

    def partial(self) -> Partial:
        """Return the text, thinking and usage so far, without tool calls."""
        return Partial(*self._content.so_far(), self._usage.read())

    # -- one event -----------------------------------------------------------------------

    def _read_strictly(self, event: SseEvent) -> Any:
        """Return the payload of an event that is not plain JSON; None if it has no payload."""
        data = event.data.strip()
        if event.event.strip().lower() == "error" and data:
            raise named_error(data)
        if not data:
            return None
        if data == "[DONE]":  # in this dialect it does not prove the end
            self._count("done_marker_of_another_dialect")
            return None
        if event.event != "message" and data[0] not in "{[" and event.event not in self._handlers:
            self._count("named_event_skipped")  # a gateway's own keep-alive
            return None
        return strictly(data)

    def _payload(self, payload: Dict[str, Any], name: str) -> Chunks:
        kind = payload.get("type")
        if kind is None:
            kind = name
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is not None and "error" not in payload:
            return handler(payload)
        found = failures.find_error(payload, "message" if handler else name)
        if found is not None:
            raise provider_error(found, payload)
        if handler is not None:
            return handler(payload)
        if type(kind) is not str or name in self._handlers:
            raise malformed(f"an event named {name[:40]!r} has the type {shown(str(kind))}")
        self._count("payload_of_unknown_type")
        if failures.may_be_error(payload):
            self._doubt = payload
        return []

    def _message_start(self, payload: Dict[str, Any]) -> Chunks:
        message = payload.get("message")
        if type(message) is not dict:
            raise malformed(f"the message of a message_start is a {type(message).__name__}")
        response_id = message.get("id")
        if self._started or len(self._content):
            if len(self._content) or response_id != self._response_id:
                raise malformed("a message_start came after the answer had begun")
            self._count("message_start_again")
        self._started = True
        self._model, self._response_id = _text(message.get("model")), _text(response_id)
        self._note_usage(message.get("usage"))
        self._note_facts(message, _START_READ)
        self._note_stop(message.get("stop_reason"))
        return self._take_whole(message.get("content"))

    def _take_whole(self, blocks: Any) -> Chunks:
        """Take the blocks that ``message_start`` already has whole."""
        chunks: Chunks = []
        if blocks is not None and type(blocks) is not list:
            raise malformed(f"the content of a message is a {type(blocks).__name__}")
        for index, block in enumerate(blocks or []):
            chunks += self._content.start(index, block)
            chunks += self._content.stop(index)
        return chunks

    def _message_delta(self, payload: Dict[str, Any]) -> Chunks:
        delta = payload.get("delta")
        if delta is not None and type(delta) is not dict:
            raise malformed(f"the delta of a message_delta is a {type(delta).__name__}")
        self._note_usage(payload.get("usage"))
        self._note_facts(payload, _DELTA_READ)
        if delta:
            self._note_facts(delta, ("stop_reason",))
            self._note_stop(delta.get("stop_reason"))
        return []

    # -- facts of the whole message ------------------------------------------------------

    def _note_usage(self, report: Any) -> None:
        if not self._usage.note(report):
            self._count("usage_odd")

    def _note_facts(self, told: Dict[str, Any], read: Any) -> None:
        self._extras.update((k, v) for k, v in told.items() if k not in read and v is not None)

    def _note_stop(self, word: Any) -> None:
        if word is None or word == "":
            return
        if type(word) is not str:
            raise malformed(f"a stop_reason is a {type(word).__name__}")
        if self._word is not None and word != self._word:
            self._count("finish_reason_overruled")
        if self._word is None or _caution(word) > _caution(self._word):
            self._word = word

    def _count(self, name: str, times: int = 1) -> None:
        self.diagnostics[name] = self.diagnostics.get(name, 0) + times

    # -- the end -------------------------------------------------------------------------

    def _end(self) -> Chunks:
        word, content = self._word, self._content
        chunks = content.finish()
        if word is None:
            raise closed_error(None, None, "required")
        kind = _meaning(word)
        if kind == "error":
            raise stop_error(word, self._extras.get("stop_details"))
        usage = self._usage.read()
        if kind in ("stop", "tool-calls") and is_at_cap(usage, self._asked.output_cap):
            self._count("output_at_cap")
            kind = "max-tokens" if self._options.cut_as_complete else kind
        ends, calls = content.ends(kind == "max-tokens")
        if calls and kind != "tool-calls":
            self._count("finish_reason_overruled")
            kind = "tool-calls"
        elif kind == "tool-calls" and not calls:
            raise no_call_error()
        if kind == "stop" and not ends:
            check_empty(usage, self._options.context_window, self._may_be_empty())
        chunks += ends
        if usage is not None:
            chunks.append(UsageChunk(usage))
        extras = strictjson.mend_surrogates(self._extras) or None
        raw = strictjson.mend_text(word)
        chunks.append(Finish(FinishReason(kind), raw, self._model, self._response_id, extras))
        self.done = True
        return chunks

    def _may_be_empty(self) -> bool:
        """Say whether an answer that ended well may have no block."""
        hit = self._word == "stop_sequence" or has_value(self._extras.get("stop_sequence"))
        return hit or self._asked.after_tools


def _meaning(word: str) -> str:
    return STOP_REASONS.get(word.strip().lower(), "error")


def _caution(word: str) -> int:
    return CAUTION[_meaning(word)]


def _text(value: Any) -> Optional[str]:
    return strictjson.mend_text(value) if isinstance(value, str) and value else None
