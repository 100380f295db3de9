# SPDX-License-Identifier: MIT
"""What a dialect is: one value that knows how to write requests and read answers.

The runtime, the profiles, the session and the command line ask this value. A new dialect
therefore changes no code outside its own folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Protocol, Tuple, Type,
)

from ...values.chunks import StreamChunk
from ...values.errors import Partial
from ...values.frozen import FrozenDict
from ...values.limits import ResolvedLimits
from ...values.numbers import is_whole
from ..sse import SseEnd, SseEvent
from .options import DialectOptions

if TYPE_CHECKING:  # reading a recorded body needs no request, so it is not imported
    from ...values.calls import LlmRequest

JsonLoads = Callable[[str], Any]

# The names under which a caller's extra_body may set the output cap.
_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class Decoder(Protocol):
    """Reads one answer; ``done`` is true once the finish was returned."""

    done: bool

    def push(self, event: SseEvent) -> List[StreamChunk]:
        """Take one event and return its chunks."""

    def finish(self, end: SseEnd) -> List[StreamChunk]:
        """Say that the body ended; return the last chunks if the end of the answer is proven.

        Raises:
            LlmError: ``STREAM_CLOSED`` if it is not proven.
        """

    def document(self, text: str) -> List[StreamChunk]:
        """Read a whole JSON document that came instead of a stream, and return its chunks."""

    def partial(self) -> Partial:
        """Return what has arrived so far."""


@dataclass(frozen=True)
class Asked:
    """What the decoder of an answer must know of the request.

    Args:
        output_cap: the most output tokens that the request allows, 1 or more; None if that is
            not known.
        after_tools: whether the last message of the request has tool results.
    """

    output_cap: Optional[int] = None
    after_tools: bool = False

    @classmethod
    def by(cls, request: LlmRequest) -> Asked:
        """Return the facts of ``request``; a cap in its ``extra_body`` goes before its own."""
        extra = request.config.extra_body or {}
        caps = [extra[name] for name in _CAPS if name in extra] or [request.config.max_tokens]
        results = bool(request.messages) and bool(request.messages[-1].tool_results)
        return cls(caps[0] if is_whole(caps[0]) else None, results)


class MakeDecoder(Protocol):
    """Makes the decoder of one answer; ``options`` are resolved."""

    def __call__(
        self,
        options: Any,
        limits: ResolvedLimits,
        diagnostics: Dict[str, int],
        json_loads: Optional[JsonLoads],
        asked: Asked = Asked(),
    ) -> Decoder:
        """Return the decoder; it counts in ``diagnostics`` what it skips, repairs or drops."""


class WriteBody(Protocol):
    """Writes the body of one request; ``options`` are resolved."""

    def __call__(
        self,
        request: LlmRequest,
        options: Any,
        effort_fields: Mapping[str, Any],
        diagnostics: Dict[str, int],
    ) -> bytes:
        """Return the body.

        ``effort_fields`` are the body fields that the reasoning effort becomes. Changes that
        fit the history to the provider are counted in ``diagnostics``.

        Raises:
            LlmError: ``INVALID_REQUEST`` or ``UNSUPPORTED_CONTENT``.
        """


@dataclass(frozen=True)
class Dialect:
    """One wire dialect.

    Args:
        name: the word that callers ask for it by.
        options: the class of its options.
        end_marker: words for what proves the end of an answer, such as ``[DONE]``.
        path: the endpoint below a provider's base URL.
        make_decoder: makes the decoder of one answer.
        write_body: writes the body of a request.
        effort_fields: returns the body fields of a reasoning effort. Profiles that pass on any
            effort use it.
        reserved_fields: the body fields that ``extra_body`` and an effort may not set.
        recognises: says whether the first payload of a body belongs to this dialect.
        framing: how a body is split into events; only ``sse`` exists.
        key_header, key_prefix: the header for the key, and the text before the key in it. A
            profile may name others.
        headers: further headers of every request.
    """

    name: str
    options: Type[DialectOptions]
    end_marker: str
    path: str
    make_decoder: MakeDecoder
    write_body: WriteBody
    effort_fields: Callable[[str], Mapping[str, Any]]
    reserved_fields: Tuple[str, ...]
    recognises: Callable[[Mapping[str, Any]], bool]
    framing: str = "sse"
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=FrozenDict)
