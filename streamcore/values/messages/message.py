# SPDX-License-Identifier: MIT
"""Message: what one side said, as a value.

In: a role and blocks, or an OpenAI-style dict. Out: a frozen ``Message``, views of its
text and calls, and the dict again. Refused: a message without a role, or of anything
but blocks (``TypeError``); dicts are judged in ``dicts``.
``AssistantMessage`` is the one trusted result of a finished stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple

from ..frozen import freeze
from ..usage import TokenUsage
from .blocks import Block, Extras, ReasoningBlock, TextBlock, ToolCall, ToolResult
from .dicts import read_message, write_message


@dataclass(frozen=True)
class Message:
    """One message of a conversation.

    Args:
        role: ``system``, ``developer``, ``user``, ``assistant`` or ``tool``.
        content: the blocks, in order; a string is one text block.
        name: the speaker's name, where the provider takes one.
        extras: fields of the message unknown to us, sent as they are.
        form: how the dict wrote its content (``text``, ``parts``, ``null``,
            ``absent``), so that it is written the same way; None chooses.
    """

    role: str
    content: Tuple[Block, ...] = ()
    name: Optional[str] = None
    extras: Extras = None
    form: Optional[str] = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.role, str) or not self.role:
            raise TypeError(f"role is a non-empty string, not {self.role!r}")
        blocks = (TextBlock(self.content),) if isinstance(self.content, str) else self.content
        object.__setattr__(self, "content", tuple(blocks))
        object.__setattr__(self, "extras", freeze(self.extras))
        for block in self.content:
            if not isinstance(block, Block):
                raise TypeError(f"content holds blocks, not {type(block).__name__}")

    @property
    def text(self) -> str:
        """The text of all text blocks, joined."""
        return "".join(b.text for b in self.content if isinstance(b, TextBlock))

    @property
    def reasoning(self) -> str:
        """The text of all reasoning blocks, joined."""
        return "".join(b.text for b in self.content if isinstance(b, ReasoningBlock))

    @property
    def tool_calls(self) -> Tuple[ToolCall, ...]:
        """The calls in it, in order."""
        return tuple(b for b in self.content if isinstance(b, ToolCall))

    @property
    def tool_results(self) -> Tuple[ToolResult, ...]:
        """The tool results in it, in order."""
        return tuple(b for b in self.content if isinstance(b, ToolResult))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Read an OpenAI-style message dict.

        Raises:
            TypeError, ValueError: when its role, content or calls have no readable shape.
        """
        # Never an AssistantMessage: that one is made from a proven end only.
        return Message(*read_message(data))

    def to_dict(self) -> Dict[str, Any]:
        """Return the OpenAI-style message dict; the reverse of ``from_dict``."""
        return write_message(self.role, self.content, self.name, self.extras, self.form)


@dataclass(frozen=True)
class AssistantMessage(Message):
    """A whole answer of a model, made only from a stream whose end was proven.

    ``finish`` is ``stop``, ``tool-calls`` or ``max-tokens``; ``model`` and
    ``response_id`` are what the provider said it served; ``provider`` is the
    route it came from: opaque extras go back to that provider only.
    """

    role: str = "assistant"
    finish: Optional[str] = None
    usage: Optional[TokenUsage] = None
    model: Optional[str] = None
    response_id: Optional[str] = None
    provider: Optional[str] = None
