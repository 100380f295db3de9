# SPDX-License-Identifier: MIT
"""Kills a process together with everything it started.

In: a process that leads a session of its own. Out: the process and its group are killed,
and the process is waited for. Descendants that left the group are killed only on Linux, and
only if the process was still alive. ``kill_below`` is for the process itself, before it
ends. Ctrl-C is held back until all is done. On Windows ``taskkill /T`` kills the tree; a
descendant whose parent has ended escapes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Callable, Dict, List, Optional

_ROUNDS, _PAUSE = 50, 0.001  # most searches for processes that are left, seconds between them
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the process has ended.

    Where the system can, the process is not reaped yet, so that its id and its process
    group cannot belong to another process.
    """
    if sys.platform == "win32" or not hasattr(os, "waitid"):
        return process.poll() is not None
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is not None


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and every process it started that is left, and wait for it.

    Raises:
        KeyboardInterrupt: the first that came meanwhile, once all is done.
    """
    interrupt: Optional[KeyboardInterrupt] = None
    strays: List[int] = []  # descendants; kept, since they cannot be found once parents are gone
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
    """Kill the descendants of this process; ``adopt_strays`` keeps orphans among them."""
    for _ in range(_ROUNDS):
        below = _descendants(os.getpid())
        if not below:
            return
        for pid in below:
            _kill(os.kill, pid)
        time.sleep(_PAUSE)
        _fetch_ended()


def end_with_parent(parent: int) -> None:
    """Have this process killed when process ``parent``, which started it, dies.

    Linux only; elsewhere this does nothing. Processes that this one started are not killed.
    """
    if _prctl(_PR_SET_PDEATHSIG, getattr(signal, "SIGKILL", 0)):
        try:
            os.kill(parent, 0)
        except ProcessLookupError:  # the parent died before the request was made
            os._exit(1)
        except OSError:
            pass


def adopt_strays() -> None:
    """Make this process the parent of its descendants that lose their own; Linux only."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes  # some builds of Python lack it

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
            _signal_group(process.pid, "SIGSTOP")  # a stopped process starts nothing more
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
        send(pid, getattr(signal, name))  # by name: Windows lacks it, and never comes here
    except (ProcessLookupError, PermissionError):
        pass  # no such process is left; macOS reports that as "not permitted"


def _descendants(pid: int) -> List[int]:
    """Return the descendants of ``pid``, from /proc; an empty list without /proc."""
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
