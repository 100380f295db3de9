# SPDX-License-Identifier: MIT
"""What a call records in a session log, and when, with a client and real sockets.

Files are read without the session's own code: line by line, as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from streamcore.client import Client
from streamcore.loopback import LoopbackServer
from streamcore.session import CALL_ENDS
from streamcore.session import Session
from streamcore.values.chunks import FINISH_KINDS, Finish, StreamChunk
from streamcore.values.errors import LlmError
from streamcore.values.grammar import check_grammar
from streamcore.values.limits import Limits
from streamcore.values.messages import (
    AssistantMessage,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
)
from streamcore.values.retry import RetryPolicy
from streamcore.wire.history import check_history

KEY = "sk-recording-0123456789"
HELLO: Dict[str, Any] = {"steps": [{"answer": {"text": "hello big world", "usage": {
    "prompt_tokens": 3, "completion_tokens": 2}}}]}
CALLS: Dict[str, Any] = {"steps": [{"answer": {"text": "so", "reasoning": "hm", "tool_calls": [
    {"id": "a", "name": "look", "arguments": {"at": "moon"}}, {"id": "b", "name": "look"}]}}]}
BUSY: Dict[str, Any] = {"status": 503, "json": {"error": {"message": "busy"}}}
CUT: Dict[str, Any] = {"steps": [{"text": "Hel"}, {"close": True}], "framing": "close"}
QUICK = RetryPolicy(initial_delay=0.002, jitter=0.0)
TOOLS = [{"name": "look", "parameters": {"type": "object"}}]


@pytest.fixture
def ask() -> Iterator[Callable[..., Any]]:
    """Make a client of a provider with these answers; both are closed afterwards."""
    closing: List[Any] = []

    def make(*answers: Any, **rest: Any) -> Client:
        server = LoopbackServer(list(answers)).start()
        given = {"base_url": server.base_url, "api_key": KEY, **rest}
        client = Client(given.pop("model", "m"), **given)
        client.server = server  # type: ignore[attr-defined]
        closing.extend((client, server))
        return client

    yield make
    for one in closing:
        one.close()


def types_of(log: Session) -> List[str]:
    """Return the types of all events; a run of chunks counts as one."""
    types = [event.type for event in log]
    return [kind for at, kind in enumerate(types)
            if kind != "assistant/chunk" or types[at - 1] != kind]


def lines_of(path: Path) -> List[Any]:
    """Return the lines that are in the file right now."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def chunks_of(log: Session) -> List[Any]:
    """Return the data of all chunk events."""
    return [dict(event.data) for event in log if event.type == "assistant/chunk"]


TURN = ["session/start", "turn/start", "user/message", "request/header", "request/context",
        "assistant/chunk", "assistant/message", "turn/end"]


def test_call_is_recorded_in_order(ask: Any) -> None:
    """Turn, user, request, chunks, message, end; the message names its chunks."""
    log = Session()
    message = ask(HELLO, session=log).complete("hi", system="be good", temperature=0.5)
    assert types_of(log) == TURN
    by_type = {event.type: event for event in log}
    header, answer = by_type["request/header"].data, by_type["assistant/message"].data
    assert header["reason"] == "initial" and header["system"] == "be good"
    assert header["config"] == {"model": "m", "provider": "openai-compatible", "temperature": 0.5}
    raw = {"prompt_tokens": 3, "completion_tokens": 2}
    assert answer["usage"] == {"input_tokens": 3, "output_tokens": 2, "raw": raw}
    assert [log.events[seq].type for seq in answer["source_seqs"]] == (
        ["assistant/chunk"] * len(chunks_of(log)))
    assert by_type["turn/end"].data == {"reason": "stop"}
    assert log.derive_messages() == [Message("user", (TextBlock("hi"),)), message]


def test_log_of_one_call_goes_before_the_clients(ask: Any) -> None:
    """With stream(session=…) the call is recorded there and not in the client's session."""
    mine, clients = Session(), Session()
    ask(HELLO, session=clients).stream("hi", session=mine).message
    assert types_of(mine) == TURN and types_of(clients) == ["session/start"]


def test_header_is_on_the_disk_before_the_first_byte_goes_out(ask: Any, tmp_path: Path) -> None:
    """The request is written and synced before the provider receives anything of it."""
    done: List[Any] = []

    def write(fd: int, data: bytes) -> int:
        written = os.write(fd, data)
        done.append((time.monotonic(), bytes(data)))
        return written

    def fsync(fd: int) -> None:
        os.fsync(fd)
        done.append((time.monotonic(), b"synced"))

    with Session(tmp_path / "log", write=write, fsync=fsync) as log:
        client = ask(HELLO, session=log)
        stream = client.stream("hi")
        assert len(lines_of(tmp_path / "log")) == 1 and client.server.connection_count == 0
        next(stream)
        received = client.server.requests[0].received_at
        before = [data for when, data in done if when < received]
        assert b'"request/context"' in before[-2] and before[-1] == b"synced"
        assert any(b'"request/header"' in data for data in before)
        stream.close()


