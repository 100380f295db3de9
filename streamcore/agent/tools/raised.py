# SPDX-License-Identifier: MIT
"""Makes text from the exception of a tool, and raises interrupts again.

In: an exception of a tool, a checker or a dataclass. Out: its text. Raised: only
``KeyboardInterrupt``, also a subclass or one inside a group of exceptions. Any other
exception ends only the tool.
"""

from __future__ import annotations

from typing import Callable, Iterator, List

from ...values.errors import error_chain

_MOST_LEAVES = 4  # exceptions of a group that are shown


def raise_interrupt(error: BaseException) -> None:
    """Raise ``error`` if it is a ``KeyboardInterrupt``, or the one that a group contains."""
    for leaf in _leaves(error):
        if isinstance(leaf, KeyboardInterrupt):
            raise leaf


def error_text(error: BaseException) -> str:
    """Return an exception's message; its type if the message is empty or cannot be shown."""
    return _shown(str, error) or type(error).__name__


def chain_text(error: BaseException) -> str:
    """Return an exception and its causes in one line; its type if it cannot be shown.

    The text of a group also has the first four exceptions in it.
    """
    text = _shown(error_chain, error)
    leaves = [leaf for leaf in _leaves(error) if leaf is not error][:_MOST_LEAVES]
    return "; ".join([text, *(_shown(error_chain, leaf) for leaf in leaves)])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions in a group and in groups inside it; else the exception itself."""
    todo: List[BaseException] = [error]
    while todo:
        one = todo.pop()
        # By name: before Python 3.11 the class comes from other packages.
        if any(kind.__name__ == "BaseExceptionGroup" for kind in type(one).__mro__):
            todo += reversed(getattr(one, "exceptions"))
        else:
            yield one


def _shown(show: Callable[[BaseException], str], error: BaseException) -> str:
    try:
        return show(error)
    except BaseException as fault:  # its __str__ may raise anything, SystemExit too
        raise_interrupt(fault)
        return f"{type(error).__name__} (cannot be shown)"
