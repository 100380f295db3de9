# SPDX-License-Identifier: MIT
"""Reads and writes the bytes of one accepted connection.

In: a connected socket and a wake socket. Out: bytes read and written. Every wait ends at
once when the peer leaves (``PeerLeft``) or the server stops (``Stopped``).
The socket never blocks: each wait is one poll on the socket and the wake socket.
"""

from __future__ import annotations

import os
import select
import socket
import ssl
import struct
import threading
import time
from typing import Optional, Tuple

_READ_SIZE = 65536
_HANDSHAKE_LIMIT = 10.0
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
# Only Linux reports that a peer has left while its bytes are still unread.
_PEER_HUNG_UP = getattr(select, "POLLRDHUP", 0)


class PeerLeft(Exception):
    """The peer closed or reset its side of the connection."""


class Stopped(Exception):
    """The server is being closed."""


class Waker:
    """A flag that threads can wait for together with their sockets."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self.socket, self._writer = socket.socketpair()

    @property
    def is_set(self) -> bool:
        """Whether every wait has to end."""
        return self._set.is_set()

    def set(self) -> None:
        """End every wait, now and later."""
        self._set.set()
        self._writer.send(b"!")  # never read, so the other end stays readable for all

    def wait(self, seconds: float) -> None:
        """Wait for so many seconds, or until the flag is set."""
        self._set.wait(seconds)

    def close(self) -> None:
        """Close both ends; no thread may still be waiting."""
        self.socket.close()
        self._writer.close()


class Wire:
    """A connected socket whose waits see the peer leaving and the server stopping."""

    def __init__(self, sock: socket.socket, waker: Waker) -> None:
        self._sock = sock
        self._waker = waker
        self.inbox = bytearray()  # bytes received and not used yet
        self.deaf = False  # True: do not read, so that the peer's sending blocks
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Do the TLS handshake as the server; raises ``PeerLeft`` if it fails."""
        self._sock = wrapped = context.wrap_socket(
            self._sock, server_side=True, do_handshake_on_connect=False)
        deadline = time.monotonic() + _HANDSHAKE_LIMIT
        while time.monotonic() < deadline:
            try:
                return wrapped.do_handshake()
            except ssl.SSLWantReadError:
                self._poll(read=True, write=False, deadline=deadline)
            except ssl.SSLWantWriteError:
                self._poll(read=False, write=True, deadline=deadline)
            except OSError as fault:
                raise PeerLeft from fault
        raise PeerLeft

    def receive(self, seconds: Optional[float] = None) -> bool:
        """Wait until more bytes are in the inbox; return False after ``seconds``."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            if self._take():
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            self._poll(read=True, write=False, deadline=deadline)

    def wait(self, seconds: Optional[float] = None) -> None:
        """Wait for so many seconds, or until the peer leaves or the server stops."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self._take()
            if deadline is not None and time.monotonic() >= deadline:
                return
            self._poll(read=not self.deaf, write=False, deadline=deadline)

    def send(self, data: bytes) -> int:
        """Write all bytes, waiting for a slow peer, and return how many there were."""
        view = memoryview(data)
        while view:
            if self._waker.is_set:
                raise Stopped
            try:
                view = view[self._sock.send(view):]
            except _WOULD_BLOCK:
                # A peer that closes does not always make the socket writable, so read too.
                self._take()
                self._poll(read=not self.deaf, write=True, deadline=None)
            except OSError as fault:
                raise PeerLeft from fault
        return len(data)

    def shutdown_write(self, politely: bool) -> None:
        """Send a FIN; if ``politely``, over TLS the closing alert before it."""
        try:
            if politely and isinstance(self._sock, ssl.SSLSocket):
                self._say_goodbye(self._sock)
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as fault:
            raise PeerLeft from fault

    def linger(self, seconds: Optional[float] = None) -> None:
        """Drop received bytes until the peer leaves (``PeerLeft``) or ``seconds`` are over."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while deadline is None or time.monotonic() < deadline:
            self._take()
            self.inbox.clear()
            self._poll(read=not self.deaf, write=False, deadline=deadline)

    def reset(self) -> None:
        """Close with a RST."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._sock.close()

    def close(self) -> None:
        """Close both directions; closing twice is fine."""
        try:
            # A forked child may have the socket too, so closing alone would not tell the peer.
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # already reset, closed, or left by the peer
        self._sock.close()

    @staticmethod
    def _say_goodbye(sock: ssl.SSLSocket) -> None:
        try:
            sock.unwrap()
        except OSError:
            pass  # the alert is sent; the peer's own alert is not needed

    def _take(self) -> bool:
        """Move waiting bytes into the inbox; raise when the peer left or the server stops."""
        if self._waker.is_set:
            raise Stopped
        if self.deaf:
            return False
        try:
            data = self._sock.recv(_READ_SIZE)
        except _WOULD_BLOCK:  # no bytes are waiting
            return False
        except OSError as fault:
            raise PeerLeft from fault
        if not data:
            raise PeerLeft
        self.inbox += data
        return True

    def _poll(self, read: bool, write: bool, deadline: Optional[float]) -> None:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        stopped, hung_up = wait_ready(self._sock, self._waker.socket, read, write, left)
        if stopped:
            raise Stopped
        if hung_up and self.deaf:
            raise PeerLeft


def wait_ready(sock: socket.socket, wake: socket.socket, read: bool, write: bool,
               seconds: Optional[float]) -> Tuple[bool, bool]:
    """Wait for the socket or the wake socket; return (stop asked for, peer hung up)."""
    if not hasattr(select, "poll"):  # Windows
        readers = [wake, sock] if read else [wake]
        readable, _, _ = select.select(readers, [sock] if write else [], [], seconds)
        return wake in readable, False
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    hung = _PEER_HUNG_UP | select.POLLHUP | select.POLLERR
    wanted = select.POLLIN if read else _PEER_HUNG_UP
    poll.register(sock, wanted | (select.POLLOUT if write else 0))
    # One millisecond more, because rounding down would make the last wait a busy loop.
    found = dict(poll.poll(None if seconds is None else int(seconds * 1000) + 1))
    return wake.fileno() in found, bool(found.get(sock.fileno(), 0) & hung)
