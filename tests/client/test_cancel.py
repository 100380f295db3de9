# SPDX-License-Identifier: MIT
"""Stopping a call: by the cancel event in every phase, by ``close``, and by leaving it.

Each time the result comes soon, the server sees the socket closed, and no thread is started.
Rows C1–C6 of FAULTS.md.
"""

from __future__ import annotations

import gc
import signal
import socket
import threading
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List

import pytest
from proxy import Proxy
from rawserver import (
    CA, LATE, SERVER_FILES, RawServer, limits, outcome, post, read_all, wait_gone,
)

from streamcore.loopback import LoopbackServer
from streamcore.transport import Transport
from streamcore.values.errors import LlmError

DELAY = 0.15  # seconds until the event is set
BIG = b"x" * (16 << 20)  # more than the buffers of both sides take

SILENT: Dict[str, Any] = {"no_answer": True}
STALLED: Dict[str, Any] = {"steps": [{"raw": "abc"}, {"stall": True}]}
PINGS: Dict[str, Any] = {"steps": [{"raw": "abc"}, {"repeat": {
    "times": None, "every": 0.02, "steps": [{"comment": "ping"}]}}]}
FLOOD: Dict[str, Any] = {"steps": [{"repeat": {
    "times": None, "every": 0, "steps": [{"raw": "x" * 4000}]}}]}
HEAD_DRIP: Dict[str, Any] = {"header_drip": 0.05, "body": "x"}
DEAF: Dict[str, Any] = {"read_request": False, "drain_after": 0.4}


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


@pytest.fixture
def soon() -> Iterator[Callable[[Callable[[], Any]], float]]:
    """Return a function that runs another one after ``DELAY`` in a thread, and tells the time."""
    timers: List[threading.Timer] = []

    def start(action: Callable[[], Any]) -> float:
        timers.append(threading.Timer(DELAY, action))
        timers[-1].start()
        return time.monotonic() + DELAY

    yield start
    for timer in timers:
        timer.cancel()
        timer.join()


def fetch(transport: Transport, url: str, body: bytes = b"{}", **given: Any) -> None:
    """Open, read to the end, and let every error out."""
    given.setdefault("limits", limits(max_stream_bytes=1 << 40))
    for _piece in post(transport, url, body, **given).pieces():
        pass


@pytest.mark.parametrize("answer, phase", [
    (SILENT, "headers"), (HEAD_DRIP, "headers"), (STALLED, "body"), (PINGS, "body"),
    (FLOOD, "body"), (DEAF, "send"),
], ids=["no headers", "dripped headers", "silent body", "pings", "flood", "unread request"])
def test_cancel_is_seen_in_every_phase(
    transport: Transport, answer: Dict[str, Any], phase: str, tls: Any, soon: Any
) -> None:
    """ABORTED soon after the event is set; the server sees the close; no thread is made."""
    cancel = threading.Event()
    with LoopbackServer([answer], tls=tls) as server:
        at = soon(cancel.set)
        body = BIG if phase == "send" else b"{}"
        error, _ = outcome(lambda: fetch(transport, server.base_url, body, cancel=cancel))
        assert -0.05 < time.monotonic() - at < LATE
        assert (error.code, error.retryable, error.failure.phase) == ("ABORTED", False, phase)
        record = server.wait_for_requests(1)[0]
        assert record.wait_peer_left(5.0)
        assert time.monotonic() - at < LATE + 1.0


def test_cancel_before_the_call_makes_no_connection(transport: Transport) -> None:
    """If the event is already set, nothing is opened and nothing is imported."""
    cancel = threading.Event()
    cancel.set()
    with LoopbackServer([{"body": "x"}]) as server:
        error, _ = outcome(lambda: post(transport, server.base_url, cancel=cancel))
        assert error.code == "ABORTED" and server.connection_count == 0


def test_cancel_between_pieces_is_seen_at_the_next(transport: Transport) -> None:
    """An event set while the consumer works is seen, although more bytes are waiting."""
    cancel = threading.Event()
    with LoopbackServer([FLOOD]) as server:
        pieces = post(transport, server.base_url, cancel=cancel).pieces()
        next(pieces)
        cancel.set()
        error, took = outcome(lambda: next(pieces))
        assert error.code == "ABORTED" and took < LATE
        assert server.requests[0].wait_peer_left(2.0)


def test_cancel_wins_over_a_fault_and_over_a_clock(transport: Transport) -> None:
    """After the event, a reset, a cut, a bad chunk or a clock still gives ABORTED."""
    for ending in ({"reset": True}, {"close": True}, {"chunk_size_bad": True}, {"sleep": 0.5}):
        cancel = threading.Event()
        steps = [{"raw": "abc"}, {"sleep": 0.1}, ending, {"raw": "x"}]
        with LoopbackServer([{"steps": steps}]) as server:
            answer = post(transport, server.base_url, cancel=cancel,
                          limits=limits(idle_timeout=0.2))
            pieces = answer.pieces()
            assert next(pieces) == b"abc"
            time.sleep(0.2)
            cancel.set()
            error, _ = outcome(lambda: list(pieces))
            assert error.code == "ABORTED", ending


