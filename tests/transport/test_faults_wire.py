# SPDX-License-Identifier: MIT
"""What goes wrong in the field, as a user of ``Client`` meets it: a test per row of FAULTS.md.

These are the rows of transport, errors and retry, and cancellation, and those of other sections
that need a server. Every answer is a script of the loopback provider. Clocks are short and their
bounds generous, because test_transport_clocks measures them.
"""

from __future__ import annotations

import json
import threading
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from streamcore.client import Client
from streamcore.loopback import LoopbackServer
from streamcore.session import Session
from streamcore.values.chunks import Finish, StreamChunk, TextDelta
from streamcore.values.errors import LlmError, Partial
from streamcore.values.grammar import check_grammar
from streamcore.values.limits import Limits
from streamcore.values.retry import RetryPolicy, RetryRecord
from streamcore.values.usage import TokenUsage
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions

KEY = "sk-faults-0123456789"
HI: Dict[str, Any] = {"steps": [{"answer": {"text": "hello big world"}}]}
END: List[Any] = [{"finish": "stop"}, {"done": True}]
LIMITS = Limits(connect_timeout=5, idle_timeout=5, total_timeout=20)
QUICK = RetryPolicy(initial_delay=0.002, jitter=0.0)
LATE = 2.0  # seconds a clock or cancel may be late on a busy machine
FRAMINGS = ("chunked", "close", "content-length", "http10")


@pytest.fixture
def serve() -> Iterator[Callable[..., LoopbackServer]]:
    """Start a loopback provider, and close it after the test."""
    servers: List[LoopbackServer] = []

    def start(*answers: Any, **rest: Any) -> LoopbackServer:
        servers.append(LoopbackServer(list(answers), **rest).start())
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    """Make a client of a provider, and close it after the test."""
    clients: List[Client] = []

    def make(server: Any, **rest: Any) -> Client:
        given = {"base_url": getattr(server, "base_url", server), "api_key": KEY, "limits": LIMITS}
        clients.append(Client("m", **{**given, **rest}))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def ask(serve: Any, connect: Any) -> Callable[..., Any]:
    """Ask a provider with this one answer; return (message, None) or (None, error).

    No finish chunk of a failure may be seen on the way (E16).
    """

    def run(answer: Any, call: Optional[Dict[str, Any]] = None, **rest: Any) -> Tuple[Any, Any]:
        stream = connect(serve(answer), **rest).stream("hi", **(call or {}))
        seen: List[StreamChunk] = []
        try:
            for chunk in check_grammar(stream):
                seen.append(chunk)
        except LlmError as error:
            assert not any(isinstance(chunk, Finish) for chunk in seen)
            assert KEY not in str(error)
            return None, error
        return stream.message, None

    return run


def code(outcome: Tuple[Any, Any]) -> str:
    """Return the code of an outcome that must be a failure."""
    assert outcome[1] is not None, outcome[0]
    return str(outcome[1].code)


def elapsed(call: Callable[[], Any]) -> Tuple[Any, float]:
    """Return the result of a call and the seconds it took."""
    began = time.monotonic()
    return call(), time.monotonic() - began


# Transport.


@pytest.mark.parametrize("framing", FRAMINGS)
def test_t1_deltas_come_as_they_are_sent(serve: Any, connect: Any, framing: str) -> None:
    """T1: in every framing the first delta comes long before the body's end."""
    steps = [{"text": "a"}, {"sleep": 0.4}, {"text": "b"}, *END]
    stream = connect(serve({"framing": framing, "steps": steps})).stream("hi")
    began = time.monotonic()
    when = [time.monotonic() - began for chunk in stream if isinstance(chunk, TextDelta)]
    assert when[0] < 0.3 <= when[1]


def test_t1_dripped_chunk(serve: Any, connect: Any) -> None:
    """T1: a large HTTP chunk that drips is handed on as it drips."""
    steps = [{"text": "a"}, {"sleep": 0.4}, {"text": "b"}, *END]
    stream = connect(serve({"chunk_dripped": True, "steps": steps})).stream("hi")
    began = time.monotonic()
    assert next(iter(stream.iter_text())) == "a" and time.monotonic() - began < 0.3
    assert stream.message.text == "ab"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_t4_decompressed_body_is_capped(ask: Any, coding: str) -> None:
    """T4: the limit counts decoded bytes, so a bomb of zeros is refused."""
    flood = {"raw": (": " + "x" * 998 + "\n\n") * 3000}
    answer = {coding: "flush", "steps": [{"text": "a"}, flood, *END]}
    outcome = ask(answer, limits=Limits(max_stream_bytes=1_000_000))
    assert code(outcome) == "MALFORMED_RESPONSE" and "max_stream_bytes" in str(outcome[1])


