# SPDX-License-Identifier: MIT
"""The four clocks on real sockets: silent, dripping, deaf; plain, TLS, and through a proxy.

A clock fires at its time. The error names the clock, its value and its setting. Time in which
no read waits does not count. Rows T6, T9, T10, T28, S8 and C12 of FAULTS.md.
"""

from __future__ import annotations

import socket
import time
from typing import Any, Dict, Iterator

import pytest
from proxy import Proxy
from rawserver import (
    CA, EARLY, LATE, SERVER_FILES, RawServer, limits, outcome, post, read_all, wait_gone,
)

from streamcore.loopback import LoopbackServer
from streamcore.transport import Transport
from streamcore.transport.dialling import connect_first
from streamcore.transport.sockets import WatchedSocket
from streamcore.transport.watch import SLICE, Watch
from streamcore.values.clock import WaitBudget
from streamcore.values.limits import Limits, ResolvedLimits, resolve_limits

SHORT = 0.25  # seconds, the clock under test
BIG = b"x" * (16 << 20)

DRIP: Dict[str, Any] = {"steps": [{"raw": "abc"}, {"repeat": {
    "times": None, "every": 0.05, "steps": [{"comment": "ping"}]}}]}
SETTINGS = {"connect": "connect_timeout", "first-byte": "first_byte_timeout",
            "idle": "idle_timeout", "total": "total_timeout"}


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


def only(clock: str) -> ResolvedLimits:
    """Return limits in which ``clock`` alone is set, and short."""
    off: Dict[str, Any] = dict.fromkeys(SETTINGS.values())
    off["connect_timeout"] = 10.0
    return resolve_limits(Limits(**{**off, SETTINGS[clock]: SHORT}))


def fetch(transport: Transport, url: str, body: bytes = b"{}", **given: Any) -> bytes:
    return b"".join(post(transport, url, body, **given).pieces())


def assert_fired(error: Any, took: float, clock: str, received: int) -> None:
    assert (error.code, error.failure.clock) == ("TIMEOUT", clock)
    assert error.retryable == (clock != "total")
    assert SHORT - EARLY <= took < SHORT + LATE
    for words in (clock, "0.25 s", SETTINGS[clock], f"{received} body bytes"):
        assert words in str(error)


@pytest.mark.parametrize("clock, answer, received", [
    ("first-byte", {"no_answer": True}, 0),
    ("first-byte", {"header_drip": 0.02, "body": "x"}, 0),
    ("first-byte", {"steps": [{"stall": True}]}, 0),
    ("idle", {"steps": [{"raw": "abc"}, {"stall": True}]}, 3),
    ("idle", {"steps": [{"raw": "abc"}, {"stall": True}, {"raw": "d"}], "chunk_dripped": True}, 3),
    ("idle", {"steps": [{"raw": "abc"}, {"stall": True}], "framing": "close"}, 3),
    ("total", {"no_answer": True}, 0),
    ("total", {"header_drip": 0.02, "body": "x"}, 0),
    ("total", {"steps": [{"raw": "abc"}, {"stall": True}]}, 3),
], ids=["no head", "dripped head", "no body", "silence", "silence in a chunk",
        "silence until close", "total no head", "total dripped head", "total silence"])
def test_clock_fires_at_its_time(
    transport: Transport, clock: str, answer: Dict[str, Any], received: int, tls: Any
) -> None:
    """If the server is silent or drips, the only clock fires and is named; the socket closes."""
    with LoopbackServer([answer], tls=tls) as server:
        error, took = outcome(lambda: fetch(transport, server.base_url, limits=only(clock)))
        assert_fired(error, took, clock, received)
        assert server.wait_for_requests(1)[0].wait_peer_left(2.0)


def test_total_clock_fires_while_the_body_drips(transport: Transport, tls: Any) -> None:
    """Endless comments restart idle, never total; the bytes before were handed out."""
    with LoopbackServer([DRIP], tls=tls) as server:
        started = time.monotonic()
        body, error = read_all(post(transport, server.base_url, limits=limits(
            total_timeout=SHORT, idle_timeout=0.2, first_byte_timeout=5.0)))
        took = time.monotonic() - started
    assert error is not None
    assert_fired(error, took, "total", len(body))
    assert body.startswith(b"abc") and body.count(b"ping") >= 1


