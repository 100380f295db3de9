# SPDX-License-Identifier: MIT
"""Retries: which attempts are made, and what the caller sees of them.

test_retry tests the decision, which is a pure function. The tests here carry it out, with
scripted adapters and waits of a few milliseconds.
"""

from __future__ import annotations

import threading
import time
from dataclasses import FrozenInstanceError, replace
from typing import Any, Callable, Iterator, List, Optional

import pytest

from streamcore.runtime import LlmRuntime, RunningCall
from streamcore.session import Session
from streamcore.values.calls import CallContext, LlmRequest
from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, StreamChunk, TextDelta, UsageChunk,
)
from streamcore.values.clock import WaitBudget
from streamcore.values.errors import Failure, LlmError, Partial
from streamcore.values.grammar import check_grammar
from streamcore.values.messages import TextBlock
from streamcore.values.retry import RetryPolicy, RetryRecord
from streamcore.values.usage import TokenUsage

GOOD: List[StreamChunk] = [
    BlockStart(0, "text"), TextDelta(0, "hello"), BlockEnd(0, TextBlock("hello")),
    Finish(FinishReason("stop"), "stop"),
]
QUICK = RetryPolicy(max_retries=2, initial_delay=0.002, jitter=0.0)
BUSY = LlmError("busy", "SERVER", status=503)


def limited(seconds: float) -> LlmError:
    """Return a rate limit failure that says how long to wait."""
    return LlmError("slow down", "RATE_LIMIT", status=429, retry_after=seconds)


class Scripted:
    """An adapter with one script for each attempt; the last script repeats."""

    def __init__(self, *attempts: List[Any]) -> None:
        self.attempts = attempts
        self.times: List[float] = []
        self.closed = 0

    def stream(self, request: LlmRequest) -> Iterator[StreamChunk]:
        """Play the next attempt."""
        script = self.attempts[min(len(self.times), len(self.attempts) - 1)]
        self.times.append(time.monotonic())
        return self._play(script)

    def _play(self, script: List[Any]) -> Iterator[StreamChunk]:
        try:
            for step in script:
                if isinstance(step, BaseException):
                    raise step
                yield step
        finally:
            self.closed += 1


def start(
    adapter: Any, policy: RetryPolicy = QUICK, *, context: Optional[CallContext] = None,
    **rest: Any,
) -> RunningCall:
    """Start a call that the adapter answers."""
    runtime = LlmRuntime()
    runtime.register_adapter(["p"], adapter)
    request = LlmRequest.make("m", "hi", provider="p").with_context(context or CallContext())
    return RunningCall(runtime, request, policy=policy, **rest)


def run(adapter: Any, policy: RetryPolicy = QUICK, **rest: Any) -> List[StreamChunk]:
    """Return all chunks of a call, and check their grammar."""
    return list(check_grammar(start(adapter, policy, **rest).chunks()))


def failure_of(chunks: List[StreamChunk]) -> Failure:
    """Return the failure of the last chunk."""
    end = chunks[-1]
    assert isinstance(end, Finish) and end.reason.failure is not None
    return end.reason.failure


def test_good_answer_takes_one_attempt() -> None:
    """A good answer is not tried again."""
    adapter = Scripted(GOOD)
    call = start(adapter)
    assert list(call.chunks()) == GOOD
    assert call.attempts == 1 == len(adapter.times) and call.answer.message.text == "hello"


def test_failed_attempts_are_not_seen() -> None:
    """The caller gets only the chunks of the attempt that ended well."""
    adapter = Scripted([BUSY], [limited(0.001)], GOOD)
    call = start(adapter)
    assert list(call.chunks()) == GOOD
    assert call.attempts == 3 and adapter.closed == 3


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_attempts_are_a_hard_number(retries: int) -> None:
    """After max_retries more attempts the last failure comes; 0 means one request."""
    adapter = Scripted([BUSY])
    chunks = run(adapter, replace(QUICK, max_retries=retries, max_delay=0.002))
    assert len(adapter.times) == retries + 1
    assert chunks == [Finish(FinishReason("error", BUSY.failure))]


@pytest.mark.parametrize("code", ["AUTH", "QUOTA", "INVALID_REQUEST", "MALFORMED_RESPONSE"])
def test_what_another_try_cannot_help_is_not_tried_again(code: str) -> None:
    """A failure that is not retryable is tried again only if its code is in ``ask_again``."""
    adapter = Scripted([LlmError("no", code)], GOOD)
    assert failure_of(run(adapter)).code == code and len(adapter.times) == 1
    adapter = Scripted([LlmError("no", code)], GOOD)
    assert run(adapter, replace(QUICK, retryable_codes=[code])) == GOOD


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.parametrize("mode", ["normal", "always"])
def test_no_retry_after_a_chunk_was_handed_out(mode: str, logged: bool) -> None:
    """After a chunk was shown, no other attempt begins."""
    adapter = Scripted([BlockStart(0, "text"), TextDelta(0, "Hel"), BUSY], GOOD)
    recorder = Session().recorder() if logged else None
    chunks = run(adapter, replace(QUICK, mode=mode), recorder=recorder)
    assert [chunk.type for chunk in chunks] == ["block-start", "text-delta", "finish"]
    assert len(adapter.times) == 1 and failure_of(chunks) == BUSY.failure