def test_t5_compressed_although_nobody_asked(serve: Any, connect: Any) -> None:
    """T5: identity is asked for, but a compressed body is still read as it comes."""
    steps = [{"text": "a"}, {"sleep": 0.4}, {"text": "b"}, *END]
    server = serve({"gzip": "flush", "steps": steps})
    stream = connect(server).stream("hi")
    began = time.monotonic()
    assert next(iter(stream.iter_text())) == "a" and time.monotonic() - began < 0.3
    assert stream.message.text == "ab"
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_t5_compressed_and_held_back_until_the_end(ask: Any) -> None:
    """T5: without a flush between frames the text comes late, but it is right."""
    assert ask({"gzip": "noflush", **HI})[0].text == "hello big world"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_t5_bad_compression(ask: Any, coding: str) -> None:
    """T5: bytes that cannot be decoded are MALFORMED_RESPONSE, with the partial text."""
    outcome = ask({coding: "bad", "steps": [{"text": "a"}, {"text": "b"}, *END]})
    assert code(outcome) in ("MALFORMED_RESPONSE", "TRANSPORT")


@pytest.mark.parametrize(
    "answer, clock",
    [({"steps": [{"text": "a"}, {"stall": True}]}, "idle"), ({"no_answer": True}, "first-byte"),
     ({"steps": [{"stall": True}]}, "first-byte")],
)
def test_t6_stall_is_a_timeout(ask: Any, answer: Any, clock: str) -> None:
    """T6: before the headers and in the body it is TIMEOUT with its clock, not TRANSPORT."""
    (_, error), seconds = elapsed(
        lambda: ask(answer, limits=Limits(idle_timeout=0.3, total_timeout=None)))
    assert error.code == "TIMEOUT" and error.failure.clock == clock and error.retryable
    assert f"{clock.replace('-', '_')}_timeout" in str(error) and "0.3 s" in str(error)
    assert 0.25 < seconds < 0.3 + LATE


@pytest.mark.parametrize(
    "answer, codes",
    [
        ({"steps": [{"text": "a"}, {"close": True}, {"text": "b"}], "chunk_dripped": True},
         ("STREAM_CLOSED",)),
        ({"steps": [{"text": "a"}, {"close": True}]}, ("STREAM_CLOSED",)),
        ({"steps": [{"text": "a"}, {"chunk_size_bad": True}]}, ("TRANSPORT",)),
        ({"steps": [{"text": "a"}, {"sleep": 0.05}, {"reset": True}]}, ("TRANSPORT",)),
        ({"steps": [{"text": "a"}, {"close": True}, {"text": "b"}], "framing": "content-length"},
         ("STREAM_CLOSED",)),
    ],
    ids=["mid-chunk", "between-chunks", "bad-chunk-size", "reset", "content-length"],
)
def test_t7_broken_body_is_one_exception_type(ask: Any, answer: Any, codes: Any) -> None:
    """T7: it is an LlmError with a code and the partial text, and it is retryable."""
    outcome = ask(answer)
    assert code(outcome) in codes and outcome[1].retryable
    assert outcome[1].partial == Partial("a")
    assert type(outcome[1]) is LlmError


def test_t8_cut_body_without_framing_is_no_answer(ask: Any) -> None:
    """T8: a body that ends by the close, without a finish, is a failure."""
    outcome = ask({"framing": "close", "steps": [{"text": "The answer is"}]})
    assert code(outcome) == "STREAM_CLOSED" and outcome[1].partial.text == "The answer is"


@pytest.mark.parametrize(
    "answer",
    [{"steps": [{"repeat": {"times": None, "every": 0.05, "steps": [{"comment": "ping"}]}}]},
     {"header_drip": 0.05, "headers": {"x-long": "y" * 400}, **HI}],
    ids=["body", "headers"],
)
def test_t9_drip_is_ended_by_the_total_clock(ask: Any, answer: Any) -> None:
    """T9: endless comments, and headers that come byte by byte, end at the total clock."""
    limits = Limits(total_timeout=0.5, first_byte_timeout=10, idle_timeout=10)
    (_, error), seconds = elapsed(lambda: ask(answer, limits=limits))
    assert (error.code, error.failure.clock) == ("TIMEOUT", "total")
    assert 0.45 < seconds < 0.5 + LATE


def test_t10_total_clock_says_so_and_can_be_turned_off(serve: Any, connect: Any) -> None:
    """T10: it names clock, value and setting, and keeps the text; None turns it off for a call."""
    steps = [{"repeat": {"times": 8, "every": 0.06, "steps": [{"text": "x"}]}}, *END]
    client = connect(serve({"steps": steps}), limits=Limits(total_timeout=0.2))
    with pytest.raises(LlmError, match="0.2 s.*total_timeout") as caught:
        client.complete("hi", on_chunk=lambda chunk: None)
    assert caught.value.failure.clock == "total" and not caught.value.retryable
    assert set(caught.value.partial.text) == {"x"}
    assert client.complete("hi", limits=Limits(total_timeout=None)).text == "x" * 8


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_t12_t13_redirects_are_not_followed(serve: Any, connect: Any, status: int) -> None:
    """T12, T13: HTTP_<n> names the new host; nothing is sent there, and no key is shown."""
    other = serve(HI)
    place = f"http://u:{KEY}@{other.host_port}/v1?key={KEY}"
    server = serve({"status": status, "headers": {"Location": place}})
    with pytest.raises(LlmError) as caught:
        connect(server, headers={"x-api-key": "K2-123456"}).complete("hi")
    assert caught.value.code == f"HTTP_{status}" and not caught.value.retryable
    assert other.host_port in str(caught.value) and KEY not in str(caught.value)
    assert other.connection_count == 0 and len(server.requests) == 1


