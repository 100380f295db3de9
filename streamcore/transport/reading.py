# SPDX-License-Identifier: MIT
"""The body of an answer as pieces of decoded bytes, as they arrive.

Two sources, one method: ``read`` gives the next piece, b"" at the end.
``SocketBody`` reads a watched socket and does the framing itself;
``PlainBody`` reads a ``requests.Response`` that came some other way (a custom
adapter, a mock), where cancel and clocks are looked at between pieces only.
Raises LlmError: MALFORMED_RESPONSE past ``max_stream_bytes`` or for content
that cannot be decoded, STREAM_CLOSED, TRANSPORT, ABORTED, TIMEOUT.
"""

from __future__ import annotations

import zlib
from typing import Any, Iterator, Optional, Sequence

from ..values.errors import LlmError
from . import faults
from .decoding import Inflater, coding_names, decoder_for
from .framing import Framing, UntilClose, framing_of
from .sockets import READ_SIZE, SocketFile
from .watch import Watch


_MOST_OVERHEAD = 1024 * 1024  # bytes compression may take beyond what it holds
_MOST_FRAMING = 16  # bytes of framing for each of the body; a one-byte chunk takes five


class _Content:
    """Decodes what the framing gave, counts it, and stops it at the limit.

    Compressed bytes are counted too: a flood of them need not give a single byte.
    """

    def __init__(self, encoding: str, watch: Watch, transfer: Sequence[str] = ()) -> None:
        self._watch = watch
        self._limit = watch.limits.max_stream_bytes
        self._wire_room = self._limit + _MOST_OVERHEAD
        self._wire_over = False  # no compressed byte is taken any more
        self.waiting = False  # whether there is something to give before more is read
        self._fault: Optional[LlmError] = None
        self.inflater: Optional[Inflater] = None
        try:
            self.inflater = decoder_for(encoding, transfer)
        except ValueError as error:
            self._fail(f"cannot be decoded: {error}")

    def _fail(self, how: str) -> None:
        self._fault = faults.bad_content(self._watch, how)
        self.waiting = True

    def take(self, data: bytes) -> bytes:
        """Return the next decoded piece, b"" when there is none yet."""
        watch = self._watch
        if self._fault is not None:
            raise self._fault
        if self.inflater is not None:
            data = self._inflate(data)
        if not data:
            return data
        room = self._limit - watch.received
        if len(data) <= room:
            watch.arrived(len(data))
            return data
        return self._cut(data[:room])

    def _cut(self, data: bytes) -> bytes:
        """Return what the limit has room for; what follows it is the failure."""
        if data:
            self._watch.arrived(len(data))
        self._fail(f"is longer than max_stream_bytes ({self._limit})")
        return data or self.take(b"")

    def _inflate(self, data: bytes) -> bytes:
        assert self.inflater is not None
        if len(data) > self._wire_room:
            data, self._wire_over = data[:self._wire_room], True
        self._wire_room -= len(data)
        try:
            data = self.inflater.decode(data, READ_SIZE)
            self.waiting = self.inflater.more
            if self._wire_over and not self.waiting:
                self._fail(f"is longer than max_stream_bytes ({self._limit}), compressed")
            return data
        except zlib.error as error:
            failure = faults.translate(error, self._watch)
        assert failure is not None
        raise failure

    def finish(self) -> None:
        """Take the end of the body. Raises STREAM_CLOSED where the content is cut."""
        missing = self.inflater.finish() if self.inflater is not None else None
        if missing is not None:
            raise faults.closed_early(self._watch, missing)