def test_cancel_at_the_end_of_the_body_is_aborted(transport: Transport) -> None:
    """A body that ends after the event was set is ABORTED, not complete."""
    cancel = threading.Event()
    with LoopbackServer([{"framing": "content-length", "body": "abc"}]) as server:
        pieces = post(transport, server.base_url, cancel=cancel).pieces()
        assert next(pieces) == b"abc"
        cancel.set()
        error, _ = outcome(lambda: list(pieces))
        assert error.code == "ABORTED"


def test_cancel_through_a_proxy(tls: Any, soon: Any) -> None:
    """In the body, through a tunnel or a forwarding proxy, both sockets are closed."""
    cancel = threading.Event()
    with Proxy() as proxy, LoopbackServer([STALLED], tls=tls) as server:
        transport = Transport(verify=CA, proxies={"http": proxy.url, "https": proxy.url})
        at = soon(cancel.set)
        error, _ = outcome(lambda: fetch(transport, server.base_url, cancel=cancel))
        assert error.code == "ABORTED" and time.monotonic() - at < LATE
        assert server.requests[0].wait_peer_left(2.0)
        transport.close()


def test_cancel_while_the_proxy_drips_its_answer(soon: Any) -> None:
    """The event is seen while a proxy answers CONNECT byte by byte."""
    cancel = threading.Event()
    with Proxy(connect_drip=0.05) as proxy:
        transport = Transport(proxies={"https": proxy.url})
        at = soon(cancel.set)
        error, _ = outcome(lambda: fetch(transport, "https://127.0.0.1:9/", cancel=cancel))
        assert (error.code, error.failure.phase) == ("ABORTED", "connect")
        assert time.monotonic() - at < LATE
        transport.close()


def test_cancel_with_the_callers_own_session(soon: Any, tls: Any) -> None:
    """With requests' own adapter, cancel is as fast, and a second answer goes on."""
    import requests

    cancel = threading.Event()
    with requests.Session() as session, LoopbackServer([STALLED], tls=tls) as server:
        session.verify = CA
        transport = Transport(http_session=session)
        at = soon(cancel.set)
        error, _ = outcome(lambda: fetch(transport, server.base_url, cancel=cancel))
        assert error.code == "ABORTED" and time.monotonic() - at < LATE
        transport.close()


def test_cancel_with_a_custom_adapter_is_seen_between_pieces() -> None:
    """Without a socket to watch, the event is seen before the next piece."""
    import requests.adapters

    class Own(requests.adapters.HTTPAdapter):
        pass

    cancel = threading.Event()
    with requests.Session() as session, LoopbackServer([PINGS]) as server:
        session.mount("http://", Own())
        transport = Transport(http_session=session)
        pieces = post(transport, server.base_url, cancel=cancel).pieces()
        next(pieces)
        cancel.set()
        error, _ = outcome(lambda: next(pieces))
        assert error.code == "ABORTED"
        assert server.requests[0].wait_peer_left(2.0)
        transport.close()


def test_cancel_of_an_error_body(transport: Transport, soon: Any) -> None:
    """``read_error_body`` raises ABORTED and nothing else."""
    cancel = threading.Event()
    with LoopbackServer([{"status": 500, **STALLED}]) as server:
        answer = post(transport, server.base_url, cancel=cancel)
        at = soon(cancel.set)
        error, _ = outcome(answer.read_error_body)
        assert error.code == "ABORTED" and time.monotonic() - at < LATE


def test_cancel_makes_no_thread(transport: Transport) -> None:
    """Reading a stream starts no thread."""
    with LoopbackServer([PINGS]) as server:
        pieces = post(transport, server.base_url, cancel=threading.Event()).pieces()
        next(pieces)
        names = [thread.name for thread in threading.enumerate()]
        pieces.close()  # type: ignore[attr-defined]
    assert all(name == "MainThread" or name.startswith("loopback") for name in names), names


# -- close ---------------------------------------------------------------------------------


def test_close_from_another_thread_ends_a_blocked_read(
    transport: Transport, soon: Any, tls: Any
) -> None:
    """The reader gets ABORTED, close() returns at once, and the server sees the close."""
    with LoopbackServer([STALLED], tls=tls) as server:
        answer = post(transport, server.base_url)
        pieces = answer.pieces()
        assert next(pieces) == b"abc"
        took: List[float] = []

        def close() -> None:
            started = time.monotonic()
            answer.close()
            took.append(time.monotonic() - started)

        at = soon(close)
        error, _ = outcome(lambda: next(pieces))
        assert error.code == "ABORTED" and "closed" in str(error)
        assert time.monotonic() - at < LATE and took[0] < 0.25
        assert server.requests[0].wait_peer_left(2.0)


