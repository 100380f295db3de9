# SPDX-License-Identifier: MIT
"""What may end a wait: the caller's cancel, a close, and the clocks of one call.

In: the limits of a call, its cancel event and its budget of waiting; then,
from the connection, where the call is (``enter``) and what arrived.
Out: ``check`` gives how long the wait under way may still last, or raises
ABORTED or TIMEOUT. No sockets here: who waits asks in slices (DESIGN.md §7).
"""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from typing import Callable, Iterator, Optional, Sequence, Tuple

from ..values.clock import Deadline, WaitBudget
from ..values.limits import ResolvedLimits
from . import faults

SLICE = 0.1  # seconds; the longest a wait goes without a look at cancel and clocks
SHORTEST_WAIT = 0.001  # seconds; a socket time-out of 0 would mean non-blocking
LONGEST_WAIT = 1e6  # seconds, 11 days; sockets refuse time-outs of a few hundred years

_active = threading.local()


class Watch:
    """The life of one request, seen from whoever waits in it.

    Args:
        target: host and port, for messages.
        limits: the clocks, in seconds.
        cancel: the caller's event; None where nothing can be cancelled.
        budget: the waiting counted by the total clock; its clock is used throughout.
        secrets: what no message may show.
        on_resend: called before the request is sent once more.
    """

    __slots__ = (
        "origin", "target", "limits", "cancel", "budget", "secrets", "clock",
        "phase", "closed", "received", "grace", "fresh", "reused", "sent", "answered",
        "request_sent_at", "first_byte_at",
        "response", "file", "foreign", "_name", "_allowed", "_left", "_rearms", "_began",
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
        self.target = target  # the same, with the proxy on the way once it is known
        self.limits = limits
        self.cancel = cancel
        self.budget = budget
        self.secrets = secrets
        self.clock = budget.clock
        self.phase = "prepare"
        self.closed = False  # close() was called, from whatever thread
        self.received = 0  # body bytes handed on
        self.grace: Optional[Deadline] = None  # an end of the last reads, beside the clocks
        self.fresh = False  # no pooled connection will do: one has just failed
        self.reused = False  # this try got a connection that served another request before
        self.sent: Optional[bool] = None  # the request is written whole; None where unknown
        self.answered = False  # a byte of a response was seen
        self.request_sent_at: Optional[float] = None
        self.first_byte_at: Optional[float] = None
        self.response: Optional[object] = None  # the http.client response, once begun
        self.file: Optional[object] = None  # what it reads its headers from
        self.foreign: Optional[float] = None  # seconds a custom adapter was told to wait
        self._name = "connect"
        self._allowed: Optional[float] = None  # seconds the phase's clock was set to
        self._left = math.inf  # seconds it has left when the next wait begins
        self._rearms = False  # whether each wait has it anew
        self._began = self.clock()
        self._on_resend = on_resend

    @property
    def stopped(self) -> bool:
        """Whether the caller wants no more of this call."""
        return self.closed or (self.cancel is not None and self.cancel.is_set())

    def enter(self, phase: str) -> None:
        """Say where the call is, and start the clock that belongs there."""
        self.phase = phase
        if phase == "connect":
            self._wind("connect", self.limits.connect_timeout, False)
        elif phase == "send":
            self._wind("idle", self.limits.idle_timeout, True)
        elif phase == "headers":
            self.request_sent_at = self.clock()
            self._wind("first-byte", self.limits.first_byte_timeout, False)

    def arrived(self, count: int) -> None:
        """Count ``count`` (1 or more) body bytes; the first one ends the first-byte clock."""
        if not self.received:
            self.first_byte_at = self.clock()
            self._wind("idle", self.limits.idle_timeout, True)
        self.received += count

    def _wind(self, name: str, allowed: Optional[float], rearms: bool) -> None:
        self._name, self._allowed, self._rearms = name, allowed, rearms
        self._left = math.inf if allowed is None else allowed

    def begin_again(self) -> None:
        """Say that the request goes out once more, on a connection of its own."""
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
        """Return the seconds the wait under way may still last, ``inf`` without a clock.

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
        """Return what the wait under way may still last as a socket time-out, above 0.

        None where no clock is on.

        Raises:
            LlmError: as ``check``.
        """
        left = self.check()
        return None if left == math.inf else min(LONGEST_WAIT, max(SHORTEST_WAIT, left))

    def end(self) -> None:
        """End the wait: count it against the clocks that add up."""
        spent = self.clock() - self._began
        self.budget.spent += spent
        if not self._rearms:
            self._left -= spent

    def tightest(self) -> Tuple[str, Optional[float]]:
        """Return the name and value of the clock that runs out first.

        A custom adapter knows one time-out for all its reads: then the clock it came from.
        """
        if self.foreign is None:
            return self._tightest()
        limits = self.limits
        clocks = [("first-byte", limits.first_byte_timeout), ("idle", limits.idle_timeout)]
        for name, allowed in reversed(clocks) if self.received else clocks:
            if allowed == self.foreign:
                return name, allowed
        return "total", self.budget.total

    def _tightest(self) -> Tuple[str, Optional[float]]:
        if self.budget.left() <= self._left:
            return "total", self.budget.total
        return self._name, self._allowed


@contextmanager
def active(watch: Watch) -> Iterator[None]:
    """Make ``watch`` the one that connections used by this thread obey."""
    before = current()  # a signal handler may call in the middle of a call
    _active.watch = watch
    try:
        yield
    finally:
        _active.watch = before


def current() -> Optional[Watch]:
    """Return the watch of the request that this thread is sending."""
    watch: Optional[Watch] = getattr(_active, "watch", None)
    return watch
