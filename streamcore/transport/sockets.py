# SPDX-License-Identifier: MIT
"""A connected socket whose every wait can be stopped.

In: a connected socket, plain or TLS, and the ``Watch`` of the request that
uses it now. Out: what http.client needs of a socket (``sendall``,
``makefile``, ``close``), and ``recv`` for the body. Each wait is cut into
slices of 0.1 s; a timed-out read or write may be repeated, on TLS too, but
not on TLS inside TLS: there the slices are the outer socket's own.
Raises LlmError (ABORTED, TIMEOUT; TRANSPORT for a head that does not end)
from inside a wait; OSError as sockets do.
"""

from __future__ import annotations

import math
import os
import socket
import weakref
from typing import Any, Callable, Optional, TypeVar

from . import faults
from .watch import SHORTEST_WAIT, SLICE, Watch

A = TypeVar("A")
T = TypeVar("T")

READ_SIZE = 65536  # bytes asked of the socket at once; what it has comes at once, never later
_WRITE_SIZE = 65536
_PROBE_AFTER = 60  # seconds of silence; middleboxes forget a connection after 60 to 350
_LONGEST_HEAD = 1024 * 1024  # bytes of a head, the interim ones before it included
_MOST_LINES = 2000  # of the same; http.client takes 100 for each of at most 17


