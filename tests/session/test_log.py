# SPDX-License-Identifier: MIT
"""The log under threads, forks, closing and garbage collection, each at the worst moment.

A write or a clock given as an argument stops a thread in the middle of recording; what
others do then is deterministic. The random version of this is ``test_stress``.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from streamcore.session import Session
from streamcore.session.history import History, read_entry
from streamcore.values.chunks import TextDelta
from streamcore.values.errors import LlmError
from streamcore.values.messages import AssistantMessage, Message, TextBlock, ToolCall

no_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
threads_fork = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # that is the point here


def types(log: Session) -> List[str]:
    """The types of all events."""
    return [event.type for event in log]


class Gate:
    """Stops the thread that passes it while it is shut."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.thread = 0

    def wait(self) -> None:
        """Wait in the thread that ``held`` started, once; others pass."""
        if threading.get_ident() == self.thread and not self.reached.is_set():
            self.reached.set()
            self.opened.wait(20)

    @contextmanager
    def held(self, action: Callable[[], Any]) -> Iterator[None]:
        """Run an action in a thread, and the block while that waits at the gate."""
        def run() -> None:
            self.thread = threading.get_ident()
            action()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            assert self.reached.wait(20)
            yield
        finally:
            self.opened.set()
            thread.join(20)


# Closing.


def test_closing_waits_for_the_event_that_is_being_written(tmp_path: Path) -> None:
    """The descriptor is not reused for another file while a line is being written to it."""
    gate = Gate()

    def write(fd: int, data: bytes) -> int:
        gate.wait()
        return os.write(fd, data)

    log = Session(tmp_path / "log", write=write)
    closing = threading.Thread(target=log.close)
    with gate.held(lambda: log.chunk(TextDelta(0, "x"))):
        closing.start()
        time.sleep(0.05)
        stranger = (tmp_path / "stranger").open("wb")
        with stranger:
            gate.opened.set()
            closing.join(20)
    assert (tmp_path / "stranger").read_bytes() == b""
    assert (tmp_path / "log").read_bytes().count(b"\n") == 2


def test_recorder_that_comes_after_closing_gets_session(tmp_path: Path) -> None:
    """An event that waited for the lock while the log was closed is refused."""
    gate, told = Gate(), []

    def fsync(fd: int) -> None:
        gate.wait()

    def late() -> None:
        with pytest.raises(LlmError) as caught:
            log.chunk(TextDelta(0, "x"))
        told.append(caught.value.code)

    log = Session(tmp_path / "log", fsync=fsync)
    recorder = threading.Thread(target=late)
    with gate.held(log.close):
        recorder.start()
        time.sleep(0.05)
        assert not told
    recorder.join(20)
    assert told == ["SESSION"]


def test_closing_inside_a_recording_comes_directly_after_it(tmp_path: Path) -> None:
    """A finaliser that closes the session does not close the file before the event is in it."""
    closed: List[bool] = []

    def clock() -> float:
        if log_box and not closed:
            closed.append(True)
            log_box[0].close()
        return 1.0

    log_box: List[Session] = []
    log_box.append(Session(tmp_path / "log", clock=clock))
    assert log_box[0].turn_start() == 1
    with pytest.raises(LlmError, match="closed"):
        log_box[0].turn_end("stop")
    with Session.open(tmp_path / "log") as log:
        assert types(log) == ["session/start", "turn/start"]


# Forking.


def in_child(action: Callable[[], Any]) -> Any:
    """Return what an action returns in a forked child, or the words of its LlmError."""
    def run() -> None:
        try:
            sender.send(action())
        except LlmError as error:
            sender.send(str(error))

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=run)
    child.start()
    try:
        if not receiver.poll(15):
            child.kill()
            return "it hangs"
        return receiver.recv()
    finally:
        child.join(30)
        child.close()
        receiver.close()
        sender.close()


@no_fork
@threads_fork
@pytest.mark.parametrize("where", ["memory", "file"])
def test_child_forked_while_a_thread_records_does_not_hang(tmp_path: Path, where: str) -> None:
    """The child may write its copy of a log in memory, and only read a log in a file."""
    gate = Gate()

    def clock() -> float:
        gate.wait()
        return 1.0

    def child() -> Any:
        read = (types(log), [message.text for message in log.derive_messages()])
        if where == "memory":
            log.user_message(Message("user", "mine"))
            return *read, [message.text for message in log.derive_messages()]
        return read

    def record() -> Any:
        return log.turn_start()

    with Session(None if where == "memory" else tmp_path / "log", clock=clock) as log:
        log.user_message(Message("user", "hi"))
        with gate.held(log.turn_start):
            told = in_child(child)
            written = in_child(record)
        assert told[:2] == (["session/start", "user/message"], ["hi"])
        if where == "memory":
            assert told[2] == ["hi", "mine"] and written == 2
        else:
            assert "SESSION" in written and str(os.getpid()) in written
        assert types(log)[2:] == ["turn/start"]
        assert [message.text for message in log.derive_messages()] == ["hi"]


