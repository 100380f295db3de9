# SPDX-License-Identifier: MIT
"""The session log: what is recorded, how it is kept, and what can be read from it.

Files are real. A failing disk is a ``write`` or ``fsync`` given as an argument, and in one test a
real limit, set in a process of its own.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
import threading
import timeit
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import pytest

from streamcore.session import NOT_STARTED, OUTCOME_UNKNOWN, Session
from streamcore.session.lines import encode_chunk, encode_event, encode_received, stamp
from streamcore.values.calls import CallConfig, LlmRequest
from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, ReasoningDelta, StreamChunk, TextDelta,
    ToolCallDelta, UsageChunk,
)
from streamcore.values.errors import Failure, LlmError
from streamcore.values.frozen import freeze
from streamcore.values.masking import mask_config
from streamcore.values.messages import (
    AssistantMessage, ImageBlock, Message, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall,
    ToolResult,
)
from streamcore.values.retry import RetryRecord
from streamcore.values.usage import TokenUsage
from streamcore.wire.assembler import assemble
from streamcore.wire.history import check_history
from streamcore.wire.json_body import encode_body
from support import build_body

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such thing")
ROOT = Path(__file__).resolve().parents[2]
USAGE = TokenUsage(input_tokens=3, output_tokens=5)
LIMIT = Failure("RATE_LIMIT", "slow down", True, status=429, retry_after=2.0)
CONFIG = {"model": "m", "temperature": 0.5, "max_tokens": 100}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]

CALL = ToolCall("call_0", "look", '{"at": "moon"}', freeze({"signature": "s\u2028"}))
CALL_2 = ToolCall("call_1", "look", '{"at": "sun"}')

ANSWER: List[StreamChunk] = [
    BlockStart(0, "reasoning"),
    ReasoningDelta(0, "hm\u2028"),
    BlockStart(1, "text"),
    TextDelta(1, 'so "it" is \U0001f600\n'),
    BlockStart(2, "tool-call"),
    ToolCallDelta(2, "call_0", "look", ""),
    ToolCallDelta(2, None, None, '{"at": '),
    ToolCallDelta(2, None, None, '"moon"}'),
    BlockEnd(0, ReasoningBlock("hm\u2028", extras=freeze({"reasoning_details": [{"a": 1}]}))),
    BlockEnd(1, TextBlock('so "it" is \U0001f600\n')),
    BlockEnd(2, CALL),
    UsageChunk(USAGE),
    Finish(FinishReason("tool-calls"), "tool_calls", "m-1", "id-1", {"opaque": [None, 1.5]}),
]


@pytest.fixture(params=["memory", "file"])
def session(request: Any, tmp_path: Path) -> Iterator[Session]:
    """A new session of each kind."""
    with Session(None if request.param == "memory" else tmp_path / "log.jsonl") as made:
        yield made


def user(text: str) -> Message:
    return Message("user", text)


def answer(*content: Any, **facts: Any) -> AssistantMessage:
    return AssistantMessage(content=content, finish="stop", **facts)


def types(session: Session) -> List[str]:
    return [event.type for event in session]


def stream(session: Session, chunks: Sequence[StreamChunk] = ANSWER) -> List[int]:
    return [session.chunk(chunk) for chunk in chunks]


def error_of(action: Callable[[], Any]) -> LlmError:
    """Return the error an action raises."""
    with pytest.raises(LlmError) as caught:
        action()
    return caught.value


def a_turn(session: Session) -> int:
    """Record a whole turn with a failed attempt and a tool; return the answer's number."""
    session.turn_start()
    session.user_message(user("where is the moon?"))
    session.request_header(CONFIG, ["max_tokens"], "be brief", TOOLS)
    session.request_context()
    stream(session, ANSWER[:4])
    session.retry_scheduled(RetryRecord(1, 2.0, LIMIT))
    session.retry_started(2)
    seq = session.assistant_message(assemble(ANSWER), source_seqs=stream(session))
    session.tool_start(CALL)
    session.tool_result("call_0", "up there")
    session.request_context()
    session.assistant_message(answer(TextBlock("up")), USAGE)
    session.turn_end("stop")
    return seq


# Events.


def test_events_are_numbered_from_zero_and_begin_with_the_start(session: Session) -> None:
    """Each event has the next number, a time, a type and data; the first is the start."""
    a_turn(session)
    assert [event.seq for event in session.events] == list(range(len(session)))
    assert session.events[0].type == "session/start"
    assert all(isinstance(event.time, float) for event in session)


def test_event_types_are_those_of_the_issue(session: Session) -> None:
    """A turn is recorded with the documented types, in order."""
    a_turn(session)
    told = [kind for kind in types(session) if kind != "assistant/chunk"]
    assert told == [
        "session/start", "turn/start", "user/message", "request/header", "request/context",
        "retry/scheduled", "retry/started", "assistant/message", "tool/start", "tool/result",
        "request/context", "assistant/message", "turn/end",
    ]
    assert types(session).count("assistant/chunk") == 4 + len(ANSWER)


def test_file_holds_one_ascii_line_per_event(tmp_path: Path) -> None:
    """Every event is one line of JSON; U+2028 and all beyond ASCII are escapes."""
    with Session(tmp_path / "log") as session:
        a_turn(session)
        dicts = [event.to_dict() for event in session]
    raw = (tmp_path / "log").read_bytes()
    assert raw.isascii() and raw.endswith(b"\n") and b"\\u2028" in raw
    assert [json.loads(line) for line in raw.decode().splitlines()] == dicts


def test_memory_and_file_tell_the_same(tmp_path: Path) -> None:
    """A log in memory and a log in a file have the same events."""
    clock = iter(range(1000)).__next__
    again = iter(range(1000)).__next__
    with Session(clock=clock) as one, Session(tmp_path / "log", clock=again) as other:
        a_turn(one)
        a_turn(other)
        assert list(one) == list(other)
        assert one.derive_messages() == other.derive_messages()


def test_clock_is_the_one_given() -> None:
    """An event's time is the session's clock."""
    session = Session(clock=lambda: 12.25)
    assert session.events[session.turn_start()].time == 12.25


