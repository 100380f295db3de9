# SPDX-License-Identifier: MIT
"""One call, resolved and frozen, that is recorded and dispatched once.

In: a config with its defaults filled in, and the adapter that was registered when the call
was prepared. Out: one chunk stream with exactly one finish, and the message it makes. A
failure of a provider, the network, an adapter or a middleware is not raised: it is the reason
of that finish. ``stream()`` raises for a wrong request or setting, before any I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import (
    Any, Callable, Generator, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Protocol,
    Sequence, Tuple,
)

from ..providers import ModelInfo
from ..values.calls import CallConfig, CallContext, LlmRequest
from ..values.chunks import Finish, FinishReason, StreamChunk, UsageChunk
from ..values.errors import LlmError, aborted_error
from ..values.frozen import FrozenDict, freeze
from ..values.grammar import ChunkFault
from ..values.retry import RetryPolicy, RetryRecord
from ..wire.assembler import MessageAssembler

Send = Callable[[LlmRequest], Iterator[StreamChunk]]
Middleware = Callable[[LlmRequest, Send], Iterator[StreamChunk]]
Push = Callable[[StreamChunk], None]
Chunks = Generator[StreamChunk, None, None]


class Source(NamedTuple):
    """Where chunks come from: ``name`` for messages, and ``begin``, which starts the chunks."""

    name: str
    begin: Callable[[], Iterable[StreamChunk]]


class Recorder(Protocol):
    """Writes a log of one call."""

    def turn(self, request: LlmRequest, chunks: Chunks) -> Chunks:
        """Pass on the chunks of the whole call, and record its beginning and end."""

    def attempt(self, call: PreparedCall, request: LlmRequest, chunks: Chunks) -> Chunks:
        """Record the request before the first chunk is pulled, and each chunk passed on."""

    def retry(self, record: RetryRecord) -> None:
        """Record that there will be another attempt."""


@dataclass(frozen=True, eq=False)
class PreparedCall:
    """A call that is ready to send: the record shows exactly what will be sent.

    Args:
        config: the config with its defaults; the request must have an equal one.
        adapter_defaults: which fields of the config the adapter filled.
        model: what is known of the model.
        context: the cancel event, budget, counters and more that go with the call.
        retry: which failures of this call are worth another call.
        adapter, middleware: gives the chunks, and the wrappers around it, outermost first.
        recorder: writes a log of the call; None writes nothing.
        answer: assembles the chunks; ``answer.message`` is there once the stream ended well.
    """

    config: CallConfig
    adapter_defaults: Tuple[str, ...]
    model: ModelInfo
    context: CallContext
    retry: RetryPolicy
    adapter: Any = field(repr=False)
    middleware: Sequence[Middleware] = field(repr=False)
    recorder: Optional[Recorder] = field(repr=False)
    answer: MessageAssembler = field(repr=False)
    # Counts the uses of ``stream``. next() is one atomic step; testing and setting a flag is not.
    _uses: Iterator[int] = field(default_factory=count, init=False, repr=False)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The adapter's ``describe(config)``, frozen; empty if it has no such method."""
        describe = getattr(self.adapter, "describe", None)
        return FrozenDict() if describe is None else freeze(dict(describe(self.config)))

    def stream(self, request: LlmRequest) -> Chunks:
        """Dispatch the call; the network is touched when the first chunk is pulled.

        Raises:
            LlmError: ``INVALID_PREPARED_CALL`` if the call was used before, or the request
                has another config; and for a wrong request or setting. Before any I/O.
        """
        if request.config != self.config:
            raise _misused("the request's config is not the one this call was prepared with")
        if next(self._uses):
            raise _misused("a prepared call can be dispatched only once")
        if request.context is not self.context:
            request = request.with_context(self.context)
        chunks = self._guarded(self._sending(request), self.answer.push)
        if self.recorder is not None:
            chunks = self.recorder.attempt(self, request, chunks)
        return chunks

    def _sending(self, request: LlmRequest) -> Source:
        """Return where the chunks come from: the adapter, or the outermost middleware.

        An adapter that has ``prepare`` checks the request now. Any other adapter is called when
        the first chunk is pulled: it may send at once, and the record must come first.
        """
        prepare = getattr(self.adapter, "prepare", None)
        if prepare is None or self.context.cancelled:
            source = Source("adapter", lambda: self.adapter.stream(request))
        else:
            chunks = prepare(request)
            source = Source("adapter", lambda: chunks)
        if not self.middleware:
            return source
        send = self._last_send(request, source)
        for middleware in reversed(self.middleware):
            send = _wrapped(middleware, send)
        return Source("middleware", lambda: send(request))

    def _last_send(self, request: LlmRequest, adapter: Source) -> Send:
        """Return the innermost ``call_next``: it passes the request to the adapter."""
        dispatches = count()

        def send(given: LlmRequest) -> Iterator[StreamChunk]:
            if given is not request and given != request:
                raise _misused("middleware cannot change a request that was recorded")
            if next(dispatches):
                raise _misused("middleware cannot dispatch a call twice; use a RetryPolicy")
            return self._guarded(adapter, _do_nothing)

        return send

    def _guarded(self, source: Source, push: Push) -> Chunks:
        """Yield the chunks of a source and exactly one finish; push each chunk before.

        Whatever the source raises becomes that finish. A chunk after the source's finish is
        a failure too, so the finish is yielded only once the source has ended.
        """
        cancel, failure = self.context.cancel, None
        chunks: Any = None
        chunk: Optional[StreamChunk] = None
        try:
            if cancel is not None and cancel.is_set():
                raise aborted_error()
            chunks = iter(source.begin())
            for chunk in chunks:
                if cancel is not None and cancel.is_set():
                    raise aborted_error()
                if isinstance(chunk, Finish):
                    _refuse_more(chunks, source.name)
                    push(chunk)
                    break
                push(chunk)
                yield chunk
            else:
                raise LlmError(f"the {source.name}'s stream has no finish", "STREAM_CLOSED")
        except LlmError as error:
            failure = error
        except Exception as error:  # a caller's adapter or middleware may raise any class
            failure = _failure_of(error, source.name)
        finally:
            fault = _close(chunks, source.name)
        failure = failure or fault
        if failure is None:
            assert chunk is not None
            yield chunk
        else:
            yield from self._ended(failure, push)

    def _ended(self, error: LlmError, push: Push) -> Chunks:
        """Yield the last chunks of a failed stream; keep the failure for ``answer.message``."""
        if self.context.cancelled and error.code != "ABORTED":
            aborted = aborted_error().with_partial(error.partial)
            aborted.__cause__ = error
            error = aborted
        self.answer.error = error
        ends: List[StreamChunk] = [Finish(finish_of(error))]
        if error.partial.usage is not None and self.answer.usage is None:
            ends.insert(0, UsageChunk(error.partial.usage))
        for chunk in ends:
            push(chunk)
            yield chunk


