# SPDX-License-Identifier: MIT
"""Nothing is sent twice: however a connection dies, one call sends at most one whole request.

A server counts the requests that it got whole, and those that were begun. It dies before, while
or after the request is written, at once or later, by FIN, RST, half a head or silence. The
connection is new or reused; plain, over TLS or through a proxy. The cases of one test run at
the same time.
"""

from __future__ import annotations

import socket
import ssl
import struct
import sys
import threading
import time
from contextlib import closing
from itertools import product
from typing import Any, Callable, List, NamedTuple

import pytest
import requests
from proxy import Proxy
from rawserver import (
    CA, HEAD, SERVER_FILES, RawServer, limits, outcome, post, read_all, read_request, wait_gone,
)
from urllib3.util.wait import wait_for_read

from streamcore.client import Client
from streamcore.loopback import LoopbackServer
from streamcore.transport import Transport
from streamcore.transport.watch import Watch, active
from streamcore.values.clock import WaitBudget
from streamcore.values.errors import LlmError
from streamcore.values.limits import Limits

WHOLE = (b'data: {"choices":[{"index":0,"delta":{"content":"ok"}}]}\n\n'
         b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
         b"data: [DONE]\n\n")
ANSWER = HEAD + b"Content-Length: %d\r\n\r\n" % len(WHOLE) + WHOLE
BIG = "x" * 6_000_000  # more than the buffers of both sides take
ENDINGS = ("FIN", "RST", "half a head", "silence")


class Case(NamedTuple):
    """One way in which a connection dies."""

    when: str  # before, while or after the request is written
    reused: bool
    ending: str
    delay: float  # seconds

    @property
    def prompt(self) -> str:
        """Return a prompt that no buffer takes whole, if the connection is to die while it is
        sent."""
        return "hi" if self.when == "after" else BIG