def test_events_are_a_sequence(session: Session) -> None:
    """Events can be counted, indexed from both ends, sliced and iterated."""
    session.turn_start()
    session.turn_end("stop")
    assert len(session.events) == len(session) == 3
    assert session.events[-1].data == {"reason": "stop"}
    assert [event.type for event in session.events[1:]] == ["turn/start", "turn/end"]
    with pytest.raises(IndexError):
        session.events[3]


def test_event_data_is_frozen(session: Session) -> None:
    """Data that was read from the log cannot be changed."""
    session.user_message(user("hi"))
    with pytest.raises(TypeError):
        session.events[1].data["message"]["role"] = "system"


def test_start_tells_its_facts_without_secrets() -> None:
    """Facts given for a new log are in its first event, masked."""
    session = Session(about={"app": "tool/1", "api_key": "sk-1234567"})
    assert session.events[0].data == {"app": "tool/1", "api_key": "***", "format": 1}


def test_turn_end_holds_reason_and_failure(session: Session) -> None:
    """The end of a turn has the reason, and the failure if there was one."""
    seq = session.turn_end("error", LIMIT)
    data = session.events[seq].data
    assert data["reason"] == "error" and Failure.from_dict(data["failure"]) == LIMIT


def test_retry_events_hold_the_record(session: Session) -> None:
    """A scheduled retry reads as its record again, and a started retry has its attempt."""
    record = RetryRecord(1, 2.0, LIMIT)
    assert RetryRecord.from_dict(session.events[session.retry_scheduled(record)].data) == record
    assert session.events[session.retry_started(2)].data == {"attempt": 2}


def test_assistant_message_holds_usage_and_its_chunks(session: Session) -> None:
    """The answer's event has the usage and the numbers of its chunks."""
    seqs = stream(session)
    data = session.events[session.assistant_message(assemble(ANSWER), source_seqs=seqs)].data
    assert data["source_seqs"] == seqs
    assert TokenUsage.from_dict(data["usage"]) == USAGE


# The header.


def test_header_is_written_only_when_it_differs(session: Session) -> None:
    """The first is ``initial``, an equal one is not written, a different one is ``change``."""
    first = session.request_header(CONFIG, ["max_tokens"], "s", TOOLS)
    assert first is not None and session.events[first].data["reason"] == "initial"
    assert session.request_header(dict(CONFIG), ("max_tokens",), "s", list(TOOLS)) is None
    for change in ({"system": "t"}, {"tools": []}, {"adapter_defaults": []}):
        given: Dict[str, Any] = {"adapter_defaults": ["max_tokens"], "system": "s", "tools": TOOLS}
        seq = session.request_header(CONFIG, **{**given, **change})
        assert seq is not None and session.events[seq].data["reason"] == "change"


def test_header_with_another_order_of_keys_differs(session: Session) -> None:
    """The order of keys counts, because it is in the body that is sent."""
    session.request_header({"a": 1, "b": 2})
    assert session.request_header({"b": 2, "a": 1}) is not None


def test_header_after_opening_again_is_a_resume(tmp_path: Path) -> None:
    """After a restart an equal header is not written; different ones are resume, then change."""
    with Session(tmp_path / "log") as session:
        session.request_header(CONFIG)
    with Session.open(tmp_path / "log") as session:
        assert session.request_header(CONFIG) is None
        first = session.request_header({"model": "n"})
        assert first is not None and session.events[first].data["reason"] == "resume"
        second = session.request_header({"model": "o"})
        assert second is not None and session.events[second].data["reason"] == "change"


def test_header_after_a_torn_end_is_a_resume(tmp_path: Path) -> None:
    """A log that had to be recovered counts as an older log too."""
    with Session(tmp_path / "log") as session:
        session.request_header(CONFIG)
    with (tmp_path / "log").open("ab") as file:
        file.write(b"{")
    with Session.open(tmp_path / "log") as session:
        seq = session.request_header({"model": "n"})
        assert seq is not None and session.events[seq].data["reason"] == "resume"


def test_first_header_of_a_reopened_log_is_initial(tmp_path: Path) -> None:
    """The first header is ``initial`` even in a log that was opened again."""
    Session(tmp_path / "log").close()
    with Session.open(tmp_path / "log") as session:
        seq = session.request_header(CONFIG)
        assert seq is not None and session.events[seq].data["reason"] == "initial"


# No secret.


def test_no_key_is_in_the_log(tmp_path: Path) -> None:
    """Keys in headers, settings, addresses and facts are masked in the file."""
    key = "sk-verysecret-0123456789"
    config = {
        "model": "m", "api_key": key, "max_tokens": 5,
        "base_url": f"https://u:{key}@h/v1?key={key}",
        "extra_headers": {"Authorization": f"Bearer {key}", "X-Api-Key": key, "X-Trace": "7"},
        "headers": [["api-key", key], ["Accept", "text"]], "Proxy-Authorization": key.encode(),
    }
    with Session(tmp_path / "log", about={"token": key}) as session:
        seq = session.request_header(config)
        session.request_context(facts={"provider": "p", "password": key})
        assert seq is not None
        data = session.events[seq].data["config"]
    assert key.encode() not in (tmp_path / "log").read_bytes()
    assert data["extra_headers"]["X-Trace"] == "7" and data["max_tokens"] == 5


@pytest.mark.parametrize("config", [
    {"max_tokens": 5, "max_completion_tokens": 6, "api_key_env": "NAME"},
    {"response_format": {"json_schema": {"properties": {"token": {"type": "string"}}}}},
    {"stop": ["Basic instructions:"], "extra_body": {"top_k": 1, "logit_bias": {"5": -1}}},
    {"extra_body": {"password": {"type": "string"}}, "api_key": None},
    {"base_url": "https://host/v1", "token": 5},
])
def test_settings_that_hold_no_secret_stay(config: Dict[str, Any]) -> None:
    """Only secrets are masked, so that a request can be rebuilt."""
    assert mask_config(config) == config


# History.


