# SPDX-License-Identifier: MIT
"""What is left of a session when its process is killed, or its file cut, at any point.

A real process is stopped with SIGKILL at many points, and every byte prefix of a whole log is
opened. The opened log must be a beginning of what was written, with a history that a strict
provider accepts.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import List

import pytest

from streamcore.session import NOT_STARTED, OUTCOME_UNKNOWN, Event, Session
from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, TextDelta, ToolCallDelta,
)
from streamcore.values.errors import Failure
from streamcore.values.messages import AssistantMessage, Message, TextBlock, ToolCall
from streamcore.values.retry import RetryRecord
from streamcore.wire.history import check_history

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from streamcore.values.chunks import TextDelta
from streamcore.values.messages import AssistantMessage, Message, TextBlock, ToolCall
from streamcore.session import Session
piece = int(sys.argv[4])
session = Session.open(
    sys.argv[2], durability=sys.argv[3], write=lambda fd, data: os.write(fd, data[:piece]))
turn = 0
while True:
    session.turn_start()
    session.user_message(Message("user", "question %d \\u2028" % turn))
    session.request_header({"model": "m", "turn": turn // 3})
    session.request_context()
    seqs = [session.chunk(TextDelta(0, "word ")) for _ in range(20)]
    call = ToolCall("call_0", "look", "{}")
    session.assistant_message(
        AssistantMessage(content=(TextBlock("word " * 20), call)), source_seqs=seqs)
    session.tool_start(call)
    session.tool_result("call_0", "x" * 3000)
    session.turn_end("stop")
    print(len(session), flush=True)
    turn += 1
"""


def check_strict(messages: List[Message]) -> None:
    """Hold what the strictest provider asks: one result per call, directly after, in order."""
    check_history(messages)
    waiting: List[str] = []
    for message in messages:
        if message.role == "tool":
            assert [result.call_id for result in message.tool_results] == [waiting.pop(0)]
        else:
            assert not waiting
            waiting = [call.id for call in message.tool_calls]
        assert message.content
        for call in message.tool_calls:
            call.parsed()
    assert not waiting


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no SIGKILL")
@pytest.mark.parametrize("durability, piece, kills", [
    ("os", 10**6, 3), ("os", 40, 8), ("turn", 10**6, 2), ("event", 40, 2),
])
def test_killed_writer_loses_nothing_it_had_recorded(
    tmp_path: Path, durability: str, piece: int, kills: int
) -> None:
    """One log survives kill after kill: all recorded events are there, and it goes on.

    A writer that writes 40 bytes at a time is often stopped inside a line.
    """
    path = tmp_path / "log"
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    recorded = torn = 0
    for _ in range(kills):
        args = [sys.executable, "-c", WRITER, str(ROOT), str(path), durability, str(piece)]
        with subprocess.Popen(args, stdout=subprocess.PIPE, universal_newlines=True) as writer:
            assert writer.stdout is not None
            told = int(writer.stdout.readline())
            time.sleep(chance.random() * 0.03)
            os.kill(writer.pid, signal.SIGKILL)
            for line in writer.stdout:
                told = int(line) if line.endswith("\n") else told
        with Session.open(path) as session:
            torn += session.recovered is not None
            assert len(session) >= told > recorded
            assert [event.seq for event in session] == list(range(len(session)))
            check_strict(session.derive_messages())
            recorded = len(session)
            session.turn_end("killed")
    print(f"{torn} of {kills} stopped inside a line")


def whole_log(path: Path) -> List[Event]:
    """Write a log with everything in it; return its events."""
    first = ToolCall("call_0", "f", '{"a": "\\u00e9"}')
    second = ToolCall("call_1", "g")
    with Session(path, clock=lambda: 1.5, durability="os") as session:
        session.turn_start()
        session.user_message(Message("user", "é\u2028"))
        session.request_header({"model": "m"}, [], "system", [{"type": "function"}])
        session.request_context()
        session.chunk(TextDelta(0, "lost"))
        session.retry_scheduled(RetryRecord(1, 0.5, Failure("SERVER", "broken", True)))
        session.retry_started(2)
        chunks = [
            BlockStart(0, "tool-call"), ToolCallDelta(0, "call_0", "f", ""),
            ToolCallDelta(0, None, None, first.arguments), BlockStart(1, "tool-call"),
            ToolCallDelta(1, "call_1", "g", "{}"), BlockEnd(0, first), BlockEnd(1, second),
            Finish(FinishReason("tool-calls")),
        ]
        seqs = [session.chunk(chunk) for chunk in chunks]
        session.assistant_message(
            AssistantMessage(content=(first, second), finish="tool-calls"), source_seqs=seqs
        )
        session.tool_start(first)
        session.tool_result("call_0", "one")
        session.tool_start(second)
        session.tool_result("call_1", "two", is_error=True)
        session.request_context()
        session.assistant_message(AssistantMessage(finish="max-tokens"))
        session.turn_end("max-tokens")
        session.user_message(Message("user", "again"))
        session.assistant_message(AssistantMessage(content=(TextBlock("yes"), first)))
        return list(session)


def test_any_prefix_of_a_log_opens_to_a_valid_history(tmp_path: Path) -> None:
    """A log cut at any byte opens with every whole line, and its history is valid."""
    path, cut = tmp_path / "whole", tmp_path / "cut"
    events = whole_log(path)
    raw = path.read_bytes()
    texts = set()
    for length in range(len(raw) + 1):
        cut.write_bytes(raw[:length])
        whole = raw[:length].count(b"\n")
        rest = length - (raw[:length].rfind(b"\n") + 1)
        with Session.open(cut, durability="os", clock=lambda: 1.5) as session:
            if rest:
                assert session.recovered is not None
                assert session.recovered.bytes_dropped == rest
            else:
                assert session.recovered is None
            assert len(session) == max(whole, 1)
            messages = session.derive_messages()
            check_strict(messages)
            if not rest:  # appending goes on, and reading what was appended
                assert list(session) == events[: max(whole, 1)]
                assert session.turn_start() == max(whole, 1)
            texts.update(r.content for m in messages for r in m.tool_results)
    assert texts == {NOT_STARTED, OUTCOME_UNKNOWN, "one", "two"}
