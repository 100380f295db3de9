# SPDX-License-Identifier: MIT
"""The dialects that answers can be scripted in.

In: a dialect's name, the line end and the envelope of an answer. Out: what writes its steps.
"""

from __future__ import annotations

from typing import Any, Mapping

from .anthropic import AnthropicWriter
from .ops import Frames, Writer

CHAT, ANTHROPIC = "chat-completions", "anthropic-messages"
DIALECTS = (CHAT, ANTHROPIC)


def writer_of(dialect: str, newline: str, envelope: Mapping[str, Any]) -> Writer:
    """Return what writes the steps of one answer."""
    if dialect == ANTHROPIC:
        return AnthropicWriter(newline, envelope)
    return Frames(newline, envelope)
