# SPDX-License-Identifier: MIT
"""Deadlines and the budget of waiting, on a clock that the test moves."""

from __future__ import annotations

import math
from typing import Iterator

import pytest

from streamcore.values.clock import Deadline, WaitBudget


class Hand:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hand() -> Iterator[Hand]:
    """Return a clock that stands still until it is moved."""
    yield Hand()


def test_deadline_counts_down(hand: Hand) -> None:
    """The seconds left shrink with the clock and stop at 0."""
    deadline = Deadline(2.0, hand)
    assert deadline.left() == 2.0 and not deadline.passed
    hand.now += 1.5
    assert deadline.left() == 0.5
    hand.now += 1.0
    assert deadline.left() == 0.0 and deadline.passed


def test_deadline_without_end_never_passes(hand: Hand) -> None:
    """A deadline of None has no end."""
    deadline = Deadline(None, hand)
    hand.now += 1e9
    assert deadline.left() == math.inf and not deadline.passed


def test_budget_counts_only_what_is_spent(hand: Hand) -> None:
    """Time that passes without waiting is not counted."""
    budget = WaitBudget(3.0, hand)
    hand.now += 100.0
    assert budget.left() == 3.0 and budget.spent == 0.0
    budget.spend(1.0)
    budget.spend(1.5)
    assert budget.spent == 2.5 and budget.left() == 0.5
    budget.spend(9.0)
    assert budget.left() == 0.0


def test_budget_without_end_still_counts(hand: Hand) -> None:
    """A budget of None has no end, but still counts the waiting."""
    budget = WaitBudget(None, hand)
    budget.spend(4.0)
    assert budget.left() == math.inf and budget.spent == 4.0


def test_clocks_default_to_monotonic_time() -> None:
    """Without a clock the real one is used."""
    assert 0 < Deadline(60.0).left() <= 60.0
    assert WaitBudget(1.0).clock() > 0
