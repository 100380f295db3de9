# SPDX-License-Identifier: MIT
"""Wire dialects: one package each, pure; events to chunks and messages to bodies.

``make_decoder`` finds the decoder of a dialect by its name.
"""

from __future__ import annotations

from typing import Dict, Optional

from ..limits import ResolvedLimits
from .chat_completions import ChatCompletionsDecoder
from .options import DialectOptions

_DECODERS = {"chat-completions": ChatCompletionsDecoder}
DIALECTS = tuple(_DECODERS)


def make_decoder(
    dialect: str,
    options: Optional[DialectOptions] = None,
    limits: Optional[ResolvedLimits] = None,
    diagnostics: Optional[Dict[str, int]] = None,
) -> ChatCompletionsDecoder:
    """Make the machine that reads one answer in ``dialect``.

    Raises:
        ValueError: for a dialect that does not exist.
    """
    if dialect not in _DECODERS:
        raise ValueError(f"dialect is one of {', '.join(DIALECTS)}, not {dialect!r}")
    return _DECODERS[dialect](options, limits, diagnostics)
