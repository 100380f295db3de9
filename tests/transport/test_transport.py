# SPDX-License-Identifier: MIT
"""One POST on real sockets: what is sent, how the body arrives, what each fault becomes.

Rows T1–T28 of FAULTS.md as far as bytes and sockets go. Each case runs plain and, where
TLS could differ, over TLS too.
"""

from __future__ import annotations

import gzip
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from proxy import Proxy
from rawserver import (
    CA, HEAD, SERVER_FILES, RawServer, answering, limits, outcome, post, read_all, read_request,
)

from streamcore.loopback import LoopbackServer
from streamcore.transport import Transport
from streamcore.values.errors import LlmError, error_chain

SOON = 0.15  # seconds; 0.05 is promised, a busy machine may add to it


@pytest.fixture
def transport() -> Iterator[Transport]:
    """A transport that trusts the test certificate."""
    made = Transport(verify=CA)
    yield made
    made.close()


@pytest.fixture(params=["plain", "tls"])
def tls(request: Any) -> Any:
    """Give the TLS argument of ``LoopbackServer``: once for plain HTTP and once for TLS."""
    return SERVER_FILES if request.param == "tls" else None


def steps(*parts: str, pause: float = 0.0) -> List[Dict[str, Any]]:
    made: List[Dict[str, Any]] = []
    for number, part in enumerate(parts):
        if number and pause:
            made.append({"sleep": pause})
        made.append({"raw": part})
    return made


# -- how bytes arrive ----------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["chunked", "close", "content-length", "http10", "dripped"])
def test_bytes_are_handed_on_as_they_arrive(transport: Transport, framing: str, tls: Any) -> None:
    """In every framing, each of three frames comes long before the next one is sent."""
    answer: Dict[str, Any] = {"steps": steps("a" * 15, "b" * 15, "c" * 15, pause=0.2)}
    answer.update({"chunk_dripped": True} if framing == "dripped" else {"framing": framing})
    with LoopbackServer([answer], tls=tls) as server:
        times, got = [], b""
        for piece in post(transport, server.base_url).pieces():
            times.append((time.monotonic(), piece))
            got += piece
    assert got == b"a" * 15 + b"b" * 15 + b"c" * 15
    first = {letter: next(at for at, piece in times if letter in piece)
             for letter in (b"a", b"b", b"c")}
    for before, after in ((b"a", b"b"), (b"b", b"c")):
        assert abs(first[after] - first[before] - 0.2) < SOON


@pytest.mark.parametrize("framing", ["chunked", "close", "content-length"])
def test_flood_comes_in_large_pieces(transport: Transport, framing: str) -> None:
    """A piece is all that the socket has: there are far fewer pieces than HTTP chunks."""
    text = "data: " + "x" * 242 + "\n\n"
    script = [{"framing": framing, "body_repeat": {"text": text, "times": 4000}}]
    with LoopbackServer(script) as server:
        answer = post(transport, server.base_url)
        time.sleep(0.1)
        pieces = list(answer.pieces())
    assert b"".join(pieces) == text.encode() * 4000
    assert len(pieces) < 1000
    assert max(map(len, pieces)) <= 65536


@pytest.mark.parametrize("status, framing", [
    (204, "chunked"), (200, "content-length"), (200, "close"),
])
def test_empty_body_gives_no_pieces(transport: Transport, status: int, framing: str) -> None:
    """204, Content-Length: 0, or a close without a byte gives no piece."""
    with LoopbackServer([{"status": status, "framing": framing}]) as server:
        answer = post(transport, server.base_url)
        assert answer.status == status
        assert list(answer.pieces()) == [] and list(answer.pieces()) == []
        assert answer.received == 0 and answer.first_byte_at is None


def test_answer_tells_status_headers_and_times(transport: Transport) -> None:
    """Headers are found in any case; the times are in order."""
    before = time.monotonic()
    with LoopbackServer([{"headers": {"X-Request-Id": "r1"}, "body": "hello"}]) as server:
        answer = post(transport, server.base_url)
        assert (answer.status, answer.headers["x-request-id"]) == (200, "r1")
        assert answer.received == 0
        assert read_all(answer) == (b"hello", None)
        assert answer.received == 5
        assert answer.request_sent_at is not None and answer.first_byte_at is not None
        assert before <= answer.request_sent_at <= answer.first_byte_at <= time.monotonic()


