# SPDX-License-Identifier: MIT
"""One call, in neutral words: how to ask, what to ask, and what goes with it.

``CallConfig`` says which model and how; ``LlmRequest`` adds what is said: messages,
system, tools. Both are frozen all the way down when made, so what is recorded is
what is sent. ``CallContext`` goes with them and is never recorded. It carries
cancel, limits and headers, and takes back the facts of the answer. Refused when
made: a value that has no readable shape, or cannot be frozen.
"""

from __future__ import annotations

import copy
import threading
import time
from dataclasses import dataclass, field, fields
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .clock import Clock, WaitBudget
from .frozen import FrozenDict, thaw
from .given import freeze_given, invalid, read_messages, read_tools
from .limits import Limits
from .messages import Message


_SLICE = 0.05  # seconds; the longest a pause goes without a look at cancel


@dataclass(frozen=True)
class CallConfig:
    """Which model is asked, and how.

    Args:
        model: the model's name at the provider.
        provider: the route the call takes.
        tool_choice: ``auto``, ``none``, ``required``, a tool's name, or the provider's dict.
        parallel_tool_calls: whether one answer may hold several calls.
        response_format: how the answer is to be formed, as an OpenAI-style dict. Chat
            Completions sends it as given; Anthropic Messages rewrites a JSON schema.
        temperature, top_p: finite numbers; the provider knows their range.
        seed: a whole number.
        max_tokens: cap of the output, 1 or more.
        stop: one stop string, or several.
        reasoning_effort: one of the profile's words, never clamped.
        extra_body: more fields of the body, merged last at its top level.
        session_id, user_id: opaque to us; sent as the headers the profile names. If the
            profile names no header, the id is not sent.
        cache: ``auto`` marks what the next request will repeat, where the dialect has such
            marks; other dialects have nothing to mark. None marks nothing.
    Raises:
        LlmError: ``INVALID_REQUEST`` for a value that is nested too deeply to be frozen, and for
            an unknown ``cache``. Ranges are checked when the body is built, still before any I/O.
    """

    model: str
    provider: str = "openai-compatible"
    tool_choice: Any = None
    parallel_tool_calls: Optional[bool] = None
    response_format: Any = None
    temperature: Optional[float] = None
    top_p: Optional[float] = None
    seed: Optional[int] = None
    max_tokens: Optional[int] = None
    stop: Union[str, Sequence[str], None] = None
    reasoning_effort: Optional[str] = None
    extra_body: Optional[Mapping[str, Any]] = None
    session_id: Optional[str] = None
    user_id: Optional[str] = None
    cache: Optional[str] = None

    def __post_init__(self) -> None:
        if self.cache not in (None, "auto"):
            raise invalid("cache is 'auto' or None")
        for name in ("tool_choice", "response_format", "stop", "extra_body"):
            object.__setattr__(self, name, freeze_given(getattr(self, name), name))

    def to_dict(self) -> Dict[str, Any]:
        """Return the fields that are set, as plain JSON-able values."""
        shown = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: thaw(value) for name, value in shown.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CallConfig:
        """Read what ``to_dict`` wrote; unknown names are ignored."""
        return cls(**{item.name: data[item.name] for item in fields(cls) if item.name in data})


class StopEvent(threading.Event):
    """An event that is set once the caller's own event is set or the stream is closed.

    The transport watches it, so ``close()`` ends the transport's waits as cancel does, even
    before there is an answer. Only ``is_set`` may be used.
    """

    def __init__(self, cancel: Optional[threading.Event]) -> None:
        super().__init__()
        self.closed = False
        self._cancel = cancel

    def is_set(self) -> bool:
        """Say whether the call is to stop."""
        cancel = self._cancel
        return self.closed or (cancel is not None and cancel.is_set())


