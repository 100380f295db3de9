# SPDX-License-Identifier: MIT
"""The short report of one captured stream, for a bug report.

In: the ``Outcome`` of a file. Out: some lines on stdout: counts of events and blocks, calls,
usage, finish, diagnostics, or the error with its place. The report counts the characters of
texts, the images and the extras, and does not show them. It shows a call's arguments and the
cost, shortened.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

from ..values.chunks import (
    BlockEnd, BlockStart, Finish, ReasoningDelta, StreamChunk, TextDelta, ToolCallDelta,
)
from ..values.errors import LlmError, Partial
from ..values.messages import AssistantMessage, OpaqueBlock
from ..values.usage import TokenUsage
from ..wire.assembler import MessageAssembler
from .printing import call_line, failure_line, one_line, usage_words
from .tape import Tape
from .terminal import Terminal

_SHOWN = 200  # characters shown of a value that the provider wrote


class Outcome:
    """What was read from one file: its blocks, and a message or an error."""

    def __init__(self, name: str, tape: Tape) -> None:
        self.name = name
        self.tape = tape
        self.diagnostics: Dict[str, int] = {}
        self.error: Optional[LlmError] = None
        self.finish: Optional[Finish] = None
        self.opened: Dict[int, str] = {}  # block types by index; for opaque blocks the kind
        self.sizes: Dict[int, int] = {}  # characters of text and reasoning blocks, by index
        self.media: Dict[int, str] = {}  # what is known of opaque blocks, by index
        self.extras: Dict[str, str] = {}  # the extras of the blocks and of the message, by name
        self.names: Dict[int, str] = {}  # names of the calls that began, by index
        self._assembler = MessageAssembler()

    def push(self, chunk: StreamChunk) -> None:
        """Take the next chunk."""
        self._assembler.push(chunk)
        if isinstance(chunk, BlockStart):
            self.opened[chunk.index] = chunk.kind or chunk.block_type
        elif isinstance(chunk, (TextDelta, ReasoningDelta)):
            self.sizes[chunk.index] = self.sizes.get(chunk.index, 0) + len(chunk.text)
        elif isinstance(chunk, ToolCallDelta) and chunk.name:
            self.names[chunk.index] = chunk.name
        elif isinstance(chunk, BlockEnd):
            if isinstance(chunk.block, OpaqueBlock):
                self.media[chunk.index] = _media(chunk.block)
            self._note_extras(chunk.block.type, getattr(chunk.block, "extras", None))
        elif isinstance(chunk, Finish):
            self.finish = chunk
            self._note_extras("message", chunk.extras)

    def _note_extras(self, whose: str, extras: Optional[Mapping[str, Any]]) -> None:
        for name, value in (extras or {}).items():
            inner = value.get("content") if name == "logprobs" else value
            count = f" ({len(inner)})" if isinstance(inner, list) else ""
            self.extras[f"{whose} {one_line(name, _SHOWN)}"] = count

    @property
    def message(self) -> AssistantMessage:
        """The proven message. Raises: ``LlmError`` if the answer has no proven message."""
        return self._assembler.message

    @property
    def arrived(self) -> Partial:
        """The text, reasoning and usage that came so far."""
        return self._assembler.partial


def write_report(outcome: Outcome, terminal: Terminal) -> None:
    """Write the report of one file to stdout."""
    terminal.line(outcome.name)
    for word, text in _lines(outcome):
        terminal.line(f"  {word:<12} {text}")


def _lines(outcome: Outcome) -> Iterator[Tuple[str, str]]:
    if outcome.error is None:
        yield "message", "proven"
    else:
        yield "error", failure_line(outcome.error)
        yield "where", outcome.tape.place()
        yield "retryable", "yes" if outcome.error.retryable else "no"
    count = outcome.tape.events
    yield "read", f"{outcome.tape.size} bytes, {count} {'event' if count == 1 else 'events'}"
    yield "blocks", _blocks(outcome)
    yield from _calls(outcome)
    if outcome.extras:
        yield "extras", ", ".join(f"{name}{count}" for name, count in outcome.extras.items())
    yield "usage", usage_words(outcome.arrived.usage)
    yield from _cost(outcome.arrived.usage)
    if outcome.finish is not None:
        yield from _ending(outcome.finish)
    yield "diagnostics", _counters(outcome.diagnostics)


def _blocks(outcome: Outcome) -> str:
    sizes = outcome.sizes
    known = {**outcome.media, **{index: f"{size} characters" for index, size in sizes.items()}}
    shown = [one_line(kind, _SHOWN) + (f" ({known[index]})" if index in known else "")
             for index, kind in sorted(outcome.opened.items())]
    return ", ".join(shown) or "none"


def _media(block: OpaqueBlock) -> str:
    """Return the type and the size of what an opaque block carries."""
    try:
        data = block.data()
    except ValueError:
        data = None  # it is no base64: its JSON is measured
    if data is None:
        return f"{len(json.dumps(block.part))} characters of JSON"
    return ", ".join(filter(None, (block.media_type, f"{len(data)} bytes")))


def _cost(usage: Optional[TokenUsage]) -> Iterator[Tuple[str, str]]:
    told = {} if usage is None or usage.raw is None else usage.raw
    for name, value in told.items():
        if "cost" in name and value not in (None, {}):
            yield "cost", one_line(f"{name} {json.dumps(value)}", _SHOWN)


def _calls(outcome: Outcome) -> Iterator[Tuple[str, str]]:
    if outcome.error is None:
        for call in outcome.message.tool_calls:
            yield "call", call_line(call, _SHOWN)
        return
    for name in outcome.names.values():
        yield "call", f"{one_line(name, _SHOWN)}: begun, not whole; do not run it"


def _ending(finish: Finish) -> Iterator[Tuple[str, str]]:
    word = f" (the provider's word: {finish.raw!r})" if finish.raw else ""
    yield "finish", finish.reason.kind + word
    if finish.model:
        yield "model", one_line(finish.model, _SHOWN)
    if finish.response_id:
        yield "response id", one_line(finish.response_id, _SHOWN)


def _counters(diagnostics: Dict[str, int]) -> str:
    shown = [f"{name} {count}" for name, count in sorted(diagnostics.items())]
    return ", ".join(shown) or "nothing skipped, repaired or dropped"
