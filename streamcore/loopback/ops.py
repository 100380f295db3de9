# SPDX-License-Identifier: MIT
"""Turns checked steps into operations: bytes of the body, pauses, endings.

In: steps as ``steps.check_steps`` returns them. Out: operations, made only when they are
asked for, so that a step may repeat for ever. Nothing is refused here, because the steps are
checked already. The docstring of the package describes the format.
"""

from __future__ import annotations

import base64
import itertools
import json
from dataclasses import dataclass, field
from typing import (
    Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Protocol,
)

EMIT = "emit"  # bytes of the body, not yet compressed, cut and framed
WIRE = "wire"  # bytes written as they are
PAUSE = "pause"
SILENCE = "silence"  # until the client leaves
RESET, CLOSE, SHUTDOWN_WRITE = "reset", "close", "shutdown-write"
ENDINGS = (SILENCE, RESET, CLOSE, SHUTDOWN_WRITE)

PLACEHOLDER = "{last_user}"
ENVELOPE = {
    "id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 0,
    "model": "loopback",
}
_BARE_ENDINGS = {
    "stall": SILENCE, "reset": RESET, "close": CLOSE, "shutdown_write": SHUTDOWN_WRITE,
}

Step = Dict[str, Any]


class Op(NamedTuple):
    """One operation of an answer: its kind, bytes for EMIT and WIRE, seconds for PAUSE."""

    kind: str
    data: bytes = b""
    seconds: float = 0.0


@dataclass(frozen=True)
class Frames:
    """Server-sent events as bytes, with one line end and one envelope of payload keys."""

    newline: str = "\n"
    envelope: Mapping[str, Any] = field(default_factory=dict)

    def lines(self, *lines: str) -> bytes:
        """Return an event of these lines and its blank line."""
        return encode_text(self.newline.join(lines) + self.newline * 2)

    def payload(self, payload: Mapping[str, Any]) -> bytes:
        """Return a data event that carries ``payload`` as it is."""
        return self.lines("data: " + compact_json(payload))

    def chunk(self, choices: List[Any], **more: Any) -> bytes:
        """Return a data event in the shape of a chat completion chunk."""
        return self.payload({**ENVELOPE, **self.envelope, "choices": choices, **more})

    def delta(self, delta: Any, finish: Optional[str] = None) -> bytes:
        """Return the chunk of one delta."""
        return self.chunk([{"index": 0, "delta": delta, "finish_reason": finish}])

    def event(self, fields: Mapping[str, Any]) -> bytes:
        """Return an event of named fields; a value that is not a string is written as JSON."""
        lines: List[str] = []
        for name, value in fields.items():
            text = value if isinstance(value, str) else compact_json(value)
            lines.extend(f"{name}: {line}" for line in text.split("\n"))
        return self.lines(*lines)

    def write(self, name: str, value: Any, step: Step) -> bytes:
        """Return the bytes of a step that makes bytes."""
        return _BYTES[name](self, value, step)


class Writer(Protocol):
    """Writes the steps of one answer in one dialect; it may know what was written before."""

    def write(self, name: str, value: Any, step: Step) -> bytes:
        """Return the bytes of a step that makes bytes."""


_Maker = Callable[[Frames, Any, Step], bytes]
_BYTES: Dict[str, _Maker] = {
    "text": lambda frames, value, step: frames.delta({"content": value}),
    "reasoning": lambda frames, value, step: frames.delta(
        {step.get("field", "reasoning_content"): value}),
    "tool_call": lambda frames, value, step: frames.delta({"tool_calls": [_fragment(value)]}),
    "delta": lambda frames, value, step: frames.delta(value),
    "payload": lambda frames, value, step: frames.payload(value),
    "finish": lambda frames, value, step: frames.delta({}, value),
    "usage": lambda frames, value, step: frames.chunk([], usage=value),
    "done": lambda frames, value, step: frames.lines("data: [DONE]"),
    "comment": lambda frames, value, step: frames.lines(f": {value}" if value else ":"),
    "event": lambda frames, value, step: frames.event(value),
    "error": lambda frames, value, step: frames.payload({"error": value}),
    "raw": lambda frames, value, step: encode_text(value),
    "raw_base64": lambda frames, value, step: base64.b64decode(value),
    "json": lambda frames, value, step: encode_text(compact_json(value)),
    "ping": lambda frames, value, step: frames.lines(": ping"),
}
BYTE_STEPS = (*_BYTES, "signature", "block")
"""The steps that make bytes; the last two in one dialect only."""


def iter_ops(steps: Iterable[Step], frames: Writer) -> Iterator[Op]:
    """Yield the operations of checked steps, one EMIT for each step that makes bytes."""
    for step in steps:
        name = step_name(step)
        value = step[name]
        if name in BYTE_STEPS:
            yield Op(EMIT, frames.write(name, value, step))
        elif name in _BARE_ENDINGS:
            yield Op(_BARE_ENDINGS[name])
        elif name == "sleep":
            yield Op(PAUSE, seconds=value)
        elif name == "chunk_size_bad":
            yield Op(WIRE, b"ZZ\r\n")
        elif name == "drip":
            yield from _drip(iter_ops(value["steps"], frames), value["every"])
        else:
            yield from _repeat(value, frames)


def step_name(step: Step) -> str:
    """Return the name of a step: its one key that is not ``field``."""
    return next(name for name in step if name != "field")


def fill(value: Any, last_user: str) -> Any:
    """Return ``value`` with the placeholder replaced in every string in it."""
    if isinstance(value, str):
        return value.replace(PLACEHOLDER, last_user)
    if isinstance(value, dict):
        return {key: fill(item, last_user) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, last_user) for item in value]
    return value


def compact_json(value: Any) -> str:
    """Return ``value`` as JSON without blanks; characters are escaped only if they must be."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if any("\ud800" <= char <= "\udfff" for char in text):
        # A lone surrogate half has no UTF-8 form; only the escape can carry it.
        return json.dumps(value, separators=(",", ":"))
    return text


def encode_text(text: str) -> bytes:
    """Return UTF-8; lone surrogate halves are encoded too, as careless servers do."""
    return text.encode("utf-8", "surrogatepass")


def _fragment(value: Mapping[str, Any]) -> Dict[str, Any]:
    fragment = {key: value[key] for key in value if key not in ("name", "arguments")}
    function = {key: value[key] for key in ("name", "arguments") if key in value}
    return {**fragment, "function": function} if function else fragment


def _drip(ops: Iterable[Op], every: float) -> Iterator[Op]:
    first = True
    for op in ops:
        if op.kind != EMIT:
            yield op
            continue
        for at in range(len(op.data)):
            if not first:
                yield Op(PAUSE, seconds=every)
            first = False
            yield Op(EMIT, op.data[at:at + 1])


def _repeat(value: Mapping[str, Any], frames: Writer) -> Iterator[Op]:
    times = value["times"]
    for turn in itertools.count() if times is None else range(times):
        if turn and value["every"]:
            yield Op(PAUSE, seconds=value["every"])
        yield from iter_ops(value["steps"], frames)
