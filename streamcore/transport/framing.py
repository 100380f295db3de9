# SPDX-License-Identifier: MIT
"""Where an HTTP/1 body ends: by chunks, by length, or by the close.

In: the bytes of the socket after the headers, cut anywhere. Out: the body's
bytes, everything that came at once and nothing held back. ``done`` says the
end is proven, ``fault`` that the framing broke after what was handed out,
``rest`` is what follows the end. RFC 9112, sections 6 and 7.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Protocol

_LONGEST_LINE = 8192  # bytes of a chunk-size line with its extensions
_LONGEST_TRAILER = 65536  # bytes of all trailer lines
_MOST_SIZES = 1024  # size lines remembered; sizes repeat, a hostile server's need not
_HEX = frozenset(b"0123456789abcdefABCDEF")


class Framing(Protocol):
    """What the three kinds of bodies have in common."""

    done: bool
    fault: Optional[str]
    rest: bytes

    def feed(self, data: bytes) -> bytes:
        """Return the body bytes in ``data``."""
        ...

    def finish(self) -> Optional[str]:
        """Take the end of the connection; return what was missing, if anything was."""
        ...


class UntilClose:
    """A body that ends with the connection: its end proves nothing."""

    def __init__(self) -> None:
        self.done = False
        self.fault: Optional[str] = None
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return ``data``."""
        return data

    def finish(self) -> Optional[str]:
        """Return None: nothing says more was to come."""
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
        """Return what of ``data`` belongs to the body."""
        if len(data) > self._left:
            self.rest, data = data[self._left:], data[:self._left]
        self._left -= len(data)
        self.done = self._left == 0
        return data

    def finish(self) -> Optional[str]:
        """Return what was missing of the announced length."""
        return f"{self._left} of {self._length} bytes announced did not come"


class Chunked:
    """A body in HTTP chunks, many of which may come in one read.

    Each size line is looked up together with the CRLF that ends the chunk
    before it: one search, one slice and one look-up per chunk check both.
    """

    def __init__(self) -> None:
        self.done = False
        self.fault: Optional[str] = None
        self.rest = b""
        self._tail = b"\r\n"  # an unfinished size line, with the CRLF before it
        self._left = 0  # bytes of the open chunk still to come
        self._trailer = False  # the last chunk was seen; lines follow up to a blank one
        self._sizes: Dict[bytes, int] = {}

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
        sizes, find, end, length = self._sizes, data.find, 0, len(data)
        while True:
            line_end = find(b"\r\n", end + 2)
            if line_end < 0:
                self._keep(data[end:])
                return
            line = data[end:line_end]
            size = sizes.get(line)
            if size is None:
                size = self._read_size(line)
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
        digits = line[2:].partition(b";")[0].strip(b" \t")
        if line[:2] != b"\r\n":
            self.fault = f"a chunk is not followed by CRLF but by {line[:2]!r}"
        elif not digits or len(digits) > 16 or not _HEX.issuperset(digits):
            self.fault = f"no chunk size: {line[2:66]!r}"
        elif len(line) > _LONGEST_LINE:
            self.fault = "a chunk size line of more than 8 KiB"
        else:
            if len(self._sizes) >= _MOST_SIZES:
                self._sizes.clear()
            self._sizes[line] = size = int(digits, 16)
            return size
        return None

    def _end(self, data: bytes) -> None:
        # data begins with the CRLF of the line before; a blank line after it is the end
        end = data.find(b"\r\n\r\n")
        if end >= 0:
            self.done, self.rest, self._tail = True, data[end + 4:], b""
        else:
            self._tail = data
            if len(data) > _LONGEST_TRAILER:
                self.fault = "trailers of more than 64 KiB"

    def finish(self) -> Optional[str]:
        """Return what was missing; trailers may be, the last chunk not."""
        if self._trailer:
            return None
        if self._left:
            return f"{self._left} bytes of a chunk did not come"
        return "the last chunk did not come"
