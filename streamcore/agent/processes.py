# SPDX-License-Identifier: MIT
"""Ending a process together with everything it started.

In: a process that leads a session of its own. Out: it is gone and waited for, with its
process group, and on Linux also those of its descendants that left the group, if the
process was still alive: once it has ended, or elsewhere, those escape. ``kill_below`` is
for the process itself, before it ends. Ctrl-C is held back until all is done. On Windows
``taskkill /T`` takes the tree, as far as parents are still there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Callable, Dict, List, Optional

_ROUNDS, _PAUSE = 50, 0.001  # looks for what is left, and seconds between them
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


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
    """End the process and what is left of what it started, and wait for it.

    Raises:
        KeyboardInterrupt: the first that came meanwhile, once all is done.
    """
    interrupt: Optional[KeyboardInterrupt] = None
    strays: List[int] = []  # outside the group; kept, as they are found while parents live
    ended = False
    while not ended:
        try:
            _end(process, strays)
            ended = True
        except KeyboardInterrupt as error:
            interrupt = interrupt or error
    if interrupt is not None:
        raise interrupt


def kill_below() -> None:
    """End what this process has started, as far as ``adopt_strays`` lets it know of them."""
    for _ in range(_ROUNDS):
        below = _descendants(os.getpid())
        if not below:
            return
        for pid in below:
            _kill(os.kill, pid)
        time.sleep(_PAUSE)
        _fetch_ended()


def end_with_parent(parent: int) -> None:
    """Let this process be killed when process ``parent``, which started it, dies.

    Linux only; elsewhere nothing is done. What this process has started is not killed then.
    """
    if _prctl(_PR_SET_PDEATHSIG, getattr(signal, "SIGKILL", 0)):
        try:
            os.kill(parent, 0)
        except ProcessLookupError:  # it died before it was asked for
            os._exit(1)
        except OSError:
            pass


def adopt_strays() -> None:
    """Make this process the parent of those below it that lose theirs; Linux only."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes  # some builds of Python have none

        given = [ctypes.c_ulong(number) for number in (value, 0, 0, 0)]
        return bool(ctypes.CDLL(None).prctl(option, *given) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _fetch_ended() -> None:
    """Wait for children that were killed, so that they are not found again."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except OSError:  # there are no more
        pass


def _end(process: subprocess.Popen[bytes], strays: List[int]) -> None:
    if sys.platform == "win32":
        if process.poll() is None:
            tree: List[str] = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            process.kill()
    else:
        if process.returncode is None and not has_ended(process):
            _signal_group(process.pid, "SIGSTOP")  # what is stopped starts nothing more
        strays += _descendants(process.pid)
        _signal_group(process.pid, "SIGKILL")
        while strays:
            _kill(os.kill, strays[-1])
            strays.pop()
    process.wait()


def _signal_group(pid: int, name: str) -> None:
    _kill(os.killpg, pid, name)


def _kill(send: Callable[[int, int], None], pid: int, name: str = "SIGKILL") -> None:
    try:
        send(pid, getattr(signal, name))  # Windows has none, and never comes here
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
