# SPDX-License-Identifier: MIT
"""What may end a wait: the caller's cancel, a close, and the clocks of one call.

In: the limits of a call, its cancel event and its budget of waiting; then, from the
connection, the phase of the call (``enter``) and the bytes that arrived. Out: ``check``
returns how long the current wait may still last, or raises ABORTED or TIMEOUT. There are no
sockets here: the code that waits calls ``check`` after each slice (DESIGN.md §7).
"""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from typing import Callable, Iterator, Optional, Sequence, Tuple

from ..values.clock import Deadline, WaitBudget
from ..values.limits import ResolvedLimits
from . import faults

SLICE = 0.1  # seconds; the longest time for which a wait does not check cancel and clocks
SHORTEST_WAIT = 0.001  # seconds; a socket time-out of 0 would mean non-blocking
LONGEST_WAIT = 1e6  # seconds, 11 days; sockets refuse time-outs of a few hundred years

_active = threading.local()


class Watch:
    """The state of one request that its waits need: phase, clocks, cancel, counts.

    Args:
        target: host and port, for messages.
        limits: the clocks, in seconds.
        cancel: the caller's event; None if the call has no such event.
        budget: the waiting that the total clock counts; its ``clock`` is used for all times.
        secrets: texts that no message may show.
        on_resend: called before the request is sent once more.
    """

    __slots__ = (
        "origin", "target", "limits", "cancel", "budget", "secrets", "clock",
        "phase", "closed", "received", "grace", "fresh", "reused", "sent", "answered",
        "request_sent_at", "first_byte_at",
        "response", "file", "adapter_timeout", "_name", "_allowed", "_left", "_restarts", "_began",
        "_on_resend",
    )  # fmt: skip

    def __init__(
        self,
        target: str,
        limits: ResolvedLimits,
        cancel: Optional[threading.Event],
        budget: WaitBudget,
        secrets: Sequence[str] = (),
        on_resend: Optional[Callable[[], None]] = None,
    ) -> None:
        self.origin = target
        self.target = target  # the same, and the proxy once it is known
        self.limits = limits
        self.cancel = cancel
        self.budget = budget
        self.secrets = secrets
        self.clock = budget.clock
        self.phase = "prepare"
        self.closed = False  # close() was called, by any thread
        self.received = 0  # decoded body bytes handed on
        self.grace: Optional[Deadline] = None  # one more deadline, for the last reads
        self.fresh = False  # use no pooled connection, because one has just failed
        self.reused = False  # the connection has served another request before
        self.sent: Optional[bool] = None  # the request was written whole; None if unknown
        self.answered = False  # a byte of a response was seen
        self.request_sent_at: Optional[float] = None
        self.first_byte_at: Optional[float] = None
        self.response: Optional[object] = None  # the http.client response, once begun
        self.file: Optional[object] = None  # the file from which it reads its headers
        self.adapter_timeout: Optional[float] = None  # seconds a custom adapter was told to wait
        self._name = "connect"
        self._allowed: Optional[float] = None  # seconds the phase's clock was set to
        self._left = math.inf  # seconds the phase's clock has left when the next wait begins
        self._restarts = False  # whether the phase's clock starts anew with each wait
        self._began = self.clock()
        self._on_resend = on_resend

    @property
    def stopped(self) -> bool:
        """Whether the call was cancelled or closed."""
        return self.closed or (self.cancel is not None and self.cancel.is_set())

    def enter(self, phase: str) -> None:
        """Set the phase of the call, and start the clock of that phase."""
        self.phase = phase
        if phase == "connect":
            self._start_clock("connect", self.limits.connect_timeout, False)
        elif phase == "send":
            self._start_clock("idle", self.limits.idle_timeout, True)
        elif phase == "headers":
            self.request_sent_at = self.clock()
            self._start_clock("first-byte", self.limits.first_byte_timeout, False)

    def arrived(self, count: int) -> None:
        """Count ``count`` (1 or more) body bytes; the first one ends the first-byte clock."""
        if not self.received:
            self.first_byte_at = self.clock()
            self._start_clock("idle", self.limits.idle_timeout, True)
        self.received += count

    def _start_clock(self, name: str, allowed: Optional[float], restarts: bool) -> None:
        self._name, self._allowed, self._restarts = name, allowed, restarts
        self._left = math.inf if allowed is None else allowed

    def begin_again(self) -> None:
        """Prepare to send the request once more, on a new connection."""
        self.fresh, self.reused, self.sent = True, False, False
        if self._on_resend is not None:
            self._on_resend()

    def begin(self) -> None:
        """Start a wait.

        Raises:
            LlmError: as ``check``.
        """
        self.check(begins=True)

    def check(self, begins: bool = False) -> float:
        """Return the seconds that the current wait may still last, ``inf`` without a clock.

        Args:
            begins: whether the wait begins now.
        Raises:
            LlmError: ``ABORTED`` once the call is cancelled or closed, ``TIMEOUT``
                once a clock has run out.
        """
        if self.closed or (self.cancel is not None and self.cancel.is_set()):
            raise faults.aborted(self)
        now, budget, left = self.clock(), self.budget, self._left
        if begins:
            self._began = now
        if budget.total is not None:
            left = min(left, budget.total - budget.spent)
        left -= now - self._began
        if self.grace is not None:
            left = min(left, self.grace.left())
        if left <= 0:
            raise faults.timed_out(self, *self._tightest())
        return left

    def timeout(self) -> Optional[float]:
        """Return a socket time-out in seconds, above 0, for the rest of the current wait.

        None if no clock is set.

        Raises:
            LlmError: as ``check``.
        """
        left = self.check()
        return None if left == math.inf else min(LONGEST_WAIT, max(SHORTEST_WAIT, left))

    def end(self) -> None:
        """End the wait: count it against the total clock, and the phase's if that adds up."""
        spent = self.clock() - self._began
        self.budget.spent += spent
        if not self._restarts:
            self._left -= spent

    def tightest(self) -> Tuple[str, Optional[float]]:
        """Return the name of the clock that runs out first, and the seconds it was set to.

        A custom adapter has one time-out for all its reads: this names the clock it came from.
        """
        if self.adapter_timeout is None:
            return self._tightest()
        limits = self.limits
        clocks = [("first-byte", limits.first_byte_timeout), ("idle", limits.idle_timeout)]
        for name, allowed in reversed(clocks) if self.received else clocks:
            if allowed == self.adapter_timeout:
                return name, allowed
        return "total", self.budget.total

    def _tightest(self) -> Tuple[str, Optional[float]]:
        if self.budget.left() <= self._left:
            return "total", self.budget.total
        return self._name, self._allowed


@contextmanager
def active(watch: Watch) -> Iterator[None]:
    """Make ``watch`` the watch of all connections that this thread uses meanwhile."""
    before = current()  # not None if a signal handler calls in the middle of a call
    _active.watch = watch
    try:
        yield
    finally:
        _active.watch = before


def current() -> Optional[Watch]:
    """Return the watch of the request that this thread is sending, or None."""
    watch: Optional[Watch] = getattr(_active, "watch", None)
    return watch