def test_t14_netrc_never_replaces_the_key(
    serve: Any, connect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T14: the caller's key is sent; without a key, nothing of netrc is sent."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login u password p\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server = serve(HI)
    connect(server).complete("hi")
    connect(server, api_key=None).complete("hi")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in server.requests[1].headers


def test_t15_proxies_of_the_environment_and_of_the_caller(
    serve: Any, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T15: the environment and NO_PROXY apply, but the caller's ``proxies`` win."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for name in ("http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = serve(HI)
    with pytest.raises(LlmError, match="127.0.0.1:9") as caught:
        connect(server).complete("hi")
    assert caught.value.code == "TRANSPORT" and server.connection_count == 0
    assert connect(server, proxies={"http": server.base_url[:-3]}).complete("hi").text
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert connect(server).complete("hi").text == "hello big world"


def test_t18_stale_connection_is_healed(serve: Any, connect: Any) -> None:
    """T18: a new connection is made; the caller sees nothing and no retry is counted."""
    seen: List[RetryRecord] = []
    server = serve({**HI, "close_idle_after": 0.05})
    client = connect(server, retry=QUICK, on_retry=seen.append)
    for _ in range(3):
        stream = client.stream("hi")
        assert stream.message.text == "hello big world" and stream.attempts == 1
        time.sleep(0.15)
    assert not seen and server.connection_count == 3 and len(server.requests) == 3


@pytest.mark.parametrize("key", ["sk-abc\n", " sk-abc ", "\tsk-abc\r\n"])
def test_t20_pasted_key_is_trimmed(serve: Any, connect: Any, key: str) -> None:
    """T20: white space around a pasted key is removed."""
    server = serve(HI)
    connect(server, api_key=key).complete("hi")
    assert server.requests[0].headers["authorization"] == "Bearer sk-abc"


@pytest.mark.parametrize("key", ["sk-…", "", "sk-é", "sk a"])
def test_t20_key_no_header_can_carry(serve: Any, connect: Any, key: str) -> None:
    """T20: INVALID_CREDENTIAL before any network use, the key in no message."""
    server = serve(HI)
    with pytest.raises(LlmError) as caught:
        connect(server, api_key=key).stream("hi")
    assert caught.value.code == "INVALID_CREDENTIAL" and server.connection_count == 0
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize("base", ["localhost:1/v1", "http:///v1", "ftp://x", "http://[::1/v1"])
def test_t20_base_url_that_is_none(connect: Any, base: str) -> None:
    """T20: a base URL that is not valid is INVALID_REQUEST."""
    with pytest.raises(LlmError) as caught:
        connect(base).stream("hi")
    assert caught.value.code == "INVALID_REQUEST"


@pytest.mark.parametrize(
    "tail, path",
    [("/v1", "/v1"), ("/v1/", "/v1"), ("/v1/chat/completions", "/v1"), ("", ""), ("/", ""),
     ("/v1?api-version=1", "/v1"), ("/a/b/", "/a/b")],
)
def test_t20_base_url_every_way_reaches_one_address(
    serve: Any, connect: Any, tail: str, path: str
) -> None:
    """T20: with or without slash, /v1, endpoint and query."""
    server = serve(HI)
    connect(f"http://{server.host_port}{tail}").complete("hi")
    query = "?api-version=1" if "?" in tail else ""
    assert server.requests[0].path == f"{path}/chat/completions{query}"


def test_t21_what_cannot_be_encoded_is_refused_here(serve: Any, connect: Any) -> None:
    """T21: INVALID_REQUEST, no connection, nothing in the log; but tool output is mended."""
    server, log = serve(HI), Session()
    client = connect(server, session=log)
    bad: List[Dict[str, Any]] = [
        {"messages": "hi \ud83d"}, {"messages": "hi", "system": "\udc00"},
        {"messages": "hi", "tools": [{"name": "f", "parameters": {"x": float("nan")}}]},
        {"messages": "hi", "extra_body": {"x": b"bytes"}},
    ]
    for call in bad:
        with pytest.raises(LlmError) as caught:
            client.stream(**call)
        assert caught.value.code == "INVALID_REQUEST"
    assert server.connection_count == 0 and len(log) == 1
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [call]},
               {"role": "tool", "tool_call_id": "c", "content": "a\ud83db"}]
    assert client.complete(history).text
    assert server.requests[0].json()["messages"][-1]["content"] == "a\ufffdb"


