# SPDX-License-Identifier: MIT
"""The one public error, and the facts in it.

    LlmError                raised for every failure of a call; route on ``code``
     ├─ .failure  Failure   code, message, retryable, status, … : frozen, a dict for logs
     └─ .partial  Partial   text, reasoning and usage received before it; never a tool call

``CODES`` lists every code with its usual ``retryable``; a provider's unknown
finish word, and ``HTTP_<n>``, are codes beside them. ``error_chain`` renders a
failure with its causes in one line.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

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
"""Every code of our own, and whether a failure of that kind is worth another try."""


def is_retryable(code: str) -> bool:
    """Say whether a failure with this code is usually worth another try."""
    return CODES.get(code, code == "HTTP_409")


@dataclass(frozen=True)
class Failure:
    """What went wrong, as plain facts that a log can keep.

    ``code`` is the machine's word, ``message`` the person's sentence.
    ``retry_after`` is what the provider asked for, in seconds (0 or more).
    ``phase`` says where: ``prepare``, ``dns``, ``connect``, ``tls``, ``send``, ``headers``,
    ``body``.
    ``clock`` names the clock that fired: ``connect``, ``first-byte``, ``idle``, ``total``.
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

    def to_dict(self) -> Dict[str, Any]:
        """Return the fields that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Failure:
        """Read what ``to_dict`` wrote; unknown names are passed over."""
        return cls(**{f.name: data[f.name] for f in fields(cls) if f.name in data})


@dataclass(frozen=True)
class Partial:
    """What had arrived of an answer that did not end well."""

    text: str = ""
    reasoning: str = ""
    usage: Optional[TokenUsage] = None


class LlmError(Exception):
    """A call failed; ``code`` says how, for a machine to route on.

    Args:
        message: one sentence for people; holds no secret.
        code: one of ``CODES``, ``HTTP_<n>``, or a provider's own finish word.
        retryable: whether another try can help; by default what ``code`` implies.
        partial: what had arrived before the failure.
        facts: other fields of ``Failure`` by name.
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
        """The machine's word for the failure."""
        return self.failure.code

    @property
    def retryable(self) -> bool:
        """Whether another try can help."""
        return self.failure.retryable

    @classmethod
    def from_failure(cls, failure: Failure, partial: Partial = Partial()) -> LlmError:
        """Make the error that tells of ``failure``."""
        error = cls(failure.message, failure.code, failure.retryable, partial)
        error.failure = failure
        return error

    def with_partial(self, partial: Partial) -> LlmError:
        """Set ``partial`` on this very error and return it; traceback and cause stay."""
        self.partial = partial
        return self

    def with_facts(self, **facts: Any) -> LlmError:
        """Change fields of ``failure`` on this very error and return it."""
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
        return _chained(twin, self)  # the causes are shared: foreign exceptions may not copy


def aborted_error(
    doing: str = "", *, closed: bool = False, phase: Optional[str] = None
) -> LlmError:
    """Return the error of a call that its caller stopped.

    Args:
        doing: what was under way, such as ``while waiting for``; "" says nothing of it.
        closed: whether its stream was closed, rather than its cancel event set.
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

    At most 8 links of at most 400 characters each; a cycle ends the line; an
    exception that cannot be shown is shown by its type.
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
    except Exception:  # an odd object's __str__ may raise anything; its type still tells
        text = "(cannot be shown)"
    if not isinstance(exc, LlmError):
        text = f"{kind}: {text}" if text else kind
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _LINK_CHARACTERS else text[: _LINK_CHARACTERS - 1] + "…"


def _next_link(exc: Any) -> Any:
    try:
        if exc.__cause__ is not None:
            return exc.__cause__
        return None if exc.__suppress_context__ else exc.__context__
    except Exception:  # a chain may hold objects that are no exceptions at all
        return None
