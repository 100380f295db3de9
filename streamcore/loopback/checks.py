# SPDX-License-Identifier: MIT
"""Type checks for the values of a loopback script.

In: a value and its place in the script (``answers[0].steps[2].sleep``).
Out: the value, with its type known.
Refused: a value of another type, with a ``ValueError`` that names the place.
The script format is written in the docstring of the package.
"""

from __future__ import annotations

from typing import Any, Dict, List, NoReturn, Sequence

from ..values.numbers import is_number, is_whole


def refuse(where: str, problem: str) -> NoReturn:
    """Raise a ``ValueError`` that names the place and the problem."""
    raise ValueError(f"loopback script: {where}: {problem}")


def text(value: Any, where: str) -> str:
    """Return ``value`` if it is a string."""
    if not isinstance(value, str):
        refuse(where, f"a string is wanted, not {type(value).__name__}")
    return value


def flag(value: Any, where: str) -> bool:
    """Return ``value`` if it is true or false."""
    if not isinstance(value, bool):
        refuse(where, f"true or false is wanted, not {value!r}")
    return value


def true(value: Any, where: str) -> bool:
    """Return ``value`` if it is true; for steps that need no value."""
    if value is not True:
        refuse(where, f"true is wanted, not {value!r}")
    return True


def seconds(value: Any, where: str) -> float:
    """Return ``value`` if it is a number of seconds, 0 or more."""
    if not is_number(value) or not 0 <= value < float("inf"):
        refuse(where, f"seconds, 0 or more, are wanted, not {value!r}")
    return float(value)


def count(value: Any, where: str, least: int = 0) -> int:
    """Return ``value`` if it is an integer of at least ``least``."""
    if not is_whole(value) or value < least:
        refuse(where, f"an integer of {least} or more is wanted, not {value!r}")
    return int(value)


def mapping(value: Any, where: str) -> Dict[str, Any]:
    """Return ``value`` if it is an object with string keys."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        refuse(where, f"an object is wanted, not {type(value).__name__}")
    return value


def listing(value: Any, where: str) -> List[Any]:
    """Return ``value`` as a list if it is a list or a tuple."""
    if not isinstance(value, (list, tuple)):
        refuse(where, f"a list is wanted, not {type(value).__name__}")
    return list(value)


def word(value: Any, where: str, allowed: Sequence[str]) -> str:
    """Return ``value`` if it is one of the ``allowed`` words."""
    if value not in allowed:
        refuse(where, f"one of {', '.join(map(repr, allowed))} is wanted, not {value!r}")
    return str(value)


def known_keys(
    value: Dict[str, Any], where: str, allowed: Sequence[str], steps: Sequence[str] = ()
) -> None:
    """Refuse an object with an unknown key; a message says so if the key is one of ``steps``."""
    for key in value:
        if key in allowed:
            continue
        if key in steps:
            refuse(where, f"{key!r} is a step: {{'steps': [{{{key!r}: ...}}]}}")
        refuse(where, f"unknown key {key!r}; known are {', '.join(allowed)}")
