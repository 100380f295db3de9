# SPDX-License-Identifier: MIT
"""Runs a tool in a process of its own, and kills it with its children at its timeout.

In: a tool, checked arguments, a cancel event. Out: the text of its result; nothing else
comes back. Raised: exceptions of the tool, as ``ToolError`` or ``ToolCrashed``; else
``ToolNotStarted``, ``ToolTimeout`` or ``ToolCancelled``. However the call ends, processes
that the tool started are killed with it. A process that left the tool's process group may
escape, except on Linux; there it escapes only if the tool's process died by itself. On Linux
the tool is also killed when this process dies. The tool's output goes to standard error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from typing import Any, Dict, Iterator, Mapping, Optional

from ..values.clock import Deadline
from ..values.frozen import thaw
from .child import ANSWER, REQUEST
from .processes import has_ended, kill_tree
from .tools import Tool, ToolError
from .tools.importable import target_of

_FIRST_WAIT, _LONGEST_WAIT = 0.001, 0.05  # seconds between two looks at the process
_GRACE = 0.5  # seconds a process may take to end once its answer is there


class ToolCrashed(Exception):
    """The tool raised another exception than ``ToolError``, or its process died."""


class ToolNotStarted(Exception):
    """The tool's process could not be started, or could not load the tool."""


class ToolTimeout(Exception):
    """The tool was killed at its timeout."""


class ToolCancelled(Exception):
    """The tool was killed because the caller cancelled."""


def run_isolated(
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    call_id: str = "",
    cancel: Optional[threading.Event] = None,
    max_bytes: int = 16 * 1024,
) -> str:
    """Run a tool in a process of its own and return its result as text.

    Args:
        tool: made with ``isolate=True``; its ``timeout`` counts from the process's start.
        arguments: arguments that the tool's ``check`` accepted.
        call_id: given to a function that takes it.
        cancel: set to kill the process. A function that takes ``cancel`` gets an event
            of its own process, which is never set.
        max_bytes: cap of the text in UTF-8 bytes.
    Raises:
        ToolError, ToolCrashed, ToolNotStarted, ToolTimeout, ToolCancelled.
    """
    request = {
        "target": target_of(tool.run), "name": tool.name, "parameters": thaw(tool.parameters),
        "hints": tool.signature is not None, "arguments": thaw(dict(arguments)),
        "call_id": call_id, "max_bytes": max_bytes, "timeout": tool.timeout,
        "parent": os.getpid(),
    }
    with _request_folder(request) as folder:
        process = _start(folder)
        try:
            _await(process, os.path.join(folder, ANSWER), tool.timeout, cancel)
        finally:
            kill_tree(process)
        return _read(os.path.join(folder, ANSWER), process.returncode)


@contextmanager
def _request_folder(request: Dict[str, Any]) -> Iterator[str]:
    """Make a folder that holds the request, and remove it afterwards."""
    with ExitStack() as held:
        try:
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="tool-"))
            with open(os.path.join(folder, REQUEST), "w", encoding="ascii") as file:
                json.dump(request, file)
        except OSError as exc:
            raise ToolNotStarted(f"its request cannot be written: {exc}") from exc
        yield folder


def _start(folder: str) -> subprocess.Popen[bytes]:
    # The path is set first, so that the child imports the same modules as this process.
    code = (
        "import sys; folder = sys.argv[1]; sys.path[:] = sys.argv[2:]; "
        "del sys.argv[1:]; "
        f"from {__package__}.child import main; main(folder)"
    )
    # Entries that are not paths belong to import hooks, and stay as they are.
    paths = [os.path.abspath(p) if os.path.exists(p or ".") else p for p in sys.path]
    options: Dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    command = [sys.executable, "-c", code, folder, *paths]
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    except OSError as exc:
        raise ToolNotStarted(f"its process cannot be started: {exc}") from exc


def _await(
    process: subprocess.Popen[bytes],
    answer: str,
    timeout: Optional[float],
    cancel: Optional[threading.Event],
) -> None:
    """Wait until the process has ended, or for ``_GRACE`` after its answer."""
    deadline, grace = Deadline(timeout), Deadline(None)
    pause = threading.Event() if cancel is None else cancel
    answered = False
    wait = _FIRST_WAIT
    while not has_ended(process):
        if not answered and os.path.exists(answer):
            answered, grace = True, Deadline(_GRACE)
        if grace.passed:  # the answer is there; a thread of the tool keeps the process alive
            return
        if deadline.passed and not answered:
            raise ToolTimeout(f"killed at its timeout of {timeout:g} s")
        if pause.wait(min(wait, deadline.left() or wait)) and not answered:
            raise ToolCancelled("killed by the caller's cancel")
        wait = min(wait * 2, _LONGEST_WAIT)


def _read(answer: str, returncode: int) -> str:
    try:
        with open(answer, encoding="ascii") as file:
            shown: Dict[str, str] = json.load(file)
    except FileNotFoundError:
        how = f"signal {-returncode}" if returncode < 0 else f"exit status {returncode}"
        raise ToolCrashed(f"its process died without an answer ({how})") from None
    if "error" in shown:
        raise ToolError(shown["error"])
    if "not-started" in shown:
        raise ToolNotStarted(f"its process cannot load it: {shown['not-started']}")
    if "failed" in shown:
        raise ToolCrashed(shown["failed"])
    return shown["ok"]
