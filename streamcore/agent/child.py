# SPDX-License-Identifier: MIT
"""The other side of an isolated tool: what its process does.

In: a folder with the file ``request``, JSON that names a function and its arguments. Out:
in the same folder the file ``answer``, JSON with the text of the result or with what went
wrong; it is there whole or not at all. What the tool prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import pkgutil
from contextlib import suppress
from typing import Any, Callable, Dict

from ..errors import error_chain
from ..tools import Tool, ToolError, render_output, tool

REQUEST, ANSWER = "request", "answer"


def main(folder: str) -> None:
    """Run the call that the request in ``folder`` asks for, and write its answer."""
    with suppress(OSError):  # a program without a console may have neither
        os.dup2(2, 1)
    with open(os.path.join(folder, REQUEST), encoding="ascii") as file:
        request = json.load(file)
    shown = _outcome(request)
    written = os.path.join(folder, ANSWER)
    with open(written + ".part", "w", encoding="ascii") as file:
        json.dump(shown, file)
    os.replace(written + ".part", written)


def _outcome(request: Dict[str, Any]) -> Dict[str, str]:
    try:
        made = _find(request)
        value = made.invoke(request["arguments"], call_id=request["call_id"])
        return {"ok": render_output(value, request["max_bytes"])}
    except ToolError as error:
        return {"error": str(error)}
    except BaseException as error:  # SystemExit too: here it ends nobody but the tool
        return {"failed": error_chain(error)}


def _find(request: Dict[str, Any]) -> Tool:
    found = pkgutil.resolve_name(request["target"])
    run: Callable[..., Any] = found.run if isinstance(found, Tool) else found
    if request["hints"]:
        return tool(name=request["name"])(run)
    return Tool(request["name"], "", request["parameters"], run)