def test_history_of_a_turn(session: Session) -> None:
    """A turn gives the user's message, the answer, the tool's result and the last answer."""
    a_turn(session)
    asked, called, result, ended = session.derive_messages()
    assert asked == user("where is the moon?")
    assert called == assemble(ANSWER)
    assert result == Message("tool", (ToolResult("call_0", "up there"),))
    assert ended == answer(TextBlock("up"), usage=USAGE)


def test_history_keeps_form_and_provider(session: Session) -> None:
    """The form and the provider come back, because they decide how a message is sent."""
    given = Message.from_dict({"role": "user", "content": [{"type": "text", "text": "a"}], "x": 1})
    session.user_message(given)
    session.assistant_message(answer(TextBlock("b"), provider="p", extras=freeze({"sig": "x"})))
    first, second = session.derive_messages()
    assert first.to_dict() == given.to_dict() and first.form == "parts"
    assert isinstance(second, AssistantMessage)
    assert second.provider == "p" and second.extras == {"sig": "x"}


def test_failed_attempts_never_enter_history(session: Session) -> None:
    """Of chunks without a message only the user's message is in the history."""
    session.user_message(user("hi"))
    stream(session, ANSWER[:6])
    session.turn_end("error", LIMIT)
    assert session.derive_messages() == [user("hi")]


def test_started_call_without_result_is_outcome_unknown(session: Session) -> None:
    """A started call gets the warning, and a call never started gets "not started"."""
    session.user_message(user("hi"))
    session.assistant_message(answer(CALL, CALL_2))
    session.tool_start(CALL)
    results = [message.tool_results[0] for message in session.derive_messages()[2:]]
    assert [(r.call_id, r.content) for r in results] == [
        ("call_0", "outcome unknown, do not repeat blindly"), ("call_1", "not started"),
    ]
    assert (OUTCOME_UNKNOWN, NOT_STARTED) == tuple(r.content for r in results)
    assert all(r.is_error for r in results)


def test_results_stand_directly_after_their_calls_and_in_call_order(session: Session) -> None:
    """Results recorded in another order, or after a user's message, are moved."""
    session.assistant_message(answer(CALL, CALL_2))
    session.tool_result("call_1", "second")
    session.user_message(user("go on"))
    session.tool_result("call_0", "first")
    messages = session.derive_messages()
    assert [m.role for m in messages] == ["assistant", "tool", "tool", "user"]
    assert [m.tool_results[0].content for m in messages[1:3]] == ["first", "second"]
    check_history(messages)


def test_ids_repeated_from_step_to_step_belong_to_the_latest_call(session: Session) -> None:
    """A provider that begins again with call_0 gets each result at its own call."""
    for text in ("one", "two"):
        session.assistant_message(answer(CALL))
        session.tool_start(CALL)
        session.tool_result("call_0", text)
    session.assistant_message(answer(CALL))
    messages = session.derive_messages()
    assert [m.tool_results[0].content for m in messages[1::2]] == ["one", "two", "not started"]


@pytest.mark.parametrize("content", [(), (TextBlock(""),), (ReasoningBlock(""), TextBlock(""))])
def test_empty_answers_are_not_in_the_history(session: Session, content: Any) -> None:
    """An empty answer is recorded and left out; an answer of reasoning alone is kept."""
    session.user_message(user("hi"))
    session.assistant_message(AssistantMessage(content=content, finish="max-tokens"))
    assert session.derive_messages() == [user("hi")]
    session.assistant_message(answer(ReasoningBlock("hm")))
    assert len(session.derive_messages()) == 2


def test_result_is_recorded_once(session: Session) -> None:
    """A second result, and a start or result without a call, are refused."""
    session.assistant_message(answer(CALL))
    session.tool_result("call_0", "one")
    with pytest.raises(ValueError, match="already"):
        session.tool_result("call_0", "two")
    with pytest.raises(ValueError, match="already"):
        session.tool_start(CALL)
    with pytest.raises(ValueError, match="no answer"):
        session.tool_result("call_9", "three")
    assert session.derive_messages()[1].tool_results[0].content == "one"


def test_second_result_in_a_file_is_passed_over(tmp_path: Path) -> None:
    """Whatever a file holds, each call has exactly one result, the first."""
    path = tmp_path / "log"
    with Session(path) as session:
        session.assistant_message(answer(CALL))
        session.tool_result("call_0", "one")
    first = path.read_bytes().splitlines()[-1]
    with path.open("ab") as file:
        file.write(first.replace(b'"seq":2', b'"seq":3').replace(b"one", b"two") + b"\n")
        file.write(first.replace(b'"seq":2', b'"seq":4').replace(b"call_0", b"other") + b"\n")
    with Session.open(path) as session:
        assert [r.content for m in session.derive_messages() for r in m.tool_results] == ["one"]


def test_lone_half_in_an_answer_is_mended(session: Session) -> None:
    """A lone surrogate half neither loses the answer nor makes an unsendable history."""
    session.assistant_message(answer(TextBlock("a\ud83d")))
    assert session.derive_messages()[0].text == "a\ufffd"


@pytest.mark.parametrize("message", [
    answer(ToolCall("a", "f", '{"x": ')),
    answer(ToolCall("a", "f", '{"x": 1, "x": 2}')),
    answer(ToolCall("a", "f"), ToolCall("a", "g")),
    answer(ToolCall("", "f")),
    answer(ToolCall("a", " ")),
    answer(ToolResult("a", "b")),
    user("hi"),
])
def test_answer_no_provider_would_take_back_is_refused(session: Session, message: Any) -> None:
    """Arguments in the history always parse, and calls have names and unique ids."""
    with pytest.raises(ValueError):
        session.assistant_message(message)
    assert len(session) == 1


@pytest.mark.parametrize("message, error", [
    (Message("assistant", "x"), ValueError),
    (Message("tool", (ToolResult("a", "b"),)), ValueError),
    (Message("user", (ToolCall("a", "f"),)), ValueError),
    (Message("user", (TextBlock(5),)), TypeError),  # type: ignore[arg-type]
    ("hi", TypeError),
])
def test_user_message_is_checked(session: Session, message: Any, error: type) -> None:
    """Only a user's, a system's or a developer's message is recorded as one."""
    with pytest.raises(error):
        session.user_message(message)


