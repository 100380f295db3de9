# SPDX-License-Identifier: MIT
"""The body of an answer as pieces of decoded bytes, as they arrive.

Both classes have ``read``, which returns the next piece, b"" at the end.
``SocketBody`` reads a watched socket and does the framing itself. ``PlainBody`` reads a
``requests.Response`` that came some other way (a custom adapter, a mock); cancel and clocks
are then checked only between pieces. Raises LlmError: MALFORMED_RESPONSE past
``max_stream_bytes`` or for content that cannot be decoded, STREAM_CLOSED, TRANSPORT,
ABORTED, TIMEOUT.
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


_MOST_OVERHEAD = 1024 * 1024  # compressed bytes allowed beyond the limit of decoded bytes
_MOST_FRAMING = 16  # bytes of framing allowed per body byte; a one-byte chunk needs five


class _Content:
    """Decodes the body's bytes, counts them, and stops at ``max_stream_bytes``.

    Compressed bytes are counted too, because a flood of them may decode to nothing.
    """

    def __init__(self, encoding: str, watch: Watch, transfer: Sequence[str] = ()) -> None:
        self._watch = watch
        self._limit = watch.limits.max_stream_bytes
        self._wire_room = self._limit + _MOST_OVERHEAD
        self._wire_over = False  # the compressed bytes are over their limit; take no more
        self.waiting = False  # ``take`` has output, or a failure, without more input
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
        """Return the next decoded piece, b"" if there is none yet."""
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
        """Return the bytes up to the limit; the next call raises the failure."""
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
        """Note that the body has ended. Raises STREAM_CLOSED if compressed data is cut."""
        missing = self.inflater.finish() if self.inflater is not None else None
        if missing is not None:
            raise faults.closed_early(self._watch, missing)


class SocketBody:
    """A body read from a watched socket.

    This class does the framing itself because ``iter_content`` of requests holds bytes
    back. Take ten events 30 ms apart, in one HTTP chunk or in a body until the close:
    ``iter_content(None)`` and ``iter_content(512)`` give each one 180 ms late (median), and
    reading single bytes costs too much (``scripts/latency.py``). ``iter_content`` also takes
    some cut bodies for whole, and differs between urllib3 1.26 and 2. Here a piece is
    whatever the socket had, in every framing. An event in an HTTP chunk of its own costs
    0.5 µs. ``tests/transport/test_against_h11.py`` compares the framing with h11.
    """

    def __init__(self, response: Any, file: SocketFile, watch: Watch) -> None:
        self._file = file
        self._watch = watch
        headers = response.headers
        encoding = ",".join(headers.get_all("content-encoding", ()))
        # http.client accepts lengths such as +5 and 5_0. It ignores a bad length, and every
        # coding except the one word "chunked". So both headers are read here.
        codings = list(coding_names(",".join(headers.get_all("transfer-encoding", ()))))
        lengths = headers.get_all("content-length", ())
        self.framing: Framing = framing_of(response.status, lengths, codings)
        inner = [name for name in codings if name not in ("chunked", "identity")]
        self._content = _Content(encoding, watch, inner)
        self._given = False  # body bytes came; without any, the encoding does not matter
        self._framing_room = watch.limits.max_stream_bytes * _MOST_FRAMING + _MOST_OVERHEAD

    def read(self) -> bytes:
        """Return the next piece, b"" at the end."""
        framing, content, take = self.framing, self._content, self._file.take
        while True:
            while content.waiting and self._given:  # an empty gzip member gives b"": go on
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
            if self._framing_room < 0:  # a flood of chunk extensions or trailers
                raise faults.broken_framing(self._watch, "far more framing than body")
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
        """Whether the framing proved the end and no byte follows it."""
        return self.framing.done and not self.framing.rest and not self._file.pending

    @property
    def ends_itself(self) -> bool:
        """Whether the framing can prove an end on an open connection."""
        return not isinstance(self.framing, UntilClose)


class PlainBody:
    """A body read through requests, from any adapter or mock."""

    def __init__(self, response: Any, watch: Watch) -> None:
        self._watch = watch
        self._response = response
        self._source = _plain_pieces(response)
        # urllib3's raw stream is read undecoded; the iter_content of another object decodes
        encoded = hasattr(response.raw, "stream")
        encoding = (response.headers.get("Content-Encoding") or "") if encoded else ""
        self._content = _Content(encoding, watch)
        self._given = False

    def read(self) -> bytes:
        """Return the next piece, b"" at the end; cancel and clocks are checked before a read."""
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
        # urllib3 1.26 does not complain if a body is shorter than its Content-Length
        missing = getattr(self._response.raw, "length_remaining", None)
        if isinstance(missing, int) and missing > 0:
            raise faults.closed_early(self._watch, f"{missing} bytes announced did not come")


def _plain_pieces(response: Any) -> Iterator[bytes]:
    raw = response.raw
    if not hasattr(raw, "stream"):
        return iter(response.iter_content(READ_SIZE))
    if hasattr(raw, "read1") and hasattr(raw, "read_chunked"):
        return iter(lambda: raw.read1(READ_SIZE, decode_content=False), b"")
    # Older urllib3 gives whole chunks. Of other bodies it holds bytes back, except when
    # it is asked for single bytes: that is slow, but nothing comes late.
    chunked = "chunked" in (response.headers.get("Transfer-Encoding") or "").lower()
    return iter(raw.stream(READ_SIZE if chunked else 1, decode_content=False))
