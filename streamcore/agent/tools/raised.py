# SPDX-License-Identifier: MIT
"""What a tool raised: whether it is an interrupt, and in which words it is told.

In: an exception that came out of a tool, a checker or a dataclass. Out: a text of it. Raised
again is ``KeyboardInterrupt`` alone, subclasses and one inside of a group of exceptions
included: whatever else a tool raises ends nobody but the tool.
"""

from __future__ import annotations

from typing import Callable, Iterator, List

from ...values.errors import error_chain

_MOST_LEAVES = 4  # exceptions of a group that are told


def raise_interrupt(error: BaseException) -> None:
    """Raise the ``KeyboardInterrupt`` that an exception is, or that a group of them holds."""
    for leaf in _leaves(error):
        if isinstance(leaf, KeyboardInterrupt):
            raise leaf


def error_text(error: BaseException) -> str:
    """Return an exception's message; its type where it has none or cannot be shown."""
    return _shown(str, error) or type(error).__name__


def chain_text(error: BaseException) -> str:
    """Return an exception and its causes in one line; its type where it cannot be shown.

    Of a group, the first of the exceptions in it are told too.
    """
    text = _shown(error_chain, error)
    leaves = [leaf for leaf in _leaves(error) if leaf is not error][:_MOST_LEAVES]
    return "; ".join([text, *(_shown(error_chain, leaf) for leaf in leaves)])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions in a group, of groups inside of it too; any other is its own leaf."""
    todo: List[BaseException] = [error]
    while todo:
        one = todo.pop()
        # By name, as Pythons before 3.11 have the class from elsewhere.
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