@pytest.mark.parametrize("record", [
    lambda s: s.user_message(user("hi \ud83d")),
    lambda s: s.request_header({"x": float("nan")}),
    lambda s: s.request_header({"x": {1, 2}}),
    lambda s: s.request_header({}, system="\udc00"),
    lambda s: s.request_header({}, tools=[{"d": b"bytes"}]),
    lambda s: s.request_context([user("\ud83d")]),
    lambda s: s.request_context([Message("user", "x", extras=freeze({"a": float("inf")}))]),
])
def test_what_no_request_can_carry_is_refused_unrecorded(
    session: Session, record: Callable[[Session], Any]
) -> None:
    """Values that no request could carry do not get into the log."""
    error = error_of(lambda: record(session))
    assert error.code == "INVALID_REQUEST" and len(session) == 1


def test_tool_output_with_lone_halves_is_mended(session: Session) -> None:
    """Lone surrogate halves in a program's output are replaced, so that it can be sent."""
    session.assistant_message(answer(CALL))
    session.tool_result("call_0", "a\ud83d b \ud83d\ude00")
    assert session.derive_messages()[1].tool_results[0].content == "a\ufffd b \U0001f600"


def test_tool_result_may_be_parts(session: Session) -> None:
    """Parts and blocks are recorded as they are sent; anything else is refused."""
    session.assistant_message(answer(CALL))
    with pytest.raises(TypeError):
        session.tool_result("call_0", b"bytes")
    session.tool_result(
        "call_0", [TextBlock("a"), {"type": "x"}], is_error=True, extras={"e": 1}
    )
    result = session.derive_messages()[1].tool_results[0]
    assert result == ToolResult(
        "call_0", freeze([{"type": "text", "text": "a"}, {"type": "x"}]), True, freeze({"e": 1})
    )


def test_odd_number_of_a_provider_does_not_lose_the_answer(session: Session) -> None:
    """A number beyond a double's range in opaque extras is recorded as null."""
    seqs = [session.chunk(Finish(FinishReason("stop"), extras={"x": [1e999]}))]
    message = answer(TextBlock("a"), extras=freeze({"x": [float("inf")]}))
    session.assistant_message(message, source_seqs=seqs)
    assert session.derive_messages()[0].extras == {"x": [None]}


def test_every_kind_of_block_comes_back(session: Session) -> None:
    """Images, opaque parts and extras of blocks survive the log."""
    message = Message("user", (
        TextBlock("a", freeze({"cache": True})), ImageBlock("data:image/png;base64,AA", "low"),
        OpaqueBlock(freeze({"type": "audio", "n": [1, {"m": None}]})),
    ), name="me")
    session.user_message(message)
    assert session.derive_messages() == [message]


# Catching up with a caller's own list.


