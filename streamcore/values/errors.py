# SPDX-License-Identifier: MIT
"""``LlmError``, the one public error, and the facts that it carries.

    LlmError                raised for every failure of a call; route on ``code``
     ├─ .failure  Failure   code, message, retryable, status, … : frozen, a dict for logs
     └─ .partial  Partial   text, reasoning and usage from before the failure; no tool call

``CODES`` lists every code of streamcore with its usual ``retryable``. ``HTTP_<n>`` and
a provider's unknown finish word are codes too. ``error_chain`` renders an exception and
its causes in one line.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .frozen import freeze, thaw
from .numbers import check_number, is_whole
from .showing import shorten
from .usage import TokenUsage

CODES: Dict[str, bool] = {
    "MISSING_CREDENTIAL": False,
    "INVALID_CREDENTIAL": False,
    "INVALID_REQUEST": False,
    "UNSUPPORTED_CONTENT": False,
    "UNSUPPORTED_REASONING_EFFORT": False,
    "AUTH": False,
    "QUOTA": False,
    "RATE_LIMIT": True,
    "CONTEXT_WINDOW_EXCEEDED": False,
    "SERVER": True,
    "TRANSPORT": True,
    "TIMEOUT": True,
    "STREAM_CLOSED": True,
    "MALFORMED_RESPONSE": False,
    "MALFORMED_TOOL_CALL": False,
    "EMPTY_RESPONSE": True,
    "ABORTED": False,
    "CONTENT_FILTER": False,
    "INSUFFICIENT_SYSTEM_RESOURCE": False,
    "NO_ADAPTER": False,
    "DUPLICATE_ADAPTER": False,
    "REGISTRATION_DISPOSED": False,
    "INVALID_ADAPTER": False,
    "INVALID_PREPARED_CALL": False,
    "INVALID_CONFIG": False,
    "SESSION": False,
    "AGENT_LIMIT": False,
    "TOOL_FAILED": False,
}
"""Every code of streamcore, and whether a failure with it is usually worth another try."""


def is_retryable(code: str) -> bool:
    """Say whether a failure with this code is usually worth another try."""
    return CODES.get(code, code == "HTTP_409")


@dataclass(frozen=True)
class Failure:
    """What went wrong, as plain facts that a log can keep.

    ``code`` is a word for programs, ``message`` a sentence for people.
    ``retry_after`` is the wait that the provider asked for, in seconds (0 or more).
    ``phase`` says where the call failed: ``prepare``, ``dns``, ``connect``, ``tls``, ``send``,
    ``headers``, ``body``.
    ``clock`` names the clock that fired: ``connect``, ``first-byte``, ``idle``, ``total``.
    ``details`` holds what the provider itself said: its type and code, a refusal's category.

    Raises:
        TypeError: for a code that is not a string, or a status or wait that is not a number.
        ValueError: for a status outside 100 to 999, or a wait that is negative or not finite.
    """

    code: str
    message: str
    retryable: bool = False
    status: Optional[int] = None
    retry_after: Optional[float] = None
    request_id: Optional[str] = None
    phase: Optional[str] = None
    clock: Optional[str] = None
    details: Optional[Mapping[str, Any]] = None

    def __post_init__(self) -> None:
        if not isinstance(self.code, str):
            raise TypeError(f"a code is a string, not {type(self.code).__name__}")
        if self.status is not None and not is_whole(self.status):
            raise TypeError(f"a status is a whole number, not {type(self.status).__name__}")
        if self.status is not None and not 100 <= self.status <= 999:
            raise ValueError(f"a status is a number from 100 to 999: {self.status}")
        if self.retry_after is not None:
            check_number("retry_after", self.retry_after, 0)
        if self.details is not None:
            object.__setattr__(self, "details", freeze(dict(self.details)))

    def to_dict(self) -> Dict[str, Any]:
        """Return the fields that are set, as plain JSON-able values."""
        shown = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: thaw(value) for name, value in shown.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Failure:
        """Read what ``to_dict`` wrote; unknown names are ignored."""
        return cls(**{f.name: data[f.name] for f in fields(cls) if f.name in data})


@dataclass(frozen=True)
class Partial:
    """What had arrived of an answer before it failed."""

    text: str = ""
    reasoning: str = ""
    usage: Optional[TokenUsage] = None


class LlmError(Exception):
    """A call failed. Programs route on ``code``.

    Args:
        message: one sentence for people, without secrets.
        code: one of ``CODES``, ``HTTP_<n>``, or a provider's own finish word.
        retryable: whether another try can help; None takes the usual value of ``code``.
        partial: what had arrived before the failure.
        facts: other fields of ``Failure``, by name.
    Raises:
        TypeError, ValueError: as ``Failure``.
    """

    def __init__(
        self,
        message: str,
        code: str,
        retryable: Optional[bool] = None,
        partial: Partial = Partial(),
        **facts: Any,
    ) -> None:
        super().__init__(message)
        if retryable is None:
            retryable = is_retryable(code)
        self.failure = Failure(code, message, retryable, **facts)
        self.partial = partial

    @property
    def code(self) -> str:
        """The code of the failure."""
        return self.failure.code

    @property
    def retryable(self) -> bool:
        """Whether another try can help."""
        return self.failure.retryable

    @classmethod
    def from_failure(cls, failure: Failure, partial: Partial = Partial()) -> LlmError:
        """Return an error that carries ``failure``."""
        error = cls(failure.message, failure.code, failure.retryable, partial)
        error.failure = failure
        return error

    def with_partial(self, partial: Partial) -> LlmError:
        """Set ``partial`` on this error and return the error; its traceback and cause stay."""
        self.partial = partial
        return self

    def with_facts(self, **facts: Any) -> LlmError:
        """Change fields of ``failure`` on this error and return the error."""
        self.failure = replace(self.failure, **facts)
        self.args = (self.failure.message,)
        return self

    def __str__(self) -> str:
        return f"{self.failure.code}: {self.failure.message}"

    def __repr__(self) -> str:
        return f"LlmError({self.failure.message!r}, {self.failure.code!r})"

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (self.failure, self.partial)

    def __copy__(self) -> LlmError:
        return _chained(_rebuild(self.failure, self.partial), self)

    def __deepcopy__(self, memo: Any) -> LlmError:
        twin = _rebuild(copy.deepcopy(self.failure, memo), copy.deepcopy(self.partial, memo))
        return _chained(twin, self)  # not every cause can be copied, so causes are shared


def aborted_error(
    doing: str = "", *, closed: bool = False, phase: Optional[str] = None
) -> LlmError:
    """Return the error of a call that its caller stopped.

    Args:
        doing: what the call was doing, such as ``while waiting to try again``; "" adds nothing.
        closed: True if the stream was closed, False if the cancel event was set.
        phase: as in ``Failure``.
    """
    who = "closed by the caller" if closed else "cancelled by the caller"
    return LlmError(f"{who} {doing}".rstrip(), "ABORTED", phase=phase)


def _rebuild(failure: Failure, partial: Partial) -> LlmError:
    return LlmError.from_failure(failure, partial)


def _chained(twin: LlmError, error: LlmError) -> LlmError:
    twin.__cause__, twin.__context__ = error.__cause__, error.__context__
    twin.__suppress_context__ = error.__suppress_context__  # setting a cause turns it on
    return twin


_CHAIN_LENGTH = 8
_LINK_CHARACTERS = 400


def error_chain(exc: Optional[BaseException]) -> str:
    """Render an exception and its causes in one line, whatever is in the chain.

    The line has at most 8 links of at most 400 characters each. A cycle ends the line.
    If an exception has no readable text, the line has only its type.
    """
    links: List[str] = []
    seen: List[Any] = []
    while exc is not None and not any(exc is one for one in seen):
        if len(links) == _CHAIN_LENGTH:
            links.append("…")
            break
        seen.append(exc)
        link = _one_line(exc)
        if not links or link != links[-1]:
            links.append(link)
        exc = _next_link(exc)
    return " ← ".join(links)


def _one_line(exc: Any) -> str:
    kind = type(exc).__name__
    try:
        text = " ".join(str(exc).split())
    except Exception:  # __str__ may raise anything; the type is shown anyway
        text = "(cannot be shown)"
    if not isinstance(exc, LlmError):
        text = f"{kind}: {text}" if text else kind
    text = text.encode("utf-8", "replace").decode("utf-8")
    return shorten(text, _LINK_CHARACTERS)


def _next_link(exc: Any) -> Any:
    try:
        if exc.__cause__ is not None:
            return exc.__cause__
        return None if exc.__suppress_context__ else exc.__context__
    except Exception:  # a chain may hold objects that are not exceptions
        return None
