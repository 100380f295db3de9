# SPDX-License-Identifier: MIT
"""The scripted server: it listens on 127.0.0.1 and records what it received.

In: a script, or the values of one. Out: ``base_url``, its address, and ``requests``, their
records. Refused: an invalid script, with a ``ValueError`` that names the place.
One thread accepts, one thread serves each connection; ``close()`` ends and joins them all.
"""

from __future__ import annotations

import socket
import ssl
import threading
from typing import Any, List, Optional, Tuple, Type

from .connection import Connection
from .record import RequestRecord, ScriptRun
from .script import Script
from .wire import Waker, Wire, wait_ready

_HOST = "127.0.0.1"
_BACKLOG = 128
# Small enough that a client's large request blocks soon after its own buffer is full.
_DEAF_RECEIVE_BUFFER = 4096
_ACCEPT_PAUSE = 0.05


class LoopbackServer:
    """A scripted chat-completions server on 127.0.0.1, a context manager.

    ``script``: a ``Script``, a list of answers, or an object with ``answers`` and
    ``after_last`` (the format is in the docstring of the package). ``tls``: a pair of file
    names, certificate and key, or None for plain HTTP. ``port``: 0 for any free port.
    Raises: ``ValueError`` that names the place of a mistake in the script.
    """

    def __init__(self, script: Any, *, tls: Optional[Tuple[str, str]] = None,
                 port: int = 0) -> None:
        self._script = Script.parse(script)
        self._run = ScriptRun(self._script)
        self._port = port
        self._tls: Optional[ssl.SSLContext] = None
        if tls is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(tls[0], tls[1])
        self._listener: Optional[socket.socket] = None
        self._waker: Optional[Waker] = None
        self._acceptor: Optional[threading.Thread] = None
        self._threads: List[threading.Thread] = []
        self._accepted = 0

    def __enter__(self) -> "LoopbackServer":
        return self.start()

    def __exit__(self, kind: Optional[Type[BaseException]], fault: Optional[BaseException],
                 trace: Any) -> None:
        self.close()

    def start(self) -> "LoopbackServer":
        """Listen, and return the server. Raises: ``RuntimeError`` when started twice."""
        if self._listener is not None:
            raise RuntimeError("the loopback server was started before")
        self._listener = listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if not all(answer.read_request for answer in self._script.answers):
            # Set before listening: a client that connects gets its receive window at once.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _DEAF_RECEIVE_BUFFER)
        try:
            listener.bind((_HOST, self._port))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
        listener.setblocking(False)
        self._port = listener.getsockname()[1]
        self._waker = Waker()
        self._acceptor = threading.Thread(
            target=self._accept, args=(listener, self._waker), name="loopback", daemon=True)
        self._acceptor.start()
        return self

    def close(self) -> None:
        """Close every socket and join every thread; closing twice is fine."""
        waker, self._waker = self._waker, None
        if waker is None or self._acceptor is None or self._listener is None:
            return
        waker.set()
        self._acceptor.join()
        for thread in self._threads:
            thread.join()
        self._listener.close()
        waker.close()

    @property
    def host_port(self) -> str:
        """``"127.0.0.1:PORT"``; raises ``RuntimeError`` before ``start()``."""
        if self._listener is None:
            raise RuntimeError("the loopback server is not started")
        return f"{_HOST}:{self._port}"

    @property
    def base_url(self) -> str:
        """``"http://127.0.0.1:PORT/v1"``, or with ``https`` over TLS."""
        return f"http{'s' if self._tls else ''}://{self.host_port}/v1"

    @property
    def requests(self) -> List[RequestRecord]:
        """The requests recorded so far, in order of arrival."""
        return self._run.records()

    @property
    def connection_count(self) -> int:
        """How many TCP connections were accepted so far."""
        return self._accepted

    def wait_for_requests(self, n: int, timeout: float = 5.0) -> List[RequestRecord]:
        """Wait until ``n`` requests are recorded, and return all records.

        ``timeout``: seconds. Raises: ``TimeoutError`` when fewer requests came in that time.
        """
        return self._run.wait_for(n, timeout)

    def _accept(self, listener: socket.socket, waker: Waker) -> None:
        while not wait_ready(listener, waker.socket, True, False, None)[0]:
            try:
                sock, _ = listener.accept()
            except BlockingIOError:
                continue  # the client was gone before it could be accepted
            except OSError:
                # Probably out of file descriptors: give other threads time to close some.
                waker.wait(_ACCEPT_PAUSE)
                continue
            number = self._accepted
            self._accepted += 1
            if self._run.take_slam():
                sock.close()
                continue
            connection = Connection(Wire(sock, waker), number, self._run)
            thread = threading.Thread(target=connection.serve, args=(self._tls,),
                                      name=f"loopback-{number}", daemon=True)
            self._threads = [one for one in self._threads if one.is_alive()]
            self._threads.append(thread)
            thread.start()