def test_catch_up_records_what_is_new(session: Session) -> None:
    """Each message of a caller's growing list is recorded once, in any order."""
    dicts: List[Dict[str, Any]] = [{"role": "user", "content": "hi"}]
    more: List[List[Dict[str, Any]]] = [
        [],
        [answer(CALL, CALL_2).to_dict()],
        [{"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "b"}]},
         {"role": "tool", "tool_call_id": "call_0", "content": "a\ud83d"}],
        [{"role": "assistant", "content": ""}],
        [{"role": "assistant", "content": "done"}, {"role": "user", "content": "more"}],
    ]
    for added in more:
        dicts += added
        messages = [Message.from_dict(item) for item in dicts]
        assert session.catch_up(messages)
        size = len(session)
        assert session.catch_up(messages) and len(session) == size
    assert types(session)[1:] == [
        "user/message", "assistant/message", "tool/result", "tool/result", "assistant/message",
        "user/message",
    ]
    check_history(session.derive_messages())


@pytest.mark.parametrize("bad", [
    answer(ToolCall("a", "f", "{")), user("\ud83d"), Message("user", (ToolCall("a", "f"),)),
    answer(TextBlock("\ud83d")), Message("user", "x", extras=freeze({"x": float("nan")})),
    Message("user", (ToolResult("a", 5),)),  # type: ignore[arg-type]
])
def test_catch_up_refuses_a_list_whole(session: Session, bad: Message) -> None:
    """If no request could carry one of the messages, no message is recorded."""
    error = error_of(lambda: session.catch_up([user("good"), bad]))
    assert error.code == "INVALID_REQUEST" and len(session) == 1


def test_catch_up_takes_results_out_of_a_users_message(session: Session) -> None:
    """Results and text of one user message are recorded as results and as a message."""
    mixed = Message("user", (
        ToolResult("call_0", freeze([TextBlock("a")]), True, freeze({"e": 1})), TextBlock("go on"),
    ))
    for _ in range(2):
        assert session.catch_up([answer(CALL), mixed])
    part = freeze([{"type": "text", "text": "a"}])
    assert session.derive_messages()[1:] == [
        Message("tool", (ToolResult("call_0", part, True, freeze({"e": 1})),)), user("go on"),
    ]


@pytest.mark.parametrize("given, added", [
    ([user("three")], ["three"]),
    ([user("one")], ["one"]),
    ([user("two")], []),
    ([user("two"), user("three")], ["three"]),
    ([user("x"), answer(TextBlock("y")), user("two"), user("three")], ["three"]),
    ([user("x"), answer(TextBlock("y"))], []),
    ([answer(CALL), Message("tool", (ToolResult("call_0", "z"),)), user("three")], ["three"]),
])
def test_catch_up_with_another_list_records_what_was_said_last(
    session: Session, given: List[Message], added: List[str]
) -> None:
    """The messages after a foreign list's last answer are added, each once."""
    session.user_message(user("one"))
    session.assistant_message(answer(TextBlock("a")))
    session.user_message(user("two"))
    assert session.catch_up(given) == (given[-1].role != "assistant")
    assert [message.text for message in session.derive_messages()[3:]] == added


def test_catch_up_with_a_trimmed_list_takes_the_results_of_open_calls(session: Session) -> None:
    """Results of the log's own calls are recorded, even if the list was trimmed."""
    session.user_message(user("one"))
    session.assistant_message(answer(CALL))
    result = Message("tool", (ToolResult("call_0", "z"),))
    assert session.catch_up([answer(CALL), result])
    assert session.derive_messages()[2] == result


# Replay and rebuild.


def test_replay_gives_the_first_stream_again(session: Session) -> None:
    """The chunks of an answer come back equal, and make an equal message."""
    seq = a_turn(session)
    again = list(session.replay(seq))
    assert again == ANSWER
    assert assemble(again) == session.derive_messages()[1]


def test_replay_survives_a_restart(tmp_path: Path) -> None:
    """A reopened log gives the same chunks."""
    with Session(tmp_path / "log") as session:
        seq = a_turn(session)
    with Session.open(tmp_path / "log") as session:
        assert list(session.replay(seq)) == ANSWER


def test_replay_of_something_else_is_refused_at_once(session: Session) -> None:
    """Only an answer can be replayed."""
    with pytest.raises(ValueError, match="session/start"):
        session.replay(0)
    with pytest.raises(IndexError):
        session.replay(99)


def body_of(session: Session, seq: int) -> bytes:
    """Rebuild the body of a recorded request, as a runtime does."""
    sent = session.request_at(seq)
    config = sent.config
    request = LlmRequest(CallConfig.from_dict(config), sent.messages, sent.system, sent.tools)
    return encode_body(build_body(request))


def send(session: Session, messages: Sequence[Message], **changes: Any) -> bytes:
    """Record a request as a runtime does; return the body that goes out."""
    config = CallConfig(provider="p", **{**CONFIG, **changes})
    request = LlmRequest(config, tuple(messages), "be brief", tuple(TOOLS))
    session.request_header(config.to_dict(), ["max_tokens"], request.system, request.tools)
    session.request_context(request.messages, {"provider": "p"})
    return encode_body(build_body(request))


def test_every_request_can_be_rebuilt_to_the_byte(session: Session) -> None:
    """Derived, trimmed, reordered and foreign conversations give the sent body again."""
    sent: Dict[int, bytes] = {}

    def ask(messages: Optional[Sequence[Message]] = None, **changes: Any) -> None:
        body = send(session, session.derive_messages() if messages is None else messages, **changes)
        sent[len(session) - 1] = body
        sent[session.chunk(TextDelta(0, "x"))] = body

    session.user_message(user("where?"))
    ask()
    signed = answer(TextBlock("b"), provider="p", extras=freeze({"k": 1}))
    session.assistant_message(signed)
    ask([user("where?"), replace(signed, provider="q")])  # opaque extras stay with their maker
    session.assistant_message(assemble(ANSWER))
    ask()  # the call has its stand-in now and its result later
    session.tool_start(CALL)
    ask()
    session.tool_result("call_0", "")
    ask(temperature=0.25)
    session.user_message(Message.from_dict({"role": "user", "content": [
        {"type": "text", "text": "é\u2028"},
        {"type": "image_url", "image_url": {"url": "https://h/u"}},
    ]}))
    session.user_message(user("where?"))
    ask(stop=["a"])
    derived = session.derive_messages()
    ask(derived[-2:])
    ask([derived[4], user("between"), derived[0], *derived[1:4], user("where?")])
    ask([Message.from_dict(m.to_dict()) for m in derived])
    ask([user("alone"), answer(TextBlock("b"), provider="q", extras=freeze({"k": 1})), user("c")])
    ask([answer(CALL), Message("tool", (ToolResult("call_0", freeze([TextBlock("t\ud83d")])),))])
    session.user_message(user("and later"))
    assert {seq: body_of(session, seq) for seq in sent} == sent


def test_request_that_sends_the_history_is_recorded_in_short(session: Session) -> None:
    """A request adds only its new messages to the log, not the whole conversation."""
    for number in range(50):
        session.user_message(user(f"{number % 7} " + "x" * 100))
        seq = session.request_context(session.derive_messages())
    assert session.events[seq].data["messages"] == [[0, 50]]


def test_request_has_the_header_of_its_time(session: Session) -> None:
    """A header recorded after a request does not change what that request was."""
    session.request_header(CONFIG)
    session.request_context()
    seq = session.request_header({"model": "later"})
    assert seq is not None and session.request_at(seq).config == CONFIG


def test_request_before_any_was_recorded_is_refused(session: Session) -> None:
    """Before the first request there is nothing to rebuild, and the error says so."""
    session.user_message(user("hi"))
    with pytest.raises(ValueError, match="no request"):
        session.request_at(1)
    with pytest.raises(IndexError):
        session.request_at(7)


def test_request_pieces_tell_defaults_and_facts(session: Session) -> None:
    """The adapter's defaults and the facts of a request come back."""
    session.request_header(CONFIG, ["max_tokens"])
    request = session.request_at(session.request_context(facts={"context_window": 10}))
    assert request.adapter_defaults == ["max_tokens"] and request.facts == {"context_window": 10}
    assert request.config == CONFIG and request.system is None and request.tools == ()


# The file.


@posix_only
def test_new_file_belongs_to_its_owner(tmp_path: Path) -> None:
    """Only its owner may read a new file."""
    Session(tmp_path / "log").close()
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_opening_again_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Numbers, history and events continue after a restart, and nothing is lost."""
    with Session(tmp_path / "log") as session:
        a_turn(session)
        before, messages = list(session), session.derive_messages()
    with Session.open(tmp_path / "log") as session:
        assert session.recovered is None
        assert list(session) == before and session.derive_messages() == messages
        assert session.user_message(user("more")) == len(before)
    with Session.open(tmp_path / "log") as session:
        assert len(session) == len(before) + 1


@pytest.mark.parametrize("tail", [b'{"seq":2,"ti', b"{", b"\x00" * 50, b"\xff\xfe", b"{}\n"])
def test_unfinished_last_line_is_dropped_and_told(tmp_path: Path, tail: bytes) -> None:
    """An unfinished last line is cut off, its size reported, and recording goes on."""
    path = tmp_path / "log"
    with Session(path) as session:
        session.user_message(user("hi"))
    good = path.read_bytes()
    path.write_bytes(good + tail)
    with Session.open(path) as session:
        assert session.recovered is not None
        assert (session.recovered.bytes_dropped, session.recovered.line) == (len(tail), 3)
        assert path.read_bytes() == good
        assert session.derive_messages() == [user("hi")]
        assert session.turn_start() == 2
    with Session.open(path) as session:
        assert session.recovered is None and len(session) == 3


@pytest.mark.parametrize("spoil", [
    lambda line: b"x" + line,
    lambda line: line[:-3],
    lambda line: b"",
    lambda line: b"[1]",
    lambda line: line.replace(b'"seq":1', b'"seq":7'),
    lambda line: line.replace(b'"time":', b'"tim":'),
    lambda line: line.replace(b'"role":"user"', b'"role":"tool"'),
    lambda line: line.replace(b'"message"', b'"massage"'),
    lambda line: b"\xff" + line,
    lambda line: line.replace(b"turn", b"session").replace(b"user/message", b"session/start"),
])
def test_damage_in_the_middle_names_the_line(
    tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    """A bad line before good lines is an error that names it, and the file stays as it is."""
    path = tmp_path / "log"
    with Session(path) as session:
        session.user_message(user("hi"))
        session.turn_end("stop")
    whole = path.read_bytes()
    first, second, third = whole.splitlines()
    spoiled = b"\n".join([first, spoil(second), third, b""])
    path.write_bytes(spoiled)
    error = error_of(lambda: Session.open(path))
    assert error.code == "SESSION" and "line 2" in error.failure.message
    assert path.read_bytes() == spoiled
    path.write_bytes(whole)
    Session.open(path).close()  # the lock was given back with the error still at hand


@pytest.mark.parametrize("content", [b"dear diary", b"{", b'{"a": 1}\n', b"\x00" * 9, b"\n",
                                     b'{"seq":0,"time":1,"type":"session/start","data":{}}\n'])
def test_file_that_is_no_session_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """A file given by mistake is refused and keeps every byte."""
    path = tmp_path / "notes"
    path.write_bytes(content)
    if content == b"{":  # that could be the beginning of one
        Session.open(path).close()
        return
    assert error_of(lambda: Session.open(path)).code == "SESSION"
    assert path.read_bytes() == content


def test_file_of_a_later_format_is_refused(tmp_path: Path) -> None:
    """A file of a later format is refused."""
    path = tmp_path / "log"
    path.write_bytes(b'{"seq":0,"time":1,"type":"session/start","data":{"format":2}}\n')
    assert "format 2" in error_of(lambda: Session.open(path)).failure.message


def test_event_of_an_unknown_type_is_kept(tmp_path: Path) -> None:
    """A type added later does not make a log unreadable."""
    path = tmp_path / "log"
    Session(path).close()
    with path.open("ab") as file:
        file.write(stamp(1, 1.0, encode_event("some/thing", {"a": 1})))
    with Session.open(path) as session:
        assert session.events[1].data == {"a": 1} and session.derive_messages() == []


@posix_only
@pytest.mark.parametrize("make", [
    lambda p: p / "missing" / "log", lambda p: p, lambda p: Path("/dev/null"),
])
def test_path_that_cannot_be_a_log_is_refused(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    """A missing folder, a folder and a device give SESSION with the path."""
    error = error_of(lambda: Session(make(tmp_path)))
    assert error.code == "SESSION" and str(make(tmp_path)) in error.failure.message


@posix_only
def test_pipe_is_refused_and_does_not_block(tmp_path: Path) -> None:
    """A FIFO is refused at once."""
    os.mkfifo(tmp_path / "pipe")
    assert "regular file" in str(error_of(lambda: Session(tmp_path / "pipe")))


def test_unknown_durability_is_refused() -> None:
    """A misspelt durability is an error, not a weaker durability."""
    with pytest.raises(ValueError, match="durability"):
        Session(durability="evnt")


def test_second_writer_in_the_process_is_refused(tmp_path: Path) -> None:
    """A second session on one file is refused, and the first goes on."""
    with Session(tmp_path / "log") as session:
        assert error_of(lambda: Session(tmp_path / "log")).code == "SESSION"
        session.turn_start()
    with Session.open(tmp_path / "log") as session:
        assert len(session) == 2


def test_second_writing_process_is_refused(tmp_path: Path) -> None:
    """Another process cannot open the file until the first process closes it."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from streamcore.values.errors import LlmError\n"
        "from streamcore.session import Session\n"
        "try:\n    Session(sys.argv[2]).close()\n    print('open')\n"
        "except LlmError as exc:\n    print(exc.code)\n"
    )

    def other() -> str:
        args = [sys.executable, "-c", code, str(ROOT), str(tmp_path / "log")]
        return subprocess.run(
            args, stdout=subprocess.PIPE, check=True, timeout=60, universal_newlines=True
        ).stdout.strip()

    with Session(tmp_path / "log"):
        assert other() == "SESSION"
    assert other() == "open"


