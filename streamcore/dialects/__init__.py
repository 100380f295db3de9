# SPDX-License-Identifier: MIT
"""Wire dialects: one package each, pure; events to chunks and messages to bodies.

``make_decoder`` finds the decoder of a dialect by its name, ``write_body`` its writer.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

from ..calls import LlmRequest
from ..limits import ResolvedLimits
from .chat_completions import ChatCompletionsDecoder
from .chat_completions import request as chat_completions_request
from .options import DialectOptions

_DECODERS = {"chat-completions": ChatCompletionsDecoder}
_WRITERS = {"chat-completions": chat_completions_request.write_body}
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
