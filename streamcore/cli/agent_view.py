# SPDX-License-Identifier: MIT
"""What ``agent`` shows of a turn.

In: the agent's events and chunks. Out: if stdout is a terminal, the text as it comes; otherwise
only the text of the last answer, once it is proven. If stderr is a terminal, it gets the
progress: what the agent does, how fast, how long. Speed is in tokens if the provider counted
them, else in pieces of the stream, because a number of tokens would be a guess.
"""

from __future__ import annotations

import time
from typing import Callable, List, Optional

from ..agent import AgentEvent, AgentResult, ToolOutcome
from ..values.chunks import ReasoningDelta, StreamChunk, TextDelta, ToolCallDelta
from ..values.messages import AssistantMessage
from .printing import TextPrinter, call_line, usage_words
from .terminal import Terminal

_SHORTEST = 0.1  # seconds; a speed measured over less says nothing
_CALL_SHOWN = 200  # characters of a call


class View:
    """Shows one turn.

    Args:
        terminal: where the turn is shown.
        name: the model and its provider, as the notes name them.
        clock: returns seconds that never go back.
    """

    def __init__(
        self, terminal: Terminal, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._terminal = terminal
        self._name = name
        self._clock = clock
        self._printer = TextPrinter(terminal)
        self._began = clock()  # when the turn began
        self._step_began = self._began
        self._tool_began = self._began
        self._first: Optional[float] = None  # when the step's first piece came
        self._pieces = 0  # how many pieces of the step came
        self._paused: List[str] = []  # texts of the paused answers before this one

    @property
    def on_chunk(self) -> Optional[Callable[[StreamChunk], None]]:
        """What the agent calls with each chunk; None if neither stdout nor stderr is a terminal."""
        return self.chunk if self._terminal.live or self._terminal.watched else None

    def chunk(self, chunk: StreamChunk) -> None:
        """Show the next chunk of an answer."""
        if isinstance(chunk, (TextDelta, ReasoningDelta, ToolCallDelta)):
            self._pieces += 1
            self._first = self._clock() if self._first is None else self._first
        if isinstance(chunk, TextDelta) and not self._terminal.live:
            self._terminal.aside("text", chunk.text)
        elif isinstance(chunk, TextDelta) or self._terminal.watched:
            if chunk.type != "block-end":  # a note shows the call when it runs
                self._printer.push(chunk)

    def event(self, event: AgentEvent) -> None:
        """Show an event of the turn: a step, a tool, an end."""
        if event.type == "step-start":
            self._begin()
            self._note(f"[step {event.step}] asking {self._name}")
        elif event.type == "void":
            self._begin()
            self._terminal.end_text()
            self._terminal.note(f"[step {event.step}] the text shown so far is void: a tool call "
                                "did not parse, and the model was asked again")
        elif event.type == "message" and event.message is not None:
            self._message(event.message, event.step)
        elif event.type == "tool-start" and event.call is not None:
            self._tool_began = self._clock()
            self._note(f"[tool] {call_line(event.call, _CALL_SHOWN)}")
        elif event.type == "tool-result" and event.outcome is not None:
            self._outcome(event.outcome)
        elif event.type == "end" and event.result is not None:
            self._end(event.result)

    def _begin(self) -> None:
        self._step_began, self._first, self._pieces = self._clock(), None, 0
        self._printer = TextPrinter(self._terminal)

    def _message(self, message: AssistantMessage, step: int) -> None:
        self._terminal.end_text()
        texts = [*self._paused, message.text]
        self._paused = texts if message.finish == "paused" else []
        if not self._terminal.live and message.finish not in ("tool-calls", "paused"):
            self._terminal.text("".join(texts))
            self._terminal.end_text()
        elapsed = self._clock() - self._step_began
        speed = self._speed(message)
        self._note(f"[step {step}] {message.finish} after {elapsed:.1f} s{speed}")

    def _speed(self, message: AssistantMessage) -> str:
        took = 0.0 if self._first is None else self._clock() - self._first
        if took < _SHORTEST:
            return ""
        counted = None if message.usage is None else message.usage.output_tokens
        if counted is not None:
            return f", {counted / took:.1f} tokens/s ({counted} by the provider's count)"
        return f", {self._pieces / took:.1f} pieces/s (tokens were not counted)"

    def _outcome(self, outcome: ToolOutcome) -> None:
        took = self._clock() - self._tool_began
        size = len(outcome.content.encode("utf-8", "replace"))
        words = f"{size} bytes" if not outcome.is_error else outcome.content.split("\n")[0][:200]
        self._note(f"[tool] {outcome.call.name}: {outcome.status} after {took:.1f} s, {words}")

    def _end(self, result: AgentResult) -> None:
        self._terminal.end_text()
        elapsed = self._clock() - self._began
        self._note(f"[{result.reason}; {result.steps} steps, {len(result.tool_calls)} tool calls; "
                   f"{usage_words(result.usage)}; all in {elapsed:.1f} s]")

    def _note(self, text: str) -> None:
        if self._terminal.watched:
            self._terminal.note(text)
