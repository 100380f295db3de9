# SPDX-License-Identifier: MIT
"""Attempts of one call under a retry policy, as one chunk stream.

The one place where a retry is executed, for the client and for the agent. Each
attempt is a new prepared call; none is made after a chunk has reached the
caller, unless the caller holds all chunks back until the end. The wait can be
cancelled and counts against the total clock. Every attempt is recorded before
its first byte goes out, and every chunk before the caller sees it.
"""

from __future__ import annotations

import random as _random
from typing import Callable, Generator, Iterator, List, Optional

from ..session import Session
from ..values.calls import CallConfig, LlmRequest
from ..values.chunks import Finish, FinishReason, StreamChunk, UsageChunk
from ..values.errors import LlmError, aborted_error
from ..values.retry import RetryPolicy, RetryRecord, decide
from .prepared import PreparedCall, finish_of
from .recording import Record
from .registry import LlmRuntime

_SLICE = 0.1  # seconds between two looks at cancel and close in a wait


class RunningCall:
    """One call on its way; ``chunks`` may be taken once.

    Args:
        runtime: where the adapter is found.
        request: what is asked; its context serves all attempts, and this call only.
        policy: when a failed attempt is tried again; None is the adapter's own.
        session: where the call is recorded; None records nothing.
        turn: whether the call is a turn of its own, and recorded as one.
        hold: whether no chunk is given out before the last attempt has ended, so that an
            attempt may be tried again although chunks had come.
        on_retry: called with each ``RetryRecord`` before the wait.
        random: gives numbers from 0 up to 1, for the jitter.
    Raises:
        LlmError: what is wrong locally, before any I/O.
    """

    def __init__(
        self,
        runtime: LlmRuntime,
        request: LlmRequest,
        *,
        policy: Optional[RetryPolicy] = None,
        session: Optional[Session] = None,
        turn: bool = True,
        hold: bool = False,
        on_retry: Optional[Callable[[RetryRecord], None]] = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self.attempts = 0
        self._runtime = runtime
        self._request = request
        self._policy = policy
        self._hold = hold
        self._record = None if session is None else Record(session, turn)
        self._on_retry = on_retry
        self._random = random
        self._prepared: PreparedCall
        self._chunks = self._dispatch()

    @property
    def error(self) -> Optional[LlmError]:
        """The last attempt's failure as it was raised, cause included; None without one."""
        return self._prepared.error

    @property
    def config(self) -> CallConfig:
        """The config of the last attempt, hooks and defaults applied."""
        return self._prepared.config

    def chunks(self) -> Generator[StreamChunk, None, None]:
        """Yield the chunks; the last one is the only finish.

        Raises:
            LlmError: ``SESSION`` when a chunk cannot be recorded; ``STREAM_CLOSED``
                when middleware keeps the finish back.
        """
        try:
            delay = yield from self._attempt()
            while delay is not None:
                stopped = self._wait(delay)
                if stopped is not None:
                    yield self._stopped(stopped)
                    return
                self._begin_again()
                delay = yield from self._attempt()
        except LlmError as error:
            self._left(finish_of(error))
            raise
        except BaseException:
            self._left(None)
            raise

    def _left(self, reason: Optional[FinishReason]) -> None:
        """Record that the call ended by an exception, which is told whatever the log says."""
        if self._record is not None:
            try:
                self._record.ended(reason)
            except LlmError:  # SESSION: the next thing to be recorded will be refused too
                pass

    def _begin_again(self) -> None:
        if self._record is not None:
            self._record.retry_started(self.attempts + 1)
        self._request.context.begin_again()
        self._chunks = self._dispatch()

    def _attempt(self) -> Generator[StreamChunk, None, Optional[float]]:
        """Yield the chunks of one attempt; return the seconds until the next, or None."""
        record, write = self._record, None
        if record is not None:
            record.attempt(self._prepared, self._request)
            write = record.chunk
        hold, shown, finish = self._hold, False, None
        # Once a chunk was shown there is nothing to decide, and one finish is promised:
        # the rest goes through untouched, which takes 0.05 µs off each chunk.
        through = write is None and not hold and self._prepared.promised
        held: List[StreamChunk] = []
        delay: Optional[float] = None
        chunks = self._chunks
        try:
            for chunk in chunks:
                if write is not None:
                    write(chunk)
                kind = chunk.__class__
                if kind is Finish:
                    finish = chunk
                    delay = self._delay(chunk, shown)
                    if delay is None:
                        yield from held
                        yield chunk
                elif hold or kind is UsageChunk:  # usage comes last: it rules no retry out
                    held.append(chunk)
                else:
                    shown = True
                    yield chunk
                    if through:
                        yield from chunks
                        return None
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
        if finish is None:
            raise LlmError("the stream ended without its finish", "STREAM_CLOSED")
        return delay

    def _dispatch(self) -> Iterator[StreamChunk]:
        self.attempts += 1
        request = self._request
        prepared = self._runtime.prepare_call(
            request.config, context=request.context, retry=self._policy
        )
        self._prepared = prepared
        if prepared.config is not request.config:
            request = request.but(config=prepared.config)
        return prepared.stream(request)

    def _delay(self, finish: StreamChunk, shown: bool) -> Optional[float]:
        """Decide on a finish: seconds to wait before the next attempt, or None for none."""
        assert isinstance(finish, Finish)
        delay, failure = None, finish.reason.failure
        if failure is not None and not shown:
            delay = decide(self._prepared.retry, failure, self.attempts, self._random)
        budget = self._request.context.budget
        if failure is None or delay is None or (budget is not None and delay >= budget.left()):
            if self._record is not None:
                self._record.ended(finish.reason)
            return None
        scheduled = RetryRecord(self.attempts, delay, failure)
        if self._record is not None:
            self._record.retry_scheduled(scheduled)
        if self._on_retry is not None:
            self._on_retry(scheduled)
        return delay

    def _wait(self, delay: float) -> Optional[LlmError]:
        """Wait; return the failure when the caller stops it."""
        context = self._request.context
        left = delay
        while left > 0 and not context.stop.is_set():
            left -= context.pause(min(left, _SLICE))
        if context.stop.is_set():
            return aborted_error("while waiting to try again")
        return None

    def _stopped(self, error: LlmError) -> Finish:
        self._prepared.error = error
        if self._record is not None:
            self._record.ended(finish_of(error))
        return Finish(finish_of(error))
