# SPDX-License-Identifier: MIT
"""What all tests share: the checkout on ``sys.path``, a watch for leaks, the shared folder.

Every test must give back the threads, sockets and other file descriptors it took. What a
module- or session-wide fixture holds was there before the test and does not count.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import threading
import time
from pathlib import Path
from typing import Iterator, List, Set, Tuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
GRACE = 3.0
"""Seconds a thread or socket may take to go away after its test; normally none."""

if importlib.util.find_spec("streamcore") is None:
    sys.path.insert(0, str(ROOT))


def pytest_collection_finish() -> None:
    """Set apart what the collection made: no later garbage collection has to go through it."""
    gc.collect()
    gc.freeze()


def open_descriptors() -> Set[Tuple[str, str]]:
    """Return number and target of each open file descriptor; nothing where /proc is absent."""
    found = set()
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return found
    for number in numbers:
        try:
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
        except OSError:  # the one that listed the folder is closed again
            pass
    return found


def leaks_since(threads: Set[threading.Thread], descriptors: Set[Tuple[str, str]]) -> List[str]:
    """Name what is there now and was not before."""
    new_threads = set(threading.enumerate()) - threads
    new_descriptors = open_descriptors() - descriptors
    return [f"thread {t.name}" for t in new_threads] + [
        f"descriptor {number} {target}" for number, target in sorted(new_descriptors)
    ]


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fail a test that leaves a thread, a socket or a file open."""
    threads, descriptors = set(threading.enumerate()), open_descriptors()
    yield
    leaked = leaks_since(threads, descriptors)
    if leaked:
        # A cycle may still hold a closed-by-collection object; a server thread may be ending.
        gc.collect()
    deadline = time.monotonic() + GRACE
    while leaked and time.monotonic() < deadline:
        time.sleep(0.02)
        leaked = leaks_since(threads, descriptors)
    assert not leaked, f"left behind: {', '.join(leaked)}"


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of captures and fault rows beside the checkout; skips where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no recorded answers beside this checkout")
    return folder
