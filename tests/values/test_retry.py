# SPDX-License-Identifier: MIT
"""The retry policy and its decision: tables of failures, counts and waits."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random
from typing import Any, Dict, List, Optional

import pytest

from streamcore.values.errors import CODES, Failure, is_retryable
from streamcore.values.retry import RetryPolicy, RetryRecord, decide


def fail(code: str = "SERVER", retryable: Optional[bool] = None, **facts: Any) -> Failure:
    """Make a failure as the library would."""
    return Failure(code, "it failed", is_retryable(code) if retryable is None else retryable,
                   **facts)


def middle() -> float:
    """Return the random number that leaves the wait unchanged."""
    return 0.5


NORMAL = RetryPolicy()
ALWAYS = RetryPolicy(mode="always")


@pytest.mark.parametrize("code", sorted(CODES) + ["HTTP_404", "HTTP_409", "SOME_WORD"])
def test_code_decides_as_the_table_says(code: str) -> None:
    """In both modes, exactly the codes that ``CODES`` calls retryable are tried again."""
    for policy in (NORMAL, ALWAYS):
        assert (decide(policy, fail(code), 1, middle) is not None) == is_retryable(code)


@pytest.mark.parametrize("status, code, again", [
    (400, "INVALID_REQUEST", False), (401, "AUTH", False), (403, "AUTH", False),
    (404, "HTTP_404", False), (408, "TIMEOUT", True), (409, "HTTP_409", True),
    (413, "INVALID_REQUEST", False), (422, "INVALID_REQUEST", False), (429, "RATE_LIMIT", True),
    *[(status, "SERVER", True) for status in (500, 502, 503, 504, 520, 521, 522, 523, 524, 529)],
])
def test_status_decides_as_the_table_says(status: int, code: str, again: bool) -> None:
    """An HTTP status is tried again exactly if its code is retryable."""
    assert (decide(NORMAL, fail(code, status=status), 1, middle) is not None) == again


def test_providers_own_word_on_retrying_wins_over_the_code() -> None:
    """The failure's ``retryable`` counts, not the usual value of its code."""
    assert decide(NORMAL, fail("SERVER", retryable=False), 1, middle) is None
    assert decide(NORMAL, fail("AUTH", retryable=True), 1, middle) == 0.5


def test_quota_is_not_retried_even_with_retry_after() -> None:
    """An exhausted quota stops at once, even if the provider names a wait."""
    assert decide(NORMAL, fail("QUOTA", status=429, retry_after=1.0), 1, middle) is None


@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_number_of_attempts_is_hard(most: int) -> None:
    """Exactly ``max_retries`` tries follow the first try."""
    policy = RetryPolicy(max_retries=most)
    attempts = 1
    while decide(policy, fail(), attempts, middle) is not None:
        attempts += 1
    assert attempts == most + 1


def test_always_goes_on_without_a_count() -> None:
    """Mode always never runs out of tries, and its wait stays finite."""
    for attempt in (1, 3, 50, 5000, 10**6):
        delay = decide(ALWAYS, fail(), attempt, middle)
        assert delay is not None and 0 <= delay <= 10.0


@pytest.mark.parametrize("values", [
    {"initial_delay": 0}, {"max_delay": 0}, {"initial_delay": 0.001, "multiplier": 1},
    {"jitter": 1.0},
])
@pytest.mark.parametrize("asked", [None, 0.0, 0.001])
def test_always_never_floods_the_provider(
    values: Dict[str, Any], asked: Optional[float]
) -> None:
    """Mode always waits 0.25 s or more, whatever the policy and the provider say."""
    failure = fail("RATE_LIMIT", retry_after=asked)
    for attempt in (1, 2, 5000):
        delay = decide(RetryPolicy(mode="always", **values), failure, attempt, lambda: 0.0)
        assert delay is not None and delay >= 0.25
    normal = decide(RetryPolicy(**values), fail(), 1, lambda: 0.0)
    assert normal is not None and normal < 0.25


@pytest.mark.parametrize("policy", [
    ALWAYS, NORMAL, RetryPolicy(mode="always", retryable_codes={"ABORTED"}),
    RetryPolicy(retryable_codes=["ABORTED"]),
])
@pytest.mark.parametrize("retryable", [True, False])
def test_aborted_is_never_retried(policy: RetryPolicy, retryable: bool) -> None:
    """A cancelled call is never tried again, whatever the mode, the codes or the flag say."""
    assert decide(policy, fail("ABORTED", retryable=retryable, retry_after=1.0), 1) is None


def test_total_clock_is_never_retried() -> None:
    """After the total clock there is no further try, because it counts all attempts."""
    gone = fail("TIMEOUT", retryable=False, clock="total")
    assert decide(RetryPolicy(mode="always", retryable_codes=("TIMEOUT",)), gone, 1) is None
    assert decide(NORMAL, fail("TIMEOUT", clock="idle"), 1, middle) == 0.5


