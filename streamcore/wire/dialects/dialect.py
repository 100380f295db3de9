# SPDX-License-Identifier: MIT
"""What a dialect is: one value that says how to ask, how to read, and what the rules are.

Everything outside a dialect's folder stays as it is when a dialect is added: the runtime,
profiles, the session and the command line ask this value.
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

if TYPE_CHECKING:  # who reads a recorded body has no request
    from ...values.calls import LlmRequest

JsonLoads = Callable[[str], Any]

_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")  # in a caller's extra_body


class Decoder(Protocol):
    """The machine that reads one answer; ``done`` is true once its finish was returned."""

    done: bool

    def push(self, event: SseEvent) -> List[StreamChunk]:
        """Take one event and return its chunks."""

    def finish(self, end: SseEnd) -> List[StreamChunk]:
        """Say that the body ended; return the last chunks where its end is proven."""

    def document(self, text: str) -> List[StreamChunk]:
        """Read a whole JSON document that came in the place of a stream."""

    def partial(self) -> Partial:
        """Return what has arrived."""


@dataclass(frozen=True)
class Asked:
    """What the reader of an answer must know of the request.

    Args:
        output_cap: the most output tokens that it allows, 1 or more; None: not known.
        after_tools: whether its last message brings tool results.
    """

    output_cap: Optional[int] = None
    after_tools: bool = False

    @classmethod
    def by(cls, request: LlmRequest) -> Asked:
        """Return what is to be known of ``request``; its ``extra_body`` may set the cap."""
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
        """Make it; ``diagnostics`` is written to."""


class WriteBody(Protocol):
    """Writes the body of one request; ``options`` are resolved."""

    def __call__(
        self,
        request: LlmRequest,
        options: Any,
        effort_fields: Mapping[str, Any],
        diagnostics: Dict[str, int],
    ) -> bytes:
        """Write it, or refuse the request with ``INVALID_REQUEST`` or ``UNSUPPORTED_CONTENT``.

        ``effort_fields`` are the body fields that the reasoning effort becomes. What of the
        history had to be changed is counted in ``diagnostics``.
        """


@dataclass(frozen=True)
class Dialect:
    """One wire dialect.

    Args:
        name: the word it is asked for by.
        options: the class of its options.
        end_marker: what proves the end of an answer, in words.
        path: the endpoint below a provider's base URL.
        make_decoder: makes the machine that reads one answer.
        write_body: writes the body of a request.
        effort_fields: the body fields of a reasoning effort, for profiles that pass any word.
        reserved_fields: the body fields that ``extra_body`` and an effort may not set.
        recognises: says whether the first payload of a body is one of this dialect.
        framing: how events are cut out of the body: ``sse``.
        key_header, key_prefix: the header the key travels in, and what stands before it,
            where a profile does not say.
        headers: more headers of every request.
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