class DyingServer:
    """Answers one request if the connection is to be reused; dies at the next one."""

    def __init__(self, case: Case, tls: bool) -> None:
        self._case = case
        self._answers = 1 if case.reused else 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        if self._context is not None:
            self._context.load_cert_chain(*SERVER_FILES)
        self._lock = threading.Lock()
        self.begun = self.whole = 0  # behind those that were answered
        self.read = threading.Event()  # the client has the answer it was given
        self.done = threading.Event()  # the client has its outcome

    def __call__(self, raw: socket.socket) -> None:
        sock = raw if self._context is None else self._context.wrap_socket(raw, server_side=True)
        with sock:
            with self._lock:
                answers, self._answers = self._answers, 0
            for _ in range(answers):
                self._read(sock)
                sock.sendall(ANSWER)
                self.read.wait(20)
            if self._case.when == "before":
                self._die(sock)
                return
            with self._lock:
                self.begun += 1
            if self._case.when == "while":
                sock.recv(1000)
            else:
                self._read(sock)
                with self._lock:
                    self.whole += 1
            self._die(sock)

    def _read(self, sock: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._some(sock)
        head, _, body = data.partition(b"\r\n\r\n")
        left = int(head.lower().partition(b"content-length:")[2].split()[0]) - len(body)
        while left > 0:
            left -= len(self._some(sock))

    @staticmethod
    def _some(sock: socket.socket) -> bytes:
        data = sock.recv(1 << 20)
        if not data:
            raise OSError("the client has left")
        return data

    def _die(self, sock: socket.socket) -> None:
        self.done.wait(self._case.delay)
        if self._case.ending == "half a head":
            sock.sendall(b"HTTP/1.1 200 O")
        elif self._case.ending == "RST":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif self._case.ending == "silence":
            self.done.wait(20)


def told_of(case: Case, way: str) -> str:
    """Make one call to a dying server; return what is wrong with its outcome, or ""."""
    server = DyingServer(case, way == "tls")
    with RawServer(server) as raw, Proxy() as proxy:
        url = raw.url.replace("http:", "https:") if way == "tls" else raw.url
        proxies = {"http": proxy.url} if way == "proxy" else None
        patience = Limits(first_byte_timeout=case.delay + 0.6, idle_timeout=case.delay + 0.6)
        with Client("m", base_url=url, verify=CA, proxies=proxies, limits=patience) as client:
            if case.reused:
                client.complete("hi")
                server.read.set()
            stream = client.stream(case.prompt)
            try:
                got = stream.message.text
            except LlmError as error:
                got = error.code
                sent = (error.failure.details or {}).get("request_sent")
            else:
                sent = True
            server.done.set()
    wrong = []
    if server.whole > 1 or server.begun > stream.attempts:
        wrong.append(f"{server.whole} whole, {server.begun} begun, {stream.attempts} attempts")
    if server.whole and not sent:
        wrong.append("the server has the whole request, and the failure says it has not")
    # A proxy may have taken the whole request from us, and reports the server's fault itself.
    wanted = ("TIMEOUT",) if case.ending == "silence" else ("TRANSPORT", "TIMEOUT")
    if got not in wanted:
        wrong.append(f"the outcome is {got}")
    return f"{case}: {', '.join(wrong)}" if wrong else ""


def run_together(cases: List[Case], way: str) -> List[str]:
    """Run the cases at the same time; return what is wrong."""
    wrong: List[str] = []

    def run(case: Case) -> None:
        try:
            told = told_of(case, way)
        except BaseException as error:
            told = f"{case}: {error!r}"
        if told:
            wrong.append(told)

    threads = [threading.Thread(target=run, args=(case,)) for case in cases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.mark.parametrize("way", ["plain", "tls", "proxy"])
@pytest.mark.parametrize("delay", [
    0.0, 0.02,
    pytest.param(0.3, marks=pytest.mark.long), pytest.param(3.0, marks=pytest.mark.long),
])
def test_request_reaches_the_server_once(way: str, delay: float) -> None:
    """However the connection dies, the server gets one whole request at most."""
    whens = ("before", "while", "after")
    cases = [Case(*one, delay) for one in product(whens, (False, True), ENDINGS)]
    assert run_together(cases, way) == []


class Server:
    """Answers the first request of each connection, and does ``then`` with the second."""

    def __init__(self, then: Callable[[socket.socket, int], Any]) -> None:
        self.connections = 0
        self._then = then

    def __call__(self, sock: socket.socket) -> None:
        self.connections += 1
        number = self.connections
        read_request(sock)
        sock.sendall(ANSWER)
        self._then(sock, number)


def reset(sock: socket.socket) -> None:
    """Close with RST, also if there are no unread bytes."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def test_request_that_was_written_whole_and_lost_is_told() -> None:
    """The server may be working on it, so only the policy can have it sent again."""
    server = Server(lambda sock, _: read_request(sock) and None)
    with RawServer(server) as raw, Client("m", base_url=raw.url) as client:
        assert client.complete("x").text == "ok"
        stream = client.stream("x")
        with pytest.raises(LlmError) as lost:
            stream.message
        failure = lost.value.failure
        assert (failure.code, failure.retryable, failure.phase) == ("TRANSPORT", True, "headers")
        assert failure.details == {"request_sent": True}
        assert (server.connections, stream.attempts) == (1, 1)


def test_request_that_was_not_taken_whole_goes_out_again_and_counts() -> None:
    """If a reused connection breaks in a long request, a new one takes it as attempt two."""
    def then(sock: socket.socket, number: int) -> None:
        if number == 1:
            sock.recv(1000)
            reset(sock)

    server = Server(then)
    with RawServer(server) as raw, Client("m", base_url=raw.url) as client:
        assert client.complete("x").text == "ok"
        stream = client.stream(BIG)
        assert (stream.message.text, stream.attempts, server.connections) == ("ok", 2, 2)


def test_second_try_is_the_last() -> None:
    """If the new connection breaks in the request too, the call fails after two attempts."""
    def serve(sock: socket.socket) -> None:
        if raw.connections == 1:
            read_request(sock)
            sock.sendall(ANSWER)
        sock.recv(1000)
        reset(sock)

    with RawServer(serve) as raw, Client("m", base_url=raw.url) as client:
        assert client.complete("x").text == "ok"
        stream = client.stream(BIG)
        with pytest.raises(LlmError) as broken:
            stream.message
        assert broken.value.failure.details == {"request_sent": False}
        assert (broken.value.code, stream.attempts, raw.connections) == ("TRANSPORT", 2, 2)


@pytest.mark.parametrize("stray", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
def test_nothing_is_written_to_a_reused_connection_that_turned_readable(stray: bytes) -> None:
    """If the server closes it after the pool has checked it, no request is written."""
    leave, got = threading.Event(), []

    def then(sock: socket.socket, _number: int) -> None:
        leave.wait(10)
        sock.sendall(stray)
        sock.shutdown(socket.SHUT_WR)
        got.append(sock.recv(1000))

    with RawServer(Server(then)) as raw, closing(Transport()) as transport:
        assert read_all(post(transport, raw.url)) == (WHOLE, None)
        pools = transport._made["sender"]._adapter().poolmanager
        pool = pools.pools.get(list(pools.pools.keys())[0])
        with active(Watch("x", limits(), None, WaitBudget(None))):
            connection = pool._get_conn()
            leave.set()
            assert wait_for_read(connection.sock, 10)
            with pytest.raises(ConnectionAbortedError):
                connection.request("POST", "/v1", body=b"x")
            connection.close()
    assert not any(got)


class Broken(requests.adapters.HTTPAdapter):
    """A caller's adapter that loses every request."""

    sent = 0

    def send(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.sent += 1
        raise requests.ConnectionError("lost")


def test_request_through_an_adapter_of_the_callers_is_not_repeated() -> None:
    """It is sent once, and ``request_sent`` is absent because nobody here knows it."""
    with requests.Session() as session, closing(Transport(http_session=session)) as transport:
        adapter = Broken()
        session.mount("http://", adapter)
        error, _ = outcome(lambda: post(transport, "http://127.0.0.1:9/v1"))
        assert (error.code, error.failure.details, adapter.sent) == ("TRANSPORT", None, 1)


@pytest.mark.parametrize("way", ["plain", "tls"])
def test_answer_that_is_there_is_read_when_writing_breaks_off(way: str) -> None:
    """A refusal sent before the request was read is the answer, although a reset follows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*SERVER_FILES)
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig"

    def serve(raw: socket.socket) -> None:
        with raw if way == "plain" else context.wrap_socket(raw, server_side=True) as sock:
            if raw_server.connections == 1:
                answered.append(1)
                sock.recv(1000)
                sock.sendall(refusal)
                time.sleep(0.1)
                reset(sock)
            else:
                wait_gone(sock)

    answered: List[int] = []
    with RawServer(serve) as raw_server, closing(Transport(verify=CA)) as transport:
        url = raw_server.url.replace("http:", "http:" if way == "plain" else "https:")
        answer = post(transport, url, BIG.encode())
        assert answer.status == 413
        assert answer.read_error_body() in (b"big", b"")
        assert raw_server.connections == 1


@pytest.mark.parametrize("carrier", ["call", "session", "auth"])
def test_transfer_encoding_of_the_callers_is_refused(carrier: str) -> None:
    """With a length too, a server could read two requests, or a body without an end."""
    def sign(request: Any) -> Any:
        request.headers["transfer-encoding"] = "chunked"
        return request

    with requests.Session() as session, closing(Transport(http_session=session)) as transport:
        headers = {"transfer-Encoding": "chunked"} if carrier == "call" else {}
        if carrier == "session":
            session.headers["Transfer-Encoding"] = "chunked"
        if carrier == "auth":
            session.auth = sign
        error, _ = outcome(lambda: post(transport, "http://127.0.0.1:9/v1", headers=headers))
        assert error.code == "INVALID_REQUEST" and "Transfer-Encoding" in str(error)


def test_close_among_calls_ends_them_with_a_sentence() -> None:
    """Each call gets its answer, or an error that says the client was closed."""
    ends: List[str] = []

    def call(client: Client) -> None:
        for _ in range(20):
            try:
                ends.append(client.complete("x").text)
            except LlmError as error:
                ends.append(str(error))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with LoopbackServer([{"steps": [{"answer": {"text": "ok"}}]}]) as server:
            for _ in range(6):
                client = Client("m", base_url=server.base_url)
                threads = [threading.Thread(target=call, args=(client,)) for _ in range(3)]
                for thread in threads:
                    thread.start()
                time.sleep(0.02)
                client.close()
                for thread in threads:
                    thread.join()
    finally:
        sys.setswitchinterval(before)
    assert set(ends) == {"ok", "TRANSPORT: the client is closed: no request was sent"}


@pytest.mark.long
def test_calls_at_the_servers_keep_alive_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a thousand calls made as the server is about to close, hardly one is lost."""
    lost, limit = 0, 0.02
    with LoopbackServer([{"body": "x", "close_idle_after": limit}]) as server:
        with closing(Transport()) as transport:
            for number in range(1000):
                try:
                    assert read_all(post(transport, server.base_url)) == (b"x", None)
                except LlmError as error:
                    assert error.failure.details == {"request_sent": True}
                    lost += 1
                time.sleep(limit - 0.002 + 0.004 * (number % 50) / 50)
    with capsys.disabled():
        print(f" {lost} of 1000 calls lost at the keep-alive limit;", end="")
    assert lost <= 20
