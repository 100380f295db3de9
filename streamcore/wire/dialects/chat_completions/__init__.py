# SPDX-License-Identifier: MIT
"""The chat-completions dialect: ``decoder`` reads answers, ``request`` writes bodies.

Each half is loaded when it is first used, because reading a recorded answer needs no writer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from ....values.limits import ResolvedLimits
from ..dialect import Asked, Decoder, Dialect, JsonLoads
from .options import NAME, RESERVED_FIELDS, ChatCompletionsOptions

if TYPE_CHECKING:  # reading a recorded body needs no request, so it is not imported
    from ....values.calls import LlmRequest

__all__ = ["DIALECT", "ChatCompletionsOptions"]


def _make_decoder(
    options: Any,
    limits: ResolvedLimits,
    diagnostics: Dict[str, int],
    json_loads: Optional[JsonLoads],
    asked: Asked = Asked(),
) -> Decoder:
    from .decoder import ChatCompletionsDecoder

    return ChatCompletionsDecoder(options, limits, diagnostics, json_loads, asked)


def _write_body(
    request: LlmRequest,
    options: Any,
    effort_fields: Mapping[str, Any],
    diagnostics: Dict[str, int],
) -> bytes:
    from .request import write_body

    return write_body(request, options, effort_fields, diagnostics)


DIALECT = Dialect(
    name=NAME,
    options=ChatCompletionsOptions,
    end_marker="[DONE]",
    path="/chat/completions",
    make_decoder=_make_decoder,
    write_body=_write_body,
    effort_fields=lambda effort: {"reasoning_effort": effort},
    reserved_fields=RESERVED_FIELDS,
    recognises=lambda payload: "choices" in payload,
)