def test_interim_bytes_of_any_size_reach_the_body(transport: Transport) -> None:
    """Head and body in one packet or in single bytes give the same body."""
    wire = HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    for parts in ([wire], [wire[i:i + 1] for i in range(len(wire))]):
        with RawServer(answering(*parts)) as server:
            assert read_all(post(transport, server.url)) == (b"hello", None)


def test_interim_heads_are_passed_over(transport: Transport) -> None:
    """100, 102 and 103 before the answer are skipped."""
    interim = b"".join(b"HTTP/1.1 %d X\r\nLink: y\r\n\r\n" % code for code in (100, 102, 103))
    with RawServer(answering(interim + HEAD + b"Content-Length: 2\r\n\r\nok")) as server:
        answer = post(transport, server.url)
        assert answer.status == 200 and "link" not in answer.headers
        assert read_all(answer) == (b"ok", None)


# -- compression ---------------------------------------------------------------------------


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compressed_anyway_is_decoded_promptly(transport: Transport, coding: str) -> None:
    """Events that are flushed one by one come one by one, although compressed."""
    answer = {coding: "flush", "steps": steps("first", "second", pause=0.3)}
    with LoopbackServer([answer]) as server:
        started = time.monotonic()
        opened = post(transport, server.base_url)
        pieces = [(time.monotonic() - started, piece) for piece in opened.pieces()]
        assert server.requests[0].headers["accept-encoding"] == "identity"
    assert b"".join(piece for _, piece in pieces) == b"firstsecond"
    assert pieces[0][0] < 0.25 <= pieces[-1][0]


def test_compressed_body_that_breaks_is_malformed(transport: Transport) -> None:
    """The good bytes come first, then MALFORMED_RESPONSE; never an exception of zlib."""
    with LoopbackServer([{"gzip": "bad", "steps": steps("good", "lost")}]) as server:
        body, error = read_all(post(transport, server.base_url))
    assert body == b"good"
    assert error is not None and error.code == "MALFORMED_RESPONSE"
    assert error.__cause__ is not None


def test_unknown_encoding_is_malformed(transport: Transport) -> None:
    """Brotli bytes are not shown as text; an empty body needs no decoding."""
    script = [{"headers": {"Content-Encoding": "br"}, "body": "??"},
              {"headers": {"Content-Encoding": "br"}, "framing": "content-length"}]
    with LoopbackServer(script) as server:
        body, error = read_all(post(transport, server.base_url))
        assert body == b"" and error is not None and error.code == "MALFORMED_RESPONSE"
        assert "br" in str(error)
        assert read_all(post(transport, server.base_url)) == (b"", None)


def test_compressed_bomb_is_stopped_at_the_limit(transport: Transport) -> None:
    """Of 200 MB of zeros in 200 KB, the cap counts decoded bytes, in bounded pieces."""
    wire = gzip.compress(b"\0" * 20_000_000)
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(wire)
    with RawServer(answering(head, wire)) as server:
        answer = post(transport, server.url, limits=limits(max_stream_bytes=1_000_000))
        sizes = []
        with pytest.raises(LlmError) as caught:
            for piece in answer.pieces():
                sizes.append(len(piece))
    assert caught.value.code == "MALFORMED_RESPONSE" and "max_stream_bytes" in str(caught.value)
    assert sum(sizes) == 1_000_000 and max(sizes) <= 65536


@pytest.mark.parametrize("size, code", [(1000, None), (1001, "MALFORMED_RESPONSE")])
def test_body_limit_is_exact(transport: Transport, size: int, code: Any) -> None:
    """A body of the limit is whole; one byte more is an error after the limit's bytes."""
    with LoopbackServer([{"body": "x" * size}]) as server:
        mine = limits(max_stream_bytes=1000)
        body, error = read_all(post(transport, server.base_url, limits=mine))
    assert len(body) == 1000
    assert (error.code if error else None) == code


