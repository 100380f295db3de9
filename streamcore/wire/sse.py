# SPDX-License-Identifier: MIT
"""Server-sent events: body bytes in, events out.

The rules are the WHATWG's (HTML, section 9.2.6, "Interpreting an event
stream"). Only LF, CR and CRLF end a line, however the reads are cut. Strict
where the standard is lenient: bytes that are not UTF-8, and an event over
its limit, are refused; an event ends at its blank line and nowhere else, so a
tail without one is reported as truncation. Knows nothing of JSON or ``[DONE]``.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from ..values.errors import LlmError

BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry")
_STRAYS_KEPT = 8  # lines that were no field, kept to show what a server appended


class SseEvent:
    """One event: ``data`` without its last line end, and what was said beside it.

    ``event`` is its name (``message`` when none was given), ``id`` the last
    event id so far, ``retry`` the reconnection time it set, in milliseconds;
    ``skipped``, which is beside its value, counts the lines before its end that were
    no SSE field.
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

    ``truncated``: an event had begun and its blank line never came; ``data`` is
    that event's data as far as it goes and ``tail`` its raw text. ``strays`` are
    whole lines that were no SSE field, and ``fields`` says whether any line was one.
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

    A fault is final. Events before it are handed out first; ``fault`` tells of it, and
    the next call raises it.

    Args:
        max_event_bytes: bytes of one event's lines, line ends not counted.
    """

    def __init__(self, max_event_bytes: int = 256 * 1024) -> None:
        self._limit = max_event_bytes
        self._tail: List[bytes] = []  # the line that is still open, in the pieces it came in
        self._tail_size = 0  # its bytes so far
        self._lines: List[Tuple[bytes, int]] = []  # data values of the open event, with offsets
        self._size = 0  # bytes of the open event's whole lines
        self._event = ""  # the open event's name
        self._retry: Optional[int] = None  # the open event's reconnection time
        self._id = ""  # last event id: lives on from event to event
        self._clean = True  # nothing of an event is open: a read of whole events may be split
        self._swallow_lf = False  # a CR ended the last line; an LF right after belongs to it
        self._start: Optional[bytes] = b""  # first bytes, while they may still become a BOM
        self._offset = 0  # body bytes before the piece at hand
        self._strays: List[str] = []  # lines that were no field
        self._skipped = 0  # how many of them since the last event
        self._fields = False  # any line was a field or comment
        self._plain = False  # nothing is open or in doubt: a read of one whole event is just that
        self.fault: Optional[LlmError] = None  # met after events; the next call raises it

    def feed(self, piece: bytes) -> List[SseEvent]:
        """Take the next bytes and return the events they completed.

        Raises:
            LlmError: ``MALFORMED_RESPONSE`` for bytes that are not UTF-8 inside an
                event, or an event over the limit.
        """
        if self._plain:
            # Events often come one a read. Such a read costs 0.7 µs here and 1.5 below, which
            # gives the same: test_sse holds both against each other at every cut.
            end = len(piece) - 2
            if piece[:6] == b"data: " and piece.find(b"\n") == end and piece[-1:] == b"\n":
                if end <= self._limit and b"\r" not in piece:
                    try:
                        data = piece[6:end].decode()
                    except UnicodeDecodeError:
                        pass  # told below, with its offset
                    else:
                        self._offset += len(piece)
                        self._fields = True
                        return [SseEvent(data, "message", self._id)]
        if self.fault is not None:
            raise self.fault
        if self._start is not None:
            piece = self._after_bom(piece)
        if not piece:
            return []
        events: List[SseEvent] = []
        try:
            if self._clean and b"\r" not in piece and not self._swallow_lf:
                self._feed_blocks(piece, events)
            else:
                self._feed_lines(piece, self._offset, events)
        except LlmError as fault:
            self.fault = fault
            if not events:
                raise
        self._offset += len(piece)
        self._plain = (
            self._clean and not self._tail and not self._swallow_lf
            and not self._skipped and self.fault is None
        )
        return events

    def finish(self) -> SseEnd:
        """Say that the body has ended and return how.

        Raises:
            LlmError: the fault that ``feed`` met, again.
        """
        if self.fault is not None:
            raise self.fault
        if self._start:  # the body was nothing but a piece of a BOM
            self._tail, self._tail_size, self._start = [self._start], len(self._start), None
        line = b"".join(self._tail)
        values = [value for value, _ in self._lines]
        shown = [b"data: " + value for value in values] + ([line] if line else [])
        if line.startswith(b"data:"):
            values.append(_value(line, 5))
        tail = b"\n".join(shown).decode("utf-8", "replace")
        fields = self._fields or _may_become_field(line)
        data = b"\n".join(values).decode("utf-8", "replace")
        truncated = bool(values or line or not self._clean)
        return SseEnd(truncated, data, tail, tuple(self._strays), fields)

    def _feed_blocks(self, piece: bytes, events: List[SseEvent]) -> None:
        # The common read is whole events of one data line each. Splitting it at the blank
        # lines costs a third of going line by line, and gives the same: test_sse holds both.
        if self._tail:
            if b"\n" not in piece:
                self._hold(piece)
                return
            offset = self._offset - self._tail_size
            self._tail.append(piece)
            piece = b"".join(self._tail)
            self._tail, self._tail_size = [], 0
        else:
            offset = self._offset
        blocks = piece.split(b"\n\n")
        rest = blocks.pop()
        limit = self._limit
        for block in blocks:
            simple = block[:6] == b"data: " and b"\n" not in block and len(block) <= limit
            if simple and not self._skipped:
                try:
                    events.append(SseEvent(block[6:].decode(), "message", self._id))
                except UnicodeDecodeError as bad:
                    raise _not_utf8(offset + 6 + bad.start) from None
                self._fields = True
            else:
                self._feed_lines(block + b"\n\n", offset, events)
            offset += len(block) + 2
        if rest:
            self._feed_lines(rest, offset, events)

    def _feed_lines(self, piece: bytes, offset: int, events: List[SseEvent]) -> None:
        if self._swallow_lf:
            self._swallow_lf = False
            if piece[:1] == b"\n":
                piece, offset = piece[1:], offset + 1
        # bytes.splitlines knows LF, CR and CRLF only; it is str.splitlines that cuts at U+2028.
        for line in piece.splitlines(True):
            last = line[-1:]
            if last != b"\n" and last != b"\r":
                self._hold(line)
                return
            start = offset
            offset += len(line)
            line = line[:-2] if line[-2:] == b"\r\n" else line[:-1]
            if self._tail:
                start -= self._tail_size
                self._tail.append(line)
                line = b"".join(self._tail)
                self._tail, self._tail_size = [], 0
            self._line(line, start, events)
        self._swallow_lf = piece[-1:] == b"\r"

    def _hold(self, piece: bytes) -> None:
        self._tail.append(piece)
        self._tail_size += len(piece)
        if self._size + self._tail_size > self._limit:
            raise self._too_large()

    def _line(self, line: bytes, start: int, events: List[SseEvent]) -> None:
        if not line:
            self._dispatch(events)
            return
        size = self._size + len(line)
        if size > self._limit:
            raise self._too_large()
        name, colon, _ = line.partition(b":")
        if not name:
            self._fields = True  # a comment: alive, but part of no event
            return
        if name not in _FIELDS:
            if not line.isspace():
                self._skipped += 1
                if len(self._strays) < _STRAYS_KEPT:
                    self._strays.append(line[:200].decode("utf-8", "replace"))
            return
        self._size = size
        self._fields, self._clean = True, False
        at = len(name) + len(colon)
        value = _value(line, at)
        start += len(line) - len(value)
        if name == b"data":
            self._lines.append((value, start))
        elif name == b"event":
            self._event = _text(value, start)
        elif name == b"id":
            if b"\0" not in value:
                self._id = _text(value, start)
        elif value.isdigit():
            self._retry = int(value[:18])  # 18 digits pass any clock, and int() stays cheap

    def _dispatch(self, events: List[SseEvent]) -> None:
        if self._lines:
            data = b"\n".join([value for value, _ in self._lines])
            try:
                text = data.decode()
            except UnicodeDecodeError:
                for value, start in self._lines:
                    _text(value, start)
                raise
            name = self._event or "message"
            events.append(SseEvent(text, name, self._id, self._retry, self._skipped))
            self._lines, self._skipped = [], 0
        self._size, self._event, self._retry, self._clean = 0, "", None, True

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


def _value(line: bytes, at: int) -> bytes:
    return line[at + 1:] if line[at:at + 1] == b" " else line[at:]


def _text(value: bytes, start: int) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as bad:
        raise _not_utf8(start + bad.start) from None


def _not_utf8(offset: int) -> LlmError:
    return LlmError(
        f"the byte at offset {offset} of the body is not UTF-8", "MALFORMED_RESPONSE", phase="body"
    )


def _may_become_field(line: bytes) -> bool:
    name = line.partition(b":")[0]
    return bool(line) and (not name or any(field.startswith(name) for field in _FIELDS))