def test_held_call_is_tried_again_after_chunks() -> None:
    """If nobody saw the chunks of a failed attempt, they are dropped."""
    adapter = Scripted([*GOOD[:2], BUSY], GOOD)
    assert run(adapter, whole=True) == GOOD
    assert len(adapter.times) == 2


def test_held_call_that_fails_for_good_gives_what_had_come() -> None:
    """The chunks of the last attempt come, then its failure."""
    adapter = Scripted([BlockStart(0, "text"), TextDelta(0, "never seen"), BUSY], [*GOOD[:2], BUSY])
    chunks = run(adapter, replace(QUICK, max_retries=1), whole=True)
    assert chunks == [*GOOD[:2], Finish(FinishReason("error", BUSY.failure))]


def test_usage_alone_rules_no_retry_out() -> None:
    """A failed attempt's usage is held back until its failure is final."""
    partial = Partial(usage=TokenUsage(input_tokens=7))
    cut = LlmError("cut", "STREAM_CLOSED", partial=partial)
    assert run(Scripted([cut], GOOD)) == GOOD
    chunks = run(Scripted([cut]), replace(QUICK, max_retries=0))
    assert chunks[0] == UsageChunk(TokenUsage(input_tokens=7)) and len(chunks) == 2


def test_usage_of_failed_attempts_is_added_up() -> None:
    """``failed_usage`` sums the usage of the attempts that were tried again."""
    cut = LlmError("cut", "STREAM_CLOSED", partial=Partial(usage=TokenUsage(input_tokens=7)))
    call = start(Scripted([cut], [cut], GOOD))
    assert list(call.chunks()) == GOOD
    assert call.failed_usage == TokenUsage(input_tokens=14)


def test_wait_ends_by_a_clock_that_is_exact() -> None:
    """The wait ends on a clock that moves exactly by the time slept."""
    now = [1.7]

    def sleep(seconds: float) -> None:
        assert len(slept) < 100
        slept.append(seconds)
        now[0] += seconds

    for asked in (0.2, 0.6, 1.1, 1.9, 2.4):
        slept: List[float] = []
        context = CallContext(clock=lambda: now[0], sleep=sleep)
        assert run(Scripted([limited(asked)], GOOD), context=context) == GOOD
        assert sum(slept) == pytest.approx(asked)


@pytest.mark.parametrize("asked", [0.03, 0.12])
def test_retry_after_is_waited_out_exactly(asked: float) -> None:
    """The policy's backoff does not shorten it, and there is no jitter."""
    adapter = Scripted([limited(asked)], GOOD)
    seen: List[RetryRecord] = []
    assert run(adapter, replace(QUICK, jitter=1.0), on_retry=seen.append) == GOOD
    assert seen[0].delay == asked
    assert asked <= adapter.times[1] - adapter.times[0] < asked + 1.0


def test_retry_after_beyond_the_policys_stops_normal_mode_only() -> None:
    """Normal mode reports the failure with its value; always mode uses its own backoff."""
    adapter = Scripted([limited(61.0)], GOOD)
    failure = failure_of(run(adapter))
    assert (failure.code, failure.retry_after, len(adapter.times)) == ("RATE_LIMIT", 61.0, 1)
    adapter = Scripted([limited(61.0)], GOOD)
    assert run(adapter, replace(QUICK, mode="always")) == GOOD


def test_always_goes_on_without_a_count() -> None:
    """It tries again until an attempt ends well."""
    adapter = Scripted(*[[BUSY]] * 4, GOOD)
    policy = replace(QUICK, mode="always", max_retries=0, max_delay=0.001)
    call = start(adapter, policy)
    assert list(call.chunks()) == GOOD and call.attempts == 5


def test_always_does_not_retry_what_another_try_cannot_help() -> None:
    """It differs from normal mode only in having no maximum."""
    adapter = Scripted([LlmError("no", "AUTH")], GOOD)
    assert failure_of(run(adapter, replace(QUICK, mode="always"))).code == "AUTH"
    assert len(adapter.times) == 1


