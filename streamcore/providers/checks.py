# SPDX-License-Identifier: MIT
"""Checks for the values of a profile, used when the profile is made.

In: a value and its name. Out: the value, or nothing. Refused: a wrong type (``TypeError``) or a
wrong value (``ValueError``); the message has the name.
"""

from __future__ import annotations

import re
from typing import Any, Tuple

from ..values.numbers import check_whole

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PATH = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+")
NAME = re.compile(r"[!-~]+")


def check_string(name: str, value: Any) -> str:
    """Return the string; refuse an empty or blank one."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a string, not {type(value).__name__}")
    if not value.strip():
        raise ValueError(f"{name} is empty")
    return value


def check_strings(name: str, value: Any) -> Tuple[str, ...]:
    """Return a tuple of different strings. A string is refused: its letters are not meant."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} is a tuple of strings, not {type(value).__name__}")
    for item in value:
        check_string(name, item)
    if len(set(value)) < len(value):
        raise ValueError(f"{name} has a name twice: {', '.join(value)}")
    return tuple(value)


def check_match(name: str, value: Any, pattern: "re.Pattern[str]") -> None:
    """Refuse a string that the pattern does not match as a whole."""
    if not pattern.fullmatch(check_string(name, value)):
        raise ValueError(f"{name} cannot be {value!r}")


def check_header_value(name: str, value: Any) -> None:
    """Refuse a header value that is not printable ASCII."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a string, not {type(value).__name__}")
    if not all(" " <= letter <= "~" for letter in value):
        raise ValueError(f"{name} has a character that no header can carry")


def check_tokens(context_window: Any, default_max_tokens: Any) -> None:
    """Refuse a window or a cap below 1, and a cap above the window."""
    for name, value in (
        ("context_window", context_window), ("default_max_tokens", default_max_tokens),
    ):
        if value is not None:
            check_whole(name, value)
    if context_window is not None and default_max_tokens is not None:
        if default_max_tokens > context_window:
            raise ValueError(f"default_max_tokens {default_max_tokens} is above the window")
