# SPDX-License-Identifier: MIT
"""Shortens a history to the cap of one request.

In: the messages of a request, and how many bytes it is too large. Out: the messages to send,
a valid history. The log keeps everything; only the copy that is sent is shorter.
Refused with ``LlmError``: an invalid history from a caller's own function.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Callable, List, Sequence, Tuple, Union

from ..values.errors import LlmError
from ..values.frozen import thaw
from ..values.given import read_messages
from ..values.messages import Block, Message, ToolResult

Trim = Callable[[Tuple[Message, ...]], Sequence[Any]]

TOOL_OUTPUTS = "tool-outputs"
"""The value of ``trim`` that stands for ``drop_tool_outputs``."""


def check_trim(trim: Union[Trim, str, None]) -> None:
    """Refuse a ``trim`` that is not a function, ``tool-outputs`` or None.

    Raises:
        TypeError, ValueError: for anything else.
    """
    if isinstance(trim, str) and trim != TOOL_OUTPUTS:
        raise ValueError(f"trim must be {TOOL_OUTPUTS!r} or a function, not {trim!r}")
    if trim is not None and not isinstance(trim, str) and not callable(trim):
        raise TypeError(f"trim must be {TOOL_OUTPUTS!r} or a function, not {type(trim).__name__}")


def read_trimmed(
    given: Any, measure: Callable[[Sequence[Message]], int]
) -> Tuple[Sequence[Message], int]:
    """Return the messages that a caller's function returned, and the size of their request.

    Args:
        given: what the function returned.
        measure: returns the size of a request with these messages, in bytes.
    Raises:
        LlmError: when they are not a valid history.
    """
    try:
        messages = read_messages(given)
        return messages, measure(messages)
    except LlmError as error:
        text = f"trim gave no valid history: {error.failure.message}"
        raise LlmError(text, error.code, phase="prepare") from error


def drop_tool_outputs(messages: Sequence[Message], excess: int) -> Sequence[Message]:
    """Replace tool outputs with marks, the oldest first, until enough bytes are saved.

    Every call keeps its result; only the content of the result is replaced. The last message
    stays whole, because it is the newest tool result or the user's last message.

    Args:
        messages: a valid history.
        excess: UTF-8 bytes of JSON to save.
    """
    kept: List[Message] = list(messages)
    for place, message in enumerate(kept[:-1]):
        if excess <= 0:
            break
        blocks = [_marked(block) for block in message.content]
        excess -= sum(map(_size, message.content)) - sum(map(_size, blocks))
        if message.tool_results:
            kept[place] = replace(message, content=tuple(blocks))
    return kept


def _marked(block: Block) -> Block:
    """Return a tool result with a mark instead of its output; any other block as it is."""
    if not isinstance(block, ToolResult):
        return block
    mark = f"[an older tool output of {_size(block)} bytes, left out to make room]"
    marked = replace(block, content=mark)
    return marked if _size(marked) < _size(block) else block


def _size(block: Block) -> int:
    """Return the bytes of a tool result's content as JSON; 0 for any other block."""
    if not isinstance(block, ToolResult):
        return 0
    return len(json.dumps(thaw(block.content), ensure_ascii=False).encode("utf-8", "replace"))