def test_on_retry_gets_a_frozen_record_before_the_wait() -> None:
    """It has attempt number, wait and failure; the jitter comes from the given random."""
    seen: List[Any] = []

    def on_retry(record: RetryRecord) -> None:
        seen.append((record, len(adapter.times)))

    adapter = Scripted([BUSY], [BUSY], GOOD)
    policy = replace(QUICK, initial_delay=0.01, jitter=0.5)
    assert run(adapter, policy, on_retry=on_retry, random=lambda: 1.0) == GOOD
    assert [(r.attempt, round(r.delay, 6), r.failure) for r, _ in seen] == [
        (1, 0.015, BUSY.failure), (2, 0.03, BUSY.failure)
    ]
    assert [made for _, made in seen] == [1, 2]
    with pytest.raises(FrozenInstanceError):
        seen[0][0].delay = 0  # type: ignore[misc]


def test_on_retry_that_raises_comes_out_and_ends_the_call() -> None:
    """The caller's exception is raised unchanged, and there is no other attempt."""
    adapter = Scripted([BUSY], GOOD)

    def refuse(record: RetryRecord) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(adapter, on_retry=refuse)
    assert len(adapter.times) == 1 == adapter.closed


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_wait_ends_at_once_when_the_caller_stops(how: str) -> None:
    """The end is ABORTED, not the failure of the attempt before; no request follows."""
    adapter, cancel = Scripted([limited(30.0)], GOOD), threading.Event()
    context = CallContext(cancel)
    call = start(adapter, context=context)
    stop: Callable[[], None] = cancel.set if how == "cancel" else context.close
    timer = threading.Timer(0.15, stop)
    timer.start()
    began = time.monotonic()
    chunks = list(check_grammar(call.chunks()))
    timer.join()
    assert time.monotonic() - began < 3.0
    assert failure_of(chunks).code == "ABORTED" and len(chunks) == 1
    assert chunks[-1].reason.kind == "aborted"  # type: ignore[attr-defined]
    with pytest.raises(LlmError, match="ABORTED"):
        call.answer.message
    assert len(adapter.times) == 1


def test_wait_counts_against_the_total_clock() -> None:
    """Waiting and reading use the same budget."""
    context = CallContext()
    context.budget = WaitBudget(10.0)
    assert run(Scripted([limited(0.1)], GOOD), context=context) == GOOD
    assert 9.0 < context.budget.left() <= 9.9


def test_wait_that_the_total_clock_does_not_allow_is_not_begun() -> None:
    """If the total clock would end first, the failure comes at once."""
    context = CallContext()
    context.budget = WaitBudget(0.5)
    adapter = Scripted([limited(5.0)], GOOD)
    began = time.monotonic()
    assert failure_of(run(adapter, context=context)).code == "RATE_LIMIT"
    assert time.monotonic() - began < 3.0 and len(adapter.times) == 1


