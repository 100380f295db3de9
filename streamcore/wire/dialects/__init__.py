# SPDX-License-Identifier: MIT
"""Wire dialects: one package each, pure; events to chunks and messages to bodies.

``make_decoder`` finds the decoder of a dialect by its name, ``write_body`` its writer;
``context_bytes`` says how large what is said would be.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from ...values.calls import LlmRequest
from ...values.limits import ResolvedLimits
from ...values.messages import Message
from .chat_completions import ChatCompletionsDecoder
from .chat_completions import request as chat_completions_request
from .options import DialectOptions

_DECODERS = {"chat-completions": ChatCompletionsDecoder}
_WRITERS = {"chat-completions": chat_completions_request.write_body}
_MEASURES = {"chat-completions": chat_completions_request.context_bytes}
DIALECTS = tuple(_DECODERS)


def make_decoder(
    dialect: str,
    options: Optional[DialectOptions] = None,
    limits: Optional[ResolvedLimits] = None,
    diagnostics: Optional[Dict[str, int]] = None,
    json_loads: Optional[Callable[[str], Any]] = None,
) -> ChatCompletionsDecoder:
    """Make the machine that reads one answer in ``dialect``.

    Raises:
        ValueError: for a dialect that does not exist.
    """
    if dialect not in _DECODERS:
        raise ValueError(f"dialect is one of {', '.join(DIALECTS)}, not {dialect!r}")
    return _DECODERS[dialect](options, limits, diagnostics, json_loads)


def write_body(
    dialect: str,
    request: LlmRequest,
    options: DialectOptions = DialectOptions(),
    effort_fields: Optional[Mapping[str, Any]] = None,
) -> bytes:
    """Write the body of one request in ``dialect``.

    Args:
        dialect: its name.
        request: what is asked.
        options: the provider's bends.
        effort_fields: the body fields that the reasoning effort becomes; None
            sends it as it is.
    Raises:
        LlmError: ``INVALID_REQUEST`` or ``UNSUPPORTED_CONTENT``.
        ValueError: for a dialect that does not exist.
    """
    if dialect not in _WRITERS:
        raise ValueError(f"dialect is one of {', '.join(DIALECTS)}, not {dialect!r}")
    return _WRITERS[dialect](request, options, effort_fields)


def context_bytes(
    dialect: str,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]] = (),
    system: Optional[str] = None,
    provider: Optional[str] = None,
) -> int:
    """Return the UTF-8 bytes of messages and tools, as a request in ``dialect`` carries them.

    Args:
        dialect: its name.
        messages, tools: what is about to be sent.
        system: the system prompt, which counts as a message.
        provider: the route it goes to; decides which opaque extras go out. Other bends
            of a provider do not count.
    Raises:
        LlmError: ``INVALID_REQUEST`` for a history no provider can take.
        ValueError: for a dialect that does not exist.
    """
    if dialect not in _MEASURES:
        raise ValueError(f"dialect is one of {', '.join(DIALECTS)}, not {dialect!r}")
    return _MEASURES[dialect](messages, tools, system, provider)