@no_fork
@threads_fork
@pytest.mark.parametrize("where", ["memory", "file"])
def test_child_forked_between_a_line_and_the_history_has_both(tmp_path: Path, where: str) -> None:
    """The child's history is that of its events, wherever the parent's thread was."""
    gate = Gate()
    with Session(None if where == "memory" else tmp_path / "log") as log:
        state = log._state
        digest = state.digest

        def slow(*args: Any) -> None:
            gate.wait()
            digest(*args)

        state.digest = slow  # type: ignore[method-assign]
        with gate.held(lambda: log.user_message(Message("user", "hi"))):
            told = in_child(lambda: [message.text for message in log.derive_messages()])
        assert told == ["hi"]
        assert log.derive_messages() == [Message("user", "hi")]


def test_interrupt_between_a_line_and_the_history_loses_neither() -> None:
    """After Ctrl-C at that point the event is in the log, and in the history too."""
    log = Session()
    state = log._state

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    state.digest = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        log.user_message(Message("user", "hi"))
    assert len(log) == 2 and log.derive_messages() == [Message("user", "hi")]
    assert log.turn_start() == 2 and len(log._state.notes) == 3


# Threads.


def test_call_gets_one_result_whoever_comes_first() -> None:
    """Of two threads that record a result of one call, one is refused."""
    log = Session()
    log.assistant_message(AssistantMessage(content=(ToolCall("c", "f"),)))
    history, refused = log._state.history, []
    state = history.state

    def slow(call_id: str) -> str:
        told = state(call_id)
        time.sleep(0.05)  # long enough for all to have looked, were they let in
        return told

    def result() -> None:
        try:
            log.tool_result("c", "x")
        except ValueError as error:
            refused.append(error)

    history.state = slow  # type: ignore[method-assign]
    threads = [threading.Thread(target=result) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 2 and types(log).count("tool/result") == 1


def test_request_and_history_are_of_one_moment() -> None:
    """A message that another thread records meanwhile is not part of the request."""
    log, done = Session(), threading.Event()

    def talk() -> None:
        while not done.is_set():
            log.user_message(Message("user", "x"))
            log.assistant_message(AssistantMessage(content=(TextBlock("y"), ToolCall("c", "f"))))
            log.tool_result("c", "z")

    log.request_header({"model": "m"})
    thread = threading.Thread(target=talk)
    thread.start()
    try:
        sent = [log.request_context() for _ in range(20)]
    finally:
        done.set()
        thread.join()
    for seq in sent:
        history = History()
        for event in log.events[:seq]:
            history.push(read_entry(event))
        assert log.events[seq].data["messages"] == [[0, len(history.messages())]]


# Garbage collection.


def turn(log: Session) -> Iterator[None]:
    """Begin a turn, and end it when this generator is closed."""
    log.turn_start()
    try:
        yield
    finally:
        log.turn_end("closed")


def abandon(log: Session, *others: Any) -> None:
    """Leave a turn to the garbage collector, in a cycle."""
    begun = turn(log)
    next(begun)
    cycle: List[Any] = [begun, *others]
    cycle.append(cycle)


def test_stream_that_is_collected_with_its_session_ends_its_turn(tmp_path: Path) -> None:
    """If the file is finalised first, it stays open until the turn's end is in it."""
    for number in range(20):
        path = tmp_path / str(number)
        log = Session(path)
        abandon(log, log)
        del log
        gc.collect()
        told = [json.loads(line)["type"] for line in path.read_bytes().splitlines()]
        assert told == ["session/start", "turn/start", "turn/end"]
        Session.open(path).close()  # the lock was given back


def test_abandoned_turns_end_under_heavy_garbage_collection(tmp_path: Path) -> None:
    """A turn ends too if it is collected while another event is being recorded."""
    before = gc.get_threshold()
    with Session(tmp_path / "log", durability="os") as log:
        try:
            for number in range(300):
                gc.set_threshold(1 + number % 40, 1, 1)
                abandon(log)
                log.user_message(Message("user", f"hi {number}"))
        finally:
            gc.set_threshold(*before)
        gc.collect()
        told = types(log)
        assert told.count("turn/start") == told.count("turn/end") == 300
        assert [event.seq for event in log] == list(range(901))
        assert len(log.derive_messages()) == 300