@pytest.mark.parametrize("charset", ["", "; charset=iso-8859-1", "; charset=utf-16"])
def test_t22_body_is_utf_8_whatever_the_header_says(ask: Any, charset: str) -> None:
    """T22: the bytes are decoded as UTF-8."""
    answer = {"steps": [{"text": "✅ 进入\u0085"}, *END],
              "headers": {"content-type": "text/event-stream" + charset}}
    assert ask(answer)[0].text == "✅ 进入\u0085"


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream", None])
def test_t23_html_page(ask: Any, kind: Optional[str]) -> None:
    """T23: status, content type, the start of the page, and a hint at the base URL."""
    page = "<html><title>Sign in</title>" + "x" * 5000
    outcome = ask({"body": page, "headers": {"content-type": kind}})
    assert code(outcome) == "MALFORMED_RESPONSE" and not outcome[1].retryable
    told = str(outcome[1])
    assert "HTTP 200" in told and "<title>Sign in" in told and "base URL" in told
    assert (kind or "none") in told and len(told) < 600


DOCUMENT = {"choices": [{"message": {"role": "assistant", "content": "hi"},
                         "finish_reason": "stop"}]}


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_t24_json_document_gives_the_chunks_a_stream_would(ask: Any, kind: str) -> None:
    """T24 a, c: a whole completion is an answer, whatever its content type is."""
    message, _ = ask({"json": DOCUMENT, "headers": {"content-type": kind}})
    assert (message.text, message.finish) == ("hi", "stop")


def test_t24_error_object_with_status_200(ask: Any) -> None:
    """T24 b: the error's words give the code; it is never an empty success."""
    answer = {"json": {"error": {"message": "no credit", "code": "insufficient_quota"}}}
    assert code(ask(answer)) == "QUOTA"
    assert code(ask({"json": {"ok": True}})) == "MALFORMED_RESPONSE"


@pytest.mark.parametrize(
    "answer",
    [{"framing": "content-length", "body": ""}, {"status": 204}, {"body": ""},
     {"framing": "close", "body": ""}, {"status": 201, "body": "\n\n"}],
)
def test_t25_empty_body(ask: Any, answer: Any) -> None:
    """T25: EMPTY_RESPONSE for any 2xx without a body."""
    outcome = ask(answer)
    assert code(outcome) == "EMPTY_RESPONSE" and outcome[1].retryable


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/octet-stream", "application/x-ndjson", "text/html", None]
)
def test_t26_wrong_content_type_on_a_real_stream(ask: Any, kind: Optional[str]) -> None:
    """T26: the bytes decide what the body is."""
    assert ask({**HI, "headers": {"content-type": kind}})[0].text == "hello big world"


@pytest.mark.parametrize(
    "late", [{"header_delay": 0.45}, {"steps": [{"sleep": 0.45}, *HI["steps"]]}]
)
def test_t28_first_byte_has_a_clock_of_its_own(ask: Any, late: Any) -> None:
    """T28: the first byte may take longer than a pause in the body."""
    limits = Limits(first_byte_timeout=5, idle_timeout=0.3)
    assert ask({**HI, **late}, limits=limits)[0].text == "hello big world"
    outcome = ask({**HI, **late}, limits=Limits(first_byte_timeout=0.2, idle_timeout=5))
    assert code(outcome) == "TIMEOUT" and outcome[1].failure.clock == "first-byte"


# Rows of other sections that need a server.


def test_s8_keep_alives_are_life(ask: Any) -> None:
    """S8: any byte restarts the idle clock; nothing restarts the total clock."""
    pings = {"repeat": {"times": 9, "every": 0.06, "steps": [{"comment": "ping"}]}}
    answer = {"steps": [pings, *HI["steps"]]}
    assert ask(answer, limits=Limits(idle_timeout=0.4))[0].text == "hello big world"
    outcome = ask(answer, limits=Limits(idle_timeout=0.4, total_timeout=0.2))
    assert outcome[1].failure.clock == "total"


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_s17_done_ends_the_message_although_the_socket_stays(
    serve: Any, connect: Any, framing: str
) -> None:
    """S17: the message ends at once, and the connection is closed."""
    server = serve({"framing": framing, "steps": [{"text": "hi"}, *END, {"stall": True}]})
    client = connect(server)
    message, seconds = elapsed(lambda: client.complete("hi"))
    assert message.text == "hi" and seconds < LATE
    assert server.requests[0].wait_peer_left(3)
    assert client.complete("hi").text == "hi" and server.connection_count == 2


