# SPDX-License-Identifier: MIT
"""Whether another try is made, and how long to wait before it.

In: a ``RetryPolicy``, the failure of an attempt, the number of attempts so far,
and a source of randomness. Out of ``decide``: the seconds to wait, or None to
stop. ``decide`` is pure: its caller waits, watches cancel and the total clock,
and never retries after a chunk was shown. The rules are in DESIGN.md §6 and §7.
"""

from __future__ import annotations

import math
import random as _random
from dataclasses import dataclass
from typing import Any, Callable, Collection, Dict, Iterable, Mapping, Optional

from .errors import Failure
from .numbers import check_number, check_whole

MODES = ("normal", "always")

_LEAST_DELAY = 0.25  # seconds; mode always would flood the provider without a wait


@dataclass(frozen=True)
class RetryPolicy:
    """Which failures are tried again, how often, and after what wait.

    Args:
        mode: ``normal`` stops after ``max_retries``; ``always`` tries again
            until success or cancel, and waits 0.25 s or more before each try.
        max_retries: tries after the first try, 0 or more; 0 means one request.
        retryable_codes: codes that are tried again, besides the failures that are
            retryable anyway; None adds nothing. ``ABORTED`` is never tried again.
        initial_delay: seconds before the second try, 0 or more.
        max_delay: seconds that the wait grows to at most, before jitter; 0 or more.
        multiplier: factor by which the wait grows from try to try, 1 or more.
        jitter: share of the wait that is added or subtracted at random, 0 to 1.
        max_retry_after: the longest ``Retry-After`` of a provider that is waited for, in seconds.
            A ``Retry-After`` of 0 asks for no wait; the policy's own wait is used.
    Raises:
        ValueError: for a number out of range or an unknown mode.
        TypeError: for a value of the wrong type.
    """

    mode: str = "normal"
    max_retries: int = 2
    retryable_codes: Optional[Collection[str]] = None
    initial_delay: float = 0.5
    max_delay: float = 10.0
    multiplier: float = 2.0
    jitter: float = 0.1
    max_retry_after: float = 60.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is one of {', '.join(MODES)}, not {self.mode!r}")
        check_whole("max_retries", self.max_retries, 0)
        object.__setattr__(self, "retryable_codes", _read_codes(self.retryable_codes))
        check_number("initial_delay", self.initial_delay, 0)
        check_number("max_delay", self.max_delay, 0)
        check_number("multiplier", self.multiplier, 1)
        check_number("jitter", self.jitter, 0, 1)
        check_number("max_retry_after", self.max_retry_after, 0)


@dataclass(frozen=True)
class RetryRecord:
    """A decision to retry: what failed, and how long until the next try.

    Args:
        attempt: number of the attempt that failed, from 1.
        delay: seconds until the next attempt.
        failure: why the attempt failed.
    """

    attempt: int
    delay: float
    failure: Failure

    def to_dict(self) -> Dict[str, Any]:
        """Return the record as a JSON-able dict."""
        return {"attempt": self.attempt, "delay": self.delay, "failure": self.failure.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RetryRecord:
        """Read what ``to_dict`` wrote."""
        return cls(data["attempt"], data["delay"], Failure.from_dict(data["failure"]))


def decide(
    policy: RetryPolicy,
    failure: Failure,
    attempt: int,
    random: Callable[[], float] = _random.random,
) -> Optional[float]:
    """Return the seconds to wait before the next try, or None to stop.

    Args:
        policy: the rules of retrying.
        failure: how the attempt failed.
        attempt: number of attempts so far, with the failed one: 1 or more.
        random: returns a number from 0 up to 1; used for the jitter only.
    Raises:
        ValueError: when ``attempt`` is below 1.
    """
    if attempt < 1:
        raise ValueError(f"attempts count from 1: {attempt}")
    if not _worth_it(policy, failure):
        return None
    if policy.mode == "normal" and attempt > policy.max_retries:
        return None
    asked = failure.retry_after or 0.0
    if not 0 < asked < math.inf:  # not sent, "at once", or not usable
        delay = _backoff(policy, attempt, random)
    elif asked <= policy.max_retry_after:
        delay = float(asked)
    elif policy.mode == "normal":
        return None
    else:
        delay = _backoff(policy, attempt, random)
    return delay if policy.mode == "normal" else max(delay, _LEAST_DELAY)


def _worth_it(policy: RetryPolicy, failure: Failure) -> bool:
    if failure.code == "ABORTED":
        return False
    if failure.clock == "total":  # it counts all attempts, so no time is left
        return False
    return failure.retryable or failure.code in (policy.retryable_codes or ())


def _backoff(policy: RetryPolicy, attempt: int, random: Callable[[], float]) -> float:
    try:
        grown = policy.initial_delay * policy.multiplier ** (attempt - 1)
    except OverflowError:  # after some thousand tries in mode always
        grown = math.inf if policy.initial_delay else 0.0
    return min(grown, policy.max_delay) * (1 + policy.jitter * (2 * random() - 1))


def _read_codes(codes: Any) -> Optional[Collection[str]]:
    if codes is None:
        return None
    if isinstance(codes, (str, bytes)) or not isinstance(codes, Iterable):
        raise TypeError(f"retryable_codes is a collection of codes, not {codes!r}")
    found = frozenset(codes)
    for code in found:
        if not isinstance(code, str):
            raise TypeError(f"retryable_codes holds strings, not {type(code).__name__}")
        if not code:
            raise ValueError("retryable_codes holds an empty code")
    return found