def _in_child(session: Session, sender: Any) -> None:
    told = []
    for action in (session.turn_start, lambda: session.chunk(TextDelta(0, "x"))):
        try:
            action()
            told.append("written")
        except LlmError as exc:
            told.append(f"{exc.code} {exc.failure.message}")
    session.close()
    sender.send(told)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_does_not_write_and_leaves_the_lock(tmp_path: Path) -> None:
    """The child may not write, and its closing does not release the parent's lock."""
    with Session(tmp_path / "log") as session:
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_in_child, args=(session, sender))
        child.start()
        assert receiver.poll(30)
        told = receiver.recv()
        child.join(30)
        child.close()
        receiver.close()
        sender.close()
        assert all("SESSION" in line and str(os.getpid()) in line for line in told), told
        assert error_of(lambda: Session(tmp_path / "log")).code == "SESSION"
        assert session.turn_start() == 1
    with Session.open(tmp_path / "log") as session:
        assert len(session) == 2


def test_closing_twice_is_fine_and_ends_writing(tmp_path: Path) -> None:
    """A closed session refuses events and reading from the file; its history stays."""
    session = Session(tmp_path / "log")
    session.user_message(user("hi"))
    session.close()
    session.close()
    assert "closed" in str(error_of(session.turn_start))
    assert "closed" in str(error_of(lambda: session.chunk(TextDelta(0, "x"))))
    assert "closed" in str(error_of(lambda: session.events[0]))
    assert session.derive_messages() == [user("hi")]