def test_each_chunk_is_in_the_file_before_the_consumer_sees_it(ask: Any, tmp_path: Path) -> None:
    """At each chunk the file has it already, and at the finish it has the whole turn."""
    with Session(tmp_path / "log") as log:
        for chunk in ask(CALLS, session=log).stream("hi", tools=TOOLS):
            lines = lines_of(tmp_path / "log")
            seen = [line["data"] for line in lines if line["type"] == "assistant/chunk"]
            assert seen[-1] == chunk.to_dict()
            if isinstance(chunk, Finish):
                assert [line["type"] for line in lines[-2:]] == ["assistant/message", "turn/end"]


def test_replay_equals_the_first_stream(ask: Any, tmp_path: Path) -> None:
    """The recorded chunks equal the first ones, in order, also after opening again."""
    with Session(tmp_path / "log") as log:
        chunks = list(ask(CALLS, session=log).stream("hi", tools=TOOLS))
        seq = next(e.seq for e in log if e.type == "assistant/message")
        assert list(check_grammar(log.replay(seq))) == chunks
    with Session.open(tmp_path / "log") as log:
        assert list(log.replay(seq)) == chunks


@pytest.mark.parametrize("provider", ["openai-compatible", "openai", "deepseek", "gemini"])
def test_recorded_request_gives_the_body_that_was_sent(ask: Any, provider: str) -> None:
    """Every rebuilt request of a conversation equals what the provider received."""
    log = Session()
    client = ask(CALLS, HELLO, session=log, provider=provider, model="deepseek-chat")
    rest = {"system": "be good", "tools": TOOLS, "temperature": 0.25, "stop": ["x"],
            "extra_body": {"z": 1, "a": {"b": [None]}}, "max_tokens": 9}
    history: List[Any] = [{"role": "user", "content": "hi ✓"}]
    history.append(client.complete(history, **rest))
    history += [{"role": "tool", "tool_call_id": i, "content": f"result {i}"} for i in "ab"]
    history.append({"role": "user", "content": "and?"})
    history.append(client.complete(history, **rest))
    history.append({"role": "user", "content": "go on"})
    client.complete(history, **{**rest, "temperature": 1.0})
    contexts = [event.seq for event in log if event.type == "request/context"]
    sent = [request.body for request in client.server.requests]
    assert [log.rebuild_request(seq) for seq in contexts] == sent and len(sent) == 3
    reasons = [event.data["reason"] for event in log if event.type == "request/header"]
    assert reasons == ["initial", "change"]
    check_history(log.derive_messages())


def test_session_goes_on_with_another_provider(ask: Any, tmp_path: Path) -> None:
    """The copy that goes out is fitted and counted; the log keeps what was said."""
    call = ToolCall("functions.look:0", "look")
    history = [
        Message("user", (TextBlock("go"),)),
        AssistantMessage(content=(ReasoningBlock("hm"), call), provider="moonshot"),
        Message("tool", (ToolResult(call.id, "1"),)), Message("user", (TextBlock("so?"),)),
    ]
    with Session(tmp_path / "log") as log:
        client = ask(BUSY, HELLO, session=log, provider="mistral", retry=QUICK)
        stream = client.stream(history)
        assert stream.message.text == "hello big world" and stream.attempts == 2
        assert stream.diagnostics == {  # of the last attempt
            "call_id_mapped": 1, "placeholder_added": 1, "reasoning_left_out": 1,
        }
    sent = client.server.requests[1]
    result = sent.json()["messages"][2]
    assert result["content"] == "1" and len(result["tool_call_id"]) == 9
    with Session.open(tmp_path / "log") as log:
        seq = next(event.seq for event in log if event.type == "request/context")
        assert log.request_at(seq).messages[1].content == history[1].content
        assert log.rebuild_request(seq) == sent.body


def test_conversation_is_recorded_once(ask: Any) -> None:
    """Each call adds what the log does not have yet; the history is the conversation."""
    log = Session()
    client = ask(HELLO, session=log)
    history: List[Any] = [{"role": "user", "content": "one"}]
    for text in ("two", "three"):
        history += [client.complete(history), {"role": "user", "content": text}]
    history.append(client.complete(history))
    derived = log.derive_messages()
    assert [m.to_dict() for m in derived] == [
        m if isinstance(m, dict) else m.to_dict() for m in history]
    assert types_of(log).count("user/message") == 3


