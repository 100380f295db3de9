# SPDX-License-Identifier: MIT
"""The client and its stream, against the loopback provider: what a script that uses them sees."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from streamcore.client import Client, Stream
from streamcore.loopback import LoopbackServer
from streamcore.providers import ModelInfo, ProviderProfile, get_profile
from streamcore.values.calls import CallConfig, LlmRequest
from streamcore.values.chunks import Finish, FinishReason, StreamChunk, TextDelta
from streamcore.values.errors import Failure, LlmError, Partial
from streamcore.values.grammar import check_grammar
from streamcore.values.limits import Limits
from streamcore.values.retry import RetryPolicy
from streamcore.values.usage import TokenUsage
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-client-0123456789"
HELLO: Dict[str, Any] = {
    "headers": {"x-request-id": "req-1"},
    "steps": [{"answer": {
        "text": "hello big world", "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }}],
}
SLOW: Dict[str, Any] = {"steps": [{"text": "Hel"}, {"text": "lo"}, {"stall": True}]}
SILENT: Dict[str, Any] = {"no_answer": True}
BUSY: Dict[str, Any] = {"status": 503, "json": {"error": {"message": "busy"}}}
QUICK = RetryPolicy(initial_delay=0.002, jitter=0.0)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signal")


@pytest.fixture
def serve() -> Iterator[Callable[..., LoopbackServer]]:
    """Start a loopback provider, and close it after the test."""
    servers: List[LoopbackServer] = []

    def start(*answers: Any) -> LoopbackServer:
        servers.append(LoopbackServer(list(answers)).start())
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    """Make a client of a loopback provider, and close it after the test."""
    clients: List[Client] = []

    def make(server: LoopbackServer, **rest: Any) -> Client:
        clients.append(Client("m", **{"base_url": server.base_url, "api_key": KEY, **rest}))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def code_of(call: Callable[[], Any]) -> str:
    """Return the code of the error that a call must raise."""
    with pytest.raises(LlmError) as caught:
        call()
    return caught.value.code


def later(seconds: float, call: Callable[[], Any]) -> threading.Timer:
    """Call a function from another thread after a delay."""
    timer = threading.Timer(seconds, call)
    timer.start()
    return timer


# A stream that goes well.


def test_stream_tells_everything(serve: Any, connect: Any) -> None:
    """The chunks come in the grammar's order; message, usage, finish and facts are right."""
    stream = connect(serve(HELLO)).stream("hi")
    assert (stream.finish, stream.usage, stream.time_to_first_token) == (None, None, None)
    before = stream.duration
    chunks = list(check_grammar(stream))
    assert [c.text for c in chunks if isinstance(c, TextDelta)] == ["hello ", "big ", "world"]
    message = stream.message
    assert (message.text, message.finish, message.provider) == (
        "hello big world", "stop", "openai-compatible")
    assert (message.model, message.response_id) == ("loopback", "chatcmpl-loopback")
    assert stream.usage == message.usage == TokenUsage(input_tokens=3, output_tokens=2)
    assert (stream.finish, stream.finish_word, stream.failure) == ("stop", "stop", None)
    assert (stream.request_id, stream.attempts, stream.diagnostics) == ("req-1", 1, {})
    assert stream.partial == Partial("hello big world", usage=stream.usage)
    assert stream.time_to_first_token is not None
    assert 0 < stream.time_to_first_token <= stream.duration and before < stream.duration
    again = stream.duration
    assert stream.duration == again and "ended" in repr(stream)


def test_stream_that_ended_gives_stop_iteration_for_ever(serve: Any, connect: Any) -> None:
    """A pull after the end never hangs, and the message stays."""
    stream = connect(serve(HELLO)).stream("hi")
    message = stream.message
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(stream)
    assert stream.message is message and list(stream) == []
    stream.close()
    stream.close()
    assert stream.message is message


def test_message_takes_what_is_left(serve: Any, connect: Any) -> None:
    """After a loop was left early, ``message`` reads the rest and is whole."""
    stream = connect(serve(HELLO)).stream("hi")
    for chunk in stream:
        if isinstance(chunk, TextDelta):
            break
    assert stream.partial.text == "hello "
    assert stream.message.text == "hello big world"


