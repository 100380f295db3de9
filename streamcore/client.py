# SPDX-License-Identifier: MIT
"""The facade that scripts use: one model at one provider.

In: messages, tools, sampling, in plain Python values. Out: a ``Stream`` of chunks
that ends in one trusted message, or an ``LlmError``. Local mistakes are raised by
``stream()``, before any I/O; the network is touched at the first pull. A thin
layer: the runtime prepares, dispatches and retries.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from dataclasses import replace
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Type, Union

from .adapters import Credential, HttpAdapter, HttpSettings
from .assembler import MessageAssembler
from .calls import CallConfig, CallContext, LlmRequest
from .chunks import Finish, FinishReason, StreamChunk, TextDelta
from .dialects.options import DialectOptions
from .errors import LlmError, Partial
from .limits import Limits
from .messages import AssistantMessage
from .providers import ProviderProfile, get_profile
from .retry import RetryPolicy, RetryRecord
from .runtime import NO_RETRY, LlmRuntime, RunningCall
from .session import Session
from .sse import SseEvent
from .transport import Transport
from .usage import TokenUsage

DEFAULT_PROVIDER = "openai-compatible"


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
        self._assembler = MessageAssembler()
        self._push = self._assembler.push
        self._error: Optional[LlmError] = None
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
            raise self._error
        try:
            chunk = next(self._chunks)
            self._push(chunk)
        except StopIteration:
            if self._message is None:
                raise self._fail(_closed()) from None
            raise
        except LlmError as error:
            raise self._fail(error)
        except BaseException:
            self.close()
            raise
        if chunk.__class__ is Finish:
            self._finish(chunk)
        elif self._first_at is None:
            self._first_at = time.monotonic()
        return chunk

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
        for _ in self:  # to its very end: then the connection is free for the next call
            pass
        assert self._message is not None
        return self._message

    @property
    def usage(self) -> Optional[TokenUsage]:
        """The provider's usage report; None before it came, or without one."""
        return self._assembler.usage

    @property
    def finish(self) -> Optional[FinishReason]:
        """Why the answer ended; None while it runs."""
        return self._assembler.finish

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
        """Requests made for this answer so far, retries included."""
        return self._call.attempts

    @property
    def time_to_first_token(self) -> Optional[float]:
        """Seconds from ``stream()`` to the first chunk; None before."""
        return None if self._first_at is None else self._first_at - self._context.started_at

    @property
    def duration(self) -> float:
        """Seconds from ``stream()`` to the end, or until now while it runs."""
        return (self._ended_at or time.monotonic()) - self._context.started_at

    def partial(self) -> Partial:
        """Return what has arrived so far; never a tool call."""
        return self._assembler.partial()

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

    def _finish(self, chunk: StreamChunk) -> None:
        assert isinstance(chunk, Finish)
        if self._error is not None:  # closed from another thread just now
            raise self._error
        if chunk.reason.kind not in ("error", "aborted"):
            made = self._assembler.message
            self._message = replace(made, provider=self._call.config.provider)
            self._ended_at = time.monotonic()
            self._abandoned.detach()  # the connection is good for another call
            return
        error = self._call.error
        if error is None or error.failure != chunk.reason.failure:  # middleware made its own
            try:
                self._assembler.message
            except LlmError as told:
                error = told
        assert error is not None
        raise self._fail(error)

    def _fail(self, error: LlmError) -> LlmError:
        """Keep the first failure, with what had arrived before it, and return it."""
        if self._error is None:
            if error.partial == Partial():
                error.with_partial(self._assembler.partial())
            self._error = error
            self._ended_at = time.monotonic()
        return self._error


def _closed() -> LlmError:
    return LlmError("the stream was closed", "ABORTED")


