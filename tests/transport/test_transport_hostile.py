# SPDX-License-Identifier: MIT
"""What a peer can do that no clock ends, and what the HTTP libraries make of odd answers.

In: raw bytes on 127.0.0.1, or a body cut at every byte. Out: the same text whatever the cut, or
an LlmError that says where; never an exception of a library. Bodies: RFC 9110 §8.4, RFC 9112 §6.
"""

from __future__ import annotations

import gzip
import socket
import struct
import threading
import time
import zlib
from email.message import Message
from typing import Any, Iterator, List, Optional, Tuple

import pytest
import requests
import requests.adapters
import urllib3
import urllib3.util
from rawserver import (
    CA, HEAD, SERVER_FILES, RawServer, answering, limits, outcome, post, read_all, read_request,
    wait_gone,
)

from streamcore.loopback import LoopbackServer
from streamcore.transport import Transport, faults
from streamcore.transport.pools import _watched_pool
from streamcore.transport.reading import SocketBody
from streamcore.transport.watch import Watch, active
from streamcore.values.calls import CallContext
from streamcore.values.clock import WaitBudget
from streamcore.values.errors import LlmError
from streamcore.wire.failures import failure_from_answer


@pytest.fixture
def transport() -> Iterator[Transport]:
    """A transport that trusts the test certificate."""
    made = Transport(verify=CA)
    yield made
    made.close()


def new_watch(**given: Any) -> Watch:
    return Watch("host:1", limits(**given), None, WaitBudget(None))


def sent(wire: bytes) -> Any:
    """Return a ``serve`` that sends ``wire`` and waits until the peer closes."""
    def serve(sock: socket.socket) -> None:
        read_request(sock)
        sock.sendall(wire)
        wait_gone(sock)
    return serve