def test_iter_text_gives_text_only(serve: Any, connect: Any) -> None:
    """iter_text() skips reasoning and calls, and the message still has them."""
    answer = {"text": "a b", "reasoning": "hm", "tool_calls": [{"id": "c", "name": "f"}]}
    stream = connect(serve({"steps": [{"answer": answer}]})).stream("hi")
    assert list(stream.iter_text()) == ["a ", "b"]
    assert stream.message.reasoning == "hm" and stream.message.tool_calls[0].name == "f"


def test_message_frees_the_connection(serve: Any, connect: Any) -> None:
    """A stream that is kept does not keep its connection: the next call reuses it."""
    server = serve(HELLO)
    client = connect(server)
    kept = [client.stream("hi") for _ in range(5)]
    assert all(stream.message.text == "hello big world" for stream in kept)
    assert server.connection_count == 1


def test_stream_left_at_its_finish_frees_the_connection(serve: Any, connect: Any) -> None:
    """A consumer that stops at the finish had the whole answer: the next call reuses it."""
    server = serve(HELLO)
    client = connect(server)
    for _ in range(3):
        stream = client.stream("hi")
        while not isinstance(next(stream), Finish):
            pass
        del stream
    assert server.connection_count == 1


def test_raw_keeps_the_events(serve: Any, connect: Any) -> None:
    """``raw`` has events only if asked for, and none of a failed attempt."""
    error = {"steps": [{"error": {"message": "busy", "code": 503}}]}
    client = connect(serve(error, HELLO), retry=QUICK)
    stream = client.stream("hi", raw=True)
    assert stream.raw == [] and stream.message
    assert [event.data for event in stream.raw or []][-1] == "[DONE]"
    assert not any("busy" in event.data for event in stream.raw or [])
    assert stream.attempts == 2
    assert client.stream("hi").raw is None


def test_diagnostics_tell_what_was_repaired(serve: Any, connect: Any) -> None:
    """A user can read the counters and cannot change those of the stream."""
    steps = [{"text": "a"}, {"payload": {"kind": "unknown"}}, {"done": True}]
    stream = connect(serve({"steps": steps})).stream("hi")
    assert stream.message.text == "a"
    assert sum(stream.diagnostics.values()) >= 1
    stream.diagnostics.clear()
    assert sum(stream.diagnostics.values()) >= 1


def test_max_tokens_drops_calls_and_counts_them(serve: Any, connect: Any) -> None:
    """The message keeps its text and has no call of the cut turn."""
    answer = {"text": "so ", "tool_calls": [{"name": "f", "arguments": {"a": 1}}],
              "finish": "length"}
    stream = connect(serve({"steps": [{"answer": answer}]})).stream("hi")
    chunks = list(check_grammar(stream))
    assert (stream.message.text, stream.message.tool_calls) == ("so ", ())
    assert stream.message.finish == "max-tokens" and stream.finish == "max-tokens"
    assert chunks[-1].reason == FinishReason("max-tokens")  # type: ignore[attr-defined]
    assert sum(stream.diagnostics.values()) >= 1


