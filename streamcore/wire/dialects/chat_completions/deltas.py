# SPDX-License-Identifier: MIT
"""The deltas of one answer: text, reasoning and tool calls, each put where it belongs.

In: the delta of a choice, or the message that stands in for all of them. Out: chunks; at
the end the whole blocks. Refused: wrong types, as ``MALFORMED_RESPONSE``. What a frame says
beside its delta, and what proves the end, is the decoder's.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Optional, Tuple

from ....values.chunks import BlockStart, ReasoningDelta, StreamChunk, TextDelta
from ....values.messages import REASONING_FIELDS, Block, ReasoningBlock, TextBlock
from ...toolcalls import ToolCallAssembler
from .call_reader import CallReader
from .content import (
    Count, GrowingText, OpaqueDetails, more_text, read_content, read_details,
)
from .repeats import OneString, ReadString
from .shapes import DELTA_FIELDS, malformed, string
from .think_tags import ThinkTags

Chunks = List[StreamChunk]


class DeltaReader:
    """Reads the deltas of one answer.

    Args:
        think_tags: whether tags in the text mark reasoning.
        assembler: joins the calls, and holds their limits.
        count: counts what was skipped or repaired, by name.
    ``calls``: the reader of the calls; ``details``: fields that go back to the provider;
    ``plain``: False once a tag or a mark can turn content into reasoning.
    """

    def __init__(
        self, think_tags: bool, assembler: ToolCallAssembler, count: Count
    ) -> None:
        self.calls = CallReader(assembler, self._open, count)
        self.details = OpaqueDetails()
        self.plain = not think_tags
        self._count = count
        self._text: Optional[GrowingText] = None
        self._reasoning: Optional[GrowingText] = None
        self._reasoning_field = "reasoning_content"
        self._blocks = 0  # blocks opened so far: the next one's index
        self._think = ThinkTags() if think_tags else None
        self._in_thought = False  # the last content was marked as a thought

    def add(self, delta: Dict[str, Any]) -> Chunks:
        """Take a delta and return its chunks.

        Raises:
            LlmError: for wrong types, and calls that cannot be trusted.
        """
        # Most deltas hold one thing and nothing else: more text of an open block, or fragments
        # of calls. add_any comes to the same for them, 0.4 µs later: test_decoder holds both
        # against each other.
        if len(delta) == 1:
            text = delta.get("content")
            if text is None:
                calls = delta.get("tool_calls")
                if calls:
                    chunks: Chunks = []
                    self.calls.add(chunks, calls)
                    return chunks
                text, block = delta.get(self._reasoning_field), self._reasoning
                if type(text) is str and text and block is not None:
                    return more_text(block, ReasoningDelta, text)
            elif type(text) is str and text and self._think is None and not self._in_thought:
                if self._text is not None:
                    return more_text(self._text, TextDelta, text)
        return self.add_any(delta)

    def add_any(self, delta: Dict[str, Any]) -> Chunks:
        """Do what ``add`` does, for a delta of any kind."""
        chunks: Chunks = []
        for _ in delta.keys() - DELTA_FIELDS:
            self._count("delta_field_unknown")
        self._add_reasoning(chunks, delta)
        content = delta.get("content")
        if type(content) is str:
            if "extra_content" in delta or self._in_thought:
                content = self._told_as_thought(chunks, delta, content)
            if content:
                self._add_content(chunks, content)
        elif content is not None:
            self._add_parts(chunks, content)
        refusal = delta.get("refusal")
        if refusal is not None and refusal != "":
            self._add_text(chunks, string(refusal, "refusal"))
        calls = delta.get("tool_calls")
        if calls:
            self.calls.add(chunks, calls)
        elif calls is not None and type(calls) is not list:
            raise malformed(f"tool_calls is a {type(calls).__name__}")
        call = delta.get("function_call")
        if call is not None and (type(call) is not dict or any(call.values())):
            self.calls.add(chunks, [{"function": call}])
        return chunks

    def _told_as_thought(self, chunks: Chunks, delta: Dict[str, Any], content: str) -> str:
        """Give out content that Gemini marks as a thought; return what is left of it.

        Its endpoint sends thoughts as content, marked beside it, and in ``<thought>`` tags
        of which the closing one stands before the answer.
        """
        extra = delta.get("extra_content")
        google = extra.get("google") if isinstance(extra, dict) else None
        if isinstance(google, dict) and google.get("thought") is True:
            if not self._in_thought and content.startswith("<thought>"):
                content = content[len("<thought>"):]
            self._in_thought, self.plain = True, False
            if content:
                self._add_thought(chunks, content)
            return ""
        if self._in_thought and content:
            self._in_thought = False
            if content.startswith("</thought>"):
                content = content[len("</thought>"):]
        return content

    def add_message(self, message: Dict[str, Any]) -> Chunks:
        """Take a whole message that came in place of deltas; each of its calls is one call."""
        calls = message.get("tool_calls")
        if calls:
            message = {key: value for key, value in message.items() if key != "tool_calls"}
        chunks = self.add_any(message)
        if calls:
            self.calls.add_whole(chunks, calls)
        return chunks

    def string_reader(self, string: OneString) -> ReadString:
        """Return what reads another string in the place of one that a delta brought."""
        if string.call is not None:
            return partial(self.calls.more, string.call)
        is_text = string.name == "content"
        block = self._text if is_text else self._reasoning
        assert block is not None  # the string is in it
        return partial(more_text, block, TextDelta if is_text else ReasoningDelta)

    def flush(self, chunks: Chunks) -> None:
        """Give out what was held back: possible think tags, and halves of characters."""
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

    def whole_texts(self) -> List[Tuple[int, Block]]:
        """Return the whole blocks of text and reasoning, with their indexes."""
        blocks: List[Tuple[int, Block]] = []
        if self._text:
            blocks.append((self._text.index, TextBlock(self._text.joined())))
        if self._reasoning:
            reasoning = ReasoningBlock(self._reasoning.joined(), self._reasoning_field)
            blocks.append((self._reasoning.index, reasoning))
        return blocks

    def _add_content(self, chunks: Chunks, text: str) -> None:
        if self._think is None:
            self._add_text(chunks, text)
            return
        for is_reasoning, piece in self._think.push(text):
            (self._add_thought if is_reasoning else self._add_text)(chunks, piece)

    def _add_text(self, chunks: Chunks, text: str) -> None:
        if self._text is None:
            self._text = GrowingText(self._open(chunks, "text"), self._count)
        chunks += more_text(self._text, TextDelta, text)

    def _add_thought(self, chunks: Chunks, text: str) -> None:
        if self._reasoning is None:
            self._reasoning = GrowingText(self._open(chunks, "reasoning"), self._count)
        chunks += more_text(self._reasoning, ReasoningDelta, text)

    def _add_reasoning(self, chunks: Chunks, delta: Dict[str, Any]) -> None:
        told = ""
        for field in REASONING_FIELDS:
            text = delta.get(field)
            if text is None or text == "":
                continue
            text = string(text, field)
            if told:  # the same reasoning under a second name
                if text != told:
                    self._count("reasoning_under_another_name")
                continue
            if self._reasoning is None:
                self._reasoning_field = field
            told = text
            self._add_thought(chunks, text)
        details = delta.get("reasoning_details")
        if details:
            for text in read_details(details, self.details, self._count):
                if not told:
                    self._add_thought(chunks, text)
        opaque = delta.get("reasoning_opaque")
        if opaque:
            self.details.keep("reasoning_opaque", opaque)
        blocks = delta.get("thinking_blocks")  # LiteLLM's, with signatures that must come back
        if blocks:
            self.details.keep("thinking_blocks", blocks)

    def _add_parts(self, chunks: Chunks, content: Any) -> None:
        if type(content) is not list:
            raise malformed(f"content is a {type(content).__name__}")
        for kind, text in read_content(content):
            if kind == "text":
                self._add_content(chunks, text)
            elif kind == "reasoning":
                self._add_thought(chunks, text)
            else:
                self._count("content_part_unknown")

    def _open(self, chunks: Chunks, block_type: str) -> int:
        index = self._blocks
        self._blocks += 1
        chunks.append(BlockStart(index, block_type))
        return index