def endless(head: bytes, unit: bytes) -> Any:
    """Return a ``serve`` that never stops sending ``unit``."""
    def serve(sock: socket.socket) -> None:
        read_request(sock)
        sock.sendall(head)
        while True:
            sock.sendall(unit * (1 + 65536 // len(unit)))
    return serve


def reset(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


# -- a body without a socket ---------------------------------------------------------------


class File:
    """A file over the pieces that a socket returns; after the last one comes the end."""

    sock = property(lambda self: self)

    def __init__(self, pieces: List[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def take(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def check_end(self) -> None:
        pass


class Response:
    """A response as http.client reads it from a head."""

    def __init__(self, *headers: Tuple[str, str], chunked: bool = False) -> None:
        self.status, self.chunked, self.length = 200, chunked, None
        self.headers = Message()
        for name, value in headers:
            self.headers[name] = value


def body_of(response: Response, pieces: List[bytes], **given: Any) -> Tuple[bytes, Optional[str]]:
    """Return all bytes of a body, and the code that ended them."""
    file: Any = File(pieces)
    body, got = SocketBody(response, file, new_watch(**given)), b""
    try:
        while True:
            piece = body.read()
            if not piece:
                return got, None
            got += piece
    except LlmError as error:
        return got, error.code


def members(*parts: bytes) -> bytes:
    return b"".join(gzip.compress(part) for part in parts)


@pytest.mark.parametrize("wire, text, code", [
    (members(b"Hello", b"", b" world"), b"Hello world", None),
    (members(b"", b"", b"x"), b"x", None),
    (members(b"a", b"b", b""), b"ab", None),
    (members(b"a") + bytes(9) + members(b"b") + bytes(3), b"ab", None),
    (members(b"a", b"")[:-3], b"a", "STREAM_CLOSED"),
    (members(b"a", b"") + b"junk", b"a", "MALFORMED_RESPONSE"),
    (members(b"a", *[b""] * 65, b"b"), b"a", "MALFORMED_RESPONSE"),
], ids=["empty between", "empty first", "empty last", "padding", "cut", "junk", "flood"])
def test_gzip_members_give_the_same_at_any_cut(
    wire: bytes, text: bytes, code: Optional[str]
) -> None:
    """An empty member does not end the body; the cuts change neither text nor code."""
    response = Response(("Content-Encoding", "gzip"))
    cuts = [[wire], [wire[i:i + 1] for i in range(len(wire))]]
    cuts += [[wire[:i], wire[i:]] for i in range(0, len(wire), 1 + len(wire) // 150)]
    for pieces in cuts:
        assert body_of(response, pieces) == (text, code), len(pieces[0])


def test_custom_adapter_passes_over_an_empty_gzip_member() -> None:
    """With a custom adapter, too, the text after it is read."""
    wire = members(b"Hello", b"", b" world")
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(wire)
    with requests.Session() as session, RawServer(answering(head + wire)) as server:
        session.mount("http://", type("Own", (requests.adapters.HTTPAdapter,), {})())
        transport = Transport(http_session=session)
        assert read_all(post(transport, server.url)) == (b"Hello world", None)
        transport.close()


@pytest.mark.parametrize("size", [1, 4096, 1 << 22])
def test_compressed_bytes_without_output_are_limited(size: int) -> None:
    """Endless empty blocks end in an error, because compressed bytes are counted too."""
    text = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    wire = text.compress(b"Hello") + text.flush(zlib.Z_FULL_FLUSH)
    wire += b"\0\0\0\xff\xff" * 300_000
    pieces = [wire[:20]] + [wire[i:i + size] for i in range(20, len(wire), max(size, 64))]
    if size == 1:
        pieces = [wire[:1 << 20]] + [wire[i:i + 1] for i in range(1 << 20, (1 << 20) + 3000)]
    got = body_of(Response(("Content-Encoding", "gzip")), pieces, max_stream_bytes=1000)
    assert got == (b"Hello", "MALFORMED_RESPONSE")


def test_chunk_extensions_without_a_body_are_limited() -> None:
    """A body that is nearly all framing ends in an error."""
    chunk = b"1;" + b"x" * 8000 + b"\r\n:\r\n"
    response = Response(("Transfer-Encoding", "chunked"), chunked=True)
    _, code = body_of(response, [chunk] * 500, max_stream_bytes=1000)
    assert code == "TRANSPORT"
    assert body_of(response, [b"1\r\nx\r\n"] * 1000, max_stream_bytes=1000)[0] == b"x" * 1000


@pytest.mark.parametrize("encoding", [
    "", "none", "utf-8", "identity", "identity, identity", "UTF-8 , none", "binary", ",",
])
def test_encoding_that_compresses_nothing_is_read_as_it_is(
    transport: Transport, encoding: str
) -> None:
    """Only a compression that cannot be undone is refused, in an error's body too."""
    head = b"Content-Encoding: %s\r\nContent-Length: 2\r\n\r\nok" % encoding.encode()
    with RawServer(answering(HEAD + head)) as server:
        assert read_all(post(transport, server.url)) == (b"ok", None)
    with RawServer(answering(b"HTTP/1.1 500 No\r\n" + head)) as server:
        assert post(transport, server.url).read_error_body() == b"ok"


@pytest.mark.parametrize("headers, text, code", [
    ([("Content-Encoding", "identity, gzip")], b"x", None),
    ([("Content-Encoding", "identity"), ("Content-Encoding", "gzip")], b"x", None),
    ([("Content-Encoding", "gzip, gzip")], b"", "MALFORMED_RESPONSE"),
    ([("Content-Encoding", "zstd")], b"", "MALFORMED_RESPONSE"),
    ([("Content-Encoding", "identity, br")], b"", "MALFORMED_RESPONSE"),
])
def test_encodings_are_read_as_a_list(headers: Any, text: bytes, code: Any) -> None:
    """They may be in one header or several; two compressions are refused."""
    assert body_of(Response(*headers), [gzip.compress(b"x")]) == (text, code)


# -- transfer codings ----------------------------------------------------------------------

CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"
ZIPPED = gzip.compress(b"hello", mtime=0)  # the same in every process: it is in test ids


@pytest.mark.parametrize("coding, wire, text, code", [
    ("Chunked ", CHUNKS, b"hello", None),
    ("chunked, chunked", CHUNKS, b"hello", None),
    ("identity, chunked", CHUNKS, b"hello", None),
    ("chunked;q=1", CHUNKS, b"hello", None),
    ("gzip, chunked", b"%x\r\n%s\r\n0\r\n\r\n" % (len(ZIPPED), ZIPPED), b"hello", None),
    ("gzip", ZIPPED, b"hello", None),
    ("br, chunked", CHUNKS, b"", "MALFORMED_RESPONSE"),
    ("nonsense, chunked", CHUNKS, b"", "MALFORMED_RESPONSE"),
    ("identity", b"hello", b"hello", None),
], ids=lambda value: value if isinstance(value, str) else "")
def test_transfer_codings_are_read_as_a_list(
    transport: Transport, coding: str, wire: bytes, text: bytes, code: Any
) -> None:
    """Chunked must be last, and overrides a length; the codings inside it are undone."""
    head = HEAD + b"Transfer-Encoding: %s\r\n" % coding.encode()
    with RawServer(answering(head + b"Content-Length: 5\r\n\r\n" + wire)) as server:
        body, error = read_all(post(transport, server.url))
    assert (body, error.code if error else None) == (text, code)


# -- heads ---------------------------------------------------------------------------------


def test_head_cut_anywhere_is_transport(transport: Transport) -> None:
    """If the connection ends within the head, there is no answer."""
    head = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n"
    for end in range(1, len(head) - 1):
        with RawServer(answering(head[:end])) as server:
            error, _ = outcome(lambda: post(transport, server.url))
        assert (error.code, error.failure.phase, error.failure.status) == (
            "TRANSPORT", "headers", None), head[:end]
        assert "broken HTTP framing" in str(error)


@pytest.mark.parametrize("unit", [
    b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n",
])
def test_endless_interim_heads_are_broken_framing(transport: Transport, unit: bytes) -> None:
    """Sixteen interim heads are skipped; one more is an error."""
    with RawServer(answering(unit * 16 + HEAD + b"Content-Length: 2\r\n\r\nok")) as server:
        assert read_all(post(transport, server.url)) == (b"ok", None)
    off = limits(first_byte_timeout=None, idle_timeout=None, total_timeout=None)
    with RawServer(endless(b"", unit)) as server:
        error, _ = outcome(lambda: post(transport, server.url, limits=off))
    assert (error.code, error.failure.phase) == ("TRANSPORT", "headers")
    assert "broken HTTP framing" in str(error)


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("serve", [
    answering(b"\0\1\2garbage\r\n\r\n"), answering(b""), answering(b"HTTP/1.1 2"), answering(OK),
    lambda sock: (read_request(sock), reset(sock)),
    endless(b"", b"HTTP/1.1 100 C\r\n\r\n"), endless(OK, b"X: y\r\n"), endless(OK, b"x"),
    answering(b"HTTP/1.1 503 No\r\n\r\n"),
], ids=["garbage", "nothing", "half line", "half head", "reset", "100s", "headers", "line", "no"])
def test_proxy_that_answers_connect_badly_is_transport_in_connect(serve: Any) -> None:
    """The phase is connect, and a flood ends without a clock."""
    off = limits(connect_timeout=None, total_timeout=None)
    with RawServer(serve) as proxy:
        transport = Transport(proxies={"https": proxy.url[:-3]})
        error, _ = outcome(lambda: post(transport, "https://127.0.0.1:9/v1", limits=off))
        transport.close()
    assert (error.code, error.failure.phase) == ("TRANSPORT", "connect")
    assert str(error).count("shaking hands") == 0


def test_proxy_interim_head_before_the_tunnel_is_passed_over() -> None:
    """The handshake follows the answer to CONNECT, and its failure has the phase tls."""
    with RawServer(answering(b"HTTP/1.1 103 x\r\nA: b\r\n\r\n" + OK + b"\r\n")) as proxy:
        transport = Transport(proxies={"https": proxy.url[:-3]})
        error, _ = outcome(lambda: post(transport, "https://127.0.0.1:9/v1"))
        transport.close()
    assert (error.code, error.failure.phase) == ("TRANSPORT", "tls")


# -- what the libraries make of it ---------------------------------------------------------


@pytest.mark.parametrize("number", [104, 32])
def test_reset_while_connecting_is_transport(number: int) -> None:
    """Without our check, urllib3 would read an answer without a socket."""
    class Resetting(urllib3.connection.HTTPConnection):  # type: ignore[misc,name-defined]
        def connect(self) -> None:
            raise OSError(number, "gone")

    pool_class = type("Pool", (urllib3.HTTPConnectionPool,), {"ConnectionCls": Resetting})
    pool, watch = _watched_pool(pool_class)("127.0.0.1", 9), new_watch()
    with active(watch), pytest.raises(Exception) as caught:
        pool.urlopen("POST", "/", body=b"x", retries=False)
    error = faults.translate(caught.value, watch)
    assert error is not None and (error.code, error.failure.phase) == ("TRANSPORT", "connect")
    pool.close()


def test_reset_right_after_accept_is_always_transport(transport: Transport) -> None:
    """It does not matter at which step the reset is noticed."""
    with RawServer(reset) as server:
        for _ in range(40):
            error, _ = outcome(lambda: post(transport, server.url))
            assert error.code == "TRANSPORT"


def test_content_type_with_a_charset_of_no_value_is_read(transport: Transport) -> None:
    """requests 2.25 raises an AttributeError for it; the header is shown as it came."""
    wire = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset\r\n\r\nok"
    with RawServer(answering(wire)) as server:
        answer = post(transport, server.url)
        assert answer.headers["content-type"] == "text/event-stream; charset"
        assert read_all(answer) == (b"ok", None)


def caught(call: Any, *args: Any) -> Exception:
    try:
        call(*args)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_library_that_stumbles_is_transport_and_a_bug_stays_one() -> None:
    """Only an exception of a library's own code counts, and only with a connection."""
    watch = new_watch(idle_timeout=1.0)
    stumble = caught(urllib3.util.parse_url, object())
    assert faults.unforeseen(stumble, watch) is None
    watch.enter("headers")
    error = faults.unforeseen(stumble, watch)
    assert error is not None and (error.code, error.failure.phase) == ("TRANSPORT", "headers")
    assert type(stumble).__name__ in str(error) and "library" in str(error)

    def hook(*_args: Any, **_given: Any) -> None:
        raise ValueError("the caller's")

    theirs = caught(requests.hooks.dispatch_hook, "response", {"response": hook}, None)
    ours = caught(WaitBudget(1.0).spend, "x")
    for bug in (theirs, ours, caught(faults.timed_out, None, "idle", 1.0)):
        assert faults.unforeseen(bug, watch) is None


# -- clocks --------------------------------------------------------------------------------


@pytest.mark.parametrize("given, silent, clock", [
    ({"idle_timeout": 0.3, "total_timeout": 0.6}, "body", "idle"),
    ({"idle_timeout": 0.3, "total_timeout": 0.6}, "head", "first-byte"),
    ({"first_byte_timeout": 3.0, "idle_timeout": 0.3}, "head", "idle"),
    ({"first_byte_timeout": 0.3, "idle_timeout": 3.0}, "body", "first-byte"),
    ({"idle_timeout": 2.0, "total_timeout": 0.3}, "body", "total"),
])
def test_custom_adapter_names_the_clock_its_time_out_came_from(
    given: Any, silent: str, clock: str
) -> None:
    """All its reads have one time-out, the shortest clock, and that clock is named."""
    answer = {"steps": [{"raw": "abc"}, {"stall": True}]}
    with requests.Session() as session, LoopbackServer(
        [{"no_answer": True} if silent == "head" else answer]
    ) as server:
        session.mount("http://", type("Own", (requests.adapters.HTTPAdapter,), {})())
        transport = Transport(http_session=session)

        def call() -> Any:
            opened = post(transport, server.base_url, limits=limits(**given))
            return b"".join(opened.pieces())

        error, _ = outcome(call)
        transport.close()
    assert (error.code, error.failure.clock) == ("TIMEOUT", clock)
    assert error.retryable == (clock != "total")
    assert "0.3 s" in str(error)


@pytest.mark.parametrize("own", [False, True], ids=["watched", "custom adapter"])
@pytest.mark.parametrize("tls", [None, SERVER_FILES], ids=["plain", "tls"])
def test_clock_of_centuries_is_no_overflow(own: bool, tls: Any) -> None:
    """Sockets refuse such a time-out, but the call works."""
    long = dict.fromkeys(("connect_timeout", "first_byte_timeout", "idle_timeout"), 1e12)
    with requests.Session() as session, LoopbackServer([{"body": "x"}], tls=tls) as server:
        if own:
            adapter = type("Own", (requests.adapters.HTTPAdapter,), {})()
            session.mount("http://", adapter)
            session.mount("https://", adapter)
        transport = Transport(http_session=session, verify=CA)
        for total in (1e12, None):
            opened = post(transport, server.base_url, limits=limits(total_timeout=total, **long))
            assert read_all(opened) == (b"x", None)
        transport.close()


def test_pause_waits_in_slices_and_never_inside_the_event() -> None:
    """A signal handler that sets the event must not find this thread inside ``Event.wait``."""
    class Event(threading.Event):
        def wait(self, timeout: Optional[float] = None) -> bool:
            raise AssertionError("waited inside the event")

    now, slept, cancel = [100.0], [], Event()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds
        if len(slept) == 4:
            cancel.set()

    context = CallContext(cancel, clock=lambda: now[0], sleep=sleep)
    context.budget = WaitBudget(5.0)
    assert context.pause(0.12) == pytest.approx(0.12)
    assert len(slept) == 3 and max(slept) <= 0.05
    assert context.pause(60.0) == pytest.approx(0.05)
    assert context.budget.spent == pytest.approx(0.17)


# -- statuses ------------------------------------------------------------------------------


@pytest.mark.parametrize("status, code", [
    (500, "SERVER"), (599, "SERVER"), (600, "HTTP_600"), (999, "HTTP_999"),
])
def test_status_beyond_the_server_errors_is_named(status: int, code: str) -> None:
    """A status of 600 or more has a code of its own."""
    assert failure_from_answer(status, {}, b"").code == code


@pytest.mark.parametrize("status, headers", [
    (304, {}), (302, {"Location": "http://[x"}), (302, {"Location": " "}),
])
def test_redirect_that_leads_nowhere_names_no_path(status: int, headers: Any) -> None:
    """Without a readable address, the message does not name another path."""
    message = failure_from_answer(status, headers, b"").message
    assert "another path" not in message and "base URL" in message
    there = failure_from_answer(302, {"Location": "/x"}, b"").message
    assert "another path" in there


@pytest.mark.parametrize("gzipped", [False, True])
def test_cancel_during_a_flood_is_quick(transport: Transport, gzipped: bool) -> None:
    """The event is seen while bytes never stop, compressed ones too."""
    head, flood = HEAD + b"\r\n", b": p\n\n"
    if gzipped:  # each byte stands for a thousand
        machine = zlib.compressobj(wbits=31)
        head = HEAD + b"Content-Encoding: gzip\r\n\r\n" + machine.compress(b"")
        flood = machine.compress(b"\0" * 3_000_000) + machine.flush(zlib.Z_FULL_FLUSH)
    cancel = threading.Event()
    with RawServer(endless(head, flood)) as server:
        answer = post(transport, server.url, cancel=cancel)
        pieces = answer.pieces()
        assert len(next(pieces)) <= 65536
        cancel.set()
        began = time.monotonic()
        error, _ = outcome(lambda: [len(piece) for piece in pieces])
        assert error.code == "ABORTED" and time.monotonic() - began < 1.25
