# SPDX-License-Identifier: MIT
"""A deadline, and a budget of waiting, as plain arithmetic on seconds.

In: a number of seconds (None means no end), and a clock: a callable that
returns seconds and never goes back. Out: the seconds that are left, ``inf`` if
there is no end. Nothing here sleeps; the code that waits reports how long it
waited. Clocks count only while a read or write is outstanding (DESIGN.md §7).
"""

from __future__ import annotations

import math
import time
from typing import Callable, Optional

Clock = Callable[[], float]


class Deadline:
    """A moment by which something must be done.

    Args:
        seconds: counted from now, 0 or more; None for a moment that never comes.
        clock: returns seconds, monotonic.
    """

    __slots__ = ("_clock", "_end")

    def __init__(self, seconds: Optional[float], clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._end = math.inf if seconds is None else clock() + seconds

    def left(self) -> float:
        """Return the seconds left: ``inf`` if there is no end, 0.0 once it has passed."""
        return max(0.0, self._end - self._clock())

    @property
    def passed(self) -> bool:
        """Whether the moment has come."""
        return self.left() <= 0.0


class WaitBudget:
    """The seconds that all attempts of a call together may wait for a provider.

    Only seconds reported with ``spend`` count, so the consumer may take as long as
    it likes between two pieces (DESIGN.md §7, the total clock).

    Args:
        total: seconds above 0; None means no end.
        clock: returns seconds, monotonic; the code that waits measures with it.
    """

    __slots__ = ("total", "clock", "spent")

    def __init__(self, total: Optional[float], clock: Clock = time.monotonic) -> None:
        self.total = total
        self.clock = clock
        self.spent = 0.0

    def spend(self, seconds: float) -> None:
        """Count ``seconds`` of waiting."""
        self.spent += seconds

    def left(self) -> float:
        """Return the seconds left: ``inf`` if there is no end, 0.0 once they are spent."""
        return math.inf if self.total is None else max(0.0, self.total - self.spent)
