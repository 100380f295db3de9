# SPDX-License-Identifier: MIT
"""Checks of numbers: what is accepted, what is refused, and with which sentence."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from streamcore.values.numbers import (
    check_number, check_seconds, check_whole, is_number, is_whole,
)

HUGE = 10**400
"""A whole number beyond a float's range."""


@pytest.mark.parametrize("value, whole, number", [
    (0, True, True), (-3, True, True), (HUGE, True, True), (1.0, False, True),
    (float("nan"), False, True), (True, False, False), (False, False, False),
    ("1", False, False), (None, False, False), (1j, False, False),
])
def test_what_is_a_number(value: Any, whole: bool, number: bool) -> None:
    """True and False do not count as numbers."""
    assert (is_whole(value), is_number(value)) == (whole, number)


@pytest.mark.parametrize("check, value", [
    (check_whole, 1), (check_whole, HUGE),
    (lambda name, value: check_whole(name, value, 0), 0),
    (lambda name, value: check_number(name, value, 0, 1), 0),
    (lambda name, value: check_number(name, value, 0, 1), 1.0),
    (lambda name, value: check_number(name, value, -1), 1.7e308),
    (check_seconds, 5e-324), (check_seconds, 60),
])
def test_edges_pass(check: Callable[[str, Any], None], value: Any) -> None:
    """Both ends of a range belong to it."""
    check("wait", value)


@pytest.mark.parametrize("check, value, error, text", [
    (check_whole, True, TypeError, "wait is a whole number, not bool"),
    (check_whole, 1.0, TypeError, "wait is a whole number, not float"),
    (check_whole, 0, ValueError, "wait must be 1 or more: 0"),
    (check_seconds, True, TypeError, "wait is a number of seconds, not bool"),
    (check_seconds, None, TypeError, "wait is a number of seconds, not NoneType"),
    (check_seconds, 0, ValueError, "wait must be above 0 and finite: 0"),
    (check_seconds, float("nan"), ValueError, "wait must be above 0 and finite: nan"),
    (check_seconds, float("inf"), ValueError, "wait must be above 0 and finite: inf"),
    (check_seconds, HUGE, ValueError, "wait must be above 0 and finite: 1000"),
    (lambda name, value: check_number(name, value, 0), "5", TypeError, "wait is a number, not str"),
    (lambda name, value: check_number(name, value, 0), -0.5, ValueError,
     "wait must be finite, at least 0: -0.5"),
    (lambda name, value: check_number(name, value, 0, 1), 1.5, ValueError,
     "wait must be finite, at least 0 and at most 1: 1.5"),
    (lambda name, value: check_number(name, value, 0), float("nan"), ValueError, "finite"),
    (lambda name, value: check_number(name, value, 0), HUGE, ValueError, "finite"),
])
def test_what_is_refused(
    check: Callable[[str, Any], None], value: Any, error: Any, text: str
) -> None:
    """The sentence names the number and its range."""
    with pytest.raises(error, match=text):
        check("wait", value)
