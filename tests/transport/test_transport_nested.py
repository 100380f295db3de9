# SPDX-License-Identifier: MIT
"""TLS to a host inside TLS to a proxy: nothing is lost, and clocks and cancel hold there too.

In: a proxy on 127.0.0.1 that speaks TLS and tunnels to a loopback server that speaks TLS too.
Out: the same bytes at the far end, however slowly the proxy takes them.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import time
from typing import Any, Iterator

import pytest
from rawserver import (
    CA, LATE, SERVER_FILES, RawServer, limits, outcome, post, read_all, read_request,
)

from streamcore.loopback import LoopbackServer
from streamcore.transport import Transport
from streamcore.values.errors import LlmError


class TlsProxy(RawServer):
    """A proxy behind TLS; in a large request it stops reading once, for ``pause`` seconds."""

    def __init__(self, pause: float = 0.0, then: Any = None) -> None:
        super().__init__(self._tunnel)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*SERVER_FILES)
        self._pause = pause
        self._then = then

    def _tunnel(self, sock: socket.socket) -> None:
        with self._context.wrap_socket(sock, server_side=True) as near:
            port = read_request(near).split(b" ", 2)[1].rpartition(b":")[2]
            near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            if self._then is not None:
                self._then(near)
                return
            with socket.create_connection(("127.0.0.1", int(port)), timeout=10) as far:
                near.settimeout(10)
                self._pump(near, far)

    def _pump(self, near: ssl.SSLSocket, far: socket.socket) -> None:
        passed = 0
        with selectors.DefaultSelector() as selector:
            selector.register(near, selectors.EVENT_READ, far)
            selector.register(far, selectors.EVENT_READ, near)
            events = selector.select(5)
            while events:
                for key, _events in events:
                    data = key.fileobj.recv(65536)  # type: ignore[union-attr]
                    while key.fileobj is near and near.pending():
                        data += near.recv(65536)
                    if not data:
                        return
                    key.data.sendall(data)
                    passed += len(data)
                    if self._pause and passed > 300_000:
                        time.sleep(self._pause)
                        self._pause = 0.0
                events = selector.select(5)

    def transport(self) -> Transport:
        """Return a transport that uses this proxy."""
        return Transport(verify=CA, proxies={"https": f"https://localhost:{self.port}"})


@pytest.fixture
def far(request: Any) -> Iterator[LoopbackServer]:
    """The host behind the proxy; each of its answers takes longer than a slice."""
    script = [{"steps": [{"raw": "hello "}, {"sleep": 0.3}, {"done": True}]}]
    with LoopbackServer(script, tls=SERVER_FILES) as server:
        yield server


@pytest.mark.parametrize("pause", [0.0, 0.6])
def test_request_arrives_whole_through_a_proxy_that_pauses(
    far: LoopbackServer, pause: float
) -> None:
    """A write that blocks for some slices is not repeated and loses nothing."""
    body = bytes(range(97, 123)) * 300_000
    with TlsProxy(pause) as proxy:
        transport = proxy.transport()
        got = read_all(post(transport, far.base_url, body))
        transport.close()
    assert got == (b"hello data: [DONE]\n\n", None)
    assert far.requests[0].body == body


def test_connection_inside_a_tls_proxy_is_reused(far: LoopbackServer) -> None:
    """The second call uses the same connection, with its own clocks."""
    with TlsProxy() as proxy:
        transport = proxy.transport()
        for _ in range(3):
            assert read_all(post(transport, far.base_url))[1] is None
        assert proxy.connections == 1
        transport.close()


@pytest.mark.parametrize("clock", ["idle", "total", None])
def test_silence_inside_a_tls_proxy_ends_by_clock_or_cancel(clock: Any) -> None:
    """The waits are cut into slices there too."""
    script = [{"steps": [{"raw": "abc"}, {"stall": True}]}]
    given = {f"{clock}_timeout": 0.4} if clock else {}
    cancel = threading.Event()
    with LoopbackServer(script, tls=SERVER_FILES) as server, TlsProxy() as proxy:
        transport = proxy.transport()
        answer = post(transport, server.base_url, limits=limits(**given), cancel=cancel)
        pieces = answer.pieces()
        assert next(pieces) == b"abc"
        timer = threading.Timer(0.4, cancel.set)
        if not clock:
            timer.start()
        error, took = outcome(lambda: next(pieces))
        timer.cancel()
        if not clock:
            timer.join()
        assert (error.code, error.failure.clock) == ("TIMEOUT" if clock else "ABORTED", clock)
        assert took < 0.4 + LATE
        transport.close()


def drip(near: ssl.SSLSocket) -> None:
    near.recv(65536)
    near.sendall(b"\x16\x03\x03\x3f\xff\2")
    for _ in range(100):
        near.sendall(b"\0")
        time.sleep(0.05)


def test_dripping_inner_handshake_ends_by_the_connect_clock() -> None:
    """The whole handshake has one deadline; no byte restarts it."""
    with TlsProxy(then=drip) as proxy:
        transport = proxy.transport()
        mine = limits(connect_timeout=0.6)
        error, took = outcome(lambda: post(transport, "https://127.0.0.1:9/v1", limits=mine))
        transport.close()
    assert (error.code, error.failure.clock, error.failure.phase) == ("TIMEOUT", "connect", "tls")
    assert took < 0.6 + LATE


def test_tls_proxy_by_its_address_works_or_is_an_llm_error(far: LoopbackServer) -> None:
    """urllib3 1.26.5 fails on one with a ValueError."""
    with TlsProxy() as proxy:
        transport = Transport(verify=CA, proxies={"https": f"https://127.0.0.1:{proxy.port}"})
        try:
            error = read_all(post(transport, far.base_url))[1]
        except LlmError as caught:
            error = caught
        transport.close()
    assert error is None or (error.code, error.failure.phase) == ("TRANSPORT", "tls")
