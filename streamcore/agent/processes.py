# SPDX-License-Identifier: MIT
"""Ending a process together with everything it started.

In: a process that leads a session of its own. Out: it is gone and waited for, with its
process group, and on Linux also those of its descendants that left the group. A process
that has left the group and lost its parent escapes. On Windows ``taskkill /T`` takes the
tree, as far as parents are still there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Callable, Dict, List


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Say whether the process has ended.

    Where the system can, its id is not given back yet, so that the process group of this id
    is still its own.
    """
    if sys.platform == "win32" or not hasattr(os, "waitid"):
        return process.poll() is not None
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is not None


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """End the process and what is left of what it started, and wait for it."""
    if sys.platform == "win32":
        if process.poll() is None:
            tree: List[str] = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            process.kill()
    else:
        strays = _descendants(process.pid)
        _kill(os.killpg, process.pid)
        for pid in strays:
            _kill(os.kill, pid)
    process.wait()


def _kill(send: Callable[[int, int], None], pid: int) -> None:
    try:
        send(pid, getattr(signal, "SIGKILL"))  # Windows has none, and never comes here
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left; macOS says so with "not permitted"


def _descendants(pid: int) -> List[int]:
    """Return the processes below ``pid``, from /proc; none where there is no such thing."""
    children: Dict[int, List[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            children.setdefault(_parent(name), []).append(int(name))
    found, todo = [], [pid]
    while todo:
        below = children.pop(todo.pop(), [])
        found += below
        todo += below
    return found


def _parent(name: str) -> int:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):  # it has just ended
        return 0