def test_forgotten_session_gives_its_lock_back(tmp_path: Path) -> None:
    """A session that is garbage collected closes its file."""
    session = Session(tmp_path / "log")
    session.turn_start()
    del session
    Session(tmp_path / "log").close()


def test_threads_get_numbers_of_their_own(session: Session) -> None:
    """Events recorded from several threads are whole and numbered without a gap."""
    def work() -> None:
        for _ in range(100):
            session.chunk(TextDelta(0, "x"))
            session.turn_start()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.seq for event in session] == list(range(801))


# Durability and failing disks.


class Disk:
    """A disk that counts its syncs, and fails when told to."""

    def __init__(self, fail_at: int = 10**9, takes: Optional[int] = None) -> None:
        self.writes = self.syncs = 0
        self.fail_at, self.takes = fail_at, takes
        self.sync_fails = False

    def write(self, fd: int, data: bytes) -> int:
        self.writes += 1
        if self.writes < self.fail_at:
            return os.write(fd, data)
        if self.takes is not None and self.writes == self.fail_at:
            return os.write(fd, data[: self.takes])
        raise OSError(28, "No space left on device")

    def fsync(self, fd: int) -> None:
        self.syncs += 1
        if self.sync_fails:
            raise OSError(5, "Input/output error")


@pytest.mark.parametrize("durability, opening, chunk, context, tool, end, closing", [
    ("os", 0, 0, 0, 0, 0, 0),
    ("turn", 1, 0, 1, 1, 1, 1),
    ("event", 2, 1, 1, 1, 1, 1),
])
def test_durability_says_when_the_disk_is_synced(
    tmp_path: Path, durability: str, opening: int, chunk: int, context: int, tool: int, end: int,
    closing: int,
) -> None:
    """``os`` never, ``turn`` before a request or tool and at the end, ``event`` every time."""
    disk = Disk()
    session = Session(tmp_path / "log", durability=durability, fsync=disk.fsync)
    steps = [
        (lambda: None, opening),
        (lambda: session.chunk(TextDelta(0, "x")), chunk),
        (lambda: session.user_message(user("hi")), chunk),
        (lambda: session.request_header(CONFIG), context),
        (lambda: session.request_context(), context),
        (lambda: session.assistant_message(answer(CALL)), chunk),
        (lambda: session.tool_start(CALL), tool),
        (lambda: session.turn_end("stop"), end),
        (session.close, closing),
    ]
    for number, (step, syncs) in enumerate(steps):
        before = 0 if number == 0 else disk.syncs
        step()
        assert disk.syncs - before == syncs, number


@pytest.mark.parametrize("takes", [None, 0, 1, 30])
@pytest.mark.parametrize("act", [
    lambda s: s.chunk(TextDelta(0, "y")), lambda s: s.user_message(Message("user", "y")),
])
def test_failing_write_is_told_and_leaves_no_half_line(
    tmp_path: Path, takes: Optional[int], act: Callable[[Session], Any]
) -> None:
    """A full disk gives SESSION at once; the file keeps whole lines and accepts no more."""
    disk = Disk(fail_at=3, takes=takes)
    path = tmp_path / "log"
    with Session(path, write=disk.write) as session:
        session.chunk(TextDelta(0, "x"))
        good = path.read_bytes()
        error = error_of(lambda: act(session))
        assert error.code == "SESSION" and "No space left" in error.failure.message
        assert isinstance(error.__cause__, OSError)
        assert path.read_bytes() == good
        disk.fail_at = 10**9
        assert "no further writes" in str(error_of(session.turn_start))
        assert len(session) == 2 and path.read_bytes() == good
    with Session.open(path) as session:
        assert session.recovered is None and len(session) == 2


def test_failing_sync_is_told(tmp_path: Path) -> None:
    """An event that could not be synced raises SESSION."""
    disk = Disk()
    with Session(tmp_path / "log", fsync=disk.fsync) as session:
        disk.sync_fails = True
        assert error_of(lambda: session.turn_end("stop")).code == "SESSION"
        assert len(session) == 1
    with Session.open(tmp_path / "log") as session:
        assert len(session) == 1


def test_failing_sync_at_closing_is_told_and_the_file_given_back(tmp_path: Path) -> None:
    """Closing reports that the last lines may be lost, and closes nevertheless."""
    disk = Disk()
    session = Session(tmp_path / "log", fsync=disk.fsync)
    disk.sync_fails = True
    assert error_of(session.close).code == "SESSION"
    session.close()
    Session(tmp_path / "log").close()


def test_short_writes_are_finished(tmp_path: Path) -> None:
    """A system that accepts a few bytes at a time gets the whole line."""
    with Session(tmp_path / "log", write=lambda fd, data: os.write(fd, data[:7])) as session:
        session.chunk(TextDelta(0, "x" * 50))
    with Session.open(tmp_path / "log") as session:
        assert session.recovered is None and len(session) == 2


def test_interrupt_in_a_write_leaves_a_whole_log(tmp_path: Path) -> None:
    """After Ctrl-C in the middle of a write the next event takes the lost one's place."""
    cuts = iter([None, None, 10, None])

    def write(fd: int, data: bytes) -> int:
        cut = next(cuts)
        if cut is None:
            return os.write(fd, data)
        os.write(fd, data[:cut])
        raise KeyboardInterrupt

    with Session(tmp_path / "log", write=write) as session:
        session.chunk(TextDelta(0, "a"))
        with pytest.raises(KeyboardInterrupt):
            session.chunk(TextDelta(0, "b"))
        assert session.turn_end("aborted") == 2
    with Session.open(tmp_path / "log") as session:
        assert session.recovered is None
        assert types(session)[1:] == ["assistant/chunk", "turn/end"]


def test_recording_inside_a_recording_comes_directly_after_it(session: Session) -> None:
    """An event that a finaliser records while this thread records is written after it."""
    numbers: List[int] = []

    def clock() -> float:
        if not numbers:
            numbers.append(session.turn_end("closed"))
            numbers.append(session.turn_start())
        return 1.0

    session._clock = clock
    assert session.chunk(TextDelta(0, "x")) == 1 and numbers == [2, 3]
    assert types(session)[1:] == ["assistant/chunk", "turn/end", "turn/start"]