@pytest.mark.parametrize("delay", [0.1, 0.3, 0.7, 1.0 / 3.0, 29.999999999])
def test_wait_ends_with_a_clock_that_moves_by_what_was_slept(delay: float) -> None:
    """A rounding remainder of a float does not make the wait endless."""
    now = [1000.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    context = CallContext(clock=lambda: now[0], sleep=sleep)
    adapter = Scripted([limited(delay)], GOOD)
    assert run(adapter, context=context) == GOOD
    assert now[0] - 1000.0 == pytest.approx(delay)


def test_each_attempt_is_a_new_prepared_call() -> None:
    """Each attempt runs the hooks again and uses the routes of its own time."""
    runtime, hooked = LlmRuntime(), []
    first, second = Scripted([BUSY]), Scripted(GOOD)
    handle = runtime.register_adapter(["p"], first)
    runtime.on_request(lambda config: hooked.append(config))  # type: ignore[func-returns-value]

    def move(record: RetryRecord) -> None:
        handle.dispose()
        runtime.register_adapter(["p"], second)

    request = LlmRequest.make("m", "hi", provider="p")
    call = RunningCall(runtime, request, policy=QUICK, on_retry=move)
    assert list(call.chunks()) == GOOD
    assert (len(first.times), len(second.times), len(hooked)) == (1, 1, 2)


def test_next_attempt_that_is_refused_locally_raises() -> None:
    """A route that is gone after the wait is raised, and is not a finish."""
    runtime = LlmRuntime()
    handle = runtime.register_adapter(["p"], Scripted([BUSY]))
    call = RunningCall(
        runtime, LlmRequest.make("m", "hi", provider="p"), policy=QUICK,
        on_retry=lambda record: handle.dispose(),
    )
    with pytest.raises(LlmError) as caught:
        list(call.chunks())
    assert caught.value.code == "NO_ADAPTER"


def test_local_mistake_is_raised_when_the_call_is_made() -> None:
    """It is raised before any chunk is pulled."""
    with pytest.raises(LlmError) as caught:
        RunningCall(LlmRuntime(), LlmRequest.make("m", "hi", provider="p"))
    assert caught.value.code == "NO_ADAPTER"


def test_facts_of_a_failed_attempt_are_forgotten() -> None:
    """Request id, diagnostics and raw events belong to the attempt that is shown."""
    context = CallContext(raw_events=[])

    class Telling(Scripted):
        def stream(self, request: LlmRequest) -> Iterator[StreamChunk]:
            if not self.times:
                request.context.request_id = "first"
                request.context.diagnostics["odd"] = 1
                request.context.raw_events.append("event")  # type: ignore[union-attr]
            return super().stream(request)

    assert run(Telling([BUSY], GOOD), context=context) == GOOD
    assert (context.request_id, context.diagnostics, context.raw_events) == (None, {}, [])


def test_middleware_that_keeps_the_finish_back_is_told() -> None:
    """Without a finish there is no message and no retry, but a failure."""
    runtime, adapter = LlmRuntime(), Scripted(GOOD)
    runtime.register_adapter(["p"], adapter)
    runtime.use(lambda request, call: (c for c in call(request) if c.type != "finish"))
    call = RunningCall(runtime, LlmRequest.make("m", "hi", provider="p"), policy=QUICK)
    failure = failure_of(list(call.chunks()))
    assert failure.code == "STREAM_CLOSED" and "middleware" in failure.message


def test_middleware_runs_to_its_end_in_every_attempt() -> None:
    """The code after a middleware's loop runs for failed attempts too."""
    runtime, ended = LlmRuntime(), []
    runtime.register_adapter(["p"], Scripted([BUSY], GOOD))

    def counting(request: LlmRequest, call: Any) -> Iterator[StreamChunk]:
        yield from call(request)
        ended.append(1)

    runtime.use(counting)
    call = RunningCall(runtime, LlmRequest.make("m", "hi", provider="p"), policy=QUICK)
    assert list(call.chunks()) == GOOD and ended == [1, 1]


def test_leaving_early_closes_the_attempt() -> None:
    """There is no wait, no other attempt and no other chunk."""
    adapter = Scripted(GOOD)
    chunks = start(adapter).chunks()
    next(chunks)
    chunks.close()
    assert adapter.closed == 1 and next(chunks, None) is None


MALFORMED = LlmError("a call does not parse", "MALFORMED_TOOL_CALL")
SHOWN: List[Any] = [BlockStart(0, "text"), TextDelta(0, "so "), MALFORMED]


def test_shown_chunks_are_void_for_the_codes_that_are_named() -> None:
    """Chunks of both attempts come, then one finish; ``attempts`` grows between the two."""
    adapter = Scripted(SHOWN, GOOD)
    call = start(adapter, ask_again=["MALFORMED_TOOL_CALL"])
    seen = [(call.attempts, chunk) for chunk in call.chunks()]
    assert seen == [*((1, chunk) for chunk in SHOWN[:2]), *((2, chunk) for chunk in GOOD)]
    assert call.answer.message.text == "hello" and adapter.closed == 2


@pytest.mark.parametrize("codes, shown, attempts", [
    ((), SHOWN, 1),
    (("SERVER",), SHOWN, 1),
    (("MALFORMED_TOOL_CALL",), [MALFORMED], 3),
    (("MALFORMED_TOOL_CALL",), SHOWN, 3),
    (("MALFORMED_TOOL_CALL",), [*SHOWN[:2], BUSY], 1),
])
def test_asking_again_takes_the_tries_of_the_policy(
    codes: Any, shown: List[Any], attempts: int
) -> None:
    """Other failures after shown chunks end the call; the last attempt's finish comes."""
    adapter = Scripted(shown)
    call = start(adapter, ask_again=codes)
    chunks = list(call.chunks())
    assert (call.attempts, len(adapter.times)) == (attempts, attempts)
    assert failure_of(chunks).code == shown[-1].code
    assert sum(isinstance(chunk, Finish) for chunk in chunks) == 1


def test_failed_usage_counts_attempts_that_were_shown() -> None:
    """The usage of an attempt whose chunks are void is counted too."""
    cost = LlmError("bad call", "MALFORMED_TOOL_CALL", partial=Partial(usage=TokenUsage(3, 1)))
    call = start(Scripted([*SHOWN[:2], cost], GOOD), ask_again=["MALFORMED_TOOL_CALL"])
    list(call.chunks())
    assert call.failed_usage == TokenUsage(3, 1)


@pytest.mark.parametrize("own, attempts", [(None, 3), (RetryPolicy(max_retries=0), 1)])
def test_default_policy_counts_where_nobody_has_one(
    own: Optional[RetryPolicy], attempts: int
) -> None:
    """It is used only if neither the call nor the adapter has a policy."""
    adapter = Scripted([BUSY])
    if own is not None:
        adapter.retry = own  # type: ignore[attr-defined]
    call = start(adapter, None, default_policy=QUICK)  # type: ignore[arg-type]
    list(call.chunks())
    assert call.attempts == attempts
