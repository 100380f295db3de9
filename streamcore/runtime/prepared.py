# SPDX-License-Identifier: MIT
"""One call, resolved and frozen, that is dispatched once.

In: a config made whole, and the adapter that was registered when it was made.
Out: one chunk stream with exactly one finish. What a provider or the network did
never raises: it is the reason of that finish. Local mistakes, and errors of the
consumer and of middleware, stay raised.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator, List, Mapping, Optional, Tuple

from ..providers import ModelInfo
from ..values.calls import CallConfig, CallContext, LlmRequest
from ..values.chunks import Finish, FinishReason, StreamChunk, UsageChunk
from ..values.errors import LlmError, aborted_error
from ..values.frozen import FrozenDict, freeze
from ..values.retry import RetryPolicy

Next = Callable[[LlmRequest], Iterator[StreamChunk]]
Middleware = Callable[[LlmRequest, Next], Iterator[StreamChunk]]


NO_RETRY = RetryPolicy(max_retries=0)

# What is wrong locally, before any I/O, and so with the caller: it is raised, not streamed.
_LOCAL = frozenset((
    "MISSING_CREDENTIAL", "INVALID_CREDENTIAL", "INVALID_REQUEST", "UNSUPPORTED_CONTENT",
    "UNSUPPORTED_REASONING_EFFORT", "NO_ADAPTER", "INVALID_ADAPTER", "INVALID_PREPARED_CALL",
    "REGISTRATION_DISPOSED", "DUPLICATE_ADAPTER", "INVALID_CONFIG",
))


class PreparedCall:
    """A call that is ready: what is recorded of it is what will be sent.

    Its facts can only be read. After the stream, ``error`` is the failure as it was
    raised, cause and partial included, or None.
    """

    def __init__(
        self,
        config: CallConfig,
        adapter_defaults: Tuple[str, ...],
        model: ModelInfo,
        adapter: Any,
        middleware: Tuple[Middleware, ...],
        context: CallContext,
        retry: RetryPolicy,
        describe: Optional[Callable[[CallConfig], Mapping[str, Any]]] = None,
    ) -> None:
        self._config = config
        self._adapter_defaults = adapter_defaults
        self._model = model
        self._context = context
        self._retry = retry
        self.error: Optional[LlmError] = None
        self._adapter = adapter
        self._describe = describe
        self._middleware = middleware
        self._request: Optional[LlmRequest] = None  # what it was dispatched with
        self._sent = False  # the adapter has it
        self._lock = threading.Lock()

    @property
    def config(self) -> CallConfig:
        """The config, whole: what the request must be made with."""
        return self._config

    @property
    def adapter_defaults(self) -> Tuple[str, ...]:
        """Which fields of the config the adapter filled."""
        return self._adapter_defaults

    @property
    def model(self) -> ModelInfo:
        """What is known of the model."""
        return self._model

    @property
    def context(self) -> CallContext:
        """What goes with the call."""
        return self._context

    @property
    def retry(self) -> RetryPolicy:
        """When a failure of this call is worth another one."""
        return self._retry

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the adapter says it will send by, frozen; empty where it says nothing."""
        return FrozenDict() if self._describe is None else freeze(dict(self._describe(self.config)))

    @property
    def promised(self) -> bool:
        """Whether the stream has exactly one finish for sure: middleware may break that."""
        return not self._middleware

    def stream(self, request: LlmRequest) -> Iterator[StreamChunk]:
        """Dispatch the call; the network is touched at the first pull.

        Raises:
            LlmError: ``INVALID_PREPARED_CALL`` when it was used before, or for a request
                with another config; and what is wrong locally, before any I/O.
        """
        if request.config != self.config:
            raise _misused("the request's config is not the one this call was prepared with")
        if request.context is not self.context:
            request = request.but(context=self.context)
        with self._lock:
            if self._request is not None:
                raise _misused("a prepared call is dispatched once")
            self._request = request
        call: Next = self._dispatch
        for middleware in reversed(self._middleware):
            call = _wrap(middleware, call)
        return iter(call(request))

    def _dispatch(self, request: LlmRequest) -> Iterator[StreamChunk]:
        """Hand the request to the adapter: the end of the chain of middleware."""
        sent = self._request
        assert sent is not None
        if request is not sent and request != sent:
            raise _misused("middleware cannot change a request: another one is recorded")
        with self._lock:
            if self._sent:
                raise _misused("middleware cannot dispatch a call twice: retries are counted")
            self._sent = True
        if self.context.cancelled:
            return self._ended(aborted_error())
        try:
            chunks = self._adapter.stream(sent)
        except LlmError as error:
            if error.code in _LOCAL:
                raise
            return self._ended(error)  # the network's, met before the first pull
        return self._run(chunks)

    def _run(self, chunks: Iterator[StreamChunk]) -> Iterator[StreamChunk]:
        chunk: Optional[StreamChunk] = None
        failure: Optional[LlmError] = None
        try:
            cancel = self.context.cancel
            for chunk in chunks:
                if cancel is not None and cancel.is_set():
                    chunk = None
                    raise aborted_error()
                yield chunk
            if chunk.__class__ is not Finish:
                raise LlmError("the adapter's stream has no finish", "STREAM_CLOSED")
        except LlmError as error:
            if chunk.__class__ is not Finish:  # after it the answer is proven, whatever comes
                failure = error
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
        if failure is not None:
            yield from self._ended(failure)

    def _ended(self, error: LlmError) -> Iterator[StreamChunk]:
        self.error = error
        ends: List[StreamChunk] = []
        if error.partial.usage is not None:
            ends.append(UsageChunk(error.partial.usage))
        ends.append(Finish(finish_of(error)))
        return iter(ends)


def finish_of(error: LlmError) -> FinishReason:
    """Return the finish of a stream that this failure ended: ``aborted`` or ``error``."""
    return FinishReason("aborted" if error.code == "ABORTED" else "error", error.failure)


def _wrap(middleware: Middleware, call: Next) -> Next:
    return lambda request: middleware(request, call)


def _misused(text: str) -> LlmError:
    return LlmError(text, "INVALID_PREPARED_CALL", phase="prepare")