REALLY_FULL = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from streamcore.values.chunks import TextDelta
from streamcore.values.errors import LlmError
from streamcore.session import Session
session = Session(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
shown = 0
try:
    while shown < 100:
        session.chunk(TextDelta(0, "word "))
        shown += 1
except LlmError as exc:
    print(exc.code, shown)
session.close()
"""


@posix_only
def test_file_that_really_cannot_grow_loses_no_shown_word(tmp_path: Path) -> None:
    """At a real limit the failing chunk is an error, and every shown chunk is in the log."""
    path = tmp_path / "log"
    args = [sys.executable, "-c", REALLY_FULL, str(ROOT), str(path)]
    done = subprocess.run(
        args, stdout=subprocess.PIPE, check=True, timeout=60, universal_newlines=True
    )
    code, shown = done.stdout.split()
    assert code == "SESSION" and path.read_bytes().endswith(b"\n")
    with Session.open(path) as session:
        assert session.recovered is None and len(session) == 1 + int(shown)


# The fast way.


TEXTS = ["", "a", '"\\\b\f\n\r\t/', "é\u2028\u2029\x85\x00\x7f", "\U0001f600", "\ud83d", "日本" * 9]


@pytest.mark.parametrize("chunk", [
    *[kind(3, text) for kind in (TextDelta, ReasoningDelta) for text in TEXTS],
    *[ToolCallDelta(2, None, None, text) for text in TEXTS],
    ToolCallDelta(2, "id\u2028", None, ""), ToolCallDelta(2, None, "name", "{"),
    *ANSWER,
], ids=lambda chunk: chunk.type)
def test_fast_line_equals_the_slow_one(chunk: StreamChunk) -> None:
    """The fast encoder of chunks gives the same bytes as the JSON encoder."""
    assert encode_chunk(chunk) == encode_received("assistant/chunk", chunk.to_dict())


@pytest.mark.parametrize("time", [0.0, 1.5, 1700000000.1234567, 1e300])
def test_stamped_line_equals_what_json_writes(time: float) -> None:
    """Number and time are written before a body as the JSON encoder writes them."""
    line = stamp(12, time, encode_event("some/thing", {"a": 1}))
    event = {"seq": 12, "time": time, "type": "some/thing", "data": {"a": 1}}
    assert line == json.dumps(event, separators=(",", ":")).encode() + b"\n"


def test_chunk_event_is_cheap(tmp_path: Path) -> None:
    """One chunk costs microseconds: 5 in memory and 8 on file, with room for a busy machine."""
    delta, count = TextDelta(0, " wörld of"), 3000
    with Session() as memory, Session(tmp_path / "log", durability="os") as file:
        for session, bound in ((memory, 5.0), (file, 8.0)):
            times = timeit.repeat(lambda: session.chunk(delta), number=count, repeat=5)
            assert min(times) / count * 1e6 < 4 * bound


def test_chunks_in_memory_are_kept_compactly() -> None:
    """A chunk event in memory takes its line and a few bytes, no objects."""
    session = Session(clock=lambda: 1700000000.123456)
    stored = sum(len(stamp(n + 1, 1700000000.123456, encode_chunk(TextDelta(0, "abcdef"))))
                 for n in range(2000))
    before = sys.getsizeof(session._lines._buffer) + sys.getsizeof(session._lines.ends)
    for _ in range(2000):
        session.chunk(TextDelta(0, "abcdef"))
    after = sys.getsizeof(session._lines._buffer) + sys.getsizeof(session._lines.ends)
    assert after - before < 1.3 * stored
    assert len(session._state.notes) == 1


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b"])
def test_path_no_system_has_is_refused(path: str, tmp_path: Path) -> None:
    """A NUL or a lone surrogate half in a path gives SESSION, in a printable message."""
    error = error_of(lambda: Session.open(str(tmp_path / path)))
    assert error.code == "SESSION"
    str(error).encode("ascii" if str(tmp_path).isascii() else "utf-8")


@pytest.mark.parametrize("old, new, event", [
    (b'"source_seqs"', b'"sources"', "assistant/message"),
    (b'"source_seqs":[', b'"source_seqs":["x",', "assistant/message"),
    (b'"source_seqs":[', b'"source_seqs":[999,', "assistant/message"),
    (b'"type":"text-delta"', b'"type":[]', "assistant/message"),
    (b'"system"', b'"sistem"', "request/context"),
    (b'"facts"', b'"fakts"', "request/context"),
    (b'"messages":[', b'"messages":[5,', "request/context"),
])
def test_damage_that_parses_is_a_value_error(
    tmp_path: Path, old: bytes, new: bytes, event: str
) -> None:
    """Replaying and rebuilding report what is wrong with an event of another shape."""
    path = tmp_path / "log"
    with Session(path) as session:
        session.user_message(user("hi"))
        session.request_header({"model": "m", "provider": "p"})
        session.request_context(None, {"dialect": "chat-completions", "options": {}})
        chunks = (TextDelta(0, "x"), Finish(FinishReason("stop")))
        seqs = [session.chunk(chunk) for chunk in chunks]
        session.assistant_message(answer(TextBlock("x")), None, seqs)
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line.replace(old, new) for line in lines]
    assert kept != lines
    path.write_bytes(b"".join(kept))
    with Session.open(path) as session:
        seq = types(session).index(event)
        with pytest.raises(ValueError):
            if event == "assistant/message":
                list(session.replay(seq))
            else:
                session.rebuild_request(seq)


def _wait_for(receiver: Any) -> None:
    receiver.recv()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_closing_gives_the_lock_back_though_a_forked_child_lives(tmp_path: Path) -> None:
    """A forked child that still has the handle does not keep the lock."""
    session = Session(tmp_path / "log")
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_wait_for, args=(receiver,))
    child.start()
    try:
        session.close()
        Session.open(tmp_path / "log").close()
    finally:
        sender.send("go")
        child.join(30)
        child.close()
        receiver.close()
        sender.close()
