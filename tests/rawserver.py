# SPDX-License-Identifier: MIT
"""What the transport's tests share: a server that is one function, and short ways to call.

In: a function that gets each accepted socket. Out: a server on 127.0.0.1 whose threads are
joined at the end. For what the scripted server does not do: silent TLS, odd framing.
"""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable, List, Optional, Tuple

from streamcore.transport import Answer, Transport
from streamcore.values.errors import LlmError
from streamcore.values.limits import Limits, ResolvedLimits, resolve_limits

TLS = Path(__file__).parent / "tls"
CA = str(TLS / "ca.pem")
SERVER_FILES = (str(TLS / "server.pem"), str(TLS / "server.key"))
EARLY = 0.02  # seconds a clock may fire too soon by rounding
LATE = 1.25  # seconds a clock or a cancel may be late on a busy machine; 0.25 is promised
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def limits(**given: Any) -> ResolvedLimits:
    """Return limits with short clocks where nothing else is given."""
    base = Limits(connect_timeout=5.0, idle_timeout=5.0, total_timeout=20.0)
    return resolve_limits(Limits(**given), base)


def post(transport: Transport, url: str, body: bytes = b"{}", **given: Any) -> Answer:
    """Open one request with short limits."""
    given.setdefault("limits", limits())
    headers = given.pop("headers", {"Content-Type": "application/json"})
    return transport.open(url, headers, body, **given)


def read_all(answer: Answer) -> Tuple[bytes, Optional[LlmError]]:
    """Return all body bytes, and the error that ended them."""
    got: List[bytes] = []
    try:
        for piece in answer.pieces():
            got.append(piece)
    except LlmError as error:
        return b"".join(got), error
    return b"".join(got), None


def outcome(call: Callable[[], Any]) -> Tuple[LlmError, float]:
    """Return the LlmError a call ends with, and the seconds it took."""
    started = time.monotonic()
    try:
        result = call()
    except LlmError as error:
        return error, time.monotonic() - started
    raise AssertionError(f"no LlmError but {result!r}")


class RawServer:
    """A server on 127.0.0.1 that hands each accepted socket to ``serve``."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: List[threading.Thread] = []
        self._open: List[socket.socket] = []
        self.connections = 0
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._acceptor = threading.Thread(target=self._accept, name="raw", daemon=True)

    def __enter__(self) -> RawServer:
        self._acceptor.start()
        return self

    def __exit__(self, *_exc: Any) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        for sock in self._open:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                sock, _peer = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            thread = threading.Thread(target=self._run, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self, sock: socket.socket) -> None:
        with sock:
            try:
                self._serve(sock)
            except OSError:
                pass


def read_request(sock: socket.socket) -> bytes:
    """Read one request, its body by Content-Length; b"" when the peer left."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            while len(body) < int(line.split(b":")[1]):
                body += sock.recv(65536)
    return head + b"\r\n\r\n" + body


def wait_gone(sock: socket.socket) -> None:
    """Read until the peer leaves."""
    while sock.recv(65536):
        pass


def answering(*parts: Any) -> Callable[[socket.socket], None]:
    """Return a ``serve`` that answers one request: bytes are sent, floats slept, then closed."""
    def serve(sock: socket.socket) -> None:
        read_request(sock)
        for part in parts:
            if isinstance(part, float):
                time.sleep(part)
            else:
                sock.sendall(part)
    return serve