def test_s18_bytes_after_done_never_reach_the_next_answer(serve: Any, connect: Any) -> None:
    """S18: nothing after [DONE] is read, for this message or another."""
    more = [{"text": "stray"}, {"error": {"message": "late"}}]
    server = serve({"steps": [{"text": "{last_user}"}, *END, *more]})
    client = connect(server)
    assert [client.complete(word).text for word in ("one", "two", "three")] == [
        "one", "two", "three"]


@pytest.mark.parametrize(
    "error, wanted",
    [({"message": "no credit", "code": "insufficient_quota"}, "QUOTA"),
     ({"message": "overloaded", "code": 529}, "SERVER"), ("plain words", "SERVER"),
     ({"message": "slow down", "code": "rate_limit_exceeded"}, "RATE_LIMIT"),
     ({"message": "no such key", "code": 401}, "AUTH")],
)
def test_p1_error_inside_a_stream(ask: Any, error: Any, wanted: str) -> None:
    """P1: after text the stream fails with the right code and keeps its text; E16."""
    outcome = ask({"steps": [{"text": "so "}, {"error": error}, {"text": "far"}, *END]})
    assert code(outcome) == wanted and outcome[1].partial.text == "so "


def test_u10_stream_options_refused(serve: Any, connect: Any) -> None:
    """U10: the server's words are shown; an option leaves the field out; usage is None."""
    refusal = {"error": {"message": "Unrecognized request argument supplied: stream_options"}}
    server = serve(
        {"status": 400, "json": refusal, "when": {"contains": "stream_options"}}, HI)
    with pytest.raises(LlmError, match="stream_options") as caught:
        connect(server).complete("hi")
    assert caught.value.code == "INVALID_REQUEST"
    message = connect(server, options=ChatCompletionsOptions(stream_options=False)).complete("hi")
    assert message.text == "hello big world" and message.usage is None


def test_u13_silent_overflow(ask: Any) -> None:
    """U13: an empty answer whose usage fills the window is an overflow, not a success."""
    steps = [{"finish": "stop"}, {"usage": {"prompt_tokens": 100}}, {"done": True}]
    assert code(ask({"steps": steps})) == "EMPTY_RESPONSE"
    options = ChatCompletionsOptions(context_window=100)
    assert code(ask({"steps": steps}, options=options)) == "CONTEXT_WINDOW_EXCEEDED"


# Cancellation and lifecycle.


@pytest.mark.parametrize(
    "answer, partial",
    [({"steps": [{"text": "a"}, {"stall": True}]}, "a"), ({"no_answer": True}, "")],
)
def test_c1_c2_c5_cancel_while_the_server_is_silent(
    serve: Any, connect: Any, answer: Any, partial: str
) -> None:
    """C1, C2, C5: ABORTED soon, whatever was raised inside; the server sees the close."""
    server, cancel = serve(answer), threading.Event()
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    with pytest.raises(LlmError) as caught:
        connect(server).stream("hi", cancel=cancel).message
    late = time.monotonic() - server.requests[0].received_at - 0.3
    timer.join()
    assert caught.value.code == "ABORTED" and caught.value.partial.text == partial
    assert late < LATE and server.requests[0].wait_peer_left(3)


def test_c3_cancel_in_a_retry_wait(serve: Any, connect: Any) -> None:
    """C3: ABORTED at once; no further request."""
    server = serve({"status": 429, "headers": {"Retry-After": "30"}, "body": "{}"})
    cancel = threading.Event()
    client = connect(server, retry=RetryPolicy(), limits=Limits(total_timeout=None),
                     on_retry=lambda record: timer.start())
    timer = threading.Timer(0.2, cancel.set)
    with pytest.raises(LlmError) as caught:
        client.complete("hi", cancel=cancel)
    timer.join()
    assert caught.value.code == "ABORTED" and len(server.requests) == 1


def test_c4_cancel_already_set(serve: Any, connect: Any) -> None:
    """C4: ABORTED, zero connections made."""
    server, cancel = serve(HI), threading.Event()
    cancel.set()
    for call in (lambda c: c.stream("hi", cancel=cancel).message,
                 lambda c: c.complete("hi", cancel=cancel)):
        with pytest.raises(LlmError) as caught:
            call(connect(server, retry=QUICK))
        assert caught.value.code == "ABORTED"
    assert server.connection_count == 0


def test_c6_leaving_the_loop(serve: Any, connect: Any) -> None:
    """C6: close() and the end of with close the socket, even if a reference is kept."""
    server = serve({"steps": [{"text": "a"}, {"stall": True}]})
    client = connect(server)
    first = client.stream("hi")
    for _ in first:
        break
    first.close()
    with client.stream("hi") as second:
        for _ in second:
            break
    assert all(request.wait_peer_left(3) for request in server.requests)
    assert first.partial == Partial() == second.partial


