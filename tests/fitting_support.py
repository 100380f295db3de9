# SPDX-License-Identifier: MIT
"""What the tests of fitting share: short ways to make messages, and to fit them."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from streamcore.values.messages import AssistantMessage, Block, Message, TextBlock, ToolResult
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions
from streamcore.wire.fitting import Receiver, fit_history

ME = Receiver("chat-completions", "mine", "m")


def fitted(
    messages: Sequence[Message],
    counters: Optional[Dict[str, int]] = None,
    system: Optional[str] = None,
    receiver: Receiver = ME,
    **options: Any,
) -> List[Message]:
    """Fit a history to a provider with these options."""
    counted: Dict[str, int] = {} if counters is None else counters
    taken = ChatCompletionsOptions(**options).resolved()
    return fit_history(messages, receiver, taken, counted, system)


def told(messages: Sequence[Message]) -> List[Tuple[str, str]]:
    """Return the role and the text of each message; of a result its text."""
    return [
        (m.role, m.text or "".join(str(r.content) for r in m.tool_results)) for m in messages
    ]


def user(text: str = "hi") -> Message:
    """Return a user's words."""
    return Message("user", (TextBlock(text),))


def said(role: str, text: str) -> Message:
    """Return anybody's words."""
    return Message(role, (TextBlock(text),))


def answer(*content: Block, maker: Receiver = ME, extras: Any = None) -> AssistantMessage:
    """Return an answer of a provider and model."""
    return AssistantMessage(
        content=content, extras=extras, dialect=maker.dialect, provider=maker.provider,
        requested_model=maker.model,
    )


def result(call_id: str, content: Any = "ok") -> Message:
    """Return a tool's result."""
    return Message("tool", (ToolResult(call_id, content),))
