# SPDX-License-Identifier: MIT
"""One answer on its way: an iterator of chunks that ends in one trusted message.

In: a ``RunningCall`` of the runtime. Out: its chunks, then ``message``. What the
provider or the network did is raised as ``LlmError``, and again at every later pull.
Leaving a stream early, in whatever way, closes its connection.
"""

from __future__ import annotations

import time
import weakref
from types import TracebackType
from typing import Dict, Iterator, List, Optional, Type

from ..runtime import RunningCall
from ..values.calls import CallContext
from ..values.chunks import Finish, StreamChunk, TextDelta
from ..values.errors import Failure, LlmError, Partial
from ..values.messages import AssistantMessage
from ..values.usage import TokenUsage
from ..wire.sse import SseEvent


class Stream:
    """One answer on its way: an iterator of chunks, and a context manager.

    Iterating gives the chunks as they come, the finish last. ``message`` takes
    what is left and gives the whole message. A failure is raised as ``LlmError``,
    and again at every later pull; an ended stream gives ``StopIteration``. Leaving
    it early closes the connection: by ``close()``, ``with``, an exception, or when
    nothing refers to the stream any more. For one consumer at a time; ``close()``
    may come from any thread.
    """

    def __init__(self, call: RunningCall, context: CallContext) -> None:
        self._call = call
        self._context = context
        self._chunks = call.chunks()
        self._error: Optional[LlmError] = None
        self._trace: Optional[TracebackType] = None  # of the error, as it was first raised
        self._message: Optional[AssistantMessage] = None
        self._first_at: Optional[float] = None
        self._ended_at: Optional[float] = None
        # In a reference cycle the collector may come to the socket before the generator
        # that would close it; this comes before both, and at the end of the program.
        self._abandoned = weakref.finalize(self, context.close)

    def __iter__(self) -> Iterator[StreamChunk]:
        return self

    def __next__(self) -> StreamChunk:
        """Return the next chunk.

        Raises:
            StopIteration: after the finish.
            LlmError: when the answer failed or was stopped.
        """
        if self._error is not None:
            raise self._error.with_traceback(self._trace)  # one that grows with no pull
        try:
            chunk = next(self._chunks)
            if chunk.__class__ is Finish:
                self._end()
            elif self._first_at is None:
                self._first_at = time.monotonic()
            return chunk
        except StopIteration:
            if self._message is None:
                raise self._fail(_closed()) from None
            raise
        except LlmError as error:
            raise self._fail(error)
        except BaseException:
            self.close()
            raise

    def iter_text(self) -> Iterator[str]:
        """Yield the text deltas only, as they come."""
        for chunk in self:
            if chunk.__class__ is TextDelta:
                yield chunk.text

    @property
    def message(self) -> AssistantMessage:
        """The whole message; takes what is left of the stream.

        Raises:
            LlmError: when the answer failed; ``ABORTED`` after ``close()``.
        """
        for _ in self:
            pass
        assert self._message is not None
        return self._message

    @property
    def usage(self) -> Optional[TokenUsage]:
        """The provider's usage report; None before it came, or without one."""
        return self._call.answer.usage

    @property
    def finish(self) -> Optional[str]:
        """The word for how the answer ended, as ``message.finish``; None while it runs."""
        return self._call.answer.finish if self._ended_at is not None else None

    @property
    def failure(self) -> Optional[Failure]:
        """Why the answer failed, under the finish ``error`` or ``aborted``; else None."""
        return None if self._error is None else self._error.failure

    @property
    def finish_word(self) -> Optional[str]:
        """The provider's own word for how the answer ended; None before, or without one."""
        return self._call.answer.finish_word if self._ended_at is not None else None

    @property
    def diagnostics(self) -> Dict[str, int]:
        """Counters by name of what was skipped, repaired or dropped."""
        return dict(self._context.diagnostics)

    @property
    def raw(self) -> Optional[List[SseEvent]]:
        """The events so far, where the stream was asked for with ``raw=True``; else None."""
        return self._context.raw_events

    @property
    def request_id(self) -> Optional[str]:
        """The id under which the provider's support finds the request, or None."""
        return self._context.request_id

    @property
    def attempts(self) -> int:
        """Requests begun for this answer so far; the provider got at most so many whole ones."""
        return self._call.attempts + self._context.resent

    @property
    def time_to_first_token(self) -> Optional[float]:
        """Seconds from ``stream()`` to the first chunk; None before."""
        return None if self._first_at is None else self._first_at - self._context.started_at

    @property
    def duration(self) -> float:
        """Seconds from ``stream()`` to the end, or until now while it runs."""
        return (self._ended_at or time.monotonic()) - self._context.started_at

    @property
    def partial(self) -> Partial:
        """What has arrived so far; never a tool call."""
        return self._call.answer.partial

    def close(self) -> None:
        """Stop and close the connection; may be called again, and from any thread.

        A pull that waits in another thread ends with ``ABORTED``. After it,
        ``message`` raises ``ABORTED``, unless the message was whole already.
        """
        if self._message is None:
            self._context.close()
            self._fail(_closed())
        try:
            self._chunks.close()
        except ValueError:  # another thread is in it; it ends by the closed connection
            pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "running" if self._ended_at is None else "failed" if self._error else "ended"
        return f"<Stream {state}, {self._call.config.model}>"

    def _end(self) -> None:
        """Take the message of an answer whose finish has come; raise the failure of another."""
        if self._error is not None:  # closed from another thread just now
            raise self._error
        self._message = self._call.answer.message
        self._ended_at = time.monotonic()
        self._abandoned.detach()  # the connection is good for another call

    def _fail(self, error: LlmError) -> LlmError:
        """Keep the first failure, with what had arrived before it, and return it."""
        if self._error is None:
            if error.partial == Partial():
                error.with_partial(self._call.answer.partial)
            self._error, self._trace = error, error.__traceback__
            self._ended_at = time.monotonic()
        return self._error


def _closed() -> LlmError:
    return LlmError("the stream was closed", "ABORTED")