def test_c11_twenty_threads_twenty_answers(serve: Any, connect: Any) -> None:
    """C11: no cross-talk, tool calls and errors among them."""
    kinds = [
        {"steps": [{"answer": {"text": f"text {n} " * 5, "every": 0.002}}],
         "when": {"contains": f"case-{n}-"}} if n % 3 == 0 else
        {"steps": [{"answer": {"tool_calls": [{"id": f"c{n}", "name": f"f{n}",
                                              "arguments": {"n": n}}], "every": 0.002}}],
         "when": {"contains": f"case-{n}-"}} if n % 3 == 1 else
        {"status": 400, "json": {"error": {"message": f"bad {n}!"}},
         "when": {"contains": f"case-{n}-"}}
        for n in range(20)
    ]
    client, wrong = connect(serve(*kinds)), []

    def run(n: int) -> None:
        try:
            message = client.complete(f"case-{n}-")
        except LlmError as error:
            right = n % 3 == 2 and f"bad {n}!" in str(error)
        else:
            calls = [(call.id, call.parsed()) for call in message.tool_calls]
            right = (n % 3 == 0 and message.text == f"text {n} " * 5) or (
                n % 3 == 1 and calls == [(f"c{n}", {"n": n})])
        if not right:
            wrong.append(n)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_c12_slow_consumer(serve: Any, connect: Any) -> None:
    """C12: clocks run only while a read waits."""
    steps = [{"text": "a"}, {"sleep": 0.05}, {"text": "b"}, {"sleep": 0.05}, {"text": "c"}, *END]
    client = connect(serve({"steps": steps}), limits=Limits(idle_timeout=0.3, total_timeout=0.5))
    stream = client.stream("hi")
    for _ in stream.iter_text():
        time.sleep(0.35)
    assert stream.message.text == "abc"


@pytest.mark.parametrize(
    "end", [[{"error": {"message": "x"}}], [{"close": True}], [{"sleep": 0.1}, {"reset": True}],
            [{"raw": "data: {\n\n"}], [{"stall": True}],
            [{"finish": "content_filter"}, {"done": True}]],
    ids=["error", "cut", "reset", "malformed", "stall", "filter"],
)
def test_c13_partial_after_any_failure(ask: Any, end: List[Any]) -> None:
    """C13: text, reasoning and usage so far; never half a tool call."""
    call = {"index": 0, "id": "c", "name": "f", "arguments": '{"a":1}'}
    steps = [{"reasoning": "hm"}, {"text": "so"}, {"tool_call": call},
             {"payload": {"choices": [], "usage": {"prompt_tokens": 4}}}, *end]
    message, error = ask({"steps": steps}, limits=Limits(idle_timeout=0.3))
    assert message is None
    assert error.partial == Partial("so", "hm", TokenUsage(input_tokens=4))
    assert not hasattr(error.partial, "tool_calls")


# Errors and retry.


def refused(status: int, body: Any, **headers: str) -> Dict[str, Any]:
    """Return an answer with an error status; ``retry_after`` is the value of that header."""
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "headers": shown, "json": body}


def test_e1_exhausted_quota_is_no_rate_limit(serve: Any, connect: Any) -> None:
    """E1: QUOTA, no retry, even with Retry-After."""
    error = {"code": "insufficient_quota", "type": "insufficient_quota",
             "message": "You exceeded your current quota"}
    server = serve(refused(429, {"error": error}, retry_after="0"))
    with pytest.raises(LlmError) as caught:
        connect(server, retry=QUICK).complete("hi")
    assert caught.value.code == "QUOTA" and len(server.requests) == 1


@pytest.mark.parametrize(
    "status, error",
    [(402, {"message": "Insufficient Balance"}), (400, {"code": "insufficient_quota"}),
     (403, {"code": "insufficient_quota"})],
)
def test_e3_money_on_other_statuses(serve: Any, connect: Any, status: int, error: Any) -> None:
    """E3: QUOTA, no retry."""
    server = serve(refused(status, {"error": error}))
    with pytest.raises(LlmError) as caught:
        connect(server, retry=QUICK).complete("hi")
    assert caught.value.code == "QUOTA" and len(server.requests) == 1


