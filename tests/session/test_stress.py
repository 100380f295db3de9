# SPDX-License-Identifier: MIT
"""Threads that record, read, close and fork at once: what is in the files afterwards.

Each round has its own log. Meanwhile other files are opened, which get the descriptors that the
log has just closed. Seeded; the seed is printed.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, List

import pytest

from streamcore.session import Session
from streamcore.values.chunks import TextDelta
from streamcore.values.errors import LlmError
from streamcore.values.messages import Message

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
PATIENCE = 20.0  # seconds; a child that hangs does so for ever


def record(log: Session, chance: random.Random, told: List[int]) -> None:
    """Record until the log is closed; put the number of each event into ``told``."""
    try:
        while True:
            kind = chance.randrange(4)
            if kind == 0:
                told.append(log.user_message(Message("user", "hi")))
            elif kind == 1:
                told.append(log.turn_end("stop"))
            else:
                told.append(log.chunk(TextDelta(0, "x" * chance.randrange(50))))
    except LlmError as error:
        assert error.code == "SESSION" and "closed" in error.failure.message, error


def read(log: Session) -> None:
    """Read the history and the last event until the log is closed."""
    try:
        while True:
            log.derive_messages()
            assert log.events[-1].seq < len(log)
            log.request_context(facts={"a": 1})
    except LlmError as error:
        assert error.code == "SESSION", error


def open_strangers(folder: Path, number: int, done: threading.Event) -> None:
    """Open file after file, and write into none."""
    count = 0
    while not done.is_set():
        with (folder / f"stranger-{number}-{count % 40}").open("ab"):
            count += 1


def fork_and_use(log: Session) -> None:
    """Fork; the child reads the log, is refused to write it, and writes one of its own."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            log.derive_messages()
            memory = Session()
            memory.turn_start()
            try:
                log.turn_start()
            except LlmError:
                code = 0 if log.path is not None else 1
            else:
                code = 0 if log.path is None else 1
            os.write(sender, b"x")
        finally:
            os._exit(code)
    os.close(sender)
    ready, _, _ = select.select([receiver], [], [], PATIENCE)
    os.close(receiver)
    if not ready:
        os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == 0, "the child hung or was not treated as it should"


def one_round(folder: Path, chance: random.Random, forks: int) -> None:
    """Run all of it on one log, then check the files."""
    faults: List[BaseException] = []

    def start(action: Callable[..., None], *args: Any) -> threading.Thread:
        def run() -> None:
            try:
                action(*args)
            except BaseException as fault:
                faults.append(fault)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    path, done, told = folder / "log", threading.Event(), [[] for _ in range(3)]  # type: ignore
    log, memory = Session(path, durability="os"), Session()
    own: List[int] = []
    recorders = [start(record, log, random.Random(chance.random()), one) for one in told]
    recorders.append(start(read, log))
    strangers = [start(open_strangers, folder, number, done) for number in range(2)]
    busy = start(lambda: own.extend(_until(done, memory)))
    try:
        for _ in range(forks):
            fork_and_use(chance.choice([log, memory]))
        time.sleep(chance.random() * 0.01)
        log.close()
    finally:
        log.close()
        for thread in recorders:
            thread.join(PATIENCE)
        done.set()
        for thread in (*strangers, busy):
            thread.join(PATIENCE)
    assert not faults, faults
    assert own == list(range(1, len(memory)))
    with Session.open(path, durability="os") as again:
        assert again.recovered is None
        numbers = sorted(number for one in told for number in one)
        assert set(numbers) <= set(range(len(again))) and len(set(numbers)) == len(numbers)
    for name in os.listdir(folder):
        size = (folder / name).stat().st_size
        assert name == "log" or size == 0, f"a line of the log is in {name}"
        (folder / name).unlink()


def _until(done: threading.Event, log: Session) -> List[int]:
    numbers = []
    while not done.is_set():
        numbers.append(log.chunk(TextDelta(0, "x")))
    return numbers


def run_rounds(folder: Path, rounds: int, forks: int) -> None:
    """Run rounds with a seed that is printed."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(rounds):
            one_round(folder, chance, forks)
    finally:
        sys.setswitchinterval(interval)


def test_log_is_safe_under_threads_forks_and_closing(tmp_path: Path) -> None:
    """No line in another file, no child that hangs, no event lost or numbered twice."""
    run_rounds(tmp_path, rounds=8, forks=2)


@pytest.mark.long
def test_log_is_safe_under_threads_forks_and_closing_for_long(tmp_path: Path) -> None:
    """The same, for many rounds, to meet rare orders of events."""
    run_rounds(tmp_path, rounds=80, forks=3)
