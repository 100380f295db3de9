# SPDX-License-Identifier: MIT
"""Where an HTTP/1 body ends: by chunks, by length, or by the close.

In: the bytes of the socket after the headers, cut anywhere. Out: the body's bytes, all of
them at once. ``done`` says that the end is proven. ``fault`` says how the framing is broken;
the bytes returned before it are good. ``rest`` holds the bytes after the end.
RFC 9112, sections 6 and 7.
"""

from __future__ import annotations

import re
from typing import List, Optional, Protocol, Sequence

_LONGEST_LINE = 8192  # bytes of a chunk-size line with its extensions
_LONGEST_TRAILER = 65536  # bytes of all trailer lines
_MOST_DIGITS = 20  # of a size or length
_HEX = frozenset(b"0123456789abcdefABCDEF")
_BLANK = re.compile(rb"\n\r?\n")
_VALUE = rb"[^\0\n\v\f\r]*"
_TRAILERS = re.compile(
    rb"(?:[-!#$%&'*+.^_`|~0-9a-zA-Z]+:" + _VALUE + rb"(?:\r?\n[ \t]" + _VALUE + rb")*\r?\n)*"
)  # RFC 9112, section 5, folded lines included


class Framing(Protocol):
    """One of the three ways in which a body can end."""

    done: bool
    fault: Optional[str]
    rest: bytes

    def feed(self, data: bytes) -> bytes:
        """Return the body bytes in ``data``."""
        ...

    def finish(self) -> Optional[str]:
        """Note that the connection has ended; return what is missing, or None."""
        ...


class UntilClose:
    """A body that ends with the connection; so it may have been cut.

    Args:
        fault: why the head's length cannot be trusted; the body is then not read.
    """

    def __init__(self, fault: Optional[str] = None) -> None:
        self.done = False
        self.fault = fault
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return ``data``."""
        return data

    def finish(self) -> Optional[str]:
        """Return None: nothing was announced, so nothing is missing."""
        return None


class Sized:
    """A body of ``length`` bytes (0 or more)."""

    def __init__(self, length: int) -> None:
        self.done = length == 0
        self.fault: Optional[str] = None
        self.rest = b""
        self._length = length
        self._left = length

    def feed(self, data: bytes) -> bytes:
        """Return the part of ``data`` that belongs to the body."""
        if len(data) > self._left:
            self.rest, data = data[self._left:], data[:self._left]
        self._left -= len(data)
        self.done = self._left == 0
        return data

    def finish(self) -> Optional[str]:
        """Return how much of the announced length is missing."""
        return f"{self._left} of {self._length} bytes announced did not come"


class Chunked:
    """A body in HTTP chunks, many of which may come in one read.

    Each size line is read together with the CRLF that ends the chunk before it.
    """

    def __init__(self) -> None:
        self.done = False
        self.fault: Optional[str] = None
        self.rest = b""
        self._tail = b"\r\n"  # an unfinished size line, with the CRLF before it
        self._left = 0  # bytes of the open chunk still to come
        self._trailer = False  # the last chunk was read; trailer lines follow, then a blank one

    def feed(self, data: bytes) -> bytes:
        """Return the body bytes of all chunks in ``data``."""
        left = self._left
        if left:
            if len(data) <= left:
                self._left = left - len(data)
                return data
            parts = [data[:left]]
            data = data[left:]
            self._left = 0
        else:
            parts = []
            if self._tail:
                data = self._tail + data
        if self._trailer:
            self._end(data)
        else:
            self._split(data, parts)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _split(self, data: bytes, parts: List[bytes]) -> None:
        find, end, length = data.find, 0, len(data)
        while True:
            line_end = find(b"\r\n", end + 2)
            if line_end < 0:
                self._keep(data[end:])
                return
            size = self._read_size(data[end:line_end])
            if size is None:
                return
            start = line_end + 2
            if not size:
                self._trailer = True
                self._end(data[line_end:])
                return
            end = start + size
            if end > length:
                self._left, self._tail = end - length, b""
                if start < length:
                    parts.append(data[start:])
                return
            parts.append(data[start:end])

    def _keep(self, tail: bytes) -> None:
        self._tail = tail
        if len(tail) > _LONGEST_LINE:
            self.fault = "a chunk size line without an end"
        elif not b"\r\n".startswith(tail[:2]):
            self.fault = f"a chunk is not followed by CRLF but by {tail[:2]!r}"

    def _read_size(self, line: bytes) -> Optional[int]:
        digits = line[2:]
        if not _HEX.issuperset(digits):
            digits, semicolon, extension = digits.partition(b";")
            if not semicolon:
                digits = digits.rstrip(b" \t")  # some servers pad the size with blanks
            if b"\n" in extension or not _HEX.issuperset(digits):
                digits = b""
        if line[:2] != b"\r\n":
            self.fault = f"a chunk is not followed by CRLF but by {line[:2]!r}"
        elif not 0 < len(digits) <= _MOST_DIGITS:
            self.fault = f"not a chunk size: {line[2:66]!r}"
        elif len(line) > _LONGEST_LINE:
            self.fault = "a chunk size line of more than 8 KiB"
        else:
            return int(digits, 16)
        return None

    def _end(self, data: bytes) -> None:
        # data begins with the CRLF of the line before; the next blank line ends the body
        blank = _BLANK.search(data, 1)
        if blank is None:
            self._tail = data
            if len(data) > _LONGEST_TRAILER:
                self.fault = "trailers of more than 64 KiB"
        elif _TRAILERS.fullmatch(data, 2, max(2, blank.start() + 1)):
            self.done, self.rest, self._tail = True, data[blank.end():], b""
        else:
            self.fault = f"not a trailer: {data[2:66]!r}"

    def finish(self) -> Optional[str]:
        """Return what is missing of the chunks; missing trailers do not matter."""
        if self._trailer:
            return None
        if self._left:
            return f"{self._left} bytes of a chunk did not come"
        return "the last chunk did not come"


def framing_of(status: int, lengths: Sequence[str], codings: Sequence[str]) -> Framing:
    """Return the framing that a head announces. RFC 9112, section 6.3.

    Args:
        status: the HTTP status.
        lengths: the values of the Content-Length headers.
        codings: the transfer codings in lower case, outermost last.
    """
    values = {part.strip(" \t") for value in lengths for part in value.split(",")}
    length = values.pop() if values else None
    if values or (length is not None and not _is_length(length)):
        return UntilClose(f"not a Content-Length: {', '.join(lengths)[:60]!r}")
    if "chunked" in codings and codings[-1] != "chunked":
        return UntilClose(f"not a Transfer-Encoding: {', '.join(codings)[:60]!r}")
    if status in (204, 304):
        return Sized(0)
    if codings[-1:] == ["chunked"]:
        return Chunked()
    if length is None or any(coding != "identity" for coding in codings):
        return UntilClose()  # a coding overrides a length
    return Sized(int(length))


def _is_length(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