# -- faults of the network -----------------------------------------------------------------


@pytest.mark.parametrize("answer, code, body", [
    ({"steps": [{"raw": "abc"}, {"close": True}]}, "STREAM_CLOSED", b"abc"),
    ({"steps": [{"raw": "abc"}, {"close": True}, {"raw": "def"}], "chunk_dripped": True},
     "STREAM_CLOSED", b"abc"),
    ({"steps": [{"raw": "abc"}, {"close": True}, {"raw": "def"}], "framing": "content-length"},
     "STREAM_CLOSED", b"abc"),
    ({"steps": [{"raw": "abc"}, {"close": True}], "framing": "close"}, None, b"abc"),
    ({"steps": [{"raw": "abc"}, {"chunk_size_bad": True}]}, "TRANSPORT", b"abc"),
    ({"steps": [{"raw": "abc"}, {"sleep": 0.1}, {"reset": True}]}, "TRANSPORT", b"abc"),
    ({"steps": [{"raw": "abc"}, {"sleep": 0.1}, {"reset": True}], "framing": "close"},
     "TRANSPORT", b"abc"),
    ({"gzip": "flush", "steps": [{"raw": "abc"}, {"close": True}], "framing": "close"},
     "STREAM_CLOSED", b"abc"),
], ids=["between chunks", "in a chunk", "short length", "until close", "bad size", "reset",
        "reset until close", "cut gzip"])
def test_broken_body_gives_its_bytes_and_then_its_code(
    transport: Transport, answer: Dict[str, Any], code: Any, body: bytes, tls: Any
) -> None:
    """Bytes before a fault are handed out; each later read raises the same LlmError."""
    with LoopbackServer([answer], tls=tls) as server:
        opened = post(transport, server.base_url)
        got, error = read_all(opened)
        assert got == body
        assert (error.code if error else None) == code
        if error is not None:
            assert error.retryable and error.failure.phase == "body"
            assert server.host_port in str(error) and "3 body bytes had arrived" in str(error)
            assert read_all(opened) == (b"", error)


@pytest.mark.parametrize("raw", [
    b"", b"HTTP/1.1", b"nonsense\r\n\r\n", b"HTTP/1.1 2xx OK\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000,
])
def test_head_that_is_no_head_is_transport(transport: Transport, raw: bytes) -> None:
    """A close before the head, or bytes that are not HTTP, fail in phase headers."""
    with RawServer(answering(raw)) as server:
        error, _ = outcome(lambda: post(transport, server.url))
    assert (error.code, error.failure.phase, error.retryable) == ("TRANSPORT", "headers", True)
    assert f"127.0.0.1:{server.port}" in str(error)


