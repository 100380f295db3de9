# SPDX-License-Identifier: MIT
"""Reads the deltas of one answer into text, reasoning, tool calls and opaque blocks.

In: the delta of a choice, or a message that came instead of deltas. Out: chunks, and at the
end the whole blocks. Refused: wrong types, as ``MALFORMED_RESPONSE``. The decoder reads the
other fields of a frame and decides about the end.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from ....values.chunks import BlockStart, ReasoningDelta, StreamChunk, TextDelta
from ....values.frozen import freeze
from ....values.messages import REASONING_FIELDS, Block, ReasoningBlock, TextBlock
from ...growing import Count, GrowingText
from ...toolcalls import ToolCallAssembler
from .call_reader import CallReader
from .content import OpaqueDetails, read_content, read_details
from .facts import Allowance, Facts, weigh
from .media import Media
from .shapes import malformed, string
from .think_tags import ThinkTags

Chunks = List[StreamChunk]


class DeltaReader:
    """Reads the deltas of one answer.

    Args:
        think_tags: whether tags in the text mark reasoning.
        assembler: holds the limits of the calls, and finishes them.
        allowance: bounds what is kept beside text and calls.
        count: counts by name what was skipped or repaired.
    ``calls`` reads the calls. ``facts`` holds what the answer tells beside its text. ``legacy``
    holds the fragments of a ``function_call`` until the end.
    """

    def __init__(
        self, think_tags: bool, assembler: ToolCallAssembler, allowance: Allowance, count: Count
    ) -> None:
        self.calls = CallReader(assembler, self._open, count)
        self.facts = Facts(allowance, count)
        self._media = Media(self._open, allowance, count)
        self._details = OpaqueDetails()  # fields that go back to the provider
        self._allowance = allowance
        self.legacy: List[Dict[str, Any]] = []
        self._count = count
        self._text: Optional[GrowingText] = None
        self._reasoning: Optional[GrowingText] = None
        self._reasoning_field = "reasoning_content"
        self._blocks = 0  # blocks opened so far: the next one's index
        self._think = ThinkTags() if think_tags else None
        self._told = ""  # the reasoning in this delta
        self._marked = False  # Gemini marks the content of this delta as a thought
        self._in_thought = False  # the content before was marked as a thought

    def add(self, delta: Dict[str, Any]) -> Chunks:
        """Take a delta and return its chunks.

        Raises:
            LlmError: for wrong types, and for calls that cannot be trusted.
        """
        chunks: Chunks = []
        self._told, self._marked = "", False
        for name in delta if len(delta) == 1 else _in_order(delta):
            reader, value = _READERS.get(name), delta[name]
            if value is None:
                continue
            if reader is None:
                self._count("delta_field_unknown")
            else:
                reader(self, chunks, value)
        return chunks

    def add_message(self, message: Dict[str, Any]) -> Chunks:
        """Take a whole message that came instead of deltas; each item of its calls is one call."""
        calls = message.get("tool_calls")
        if calls:
            message = {key: value for key, value in message.items() if key != "tool_calls"}
        chunks = self.add(message)
        if calls:
            self.calls.add_whole(chunks, calls)
        return chunks

    def add_unsaid(self, chunks: Chunks, message: Dict[str, Any]) -> None:
        """Take the calls and media of a message beside the deltas, if no delta had any."""
        if message.get("tool_calls") and not len(self.calls):
            self.calls.add_whole(chunks, message["tool_calls"])
        if not len(self._media):
            if message.get("images"):
                self._media.add_images(chunks, message["images"])
            if message.get("audio"):
                self._media.add_audio(chunks, message["audio"])

    def flush(self, chunks: Chunks) -> None:
        """Append what was held back: a ``function_call``, parts of think tags, half characters."""
        if self.legacy and len(self.calls):
            self._count("function_call_beside_tool_calls")
        elif self.legacy:
            self.calls.add(chunks, [{"function": call} for call in self.legacy])
        if self._think is not None:
            for is_reasoning, text in self._think.finish():
                (self._add_thought if is_reasoning else self._add_text)(chunks, text)
        for block, kind in ((self._text, TextDelta), (self._reasoning, ReasoningDelta)):
            text = block.finish() if block else ""
            if block and text:
                chunks.append(kind(block.index, text))
        self.calls.flush(chunks)

    def so_far(self) -> Tuple[str, str]:
        """Return the text and the reasoning that have arrived."""
        blocks = (self._text, self._reasoning)
        text, reasoning = (block.joined() if block else "" for block in blocks)
        return text, reasoning

    def whole_blocks(self) -> List[Tuple[int, Block]]:
        """Return the whole blocks with their indexes, without the calls."""
        blocks = self._media.whole()
        if self._text:
            extras = freeze(self.facts.of_text())
            blocks.append((self._text.index, TextBlock(self._text.joined(), extras)))
        if self._reasoning:
            reasoning = ReasoningBlock(self._reasoning.joined(), self._reasoning_field)
            blocks.append((self._reasoning.index, reasoning))
        return blocks

    def extras(self) -> Optional[Dict[str, Any]]:
        """Return the extras of the message, or None."""
        of_text = None if self._text else self.facts.of_text()
        found = (of_text, self.facts.of_message(), self._details.extras())
        return {name: value for extras in found for name, value in (extras or {}).items()} or None

    def _add_content(self, chunks: Chunks, content: Any) -> None:
        if type(content) is not str:
            self._add_parts(chunks, content)
            return
        if self._marked or self._in_thought:
            content = self._told_as_thought(chunks, content)
        if content:
            (self._add_text if self._think is None else self._add_tagged)(chunks, content)

    def _add_text(self, chunks: Chunks, text: str) -> None:
        block = self._text
        if block is None:
            block = self._text = GrowingText(self._open(chunks, "text"), self._count)
        text = block.add(text)
        if text:
            chunks.append(TextDelta(block.index, text))

    def _add_thought(self, chunks: Chunks, text: str) -> None:
        block = self._reasoning
        if block is None:
            block = self._reasoning = GrowingText(self._open(chunks, "reasoning"), self._count)
        text = block.add(text)
        if text:
            chunks.append(ReasoningDelta(block.index, text))

    def _add_tagged(self, chunks: Chunks, content: str) -> None:
        assert self._think is not None
        for is_reasoning, piece in self._think.push(content):
            (self._add_thought if is_reasoning else self._add_text)(chunks, piece)

    def _note_mark(self, chunks: Chunks, extra: Any) -> None:
        google = extra.get("google") if isinstance(extra, dict) else None
        self._marked = isinstance(google, dict) and google.get("thought") is True
        if extra not in ({}, {"google": {"thought": True}}, {"google": {"thought": False}}):
            self._count("extra_content_skipped")

    def _told_as_thought(self, chunks: Chunks, content: str) -> str:
        """Take content that Gemini marks as a thought; return the rest, which is the answer.

        Gemini's endpoint sends a thought as content with a mark beside it. The thought begins
        with the tag ``<thought>``, and the answer begins with ``</thought>``.
        """
        if self._marked:
            if not self._in_thought and content.startswith("<thought>"):
                content = content[len("<thought>"):]
            self._in_thought = True
            if content:
                self._add_thought(chunks, content)
            return ""
        if content:
            self._in_thought = False
            if content.startswith("</thought>"):
                content = content[len("</thought>"):]
        return content

    def _add_parts(self, chunks: Chunks, content: Any) -> None:
        if type(content) is not list:
            raise malformed(f"content is a {type(content).__name__}")
        for kind, text, part in read_content(content):
            if kind not in ("text", "reasoning"):
                self._media.add_part(chunks, kind, part)
                continue
            self.facts.add_part(part)
            if text and kind == "reasoning":
                self._add_thought(chunks, text)
            elif text:
                (self._add_text if self._think is None else self._add_tagged)(chunks, text)

    def _add_refusal(self, chunks: Chunks, refusal: Any) -> None:
        if string(refusal, "refusal"):
            self._add_text(chunks, refusal)

    def _add_reasoning(self, chunks: Chunks, text: Any, field: str) -> None:
        if not string(text, field):
            return
        if self._told:  # the same reasoning under a second name
            if text != self._told:
                self._count("reasoning_under_another_name")
            return
        if self._reasoning is None:
            self._reasoning_field = field
        self._told = text
        self._add_thought(chunks, text)

    def _add_details(self, chunks: Chunks, details: Any) -> None:
        for text in read_details(details, self._details, self._count) if details else ():
            if not self._told:
                self._add_thought(chunks, text)

    def _keep(self, chunks: Chunks, value: Any, field: str) -> None:
        if value:
            self._details.keep(field, value)

    def _add_images(self, chunks: Chunks, images: Any) -> None:
        self._media.add_images(chunks, images)

    def _add_audio(self, chunks: Chunks, audio: Any) -> None:
        self._media.add_audio(chunks, audio)

    def _add_fact(self, chunks: Chunks, value: Any, field: str) -> None:
        self.facts.add(field, value)

    def _add_calls(self, chunks: Chunks, calls: Any) -> None:
        self.calls.add(chunks, calls)

    def _add_legacy_call(self, chunks: Chunks, call: Any) -> None:
        """Hold a fragment back, because ``tool_calls`` may still repeat the same call."""
        if type(call) is not dict:
            raise malformed(f"function_call is a {type(call).__name__}")
        if any(call.values()):
            if not self._allowance.take(weigh(call)):
                raise malformed("function_call passes max_document_bytes")
            self.legacy.append(call)

    def _ignore(self, chunks: Chunks, value: Any) -> None:
        """Ignore the role: it is always the assistant."""

    def _open(self, chunks: Chunks, block_type: str, kind: Optional[str] = None) -> int:
        index = self._blocks
        self._blocks += 1
        chunks.append(BlockStart(index, block_type, kind))
        return index


# The reader of each field of a delta that is not null. Fields are read in this order.
_READERS: Dict[str, Callable[[DeltaReader, Chunks, Any], None]] = {
    **{name: partial(DeltaReader._add_reasoning, field=name) for name in REASONING_FIELDS},
    "reasoning_details": DeltaReader._add_details,
    "reasoning_opaque": partial(DeltaReader._keep, field="reasoning_opaque"),
    # LiteLLM's field, with signatures that must go back
    "thinking_blocks": partial(DeltaReader._keep, field="thinking_blocks"),
    "extra_content": DeltaReader._note_mark,
    "content": DeltaReader._add_content,
    "images": DeltaReader._add_images,
    "audio": DeltaReader._add_audio,
    "refusal": DeltaReader._add_refusal,
    "tool_calls": DeltaReader._add_calls,
    "function_call": DeltaReader._add_legacy_call,
    **{name: partial(DeltaReader._add_fact, field=name)
       for name in ("annotations", "citations", "executed_tools", "provider_metadata")},
    "role": DeltaReader._ignore,
}


def _in_order(delta: Dict[str, Any]) -> Iterable[str]:
    return [*filter(delta.__contains__, _READERS), *(delta.keys() - _READERS.keys())]
