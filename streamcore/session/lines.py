# SPDX-License-Identifier: MIT
"""One event is one line: ``{"seq":0,"time":1.5,"type":"…","data":{…}}`` and a line feed.

In: the parts of an event, or a line. Out: the line, or the event. Lines are ASCII, so
that no character of a text can end a line (U+2028 is an escape). A line is made in two
steps: the ``encode_…`` functions make its body, from ``"type"`` on, and ``stamp`` puts
the number and the time before it. Chunks have a faster encoder that gives the same bytes.
Refused: values that JSON cannot carry or that nest deeper than ``DEEPEST``, and lines
that are not events.
"""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from json.encoder import encode_basestring_ascii as _quote
from typing import Any, Dict, Iterator, Mapping

from ..values.chunks import ReasoningDelta, TextDelta, ToolCallDelta
from ..values.errors import LlmError
from ..values.frozen import freeze
from ..values.strictjson import DECODER, MAX_DEPTH, is_too_deep
from .events import Event

START = "session/start"
HEADER = "request/header"
CONTEXT = "request/context"
USER = "user/message"
CHUNK = "assistant/chunk"
ASSISTANT = "assistant/message"
TOOL_START = "tool/start"
TOOL_RESULT = "tool/result"
RETRY_SCHEDULED = "retry/scheduled"
RETRY_STARTED = "retry/started"
TURN_START = "turn/start"
TURN_END = "turn/end"
LOST = "session/lost"
"""Replaces, in a salvaged log, an event that could not be read."""

DEEPEST = MAX_DEPTH + 20
"""Levels of nesting in a line: those a provider may send, and those of the event around them."""


class TooDeep(ValueError):
    """A line is nested deeper than ``DEEPEST``, or deeper than the rest of the stack allows."""


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


_STRICT: Dict[str, Any] = {"allow_nan": False, "separators": (",", ":"), "default": _as_json}
_ENCODE = json.JSONEncoder(ensure_ascii=True, **_STRICT).encode
_ENCODE_UNICODE = json.JSONEncoder(ensure_ascii=False, **_STRICT).encode


def stamp(seq: int, time: float, body: bytes) -> bytes:
    """Return the line of an event: its number and time, then its body."""
    return f'{{"seq":{seq},"time":{time!r},'.encode("ascii") + body


def encode_event(type: str, data: Mapping[str, Any]) -> bytes:
    """Return the body of an event.

    Raises:
        TypeError, ValueError, RecursionError: when JSON cannot carry ``data``, or the
            log could not read it again.
    """
    text = encode_value({"type": type, "data": data})
    deep = text.count("[") + text.count("{") > DEEPEST  # fewer brackets cannot nest too deeply
    if deep and is_too_deep(text, DECODER.decode(text), DEEPEST):
        raise RecursionError
    return f"{text[1:]}\n".encode("ascii")


def encode_value(value: Any) -> str:
    """Return a value as the log writes it; equal texts mean equal values in equal key order.

    Raises:
        TypeError, ValueError, RecursionError: when JSON cannot carry it.
    """
    return _ENCODE(value)


def encode_received(type: str, data: Mapping[str, Any]) -> bytes:
    """Return the body of an event made of what a provider sent.

    A number beyond a double's range, such as ``1e999``, is recorded as null, because
    losing the answer would be worse.

    Raises:
        LlmError: ``SESSION`` for data nested deeper than the log can read again.
    """
    with bounded(type, "SESSION"):
        try:
            return encode_event(type, data)
        except ValueError:
            return encode_event(type, _finite(data))


def encode_chunk(chunk: Any) -> bytes:
    """Return the body of a chunk's event; the same bytes as ``encode_received`` gives."""
    kind = chunk.__class__
    if kind is TextDelta or kind is ReasoningDelta:
        return (
            f'"type":"assistant/chunk","data":{{"type":"{chunk.type}"'
            f',"index":{chunk.index:d},"text":{_quote(chunk.text)}}}}}\n'
        ).encode("ascii")
    if kind is ToolCallDelta and chunk.id is None and chunk.name is None:
        return (
            '"type":"assistant/chunk","data":{"type":"tool-call-delta",'
            f'"index":{chunk.index:d},"arguments_delta":{_quote(chunk.arguments_delta)}}}}}\n'
        ).encode("ascii")
    return encode_received(CHUNK, chunk.to_dict())


def encode_given(type: str, data: Mapping[str, Any]) -> bytes:
    """Return the body of an event made of what a caller gave.

    Raises:
        LlmError: ``INVALID_REQUEST`` for a value that no request could carry. In the
            log it would make every later request fail.
    """
    with refusing(type):
        _ENCODE_UNICODE(data).encode("utf-8")  # fails on a lone surrogate half
        return encode_event(type, data)


@contextmanager
def bounded(type: str, code: str) -> Iterator[None]:
    """Turn a RecursionError into an ``LlmError`` with this code that names the event's type."""
    try:
        yield
    except RecursionError:
        raise LlmError(f"{type} cannot be recorded: nested too deeply", code) from None


@contextmanager
def refusing(type: str) -> Iterator[None]:
    """Turn errors of the JSON encoder into ``INVALID_REQUEST``.

    The error has no cause, because the cause would quote the values.
    """
    try:
        yield
        return
    except UnicodeEncodeError:
        reason = "it has a lone surrogate half"
    except RecursionError:
        reason = "nested too deeply"
    except (TypeError, ValueError) as exc:
        reason = str(exc)
    text = f"{type} cannot be recorded: {reason}"
    raise LlmError(text, "INVALID_REQUEST", phase="prepare") from None


def parse_line(line: bytes) -> Dict[str, Any]:
    """Return the event in a line as a plain dict.

    Raises:
        ValueError: when the line is not one whole event; ``TooDeep`` when it nests too
            deeply.
    """
    text = line.decode("utf-8")
    try:
        value = DECODER.decode(text)
    except RecursionError:
        raise TooDeep("nested too deeply") from None
    if is_too_deep(text, value, DEEPEST):
        raise TooDeep("nested too deeply")
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    for name, kinds in (("seq", int), ("time", (int, float)), ("type", str), ("data", dict)):
        item = value.get(name)
        if not isinstance(item, kinds) or isinstance(item, bool):
            raise ValueError(f"{name} is missing or of the wrong type")
    return value


def parse_body(body: bytes) -> Event:
    """Return the event of a body as reading its line gives it, with ``seq`` -1 and time 0.

    Raises:
        LlmError: ``SESSION`` when the stack is too full for its nesting.
    """
    try:
        return to_event({"seq": -1, "time": 0.0, **DECODER.decode("{" + body.decode("ascii"))})
    except (RecursionError, TooDeep):
        raise LlmError("an event is nested too deeply for this stack", "SESSION") from None


def to_event(value: Mapping[str, Any]) -> Event:
    """Return the event of a dict that ``parse_line`` returned.

    Raises:
        TooDeep: when the stack is too full for its nesting.
    """
    try:
        return Event(value["seq"], value["time"], value["type"], freeze(value["data"]))
    except RecursionError:
        raise TooDeep("nested too deeply for this stack") from None


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
