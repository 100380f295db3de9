# SPDX-License-Identifier: MIT
"""Messages: what was said, and by whom, in whole blocks.

In: OpenAI-style message dicts, or blocks made by hand.
Out: frozen ``Message`` values, and the same dicts again. ``from_dict`` and then
``to_dict`` loses nothing: fields that streamcore does not know stay in ``extras``.
Refused with ``ValueError`` or ``TypeError``: a shape that no provider would read.
``blocks`` has the parts, ``message`` the whole, ``dicts`` OpenAI's form of both.
"""

from __future__ import annotations

from .blocks import (
    Block,
    Extras,
    ImageBlock,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
    block_from_dict,
    parse_arguments,
    said_arguments,
)
from .dicts import REASONING_FIELDS
from .message import AssistantMessage, Message

__all__ = [
    "REASONING_FIELDS", "AssistantMessage", "Block", "Extras", "ImageBlock", "Message",
    "OpaqueBlock", "ReasoningBlock", "TextBlock", "ToolCall", "ToolResult", "block_from_dict",
    "parse_arguments", "said_arguments",
]