def test_another_conversation_in_one_log_keeps_its_question(ask: Any) -> None:
    """An answer is never recorded after a question that was not asked."""
    log = Session()
    client = ask({"steps": [{"answer": {"text": "you said {last_user}"}}]}, session=log)
    client.complete("one")
    client.complete("two")
    client.complete([{"role": "user", "content": "three"}, {"role": "assistant", "content": "no"},
                     {"role": "user", "content": "four"}])
    texts = [message.text for message in log.derive_messages()]
    assert texts == ["one", "you said one", "two", "you said two", "four", "you said four"]


def test_settings_the_adapter_filled_are_marked(ask: Any) -> None:
    """The settings are recorded as they are sent, with defaults and changes of hooks."""
    log = Session()
    client = ask(HELLO, session=log, provider="deepseek", model="deepseek-chat")
    client.runtime.on_request(lambda config: replace(config, temperature=0.75))
    client.complete("hi")
    header = next(event.data for event in log if event.type == "request/header")
    sent = client.server.requests[0].json()
    assert "max_tokens" in header["adapter_defaults"]
    assert header["config"]["max_tokens"] == sent["max_tokens"]
    assert header["config"]["temperature"] == 0.75 == sent["temperature"]


# Attempts that fail.


def test_failed_attempts_keep_their_chunks_and_no_message(ask: Any) -> None:
    """Each attempt's request and chunks are logged; only the good one is in the history."""
    log, retries = Session(), []
    client = ask(BUSY, CUT, HELLO, session=log, retry=QUICK, on_retry=retries.append)
    message = client.complete("hi")
    again = ["retry/scheduled", "retry/started", "request/context", "assistant/chunk"]
    assert types_of(log) == [*TURN[:6], *again, *again, "assistant/message", "turn/end"]
    scheduled = [event.data for event in log if event.type == "retry/scheduled"]
    assert [data["attempt"] for data in scheduled] == [1, 2]
    assert scheduled == [record.to_dict() for record in retries]
    assert [e.data["attempt"] for e in log if e.type == "retry/started"] == [2, 3]
    kinds = [c["reason"]["kind"] for c in chunks_of(log) if c["type"] == "finish"]
    assert kinds == ["error", "error", "stop"]
    assert log.derive_messages()[1:] == [message]
    seq = next(event.seq for event in log if event.type == "assistant/message")
    assert "Hel" not in [getattr(chunk, "text", "") for chunk in log.replay(seq)]


@pytest.mark.parametrize("answer, code", [(BUSY, "SERVER"), (CUT, "STREAM_CLOSED")])
def test_failed_call_ends_its_turn_with_the_failure(ask: Any, answer: Any, code: str) -> None:
    """E16: the log has no message and no success; the next call goes on from there."""
    log = Session()
    client = ask(answer, HELLO, session=log)
    with pytest.raises(LlmError) as caught:
        client.complete("hi")
    assert caught.value.code == code
    assert types_of(log) == [*TURN[:6], "turn/end"]
    assert log.events[-1].data["reason"] == "error"
    assert log.events[-1].data["failure"]["code"] == code
    assert not [c for c in chunks_of(log) if c["type"] == "finish" and "failure" not in c["reason"]]
    client.complete("hi")
    assert [message.role for message in log.derive_messages()] == ["user", "assistant"]


@pytest.mark.parametrize("when", ["waiting", "reading"])
def test_cancelled_call_ends_its_turn_aborted(ask: Any, when: str) -> None:
    """The end is ``aborted``, also if the cancel comes in the wait after a failed attempt."""
    log, cancel = Session(), threading.Event()
    slow = {"steps": [{"text": "a"}, {"stall": True}]}
    answer = {**BUSY, "headers": {"retry-after": "20"}} if when == "waiting" else slow
    client = ask(answer, session=log, retry=RetryPolicy(), limits=Limits(total_timeout=None))
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    with pytest.raises(LlmError):
        client.stream("hi", cancel=cancel).message
    timer.join()
    assert log.events[-1].data["reason"] == "aborted"
    assert log.events[-1].data["failure"]["code"] == "ABORTED"


@pytest.mark.parametrize("how", ["close", "collected", "exception"])
def test_call_that_was_left_ends_its_turn_closed(ask: Any, how: str) -> None:
    """The end is ``closed``, and the part that came does not become a message."""
    log = Session()
    client = ask({"steps": [{"text": "a"}, {"stall": True}]}, session=log)
    stream = client.stream("hi")
    next(stream)
    if how == "close":
        stream.close()
    elif how == "exception":
        with pytest.raises(KeyError):
            with stream:
                raise KeyError
    del stream
    gc.collect()
    assert log.events[-1].type == "turn/end" and log.events[-1].data == {"reason": "closed"}
    assert "assistant/message" not in types_of(log)


