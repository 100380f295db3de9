# SPDX-License-Identifier: MIT
"""Making a history fit the cap of one request.

In: the messages of a request, and by how much it is too large. Out: the messages to send, a
valid history. The log keeps everything: only the copy that goes out is shorter.
Refused with ``LlmError``: what a caller's own function gives that is no valid history.
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
"""The word for ``drop_tool_outputs`` where a function to trim with is given."""


def check_trim(trim: Union[Trim, str, None]) -> None:
    """Refuse what trims nothing.

    Raises:
        TypeError, ValueError: for what is no function and no known word.
    """
    if isinstance(trim, str) and trim != TOOL_OUTPUTS:
        raise ValueError(f"trim is {TOOL_OUTPUTS!r} or a function, not {trim!r}")
    if trim is not None and not isinstance(trim, str) and not callable(trim):
        raise TypeError(f"trim is {TOOL_OUTPUTS!r} or a function, not {type(trim).__name__}")


def read_trimmed(
    given: Any, measure: Callable[[Sequence[Message]], int]
) -> Tuple[Sequence[Message], int]:
    """Return what a caller's function gave as messages a provider could take, and their size.

    Args:
        given: what it gave.
        measure: gives the size of a request with these messages, in bytes.
    Raises:
        LlmError: saying that they are no valid history.
    """
    try:
        messages = read_messages(given)
        return messages, measure(messages)
    except LlmError as error:
        text = f"trim gave no valid history: {error.failure.message}"
        raise LlmError(text, error.code, phase="prepare") from error


def drop_tool_outputs(messages: Sequence[Message], excess: int) -> Sequence[Message]:
    """Put a mark in the place of tool outputs, the oldest first, until enough is gone.

    Every call keeps its result, whose text alone is replaced. The last message stays whole: it
    is what the model has just asked for, or what the user has just said.

    Args:
        messages: a valid history.
        excess: UTF-8 bytes of JSON that have to go.
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
