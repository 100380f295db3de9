# SPDX-License-Identifier: MIT
"""What a tool raised: whether it is the tool's own failure, and in which words it is told.

In: an exception that came out of a tool, a checker or a dataclass. Out: whether it ends
nobody but the tool, and a text of it. ``KeyboardInterrupt``, and what a program's own
signal handler raises, is never the tool's. Nothing is refused.
"""

from __future__ import annotations

from typing import Callable

from ...values.errors import error_chain

_OWN = (Exception, SystemExit, GeneratorExit)
# An exception of asyncio that is no Exception; named, as importing asyncio costs too much.
_CANCELLED = ("asyncio.exceptions", "CancelledError")


def is_own(error: BaseException) -> bool:
    """Say whether what came out of a tool is a failure of the tool, and of nobody else."""
    kinds = type(error).__mro__
    return isinstance(error, _OWN) or any(
        (kind.__module__, kind.__name__) == _CANCELLED for kind in kinds
    )


def error_text(error: BaseException) -> str:
    """Return an exception's message; its type where it has none or cannot be shown."""
    return _shown(str, error) or type(error).__name__


def chain_text(error: BaseException) -> str:
    """Return an exception and its causes in one line; its type where it cannot be shown."""
    return _shown(error_chain, error)


def _shown(show: Callable[[BaseException], str], error: BaseException) -> str:
    try:
        return show(error)
    except BaseException as fault:  # its __str__ may raise anything, SystemExit too
        if not is_own(fault):
            raise
        return f"{type(error).__name__} (cannot be shown)"