def test_codes_given_are_retried_beside_the_retryable_ones() -> None:
    """``retryable_codes`` adds codes; retryable failures stay retryable."""
    policy = RetryPolicy(retryable_codes=["HTTP_404", "MALFORMED_RESPONSE"])
    assert decide(policy, fail("HTTP_404"), 1, middle) == 0.5
    assert decide(policy, fail("MALFORMED_RESPONSE"), 1, middle) == 0.5
    assert decide(policy, fail("SERVER"), 1, middle) == 0.5
    assert decide(policy, fail("AUTH"), 1, middle) is None


def test_backoff_doubles_to_its_ceiling() -> None:
    """The wait begins at 0.5 s and doubles up to 10 s."""
    waits = [decide(ALWAYS, fail(), attempt, middle) for attempt in range(1, 9)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]


@pytest.mark.parametrize("number, wait", [(0.0, 0.9), (0.5, 1.0), (0.999999, 1.1)])
def test_jitter_moves_the_wait_by_a_tenth(number: float, wait: float) -> None:
    """Jitter adds or subtracts at most its share."""
    assert decide(NORMAL, fail(), 2, lambda: number) == pytest.approx(wait, abs=1e-4)


def test_real_randomness_stays_within_the_jitter() -> None:
    """The default source of randomness keeps every wait within ten per cent."""
    for _ in range(200):
        delay = decide(NORMAL, fail(), 1)
        assert delay is not None and 0.45 <= delay <= 0.55
    generator = random.Random(7)
    assert len({decide(NORMAL, fail(), 1, generator.random) for _ in range(20)}) > 10


@pytest.mark.parametrize("asked, normal, always", [
    (5.0, 5.0, 5.0),
    (0.3, 0.3, 0.3),
    (0, 0.5, 0.5),
    (0.0, 0.5, 0.5),
    (0.03, 0.03, 0.25),
    (60.0, 60.0, 60.0),
    (60.001, None, 0.5),
    (9999999999.0, None, 0.5),
    (None, 0.5, 0.5),
])
def test_retry_after_is_waited_out_up_to_its_cap(
    asked: Optional[float], normal: Optional[float], always: Optional[float]
) -> None:
    """Retry-After is obeyed up to the cap; above it, normal stops and always backs off."""
    failure = fail("RATE_LIMIT", retry_after=asked)
    assert decide(NORMAL, failure, 1, middle) == normal
    assert decide(ALWAYS, failure, 1, middle) == always


def test_retry_after_is_exact_whatever_the_random_number() -> None:
    """Jitter changes our own waits, never a wait that the provider asks for."""
    assert decide(NORMAL, fail("RATE_LIMIT", retry_after=7.0), 1, lambda: 0.99) == 7.0


def test_attempts_count_from_one() -> None:
    """An attempt below 1 is refused."""
    with pytest.raises(ValueError, match="count from 1"):
        decide(NORMAL, fail(), 0)


@pytest.mark.parametrize("values, error", [
    ({"mode": "sometimes"}, ValueError),
    ({"max_retries": -1}, ValueError),
    ({"max_retries": 1.0}, TypeError),
    ({"max_retries": True}, TypeError),
    ({"max_retries": None}, TypeError),
    ({"retryable_codes": "SERVER"}, TypeError),
    ({"retryable_codes": [5]}, TypeError),
    ({"retryable_codes": [""]}, ValueError),
    ({"retryable_codes": 5}, TypeError),
    ({"initial_delay": -0.1}, ValueError),
    ({"initial_delay": "1"}, TypeError),
    ({"max_delay": float("inf")}, ValueError),
    ({"max_delay": None}, TypeError),
    ({"multiplier": 0.9}, ValueError),
    ({"multiplier": float("nan")}, ValueError),
    ({"jitter": 1.1}, ValueError),
    ({"jitter": -0.1}, ValueError),
    ({"jitter": False}, TypeError),
    ({"max_retry_after": -1}, ValueError),
])
def test_policy_is_checked_when_made(values: Dict[str, Any], error: type) -> None:
    """A value that makes no sense is refused; the error names the field."""
    with pytest.raises(error, match=next(iter(values))):
        RetryPolicy(**values)


def test_policy_is_frozen_and_a_value() -> None:
    """A policy cannot be changed; it compares by value, hashes and pickles."""
    codes: List[str] = ["SERVER"]
    policy = RetryPolicy(retryable_codes=codes)
    codes.append("AUTH")
    assert policy.retryable_codes == {"SERVER"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.max_retries = 9  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(policy)) == policy == copy.copy(policy)
    assert len({policy, RetryPolicy(retryable_codes=("SERVER",))}) == 1


def test_record_is_frozen_and_goes_through_a_dict() -> None:
    """A record of one decision can be logged and read again."""
    record = RetryRecord(2, 1.5, fail("RATE_LIMIT", status=429, retry_after=1.5))
    assert RetryRecord.from_dict(record.to_dict()) == record
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.delay = 0.0  # type: ignore[misc]