def test_refused_connection_is_transport(transport: Transport) -> None:
    """The error has phase connect, host and port, and the type of the cause."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error, _ = outcome(lambda: post(transport, f"http://127.0.0.1:{port}/v1"))
    assert (error.code, error.failure.phase, error.retryable) == ("TRANSPORT", "connect", True)
    assert f"127.0.0.1:{port}" in str(error) and "ConnectionRefusedError" in str(error)
    assert isinstance(error.__cause__, ConnectionRefusedError)


def test_unknown_host_is_transport(transport: Transport) -> None:
    """The phase is dns; ``.invalid`` never resolves."""
    error, _ = outcome(lambda: post(transport, "http://no-such-host.invalid:81/v1"))
    assert (error.code, error.failure.phase, error.retryable) == ("TRANSPORT", "dns", True)
    assert "no-such-host.invalid:81" in str(error)


def test_bad_certificate_is_not_retryable() -> None:
    """An untrusted certificate is TRANSPORT in phase tls."""
    transport = Transport(verify=True, trust_env=False)
    with LoopbackServer([{"body": "x"}], tls=SERVER_FILES) as server:
        error, _ = outcome(lambda: post(transport, server.base_url))
    transport.close()
    assert (error.code, error.failure.phase, error.retryable) == ("TRANSPORT", "tls", False)


def test_server_without_tls_is_transport(transport: Transport) -> None:
    """Plain HTTP behind an https URL fails in phase tls, and is retryable."""
    def serve(sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with RawServer(serve) as server:
        error, _ = outcome(lambda: post(transport, server.url.replace("http:", "https:")))
    assert (error.code, error.failure.phase, error.retryable) == ("TRANSPORT", "tls", True)


@pytest.mark.parametrize("url", [
    "localhost:1/v1", "http:///v1", "ftp://127.0.0.1/x", "http://127.0.0.1:port/", "http://a..b/v1",
    "", "http://[::1/v1",
])
def test_url_that_cannot_be_used_is_invalid_request(transport: Transport, url: str) -> None:
    """It is refused before any connection."""
    error, _ = outcome(lambda: post(transport, url))
    assert (error.code, error.retryable) == ("INVALID_REQUEST", False)


@pytest.mark.parametrize("key", ["sk-abcdef\n", "sk-…secret", "sk-\u65e5\u672c"])
def test_header_that_cannot_be_sent_is_invalid_request(transport: Transport, key: str) -> None:
    """No connection is made; neither message nor chain shows the key."""
    with LoopbackServer([{"body": "x"}]) as server:
        headers = {"Authorization": "Bearer " + key}
        error, _ = outcome(lambda: post(transport, server.base_url, headers=headers, secrets=[key]))
        assert server.requests == []
    assert error.code == "INVALID_REQUEST"
    assert "sk-" not in error_chain(error) and "sk-" not in repr(error.__cause__)


def test_certificate_file_that_is_missing_is_invalid_request(tmp_path: Path) -> None:
    """The path is a mistake of the caller's, so the error is not retryable."""
    transport = Transport(verify=str(tmp_path / "none.pem"))
    error, _ = outcome(lambda: post(transport, "https://127.0.0.1:9/v1"))
    transport.close()
    assert (error.code, error.retryable) == ("INVALID_REQUEST", False)


def test_error_chain_holds_no_secret(transport: Transport) -> None:
    """Key, URL password and request are not in message, cause or attributes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://user:hunter22@127.0.0.1:{port}/v1?api-key=K-secret-1"
    headers = {"Authorization": "Bearer K-secret-1"}
    error, _ = outcome(lambda: post(transport, url, headers=headers, secrets=["K-secret-1"]))
    link: Any = error
    while link is not None:
        assert "hunter22" not in repr(link) and "K-secret-1" not in f"{link!r} {vars(link)!r}"
        assert not hasattr(link, "request")
        link = link.__cause__ or link.__context__


# -- what is sent --------------------------------------------------------------------------


def test_request_arrives_as_given(transport: Transport, tls: Any) -> None:
    """Method, path with query, headers and body arrive unchanged."""
    with LoopbackServer([{"body": "x"}], tls=tls) as server:
        read_all(post(transport, server.base_url + "/chat?api-version=1", b'{"a": 1}',
                      headers={"api-key": "K", "Content-Type": "application/json"}))
        record = server.requests[0]
    assert (record.method, record.path) == ("POST", "/v1/chat?api-version=1")
    assert record.body == b'{"a": 1}'
    assert record.headers["api-key"] == "K"
    assert record.headers["content-type"] == "application/json"
    assert "authorization" not in record.headers and "cookie" not in record.headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_not_followed(transport: Transport, status: int) -> None:
    """The answer has the redirect's status; nothing goes to the other host."""
    with LoopbackServer([{"body": "x"}]) as other:
        script = [{"status": status, "headers": {"Location": other.base_url}}]
        with LoopbackServer(script) as server:
            answer = post(transport, server.base_url, headers={"api-key": "K2"})
            assert answer.status == status
            answer.close()
        assert other.connection_count == 0


def test_cookies_are_not_kept(transport: Transport) -> None:
    """A cookie of one answer is not sent with the next request."""
    with LoopbackServer([{"headers": {"Set-Cookie": "a=b"}, "body": "x"}]) as server:
        for _ in range(2):
            read_all(post(transport, server.base_url))
        assert "cookie" not in server.requests[1].headers


