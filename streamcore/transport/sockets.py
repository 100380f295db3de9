# SPDX-License-Identifier: MIT
"""A connected socket whose every wait can be stopped.

In: a connected socket, plain or TLS, and the ``Watch`` of the request that
uses it now. Out: what http.client needs of a socket (``sendall``,
``makefile``, ``close``), and ``recv`` for the body. Each wait is cut into
slices of 0.1 s. A read or write that timed out can be repeated, on TLS too. This is not so
for TLS inside TLS, where the outer socket cuts its own waits.
Raises LlmError from inside a wait (ABORTED, TIMEOUT; TRANSPORT for a head without an end),
and OSError as sockets do.
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

READ_SIZE = 65536  # most bytes of one read; a read returns at once what the socket has
_WRITE_SIZE = 65536
_PROBE_AFTER = 60  # seconds of silence; middleboxes forget a connection after 60 to 350
_LONGEST_HEAD = 1024 * 1024  # bytes of a head and the interim heads before it
_MOST_LINES = 2000  # lines of these heads; http.client takes 100 for each of at most 17


class WatchedSocket:
    """Wraps a connected socket; ``watch`` is that of the request which uses it now.

    Args:
        sock: the socket, after its handshake.
        watch: the running request.
        owned: False while urllib3 still sets the socket up (proxy CONNECT). It is then not
            closed here. After each use, its time-out is what the connect clock has left.
    """

    def __init__(self, sock: Any, watch: Optional[Watch], owned: bool = True) -> None:
        self.watch = watch
        self._sock = sock
        self._receive: Callable[[int], bytes] = sock.recv
        self.owned = owned
        self._files = 0  # open files made by makefile; after ``close`` the last one closes it
        self._closing = False
        self._pid = os.getpid()
        self.idle_since = -math.inf  # when the last answer ended, by the clock of its request
        self.kept_for = math.inf  # seconds the server said it keeps the connection then
        if owned:
            # For a pool or a stream that nobody closed, in a reference cycle. The collector calls
            # this before it finalises the socket, and that would warn. A __del__ here would come
            # too late, after the socket's own.
            weakref.finalize(self, sock.close).atexit = False
        sock.settimeout(SLICE)

    def recv(self, size: int) -> bytes:
        """Wait for bytes and return what there is, at most ``size``; b"" at the end."""
        return self._waiting(self._receive, size)

    def check_end(self) -> None:
        """Raise ConnectionResetError if the end just read was a reset.

        Python's TLS shows a reset as the end of the data. But only a socket that was reset
        has lost its peer's name.
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
            # a TLS write that timed out must be repeated with the same bytes
            sent = self._waiting(self._sock.send, view[:_WRITE_SIZE])
            view = view[sent:]

    def _waiting(self, call: Callable[[A], T], argument: A) -> T:
        watch = self.watch
        if watch is None:
            raise OSError("the connection serves no request")
        sliced = False
        if self.owned:  # else connect() has begun the wait: all of it is one wait
            left = watch.check(begins=True)
            if left < SLICE:
                sliced = True
                self._sock.settimeout(max(SHORTEST_WAIT, left))
        try:
            while True:
                try:
                    return call(argument)
                except socket.timeout as error:
                    if error.errno is not None:  # ETIMEDOUT from the system: the peer is gone
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
        """Forget the request that ended at ``now`` (seconds, by its clock); become idle.

        ``kept_for`` is how many seconds the server said it keeps the connection.
        """
        self.watch = None
        self.idle_since, self.kept_for = now, kept_for

    def makefile(self, *_args: Any, **_kwargs: Any) -> SocketFile:
        """Return the file from which http.client reads the status line and headers."""
        self._files += 1
        return SocketFile(self)

    def file_closed(self) -> None:
        """Count one open file less; close the socket after the last one, if it is due."""
        self._files -= 1
        if self._closing and self._files <= 0:
            self._close_now()

    def close(self) -> None:
        """Close once the last file made here is closed, as sockets do."""
        self._closing = True
        if self._files <= 0:
            self._close_now()

    def drop(self) -> None:
        """Close at once; the peer sees it even if a forked child holds a copy."""
        if self.owned and self._pid == os.getpid() and isinstance(self._sock, socket.socket):
            try:
                # the plain socket's method; that of TLS would wait for the peer's close_notify
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
            except OSError:  # the peer has closed the connection already
                pass
        self._close_now()

    def _close_now(self) -> None:
        self.watch = None
        if self.owned:
            self._sock.close()

    def settimeout(self, _value: Optional[float]) -> None:
        """Do nothing: ``_waiting`` sets the time-out itself."""

    def unwatched(self) -> Any:
        """Return the socket inside."""
        return self._sock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def probe_when_silent(sock: Any) -> None:
    """Let the system probe a silent peer after a minute, if the system can.

    While a model thinks, no byte is sent either way. A middlebox might then forget the
    connection: the answer would be made and billed, but never arrive.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE"):  # macOS has the second name
        option = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, _PROBE_AFTER)
            return


class NestedSocket(WatchedSocket):
    """TLS to the host inside TLS to a proxy; only the outer socket waits.

    When the outer socket times out, urllib3's ``SSLTransport`` loses the bytes that this socket
    had not taken. So a write to the ``SSLTransport`` must never time out or be repeated. The
    outer socket is a ``WatchedSocket``, and that cuts its own waits into slices.

    Args:
        transport: the SSLTransport, after its handshake.
        watch: the running request.
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
        """Wait for bytes and return what there is, at most ``size``; b"" at the end."""
        return self._receive(size) or b""  # without a close_notify, SSLTransport returns 0

    def sendall(self, data: Any) -> None:
        """Write all of ``data``."""
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _WRITE_SIZE):
            self._sock.sendall(view[start:start + _WRITE_SIZE])

    def check_end(self) -> None:
        """Raise ConnectionResetError if the end just read was a reset."""
        self._outer.check_end()

    def drop(self) -> None:
        """Close at once."""
        self._outer.drop()


class SocketFile:
    """A buffer over the socket: it gives lines for the head, then the bytes of the body.

    ``pending`` holds bytes that were read and not yet used; the body begins with them.
    """

    def __init__(self, sock: WatchedSocket) -> None:
        self.sock = sock
        self.pending = b""
        self.closed = False
        self.blank = False  # the last line was blank: a head has ended
        self._lines = 0
        self._bytes = 0

    def readline(self, limit: int = -1) -> bytes:
        """Return one line of a head with its LF, or ``limit`` bytes; b"" if nothing came.

        Raises:
            LlmError: ``TRANSPORT`` if the connection ends within a head, or the head is too
                long.
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
        """Raise if the connection ended within a head; http.client would read a blank line."""
        if self._lines or self.pending:
            self.sock.check_end()
            raise self._broken("the connection was closed within the head")

    def _broken(self, how: str) -> Exception:
        watch = self.sock.watch
        return OSError(how) if watch is None else faults.broken_framing(watch, how)

    def take(self) -> bytes:
        """Return the bytes already read, or wait for some; b"" at the end."""
        data, self.pending = self.pending, b""
        return data or self.sock.recv(READ_SIZE)

    def flush(self) -> None:
        """Do nothing; http.client expects a file to have this method."""

    def close(self) -> None:
        """Let go of the socket."""
        if not self.closed:
            self.closed = True
            self.sock.file_closed()
