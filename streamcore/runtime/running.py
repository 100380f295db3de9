# SPDX-License-Identifier: MIT
"""One call under a retry policy: its attempts, as one chunk stream.

All retries happen here, for the client and for the agent. Each attempt is a new prepared
call. Once the caller was shown a chunk of an attempt, no other attempt follows, unless the
failure has a code in ``ask_again``. If the caller wants only the whole answer, the chunks of
an attempt are held back until it has ended. The wait between two attempts can be cancelled
and counts against the total clock.
"""

from __future__ import annotations

import random as _random
from contextlib import closing
from dataclasses import replace
from typing import Callable, Collection, Generator, List, Optional, Tuple

from ..values.calls import CallConfig, LlmRequest
from ..values.chunks import Finish, StreamChunk, UsageChunk
from ..values.errors import LlmError, aborted_error
from ..values.retry import RetryPolicy, RetryRecord, decide
from ..values.usage import TokenUsage
from ..wire.assembler import MessageAssembler
from .prepared import Chunks, PreparedCall, Recorder, finish_of
from .registry import NO_RETRY, LlmRuntime


class RunningCall:
    """One call and its attempts; ``chunks`` may be called once.

    Args:
        runtime: finds the adapter.
        request: what is asked; its context serves all attempts of this call, and no other.
        policy: which failures are tried again; None means the adapter's policy.
        default_policy: used if neither the call nor the adapter has a policy.
        ask_again: codes of failures that are also tried again, as often as the policy allows,
            even after chunks were shown. When ``attempts`` grows, the caller must discard the
            chunks of the attempts before.
        recorder: writes a log of the call; None writes nothing.
        whole: whether to hold back the chunks of an attempt until it has ended. A failed
            attempt can then be repeated even after chunks arrived.
        on_retry: called with each ``RetryRecord`` before the wait.
        random: returns numbers from 0 up to 1, for the jitter.
    ``answer`` assembles the last attempt; ``answer.message`` is there once it ended well.
    ``failed_usage`` is the sum of the usage that the attempts before it reported, or None.

    Raises:
        LlmError: for a wrong request or setting, before any I/O.
    """

    def __init__(
        self,
        runtime: LlmRuntime,
        request: LlmRequest,
        *,
        policy: Optional[RetryPolicy] = None,
        default_policy: RetryPolicy = NO_RETRY,
        ask_again: Collection[str] = (),
        recorder: Optional[Recorder] = None,
        whole: bool = False,
        on_retry: Optional[Callable[[RetryRecord], None]] = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self.attempts = 0
        self.failed_usage: Optional[TokenUsage] = None
        self._runtime = runtime
        self._request = request
        self._policy = policy
        self._default_policy = default_policy
        self._ask_again = frozenset(ask_again)
        self._recorder = recorder
        self._whole = whole
        self._on_retry = on_retry
        self._random = random
        self._prepared: PreparedCall
        self.answer: MessageAssembler
        self._first = self._attempt()

    @property
    def config(self) -> CallConfig:
        """The config of the last attempt, hooks and defaults applied."""
        return self._prepared.config

    def chunks(self) -> Chunks:
        """Yield the chunks; the last one is the only finish.

        Raises:
            LlmError: ``SESSION`` when a chunk cannot be recorded; and when a later attempt
                cannot be prepared, for example because its route is gone.
        """
        answer = self._retried(self._first)
        return answer if self._recorder is None else self._recorder.turn(self._request, answer)

    def _attempt(self) -> Chunks:
        """Prepare one attempt and return its chunks."""
        self.attempts += 1
        request = self._request
        self._prepared = self._runtime.prepare_call(
            request.config, context=request.context, retry=self._policy,
            default_retry=self._default_policy, recorder=self._recorder,
        )
        self.answer = self._prepared.answer
        if self._prepared.config is not request.config:
            request = request.with_config(self._prepared.config)
        return self._prepared.stream(request)

    def _retried(self, chunks: Chunks) -> Chunks:
        """Yield the chunks of the first attempt that ends well, or of the last one."""
        context = self._request.context
        while True:
            with closing(chunks):
                held, finish = self._hold_back(chunks)
                shown = finish is None
                if shown and self._ask_again:
                    yield from held
                    finish = yield from _until_finish(chunks)
                    held = [finish]
                delay = None if finish is None else self._schedule(finish, shown)
                if delay is None:
                    yield from held
                    yield from chunks
                    return
            context.pause(delay)
            if context.stop.is_set():
                yield self._abandon(aborted_error("while waiting to try again"))
                return
            context.begin_again()
            chunks = self._attempt()

    def _hold_back(self, chunks: Chunks) -> Tuple[List[StreamChunk], Optional[Finish]]:
        """Take chunks up to the first one to show, or the finish.

        Returns the chunks taken, and the finish if it was reached.
        """
        held: List[StreamChunk] = []
        for chunk in chunks:
            held.append(chunk)
            if isinstance(chunk, Finish):
                return held, chunk
            # A usage chunk that is shown would rule out another attempt; it can wait.
            if not self._whole and chunk.__class__ is not UsageChunk:
                break
        return held, None

    def _abandon(self, error: LlmError) -> StreamChunk:
        """Replace the failure that was to be tried again by ``error``; return its finish."""
        self.answer = MessageAssembler(self.config.provider)
        self.answer.error = error
        finish = Finish(finish_of(error))
        self.answer.push(finish)
        return finish

    def _schedule(self, finish: Finish, shown: bool) -> Optional[float]:
        """Return the seconds to wait before another attempt; None if this attempt is the last.

        ``shown`` says whether the caller was shown chunks of this attempt.
        """
        failure, again = finish.reason.failure, self._ask_again
        if failure is None or (shown and failure.code not in again):
            return None
        policy = self._prepared.retry
        policy = replace(policy, retryable_codes=again.union(policy.retryable_codes or ()))
        delay = decide(policy, failure, self.attempts, self._random)
        budget = self._request.context.budget
        if delay is None or (budget is not None and delay >= budget.left()):
            return None
        usage, spent = self.answer.usage, self.failed_usage
        if usage is not None:
            self.failed_usage = usage if spent is None else spent + usage
        scheduled = RetryRecord(self.attempts, delay, failure)
        if self._recorder is not None:
            self._recorder.retry(scheduled)
        if self._on_retry is not None:
            self._on_retry(scheduled)
        return delay


def _until_finish(chunks: Chunks) -> Generator[StreamChunk, None, Finish]:
    """Yield the chunks of an attempt before its finish; return the finish."""
    for chunk in chunks:
        if isinstance(chunk, Finish):
            break
        yield chunk
    assert isinstance(chunk, Finish)  # the runtime's streams have exactly one
    return chunk