@pytest.mark.parametrize("headers, expected", [
    ({"Authorization": "Bearer K"}, "Bearer K"), ({"api-key": "K"}, None), ({}, None),
])
def test_netrc_never_replaces_a_key(
    headers: Dict[str, str], expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A netrc entry for the same host changes nothing."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login u password p\n")
    monkeypatch.setenv("NETRC", str(netrc))
    transport = Transport()
    with LoopbackServer([{"body": "x"}]) as server:
        read_all(post(transport, server.base_url, headers=headers))
        assert server.requests[0].headers.get("authorization") == expected
    transport.close()


# -- proxies and the environment -----------------------------------------------------------


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_proxy_is_used(how: str, tls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute URL for plain HTTP, CONNECT for TLS; from ``proxies=`` or the environment."""
    script = [{"steps": steps("a", "b", pause=0.1)}]
    with Proxy() as proxy, LoopbackServer(script, tls=tls) as server:
        if how == "environment":
            for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
                monkeypatch.setenv(name, proxy.url)
            for name in ("NO_PROXY", "no_proxy"):
                monkeypatch.delenv(name, raising=False)
            transport = Transport(verify=CA)
        else:
            transport = Transport(verify=CA, proxies={"http": proxy.url, "https": proxy.url})
        for _ in range(2):
            assert read_all(post(transport, server.base_url)) == (b"ab", None)
        transport.close()
    assert proxy.seen[0].startswith(b"CONNECT " if tls else b"POST http://127.0.0.1")


def test_no_proxy_and_trust_env_pass_the_proxy_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_PROXY names the host, or the environment is not read."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for no_proxy, trust_env in (("127.0.0.1", True), ("", False)):
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, no_proxy)
        transport = Transport(trust_env=trust_env)
        with LoopbackServer([{"body": "x"}]) as server:
            assert read_all(post(transport, server.base_url)) == (b"x", None)
        transport.close()


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_ca_bundle_of_the_environment_counts(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test certificate is trusted only because of the variable."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, CA)
    transport = Transport()
    with LoopbackServer([{"body": "x"}], tls=SERVER_FILES) as server:
        assert read_all(post(transport, server.base_url)) == (b"x", None)
    transport.close()


def test_proxy_that_is_not_there_is_named(transport: Transport) -> None:
    """The message names the proxy without its password."""
    proxied = Transport(proxies={"http": "http://user:hunter22@127.0.0.1:9"})
    error, _ = outcome(lambda: post(proxied, "http://example.invalid/v1"))
    proxied.close()
    assert (error.code, error.failure.phase) == ("TRANSPORT", "connect")
    assert "127.0.0.1:9" in str(error) and "hunter22" not in error_chain(error)


def test_proxy_that_refuses_the_tunnel_is_transport() -> None:
    """A 407 to CONNECT fails in phase connect."""
    with Proxy(status="407 Proxy Authentication Required") as proxy:
        transport = Transport(proxies={"https": proxy.url})
        error, _ = outcome(lambda: post(transport, "https://127.0.0.1:9/v1"))
        transport.close()
    assert (error.code, error.failure.phase) == ("TRANSPORT", "connect")
    assert "407" in str(error)


@pytest.mark.parametrize("status, retryable", [
    ("401 Unauthorized", False), ("403 Forbidden", False), ("404 Not Found", False),
    ("407 Proxy Authentication Required", False), ("408 Request Timeout", True),
    ("429 Too Many Requests", True), ("502 Bad Gateway", True), ("503 for host 403", True),
])
def test_tunnel_that_is_not_allowed_is_not_tried_again(status: str, retryable: bool) -> None:
    """A wait gives no login and opens no host; it can help a proxy that is busy."""
    with Proxy(status=status) as proxy:
        transport = Transport(proxies={"https": proxy.url})
        error, _ = outcome(lambda: post(transport, "https://127.0.0.1:9/v1"))
        transport.close()
    assert (error.code, error.retryable) == ("TRANSPORT", retryable)


# -- the caller's own session --------------------------------------------------------------


def test_session_counts_and_is_left_alone(tls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its headers, cookies, auth and verify are used, and the environment does not override
    them. Its pools stay empty, and it is not closed."""
    import requests

    monkeypatch.setenv("REQUESTS_CA_BUNDLE", os.devnull)
    with requests.Session() as session, LoopbackServer([{"body": "x"}], tls=tls) as server:
        session.headers["X-Team"] = "blue"
        session.cookies.set("sid", "1")
        session.auth = ("u", "p")
        session.verify = CA
        transport = Transport(http_session=session)
        assert read_all(post(transport, server.base_url)) == (b"x", None)
        read_all(post(transport, server.base_url, headers={"Authorization": "Bearer K"}))
        transport.close()
        first, second = server.requests
        assert first.headers["x-team"] == "blue" and first.headers["cookie"] == "sid=1"
        assert first.headers["accept-encoding"] == "identity"
        assert first.headers["authorization"] == "Basic dTpw"
        assert second.headers["authorization"] == "Bearer K"
        adapter = session.get_adapter(server.base_url)
        assert len(adapter.poolmanager.pools) == 0  # type: ignore[attr-defined]
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", CA)
        assert session.post(server.base_url, data=b"{}").text == "x"


def test_session_proxies_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that the caller's session names is used."""
    import requests

    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Proxy() as proxy, requests.Session() as session:
        session.proxies["all"] = proxy.url
        transport = Transport(http_session=session)
        with LoopbackServer([{"body": "x"}]) as server:
            assert read_all(post(transport, server.base_url)) == (b"x", None)
        transport.close()
        assert len(proxy.seen) == 1


@pytest.mark.parametrize("framing", ["chunked", "close", "content-length", "http10"])
def test_custom_adapter_is_used_as_it_is(framing: str) -> None:
    """Bytes come as they arrive, and cut bodies have the same codes."""
    import requests.adapters

    class Own(requests.adapters.HTTPAdapter):
        used = 0

        def send(self, *args: Any, **kwargs: Any) -> Any:
            Own.used += 1
            return super().send(*args, **kwargs)

    with requests.Session() as session:
        session.mount("http://", Own())
        transport = Transport(http_session=session)
        whole = {"framing": framing, "steps": steps("a" * 15, "b" * 15, pause=0.15)}
        with LoopbackServer([whole]) as server:
            opened = post(transport, server.base_url)
            times = [(time.monotonic(), piece) for piece in opened.pieces()]
            assert b"".join(piece for _, piece in times) == b"a" * 15 + b"b" * 15
            assert times[-1][0] - times[0][0] > 0.1
        cut = {"framing": framing, "steps": [{"raw": "abc"}, {"close": True}, {"raw": "def"}]}
        with LoopbackServer([cut]) as server:
            body, error = read_all(post(transport, server.base_url))
        assert body == b"abc"
        ends_itself = framing in ("chunked", "content-length")
        assert (error.code if error else None) == ("STREAM_CLOSED" if ends_itself else None)
        stalled = {"framing": framing, "steps": [{"raw": "abc"}, {"stall": True}, {"raw": "d"}]}
        with LoopbackServer([stalled]) as server:
            mine = limits(idle_timeout=0.2)
            body, error = read_all(post(transport, server.base_url, limits=mine))
            assert body == b"abc" and error is not None
            assert (error.code, error.failure.clock) == ("TIMEOUT", "idle")
        with LoopbackServer([{"no_answer": True}]) as server:
            error, _ = outcome(lambda: post(transport, server.base_url, limits=mine))
            assert (error.code, error.failure.clock) == ("TIMEOUT", "first-byte")
        transport.close()
        assert Own.used == 4


def test_mocked_response_is_read() -> None:
    """With ``responses`` there is no socket, but status, bytes and errors are the same."""
    import requests
    import responses

    transport = Transport()
    with responses.RequestsMock() as mock:
        mock.add(responses.POST, "http://mock.test/v1", body=b"data: x\n\n", status=201)
        answer = post(transport, "http://mock.test/v1")
        assert answer.status == 201
        assert read_all(answer) == (b"data: x\n\n", None)
        answer.finish()
    with responses.RequestsMock() as mock:
        mock.add(responses.POST, "http://mock.test/v1", body=requests.ConnectionError("gone"))
        error, _ = outcome(lambda: post(transport, "http://mock.test/v1"))
        assert error.code == "TRANSPORT"
    transport.close()


# -- error bodies --------------------------------------------------------------------------


def test_error_body_is_read_and_the_connection_dropped(transport: Transport, tls: Any) -> None:
    """A short body comes whole, and the server sees the close."""
    with LoopbackServer([{"status": 429, "json": {"error": "slow down"}}], tls=tls) as server:
        answer = post(transport, server.base_url)
        assert answer.status == 429
        assert answer.read_error_body() == b'{"error":"slow down"}'
        assert server.requests[0].wait_peer_left(2.0)


@pytest.mark.parametrize("answer, expected", [
    ({"body": "x" * 200_000}, b"x" * 65536),
    ({"steps": [{"raw": "abc"}, {"close": True}, {"raw": "d"}]}, b"abc"),
    ({"steps": [{"raw": "abc"}, {"sleep": 0.1}, {"reset": True}]}, b"abc"),
    ({"gzip": "bad", "steps": steps("abc", "def")}, b"abc"),
    ({"steps": [{"raw": "abc"}, {"chunk_size_bad": True}]}, b"abc"),
    ({"body": ""}, b""),
], ids=["long", "cut", "reset", "bad gzip", "bad framing", "empty"])
def test_error_body_never_raises(transport: Transport, answer: Any, expected: bytes) -> None:
    """Whatever the network does, the bytes that came are returned, at most 64 KiB."""
    with LoopbackServer([{"status": 500, **answer}]) as server:
        assert post(transport, server.base_url).read_error_body() == expected


def test_error_body_that_stalls_is_given_up(transport: Transport) -> None:
    """The clocks end the read, and no error is raised."""
    script = [{"status": 500, "steps": [{"raw": "abc"}, {"stall": True}]}]
    with LoopbackServer(script) as server:
        answer = post(transport, server.base_url, limits=limits(total_timeout=0.4))
        started = time.monotonic()
        assert answer.read_error_body() == b"abc"
        assert time.monotonic() - started < 2.0


# -- at import -----------------------------------------------------------------------------


def test_import_needs_no_requests() -> None:
    """Neither the import nor making a transport imports requests or urllib3."""
    code = (
        "import sys; from streamcore.transport import Transport; Transport().close();"
        "sys.exit(any(m.split('.')[0] in ('requests', 'urllib3') for m in sys.modules))"
    )
    root = str(Path(__file__).resolve().parents[2])
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0


def test_transport_that_is_closed_refuses() -> None:
    """A call after ``close`` is not retryable; a second ``close`` does nothing."""
    transport = Transport()
    transport.close()
    transport.close()
    error, _ = outcome(lambda: post(transport, "http://127.0.0.1:9/v1"))
    assert (error.code, error.retryable) == ("TRANSPORT", False) and "closed" in str(error)
    with pytest.raises(ValueError):
        Transport(pool_size=0)


def test_request_that_the_server_answers_early_gives_its_answer(transport: Transport) -> None:
    """A 413 sent before the whole body was read is the answer, if the system shows it."""
    def serve(sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 20):
            pass

    with RawServer(serve) as server:
        answer = post(transport, server.url, b"x" * 3_000_000)
        assert answer.status == 413 and answer.read_error_body() == b"no"


def test_reset_while_the_request_is_sent_is_transport(transport: Transport) -> None:
    """The phase is send or headers, and the error is retryable."""
    def serve(sock: socket.socket) -> None:
        sock.recv(1000)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with RawServer(serve) as server:
        error, _ = outcome(lambda: post(transport, server.url, b"x" * 30_000_000))
    assert (error.code, error.retryable) == ("TRANSPORT", True)
    assert error.failure.phase in ("send", "headers")


def test_small_reads_of_the_server_take_the_whole_request(transport: Transport) -> None:
    """A large body is written in slices and arrives whole."""
    body = bytes(range(256)) * 20_000
    seen = []

    def serve(sock: socket.socket) -> None:
        seen.append(read_request(sock))
        sock.sendall(HEAD + b"Content-Length: 2\r\n\r\nok")

    with RawServer(serve) as server:
        assert read_all(post(transport, server.url, body)) == (b"ok", None)
    assert seen[0].endswith(body)
