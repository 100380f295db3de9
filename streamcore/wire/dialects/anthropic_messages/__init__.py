# SPDX-License-Identifier: MIT
"""The Anthropic Messages dialect: ``decoder`` reads answers, ``request`` writes bodies.

Each of the two modules is loaded when it is first used. The README.md beside this file is the
contract of the dialect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from ....values.frozen import FrozenDict
from ....values.limits import ResolvedLimits
from ..dialect import Asked, Decoder, Dialect, JsonLoads
from .efforts import effort_fields
from .options import NAME, RESERVED_FIELDS, AnthropicMessagesOptions

if TYPE_CHECKING:  # reading a recorded body needs no request
    from ....values.calls import LlmRequest

__all__ = ["DIALECT", "AnthropicMessagesOptions"]

_TYPES = (
    "message_start", "content_block_start", "content_block_delta", "content_block_stop",
    "message_delta", "message_stop",
)


def _make_decoder(
    options: Any,
    limits: ResolvedLimits,
    diagnostics: Dict[str, int],
    json_loads: Optional[JsonLoads],
    asked: Asked = Asked(),
) -> Decoder:
    from .decoder import AnthropicMessagesDecoder

    return AnthropicMessagesDecoder(options, limits, diagnostics, json_loads, asked)


def _write_body(
    request: LlmRequest,
    options: Any,
    effort_fields: Mapping[str, Any],
    diagnostics: Dict[str, int],
) -> bytes:
    from .request import write_body

    return write_body(request, options, effort_fields, diagnostics)


def _recognises(payload: Mapping[str, Any]) -> bool:
    kind = payload.get("type")
    return kind in _TYPES or (kind == "message" and payload.get("role") == "assistant")


DIALECT = Dialect(
    name=NAME,
    options=AnthropicMessagesOptions,
    end_marker="message_stop",
    path="/v1/messages",
    make_decoder=_make_decoder,
    write_body=_write_body,
    effort_fields=effort_fields,
    reserved_fields=RESERVED_FIELDS,
    recognises=_recognises,
    key_header="x-api-key",
    key_prefix="",
    headers=FrozenDict({"anthropic-version": "2023-06-01"}),
)