class SocketBody:
    """A body read from a watched socket.

    The framing is done here, where a reader expects ``iter_content``, because the
    readers of requests hold bytes back: of ten events 30 ms apart in one HTTP chunk,
    or in a body until the close, ``iter_content(None)`` and ``iter_content(512)`` hand
    on each 180 ms late in the median, and single bytes cost too much
    (``scripts/latency.py``). They also take some cut bodies for whole, and differ
    between urllib3 1.26 and 2. Here the piece is whatever the socket had, in every
    framing. An event in an HTTP chunk of its own costs 0.5 µs.
    ``tests/transport/test_against_h11.py`` holds the framing against h11.
    """

    def __init__(self, response: Any, file: SocketFile, watch: Watch) -> None:
        self._file = file
        self._watch = watch
        headers = response.headers
        encoding = ",".join(headers.get_all("content-encoding", ()))
        # http.client reads lengths as Python does (+5, 5_0), takes a bad one for none, and any
        # coding but the one word "chunked" too
        codings = list(coding_names(",".join(headers.get_all("transfer-encoding", ()))))
        lengths = headers.get_all("content-length", ())
        self.framing: Framing = framing_of(response.status, lengths, codings)
        inner = [name for name in codings if name not in ("chunked", "identity")]
        self._content = _Content(encoding, watch, inner)
        self._given = False  # an encoding matters only where there is a body
        self._framing_room = watch.limits.max_stream_bytes * _MOST_FRAMING + _MOST_OVERHEAD

    def read(self) -> bytes:
        """Return the next piece, b"" at the proven or unprovable end."""
        framing, content, take = self.framing, self._content, self._file.take
        while True:
            while content.waiting and self._given:  # an empty gzip member gives nothing
                piece = content.take(b"")
                if piece:
                    return piece
            if framing.fault is not None:
                raise faults.broken_framing(self._watch, framing.fault)
            if framing.done:
                content.finish()
                return b""
            data = take()
            if not data:
                return self._end()
            size = len(data)
            data = framing.feed(data)
            self._framing_room -= size - len(data)
            if self._framing_room < 0:  # chunk extensions and trailers are no body to count
                raise faults.broken_framing(self._watch, "hardly any body in it")
            if data:
                self._given = True
                piece = content.take(data)
                if piece:
                    return piece

    def _end(self) -> bytes:
        self._file.sock.check_end()
        missing = self.framing.finish()
        if missing is not None:
            raise faults.closed_early(self._watch, missing)
        self._content.finish()
        return b""

    @property
    def reusable(self) -> bool:
        """Whether the body ended by itself, with nothing behind it."""
        return self.framing.done and not self.framing.rest and not self._file.pending

    @property
    def ends_itself(self) -> bool:
        """Whether the framing can prove an end on an open connection."""
        return not isinstance(self.framing, UntilClose)


class PlainBody:
    """A body read through requests, whatever it came by."""

    def __init__(self, response: Any, watch: Watch) -> None:
        self._watch = watch
        self._response = response
        self._source = _plain_pieces(response)
        # a foreign object's iter_content decodes by itself; urllib3's raw stream is left as it is
        encoded = hasattr(response.raw, "stream")
        encoding = (response.headers.get("Content-Encoding") or "") if encoded else ""
        self._content = _Content(encoding, watch)
        self._given = False

    def read(self) -> bytes:
        """Return the next piece, b"" at the end. One wait, looked at before and after."""
        while True:
            while self._given and self._content.waiting:
                piece = self._content.take(b"")
                if piece:
                    return piece
            data = self._next()
            if not data:
                self._check_length()
                self._content.finish()
                return b""
            self._given = True
            piece = self._content.take(data)
            if piece:
                return piece

    def _next(self) -> bytes:
        self._watch.begin()
        try:
            for data in self._source:
                if data:
                    return data
            return b""
        finally:
            self._watch.end()

    def _check_length(self) -> None:
        # urllib3 1.26 ends a body quietly that is shorter than its Content-Length
        missing = getattr(self._response.raw, "length_remaining", None)
        if isinstance(missing, int) and missing > 0:
            raise faults.closed_early(self._watch, f"{missing} bytes announced did not come")


def _plain_pieces(response: Any) -> Iterator[bytes]:
    raw = response.raw
    if not hasattr(raw, "stream"):
        return iter(response.iter_content(READ_SIZE))
    if hasattr(raw, "read1") and hasattr(raw, "read_chunked"):
        return iter(lambda: raw.read1(READ_SIZE, decode_content=False), b"")
    # Older urllib3 gives whole chunks; of other bodies it holds nothing back only
    # when asked for single bytes, which is slow and right.
    chunked = "chunked" in (response.headers.get("Transfer-Encoding") or "").lower()
    return iter(raw.stream(READ_SIZE if chunked else 1, decode_content=False))
