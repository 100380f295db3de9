# SPDX-License-Identifier: MIT
"""Checks of the numbers that a caller gives.

In: a number and its name. Refused, with a sentence that has the name: a value of the wrong
type (``TypeError``), and a number out of range (``ValueError``). True and False are refused
too, although Python counts with them.
"""

from __future__ import annotations

import math
import sys
from typing import Any


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Say whether a value is a whole number or a float, NaN and infinity included."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Refuse a value that is not a whole number of ``least`` or more.

    Raises:
        TypeError: for a value that is not a whole number.
        ValueError: for a smaller number.
    """
    if not is_whole(value):
        raise TypeError(f"{name} is a whole number, not {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} must be {least} or more: {value}")


def check_number(name: str, value: Any, least: float, most: float = math.inf) -> None:
    """Refuse a value that is not a finite number from ``least`` to ``most``, both included.

    Raises:
        TypeError: for a value that is not a number.
        ValueError: for a number out of range, for NaN and infinity.
    """
    if not is_number(value):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    if not (_is_finite(value) and least <= value <= most):
        upper = "" if most == math.inf else f" and at most {most:g}"
        raise ValueError(f"{name} must be finite, at least {least:g}{upper}: {value}")


def check_seconds(name: str, value: Any) -> None:
    """Refuse a value that is not a finite number of seconds above 0.

    Raises:
        TypeError: for a value that is not a number.
        ValueError: for 0 or less, for NaN and infinity.
    """
    if not is_number(value):
        raise TypeError(f"{name} is a number of seconds, not {type(value).__name__}")
    if not (_is_finite(value) and value > 0):
        raise ValueError(f"{name} must be above 0 and finite: {value}")


def _is_finite(value: float) -> bool:
    # Not math.isfinite: it raises for a whole number beyond a float's range.
    return -sys.float_info.max <= value <= sys.float_info.max