class WatchedSocket:
    """Wraps a connected socket; the watch changes with the request that uses it.

    Args:
        sock: the socket, handshake done.
        watch: the request under way.
        owned: False for a look at a socket somebody else is still setting up
            (proxy CONNECT): it is not closed here, and its time-out is what
            the connect clock has left after each use.
    """

    def __init__(self, sock: Any, watch: Optional[Watch], owned: bool = True) -> None:
        self.watch = watch
        self._sock = sock
        self._receive: Callable[[int], bytes] = sock.recv
        self.owned = owned
        self._files = 0  # open files made by makefile; the last one out closes
        self._closing = False
        self._pid = os.getpid()
        self.idle_since = -math.inf  # when the last answer ended, by the clock of its request
        self.kept_for = math.inf  # seconds the server said it keeps the connection then
        if owned:
            # A pool or a stream nobody closed, left in a reference cycle: the collector calls
            # this before it finalises anything in the cycle, the socket included, which would
            # warn. A __del__ here would come too late, after the socket's own.
            weakref.finalize(self, sock.close).atexit = False
        sock.settimeout(SLICE)

    def recv(self, size: int) -> bytes:
        """Wait for bytes and return what there is, at most ``size``; b"" at the end."""
        return self._waiting(self._receive, size)

    def check_end(self) -> None:
        """Raise ConnectionResetError where the end just read was a reset.

        Python's TLS shows both as the end of the data; only a socket that was
        reset has lost its peer's name.
        """
        if hasattr(self._sock, "unwrap"):
            try:
                self._sock.getpeername()
            except OSError:
                raise ConnectionResetError("Connection reset by peer") from None

    def sendall(self, data: Any) -> None:
        """Write all of ``data``; each blocked write is one wait."""
        view = memoryview(data).cast("B")
        while view:
            # a timed-out TLS write must be repeated with the same bytes: the slice stays
            sent = self._waiting(self._sock.send, view[:_WRITE_SIZE])
            view = view[sent:]

    def _waiting(self, call: Callable[[A], T], argument: A) -> T:
        watch = self.watch
        if watch is None:
            raise OSError("the connection serves no request")
        if self.owned:  # else connect() counts its whole time as one wait; here is only the look
            watch.check(begins=True)
        sliced = False
        try:
            while True:
                try:
                    return call(argument)
                except socket.timeout as error:
                    if error.errno is not None:  # the system's own ETIMEDOUT: the peer is gone
                        raise
                sliced = True
                self._sock.settimeout(max(SHORTEST_WAIT, min(SLICE, watch.check())))
        finally:
            if not self.owned:
                self._sock.settimeout(watch.timeout())
            else:
                if sliced:
                    self._sock.settimeout(SLICE)
                watch.end()

    def rest(self, now: float, kept_for: float) -> None:
        """Serve no request until the next one; what came last is over since ``now``."""
        self.watch = None
        self.idle_since, self.kept_for = now, kept_for

    def makefile(self, *_args: Any, **_kwargs: Any) -> SocketFile:
        """Return the file http.client reads status line and headers from."""
        self._files += 1
        return SocketFile(self)

    def file_closed(self) -> None:
        """Count one file less."""
        self._files -= 1
        if self._closing and self._files <= 0:
            self._close_now()

    def close(self) -> None:
        """Close once the last file made here is closed, as sockets do."""
        self._closing = True
        if self._files <= 0:
            self._close_now()

    def drop(self) -> None:
        """Close at once; the peer sees it even where a forked child holds a copy."""
        if self.owned and self._pid == os.getpid() and isinstance(self._sock, socket.socket):
            try:
                # the plain socket's own method: TLS's would wait for the peer's goodbye
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
            except OSError:  # not connected any more: the peer was faster
                pass
        self._close_now()

    def _close_now(self) -> None:
        self.watch = None
        if self.owned:
            self._sock.close()

    def settimeout(self, _value: Optional[float]) -> None:
        """Do nothing: the slices rule the time-out."""

    def unwatched(self) -> Any:
        """Return the socket inside."""
        return self._sock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def probe_when_silent(sock: Any) -> None:
    """Let the system ask a silent peer every minute whether it is there, where it can.

    While a model thinks not a byte goes either way, and a middlebox on the way would forget
    the connection: the answer would be made, billed and lost.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE"):  # the second is macOS's word
        option = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, _PROBE_AFTER)
            return


class NestedSocket(WatchedSocket):
    """TLS to the host inside TLS to a proxy; every wait is one of the outer socket.

    urllib3's ``SSLTransport`` takes what it is given before it writes, and loses what its own
    socket had not taken when that times out: a write must never be repeated. So it is not cut
    short at all; the watched socket it writes to and reads from is.

    Args:
        transport: the SSLTransport, handshake done.
        watch: the request under way.
    """

    def __init__(self, transport: Any, watch: Optional[Watch]) -> None:
        inner = transport.socket
        raw = inner.unwatched() if isinstance(inner, WatchedSocket) else inner
        self._outer = transport.socket = WatchedSocket(raw, watch)
        super().__init__(transport, watch)

    @property
    def watch(self) -> Optional[Watch]:
        """The request that uses the connection now."""
        return self._outer.watch

    @watch.setter
    def watch(self, watch: Optional[Watch]) -> None:
        self._outer.watch = watch

    def recv(self, size: int) -> bytes:
        """Return what there is, at most ``size`` bytes; b"" at the end."""
        return self._receive(size) or b""  # a missing goodbye is shown as 0

    def sendall(self, data: Any) -> None:
        """Write all of ``data``."""
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _WRITE_SIZE):
            self._sock.sendall(view[start:start + _WRITE_SIZE])

    def check_end(self) -> None:
        """Raise ConnectionResetError where the end just read was a reset."""
        self._outer.check_end()

    def drop(self) -> None:
        """Close at once."""
        self._outer.drop()


class SocketFile:
    """A buffer over the socket: lines for the headers, then whatever is left.

    ``pending`` holds bytes read and not yet used; the body begins with them.
    """

    def __init__(self, sock: WatchedSocket) -> None:
        self.sock = sock
        self.pending = b""
        self.closed = False
        self.blank = False  # the last line was: a head has ended
        self._lines = 0
        self._bytes = 0

    def readline(self, limit: int = -1) -> bytes:
        """Return one line of a head with its LF, or ``limit`` bytes; b"" where nothing came.

        Raises:
            LlmError: ``TRANSPORT`` where the connection ends within a head, or the head does
                not end.
        """
        seen = 0
        while True:
            end = self.pending.find(b"\n", seen) + 1
            if not end and 0 <= limit <= len(self.pending):
                end = limit
            if end:
                end = end if limit < 0 else min(end, limit)
                break
            seen = len(self.pending)
            more = self.sock.recv(READ_SIZE)
            if not more:
                self._check_whole()
                break
            if self.sock.watch is not None:
                self.sock.watch.answered = True
            self.pending += more
        line, self.pending = self.pending[:end], self.pending[end:]
        self.blank = line in (b"\r\n", b"\n")
        self._lines += 1
        self._bytes += len(line)
        if self._lines > _MOST_LINES or self._bytes > _LONGEST_HEAD:
            raise self._broken("a head without an end")
        return line

    def _check_whole(self) -> None:
        """Take the end of the connection: http.client would take it for a blank line."""
        if self._lines or self.pending:
            self.sock.check_end()
            raise self._broken("the connection was closed within the head")

    def _broken(self, how: str) -> Exception:
        watch = self.sock.watch
        return OSError(how) if watch is None else faults.broken_framing(watch, how)

    def take(self) -> bytes:
        """Return the bytes at hand, or wait for some; b"" at the end."""
        data, self.pending = self.pending, b""
        return data or self.sock.recv(READ_SIZE)

    def flush(self) -> None:
        """Do nothing; files have it."""

    def close(self) -> None:
        """Let go of the socket."""
        if not self.closed:
            self.closed = True
            self.sock.file_closed()