def test_words_of_a_calls_end_are_closed() -> None:
    """The words are the kinds of a finish and ``closed``; each has a meaning."""
    assert set(CALL_ENDS) == {*FINISH_KINDS, "closed"} and all(CALL_ENDS.values())


def test_stream_that_is_kept_has_ended_its_turn(ask: Any) -> None:
    """The end is recorded with the last chunk, not when the stream is released."""
    log = Session()
    client = ask(HELLO, session=log)
    first = client.stream("one")
    for chunk in first:
        if isinstance(chunk, Finish):
            break
    assert types_of(log) == TURN
    second = client.stream("two")
    assert second.message
    assert types_of(log).count("turn/end") == 2 and first.message


def test_call_refused_locally_leaves_no_trace(ask: Any) -> None:
    """T21: nothing is recorded of a request that was never sent."""
    log = Session()
    client = ask(HELLO, session=log)
    for rest in ({"messages": "hi \ud83d"}, {"messages": "hi", "temperature": float("nan")}):
        with pytest.raises(LlmError) as caught:
            client.stream(**rest)
        assert caught.value.code == "INVALID_REQUEST"
    client.stream("never pulled")
    assert types_of(log) == ["session/start"]


def test_attempt_refused_locally_ends_the_turn(ask: Any) -> None:
    """A key that is missing at the second attempt ends the turn."""
    log = Session()
    keys = iter([KEY, None])
    client = ask(BUSY, session=log, retry=QUICK, provider="openai", api_key=lambda: next(keys))
    with pytest.raises(LlmError) as caught:
        client.complete("hi")
    assert caught.value.code == "MISSING_CREDENTIAL"
    assert log.events[-1].data["failure"]["code"] == "MISSING_CREDENTIAL"


# A log that cannot be written.


def failing_after(events: int) -> Any:
    """Return a write that fails after so many lines."""
    count = [0]

    def write(fd: int, data: bytes) -> int:
        count[0] += 1
        if count[0] > events:
            raise OSError(28, "No space left on device")
        return os.write(fd, data)

    return write


@pytest.mark.parametrize("good", range(1, 13))
def test_full_disk_is_told_before_the_models_words_are_shown(
    ask: Any, tmp_path: Path, good: int
) -> None:
    """A chunk that cannot be recorded gives SESSION instead; the socket is closed."""
    slow = {"steps": [{"text": "a"}, {"text": "b"}, {"sleep": 0.02}, {"text": "c"},
                      {"finish": "stop"}, {"done": True}, {"stall": True}]}
    with Session(tmp_path / "log", write=failing_after(good), durability="os") as log:
        client = ask(slow, session=log, retry=QUICK)
        seen: List[StreamChunk] = []
        with pytest.raises(LlmError) as caught:
            for chunk in client.stream("hi"):
                seen.append(chunk)
        assert caught.value.code == "SESSION" and not caught.value.retryable
        assert not any(isinstance(chunk, Finish) for chunk in seen)
        kept = [x["data"] for x in lines_of(tmp_path / "log") if x["type"] == "assistant/chunk"]
        assert [chunk.to_dict() for chunk in seen] == kept[: len(seen)]
        requests = client.server.requests
        assert len(requests) == (0 if good < 5 else 1)
        assert all(request.wait_peer_left(3) for request in requests)


def test_consumers_exception_is_not_replaced_by_the_logs(ask: Any, tmp_path: Path) -> None:
    """When both fail, the caller's own exception is raised."""
    slow = {"steps": [{"text": "a"}, {"stall": True}]}
    with Session(tmp_path / "log", write=failing_after(7), durability="os") as log:
        client = ask(slow, session=log)
        with pytest.raises(KeyError, match="mine"):
            with client.stream("hi") as stream:
                assert next(stream) and next(stream)
                raise KeyError("mine")
        assert client.server.requests[0].wait_peer_left(3)


def test_key_is_in_no_log(ask: Any, tmp_path: Path) -> None:
    """L11: neither headers nor an answer that quotes the key put it into the file."""
    answers = [
        {"status": 401, "json": {"error": {"message": f"bad key {KEY}"}}},
        {"steps": [{"text": "a"}, {"error": {"message": f"bad key {KEY}", "code": 401}}]},
        {"body": f"<html>{KEY}</html>", "headers": {"content-type": "text/html"}},
    ]
    with Session(tmp_path / "log") as log:
        client = ask(*answers, session=log, headers={"X-Api-Key": KEY})
        for _ in answers:
            with pytest.raises(LlmError):
                client.complete("hi", headers={"Cookie": f"sid={KEY}"},
                                extra_body={"api_key": KEY})
    text = (tmp_path / "log").read_text("utf-8")
    assert KEY not in text and text.count('"turn/end"') == 3
