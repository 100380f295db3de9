# SPDX-License-Identifier: MIT
"""What the process of an isolated tool does.

In: a folder with the file ``request``, JSON that names a function and its arguments. Out:
in the same folder the file ``answer``, JSON with the text of the result or of the failure.
The file is there whole or not at all. The tool's output goes to standard error.
The process ends shortly after its timeout even if its parent does not end it. On Linux it
also ends when its parent dies, and it kills the processes that the tool left running.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
from contextlib import suppress
from typing import Any, Callable, Dict, Optional

from .processes import adopt_strays, end_with_parent, kill_below
from .tools import Tool, ToolError, render_output, tool
from .tools.raised import chain_text, error_text

REQUEST, ANSWER = "request", "answer"

_LATE = 2.0  # seconds after its timeout at which a process ends itself


def main(folder: str) -> None:
    """Run the call that the request in ``folder`` asks for, and write its answer."""
    with suppress(OSError):  # a program without a console may lack these descriptors
        os.dup2(2, 1)
    with open(os.path.join(folder, REQUEST), encoding="ascii") as file:
        request = json.load(file)
    end_with_parent(request["parent"])
    _end_at(request["timeout"])
    adopt_strays()
    shown = _outcome(request)
    written = os.path.join(folder, ANSWER)
    with open(written + ".part", "w", encoding="ascii") as file:
        json.dump(shown, file)
    os.replace(written + ".part", written)
    kill_below()


def _end_at(timeout: Optional[float]) -> None:
    """End the process group after its timeout in case the parent is gone; a tool may undo it."""
    if timeout is None or not hasattr(signal, "setitimer"):
        return
    with suppress(OSError, OverflowError, ValueError):  # more seconds than a timer can count
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(os.getpid(), signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, timeout + _LATE)


def _outcome(request: Dict[str, Any]) -> Dict[str, str]:
    try:
        made = _find(request)
    except BaseException as error:  # importing a module may raise anything
        return {"not-started": chain_text(error)}
    try:
        value = made.invoke(request["arguments"], call_id=request["call_id"])
        return {"ok": render_output(value, request["max_bytes"])}
    except ToolError as error:
        return {"error": error_text(error)}
    except BaseException as error:  # SystemExit too: it ends only the tool
        return {"failed": chain_text(error)}


def _find(request: Dict[str, Any]) -> Tool:
    found = pkgutil.resolve_name(request["target"])
    run: Callable[..., Any] = found.run if isinstance(found, Tool) else found
    if request["hints"]:
        return tool(name=request["name"])(run)
    return Tool(request["name"], "", request["parameters"], run)
