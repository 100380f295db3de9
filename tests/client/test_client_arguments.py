# SPDX-License-Identifier: MIT
"""The arguments of a client reach the wire, and its other promises hold end to end.

Each argument that shapes a request is checked in what the server received. Other tests check
client certificates, a caller's custom adapter, ids on errors, the bound on error bodies, and the
cost of waiting and of a flood. Each test fails if the argument or the bound is dropped.
"""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from streamcore.client import Client
from streamcore.loopback import LoopbackServer
from streamcore.transport import Transport
from streamcore.values.clock import WaitBudget
from streamcore.values.errors import LlmError
from streamcore.values.limits import Limits
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions

from rawserver import CA, HEAD, LATE, SERVER_FILES, TLS, RawServer, limits, post, read_request

CLIENT_FILES = (str(TLS / "client.pem"), str(TLS / "client.key"))
HELLO: Dict[str, Any] = {"steps": [{"answer": {"text": "hi"}}]}
NO_ARGUMENTS: Dict[str, Any] = {"type": "object", "properties": {}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": NO_ARGUMENTS}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
PINGS: Dict[str, Any] = {"repeat": {"times": 200, "every": 0.05, "steps": [{"comment": "ping"}]}}


@contextmanager
def client_of(url: str, **given: Any) -> Iterator[Client]:
    """Make a client of a local server; it is closed after the test."""
    with Client("m", base_url=url, **{"api_key": "sk-arguments-0123", **given}) as client:
        yield client


def failure_of(call: Callable[[], Any]) -> LlmError:
    """Return the error that a call must raise."""
    with pytest.raises(LlmError) as caught:
        call()
    return caught.value


# -- the body ------------------------------------------------------------------------------


@pytest.mark.parametrize("given, field, expected", [
    ({"temperature": 0.25}, "temperature", 0.25),
    ({"top_p": 0.9}, "top_p", 0.9),
    ({"seed": 7}, "seed", 7),
    ({"max_tokens": 12}, "max_tokens", 12),
    ({"stop": "END"}, "stop", "END"),
    ({"stop": ["a", "b"]}, "stop", ["a", "b"]),
    ({"response_format": SCHEMA}, "response_format", SCHEMA),
    ({"parallel_tool_calls": False, "tools": [TOOL]}, "parallel_tool_calls", False),
    ({"tool_choice": "required", "tools": [TOOL]}, "tool_choice", "required"),
    ({"tool_choice": "f", "tools": [TOOL]}, "tool_choice",
     {"type": "function", "function": {"name": "f"}}),
    ({"tools": [TOOL]}, "tools", [TOOL]),
    ({"reasoning_effort": "high"}, "reasoning_effort", "high"),
    ({"extra_body": {"top_k": 3}}, "top_k", 3),
    ({"system": "be brief"}, "messages", [
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]),
], ids=lambda value: "-".join(value) if isinstance(value, dict) else None)
@pytest.mark.parametrize("way", ["stream", "complete"])
def test_argument_of_a_call_reaches_the_body(
    way: str, given: Dict[str, Any], field: str, expected: Any
) -> None:
    """stream() and complete() send it under its name if given, and else not at all."""
    with LoopbackServer([HELLO]) as server, client_of(server.base_url) as client:
        for options in (given, {}):
            if way == "complete":
                client.complete("hi", **options)
            else:
                assert client.stream("hi", **options).message.text == "hi"
        told, plain = [request.json() for request in server.requests]
    assert told[field] == expected
    assert plain.get(field) != expected
    assert set(told) - set(plain) == {*given} - {"system", "extra_body"} | {field} - {*plain}


def test_reasoning_goes_back_with_a_tool_call_or_must_not() -> None:
    """A server that demands its reasoning back gets it; an option keeps it from one that refuses
    it."""
    asked = {"steps": [{"answer": {
        "reasoning": "hm", "text": "let me see",
        "tool_calls": [{"id": "c1", "name": "f", "arguments": "{}"}]}}]}
    refusal = {"status": 400, "json": {"error": {
        "message": "the reasoning_content of the call must be passed back"}}}
    script = [{**asked, "when": {"contains": "first question"}},
              {**HELLO, "when": {"contains": '"reasoning_content":"hm"'}}, refusal]
    with LoopbackServer(script) as server:
        with client_of(server.base_url) as client:
            message = client.complete("go", system="first question", tools=[TOOL])
            assert (message.text, message.reasoning) == ("let me see", "hm")
            assert message.to_dict()["content"] == "let me see"
            history = [{"role": "user", "content": "go"}, message,
                       {"role": "tool", "tool_call_id": "c1", "content": "done"}]
            assert client.complete(history, tools=[TOOL]).text == "hi"
        never = ChatCompletionsOptions(reasoning_passback="never")
        with client_of(server.base_url, options=never) as client:
            error = failure_of(lambda: client.complete(history, tools=[TOOL]))
        assert error.failure.status == 400
        back = [request.json()["messages"][1] for request in server.requests[1:]]
    clean = {"role", "content", "tool_calls"}
    assert (set(back[0]), set(back[1])) == (clean | {"reasoning_content"}, clean)
    assert [sent["content"] for sent in back] == ["let me see"] * 2


# -- certificates of the client ------------------------------------------------------------


def demanding(seen: List[Optional[bytes]]) -> Callable[[socket.socket], None]:
    """Return a ``serve`` that answers only a client that shows its certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*SERVER_FILES)
    context.load_verify_locations(CLIENT_FILES[0])
    context.verify_mode = ssl.CERT_REQUIRED

    def serve(sock: socket.socket) -> None:
        with context.wrap_socket(sock, server_side=True) as secure:
            read_request(secure)
            seen.append(secure.getpeercert(binary_form=True))
            secure.sendall(HEAD + b'Connection: close\r\n\r\ndata: {"choices":[{"delta":'
                           b'{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
            secure.unwrap()

    return serve


@pytest.mark.parametrize("form", ["pair", "one file"])
@pytest.mark.parametrize("where", ["client", "transport", "session"])
def test_certificate_of_the_client_is_shown(where: str, form: str, tmp_path: Path) -> None:
    """``cert=`` of Client, Transport and a caller's session reaches the handshake."""
    import requests

    both = tmp_path / "both.pem"
    both.write_bytes(b"".join(Path(name).read_bytes() for name in CLIENT_FILES))
    cert: Any = CLIENT_FILES if form == "pair" else str(both)
    seen: List[Optional[bytes]] = []
    with RawServer(demanding(seen)) as server, requests.Session() as session:
        url = f"https://127.0.0.1:{server.port}/v1"
        if where == "transport":
            transport = Transport(verify=CA, cert=cert)
            assert b"[DONE]" in b"".join(post(transport, url).pieces())
            transport.close()
        else:
            given: Dict[str, Any] = {"cert": cert}
            if where == "session":
                session.cert, given = cert, {"http_session": session}
            with client_of(url, verify=CA, **given) as client:
                assert client.complete("hi").text == "hi"
    pem = Path(CLIENT_FILES[0]).read_text(encoding="ascii")
    assert seen == [ssl.PEM_cert_to_DER_cert(pem)]


def test_certificate_that_is_demanded_and_not_given_is_transport() -> None:
    """The server ends the connection without an answer."""
    seen: List[Optional[bytes]] = []
    with RawServer(demanding(seen)) as server:
        with client_of(f"https://127.0.0.1:{server.port}/v1", verify=CA) as client:
            assert failure_of(lambda: client.complete("hi")).code == "TRANSPORT"
    assert seen == []


# -- a caller's custom adapter -------------------------------------------------------------


@contextmanager
def own_session() -> Iterator[Any]:
    """Return a session whose adapter is not requests' own, so that the session sends itself."""
    import requests
    import requests.adapters

    class Own(requests.adapters.HTTPAdapter):
        pass

    with requests.Session() as session:
        session.mount("http://", Own())
        yield session


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_not_followed_through_a_custom_adapter(status: int) -> None:
    """The code names the status, and nothing is sent to the new address."""
    away = {"status": status, "headers": {"Location": "/v1/elsewhere"}, "body": ""}
    with own_session() as session, LoopbackServer([away, HELLO]) as server:
        with client_of(server.base_url, http_session=session) as client:
            assert failure_of(lambda: client.complete("hi")).code == f"HTTP_{status}"
        assert [request.method for request in server.requests] == ["POST"]


def test_total_clock_is_looked_at_between_pieces_of_a_custom_adapter() -> None:
    """The total clock ends a body that drips for ever."""
    drip = {"steps": [{"text": "a"}, PINGS, {"finish": "stop"}, {"done": True}]}
    with own_session() as session, LoopbackServer([drip]) as server:
        with client_of(server.base_url, http_session=session) as client:
            mine = Limits(total_timeout=0.4, idle_timeout=5.0)
            started = time.monotonic()
            error = failure_of(lambda: client.complete("hi", limits=mine))
            took = time.monotonic() - started
        assert server.requests[0].wait_peer_left(2.0)
    assert (error.code, error.failure.clock, error.partial.text) == ("TIMEOUT", "total", "a")
    assert took < 0.4 + LATE


# -- what an error says --------------------------------------------------------------------


@pytest.mark.parametrize("steps, code, id_", [
    ([{"error": {"message": "busy"}}], "SERVER", "req-5"),
    ([{"error": {"message": "busy", "request_id": "own-1"}}], "SERVER", "own-1"),
    ([{"raw": "data: {\n\n"}], "MALFORMED_RESPONSE", "req-5"),
    ([{"close": True}, {"text": "b"}], "STREAM_CLOSED", "req-5"),
    ([{"finish": "content_filter"}, {"done": True}], "CONTENT_FILTER", "req-5"),
], ids=["error", "error with its own id", "bad JSON", "cut", "finish word"])
def test_error_in_the_stream_says_the_id_of_the_request(
    steps: List[Any], code: str, id_: str
) -> None:
    """The failure has the id of the answer's headers, or the error's own."""
    script = {"headers": {"x-request-id": "req-5"}, "steps": [{"text": "a"}, *steps]}
    with LoopbackServer([script]) as server, client_of(server.base_url) as client:
        stream = client.stream("hi")
        error = failure_of(lambda: stream.message)
    assert (error.code, error.failure.request_id, stream.request_id) == (code, id_, "req-5")
    assert error.partial.text == "a"


@pytest.mark.parametrize("rest", [
    {"stall": True}, {"repeat": {"times": 40, "every": 0.05, "steps": [{"raw": "."}]}},
], ids=["silence", "drip"])
def test_error_body_is_read_for_five_seconds_at_most(rest: Dict[str, Any]) -> None:
    """Reading an error body ends after 5 s, with no clock near. The test's clock runs ten times
    as fast."""
    def clock() -> float:
        return time.monotonic() * 10

    script = [{"status": 500, "steps": [{"raw": "abc"}, rest]}]
    transport = Transport()
    with LoopbackServer(script) as server:
        far = limits(first_byte_timeout=600.0, idle_timeout=600.0, total_timeout=600.0)
        answer = post(transport, server.base_url, limits=far, budget=WaitBudget(None, clock))
        started = clock()
        body = answer.read_error_body()
        took = clock() - started
        assert server.requests[0].wait_peer_left(2.0)
    transport.close()
    assert body.startswith(b"abc") and len(body) < 40
    assert 4.5 < took < 5.0 + 10 * LATE


# -- what it costs -------------------------------------------------------------------------


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("answer", [
    {"no_answer": True}, {"steps": [{"raw": "data: "}, {"stall": True}]},
], ids=["headers", "body"])
def test_silent_wait_of_two_seconds_costs_hardly_any_cpu(
    answer: Dict[str, Any], secure: bool
) -> None:
    """The rule is 50 ms of CPU for 10 s, so 10 ms for 2 s; the rest allows for a cold machine.
    Only this thread's time counts, because the library has no other thread."""
    transport = Transport(verify=CA)
    with LoopbackServer([HELLO, answer], tls=SERVER_FILES if secure else None) as server:
        b"".join(post(transport, server.base_url).pieces())  # warm: imported and connected
        started, spent = time.monotonic(), time.thread_time()
        mine = limits(first_byte_timeout=2.0, idle_timeout=2.0)
        error = failure_of(lambda: list(post(transport, server.base_url, limits=mine).pieces()))
        spent, took = time.thread_time() - spent, time.monotonic() - started
    transport.close()
    assert error.code == "TIMEOUT" and took > 1.9
    assert spent < 0.025, f"{spent * 1000:.1f} ms of CPU in {took:.1f} s"


FLOOD = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sock, _ = listener.accept()
while b"\\r\\n\\r\\n" not in sock.recv(65536):
    pass
sock.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n")
block = b"x" * (1 << 20)
for _ in range(int(sys.argv[1])):
    sock.sendall(block)
sock.shutdown(socket.SHUT_WR)
while sock.recv(65536):
    pass
"""


def flood(megabytes: int) -> Tuple[int, int, float, float]:
    """Read a close-delimited body from another process; return bytes, pieces, CPU s, wall s."""
    server = subprocess.Popen(
        [sys.executable, "-c", FLOOD, str(megabytes)], stdout=subprocess.PIPE, text=True
    )
    transport = Transport()
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        began, spent, size, count = time.monotonic(), time.thread_time(), 0, 0
        for piece in post(transport, url).pieces():
            size += len(piece)
            count += 1
        return size, count, time.thread_time() - spent, time.monotonic() - began
    finally:
        transport.close()
        server.kill()
        server.communicate()


def test_close_delimited_flood_comes_at_30_mb_a_second() -> None:
    """The bound is a tenth of the measured speed, and ten times that of reading single bytes."""
    flood(1)  # warm
    size, count, spent, took = flood(64)
    assert size == 64 << 20 and size / count > 4096
    rate = size / 1e6 / max(spent, 1e-9)
    assert rate > 30, f"{rate:.0f} MB/s of CPU"
    assert took < 20, f"{size / 1e6 / took:.0f} MB/s"
