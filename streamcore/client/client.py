# SPDX-License-Identifier: MIT
"""One model at one provider, in plain Python values.

In: messages, tools, sampling. Out: a ``Stream``, or the message that it ends in.
``stream()`` refuses bad arguments before any I/O. The request is sent when the first chunk
is pulled. This layer is thin: the runtime prepares, sends and retries.
"""

from __future__ import annotations

import os
import threading
from inspect import signature
from types import TracebackType
from typing import Any, Callable, Collection, Mapping, Optional, Protocol, Type, Union

from ..providers import ProviderProfile, get_profile
from ..runtime import (
    NO_RETRY, Credential, HttpAdapter, HttpSettings, LlmRuntime, Recorder, RunningCall,
)
from ..transport import Transport
from ..values.calls import CallConfig, CallContext, LlmRequest
from ..values.chunks import StreamChunk
from ..values.limits import Limits
from ..values.messages import AssistantMessage
from ..values.renamed import renamed
from ..values.retry import RetryPolicy, RetryRecord
from ..wire.dialects import DialectOptions
from .stream import Stream

DEFAULT_PROVIDER = "openai-compatible"


class Log(Protocol):
    """What a client needs of a session: a writer for each call."""

    def recorder(self, turn: bool = True) -> Recorder:
        """Return a writer of one call; ``turn`` says whether the call is a turn of its own."""


