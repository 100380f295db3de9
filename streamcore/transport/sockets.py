# SPDX-License-Identifier: MIT
"""A connected socket whose every wait can be stopped.

In: a connected socket, plain or TLS, and the ``Watch`` of the request that
uses it now. Out: what http.client needs of a socket (``sendall``,
``makefile``, ``close``), and ``recv`` for the body. Each wait is cut into
slices of 0.1 s; a timed-out read or write may be repeated, on TLS too.
Raises LlmError (ABORTED, TIMEOUT) from inside a wait; OSError as sockets do.
"""

from __future__ import annotations

import os
import socket
import weakref
from typing import Any, Callable, Optional, TypeVar

from .watch import SHORTEST_WAIT, SLICE, Watch

A = TypeVar("A")
T = TypeVar("T")

READ_SIZE = 65536  # bytes asked of the socket at once; what it has comes at once, never later
_WRITE_SIZE = 65536


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
        self._owned = owned
        self._files = 0  # open files made by makefile; the last one out closes
        self._closing = False
        self._pid = os.getpid()
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
        if watch is None or not self._owned:
            return self._within_connect(watch, call, argument)
        watch.begin()
        try:
            try:
                return call(argument)
            except socket.timeout as error:
                if error.errno is not None:  # the system's own ETIMEDOUT: the peer is gone
                    raise
            return self._sliced(watch, call, argument)
        finally:
            watch.end()

    def _within_connect(self, watch: Optional[Watch], call: Callable[[A], T], argument: A) -> T:
        if watch is None:
            raise OSError("the connection serves no request")
        # connect() counts its whole time as one wait; here is only the look at it
        try:
            return self._sliced(watch, call, argument)
        finally:
            self._sock.settimeout(watch.timeout())

    def _sliced(self, watch: Watch, call: Callable[[A], T], argument: A) -> T:
        try:
            while True:
                self._sock.settimeout(max(SHORTEST_WAIT, min(SLICE, watch.check())))
                try:
                    return call(argument)
                except socket.timeout as error:
                    if error.errno is not None:
                        raise
        finally:
            self._sock.settimeout(SLICE)

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
        if self._owned and self._pid == os.getpid() and isinstance(self._sock, socket.socket):
            try:
                # the plain socket's own method: TLS's would wait for the peer's goodbye
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
            except OSError:  # not connected any more: the peer was faster
                pass
        self._close_now()

    def _close_now(self) -> None:
        self.watch = None
        if self._owned:
            self._sock.close()

    def settimeout(self, _value: Optional[float]) -> None:
        """Do nothing: the slices rule the time-out."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class SocketFile:
    """A buffer over the socket: lines for the headers, then whatever is left.

    ``pending`` holds bytes read and not yet used; the body begins with them.
    """

    def __init__(self, sock: WatchedSocket) -> None:
        self.sock = sock
        self.pending = b""
        self.closed = False

    def readline(self, limit: int = -1) -> bytes:
        """Return one line with its LF, or ``limit`` bytes, or what came before the end."""
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
                end = len(self.pending)
                break
            if self.sock.watch is not None:
                self.sock.watch.answered = True
            self.pending += more
        line, self.pending = self.pending[:end], self.pending[end:]
        return line

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
