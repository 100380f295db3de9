# SPDX-License-Identifier: MIT
"""Connections as a user of ``Client`` meets them: kept, replaced, closed, never mixed up.

Plain and over TLS, from one thread and from fifty, over a fork. The tests check what the caller
and the server see, and what is left afterwards. Rows T18, S17, S18 and C11 of FAULTS.md.
"""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List

import pytest
from rawserver import (
    CA, HEAD, LATE, SERVER_FILES, RawServer, answering, read_request, wait_gone,
)

from streamcore.client import Client
from streamcore.loopback import LoopbackServer
from streamcore.values.chunks import TextDelta
from streamcore.values.errors import LlmError
from streamcore.values.limits import Limits
from streamcore.values.retry import RetryPolicy

PATIENT = Limits(connect_timeout=10.0, first_byte_timeout=20.0, idle_timeout=20.0)
ECHO: Dict[str, Any] = {"steps": [{"answer": {"text": "You said {last_user}."}}]}
STALLED: Dict[str, Any] = {"steps": [{"text": "a"}, {"stall": True}]}
WHOLE_BODY = (b'data: {"choices":[{"index":0,"delta":{"content":"ok"}}]}\n\n'
              b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
              b"data: [DONE]\n\n")


@pytest.fixture(params=["plain", "tls"])
def tls(request: Any) -> Any:
    """Give the TLS argument of ``LoopbackServer``: once for plain HTTP and once for TLS."""
    return SERVER_FILES if request.param == "tls" else None


@pytest.fixture
def client_of() -> Iterator[Callable[..., Client]]:
    """Make a client for a server or an address; it is closed after the test."""
    made: List[Client] = []

    def make(server: Any, **options: Any) -> Client:
        url = server.base_url if isinstance(server, LoopbackServer) else server.url
        options.setdefault("limits", PATIENT)
        made.append(Client("m", base_url=url, verify=CA, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


def failure_of(call: Callable[[], Any]) -> LlmError:
    """Return the LlmError that a call ends with."""
    with pytest.raises(LlmError) as caught:
        call()
    return caught.value


def whole(length: int = len(WHOLE_BODY)) -> bytes:
    """Return an HTTP response with the answer "ok"."""
    return HEAD + b"Content-Length: %d\r\n\r\n" % length + WHOLE_BODY


# -- kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [
    ECHO, {**ECHO, "framing": "content-length"}, {**ECHO, "gzip": "flush"},
    {"steps": [*ECHO["steps"], {"sleep": 0.005}]},
], ids=["chunked", "content-length", "gzip", "end comes late"])
def test_hundred_sequential_calls_use_one_connection(
    client_of: Callable[..., Client], answer: Dict[str, Any], tls: Any
) -> None:
    """It does not matter how a stream is consumed, if it is consumed to its end."""
    def iterate(stream: Any) -> str:
        return "".join(chunk.text for chunk in stream if isinstance(chunk, TextDelta))

    with LoopbackServer([answer], tls=tls) as server:
        client = client_of(server)
        ways: List[Callable[[str], str]] = [
            lambda said: client.complete(said).text,
            lambda said: client.stream(said).message.text,
            lambda said: iterate(client.stream(said)),
            lambda said: "".join(client.stream(said).iter_text()),
        ]
        for number in range(100):
            assert ways[number % 4](f"word {number}") == f"You said word {number}."
        assert (server.connection_count, len(server.requests)) == (1, 100)


def test_call_after_a_refusal_works(client_of: Callable[..., Client], tls: Any) -> None:
    """Nothing of an error answer is taken for the next answer."""
    no = {"status": 400, "json": {"error": {"message": "no"}}}
    with LoopbackServer([no, ECHO, no, ECHO], tls=tls) as server:
        client = client_of(server)
        for _ in range(2):
            assert failure_of(lambda: client.complete("x")).code == "INVALID_REQUEST"
            assert client.complete("y").text == "You said y."


# -- never mixed up -----------------------------------------------------------------------