class Client:
    """One model at one provider; safe to share between threads.

    Args:
        model: the model's name at the provider.
        provider: a profile's name, or a ``ProviderProfile``; None means
            ``openai-compatible``. The key and base URL are read from the environment only
            if you name a provider.
        base_url: the endpoint's base; by default the provider's.
        api_key: the key, or a function that is called for it before every request.
        limits: clocks and sizes for every call.
        retry: a ``RetryPolicy``; None means the profile's policy. Without either, a failed
            call is not tried again.
        session: a ``Session`` that records every call.
        http_session: the caller's own ``requests.Session``; it is never closed here.
        headers: sent with every request.
        app: the embedding tool as ``name/version``, for the User-Agent.
        proxies, verify, cert: as ``requests`` takes them.
        pool_size: how many idle connections to keep per host, 1 or more.
        options: of the dialect; a field given here replaces the profile's.
        on_retry: called with a ``RetryRecord`` before the wait for the next attempt.
        json_loads: a faster parser of payloads, such as ``orjson.loads``. A payload that
            it refuses is read again by the strict parser, which reads all tool arguments.
    Raises:
        ValueError, TypeError: for an unknown provider, or an argument that is not valid.
    """

    @renamed(session_log="session")
    def __init__(
        self,
        model: str,
        *,
        provider: Union[str, ProviderProfile, None] = None,
        base_url: Optional[str] = None,
        api_key: Credential = None,
        limits: Optional[Limits] = None,
        retry: Optional[RetryPolicy] = None,
        session: Optional[Log] = None,
        http_session: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        app: Optional[str] = None,
        proxies: Optional[Mapping[str, str]] = None,
        verify: Any = None,
        cert: Any = None,
        pool_size: int = 10,
        options: Optional[DialectOptions] = None,
        on_retry: Optional[Callable[[RetryRecord], None]] = None,
        json_loads: Optional[Callable[[str], Any]] = None,
    ) -> None:
        profile = get_profile(DEFAULT_PROVIDER if provider is None else provider)
        if not isinstance(retry, (RetryPolicy, type(None))):
            raise TypeError(f"retry is a RetryPolicy, not {type(retry).__name__}")
        if hasattr(http_session, "recorder"):
            raise TypeError("http_session is a requests.Session; give the log as session")
        self.model = model
        self.provider = profile.name
        self.runtime = LlmRuntime()
        self._transport = Transport(
            http_session=http_session, proxies=proxies, verify=verify, cert=cert,
            pool_size=pool_size,
        )
        settings = HttpSettings(
            profile=profile,
            base_url=base_url,
            api_key=api_key,
            limits=Limits() if limits is None else limits,
            headers={} if headers is None else headers,
            app=app,
            options=options,
            environ=None if provider is None else os.environ,
            json_loads=json_loads,
        )
        self.adapter = HttpAdapter(settings, self._transport)
        self.runtime.register_adapter([profile.name], self.adapter)
        self._retry = retry
        self._session = _checked_log(session)
        self._on_retry = on_retry

    @renamed(session_log="session")
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
        cache: Optional[str] = None,
        session: Optional[Log] = None,
        raw: bool = False,
    ) -> Stream:
        """Ask, and return the answer's stream.

        Args:
            messages: a string, or messages as ``Message`` values or OpenAI-style dicts.
            system: a system prompt sent first.
            tools: OpenAI-style tool dicts, or objects with name, description, parameters.
            cancel: an event that stops the call with ``ABORTED`` once it is set. A thread
                or a signal handler may set it.
            limits: for this call; a field not given here has the client's value.
            headers: for this call; one given here replaces the client's.
            session: a ``Session`` to record in, instead of the client's.
            raw: keep the raw events in ``Stream.raw``.
            The other arguments are those of ``CallConfig``.
        Raises:
            LlmError: for a wrong argument or setting, before any I/O.
        """
        return self._ask(
            messages,
            whole=False,
            system=system,
            tools=tools,
            cancel=cancel,
            limits=limits,
            headers=headers,
            session=session,
            raw=raw,
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
            cache=cache,
        )

    def _ask(
        self,
        messages: Any,
        *,
        whole: bool,
        system: Optional[str] = None,
        tools: Any = (),
        cancel: Optional[threading.Event] = None,
        limits: Optional[Limits] = None,
        headers: Optional[Mapping[str, str]] = None,
        session: Optional[Log] = None,
        raw: bool = False,
        **config: Any,
    ) -> Stream:
        """Ask as ``stream`` does.

        ``whole`` is described at ``start``; ``config`` holds fields of ``CallConfig``.
        """
        context = CallContext(cancel, limits, headers, [] if raw else None)
        asked = CallConfig(self.model, self.provider, **config)
        request = LlmRequest(asked, messages, system, tools, context)
        log = self._session if session is None else _checked_log(session)
        recorder = None if log is None else log.recorder()
        return Stream(self.start(request, recorder=recorder, whole=whole), context)

    def start(
        self,
        request: LlmRequest,
        *,
        recorder: Optional[Recorder] = None,
        whole: bool = False,
        policy: Optional[RetryPolicy] = None,
        default_policy: RetryPolicy = NO_RETRY,
        ask_again: Collection[str] = (),
    ) -> RunningCall:
        """Start the call of a request that the caller made, under this client's retry policy.

        Args:
            request: what is asked; its config names this client's provider.
            recorder: writes a log of the call, as from ``Session.recorder()``; None writes
                nothing.
            whole: whether to hold back the chunks of an attempt until it has ended. A
                failed attempt can then be repeated even after chunks arrived.
            policy: a retry policy to use instead of the client's.
            default_policy: used if neither the client nor its profile has a policy.
            ask_again: codes of failures after which the call is repeated even if its
                chunks were shown, as in ``RunningCall``.
        Raises:
            LlmError: for a wrong request or setting, before any I/O.
        """
        return RunningCall(
            self.runtime,
            request,
            policy=self._retry if policy is None else policy,
            default_policy=default_policy,
            ask_again=ask_again,
            recorder=recorder,
            whole=whole,
            on_retry=self._on_retry,
        )

    @renamed(session_log="session")
    def complete(
        self,
        messages: Any,
        *,
        on_chunk: Optional[Callable[[StreamChunk], None]] = None,
        **options: Any,
    ) -> AssistantMessage:
        """Ask, wait for the whole answer, and return its message.

        Args:
            messages: as in ``stream``.
            on_chunk: called with each chunk as it arrives. Without it, an attempt can be
                repeated even after chunks arrived, because nobody saw them.
            options: the other arguments of ``stream``.
        Raises:
            LlmError: when the answer failed. What ``on_chunk`` raises is not changed.
            TypeError: for an argument that ``stream`` does not have.
        """
        unknown = options.keys() - _ARGUMENTS
        if unknown:
            raise TypeError(f"complete() got an unexpected argument {sorted(unknown)[0]!r}")
        with self._ask(messages, whole=on_chunk is None, **options) as stream:
            for chunk in stream:
                if on_chunk is not None:
                    on_chunk(chunk)
            return stream.message

    def close(self) -> None:
        """Close the idle connections of this client; ``http_session`` stays open."""
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


_ARGUMENTS = frozenset(signature(Client.stream).parameters) - {"self", "messages"}
"""The names of the arguments that ``complete`` passes on to ``stream``."""


def _checked_log(session: Any) -> Optional[Log]:
    if session is None or hasattr(session, "recorder"):
        log: Optional[Log] = session
        return log
    raise TypeError(
        f"session is a Session of this package, not a {type(session).__name__};"
        " give an HTTP session as http_session"
    )
