# SPDX-License-Identifier: MIT
"""Functions that the tests run as isolated tools: another process imports this module.

Nothing here is a test; what a function says of itself is what the tests rely on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

from streamcore.agent.tools import Tool, ToolError, tool

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


@dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def plain(**arguments: Any) -> Any:
    """Return the arguments."""
    return arguments


@tool(isolate=True, timeout=20)
def locate(point: Point, call_id: str = "") -> str:
    """Say where a point is.

    Args:
        point: the place.
    """
    return f"{type(point).__name__} {point.x} {point.y} {call_id} {os.getpid()}"


@tool(isolate=True, mutating=True)
def change() -> str:
    """Change something."""
    return "changed"


@tool(isolate=True)
def fail(how: str) -> Any:
    """Fail in one of several ways."""
    if how == "tool-error":
        raise ToolError("try something else")
    if how == "value-error":
        raise ValueError("a bug")
    if how == "exit":
        sys.exit(3)
    if how == "die":
        os._exit(4)
    if how == "big":
        return "é" * 50_000
    if how == "print":
        print('{"ok": "printed"}')
        return "returned"
    if how == "thread":
        threading.Thread(target=time.sleep, args=(60,)).start()
        return "a thread stays"
    if how == "stdin":
        return repr(sys.stdin.read())
    return None


def _hang(pid_file: str) -> str:
    """Start two children, one in a session of its own; write all ids to a file; hang."""
    children = [subprocess.Popen(SLEEPER, start_new_session=own) for own in (False, True)]
    with open(pid_file + ".part", "w", encoding="ascii") as file:
        file.write(" ".join(str(pid) for pid in (os.getpid(), *(c.pid for c in children))))
    os.replace(pid_file + ".part", pid_file)
    time.sleep(60)
    return "never"


def _leave(pid_file: str) -> str:
    """Start a child, write its id to a file, and return."""
    child = subprocess.Popen(SLEEPER)
    with open(pid_file, "w", encoding="ascii") as file:
        file.write(str(child.pid))
    child.returncode = 0  # it is left on purpose: no warning about it
    return "left a child"


def _leave_far(pid_file: str) -> str:
    """Start a child whose child, in a session of its own, outlives it; return."""
    code = (
        "import subprocess, sys; "
        "child = subprocess.Popen(sys.argv[2:], start_new_session=True); "
        "open(sys.argv[1], 'w').write(str(child.pid)); child.returncode = 0"
    )
    subprocess.run([sys.executable, "-c", code, pid_file, *SLEEPER], check=True)
    return "left"


def _hang_alone(pid_file: str) -> str:
    """Write the process's id to a file, and hang."""
    with open(pid_file + ".part", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.replace(pid_file + ".part", pid_file)
    time.sleep(60)
    return "never"


_FILE = {"properties": {"pid_file": {"type": "string"}}}

hang = Tool("hang", "Hang.", _FILE, _hang, isolate=True)
hang_briefly = Tool("hang_briefly", "Hang.", _FILE, _hang, isolate=True, timeout=1.5)
leave = Tool("leave", "Leave a child.", _FILE, _leave, isolate=True)
leave_far = Tool("leave_far", "Leave a child.", _FILE, _leave_far, isolate=True)
hang_alone = Tool("hang_alone", "Hang.", _FILE, _hang_alone, isolate=True)