class Client:
    """One model at one provider; safe to share between threads.

    Args:
        model: the model's name at the provider.
        provider: a profile's name, or a ``ProviderProfile``. Naming one is what
            allows reading its key and base URL from the environment.
        base_url: the endpoint's base; by default the provider's.
        api_key: the key, or a function that gives it at every call.
        limits: clocks and sizes for every call.
        retry: a ``RetryPolicy``; None is the profile's, or else one request and no more.
        session: a ``requests.Session`` of the caller's, used and left alone.
        headers: sent with every request.
        app: the embedding tool as ``name/version``, for the User-Agent.
        proxies, verify, cert: as ``requests`` takes them.
        pool_size: idle connections kept, 1 or more.
        options: dialect options instead of the profile's.
        session_log: a ``Session`` every call is recorded in.
        on_retry: called with a ``RetryRecord`` before the wait for a next attempt.
    Raises:
        ValueError, TypeError: for an unknown provider or values that cannot be.
    """

    def __init__(
        self,
        model: str,
        *,
        provider: Union[str, ProviderProfile] = DEFAULT_PROVIDER,
        base_url: Optional[str] = None,
        api_key: Credential = None,
        limits: Optional[Limits] = None,
        retry: Optional[RetryPolicy] = None,
        session: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        app: Optional[str] = None,
        proxies: Optional[Mapping[str, str]] = None,
        verify: Any = None,
        cert: Any = None,
        pool_size: int = 10,
        options: Optional[DialectOptions] = None,
        session_log: Optional[Session] = None,
        on_retry: Optional[Callable[[RetryRecord], None]] = None,
    ) -> None:
        profile = get_profile(provider)
        if not isinstance(retry, (RetryPolicy, type(None))):
            raise TypeError(f"retry is a RetryPolicy, not {type(retry).__name__}")
        if not isinstance(session_log, (Session, type(None))):
            raise TypeError(f"session_log is a Session, not {type(session_log).__name__}")
        self.model = model
        self.provider = profile.name
        self.runtime = LlmRuntime()
        self._transport = Transport(
            session=session, proxies=proxies, verify=verify, cert=cert, pool_size=pool_size
        )
        settings = HttpSettings(
            profile=profile,
            base_url=base_url,
            api_key=api_key,
            limits=Limits() if limits is None else limits,
            headers={} if headers is None else headers,
            app=app,
            options=options,
            environ=None if provider == DEFAULT_PROVIDER else os.environ,
        )
        self.adapter = HttpAdapter(settings, self._transport)
        self.runtime.register_adapter([profile.name], self.adapter)
        self._retry = retry or getattr(profile, "retry", None) or NO_RETRY
        self._session_log = session_log
        self._on_retry = on_retry

    def stream(
        self,
        messages: Any,
        *,
        system: Optional[str] = None,
        tools: Any = (),
        tool_choice: Any = None,
        parallel_tool_calls: Optional[bool] = None,
        response_format: Any = None,
        temperature: Optional[float] = None,
        top_p: Optional[float] = None,
        seed: Optional[int] = None,
        max_tokens: Optional[int] = None,
        stop: Any = None,
        reasoning_effort: Optional[str] = None,
        cancel: Optional[threading.Event] = None,
        limits: Optional[Limits] = None,
        headers: Optional[Mapping[str, str]] = None,
        extra_body: Optional[Mapping[str, Any]] = None,
        session_id: Optional[str] = None,
        user_id: Optional[str] = None,
        session_log: Optional[Session] = None,
        raw: bool = False,
    ) -> Stream:
        """Ask, and return the answer's stream.

        Args:
            messages: a string, or messages as ``Message`` values or OpenAI-style dicts.
            system: a system prompt sent first.
            tools: OpenAI-style tool dicts, or objects with name, description, parameters.
            cancel: set it, from any thread or signal handler, to stop: ``ABORTED``.
            limits: this call's own; fields not given fall through to the client's.
            headers: this call's own, over the client's.
            session_log: a ``Session`` to record in, instead of the client's.
            raw: keep the raw events in ``Stream.raw``.
            The other arguments are those of ``CallConfig``.
        Raises:
            LlmError: what is wrong locally, before any I/O.
        """
        config = CallConfig(
            self.model,
            self.provider,
            tool_choice=tool_choice,
            parallel_tool_calls=parallel_tool_calls,
            response_format=response_format,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
            max_tokens=max_tokens,
            stop=stop,
            reasoning_effort=reasoning_effort,
            extra_body=extra_body,
            session_id=session_id,
            user_id=user_id,
        )
        context = CallContext(cancel, limits, headers, [] if raw else None)
        request = LlmRequest(config, messages, system, tools, context)
        log = self._session_log if session_log is None else session_log
        return Stream(self.start(request, session=log), context)

    def start(
        self, request: LlmRequest, *, session: Optional[Session] = None, turn: bool = True
    ) -> RunningCall:
        """Start a call made by hand, under this client's retry policy.

        Args:
            request: what is asked; its config names this client's provider.
            session: where it is recorded; None records nothing.
            turn: whether the call is a turn of its own in that record.
        Raises:
            LlmError: what is wrong locally, before any I/O.
        """
        return RunningCall(
            self.runtime,
            request,
            policy=self._retry,
            session=session,
            turn=turn,
            on_retry=self._on_retry,
        )

    def complete(
        self,
        messages: Any,
        *,
        on_chunk: Optional[Callable[[StreamChunk], None]] = None,
        **options: Any,
    ) -> AssistantMessage:
        """Ask, wait for the whole answer, and return its message.

        Args:
            messages: as in ``stream``, whose other arguments are taken too.
            on_chunk: called with each chunk as it comes. Without it an attempt may
                be tried again even after chunks had come, since nobody saw them.
        Raises:
            LlmError: when the answer failed; what ``on_chunk`` raises comes out unchanged.
        """
        stream = self.stream(messages, **options)
        if on_chunk is None:
            stream._call.hold = True
        with stream:
            for chunk in stream:
                if on_chunk is not None:
                    on_chunk(chunk)
            return stream.message

    def close(self) -> None:
        """Close the idle connections of this client; a caller's session stays open."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client {self.model} at {self.provider}>"

    def __reduce__(self) -> Any:
        raise TypeError("a client may hold a key and connections, and is not pickled")
