# SPDX-License-Identifier: MIT
"""The steps of an answer as events of Anthropic Messages.

In: the same steps as for chat completions, and ``signature``, ``block`` and ``ping``. Out:
their events. The first step that says something is preceded by ``message_start``; blocks
open and stop by themselves as one kind follows another. Nothing is refused: the steps are
checked.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping

from .ops import Frames, Step

_MESSAGE: Mapping[str, Any] = {
    "id": "msg_loopback", "type": "message", "role": "assistant", "model": "loopback",
    "content": [], "stop_reason": None, "stop_sequence": None,
    "usage": {"input_tokens": 0, "output_tokens": 0},
}


class AnthropicWriter:
    """Writes the steps of one answer.

    Args:
        newline: the line end.
        envelope: merged over the message of ``message_start``.
    """

    def __init__(self, newline: str, envelope: Mapping[str, Any]) -> None:
        self._frames = Frames(newline)
        self._envelope = envelope
        self._started = False
        self._blocks = 0  # blocks opened so far
        self._open: List[int] = []  # their indexes, until they stop
        self._kind = ""  # of the text or thinking block that goes on
        self._calls: Dict[Any, int] = {}  # index of a scripted call → index of its block
        self._usage: Any = {"output_tokens": 0}

    def write(self, name: str, value: Any, step: Step) -> bytes:
        """Return the bytes of a step that makes bytes."""
        if name == "ping":
            return self._event("ping")
        if name == "error":
            return self._event("error", error=value)
        if name == "payload":
            kind = value.get("type", "message") if isinstance(value, dict) else "message"
            return self._frames.event({"event": kind, "data": value})
        if name == "done":
            return self._event("message_stop")
        writes: Dict[str, Callable[[Any], bytes]] = {
            "text": self._text, "reasoning": self._thinking, "signature": self._signature,
            "tool_call": self._call, "block": self._block, "delta": self._delta,
            "finish": self._finish, "usage": self._report,
        }
        if name not in writes:
            return self._frames.write(name, value, step)
        return self._start() + writes[name](value)

    def _start(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        return self._event("message_start", message={**_MESSAGE, **self._envelope})

    def _text(self, value: str) -> bytes:
        return self._go_on("text", {"text": ""}) + self._delta(
            {"type": "text_delta", "text": value})

    def _thinking(self, value: str) -> bytes:
        return self._go_on("thinking", {"thinking": "", "signature": ""}) + self._delta(
            {"type": "thinking_delta", "thinking": value})

    def _signature(self, value: str) -> bytes:
        return self._go_on("thinking", {"thinking": "", "signature": ""}) + self._delta(
            {"type": "signature_delta", "signature": value})

    def _call(self, value: Mapping[str, Any]) -> bytes:
        key, begun = value.get("index", 0), b""
        if key not in self._calls:
            known = {name: value[name] for name in ("id", "name") if name in value}
            begun = self._begin("tool_use", {**known, "input": {}})
            self._calls[key] = self._blocks - 1
            self._kind = ""
        delta = {"type": "input_json_delta", "partial_json": value.get("arguments", "")}
        return begun + self._event("content_block_delta", index=self._calls[key], delta=delta)

    def _block(self, value: Mapping[str, Any]) -> bytes:
        begun = self._begin(str(value.get("type", "text")), value)
        return begun + self._stop()

    def _delta(self, value: Any) -> bytes:
        return self._event("content_block_delta", index=self._blocks - 1, delta=value)

    def _report(self, value: Any) -> bytes:
        self._usage = value
        return b""  # it stands in the event of the finish

    def _finish(self, value: Any) -> bytes:
        delta = {"stop_reason": value, "stop_sequence": None}
        return self._stop() + self._event("message_delta", delta=delta, usage=self._usage)

    def _go_on(self, kind: str, block: Mapping[str, Any]) -> bytes:
        if self._kind == kind:
            return b""
        begun = self._begin(kind, block)
        self._kind = kind
        return begun

    def _begin(self, kind: str, block: Mapping[str, Any]) -> bytes:
        stopped = self._stop()
        self._open.append(self._blocks)
        self._blocks += 1
        return stopped + self._event(
            "content_block_start", index=self._blocks - 1, content_block={"type": kind, **block})

    def _stop(self) -> bytes:
        stopped = [self._event("content_block_stop", index=index) for index in self._open]
        self._open.clear()
        self._kind = ""
        return b"".join(stopped)

    def _event(self, kind: str, **fields: Any) -> bytes:
        return self._frames.event({"event": kind, "data": {"type": kind, **fields}})