@pytest.mark.parametrize("tail", [
    [{"text": "never"}],
    [{"sleep": 0.01}, {"text": "never"}],
    [{"text": "never"}, {"error": {"message": "never"}}, {"done": True}],
    [{"raw": "x" * 300_000}],
    [{"repeat": {"times": None, "every": 0.005, "steps": [{"text": "never"}]}}],
    [{"chunk_size_bad": True}],
    [{"reset": True}],
    [{"close": True}, {"text": "never"}],
], ids=["text", "late text", "error", "long", "endless", "bad chunk", "reset", "cut"])
def test_bytes_after_done_never_reach_the_next_answer(
    client_of: Callable[..., Client], tail: List[Any], tls: Any
) -> None:
    """Whatever follows ``[DONE]``, this message and the next one are whole."""
    if tail == [{"reset": True}]:
        tail = [{"sleep": 0.02}, *tail]  # a reset at once may overtake the answer itself
    with LoopbackServer([{"steps": [*ECHO["steps"], *tail]}], tls=tls) as server:
        client = client_of(server)
        for number in range(4):
            assert client.complete(f"word {number}").text == f"You said word {number}."
        assert len(server.requests) == 4


@pytest.mark.parametrize("behind", [whole(), b"data: evil\n\n", b"\r\n"])
def test_bytes_behind_the_body_never_reach_the_next_answer(
    client_of: Callable[..., Client], behind: bytes
) -> None:
    """If a server sends more than it announced, the connection is closed."""
    def serve(sock: socket.socket) -> None:
        read_request(sock)
        sock.sendall(whole() + behind)
        wait_gone(sock)

    with RawServer(serve) as server:
        client = client_of(server)
        for _ in range(3):
            assert client.complete("x").text == "ok"
        assert server.connections == 3


def test_half_read_answer_never_reaches_the_next(
    client_of: Callable[..., Client], tls: Any
) -> None:
    """After a stream was left in the middle, ten times, the next call gets its own answer."""
    slow = {"steps": [{"answer": {"text": "You said {last_user}.", "every": 0.005}}]}
    with LoopbackServer([slow], tls=tls) as server:
        client = client_of(server)
        for number in range(10):
            with client.stream(f"left {number}") as stream:
                next(stream)
            assert client.complete(f"word {number}").text == f"You said word {number}."


# -- dropped ------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_done_on_an_open_socket_ends_the_message_at_once(
    client_of: Callable[..., Client], framing: str, tls: Any
) -> None:
    """If the server keeps the socket open after ``[DONE]``, the message does not wait."""
    held = {"steps": [*ECHO["steps"], {"stall": True}], "framing": framing}
    with LoopbackServer([held, ECHO], tls=tls) as server:
        client = client_of(server)
        began = time.monotonic()
        assert client.complete("x").text == "You said x."
        assert time.monotonic() - began < LATE
        assert server.requests[0].wait_peer_left(2.0)
        assert client.complete("y").text == "You said y."
        assert [record.connection for record in server.requests] == [0, 1]


def test_finish_chunk_does_not_wait_for_the_body_to_end(
    client_of: Callable[..., Client]
) -> None:
    """The finish is handed out before the rest of the body is read."""
    held = {"steps": [*ECHO["steps"], {"sleep": 5.0}]}
    with LoopbackServer([held]) as server:
        stream = client_of(server).stream("x")
        began = time.monotonic()
        for chunk in stream:
            if chunk.type == "finish":
                assert time.monotonic() - began < LATE
        assert stream.message.text == "You said x."
        assert time.monotonic() - began < 2 * LATE


def leave_by_break(client: Client) -> None:
    for _chunk in client.stream("x"):
        break


def leave_by_close(client: Client) -> Any:
    stream = client.stream("x")
    next(stream)
    stream.close()
    return stream


def leave_by_with(client: Client) -> Any:
    with client.stream("x") as stream:
        next(stream)
    return stream


def leave_by_error(client: Client) -> Any:
    with pytest.raises(ZeroDivisionError), client.stream("x") as stream:
        for _chunk in stream:
            raise ZeroDivisionError
    return stream