def test_json_document_is_an_answer(serve: Any, connect: Any) -> None:
    """A provider that ignores stream=true gives the same message."""
    document = {"id": "x", "model": "m1", "object": "chat.completion", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    server = serve({"json": document})
    client = connect(server)
    for _ in range(2):
        assert client.complete("hi").text == "hi"
    assert server.connection_count == 1


# A stream that fails.


def test_failed_stream_raises_the_same_error_again(serve: Any, connect: Any) -> None:
    """Each pull and ``message`` raise it; its partial is what had arrived."""
    script = {"steps": [{"text": "Hel"}, {"usage": {"prompt_tokens": 3}}, {"close": True}]}
    stream = connect(serve(script)).stream("hi")
    with pytest.raises(LlmError) as first:
        for _ in check_grammar(stream):
            pass
    for pull in (lambda: next(stream), lambda: stream.message, lambda: list(stream)):
        with pytest.raises(LlmError) as again:
            pull()
        assert again.value is first.value
    assert first.value.code in ("STREAM_CLOSED", "TRANSPORT")
    assert first.value.partial == stream.partial
    assert stream.partial == Partial("Hel", usage=TokenUsage(input_tokens=3))
    stream.close()
    with pytest.raises(LlmError) as still:
        next(stream)
    assert still.value is first.value and "failed" in repr(stream)


def test_traceback_of_a_failed_stream_does_not_grow(serve: Any, connect: Any) -> None:
    """After many pulls the error's traceback is as long as after the second."""
    stream = connect(serve({"steps": [{"close": True}]})).stream("hi")
    lengths = []
    for _ in range(20):
        with pytest.raises(LlmError) as told:
            next(stream)
        lengths.append(len(traceback.extract_tb(told.value.__traceback__)))
    assert len(set(lengths[1:])) == 1


def test_finish_of_a_failed_answer_is_never_handed_out(serve: Any, connect: Any) -> None:
    """A failed answer raises, and no finish chunk is iterated."""
    script = {"steps": [{"text": "a"}, {"finish": "content_filter"}, {"done": True}]}
    stream, seen = connect(serve(script)).stream("hi"), []
    with pytest.raises(LlmError) as caught:
        for chunk in stream:
            seen.append(chunk)
    assert caught.value.code == "CONTENT_FILTER" and caught.value.partial.text == "a"
    assert not any(isinstance(chunk, Finish) for chunk in seen)
    assert stream.finish == "error"
    assert stream.failure == caught.value.failure
    assert stream.time_to_first_token is not None


def test_failure_before_a_chunk_has_no_first_token(serve: Any, connect: Any) -> None:
    """The finish of a failed attempt does not count as a first token."""
    stream = connect(serve(BUSY)).stream("hi")
    assert code_of(lambda: stream.message) == "SERVER"
    assert stream.time_to_first_token is None and stream.duration > 0


def test_error_says_request_id_and_status(serve: Any, connect: Any) -> None:
    """The failure and the stream have the request id that support asks for."""
    stream = connect(serve({**BUSY, "headers": {"x-request-id": "req-9"}})).stream("hi")
    with pytest.raises(LlmError) as caught:
        next(stream)
    failure = caught.value.failure
    assert (failure.status, failure.request_id, stream.request_id) == (503, "req-9", "req-9")


def test_request_id_of_an_earlier_attempt_is_not_told(serve: Any, connect: Any) -> None:
    """If the second attempt got no answer, the stream has no id."""
    first = {**BUSY, "headers": {"x-request-id": "req-9"}}
    stream = connect(
        serve(first, {"slam": True}, {"slam": True}),
        retry=replace(QUICK, max_retries=1),
    ).stream("hi")
    with pytest.raises(LlmError) as caught:
        next(stream)
    assert caught.value.code == "TRANSPORT" and caught.value.failure.request_id is None
    assert stream.request_id is None and stream.attempts == 2


# Leaving early.


def test_close_then_message_is_aborted(serve: Any, connect: Any) -> None:
    """``message`` raises each time, the server sees the close, and the partial is kept."""
    server = serve(SLOW)
    stream = connect(server).stream("hi")
    assert isinstance(stream, Stream) and next(stream) and next(stream)
    stream.close()
    stream.close()
    for pull in (lambda: stream.message, lambda: next(stream), lambda: list(stream)):
        assert code_of(pull) == "ABORTED"
    with pytest.raises(LlmError) as caught:
        stream.message
    assert caught.value.partial.text == "Hel" and caught.value.retryable is False
    assert stream.finish == "aborted" and stream.failure == caught.value.failure
    assert server.requests[0].wait_peer_left(3)


def test_close_before_the_first_pull_asks_nobody(serve: Any, connect: Any) -> None:
    """No connection is made for a stream that nobody reads."""
    server = serve(HELLO)
    stream = connect(server).stream("hi")
    stream.close()
    assert code_of(lambda: stream.message) == "ABORTED"
    assert server.connection_count == 0


@pytest.mark.parametrize("script", [SLOW, SILENT], ids=["body", "headers"])
def test_close_from_another_thread_ends_a_blocked_pull(
    serve: Any, connect: Any, script: Any
) -> None:
    """Before the headers and in the body, the pull is ABORTED soon and the socket closed."""
    server = serve(script)
    stream = connect(server).stream("hi")
    timer = later(0.3, stream.close)
    began = time.monotonic()
    assert code_of(lambda: stream.message) == "ABORTED"
    assert time.monotonic() - began < 3.0
    timer.join()
    assert code_of(lambda: next(stream)) == "ABORTED"
    assert server.requests[0].wait_peer_left(3)


def test_close_from_another_thread_ends_a_retry_wait(serve: Any, connect: Any) -> None:
    """close() also ends the wait between two attempts."""
    server = serve({**BUSY, "headers": {"retry-after": "30"}})
    stream = connect(server, retry=RetryPolicy(), limits=Limits(total_timeout=None)).stream("hi")
    timer = later(0.3, stream.close)
    began = time.monotonic()
    assert code_of(lambda: stream.message) == "ABORTED"
    assert time.monotonic() - began < 3.0
    timer.join()
    assert len(server.requests) == 1


def test_leaving_with_closes(serve: Any, connect: Any) -> None:
    """The end of a with block closes the socket, even if the stream is still referenced."""
    server = serve(SLOW)
    with connect(server).stream("hi") as stream:
        next(stream)
    assert server.requests[0].wait_peer_left(3)
    assert code_of(lambda: stream.message) == "ABORTED"


class Mine(Exception):
    """An exception of the consumer's own."""


def test_exception_in_the_consumer_comes_out_unchanged(serve: Any, connect: Any) -> None:
    """It comes out unchanged, the socket is closed and nothing is retried."""
    server, mine = serve(SLOW), Mine("mine")
    with pytest.raises(Mine) as caught:
        with connect(server, retry=QUICK).stream("hi") as stream:
            for _ in stream:
                raise mine
    assert caught.value is mine and mine.__cause__ is None and mine.__context__ is None
    assert server.requests[0].wait_peer_left(3) and len(server.requests) == 1


@pytest.mark.parametrize("kind", [Mine, KeyboardInterrupt, SystemExit, LlmError])
def test_exception_in_on_chunk_comes_out_unchanged(serve: Any, connect: Any, kind: Any) -> None:
    """An exception of on_chunk comes out unchanged, even if it is an LlmError."""
    server = serve(SLOW)
    mine = LlmError("mine", "SERVER") if kind is LlmError else kind("mine")

    def on_chunk(chunk: StreamChunk) -> None:
        raise mine

    with pytest.raises(kind) as caught:
        connect(server, retry=QUICK).complete("hi", on_chunk=on_chunk)
    assert caught.value is mine
    assert server.requests[0].wait_peer_left(3) and len(server.requests) == 1


@POSIX
@pytest.mark.parametrize("script", [SLOW, SILENT], ids=["body", "headers"])
def test_ctrl_c_in_a_read_comes_out_and_closes(serve: Any, connect: Any, script: Any) -> None:
    """A signal that raises KeyboardInterrupt while the server is silent closes the socket."""
    server = serve(script)
    client = connect(server, retry=QUICK)
    stream = client.stream("hi")

    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            for _ in stream:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert server.requests[0].wait_peer_left(3) and len(server.requests) == 1
    assert code_of(lambda: next(stream)) == "ABORTED"


def test_abandoned_stream_closes_its_socket(serve: Any, connect: Any) -> None:
    """When the last reference to a stream goes, the server sees the close."""
    server = serve(SLOW)
    stream = connect(server).stream("hi")
    next(stream)
    del stream
    assert server.requests[0].wait_peer_left(3)


def test_abandoned_stream_in_a_cycle_closes_its_socket(serve: Any, connect: Any) -> None:
    """Nothing warns, in whatever order the collector comes to its parts.

    Collections at odd moments bring the parts into odd orders: one in ten has the socket
    before all that would close it.
    """
    server, chance, before = serve(SLOW), random.Random(3), gc.get_threshold()
    client = connect(server)
    try:
        for _ in range(10):
            gc.set_threshold(chance.randint(5, 700), chance.randint(1, 10), 10)
            stream = client.stream("hi")
            next(stream)
            box: List[Any] = [stream]
            box.append(box)
            del box, stream
            gc.collect()
    finally:
        gc.set_threshold(*before)
    assert all(request.wait_peer_left(3) for request in server.requests)


@pytest.mark.parametrize("script", [SLOW, SILENT], ids=["body", "headers"])
def test_cancel_is_seen_in_every_phase(serve: Any, connect: Any, script: Any) -> None:
    """ABORTED with the partial, from complete() too; nothing is retried."""
    server, cancel = serve(script), threading.Event()
    timer = later(0.3, cancel.set)
    began = time.monotonic()
    with pytest.raises(LlmError) as caught:
        connect(server, retry=QUICK).complete("hi", cancel=cancel)
    assert time.monotonic() - began < 3.0
    timer.join()
    assert caught.value.code == "ABORTED" and len(server.requests) == 1
    assert caught.value.partial.text == ("Hello" if script is SLOW else "")
    assert server.requests[0].wait_peer_left(3)


def test_cancelled_between_chunks_already_here(serve: Any, connect: Any) -> None:
    """After the event, chunks that were already read are not handed out."""
    cancel = threading.Event()
    stream = connect(serve(HELLO)).stream("hi", cancel=cancel)
    for chunk in stream:
        if isinstance(chunk, TextDelta):
            break
    cancel.set()
    assert code_of(lambda: next(stream)) == "ABORTED"
    assert stream.partial.text == "hello "


# complete().


def test_complete_shows_each_chunk(serve: Any, connect: Any) -> None:
    """on_chunk sees the finish too, and the message is the one a stream would give."""
    seen: List[StreamChunk] = []
    client = connect(serve(HELLO))
    message = client.complete("hi", on_chunk=seen.append)
    assert isinstance(seen[-1], Finish) and message == client.stream("hi").message
    assert client.complete("hi", system="be good", max_tokens=5) == message


def test_complete_may_retry_at_any_point_where_nobody_looks(serve: Any, connect: Any) -> None:
    """With on_chunk, or in a stream, no retry follows a chunk that was seen."""
    cut = {"steps": [{"text": "Hel"}, {"reset": True}]}
    assert connect(serve(cut, HELLO), retry=QUICK).complete("hi").text == "hello big world"
    for ask in (lambda c: c.complete("hi", on_chunk=lambda chunk: None),
                lambda c: c.stream("hi").message):
        server = serve(cut, HELLO)
        with pytest.raises(LlmError) as caught:
            ask(connect(server, retry=QUICK))
        assert caught.value.partial.text in ("", "Hel") and len(server.requests) == 1


def test_retry_is_off_where_none_was_given(serve: Any, connect: Any) -> None:
    """There is one request, by default and with max_retries=0."""
    for retry in (None, RetryPolicy(max_retries=0)):
        server = serve(BUSY, HELLO)
        assert code_of(lambda: connect(server, retry=retry).complete("hi")) == "SERVER"
        assert len(server.requests) == 1


def test_retry_honours_the_total_clock_over_all_attempts(serve: Any, connect: Any) -> None:
    """Attempts and their waits share one total clock."""
    slow = {**BUSY, "header_delay": 0.25}
    server = serve(slow)
    client = connect(
        server, retry=replace(QUICK, mode="always"), limits=Limits(total_timeout=0.6)
    )
    began = time.monotonic()
    with pytest.raises(LlmError) as caught:
        client.complete("hi")
    assert time.monotonic() - began < 3.0
    assert caught.value.failure.clock == "total" and 2 <= len(server.requests) <= 3


def test_retry_heals_with_new_settings(serve: Any, connect: Any) -> None:
    """If endpoint, key and options change between two attempts, the next attempt uses them."""
    bad, good = serve(BUSY), serve(HELLO)
    client = connect(
        bad, retry=QUICK,
        on_retry=lambda record: client.adapter.configure(
            base_url=good.base_url, api_key="sk-second-123",
            options=ChatCompletionsOptions(max_tokens_field="max_completion_tokens"),
        ),
    )
    assert client.complete("hi", max_tokens=7).text == "hello big world"
    first, second = bad.requests[0], good.requests[0]
    assert first.headers["authorization"] == f"Bearer {KEY}" and "max_tokens" in first.json()
    assert second.headers["authorization"] == "Bearer sk-second-123"
    assert second.json()["max_completion_tokens"] == 7 and "max_tokens" not in second.json()


def test_settings_changed_in_mid_stream_are_the_next_calls(serve: Any, connect: Any) -> None:
    """A running stream keeps the settings it began with."""
    server, other = serve(HELLO), serve({"steps": [{"answer": {"text": "other"}}]})
    client = connect(server)
    stream = client.stream("hi")
    next(stream)
    client.adapter.configure(base_url=other.base_url, api_key="sk-second-123")
    assert stream.message.text == "hello big world"
    assert client.complete("hi").text == "other"
    assert other.requests[0].headers["authorization"] == "Bearer sk-second-123"


# What is wrong locally.

PROFILE = ProviderProfile(
    name="mine", key_env=("MINE_KEY",), models=(ModelInfo("m", efforts=("low",), images=False),)
)
CIRCLE: List[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "client_args, call_args, code",
    [
        ({"api_key": None}, {}, "MISSING_CREDENTIAL"),
        ({"api_key": lambda: None}, {}, "MISSING_CREDENTIAL"),
        ({"api_key": "sk-…"}, {}, "INVALID_CREDENTIAL"),
        ({"api_key": lambda: ""}, {}, "INVALID_CREDENTIAL"),
        ({"headers": {"Authorization": "a\nb"}}, {}, "INVALID_CREDENTIAL"),
        ({"base_url": "localhost:1/v1"}, {}, "INVALID_REQUEST"),
        ({"base_url": None}, {}, "INVALID_REQUEST"),
        ({"app": "tool\n"}, {}, "INVALID_REQUEST"),
        ({}, {"headers": {"User-Agent": ""}}, "INVALID_REQUEST"),
        ({}, {"headers": {"User-Agent": None}}, "INVALID_REQUEST"),
        ({}, {"messages": None}, "INVALID_REQUEST"),
        ({}, {"messages": []}, "INVALID_REQUEST"),
        ({}, {"messages": "hi \ud83d"}, "INVALID_REQUEST"),
        ({}, {"messages": [{"role": "tool", "tool_call_id": "x", "content": ""}]},
         "INVALID_REQUEST"),
        ({}, {"tools": [{"name": "f", "parameters": {"x": float("nan")}}]}, "INVALID_REQUEST"),
        ({}, {"tools": [{"name": "f"}, {"name": "f"}]}, "INVALID_REQUEST"),
        ({}, {"extra_body": {"n": 2}}, "INVALID_REQUEST"),
        ({}, {"extra_body": {"stream": False}}, "INVALID_REQUEST"),
        ({}, {"extra_body": {"a": CIRCLE}}, "INVALID_REQUEST"),
        ({}, {"temperature": float("inf")}, "INVALID_REQUEST"),
        ({}, {"max_tokens": 0}, "INVALID_REQUEST"),
        ({}, {"session_id": "a\nb"}, None),
        ({}, {"reasoning_effort": "max"}, "UNSUPPORTED_REASONING_EFFORT"),
        ({}, {"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "http://h/i.png"}}]}]},
         "UNSUPPORTED_CONTENT"),
    ],
)
def test_local_mistake_is_raised_by_stream(
    serve: Any, connect: Any, client_args: Any, call_args: Any, code: Any
) -> None:
    """stream() raises it, before any pull and any connection."""
    server = serve(HELLO)
    client = connect(server, provider=PROFILE, **client_args)
    ask = {"messages": "hi", **call_args}
    if code is None:  # a header that no profile names is not sent, whatever is in it
        assert client.stream(**ask).message
        return
    with pytest.raises(LlmError) as caught:
        client.stream(**ask)
    assert caught.value.code == code and not caught.value.retryable
    assert caught.value.failure.phase == "prepare"
    assert server.connection_count == 0


def test_model_without_a_name(serve: Any) -> None:
    """An empty model name is refused as the caller's mistake."""
    with Client("", base_url=serve(HELLO).base_url) as client:
        assert code_of(lambda: client.stream("hi")) == "INVALID_REQUEST"


@pytest.mark.parametrize(
    "rest, kind",
    [
        ({"provider": "no-such"}, ValueError), ({"provider": 5}, TypeError),
        ({"retry": 3}, TypeError), ({"limits": {"idle_timeout": 3}}, TypeError),
        ({"session": "file.jsonl"}, TypeError), ({"options": {}}, TypeError),
        ({"pool_size": 0}, ValueError), ({"headers": "a: b"}, TypeError),
    ],
)
def test_client_of_wrong_arguments(rest: Any, kind: Any) -> None:
    """The constructor raises TypeError or ValueError."""
    with pytest.raises(kind):
        Client("m", **rest)


def test_stream_of_wrong_argument_types(serve: Any, connect: Any) -> None:
    """Limits and headers of another type are refused before any I/O."""
    server = serve(HELLO)
    client = connect(server)
    for rest in ({"limits": {"idle_timeout": 3}}, {"headers": [("a", "b")]}, {"odd": 1},
                 {"cancel": True}):
        with pytest.raises(TypeError, match=next(iter(rest))):
            client.stream("hi", **rest)
        with pytest.raises(TypeError, match=next(iter(rest))):
            client.complete("hi", **rest)
    with pytest.raises(TypeError, match="unexpected argument 'hold'"):
        client.complete("hi", hold=True)
    assert server.connection_count == 0


def test_base_url_of_the_environment_may_change_between_calls(
    serve: Any, monkeypatch: Any
) -> None:
    """The variable is read at each call, and no old address is reused."""
    with Client("m", provider="openai-compatible") as client:
        for _ in range(2):
            server = serve(HELLO)
            monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.base_url)
            for _ in range(2):
                client.complete("hi")
            assert len(server.requests) == 2


@pytest.mark.parametrize("base_url", [[], {}, 5, True, b"http://h"])
def test_base_url_of_another_type_is_refused(base_url: Any) -> None:
    """A base URL that is not a string is refused, even one that cannot be hashed."""
    with Client("m", base_url=base_url) as client:
        assert code_of(lambda: client.stream("hi")) == "INVALID_REQUEST"


def test_client_without_a_base_url_says_how_to_give_one(monkeypatch: Any) -> None:
    """The variable is not read unless a provider is named."""
    monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", "http://127.0.0.1:1/v1")
    with Client("m") as client:
        with pytest.raises(LlmError, match="or provider=.openai-compatible.") as caught:
            client.stream("hi")
    assert caught.value.code == "INVALID_REQUEST"
    with Client("m", provider="openai-compatible") as client:
        client.stream("hi").close()


# Keys from the environment.


def run_script(script: str, **environ: str) -> str:
    """Run a script in a fresh interpreter whose environment is as told."""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", script], cwd=ROOT, timeout=60,
        capture_output=True, text=True, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_naming_a_provider_allows_reading_its_key(serve: Any) -> None:
    """Key and base URL are read from the environment only if a provider is named."""
    server = serve(HELLO)
    script = (
        "from streamcore import Client\n"
        f"url = {server.base_url!r}\n"
        "with Client('m', base_url=url) as c: c.complete('hi')\n"
        "with Client('m', base_url=url, provider='deepseek') as c: c.complete('hi')\n"
        "with Client('m', provider='groq') as c: c.complete('hi')\n"
    )
    names = {"OPENAI_COMPATIBLE_API_KEY": "wrong-key", "OPENAI_API_KEY": "wrong-key",
             "DEEPSEEK_API_KEY": "deep-key", "GROQ_API_KEY": "groq-key"}
    base = get_profile("groq").base_url_env
    run_script(script, **names, **({base: server.base_url} if base else {}))
    keys = [request.headers.get("authorization") for request in server.requests]
    assert keys[:2] == [None, "Bearer deep-key"]
    assert keys[2:] == ["Bearer groq-key"]


# Threads and forks.


def test_fifty_threads_get_fifty_right_answers(serve: Any, connect: Any) -> None:
    """On one shared client, each call has its own parser and its own answer."""
    server = serve({"steps": [{"answer": {"text": "you said {last_user} indeed", "every": 0.001}}]})
    client = connect(server, pool_size=8)
    wrong: List[Any] = []
    start = threading.Barrier(50)

    def ask(number: int) -> None:
        start.wait()
        try:
            for turn in range(2):
                text = client.complete(f"<{number}-{turn}>").text
                if text != f"you said <{number}-{turn}> indeed":
                    wrong.append(text)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(server.requests) == 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_client_works_on_in_a_forked_child(serve: Any) -> None:
    """Parent and child share no socket, and each gets its own answers."""
    server = serve({"steps": [{"answer": {"text": "{last_user}"}}]})
    script = (
        "import os\n"
        "from streamcore import Client\n"
        f"client = Client('m', base_url={server.base_url!r})\n"
        "assert client.complete('before').text == 'before'\n"
        "child = os.fork()\n"
        "name = 'parent' if child else 'child'\n"
        "for n in range(5):\n"
        "    assert client.complete(name + str(n)).text == name + str(n)\n"
        "client.close()\n"
        "if not child: os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    run_script(script)
    used: Dict[int, set] = {}  # type: ignore[type-arg]
    for request in server.requests[1:]:
        used.setdefault(request.connection, set()).add(request.last_user()[:5])
    assert all(len(names) == 1 for names in used.values())
    assert len(server.requests) == 11 and server.connection_count == 2


# The provider of a message, and what goes back to it.


def test_opaque_extras_go_back_to_the_same_provider_only(serve: Any, connect: Any) -> None:
    """A thought signature of one provider is not sent to another."""
    call = {"index": 0, "id": "c", "type": "function", "name": "f", "arguments": "{}",
            "extra_content": {"google": {"thought_signature": "AAA"}}}
    turn = {"steps": [{"tool_call": call}, {"finish": "tool_calls"}, {"done": True}]}
    servers = [serve(turn, HELLO), serve(HELLO)]
    gemini = connect(servers[0], provider="gemini")
    other = connect(servers[1], provider="openai")
    answer = gemini.complete("hi", tools=[{"name": "f"}])
    assert answer.provider == "gemini"
    history = ["hi", answer, {"role": "tool", "tool_call_id": "c", "content": "1"}]
    messages = [{"role": "user", "content": "hi"}, *history[1:]]
    for client in (gemini, other):
        assert client.complete(messages).text == "hello big world"
    assert b"thought_signature" in servers[0].requests[1].body
    assert b"thought_signature" not in servers[1].requests[0].body
    assert b'"tool_call_id":"c"' in servers[1].requests[0].body


def test_message_names_the_route_a_hook_chose(serve: Any, connect: Any) -> None:
    """The provider of a message is the one that gave the answer."""
    client = connect(serve(BUSY), provider="openai")
    other = connect(serve(HELLO), provider="groq")
    client.runtime.register_adapter(["groq"], other.adapter)
    client.runtime.on_request(lambda config: replace(config, provider="groq"))
    assert client.complete("hi").provider == "groq"


# Middleware at the client.


def test_middleware_that_swallows_the_finish(serve: Any, connect: Any) -> None:
    """There is no message, and the failure is not ABORTED."""
    client = connect(serve(HELLO))
    client.runtime.use(
        lambda request, call: (c for c in call(request) if not isinstance(c, Finish))
    )
    stream = client.stream("hi")
    assert code_of(lambda: stream.message) == "STREAM_CLOSED"
    assert stream.partial.text == "hello big world"


def test_middleware_with_a_failure_of_its_own(serve: Any, connect: Any) -> None:
    """A finish with a failure that a middleware makes is raised as that failure."""
    client = connect(serve(HELLO))
    refusal = Failure("CONTENT_FILTER", "not here")
    client.runtime.use(lambda request, call: iter([Finish(FinishReason("error", refusal))]))
    with pytest.raises(LlmError) as caught:
        client.complete("hi")
    assert caught.value.failure == refusal


@pytest.mark.parametrize("after", [False, True])
def test_middleware_error_fails_the_answer(serve: Any, connect: Any, after: bool) -> None:
    """In the stream or after its finish, the exception is the cause, and nothing is retried."""
    server, mine = serve(HELLO if after else SLOW), Mine("mine")

    def failing(request: LlmRequest, call: Any) -> Iterator[StreamChunk]:
        for chunk in call(request):
            yield chunk
            if not after:
                raise mine
        raise mine

    client = connect(server, retry=QUICK)
    client.runtime.use(failing)
    with pytest.raises(LlmError, match="the middleware raised Mine") as caught:
        client.complete("hi")
    assert caught.value.code == "INVALID_ADAPTER" and caught.value.__cause__ is mine
    assert len(server.requests) == 1
    if not after:
        assert server.requests[0].wait_peer_left(3)


def test_start_takes_a_request_made_by_hand(serve: Any, connect: Any) -> None:
    """start(), which the agent uses, gives chunks that end in a finish, also after a failure."""
    client = connect(serve(HELLO, BUSY))
    config = CallConfig("m", "openai-compatible")
    chunks = list(check_grammar(client.start(LlmRequest(config, "hi")).chunks()))
    assert chunks[-1].reason == FinishReason("stop")  # type: ignore[attr-defined]
    (end,) = client.start(LlmRequest(config, "hi")).chunks()
    assert isinstance(end, Finish) and end.reason.kind == "error"


# The client as a value.


def test_client_shows_and_pickles_no_key(serve: Any, connect: Any) -> None:
    """repr shows model and provider; pickle and copy are refused."""
    client = connect(serve(HELLO), headers={"X-Api-Key": KEY})
    assert repr(client) == "<Client m at openai-compatible>"
    for make in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            make(client)


def test_closed_client_refuses_calls(serve: Any) -> None:
    """A call after close() says that the client is closed, and is not retryable."""
    server = serve(HELLO)
    client = Client("m", base_url=server.base_url)
    with client:
        client.complete("hi")
    with pytest.raises(LlmError, match="closed") as refused:
        client.complete("hi")
    assert (refused.value.code, refused.value.retryable) == ("TRANSPORT", False)
    client.close()


def test_profile_may_bring_its_retry_policy(serve: Any, connect: Any) -> None:
    """The profile's policy is used, unless the client was given one."""
    if "retry" not in ProviderProfile.__dataclass_fields__:
        pytest.skip("profiles have no retry policy")
    profile = ProviderProfile(name="mine", key_required=False, **{"retry": QUICK})
    assert connect(serve(BUSY, HELLO), provider=profile).complete("hi").text == "hello big world"
