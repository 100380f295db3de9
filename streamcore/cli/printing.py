# SPDX-License-Identifier: MIT
"""Chunks on a terminal: as text while they come, or as one JSON line each.

In: chunks in the order of the stream. Out: the answer's text on stdout; on stderr reasoning,
calls that are still forming, and whole calls, which come as block-ends after the end is proven.
Nothing is refused here.
"""

from __future__ import annotations

import json
import re
import traceback
from typing import Dict, Iterable, Mapping, Optional, Protocol, Tuple

from ..values.chunks import (
    FINISH_KINDS, BlockEnd, BlockStart, ReasoningDelta, StreamChunk, TextDelta, ToolCallDelta,
)
from ..values.errors import LlmError, error_chain
from ..values.messages import ToolCall
from ..values.retry import RetryRecord
from ..values.usage import TokenUsage
from ..wire.sse import SseEvent
from .terminal import Terminal


_ARROW = " ← "  # between an error and its cause, in error_chain
_NOT_AN_ARGUMENT = re.compile("the api_key argument, |: looked in the api_key argument$")
_SHOWN = 200  # characters shown of a name or an id; real ones are shorter
_COUNTS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "read from cache",
    "cache_write_tokens": "written to cache",
    "reasoning_tokens": "of the output reasoning",
}


class Printer(Protocol):
    """Shows an answer while it comes."""

    def push(self, chunk: StreamChunk) -> None:
        """Show the next chunk."""

    def end(self) -> None:
        """Leave the cursor at the start of a line."""


class TextPrinter:
    """Shows text on stdout as it comes, and everything else on stderr."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._names: Dict[int, str] = {}  # names of the calls that are forming, by block index

    def push(self, chunk: StreamChunk) -> None:
        """Show the next chunk."""
        if isinstance(chunk, TextDelta):
            self._terminal.text(chunk.text)
        elif isinstance(chunk, ReasoningDelta):
            self._terminal.aside("reasoning", chunk.text)
        elif isinstance(chunk, ToolCallDelta):
            name = self._names.setdefault(chunk.index, one_line(chunk.name or "?", _SHOWN))
            self._terminal.aside(f"forming {name}, block {chunk.index}", chunk.arguments_delta)
        elif isinstance(chunk, BlockEnd) and isinstance(chunk.block, ToolCall):
            self._terminal.note("[tool call] " + call_line(chunk.block))
        elif isinstance(chunk, BlockStart) and chunk.kind is not None:
            self._terminal.note(f"[{one_line(chunk.kind, _SHOWN)}]")

    def end(self) -> None:
        """End the text's last line."""
        self._terminal.end_text()


class JsonPrinter:
    """Shows every chunk as one line of JSON on stdout."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def push(self, chunk: StreamChunk) -> None:
        """Show the next chunk."""
        self._terminal.json_line(chunk.to_dict())

    def end(self) -> None:
        """Do nothing: every line has its end already."""


class NoPrinter:
    """Shows nothing; for ``replay --report``."""

    def push(self, chunk: StreamChunk) -> None:
        """Ignore the chunk."""

    def end(self) -> None:
        """Do nothing."""


def print_events(terminal: Terminal, events: Iterable[Tuple[int, SseEvent]]) -> None:
    """Show raw events, with their numbers, on stderr."""
    for number, event in events:
        name = "" if event.event == "message" else f" ({event.event})"
        terminal.note(f"[event {number}{name}] {event.data}")


def call_line(call: ToolCall, limit: int = 2000) -> str:
    """Return a call in one line: name, arguments of at most ``limit`` characters, id."""
    name, id = one_line(call.name, _SHOWN), one_line(call.id, _SHOWN)
    return f"{name} {one_line(call.arguments, limit)} (id {id})"


def one_line(text: str, limit: int) -> str:
    """Return a text on one line, shortened in its middle to ``limit`` characters.

    A text with line ends or other control characters is quoted as JSON, so that it cannot look
    like a line of this program.
    """
    if not text.isprintable():
        text = json.dumps(text, ensure_ascii=False)
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} … {text[-half:]}"


def usage_words(usage: Optional[TokenUsage]) -> str:
    """Return the known token counts in words."""
    known = {} if usage is None else usage.to_dict()
    shown = [f"{known[name]} {word}" for name, word in _COUNTS.items() if name in known]
    return "tokens: " + ", ".join(shown) if shown else "tokens: no report"


def note_cut(terminal: Terminal, finish: Optional[str], diagnostics: Mapping[str, int]) -> None:
    """Say on stderr that an answer was cut at the output limit, or that the turn goes on."""
    if finish in ("paused", "awaits-client"):
        terminal.note(f"{finish}: {FINISH_KINDS[finish]}")
    if finish == "max-tokens":
        dropped = diagnostics.get("tool_calls_dropped", 0)
        calls = f"; {dropped} unfinished tool call(s) dropped" if dropped else ""
        terminal.note(f"max-tokens: the answer was cut at the output limit{calls}")


def note_retry(terminal: Terminal, record: RetryRecord) -> None:
    """Say on stderr that an attempt failed, and when the next one begins."""
    terminal.note(f"attempt {record.attempt} failed, the next one in {record.delay:.1f} s: "
                  f"{record.failure.code}: {record.failure.message}")


def note_failure(
    terminal: Terminal, error: LlmError, place: str = "", provider: Optional[str] = None
) -> None:
    """Say on stderr, in one line, what failed: code, message, causes, place.

    Args:
        terminal: has stderr.
        error: the failure.
        place: the place in a file or in a turn, in words.
        provider: the provider of the answer; None for a file that ``replay`` read.
    """
    request = error.failure.request_id
    facts = [fact for fact in (place, request and f"request id {request}") if fact]
    said = failure_line(error, provider)
    terminal.note(said + (f" ({'; '.join(facts)})" if facts else ""))
    if terminal.debug:
        kind = type(error)
        terminal.note("".join(traceback.format_exception(kind, error, error.__traceback__)))


def failure_line(error: LlmError, provider: Optional[str] = None) -> str:
    """Return a failure and its causes in one line; it names options instead of arguments.

    A cause that the line already contains is left out.
    """
    first, *causes = error_chain(error).split(_ARROW)
    hint = "--done-marker optional"
    if provider is not None:
        hint = f"--set provider.{provider}.done_marker=optional"
    line = first.replace("set done_marker='optional'", hint)
    if error.code == "MISSING_CREDENTIAL":
        line = f"{_NOT_AN_ARGUMENT.sub('', line)}; --api-key-env names another variable"
    for cause in causes:
        if cause not in line:
            line += _ARROW + cause
    return line
