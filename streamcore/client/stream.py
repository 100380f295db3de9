# SPDX-License-Identifier: MIT
"""One answer as it arrives: an iterator of chunks that ends in one trusted message.

In: a ``RunningCall`` of the runtime. Out: its chunks, then ``message``. A failure of the
provider or the network is raised as ``LlmError``, and again at every later pull.
The connection closes whenever the caller leaves a stream early.
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
    """One answer as it arrives: an iterator of chunks, and a context manager.

    Iterating gives the chunks as they arrive, the finish last. ``message`` reads the
    rest of the stream and returns the whole message. A failure is raised as ``LlmError``,
    and again at every later pull. A stream that ended well raises ``StopIteration``.
    The connection is closed early by ``close()``, by the end of a ``with`` block, by an
    exception, or when nothing refers to the stream any more. Only one thread may read a
    stream at a time; any thread may call ``close()``.
    """

    def __init__(self, call: RunningCall, context: CallContext) -> None:
        self._call = call
        self._context = context
        self._chunks = call.chunks()
        self._error: Optional[LlmError] = None
        self._trace: Optional[TracebackType] = None  # the error's, when it was first raised
        self._message: Optional[AssistantMessage] = None
        self._first_at: Optional[float] = None
        self._ended_at: Optional[float] = None
        # In a reference cycle the collector may finalise the socket before the generator
        # that would close it. This finaliser runs before both, and at the program's end.
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
            raise self._error.with_traceback(self._trace)  # else each pull would lengthen it
        try:
            chunk = next(self._chunks)
            if isinstance(chunk, Finish):
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
        """Yield the text of each text delta as it arrives; skip all other chunks."""
        for chunk in self:
            if chunk.__class__ is TextDelta:
                yield chunk.text

    @property
    def message(self) -> AssistantMessage:
        """The whole message; reads the rest of the stream first.

        Raises:
            LlmError: when the answer failed; ``ABORTED`` after ``close()``.
        """
        for _ in self:
            pass
        assert self._message is not None
        return self._message

    @property
    def usage(self) -> Optional[TokenUsage]:
        """The provider's usage report; None until it arrives, or if there is no report."""
        return self._call.answer.usage

    @property
    def finish(self) -> Optional[str]:
        """How the answer ended, in the words of ``message.finish``; None while it runs."""
        if self._error is not None:
            return "aborted" if self._error.code == "ABORTED" else "error"
        return self._call.answer.finish if self._ended_at is not None else None

    @property
    def failure(self) -> Optional[Failure]:
        """Why the answer failed, if ``finish`` is ``error`` or ``aborted``; else None."""
        return None if self._error is None else self._error.failure

    @property
    def finish_word(self) -> Optional[str]:
        """The provider's own word for how the answer ended; None until then, or without it."""
        return self._call.answer.finish_word if self._ended_at is not None else None

    @property
    def diagnostics(self) -> Dict[str, int]:
        """A copy of the counters, by name, of what was skipped, repaired or dropped."""
        return dict(self._context.diagnostics)

    @property
    def raw(self) -> Optional[List[SseEvent]]:
        """The raw events so far, if the call was made with ``raw=True``; else None."""
        return self._context.raw_events

    @property
    def request_id(self) -> Optional[str]:
        """The provider's id for the request, which its support asks for; None without one."""
        return self._context.request_id

    @property
    def attempts(self) -> int:
        """How many requests were begun so far; the provider got at most this many whole ones."""
        return self._call.attempts + self._context.resent

    @property
    def time_to_first_token(self) -> Optional[float]:
        """Seconds from ``stream()`` to the first chunk; None until it arrives."""
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
        """Stop the call and close the connection; may be called again, and from any thread.

        A pull that waits in another thread ends with ``ABORTED``. After ``close``,
        ``message`` raises ``ABORTED``, unless the message was whole already.
        """
        if self._message is None:
            self._context.close()
            self._fail(_closed())
        try:
            self._chunks.close()
        except ValueError:  # another thread runs it; the closed connection ends that thread's pull
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
        """Take the message after the finish; raise the failure if the answer failed."""
        if self._error is not None:  # closed from another thread just now
            raise self._error
        self._message = self._call.answer.message
        self._ended_at = time.monotonic()
        self._abandoned.detach()  # the connection may serve another call: do not close it

    def _fail(self, error: LlmError) -> LlmError:
        """Keep the first failure and what arrived before it; return that failure."""
        if self._error is None:
            if error.partial == Partial():
                error.with_partial(self._call.answer.partial)
            self._error, self._trace = error, error.__traceback__
            self._ended_at = time.monotonic()
        return self._error


def _closed() -> LlmError:
    return LlmError("the stream was closed", "ABORTED")
