# SPDX-License-Identifier: MIT
"""Connections between calls: reused when clean, closed when not, replaced when stale.

Plain, TLS and through a proxy; from many threads; over a fork. Rows T18 and C11.
"""

from __future__ import annotations

import gc
import math
import os
import socket
import sys
import threading
import time
import warnings
import weakref
import zlib
from contextlib import closing
from typing import Any, Dict, Iterator, List

import pytest
import requests
from proxy import Proxy
from rawserver import (
    CA, HEAD, SERVER_FILES, RawServer, answering, limits, outcome, post, read_all, read_request,
    wait_gone,
)

from streamcore.loopback import LoopbackServer
from streamcore.transport import Transport
from streamcore.transport.idle import IdleQueue, kept_for
from streamcore.transport.watch import Watch, active
from streamcore.values.clock import WaitBudget
from streamcore.values.limits import resolve_limits


@pytest.fixture(params=["plain", "tls"])
def tls(request: Any) -> Any:
    """Give the TLS argument of ``LoopbackServer``: once for plain HTTP and once for TLS."""
    return SERVER_FILES if request.param == "tls" else None


@pytest.fixture
def transport() -> Iterator[Transport]:
    """A transport that trusts the test certificate."""
    made = Transport(verify=CA)
    yield made
    made.close()


def until_done(transport: Transport, url: str) -> bytes:
    """Read up to the last event of a message, then finish, as the client does."""
    answer = post(transport, url)
    got = b""
    pieces = answer.pieces()
    for piece in pieces:
        got += piece
        if b"[DONE]" in got:
            break
    answer.finish()
    return got


DONE: Dict[str, Any] = {"steps": [{"raw": "hello "}, {"done": True}]}


@pytest.mark.parametrize("framing", ["chunked", "content-length"])
def test_sequential_calls_use_one_connection(
    transport: Transport, framing: str, tls: Any
) -> None:
    """Twenty calls, each finished at its proven end, use one connection."""
    with LoopbackServer([{**DONE, "framing": framing}], tls=tls) as server:
        for _ in range(20):
            assert until_done(transport, server.base_url).startswith(b"hello data: [DONE]")
        assert server.connection_count == 1


@pytest.mark.parametrize("through", ["proxy", "session"])
def test_connection_is_reused_by_every_way(through: str, tls: Any) -> None:
    """It is reused through a proxy, and with the caller's own session."""
    import requests

    with Proxy() as proxy, LoopbackServer([DONE], tls=tls) as server:
        if through == "proxy":
            transport = Transport(verify=CA, proxies={"http": proxy.url, "https": proxy.url})
        else:
            session = requests.Session()
            session.verify = CA
            transport = Transport(http_session=session)
        for _ in range(3):
            until_done(transport, server.base_url)
        assert server.connection_count == 1
        transport.close()


def test_body_read_to_its_end_gives_the_connection_back(transport: Transport) -> None:
    """The end of the framing is enough, without ``finish``."""
    with LoopbackServer([{"body": "x"}]) as server:
        for _ in range(3):
            assert read_all(post(transport, server.base_url)) == (b"x", None)
        assert server.connection_count == 1


def test_finish_takes_an_end_that_comes_soon_and_drops_one_that_does_not(
    transport: Transport,
) -> None:
    """After the message, the body's end is awaited for 50 ms and no longer."""
    soon = {"steps": [{"raw": "[DONE]"}, {"sleep": 0.01}, {"comment": "rest"}]}
    late = {"steps": [{"raw": "[DONE]"}, {"stall": True}]}
    with LoopbackServer([soon, late, soon]) as server:
        until_done(transport, server.base_url)
        started = time.monotonic()
        until_done(transport, server.base_url)
        assert time.monotonic() - started < 1.0
        assert server.requests[1].wait_peer_left(2.0)
        until_done(transport, server.base_url)
        assert [record.connection for record in server.requests] == [0, 0, 1]


