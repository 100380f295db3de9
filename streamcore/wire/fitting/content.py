# SPDX-License-Identifier: MIT
"""The content of one message as it is sent.

In: a message or a tool result, its receiver, and what the receiver accepts. Out: the copy to
write, or None if nothing of it is sent. Left out: content that only another provider or model
can read, reasoning that does not go back, and blank text. Nothing is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, NamedTuple, Optional, Sequence

from ...values.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
    said_arguments,
)
from ...values.messages.blocks import NO_OUTPUT
from ...values.strictjson import mend_surrogates
from ..dialects.options import DialectOptions
from .counting import Counts
from .roles import NO_ANSWER, NO_MESSAGE, is_system


class Receiver(NamedTuple):
    """Whom a request goes to: the dialect's name, the provider's, and the model's."""

    dialect: str
    provider: Optional[str]
    model: str

    def made(self, message: Message) -> bool:
        """Say whether this receiver made a message, and so can read its opaque content.

        It made the message if the dialect, provider and model are its own. Facts that the
        message does not tell count as equal. A message made by hand tells none of them.
        """
        told = (
            getattr(message, name, None) for name in ("dialect", "provider", "requested_model")
        )
        return all(maker is None or maker == mine for maker, mine in zip(told, self))


def fit_said(
    message: Message, receiver: Receiver, options: DialectOptions, counts: Counts
) -> Optional[Message]:
    """Return a message as it is sent, without its tool results; None if nothing is left."""
    if message.role == "assistant":
        return _fit_answer(message, receiver, options, counts)
    left_out = (ToolResult, ReasoningBlock)
    content = [block for block in message.content if not isinstance(block, left_out)]
    form = message.form
    if not options.text_parts and _is_parted(content, form) and not _has_media(content):
        counts.add("text_parts_joined")
        content, form = _with_one_text(content, "\n\n"), "text"
    if not options.blank_text:
        content = _without_blank(content, counts)
        if not content and is_system(message):
            return None
        if not content:
            counts.add("placeholder_added")
            content, form = [TextBlock(NO_MESSAGE)], "text"
    return Message(message.role, tuple(content), message.name, message.extras, form)


def _fit_answer(
    message: Message, receiver: Receiver, options: DialectOptions, counts: Counts
) -> Optional[Message]:
    """Return an answer as it is sent back; None if it is empty.

    An answer that has only reasoning gets a placeholder as its text. Strict providers refuse
    empty content, and chat templates expect an answer there.
    """
    own = receiver.made(message)
    kept = _without_blank(_readable(message.content, own, counts), counts)
    extras = message.extras if own else None
    if extras is not message.extras:
        counts.add("extras_left_out")
    if not (kept or extras):
        return None
    form = message.form
    said = [block for block in kept if not isinstance(block, ReasoningBlock)]
    if not said and (kept or not options.blank_text):
        counts.add("placeholder_added")
        kept.append(TextBlock(NO_ANSWER))
    kept = _fit_reasoning(kept, own, bool(message.tool_calls), options, counts)
    if not options.text_parts and _is_parted(said, form) and not _has_media(said):
        counts.add("text_parts_joined")
        kept, form = _with_one_text(kept, ""), "text"
    return Message("assistant", tuple(kept), message.name, extras, form)


def _readable(content: Sequence[Block], own: bool, counts: Counts) -> List[Block]:
    """Return the blocks of an answer as the receiver can read them."""
    kept: List[Block] = []
    for block in content:
        if isinstance(block, ToolCall):  # "" becomes {}, because strict servers parse arguments
            arguments = said_arguments(block.arguments)
            if arguments is not block.arguments:
                block = replace(block, arguments=arguments)
        if own:
            kept.append(block)
        elif isinstance(block, OpaqueBlock):
            counts.add("opaque_block_left_out")
        elif getattr(block, "extras", None):
            counts.add("extras_left_out")
            kept.append(replace(block, extras=None))  # type: ignore[type-var]
        else:
            kept.append(block)
    return kept


def _fit_reasoning(
    kept: List[Block], own: bool, calls: bool, options: DialectOptions, counts: Counts
) -> List[Block]:
    """Return the blocks without reasoning that does not go back, or with a filler if needed."""
    when, filler = options.reasoning_passback, options.reasoning_filler
    wanted = when == "always" or (when == "tool-calls" and calls)
    thoughts = [block for block in kept if isinstance(block, ReasoningBlock)]
    if thoughts and not (wanted and own):
        counts.add("reasoning_left_out")
        kept, thoughts = [b for b in kept if not isinstance(b, ReasoningBlock)], []
    if not wanted or filler is None or any(block.text or block.extras for block in thoughts):
        return kept
    counts.add("reasoning_filler_added")
    return [ReasoningBlock(filler), *(b for b in kept if not isinstance(b, ReasoningBlock))]


def fit_result(result: ToolResult, options: DialectOptions, counts: Counts) -> ToolResult:
    """Return a tool result as it is sent; an empty result becomes ``NO_OUTPUT``.

    A program's output may hold anything, so lone surrogate halves are mended here. In any
    other text they are refused.
    """
    content: Any = result.content or ""
    if isinstance(content, list):
        parts = [_mended(part) for part in content if _part_text(part) != ""]
        texts = [_part_text(part) for part in parts]
        if not options.text_parts and None not in texts:
            counts.add("text_parts_joined")
            content = "\n\n".join(text for text in texts if text)
        else:
            content = parts
    else:
        content = mend_surrogates(content)
    if not content or (not options.blank_text and isinstance(content, str) and content.isspace()):
        content = NO_OUTPUT
    return result if content is result.content else replace(result, content=content)


def _mended(part: Any) -> Any:
    if isinstance(part, TextBlock):
        return replace(part, text=mend_surrogates(part.text))
    return part if isinstance(part, Block) else mend_surrogates(part)


def _part_text(part: Any) -> Optional[str]:
    """Return the text of a part that has only text; None for any other part."""
    if isinstance(part, TextBlock):
        return None if part.extras else part.text
    plain = isinstance(part, dict) and set(part) == {"type", "text"} and part["type"] == "text"
    return part["text"] if plain and isinstance(part["text"], str) else None


def _without_blank(content: Sequence[Block], counts: Counts) -> List[Block]:
    """Return the blocks without blank texts; a blank text with extras stays."""
    kept: List[Block] = []
    for block in content:
        if isinstance(block, TextBlock) and not block.extras and not block.text.strip():
            if block.text:
                counts.add("blank_text_dropped")
        else:
            kept.append(block)
    return kept


def _is_parted(content: Sequence[Block], form: Optional[str]) -> bool:
    """Say whether text would be written as parts."""
    texts = [block for block in content if isinstance(block, TextBlock)]
    return bool(texts) and (len(texts) > 1 or form == "parts" or texts[0].extras is not None)


def _has_media(content: Sequence[Block]) -> bool:
    return any(isinstance(block, (ImageBlock, OpaqueBlock)) for block in content)


def _with_one_text(content: Sequence[Block], glue: str) -> List[Block]:
    """Return the blocks with all texts joined in the place of the first."""
    texts = [block for block in content if isinstance(block, TextBlock)]
    whole = TextBlock(glue.join(block.text for block in texts))
    return [
        whole if block is texts[0] else block
        for block in content
        if block is texts[0] or not isinstance(block, TextBlock)
    ]