def leave_by_on_chunk(client: Client) -> None:
    def refuse(_chunk: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        client.complete("x", on_chunk=refuse)


def leave_by_text(client: Client) -> None:
    next(client.stream("x").iter_text())


@pytest.mark.parametrize("leave", [
    leave_by_break, leave_by_close, leave_by_with, leave_by_error, leave_by_on_chunk,
    leave_by_text,
])
def test_leaving_closes_the_connection_without_the_garbage_collector(
    client_of: Callable[..., Client], leave: Callable[[Client], Any], tls: Any
) -> None:
    """The server sees the close at once, no request is repeated, and no cycle delays it.

    After ``close()`` or the end of ``with``, this is so even if a reference is kept.
    """
    with LoopbackServer([STALLED], tls=tls) as server:
        client = client_of(server, retry=RetryPolicy(initial_delay=0.01))
        gc.collect()
        gc.disable()
        try:
            held = leave(client)
            assert server.wait_for_requests(1)[0].wait_peer_left(2.0)
        finally:
            gc.enable()
        assert len(server.requests) == 1
        del held


def test_streams_in_cycles_are_closed_by_the_garbage_collector(
    client_of: Callable[..., Client], tls: Any
) -> None:
    """In whatever order the collector finds the parts: closed, and no ResourceWarning."""
    with LoopbackServer([STALLED], tls=tls) as server, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        client = client_of(server)
        for number in range(60):
            held: List[Any] = [client.stream("x")]
            held.append(held)
            next(held[0])
            # Collections at odd moments change the order in which the parts are found.
            junk: List[Any] = [[] for _ in range(100 * (number % 7))]
            del held, junk
            if number % 5 == 0:
                gc.collect()
        gc.collect()
        for record in server.requests:
            assert record.wait_peer_left(2.0)


# -- healed -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [
    {"keep_alive": False}, {"close_idle_after": 0.05}, {"reset_idle_after": 0.05},
], ids=["closed unsaid", "closed while idle", "reset while idle"])
def test_stale_connection_is_healed_unseen(
    client_of: Callable[..., Client], ending: Dict[str, Any], tls: Any
) -> None:
    """The server closed it between two calls: each call is one attempt, without a retry."""
    told: List[Any] = []
    with LoopbackServer([{**ECHO, **ending}], tls=tls) as server:
        client = client_of(server, retry=RetryPolicy(), on_retry=told.append)
        for number in range(4):
            stream = client.stream(f"word {number}")
            assert stream.message.text == f"You said word {number}."
            assert stream.attempts == 1
            time.sleep(0.1)
        assert (told, len(server.requests)) == ([], 4)


def test_calls_that_race_the_servers_goodbye_are_answered_or_told(
    client_of: Callable[..., Client], tls: Any
) -> None:
    """A request written whole as the server closes fails the call, and is never sent twice."""
    with LoopbackServer([{**ECHO, "keep_alive": False}], tls=tls) as server:
        client, answered = client_of(server), 0
        for number in range(40):
            try:
                assert client.complete(f"word {number}").text == f"You said word {number}."
                answered += 1
            except LlmError as error:
                assert (error.code, error.failure.details) == (
                    "TRANSPORT", {"request_sent": True})
        assert answered >= 20 and len(server.requests) == answered


def test_fresh_connection_that_fails_is_told(client_of: Callable[..., Client]) -> None:
    """The call fails, and no second request is made."""
    with RawServer(answering(b"")) as server:
        stream = client_of(server).stream("x")
        assert failure_of(lambda: stream.message).code == "TRANSPORT"
        assert (server.connections, stream.attempts) == (1, 1)


# -- many at a time -----------------------------------------------------------------------


def test_fifty_threads_on_one_client_get_fifty_right_answers(
    client_of: Callable[..., Client], tls: Any
) -> None:
    """All call at once, three times each, with a pool that keeps ten."""
    slow = {"steps": [{"answer": {"text": "You said {last_user}, did you not?", "every": 0.002}}]}
    got: Dict[int, List[str]] = {number: [] for number in range(50)}
    start = threading.Barrier(50)

    def ask(number: int) -> None:
        start.wait(20.0)
        for turn in range(3):
            got[number].append(client.complete(f"{number}/{turn}").text)

    with LoopbackServer([slow], tls=tls) as server:
        client = client_of(server)
        threads = [threading.Thread(target=ask, args=(number,)) for number in got]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 150
    for number, answers in got.items():
        assert answers == [f"You said {number}/{turn}, did you not?" for turn in range(3)]