@pytest.mark.parametrize("answer", [
    {"steps": [{"raw": "[DONE]"}, {"stall": True}], "framing": "close"},
    {"steps": [{"raw": "[DONE]"}, {"sleep": 0.02}, {"reset": True}]},
    {"steps": [{"raw": "[DONE]"}, {"chunk_size_bad": True}]},
    {"steps": [{"raw": "[DONE]"}, {"repeat": {"times": None, "every": 0.01,
                                              "steps": [{"comment": "x"}]}}]},
    {"steps": [{"raw": "[DONE]"}, {"stall": True}], "announce_close": True},
    {"gzip": "bad", "steps": [{"raw": "[DONE]"}, {"raw": "more"}]},
], ids=["until close", "reset", "bad chunk", "endless", "announced close", "bad gzip"])
def test_finish_never_raises_and_drops_what_is_not_clean(
    transport: Transport, answer: Dict[str, Any]
) -> None:
    """Whatever follows the message, the next call has a new connection."""
    with LoopbackServer([answer, {"body": "next"}]) as server:
        assert b"[DONE]" in until_done(transport, server.base_url)
        assert read_all(post(transport, server.base_url)) == (b"next", None)
        assert server.connection_count == 2


def test_finish_after_cancel_does_not_raise(transport: Transport) -> None:
    """The message is whole, but the connection is not kept."""
    cancel = threading.Event()
    with LoopbackServer([{"steps": [{"raw": "[DONE]"}, {"stall": True}]}]) as server:
        answer = post(transport, server.base_url, cancel=cancel)
        pieces = answer.pieces()
        next(pieces)
        cancel.set()
        answer.finish()
        answer.finish()
        assert list(pieces) == []
        assert server.requests[0].wait_peer_left(2.0)


def test_bytes_behind_the_end_never_reach_the_next_answer(transport: Transport) -> None:
    """If a server sends more than it announced, the connection is closed."""
    def serve(sock: socket.socket) -> None:
        read_request(sock)
        sock.sendall(HEAD + b"Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\nevil")
        wait_gone(sock)

    with RawServer(serve) as server:
        for _ in range(2):
            assert read_all(post(transport, server.url)) == (b"ok", None)
        assert server.connections == 2


@pytest.mark.parametrize("ending", [
    {"keep_alive": False}, {"close_idle_after": 0.05}, {"reset_idle_after": 0.05},
], ids=["closed unsaid", "closed while idle", "reset while idle"])
def test_stale_connection_is_healed_unseen(
    transport: Transport, ending: Dict[str, Any], tls: Any
) -> None:
    """The server closed it between two calls, and the second call still works."""
    with LoopbackServer([{"body": "x", **ending}], tls=tls) as server:
        for _ in range(3):
            assert read_all(post(transport, server.base_url)) == (b"x", None)
            time.sleep(0.12)
        assert len(server.requests) == 3


class Leaving:
    """Answers the first request of a connection, and closes at the second without an answer."""

    def __init__(self, farewell: bytes = b"") -> None:
        self.requests = 0
        self._farewell = farewell

    def __call__(self, sock: socket.socket) -> None:
        read_request(sock)
        sock.sendall(HEAD + b"Content-Length: 2\r\n\r\nok")
        read_request(sock)
        self.requests += 2
        sock.sendall(self._farewell)


class Idle:
    """A fake connection for the pool's queue, idle since second 100."""

    def __init__(self, kept_for: float = math.inf) -> None:
        self.sock, self.idle_since, self.kept_for = self, 100.0, kept_for
        self.closed = False

    def close(self) -> None:
        self.closed = True


def watch_at(now: float, target: str = "example.com:443") -> Watch:
    """Return the watch of a call whose clock does not move."""
    return Watch(target, limits(), None, WaitBudget(None, lambda: now))


def test_second_try_passes_over_connections_other_threads_put_back() -> None:
    """The second try takes no idle connection; a full pool closes one that is put back."""
    pool, first, second = IdleQueue(1), Idle(), Idle()
    watch = watch_at(101.0)
    pool.put(first, block=False)
    pool.put(second, block=False)
    assert second.closed and not first.closed
    with active(watch):
        assert pool.get(block=False) is first and watch.reused
        pool.put(first, block=False)
        watch.begin_again()
        assert pool.get(block=False) is None and first.closed and not watch.reused


