# SPDX-License-Identifier: MIT
"""Time as plain arithmetic: a deadline, and a budget of waiting.

In: a number of seconds (None: no end) and a clock, a callable that gives
seconds and never goes back. Out: how much is left, ``inf`` where there is no
end. Nothing here sleeps; who waits says how long it waited (DESIGN.md §7:
clocks count only while a read or write is outstanding).
"""

from __future__ import annotations

import math
import time
from typing import Callable, Optional

Clock = Callable[[], float]


class Deadline:
    """A moment after which something is over.

    Args:
        seconds: from now, 0 or more; None for a moment that never comes.
        clock: gives seconds, monotonic.
    """

    __slots__ = ("_clock", "_end")

    def __init__(self, seconds: Optional[float], clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._end = math.inf if seconds is None else clock() + seconds

    def left(self) -> float:
        """Return the seconds left: ``inf`` without an end, 0.0 once it has passed."""
        return max(0.0, self._end - self._clock())

    @property
    def passed(self) -> bool:
        """Whether the moment has come."""
        return self.left() <= 0.0


class WaitBudget:
    """The seconds that may be spent waiting on a provider, all attempts together.

    Only what is reported with ``spend`` counts, so that a consumer may think
    between two pieces as long as it likes (DESIGN.md §7, the total clock).

    Args:
        total: seconds above 0; None for no end.
        clock: gives seconds, monotonic; whoever waits measures with it.
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
        """Return the seconds left: ``inf`` without an end, 0.0 once they are spent."""
        return math.inf if self.total is None else max(0.0, self.total - self.spent)