def finish_of(error: LlmError) -> FinishReason:
    """Return the finish of a stream that this failure ended: ``aborted`` or ``error``."""
    return FinishReason("aborted" if error.code == "ABORTED" else "error", error.failure)


def _do_nothing(chunk: StreamChunk) -> None:
    """Do nothing: a chunk is assembled after it has passed the middleware."""


def _close(chunks: Any, name: str) -> Optional[LlmError]:
    """Close a source; return the failure if its cleanup raised."""
    close = getattr(chunks, "close", None)
    try:
        if close is not None:
            close()
    except (LlmError, OSError):  # the network failed: how the answer ended is known by now
        return None
    except Exception as error:  # a caller's adapter or middleware may raise any class
        return _failure_of(error, name)
    return None


def _refuse_more(chunks: Iterator[StreamChunk], name: str) -> None:
    try:
        more = next(chunks, None)
    except (LlmError, OSError):  # the network failed after the finish: the answer is whole
        return
    if more is not None:
        raise _invalid(f"the {name} gave a chunk after its finish")


def _failure_of(error: Exception, name: str) -> LlmError:
    """Return the failure for an exception that is not an ``LlmError``, with it as the cause."""
    if isinstance(error, ChunkFault):
        failure = _invalid(f"the {name} broke the chunk grammar: {error}")
    elif isinstance(error, OSError):
        failure = LlmError(f"the {name} raised {type(error).__name__}", "TRANSPORT")
    else:
        failure = _invalid(f"the {name} raised {type(error).__name__}")
    failure.__cause__ = error
    return failure


def _wrapped(middleware: Middleware, send: Send) -> Send:
    return lambda request: middleware(request, send)


def _invalid(text: str) -> LlmError:
    return LlmError(text, "INVALID_ADAPTER")


def _misused(text: str) -> LlmError:
    return LlmError(text, "INVALID_PREPARED_CALL", phase="prepare")