@pytest.mark.parametrize("target, header, most", [
    ("example.com:443", "", 60.0), ("8.8.8.8:443", "", 60.0), ("2606:4700::1:443", "", 60.0),
    ("localhost:8080", "", 4.0), ("127.0.0.1:80", "", 4.0), ("::1:80", "", 4.0),
    ("192.168.1.7:80", "", 4.0), ("gpu-box:80", "", 4.0), ("gpu.local:80", "", 4.0),
    ("example.com:443", "timeout=5, max=100", 4.0), ("example.com:443", "max=1,Timeout=11", 10.0),
    ("example.com:443", "timeout=1", 0.0), ("example.com:443", "timeout=300", 60.0),
    ("example.com:443", "timeout=x", 60.0), ("example.com:443", "timeout=-3", 60.0),
    ("localhost:8080", "timeout=75", 4.0),
])
def test_idle_connection_is_given_up_before_its_server_does(
    target: str, header: str, most: float
) -> None:
    """After 4 s nearby, 60 s elsewhere, or a second before the time the server announced."""
    for idle, reused in ((max(0.0, most - 0.001), most > 0), (most, False), (most + 500, False)):
        pool, kept = IdleQueue(1), Idle(kept_for(header))
        pool.put(kept)
        with active(watch_at(100.0 + idle, target)):
            assert (pool.get() is kept, kept.closed) == (reused, not reused), idle


def test_keep_alive_header_of_an_answer_is_obeyed(transport: Transport) -> None:
    """If the server keeps a connection for a second, the next request uses a new one."""
    with LoopbackServer([{"body": "x", "headers": {"Keep-Alive": "timeout=1"}}]) as server:
        for _ in range(3):
            assert read_all(post(transport, server.base_url)) == (b"x", None)
        assert server.connection_count == 3


def test_silent_connection_is_probed(transport: Transport, tls: Any) -> None:
    """The system probes the peer after a minute: plain, TLS and through a proxy."""
    with Proxy() as proxy, LoopbackServer([{"body": "x"}], tls=tls) as server:
        with closing(Transport(verify=CA, proxies={"http": proxy.url, "https": proxy.url})) as far:
            for one in (transport, far):
                answer = post(one, server.base_url)
                sock = answer._file.sock
                assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                if hasattr(socket, "TCP_KEEPIDLE"):
                    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
                read_all(answer)


def test_response_that_began_is_not_asked_for_again(transport: Transport) -> None:
    """If one byte of a response came, the call fails and the request is not sent twice."""
    serve = Leaving(farewell=b"HTTP/1.1 2")
    with RawServer(serve) as server:
        assert read_all(post(transport, server.url)) == (b"ok", None)
        error, _ = outcome(lambda: post(transport, server.url))
        assert error.code == "TRANSPORT" and serve.requests == 2


@pytest.mark.parametrize("how", ["cancel", "clock"])
def test_healing_is_not_for_cancel_and_clocks(transport: Transport, how: str) -> None:
    """A cancel or a clock on a reused connection does not send the request again."""
    cancel = threading.Event()
    with LoopbackServer([{"body": "x"}, {"no_answer": True}]) as server:
        read_all(post(transport, server.base_url))
        timer = threading.Timer(0.2, cancel.set)
        if how == "cancel":
            timer.start()
        error, _ = outcome(lambda: post(
            transport, server.base_url, cancel=cancel, limits=limits(first_byte_timeout=0.5)))
        assert error.code == ("ABORTED" if how == "cancel" else "TIMEOUT")
        assert len(server.requests) == 2 and server.connection_count == 1
        timer.cancel()


def test_fresh_connection_that_fails_is_not_tried_again(transport: Transport) -> None:
    """The call fails, and no second request is made."""
    with RawServer(answering(b"")) as server:
        error, _ = outcome(lambda: post(transport, server.url))
        assert error.code == "TRANSPORT" and server.connections == 1