def test_idle_clock_is_re_armed_by_every_byte(transport: Transport) -> None:
    """A body that drips for much longer than idle ends well."""
    steps = [{"raw": "abc"}, {"drip": {"raw": "x" * 6, "every": 0.1}}]
    with LoopbackServer([{"steps": steps}]) as server:
        body, error = read_all(post(transport, server.base_url, limits=only("idle")))
    assert (body, error) == (b"abc" + b"x" * 6, None)


@pytest.mark.parametrize("clock", ["idle", "total"])
def test_clock_fires_while_the_request_is_not_read(
    transport: Transport, clock: str, tls: Any
) -> None:
    """If the server does not read a large request, a blocked write ends by the clock."""
    with LoopbackServer([{"read_request": False, "drain_after": 0.6}], tls=tls) as server:
        error, took = outcome(lambda: fetch(transport, server.base_url, BIG, limits=only(clock)))
        assert_fired(error, took, clock, 0)
        assert error.failure.phase == "send"


@pytest.mark.parametrize("clock", ["connect", "total"])
def test_clock_fires_in_a_handshake_that_does_not_come(transport: Transport, clock: str) -> None:
    """TCP connects, but the TLS handshake stays silent."""
    with RawServer(wait_gone) as server:
        url = server.url.replace("http:", "https:")
        error, took = outcome(lambda: fetch(transport, url, limits=only(clock)))
    assert_fired(error, took, clock, 0)
    assert error.failure.phase == "tls"


@pytest.mark.parametrize("clock", ["connect", "total"])
def test_clock_fires_while_the_proxy_drips_its_answer(clock: str) -> None:
    """The connect clock includes CONNECT, and no byte restarts it."""
    with Proxy(connect_drip=0.05) as proxy:
        transport = Transport(proxies={"https": proxy.url})
        error, took = outcome(lambda: fetch(transport, "https://127.0.0.1:9/", limits=only(clock)))
        transport.close()
    assert_fired(error, took, clock, 0)
    assert error.failure.phase == "connect"


def test_connect_clock_spans_a_slow_proxy_and_a_silent_handshake() -> None:
    """CONNECT and TLS share one deadline."""
    with RawServer(wait_gone) as far, Proxy(connect_drip=0.004) as proxy:
        transport = Transport(proxies={"https": proxy.url})
        url = far.url.replace("http:", "https:")
        error, took = outcome(lambda: fetch(transport, url, limits=only("connect")))
        transport.close()
    assert_fired(error, took, "connect", 0)


@pytest.mark.parametrize("clock", ["connect", "total"])
def test_clock_fires_while_no_address_answers(transport: Transport, clock: str) -> None:
    """A listener with a full queue does not answer, and the deadline ends the wait."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = []
    try:
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            fillers.append(filler)
        time.sleep(0.05)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        error, took = outcome(lambda: fetch(transport, url, limits=only(clock)))
    finally:
        for sock in (listener, *fillers):
            sock.close()
    assert_fired(error, took, clock, 0)
    assert error.failure.phase == "connect"


def test_address_that_does_not_answer_leaves_time_for_the_next() -> None:
    """Two addresses share the deadline, so the second one still has time."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = [socket.socket() for _ in range(4)]
    good = socket.create_server(("127.0.0.1", 0))
    try:
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        time.sleep(0.05)
        watch = Watch("x", limits(connect_timeout=1.0), None, WaitBudget(None))
        watch.enter("connect")
        watch.begin()
        addresses = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", sock.getsockname())
                     for sock in (listener, good)]
        started = time.monotonic()
        sock = connect_first(addresses, "x", watch)
        assert sock.getpeername() == good.getsockname()
        assert 0.4 < time.monotonic() - started < 0.5 + LATE
        sock.close()
    finally:
        for one in (listener, good, *fillers):
            one.close()