class CallContext:
    """What goes with one call but is never recorded, and the facts of its answer.

    Args:
        cancel: set by the caller to stop the call, in any phase.
        limits: this call's own; other fields come from the client, the profile or the defaults.
        headers: this call's own; they win over all others.
        raw_events: a list that every event of the answer is appended to.
        clock: returns seconds, monotonic.
        sleep: waits for seconds; called with at most 0.05.
    Facts of the last attempt only: ``request_id`` and ``status`` of the answer, and
    ``diagnostics`` (counters by name of what was skipped, repaired or dropped). ``secrets``
    are the texts of the request that nothing may show, longest first.
    Raises:
        TypeError: for a cancel that is not an event, limits that are not ``Limits``, or
            headers that are not a mapping.
    """

    def __init__(
        self,
        cancel: Optional[threading.Event] = None,
        limits: Optional[Limits] = None,
        headers: Optional[Mapping[str, str]] = None,
        raw_events: Optional[List[Any]] = None,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not isinstance(limits, (type(None), Limits)):
            raise TypeError(f"limits are Limits, not {type(limits).__name__}")
        if cancel is not None and not hasattr(cancel, "is_set"):
            raise TypeError(f"cancel is a threading.Event, not {type(cancel).__name__}")
        if not isinstance(headers, (type(None), Mapping)):
            raise TypeError(f"headers are a mapping, not {type(headers).__name__}")
        self.cancel = cancel
        self.limits = limits
        self.headers = dict(headers or {})
        self.raw_events = raw_events
        self.budget: Optional[WaitBudget] = None  # the total clock, over all attempts
        self.request_id: Optional[str] = None
        self.status: Optional[int] = None
        self.resent = 0  # requests begun again within an attempt; see Transport.open
        self.diagnostics: Dict[str, int] = {}
        self.secrets: Sequence[str] = ()
        self.started_at = clock()
        self._clock = clock
        self._sleep = sleep
        # Keeps no reference to the context, because an answer may outlive it.
        self.stop = StopEvent(cancel)
        self._drop: Optional[Callable[[], None]] = None  # drops the connection under way

    @property
    def cancelled(self) -> bool:
        """Whether the caller's event is set."""
        return self.cancel is not None and self.cancel.is_set()

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self.stop.closed

    def begin_again(self) -> None:
        """Forget the facts of a failed attempt; another attempt follows."""
        self.request_id = self.status = None
        self.diagnostics.clear()
        if self.raw_events is not None:
            self.raw_events.clear()

    def count_resend(self) -> None:
        """Count a request that is sent again because a connection did not take all of it."""
        self.resent += 1

    def pause(self, seconds: float) -> float:
        """Wait between two attempts, on the total clock; cancel or close ends it early.

        It does not use ``Event.wait``: a signal handler that sets the event while this thread
        waits in that method would wait for ever.

        Returns the seconds waited.
        """
        began = self._clock()
        end = began + seconds
        while not self.stop.is_set():
            left = end - self._clock()
            if left <= 0:
                break
            self._sleep(min(left, _SLICE))
        waited = self._clock() - began
        if self.budget is not None:
            self.budget.spend(waited)
        return waited

    def connected(self, drop: Optional[Callable[[], None]]) -> None:
        """Say how to drop the connection under way; None when it is gone."""
        self._drop = drop
        if self.closed and drop is not None:
            drop()

    def close(self) -> None:
        """Drop the connection under way, from any thread; a wait for the provider ends."""
        self.stop.closed = True
        drop = self._drop
        if drop is not None:
            drop()


@dataclass(frozen=True)
class LlmRequest:
    """What is asked: a config, and what is said under it.

    Args:
        config: which model, and how.
        messages: a string (one user message), a message, or several, each a
            ``Message`` or an OpenAI-style dict; kept as ``Message`` values.
        system: becomes the first message; None or "" sends none.
        tools: OpenAI-style tool dicts, bare function dicts, or objects with
            ``name``, ``description`` and ``parameters``; kept as OpenAI-style dicts.
        context: what goes with the call; it does not affect equality.
    Raises:
        LlmError: ``INVALID_REQUEST`` for messages or tools of no readable shape.
    """

    config: CallConfig
    messages: Tuple[Message, ...]
    system: Optional[str] = None
    tools: Tuple[FrozenDict, ...] = ()
    context: CallContext = field(default_factory=CallContext, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", read_messages(self.messages))
        object.__setattr__(self, "tools", read_tools(self.tools))

    def __reduce__(self) -> Tuple[Any, ...]:  # the context lives in one process, not in a copy
        return type(self), (self.config, self.messages, self.system, self.tools)

    def with_config(self, config: CallConfig) -> LlmRequest:
        """Return the request with another config; messages and tools are not read again."""
        return self._with("config", config)

    def with_context(self, context: CallContext) -> LlmRequest:
        """Return the request with another context; messages and tools are not read again."""
        return self._with("context", context)

    def _with(self, name: str, value: Any) -> LlmRequest:
        other = copy.copy(self)
        object.__setattr__(other, name, value)
        return other

    @classmethod
    def make(
        cls,
        model: str,
        messages: Union[str, Message, Mapping[str, Any], Iterable[Any]],
        system: Optional[str] = None,
        tools: Any = (),
        **config: Any,
    ) -> LlmRequest:
        """Make a request and its config in one go; ``config`` as in ``CallConfig``."""
        return cls(CallConfig(model, **config), messages, system, tools)  # type: ignore[arg-type]