def test_streams_make_no_threads(client_of: Callable[..., Client], tls: Any) -> None:
    """Ten open streams start no thread; the server has its own."""
    def ours() -> List[str]:
        names = [thread.name for thread in threading.enumerate()]
        return sorted(name for name in names if not name.startswith("loopback"))

    with LoopbackServer([STALLED], tls=tls) as server:
        client, before = client_of(server), ours()
        streams = [client.stream("x", cancel=threading.Event()) for _ in range(10)]
        for stream in streams:
            next(stream)
        assert ours() == before
        for stream in streams:
            stream.close()
        assert ours() == before


def test_interleaved_streams_in_one_thread_keep_apart(
    client_of: Callable[..., Client], tls: Any
) -> None:
    """Two streams pulled in turn use two connections, and both are kept afterwards."""
    with LoopbackServer([ECHO], tls=tls) as server:
        client = client_of(server)
        for _ in range(3):
            streams = [client.stream(f"word {number}") for number in range(2)]
            alive = list(streams)
            while alive:
                alive = [stream for stream in alive if next(stream, None) is not None]
            assert [stream.message.text for stream in streams] == [
                "You said word 0.", "You said word 1."]
        assert server.connection_count == 2


# -- over a fork --------------------------------------------------------------------------


def in_child(action: Callable[[], bool]) -> bool:
    """Run ``action`` in a forked child and return its result; no exception gets out."""
    with warnings.catch_warnings():
        # Python 3.12 and later warn of threads; those here are the server's
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        good = False
        try:
            good = action()
        finally:
            os._exit(0 if good else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_client_made_before_a_fork_works_in_both(
    client_of: Callable[..., Client], tls: Any
) -> None:
    """The child opens and keeps its own connection; the parent's idle one stays good."""
    def child() -> bool:
        texts = [client.complete(f"child {number}").text for number in range(2)]
        client.close()
        return texts == ["You said child 0.", "You said child 1."]

    with LoopbackServer([ECHO], tls=tls) as server:
        client = client_of(server)
        assert client.complete("before").text == "You said before."
        assert in_child(child)
        assert client.complete("after").text == "You said after."
        assert [record.connection for record in server.requests] == [0, 1, 1, 0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("how", ["close", "collect", "exit"])
def test_stream_under_way_survives_what_a_child_does_to_its_copy(
    client_of: Callable[..., Client], how: str, tls: Any
) -> None:
    """If the child closes, collects or exits, the parent's answer still comes whole."""
    slow = {"steps": [{"answer": {"text": "You said {last_user} in time.", "every": 0.02}}]}
    with LoopbackServer([slow], tls=tls) as server:
        client = client_of(server)
        streams = [client.stream("word")]
        next(streams[0])

        def child() -> bool:
            if how == "close":
                streams[0].close()
            elif how == "collect":
                streams.clear()
                gc.collect()
            return True

        assert in_child(child)
        assert streams[0].message.text == "You said word in time."
        assert client.complete("again").text == "You said again in time."
        assert server.connection_count == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_unused_client_works_in_many_children(client_of: Callable[..., Client]) -> None:
    """A client made before the fork, as pre-forking servers do, connects in each child."""
    with LoopbackServer([ECHO]) as server:
        client = client_of(server)
        for number in range(3):
            said = f"child {number}"
            assert in_child(lambda: client.complete(said).text == f"You said {said}.")
        assert server.connection_count == 3


# -- nothing left -------------------------------------------------------------------------


def test_client_that_is_never_closed_warns_of_nothing(tls: Any) -> None:
    """Its idle connections close with it: no ResourceWarning, no open descriptor."""
    with LoopbackServer([ECHO], tls=tls) as server, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for _ in range(5):
            client = Client("m", base_url=server.base_url, verify=CA, limits=PATIENT)
            assert client.complete("x").text == "You said x."
            del client
        gc.collect()
        for record in server.requests:
            assert record.wait_peer_left(2.0)


def test_closed_client_lets_a_running_stream_end(client_of: Callable[..., Client]) -> None:
    """close() closes only idle connections, and refuses later calls."""
    slow = {"steps": [{"answer": {"text": "You said {last_user}.", "every": 0.01}}]}
    with LoopbackServer([slow]) as server:
        client = client_of(server)
        stream = client.stream("x")
        next(stream)
        client.close()
        assert stream.message.text == "You said x."
        assert server.requests[0].wait_peer_left(2.0)
        assert not failure_of(lambda: client.complete("y")).retryable