def test_many_threads_on_one_transport(tls: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Fifty threads get fifty right answers, and no warning about a full pool."""
    script = [{"when": {"contains": f"call-{n:03}."}, "body": f"answer-{n:03}" * 50}
              for n in range(50)]
    transport = Transport(verify=CA, pool_size=5)
    got: Dict[int, List[Any]] = {n: [] for n in range(50)}

    def call(number: int) -> None:
        for _ in range(3):
            body = f"call-{number:03}.".encode()
            got[number].append(read_all(post(transport, server.base_url, body)))

    with LoopbackServer(script, tls=tls) as server:
        threads = [threading.Thread(target=call, args=(n,)) for n in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        transport.close()
    for number, answers in got.items():
        assert answers == [(f"answer-{number:03}".encode() * 50, None)] * 3
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_transport_made_before_a_fork_works_in_both(transport: Transport, tls: Any) -> None:
    """The child opens its own connection; the parent's stays usable and is not disturbed."""
    with LoopbackServer([DONE], tls=tls) as server:
        until_done(transport, server.base_url)
        held = post(transport, server.base_url)
        child = os.fork()
        if child == 0:
            try:
                ok = until_done(transport, server.base_url).startswith(b"hello")
                held.close()
                transport.close()
            finally:
                os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert read_all(held)[1] is None
        until_done(transport, server.base_url)
        assert [record.connection for record in server.requests] == [0, 0, 1, 0]


def test_closed_transport_lets_a_running_answer_end(transport: Transport) -> None:
    """Idle connections close at once, the one in use after its answer."""
    with LoopbackServer([{"steps": [{"raw": "a"}, {"sleep": 0.1}, {"raw": "b"}]}]) as server:
        answer = post(transport, server.base_url)
        transport.close()
        assert read_all(answer) == (b"ab", None)
        assert server.requests[0].wait_peer_left(2.0)


def test_half_read_answer_does_not_give_its_connection_back(transport: Transport) -> None:
    """After a close in the middle, the next call has a new connection."""
    with LoopbackServer([{"steps": [{"raw": "a"}, {"stall": True}]}, {"body": "x"}]) as server:
        post(transport, server.base_url).close()
        assert read_all(post(transport, server.base_url)) == (b"x", None)
        assert server.connection_count == 2


def test_signal_handler_may_call_in_the_middle_of_a_call(transport: Transport) -> None:
    """Two nested calls in one thread each use their own watch."""
    with LoopbackServer([{"steps": [{"raw": "a"}, {"sleep": 0.1}, {"raw": "b"}]}]) as server:
        outer = post(transport, server.base_url)
        pieces = outer.pieces()
        first = next(pieces)
        assert read_all(post(transport, server.base_url)) == (b"ab", None)
        assert first + b"".join(pieces) == b"ab"


def test_environment_that_changes_between_calls_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call reads the proxies and CA bundles when it is made."""
    from streamcore.transport.sending import Sender

    sender = Sender(None, {"proxies": None, "verify": None, "cert": None}, True, 1)

    def merged(url: str) -> Any:
        watch = Watch("h:80", resolve_limits(), None, WaitBudget(None))
        return sender._merged(url, watch), watch.target

    for name in ("Http_Proxy", "No_Proxy", "http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY",
                 "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert not merged("http://h/x")[0]["proxies"].get("http")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    settings, target = merged("http://h/x")
    assert settings["proxies"]["http"] == "http://127.0.0.1:9" and "127.0.0.1:9" in target
    monkeypatch.setenv("no_proxy", "h")
    assert not merged("http://h/x")[0]["proxies"].get("http")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/ca.pem")
    assert merged("http://h/x")[0]["verify"] == "/ca.pem"


def test_call_like_the_last_one_brings_its_own_body_and_headers() -> None:
    """Nothing of one call is in the next one on the same connection."""
    said = {"steps": [{"raw": "x"}]}
    with LoopbackServer([said] * 5) as server, closing(Transport()) as transport:
        for body, headers in (
            (b'{"n":1}', {"X-A": "1"}), (b'{"n":22}', {"X-A": "1"}), (b'{"n":22}', {"X-A": "2"}),
            (b"{}", {"X-B": "\xe9"}), (b'{"n":1}', {"X-A": "1"}),
        ):
            answer = transport.open(server.base_url, headers, body, limits=resolve_limits())
            assert read_all(answer) == (b"x", None)
            request = server.requests[-1]
            assert request.body == body
            assert {k: v for k, v in request.headers.items() if k.startswith("x-")} == {
                name.lower(): value for name, value in headers.items()}
        assert server.connection_count == 1


def test_headers_keep_their_order_and_their_case() -> None:
    """They are sent as they were given."""
    seen: List[bytes] = []

    def serve(sock: socket.socket) -> None:
        while True:
            request = read_request(sock)
            if not request:
                return
            seen.append(b"".join(line[:1] for line in request.split(b"\r\n") if b"X-" in line
                                 or b"x-" in line))
            sock.sendall(HEAD + b"Content-Length: 1\r\n\r\nx")

    with RawServer(serve) as server, closing(Transport()) as transport:
        for headers in ({"X-A": "1", "x-b": "2"}, {"x-b": "2", "X-A": "1"}):
            answer = transport.open(server.url, headers, b"{}", limits=resolve_limits())
            assert read_all(answer) == (b"x", None)
    assert seen == [b"Xx", b"xX"]


def test_proxies_given_are_those_of_the_time_they_were_given() -> None:
    """If the caller changes the dict later, neither the proxy nor the masking changes."""
    with LoopbackServer([{"steps": [{"raw": "x"}]}] * 3) as server:
        own: Dict[str, str] = {}
        with closing(Transport(proxies=own)) as transport:
            own["http"] = "http://user:hunter2secret@127.0.0.1:1"
            answer = transport.open(server.base_url, {}, b"{}", limits=resolve_limits())
            assert read_all(answer) == (b"x", None)
            assert not any("hunter2" in url for url in transport.carried()[1])


class Key(str):
    """A key whose lifetime a weak reference can show."""


def test_key_does_not_outlive_its_call() -> None:
    """After the answer is gone, the transport holds nothing of the request."""
    with LoopbackServer([{"steps": [{"raw": "x"}]}]) as server, closing(Transport()) as transport:
        key = Key("sk-1")
        gone = weakref.ref(key)
        answer = transport.open(server.base_url, {"X-Key": key}, b"{}", limits=resolve_limits())
        assert read_all(answer) == (b"x", None) and gone() is not None
        del key, answer
        gc.collect()
        assert gone() is None


def test_auth_of_a_callers_session_may_sign_the_body() -> None:
    """It is called for every request, and sees what is sent."""
    class Signing(requests.auth.AuthBase):
        def __call__(self, request: Any) -> Any:
            request.headers["X-Signed"] = str(zlib.crc32(request.body))
            return request

    with LoopbackServer([{"steps": [{"raw": "x"}]}] * 2) as server, requests.Session() as session:
        session.auth = Signing()
        with closing(Transport(http_session=session)) as transport:
            for body in (b'{"n":1}', b'{"n":2}'):
                answer = transport.open(server.base_url, {}, body, limits=resolve_limits())
                assert read_all(answer) == (b"x", None)
                assert server.requests[-1].headers["x-signed"] == str(zlib.crc32(body))


@pytest.mark.parametrize("open_still", [False, True])
def test_connection_left_in_a_reference_cycle_is_closed_without_a_warning(
    tls: Any, open_still: bool
) -> None:
    """The finaliser closes it before the collector comes to the socket."""
    class Holder:
        """An object that refers to the transport, the answer and itself."""

    with LoopbackServer([{"steps": [{"raw": "x"}]}], tls=tls) as server:
        holder: Any = Holder()
        holder.transport, holder.own = Transport(verify=CA), holder
        holder.answer = post(holder.transport, server.base_url)
        holder.answer.holder = holder
        if not open_still:
            read_all(holder.answer)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            del holder
            gc.collect()
    assert [str(warning.message) for warning in seen] == []


@pytest.mark.parametrize("proxied", [False, True])
def test_close_ends_idle_connections_of_answers_that_are_kept(proxied: bool) -> None:
    """An answer or stream that is still referenced does not keep the connection open."""
    gone = threading.Event()

    def serve(sock: socket.socket) -> None:
        read_request(sock)
        sock.sendall(HEAD + b"Content-Length: 1\r\n\r\nx")
        wait_gone(sock)
        gone.set()

    with RawServer(serve) as server:
        proxies = {"http": f"http://127.0.0.1:{server.port}"} if proxied else None
        transport = Transport(proxies=proxies)
        answer = post(transport, "http://127.0.0.1:1/v1" if proxied else server.url)
        assert read_all(answer) == (b"x", None)
        assert not gone.wait(0.1)
        transport.close()
        assert gone.wait(5)
        del answer


def test_interrupted_pool_queue_goes_on() -> None:
    """Ctrl-C at any step of putting or getting a connection leaves nothing locked."""
    for step in range(1, 40):
        pool, left = IdleQueue(2), step

        def interrupt(*_: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return interrupt

        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            pool.put(None)
            pool.get()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        later = threading.Thread(target=lambda: (pool.put(None), pool.get()), daemon=True)
        later.start()
        later.join(5)
        assert not later.is_alive(), step
