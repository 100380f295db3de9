# SPDX-License-Identifier: MIT
"""Message: what one side said, as a value.

In: a role and blocks, an OpenAI-style dict, or a record. Out: a frozen ``Message``, its text
and calls, and the dict or record again. A dict loses facts that OpenAI's form has no place
for; a record loses nothing. Refused with ``TypeError``: a message without a role, or with
content that is not blocks; ``dicts`` checks dicts. ``AssistantMessage`` is the one trusted
result of a finished stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, Mapping, Optional, Tuple

from ..frozen import freeze, thaw
from ..usage import TokenUsage
from .blocks import (
    Block,
    Extras,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
    block_from_dict,
)
from .dicts import read_message, write_message

FINAL_PHASE = "final_answer"
"""The ``phase`` that OpenAI's Responses API puts on the text meant for the reader."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation.

    Args:
        role: ``system``, ``developer``, ``user``, ``assistant`` or ``tool``.
        content: the blocks, in order; a string becomes one text block.
        name: the speaker's name, if the provider takes one.
        extras: fields that streamcore does not know, sent as they are.
        form: how the dict wrote its content (``text``, ``parts``, ``null``,
            ``absent``), so that it is written the same way again. None chooses a form.
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
        """The text for the reader: all text blocks, joined.

        If the provider marks some text blocks as the final answer (``phase`` in their
        extras), only these are joined. Commentary in other text blocks stays in ``content``.
        """
        texts = [block for block in self.content if isinstance(block, TextBlock)]
        final = [b for b in texts if b.extras and b.extras.get("phase") == FINAL_PHASE]
        return "".join(block.text for block in final or texts)

    @property
    def reasoning(self) -> str:
        """The text of all reasoning blocks, joined."""
        return "".join(b.text for b in self.content if isinstance(b, ReasoningBlock))

    @property
    def tool_calls(self) -> Tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return tuple(b for b in self.content if isinstance(b, ToolCall))

    @property
    def tool_results(self) -> Tuple[ToolResult, ...]:
        """The tool results of the message, in order."""
        return tuple(b for b in self.content if isinstance(b, ToolResult))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Read an OpenAI-style message dict.

        Raises:
            TypeError, ValueError: when its role, content or calls have no readable shape.
        """
        # Never an AssistantMessage, which is made only from a proven end.
        return Message(*read_message(data))

    def to_dict(self) -> Dict[str, Any]:
        """Return the OpenAI-style message dict; the reverse of ``from_dict``.

        The dict has no place for the order of text, reasoning and calls, for the extras of
        several reasoning blocks, or for the facts of an answer. ``to_record`` keeps them.
        """
        return write_message(self.role, self.content, self.name, self.extras, self.form)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Message:
        """Return the message that ``to_record`` wrote, equal and of the same class.

        Raises:
            KeyError, TypeError, ValueError: when it is not such a record.
        """
        values = {**record, "content": tuple(map(block_from_dict, record["content"]))}
        if "finish" not in record:
            return Message(**values)
        if values.get("usage") is not None:
            values["usage"] = TokenUsage.from_dict(values["usage"])
        return AssistantMessage(**values)

    def to_record(self) -> Dict[str, Any]:
        """Return the message as a JSON-able dict that loses nothing.

        It has the blocks in order, as ``Block.to_dict`` writes them. Fields that are None
        are left out, except the ``finish`` of an ``AssistantMessage``.
        """
        record: Dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None or item.name == "finish":
                record[item.name] = value.to_dict() if item.name == "usage" else thaw(value)
        record["content"] = [block.to_dict() for block in self.content]
        return record


@dataclass(frozen=True)
class AssistantMessage(Message):
    """A whole answer of a model, made only from a stream whose end was proven.

    Args:
        finish: ``stop``, ``tool-calls``, ``max-tokens``, ``paused`` or ``awaits-client``,
            as ``FINISH_KINDS`` explains them.
        usage: the provider's last usage report.
        model, response_id: what the provider says it served.
        provider, dialect, requested_model: the provider, dialect and model of the
            request. The extras go back only to a request in which all three are the same.
    """

    role: str = "assistant"
    finish: Optional[str] = None
    usage: Optional[TokenUsage] = None
    model: Optional[str] = None
    response_id: Optional[str] = None
    provider: Optional[str] = None
    dialect: Optional[str] = None
    requested_model: Optional[str] = None
