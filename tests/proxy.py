# SPDX-License-Identifier: MIT
"""A small forwarding proxy for tests: CONNECT tunnels, and plain requests by absolute URL.

In: connections on 127.0.0.1. Out: the same bytes at the host the request names; ``seen`` keeps
each request line with its headers. ``connect_drip``: seconds after each byte of the answer to
CONNECT; ``status``: what that answer says.
"""

from __future__ import annotations

import selectors
import socket
import time
from typing import List
from urllib.parse import urlsplit

from rawserver import RawServer


class Proxy(RawServer):
    """The proxy; a context manager."""

    def __init__(self, connect_drip: float = 0.0, status: str = "200 Connection established"):
        super().__init__(self._proxy)
        self.seen: List[bytes] = []
        self.url = f"http://127.0.0.1:{self.port}"
        self._drip = connect_drip
        self._status = status

    def _proxy(self, sock: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            more = sock.recv(65536)
            if not more:
                return
            data += more
        self.seen.append(data)
        method, target = data.split(b" ", 2)[:2]
        if method == b"CONNECT":
            host, _, port = target.decode().rpartition(":")
            self._answer_connect(sock)
            if not self._status.startswith("200"):
                return
            data = b""
        else:
            parts = urlsplit(target.decode())
            host, port = parts.hostname or "", str(parts.port or 80)
            data = data.replace(target, parts.path.encode(), 1)
        with socket.create_connection((host, int(port)), timeout=10) as far:
            far.sendall(data)
            self._pump(sock, far)

    def _answer_connect(self, sock: socket.socket) -> None:
        answer = f"HTTP/1.1 {self._status}\r\nX-Filler: {'x' * 30}\r\n\r\n".encode()
        if not self._drip:
            sock.sendall(answer)
            return
        for at in range(len(answer)):
            sock.sendall(answer[at:at + 1])
            time.sleep(self._drip)

    @staticmethod
    def _pump(near: socket.socket, far: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(near, selectors.EVENT_READ, far)
            selector.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _events in selector.select(10):
                    data = key.fileobj.recv(65536)  # type: ignore[union-attr]
                    if not data:
                        return
                    key.data.sendall(data)