@pytest.mark.parametrize(
    "status, error, wanted",
    [
        (400, {"code": "context_length_exceeded"}, "CONTEXT_WINDOW_EXCEEDED"),
        (400, {"message": "maximum context length is 8192 tokens"}, "CONTEXT_WINDOW_EXCEEDED"),
        (400, {"type": "exceed_context_size_error"}, "CONTEXT_WINDOW_EXCEEDED"),
        (413, {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
         "CONTEXT_WINDOW_EXCEEDED"),
        (413, {"message": "payload too large"}, "INVALID_REQUEST"),
    ],
)
def test_e4_context_overflow(
    serve: Any, connect: Any, status: int, error: Any, wanted: str
) -> None:
    """E4: by code or words; no retry."""
    server = serve(refused(status, {"error": error}))
    with pytest.raises(LlmError) as caught:
        connect(server, retry=QUICK).complete("hi")
    assert caught.value.code == wanted and len(server.requests) == 1


RUBBISH = ["-5", "nan", "inf", "abc", "1e400", ""]


@pytest.mark.parametrize(
    "headers, delay",
    [({"retry_after": "0.05"}, 0.05), ({"retry_after_ms": "30"}, 0.03),
     *(({"retry_after": text}, QUICK.initial_delay)
       for text in (*RUBBISH, "0", formatdate(0, usegmt=True)))],
)
def test_e6_retry_after_is_waited_out(
    serve: Any, connect: Any, headers: Any, delay: float
) -> None:
    """E6: seconds and milliseconds are exact; for 0 and rubbish our own backoff is used."""
    seen: List[RetryRecord] = []
    server = serve(refused(429, {"error": {"message": "slow down"}}, **headers), HI)
    client = connect(server, retry=QUICK, on_retry=seen.append)
    assert client.complete("hi").text == "hello big world"
    assert [record.delay for record in seen] == [delay]
    first, second = server.requests
    assert second.received_at - first.received_at >= delay


@pytest.mark.parametrize("value", ["61", "9999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_e6_retry_after_above_the_cap_stops(serve: Any, connect: Any, value: str) -> None:
    """E6: RATE_LIMIT with the value, and no further request."""
    server = serve(refused(429, {"error": {"message": "slow down"}}, retry_after=value))
    with pytest.raises(LlmError) as caught:
        connect(server, retry=QUICK, limits=Limits(total_timeout=None)).complete("hi")
    assert caught.value.code == "RATE_LIMIT" and (caught.value.failure.retry_after or 0) > 60
    assert len(server.requests) == 1


def test_e7_no_retry_after_text_was_shown(serve: Any, connect: Any) -> None:
    """E7: the caller never sees HelHello."""
    server = serve({"steps": [{"text": "Hel"}, {"sleep": 0.1}, {"reset": True}]}, HI)
    stream, text = connect(server, retry=QUICK).stream("hi"), ""
    with pytest.raises(LlmError) as caught:
        for piece in stream.iter_text():
            text += piece
    assert text == "Hel" == caught.value.partial.text and len(server.requests) == 1


MATRIX = [
    (400, "INVALID_REQUEST", False), (401, "AUTH", False), (402, "QUOTA", False),
    (403, "AUTH", False), (404, "HTTP_404", False), (405, "HTTP_405", False),
    (408, "TIMEOUT", True), (409, "HTTP_409", True), (413, "INVALID_REQUEST", False),
    (418, "HTTP_418", False), (422, "INVALID_REQUEST", False), (429, "RATE_LIMIT", True),
    *((status, "SERVER", True) for status in (500, 502, 503, 504, 520, 521, 522, 523, 524, 529)),
]


@pytest.mark.parametrize("status, wanted, again", MATRIX)
@pytest.mark.parametrize("body", [{"json": {"error": {"message": "no"}}}, {"body": ""}])
def test_e9_statuses(
    serve: Any, connect: Any, status: int, wanted: str, again: bool, body: Any
) -> None:
    """E9: the table of DESIGN.md §6, and which of its codes are tried again."""
    server = serve({"status": status, **body}, HI)
    with pytest.raises(LlmError) as caught:
        connect(server).complete("hi")
    error = caught.value
    assert (error.code, error.retryable, error.failure.status) == (wanted, again, status)
    assert str(status) in str(error)
    server = serve({"status": status, **body}, HI)
    client = connect(server, retry=QUICK)
    if again:
        assert client.complete("hi").text == "hello big world"
    else:
        with pytest.raises(LlmError):
            client.complete("hi")
    assert len(server.requests) == 1 + again


@pytest.mark.parametrize("word, again", [("true", True), ("false", False)])
def test_e9_provider_decides_where_it_says_so(
    serve: Any, connect: Any, word: str, again: bool
) -> None:
    """x-should-retry wins over the table."""
    status = 400 if again else 500
    server = serve(refused(status, {"error": {}}, x_should_retry=word), HI)
    client = connect(server, retry=QUICK)
    if again:
        client.complete("hi")
    else:
        with pytest.raises(LlmError):
            client.complete("hi")
    assert len(server.requests) == 1 + again


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_e10_attempts_are_a_hard_number(serve: Any, connect: Any, retries: int) -> None:
    """E10: urllib3 does no hidden retry, nor does an adapter of a caller's session."""
    import requests
    from urllib3.util.retry import Retry

    policy = RetryPolicy(max_retries=retries, initial_delay=0.002)
    for own in (False, True):
        session = None
        if own:
            session = requests.Session()
            session.get_adapter("http://").max_retries = Retry(5, status_forcelist=[503])
        server = serve({"status": 503, "body": "busy"})
        with pytest.raises(LlmError):
            connect(server, retry=policy, http_session=session).complete("hi")
        assert len(server.requests) == retries + 1
        if session is not None:
            session.close()


@pytest.mark.parametrize(
    "answer, wanted",
    [({"status": 503, "body": "<html><h1>503</h1>nginx</html>"}, "SERVER"),
     ({"status": 502, "body": ""}, "SERVER"),
     ({"status": 401, "body_base64": "AAECA4D/gP8="}, "AUTH"),
     ({"status": 500, "steps": [{"raw": "a"}, {"close": True}]}, "SERVER"),
     ({"status": 429, "body_repeat": {"text": "x" * 1000, "times": 500}}, "RATE_LIMIT")],
    ids=["html", "empty", "binary", "cut", "flood"],
)
def test_e13_error_body_hides_nothing(ask: Any, answer: Any, wanted: str) -> None:
    """E13: the code from the status, a short plain message, and the request id."""
    outcome = ask({**answer, "headers": {"x-request-id": "req-3"}})
    assert code(outcome) == wanted
    told = str(outcome[1])
    assert outcome[1].failure.request_id == "req-3" and len(told) < 700 and told.isprintable()
    assert "<html" not in told


def test_e14_refused_port_names_phase_and_place(connect: Any) -> None:
    """E14: phase, host:port, cause type; the cause is chained."""
    with LoopbackServer([HI]) as gone:
        place = gone.host_port
    with pytest.raises(LlmError) as caught:
        connect(f"http://{place}/v1").complete("hi")
    error = caught.value
    assert (error.code, error.failure.phase, error.retryable) == ("TRANSPORT", "connect", True)
    assert place in str(error) and "Refused" in str(error) and error.__cause__ is not None


def test_e14_name_that_does_not_resolve(connect: Any) -> None:
    """E14: the phase is dns."""
    with pytest.raises(LlmError) as caught:
        connect("http://no-such-host.invalid/v1").complete("hi")
    assert (caught.value.code, caught.value.failure.phase) == ("TRANSPORT", "dns")
    assert "no-such-host.invalid" in str(caught.value)


def test_e14_bad_certificate(serve: Any, connect: Any) -> None:
    """E14: the phase is tls, and another try cannot help."""
    tls = Path(__file__).resolve().parents[1] / "tls"
    server = serve(HI, tls=(str(tls / "server.pem"), str(tls / "server.key")))
    with pytest.raises(LlmError) as caught:
        connect(server, retry=QUICK).complete("hi")
    error = caught.value
    assert (error.code, error.failure.phase, error.retryable) == ("TRANSPORT", "tls", False)
    assert server.host_port in str(error) and "ertificate" in str(error)
    assert connect(server, verify=str(tls / "ca.pem")).complete("hi").text


def test_e16_failure_is_never_counted_as_success(serve: Any, connect: Any) -> None:
    """E16: there is no finish chunk, no message in the log, and no turn that ended well."""
    failures = [
        {"steps": [{"error": {"message": "x"}}]}, {"status": 204},
        {"steps": [{"text": "a"}, {"finish": "stop"}]}, {"steps": END}, {"json": {"choices": []}},
        {"steps": [{"text": "a"}, {"finish": "content_filter"}, {"done": True}]},
        {"steps": [{"tool_call": {"index": 0, "id": "c", "name": "f", "arguments": "{"}}, *END]},
        {"status": 500, "body": "data: [DONE]\n\n"}, {"body": "hello"},
    ]
    log, seen = Session(), []
    client = connect(serve(*failures), session=log)
    for _ in failures:
        with pytest.raises(LlmError):
            client.complete("hi", on_chunk=seen.append)
    assert not any(isinstance(chunk, Finish) for chunk in seen)
    events = [(event.type, json.dumps(event.to_dict())) for event in log]
    assert not [text for kind, text in events if kind == "assistant/message"]
    ends = [text for kind, text in events if kind == "turn/end"]
    assert len(ends) == len(failures) and all('"failure"' in text for text in ends)


@pytest.mark.parametrize(
    "error, wanted, again",
    [({"code": 400, "type": "exceed_context_size_error"}, "CONTEXT_WINDOW_EXCEEDED", False),
     ({"code": 503, "message": "loading model"}, "SERVER", True),
     ({"code": 429, "message": "slow down"}, "RATE_LIMIT", True)],
)
def test_e17_error_as_the_first_event(
    serve: Any, connect: Any, error: Any, wanted: str, again: bool
) -> None:
    """E17: it has the code and the retry rule of the same HTTP status."""
    first = {"steps": [{"comment": "hello"}, {"error": error}]}
    with pytest.raises(LlmError) as caught:
        connect(serve(first)).complete("hi")
    assert caught.value.code == wanted and caught.value.retryable is again
    server = serve(first, HI)
    stream = connect(server, retry=QUICK).stream("hi")
    if again:
        assert stream.message.text == "hello big world" and stream.attempts == 2
    else:
        with pytest.raises(LlmError):
            stream.message
        assert len(server.requests) == 1
