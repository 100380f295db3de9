# SPDX-License-Identifier: MIT
"""Which functions another process can import, and whether one can be started.

In: a function. Out: ``module:qualname``, under which a process with the same
``sys.path`` imports it. Refused with ``ValueError``: a function without such a name, and
a program that has no Python interpreter to start.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any


def target_of(run: Any) -> str:
    """Return ``module:qualname`` of a function that another process can import.

    Raises:
        ValueError: for any other function: a lambda, a local function, a method of an
            object, or a function of the running script, because importing would run it again.
    """
    module, name = getattr(run, "__module__", None), getattr(run, "__qualname__", "")
    if not inspect.isfunction(run) or not module or "<" in name:
        raise ValueError(f"isolate needs a function at the top of a module, not {run!r}")
    if module == "__main__":
        raise ValueError(
            f"isolate needs a function that can be imported; {name} is in the script that runs: "
            "move it to a module of its own"
        )
    return f"{module}:{name}"


def check_interpreter() -> None:
    """Refuse a program that cannot start Python, such as one bundled into an executable.

    Raises:
        ValueError: in such a program.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise ValueError(
            "isolate needs a Python interpreter to start, and this program is bundled without one"
        )


def check_reachable(run: Any) -> None:
    """Refuse a function that its module does not have under its own name.

    Raises:
        ValueError: for such a function, and as ``target_of``.
    """
    module, name = target_of(run).split(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not run and getattr(found, "run", None) is not run:
        raise ValueError(f"isolate needs an importable function, and {module} has no such {name}")
