# SPDX-License-Identifier: MIT
"""Chat-completions events in, neutral chunks out.

``push`` takes one event and returns the chunks it completed. ``[DONE]`` gives the block-ends,
the usage and the finish, after every check. ``finish`` says that the body ended, and raises
``STREAM_CLOSED`` unless the end is proven. Everything a provider sends gives chunks or an
``LlmError``. The rules are DESIGN.md §8.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ....values import strictjson
from ....values.chunks import BlockEnd, Finish, FinishReason, StreamChunk, UsageChunk
from ....values.errors import Partial
from ....values.limits import ResolvedLimits, resolve_limits
from ....values.messages import Block
from ... import failures
from ...ending import check_empty, finish_error, is_at_cap
from ...sse import SseEnd, SseEvent
from ...toolcalls import ToolCallAssembler
from ..dialect import Asked
from .deltas import DeltaReader
from .ending import FinishWords, closed_error, is_stop_hit, no_call_error
from .facts import OFTEN_NULL, PLAIN_CHOICE, PLAIN_FRAME, Allowance
from .options import ChatCompletionsOptions
from .payload import (
    JsonLoads, check_unique, is_whole, named_error, provider_error, reader, strictly, unwrapped,
)
from .shapes import malformed, shown
from .usage_report import read_usage

_LONG = 2 * strictjson.MAX_DEPTH  # no shorter text nests too deeply

Chunks = List[StreamChunk]


class ChatCompletionsDecoder:
    """Reads one answer.

    Args:
        options: the provider's options, resolved; None for the defaults.
        limits: ``max_tool_calls`` and ``max_tool_argument_bytes`` bound the calls, and
            ``max_document_bytes`` bounds what is kept beside text and calls.
        diagnostics: the dict to count in, by name, what was skipped, repaired or dropped.
        json_loads: a faster parser of one JSON text, such as orjson's. What it refuses with
            ``ValueError`` is read again strictly, so it may be stricter than streamcore's.
            What it reads more laxly, such as large integers as floats, stays as it read it.
        asked: what the decoder must know of the request.
    ``done`` is true once the finish chunk was returned.
    """

    def __init__(
        self,
        options: Optional[ChatCompletionsOptions] = None,
        limits: Optional[ResolvedLimits] = None,
        diagnostics: Optional[Dict[str, int]] = None,
        json_loads: Optional[JsonLoads] = None,
        asked: Asked = Asked(),
    ) -> None:
        limits = limits or resolve_limits()
        self.done = False
        self.diagnostics = {} if diagnostics is None else diagnostics
        self._read = reader(json_loads)
        self._options = options or ChatCompletionsOptions().resolved()
        assembler = ToolCallAssembler(limits.max_tool_calls, limits.max_tool_argument_bytes)
        allowance = Allowance(limits.max_document_bytes)
        self._deltas = DeltaReader(self._options.think_tags, assembler, allowance, self._count)
        self._asked = asked
        self._choice: Any = None  # the choice index of the one answer
        self._words = FinishWords(self._count)
        self._delta_seen = False  # a delta with content came, so no ``message`` replaces deltas
        self._doubt: Optional[Dict[str, Any]] = None  # a payload that may be an error
        self._usage: Dict[str, Any] = {}  # the last report, as sent
        self._model: Optional[str] = None
        self._response_id: Optional[str] = None

    def push(self, event: SseEvent) -> Chunks:
        """Take one event and return its chunks.

        Raises:
            LlmError: for an error that the provider sent, or an answer that cannot be trusted.
        """
        if self.done:
            return []
        data = event.data
        if event.skipped:
            self._count("lines_that_are_no_field", event.skipped)
        if event.event != "message" and data and event.event.strip().lower() == "error":
            raise named_error(data)
        if data == "[DONE]":  # as nearly all providers write it
            return self._end()
        try:
            payload, stop = self._read(data, 0)
        except (ValueError, StopIteration, RecursionError):
            stop = -1
        if stop != len(data) or (stop > _LONG and strictjson.is_too_deep(data, payload)):
            data = data.strip()
            if data == "[DONE]":
                return self._end()
            if not data or self._is_note(event):
                return []
            payload = strictly(data)
        if type(payload) is not dict:
            if self._is_note(event) or payload is None:  # a null payload counts as absent
                return []
            payload = unwrapped(payload, data)
        chunks = self._payload(payload)
        if self._deltas.calls.took_object or self._deltas.legacy:
            self._check_arguments(data)
        return chunks

    def _check_arguments(self, data: str) -> None:
        """Refuse a payload with arguments as an object in which a key comes twice."""
        if self._deltas.calls.took_object or '"function_call"' in data:
            check_unique(data)
        self._deltas.calls.took_object = False

    def _is_note(self, event: SseEvent) -> bool:
        """Say whether an event is a gateway's note: it has another name and no JSON object."""
        note = event.event != "message" and event.data.lstrip()[:1] not in ("{", "[")
        if note:
            self._count("named_event_skipped")
        return note

    def finish(self, end: SseEnd) -> Chunks:
        """Say that the body ended; return the last chunks if the end is proven.

        Raises:
            LlmError: ``STREAM_CLOSED`` if the end is not proven.
        """
        if self.done:
            return []
        if self._options.done_marker == "optional":
            clean = self._words.kind is not None and not end.truncated and not end.strays
            if clean or end.data.strip() == "[DONE]":
                self._count("done_marker_missing" if clean else "done_marker_unterminated")
                return self._end()
        if self._words.kind is None:
            self._refuse_doubt()
        raise closed_error(end, self._words.word, self._options.done_marker)

    def document(self, text: str) -> Chunks:
        """Read a JSON document sent instead of a stream: an error, or a whole completion.

        Raises:
            LlmError: the error that it holds; ``MALFORMED_RESPONSE`` if it is neither.
        """
        payload = strictly(text.strip())
        if type(payload) is not dict:
            payload = unwrapped(payload, text)
        found = failures.find_error(payload)
        if found is not None:
            raise provider_error(found, payload)
        choices = payload.get("choices")
        if not isinstance(choices, list) or not choices or not is_whole(choices):
            raise malformed(f"a JSON document that is not a whole completion: {shown(text)}")
        self._count("json_document")
        chunks = self._payload(payload)
        self._check_arguments(text)
        return chunks + self._end()

    def partial(self) -> Partial:
        """Return what has arrived so far, without tool calls."""
        text, reasoning = self._deltas.so_far()
        return Partial(text, reasoning, read_usage(self._usage))

    # -- one payload ---------------------------------------------------------------------

    def _payload(self, payload: Dict[str, Any]) -> Chunks:
        # A frame and its choice share this long method, which saves one call for each event.
        choices = payload.get("choices")
        if type(choices) is not list or len(choices) != 1 or payload.get("object") == "error":
            self._refuse_frame(payload, choices)
        if not PLAIN_FRAME.issuperset(payload):
            self._note_frame(payload, choices)
        usage = payload.get("usage")
        if usage:
            self._note_usage(usage, payload)
        if self._response_id is None or self._model is None:
            self._note_identity(payload)
        choice = choices[0] if choices else None
        if choice is None:
            if not usage:
                self._count("choice_null" if choices else "payload_without_choices")
            if failures.may_be_error(payload):
                self._doubt = payload
            return []
        if type(choice) is not dict:
            raise malformed(f"a choice is a {type(choice).__name__}")
        more = not PLAIN_CHOICE.issuperset(choice) and (
            choice.get("logprobs") is not None
            or choice.get("native_finish_reason") is not None
            or choice.get("stop_reason") is not None
            or not OFTEN_NULL.issuperset(choice)
        )
        if more:
            self._note_choice(payload, choice)
        index = choice.get("index")
        if index != self._choice:
            self._note_index(index)
        word = choice.get("finish_reason")
        if word is not None and word != "":
            self._words.note(word)
        delta = choice.get("delta")
        if type(delta) is not dict:
            if delta is not None:
                raise malformed(f"a delta is a {type(delta).__name__}")
            return self._stand_in(choice)
        if more and choice.get("message") is not None:
            self._count("message_beside_delta")
        if "error" in delta:
            self._refuse_frame(payload, choices)
        chunks = self._deltas.add(delta) if delta else []
        if chunks or self._deltas.legacy:
            self._delta_seen = True
            self._doubt = None
        return chunks

    def _stand_in(self, choice: Dict[str, Any]) -> Chunks:
        chunks: Chunks = []
        message = choice.get("message")
        if message is None:
            return chunks
        if type(message) is not dict:
            raise malformed(f"a message is a {type(message).__name__}")
        if not self._delta_seen:
            self._count("message_in_place_of_delta")
            return self._deltas.add_message(message)
        self._count("message_beside_delta")
        self._deltas.add_unsaid(chunks, message)
        return chunks

    def _refuse_frame(self, payload: Dict[str, Any], choices: Any) -> None:
        """Raise the error for a frame with an error, choices of a wrong type or a second answer."""
        found = failures.find_error(payload)
        if found is not None:
            raise provider_error(found, payload)
        if choices is not None and type(choices) is not list:
            raise malformed(f"choices is a {type(choices).__name__}")
        if choices and len(choices) > 1:
            raise malformed("a frame holds more than one choice: a second answer")

    def _refuse_doubt(self) -> None:
        """Raise the last payload as an error if it may be one and no content came after it."""
        if self._doubt is not None:
            raise provider_error(self._doubt, None)

    # -- what stands beside the delta ----------------------------------------------------

    def _note_usage(self, report: Any, frame: Dict[str, Any]) -> None:
        if isinstance(report, dict) and any(type(value) is int for value in report.values()):
            self._usage = report
            self._deltas.facts.add_constant(frame)
        elif report is not None and report != {}:
            self._count("usage_odd")

    def _note_identity(self, payload: Dict[str, Any]) -> None:
        model, response_id = payload.get("model"), payload.get("id")
        if self._model is None and isinstance(model, str) and model:
            self._model = strictjson.mend_text(model)
        if self._response_id is None and isinstance(response_id, str) and response_id:
            self._response_id = strictjson.mend_text(response_id)
        self._deltas.facts.add_constant(payload)

    def _note_frame(self, payload: Dict[str, Any], choices: Any) -> None:
        if "error" in payload:
            self._refuse_frame(payload, choices)
        groq = payload.get("x_groq")
        if isinstance(groq, dict):
            if groq.get("error"):
                self._refuse_frame(payload, choices)
            if not payload.get("usage"):
                self._note_usage(groq.get("usage"), payload)
        self._deltas.facts.add_frame(payload)

    def _note_choice(self, payload: Dict[str, Any], choice: Dict[str, Any]) -> None:
        if choice.get("error") is not None:
            self._refuse_frame(payload, payload["choices"])
        if choice.get("native_finish_reason"):
            self._words.note_native(choice["native_finish_reason"])
        if "usage" in choice and not payload.get("usage"):
            self._note_usage(choice["usage"], payload)
        self._deltas.facts.add_choice(choice)

    def _note_index(self, index: Any) -> None:
        # The choice index of one answer may grow, because one provider numbers the phases of an
        # answer. A smaller index, or a new one after the finish word, means a second answer.
        if index is None:
            return
        if type(index) is str and index.isdecimal():
            index = int(index[:9])
        if type(index) is not int:
            raise malformed(f"a choice index is a {type(index).__name__}")
        if self._choice is not None and index != self._choice:
            if index < self._choice or self._words.kind is not None:
                raise malformed(f"choice {index} after choice {self._choice}: a second answer")
            self._count("choice_index_grew")
        self._choice = index

    def _count(self, name: str, times: int = 1) -> None:
        self.diagnostics[name] = self.diagnostics.get(name, 0) + times

    # -- the end -------------------------------------------------------------------------

    def _end(self) -> Chunks:
        self.done = True
        chunks: Chunks = []
        self._deltas.flush(chunks)
        if self._words.kind is None:
            self._refuse_doubt()
            self._count("finish_reason_missing")
        kind, word = self._words.decide()
        if kind == "error":
            raise finish_error(word or "")
        usage = read_usage(self._usage)
        if usage is None and self._usage:
            self._count("usage_odd")
        if kind != "max-tokens" and is_at_cap(usage, self._asked.output_cap):
            self._count("output_at_cap")
            kind = "max-tokens" if self._options.cut_as_complete else kind
        calls = self._finished_calls(kind)
        if calls and kind == "stop":
            kind = "tool-calls"
            self._count("finish_reason_overruled")
        elif kind == "tool-calls" and not calls:
            raise no_call_error()
        blocks = self._deltas.whole_blocks() + calls
        extras = self._deltas.extras()
        if kind == "stop" and not blocks and not is_stop_hit(word, extras or {}):
            window, plain = self._options.context_window, self._words.kind is not None
            check_empty(usage, window, self._asked.after_tools and plain)
        for index, block in sorted(blocks, key=lambda pair: pair[0]):
            chunks.append(BlockEnd(index, block))
        if usage is not None:
            chunks.append(UsageChunk(usage))
        word = None if word is None else strictjson.mend_text(word)
        chunks.append(Finish(FinishReason(kind), word, self._model, self._response_id, extras))
        return chunks

    def _finished_calls(self, kind: str) -> List[Tuple[int, Block]]:
        calls = self._deltas.calls
        if kind == "max-tokens":  # the cap may have cut a call that looks whole
            if len(calls):
                self._count("tool_calls_dropped", len(calls))
            return []
        return calls.finish()
