# SPDX-License-Identifier: MIT
"""Server-sent events: body bytes in, events out.

The rules are the WHATWG's (HTML, section 9.2.6, "Interpreting an event stream"). Only LF,
CR and CRLF end a line, also when a read ends between CR and LF. The parser is stricter than
the standard. It refuses bytes that are not UTF-8 and an event over its limit. An event ends
only at its blank line, so an event without one is reported as truncated. The parser knows
nothing of JSON or ``[DONE]``.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from ..values.errors import LlmError
from ..values.numbers import check_whole

BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry")
_STRAYS_KEPT = 8  # lines that are not SSE fields, kept to show what a server appended


class SseEvent:
    """One event: ``data`` without its last line end, and its other fields.

    ``event`` is its name, by default ``message``. ``id`` is the last event id so far.
    ``retry`` is the reconnection time that the event set, in milliseconds. ``skipped``
    counts the lines since the event before that were not SSE fields. It does not affect
    equality.
    """

    __slots__ = ("data", "event", "id", "retry", "skipped")

    def __init__(
        self,
        data: str,
        event: str = "message",
        id: str = "",
        retry: Optional[int] = None,
        skipped: int = 0,
    ) -> None:
        self.data = data
        self.event = event
        self.id = id
        self.retry = retry
        self.skipped = skipped

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SseEvent):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__[:-1])

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SseEvent({self.data!r}, {self.event!r}, id={self.id!r}, retry={self.retry!r})"


class SseEnd:
    """How a body ended.

    ``truncated`` says whether an event had begun without its blank line. ``data`` is the data
    of that event so far, and ``tail`` its raw text. ``strays`` are whole lines that were not
    SSE fields. ``fields`` says whether any line of the body was an SSE field or a comment.
    """

    __slots__ = ("truncated", "data", "tail", "strays", "fields")

    def __init__(
        self, truncated: bool, data: str, tail: str, strays: Tuple[str, ...], fields: bool
    ) -> None:
        self.truncated = truncated
        self.data = data
        self.tail = tail
        self.strays = strays
        self.fields = fields


class SseParser:
    """An incremental parser: ``feed`` bytes, then ``finish``.

    A fault is final. Events before it are returned first; ``fault`` then holds it, and the
    next call raises it.

    Args:
        max_event_bytes: the most bytes in one event's lines, without line ends; 1 or more.
    Raises:
        TypeError, ValueError: if the limit is not a whole number of 1 or more.
    """

    def __init__(self, max_event_bytes: int = 256 * 1024) -> None:
        check_whole("max_event_bytes", max_event_bytes)
        self._limit = max_event_bytes
        self._tail: List[bytes] = []  # the line that is still open, in the pieces it came in
        self._tail_size = 0  # its bytes so far
        self._data: List[str] = []  # data values of the open event
        self._size = 0  # bytes of the open event's whole lines
        self._event = "message"  # the open event's name
        self._retry: Optional[int] = None  # the open event's reconnection time
        self._id = ""  # last event id; the next events keep it
        self._swallow_lf = False  # a CR ended the last line; an LF right after belongs to it
        self._start: Optional[bytes] = b""  # first bytes, while they may still become a BOM
        self._offset = 0  # body bytes before the current piece
        self._strays: List[str] = []  # the first lines that were not SSE fields
        self._skipped = 0  # how many such lines came since the last event
        self._fields = False  # an event ended, or a comment came
        self.fault: Optional[LlmError] = None  # found after events; the next call raises it

    def feed(self, piece: bytes) -> List[SseEvent]:
        """Take the next bytes and return the events they completed.

        Raises:
            LlmError: ``MALFORMED_RESPONSE`` for an event over the limit, or bytes that are
                not UTF-8 in a field of ``data``, ``event`` or ``id``.
        """
        if self.fault is not None:
            raise self.fault
        if self._start is not None:
            piece = self._after_bom(piece)
        if self._swallow_lf and piece:
            self._swallow_lf = False
            if piece[:1] == b"\n":
                piece = piece[1:]
                self._offset += 1
        events: List[SseEvent] = []
        try:
            self._read(piece, events)
        except LlmError as fault:
            self.fault = fault
            if not events:
                raise
        return events

    def finish(self) -> SseEnd:
        """Say that the body has ended and return how.

        Raises:
            LlmError: the fault that ``feed`` found, again.
        """
        if self.fault is not None:
            raise self.fault
        if self._start:  # the whole body is the first bytes of a BOM
            self._tail, self._start = [self._start], None
        line = b"".join(self._tail)
        tail = line.decode("utf-8", "replace")
        shown = [f"data: {value}" for value in self._data] + [tail] * bool(line)
        data = self._data + [tail[5:].removeprefix(" ")] * tail.startswith("data:")
        fields = self._fields or self._size > 0 or _may_become_field(line)
        truncated = bool(self._size or line)
        return SseEnd(
            truncated, "\n".join(data), "\n".join(shown), tuple(self._strays), fields
        )

    def _read(self, piece: bytes, events: List[SseEvent]) -> None:
        start = self._offset - self._tail_size  # where the first line begins in the body
        self._offset += len(piece)
        if b"\n" not in piece and b"\r" not in piece:
            if piece:
                self._hold(piece)
            return
        if self._tail:
            piece = b"".join([*self._tail, piece])
            self._tail, self._tail_size = [], 0
        # bytes.splitlines splits at LF, CR and CRLF only. str.splitlines splits at U+2028 too.
        lines = piece.splitlines()
        last = piece[-1:]
        self._swallow_lf = last == b"\r"
        rest = b"" if last == b"\n" or last == b"\r" else lines.pop()
        data, size, limit = self._data, self._size, self._limit
        number, line = 0, b""
        try:
            for number, line in enumerate(lines):
                if line:
                    if size + len(line) > limit:
                        raise self._too_large()
                    if line[:6] == b"data: ":
                        data.append(line[6:].decode())
                    elif line[:7] == b"event: ":  # as Anthropic and OpenAI name each event
                        self._event = line[7:].decode() or "message"
                    elif not self._is_field(line):
                        continue
                    size += len(line)
                elif size:
                    if data:
                        text = data[0] if len(data) == 1 else "\n".join(data)
                        events.append(
                            SseEvent(text, self._event, self._id, self._retry, self._skipped)
                        )
                        data.clear()
                        self._skipped = 0
                    size, self._event, self._retry = 0, "message", None
                    self._fields = True
        except UnicodeDecodeError as bad:
            start += sum(map(len, piece.splitlines(True)[:number]))
            raise _not_utf8(start + len(line) - len(bad.object) + bad.start) from None
        self._size = size
        if rest:
            self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        self._tail.append(piece)
        self._tail_size += len(piece)
        if self._size + self._tail_size > self._limit:
            raise self._too_large()

    def _is_field(self, line: bytes) -> bool:
        """Take a line and say whether it is a field of the open event."""
        name, _, value = line.partition(b":")
        if name not in _FIELDS:
            if not name:
                self._fields = True  # a comment: proof of a stream, but part of no event
            elif not line.isspace():
                self._skipped += 1
                if len(self._strays) < _STRAYS_KEPT:
                    self._strays.append(line[:200].decode("utf-8", "replace"))
            return False
        value = value[1:] if value[:1] == b" " else value
        if name == b"data":
            self._data.append(value.decode())
        elif name == b"event":
            self._event = value.decode() or "message"
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode()
        elif value.isdigit():
            self._retry = int(value[:18])  # 18 digits are enough for any time, and cheap to read
        return True

    def _after_bom(self, piece: bytes) -> bytes:
        start = (self._start or b"") + piece
        if len(start) < len(BOM) and BOM.startswith(start):
            self._start = start
            return b""
        self._start = None
        if start.startswith(BOM):
            self._offset += len(BOM)
            return start[len(BOM):]
        return start

    def _too_large(self) -> LlmError:
        return LlmError(
            f"one event is larger than max_event_bytes ({self._limit} bytes)",
            "MALFORMED_RESPONSE",
            phase="body",
        )


def _not_utf8(offset: int) -> LlmError:
    return LlmError(
        f"the byte at offset {offset} of the body is not UTF-8", "MALFORMED_RESPONSE", phase="body"
    )


def _may_become_field(line: bytes) -> bool:
    name = line.partition(b":")[0]
    return bool(line) and (not name or any(field.startswith(name) for field in _FIELDS))