def test_clocks_through_a_proxy(tls: Any) -> None:
    """Idle and total fire through a proxy too."""
    with Proxy() as proxy:
        transport = Transport(verify=CA, proxies={"http": proxy.url, "https": proxy.url})
        for clock, answer in (("idle", {"steps": [{"raw": "abc"}, {"stall": True}]}),
                              ("first-byte", {"no_answer": True})):
            with LoopbackServer([answer], tls=tls) as server:
                error, took = outcome(lambda: fetch(transport, server.base_url, limits=only(clock)))
            assert (error.code, error.failure.clock) == ("TIMEOUT", clock)
            assert took < SHORT + LATE
        transport.close()


def test_thinking_costs_nothing(transport: Transport) -> None:
    """Before and between pieces the consumer may take longer than any clock."""
    steps = [{"raw": "abc"}, {"sleep": 0.1}, {"raw": "def"}, {"sleep": 0.1}, {"raw": "g"}]
    budget = WaitBudget(SHORT)
    with LoopbackServer([{"steps": steps}]) as server:
        answer = post(transport, server.base_url, budget=budget, limits=limits(
            first_byte_timeout=SHORT, idle_timeout=SHORT, total_timeout=SHORT))
        time.sleep(SHORT + 0.1)
        got = b""
        for piece in answer.pieces():
            got += piece
            time.sleep(SHORT + 0.1)
    assert got == b"abcdefg"
    assert budget.spent < SHORT


def test_budget_goes_on_over_attempts(transport: Transport) -> None:
    """Two calls share one total clock: the second has what the first left."""
    budget = WaitBudget(0.8)
    with LoopbackServer([{"header_delay": 0.5, "body": "x"}]) as server:
        started = time.monotonic()
        assert fetch(transport, server.base_url, budget=budget) == b"x"
        assert 0.45 < budget.spent < 0.8
        error, _ = outcome(lambda: fetch(transport, server.base_url, budget=budget))
        assert (error.code, error.failure.clock) == ("TIMEOUT", "total")
        assert "0.8 s" in str(error) and time.monotonic() - started < 0.8 + LATE
        count = server.connection_count
        error, _ = outcome(lambda: fetch(transport, server.base_url, budget=budget))
        assert error.code == "TIMEOUT" and server.connection_count == count


def test_clocks_that_are_off_do_not_fire(transport: Transport) -> None:
    """None turns each of them off."""
    off = resolve_limits(Limits(connect_timeout=None, first_byte_timeout=None,
                                idle_timeout=None, total_timeout=None))
    with LoopbackServer([{"header_delay": 0.3, "body": "x"}]) as server:
        assert fetch(transport, server.base_url, limits=off) == b"x"


def test_first_byte_clock_is_its_own(transport: Transport) -> None:
    """A slow first byte passes under first-byte; the same pause later ends by idle."""
    mine = limits(first_byte_timeout=5.0, idle_timeout=0.3)
    script = [{"steps": [{"sleep": 0.5}, {"raw": "a"}]},
              {"steps": [{"raw": "a"}, {"sleep": 0.7}, {"raw": "b"}]}]
    with LoopbackServer(script) as server:
        assert fetch(transport, server.base_url, limits=mine) == b"a"
        error, _ = outcome(lambda: fetch(transport, server.base_url, limits=mine))
    assert (error.code, error.failure.clock) == ("TIMEOUT", "idle")


def test_wait_shorter_than_a_slice_ends_at_its_time() -> None:
    """A clock with less than 0.1 s left sets the socket's time-out, and later waits get theirs."""
    near, far = socket.socketpair()
    with near, far:
        found = resolve_limits(Limits(idle_timeout=0.03, total_timeout=None))
        watch = Watch("host:1", found, None, WaitBudget(None))
        watch.enter("send")
        watched = WatchedSocket(near, watch)
        given = []
        watched._receive = lambda size: given.append(near.gettimeout()) or b"x"
        assert watched.recv(1) == b"x" and 0 < given[0] <= 0.03
        assert near.gettimeout() == SLICE