def test_close_drops_the_connection_and_may_be_repeated(transport: Transport) -> None:
    """close() works before, in the middle of and after the body, and a second time."""
    with LoopbackServer([STALLED]) as server:
        for read in (False, True):
            answer = post(transport, server.base_url)
            if read:
                next(answer.pieces())
            answer.close()
            answer.close()
            assert server.requests[-1].wait_peer_left(2.0)
            error, _ = outcome(lambda: list(answer.pieces()))
            assert error.code == "ABORTED"
    with LoopbackServer([{"body": "x"}]) as server:
        answer = post(transport, server.base_url)
        assert read_all(answer) == (b"x", None)
        answer.close()


# -- letting go ----------------------------------------------------------------------------


def leave_by_break(answer: Any) -> None:
    for _piece in answer.pieces():
        break


def leave_by_collection(answer: Any) -> None:
    pieces = answer.pieces()
    next(pieces)
    del pieces
    gc.collect()


def leave_by_exception(answer: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        for _piece in answer.pieces():
            1 / 0


def leave_by_throw(answer: Any) -> None:
    pieces = answer.pieces()
    next(pieces)
    with pytest.raises(KeyError):
        pieces.throw(KeyError("mine"))


@pytest.mark.parametrize("leave", [
    leave_by_break, leave_by_collection, leave_by_exception, leave_by_throw,
])
def test_leaving_the_pieces_closes_the_socket(
    transport: Transport, leave: Callable[[Any], None], tls: Any
) -> None:
    """However the consumer leaves, the server sees the close, even if the answer is kept."""
    with LoopbackServer([STALLED], tls=tls) as server, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        answer = post(transport, server.base_url)
        leave(answer)
        assert server.requests[0].wait_peer_left(2.0)
        answer.close()


def test_forgotten_answer_closes_its_socket(transport: Transport) -> None:
    """An answer that nobody reads or closes closes its socket with its last reference."""
    with LoopbackServer([STALLED]) as server, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        answer = post(transport, server.base_url)
        del answer
        assert server.requests[0].wait_peer_left(2.0)


def test_forgotten_transport_closes_its_pool() -> None:
    """A transport that is never closed leaves no idle connection open."""
    with LoopbackServer([{"body": "x"}]) as server, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        transport = Transport()
        read_all(post(transport, server.base_url))
        del transport
        gc.collect()
        assert server.requests[0].wait_peer_left(2.0)


class Alarm(KeyboardInterrupt):
    """The exception of the signal handler; its own class shows that it comes out unchanged."""


@pytest.fixture
def alarm() -> Iterator[None]:
    """Raise ``Alarm`` in the main thread after ``DELAY``, as Ctrl-C would."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timer signal here")

    def ring(_number: int, _frame: Any) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, DELAY)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("answer", [SILENT, STALLED], ids=["headers", "body"])
def test_interrupt_in_a_read_comes_out_unchanged(
    transport: Transport, answer: Dict[str, Any], alarm: None, tls: Any
) -> None:
    """Ctrl-C during a wait raises the same exception and closes the socket."""
    with LoopbackServer([answer], tls=tls) as server:
        with pytest.raises(Alarm):
            fetch(transport, server.base_url)
        assert server.wait_for_requests(1)[0].wait_peer_left(2.0)


def test_cancel_from_a_signal_handler(transport: Transport) -> None:
    """A handler that runs in the waiting thread itself can set the event."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timer signal here")
    cancel = threading.Event()
    before = signal.signal(signal.SIGALRM, lambda *_: cancel.set())
    signal.setitimer(signal.ITIMER_REAL, DELAY)
    try:
        with LoopbackServer([STALLED]) as server:
            error, took = outcome(lambda: fetch(transport, server.base_url, cancel=cancel))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert error.code == "ABORTED" and took < DELAY + LATE


def test_silent_wait_costs_no_time_of_the_processor(transport: Transport) -> None:
    """1.5 s of silence cost far less CPU than the 50 ms allowed for 10 s."""
    def serve(sock: socket.socket) -> None:
        wait_gone(sock)

    with RawServer(serve) as server:
        post_limits = limits(first_byte_timeout=1.5)
        warm, _ = outcome(lambda: post(transport, server.url,
                                       limits=limits(first_byte_timeout=0.1)))
        started = time.process_time()
        error, _ = outcome(lambda: post(transport, server.url, limits=post_limits))
        spent = time.process_time() - started
    assert warm.code == error.code == "TIMEOUT"
    assert spent < 0.05


def test_error_after_cancel_stays_the_same(transport: Transport) -> None:
    """A failed answer that is read again raises the same error object."""
    cancel = threading.Event()
    with LoopbackServer([STALLED]) as server:
        answer = post(transport, server.base_url, cancel=cancel)
        pieces = answer.pieces()
        next(pieces)
        cancel.set()
        first, _ = outcome(lambda: next(pieces))
        with pytest.raises(StopIteration):
            next(pieces)
        again, _ = outcome(lambda: next(answer.pieces()))
        assert again is first and isinstance(first, LlmError)
