# SPDX-License-Identifier: MIT
"""Makes the copy of a history that its receiver accepts; every dialect's writer begins with it.

In: a history, its receiver, and the options that say what the receiver accepts. Out: the
messages to write. Each tool result is a tool message of its own, in the order of the calls and
directly after them. The history itself does not change, and each change in the copy is counted.
How a message is copied depends only on the messages before it. So when a history grows at its
end, the bytes sent before stay the same. There are two exceptions: under ``alternate`` the last
message may grow, and under ``one_system_message`` a later system message moves to the front.
Refused: a history that no provider accepts, and images that this one does not accept (DESIGN.md
§6 and §11).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence

from ...values.given import invalid
from ...values.messages import Block, Message, TextBlock, ToolCall, ToolResult
from ..dialects.options import DialectOptions
from ..history import check_history, only_results
from .content import Receiver, fit_result, fit_said
from .counting import Counts
from .images import check_images
from .names import CallIds, fit_name
from .roles import NO_ANSWER, NO_MESSAGE, alternated, with_one_system, without_developer
from .schemas import fit_tools

__all__ = ["NO_ANSWER", "NO_MESSAGE", "Receiver", "fit_history", "fit_tools"]


def fit_history(
    messages: Sequence[Message],
    receiver: Receiver,
    options: DialectOptions,
    diagnostics: Dict[str, int],
    system: Optional[str] = None,
) -> List[Message]:
    """Return the messages to write; ``system`` becomes the first of them.

    Args:
        messages: the conversation, oldest first.
        receiver: the dialect, provider and model that the history goes to.
        options: what the receiver accepts, resolved.
        diagnostics: a dict to count the changes in, by name.
        system: the system prompt; None or "" adds none.
    Raises:
        LlmError: ``INVALID_REQUEST`` for a history that no provider can accept, or an image
            that is neither an address nor data. ``UNSUPPORTED_CONTENT`` for an image that
            ``options`` do not allow.
    """
    check_history(messages)
    check_images(messages, options)
    counts = Counts(diagnostics)
    fitted = _in_order(messages, receiver, options, counts)
    if not fitted:
        raise invalid("there is no message to send")
    if system and (options.blank_text or not system.isspace()):
        fitted.insert(0, Message("system", (TextBlock(system),)))
    if not options.developer_role:
        fitted = without_developer(fitted, counts)
    if options.one_system_message or options.alternate:
        fitted = with_one_system(fitted, counts)
    return alternated(fitted, counts) if options.alternate else fitted


def _in_order(
    messages: Sequence[Message], receiver: Receiver, options: DialectOptions, counts: Counts
) -> List[Message]:
    """Fit each message by itself, and put the results after their calls."""
    fitted: List[Message] = []
    ids = CallIds(options.call_ids, options.unique_call_ids, counts)
    sent: Dict[str, str] = {}  # id in the history → id sent, of the last calls
    results: Dict[str, Message] = {}  # id in the history → the result of that call
    for message in messages:
        for result in message.tool_results:
            answered = fit_result(result, options, counts)
            if sent[result.call_id] is not result.call_id:
                answered = replace(answered, call_id=sent[result.call_id])
            results[result.call_id] = _result_message(answered, message)
        if only_results(message):
            continue
        fitted.extend(results[told] for told in sent)
        results, sent = {}, ids.of(message.tool_calls)
        said = fit_said(message, receiver, options, counts)
        if said is not None:
            fitted.append(_renamed(said, sent, options, counts))
    fitted.extend(results[told] for told in sent)
    return fitted


def _result_message(result: ToolResult, message: Message) -> Message:
    if message.role != "tool":  # the name and extras of a user message belong to its own words
        return Message("tool", (result,))
    return Message("tool", (result,), message.name, message.extras)


def _renamed(
    message: Message, sent: Dict[str, str], options: DialectOptions, counts: Counts
) -> Message:
    """Return the message with the ids and names that its calls are sent with."""
    content: List[Block] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            name = fit_name(block.name, options.tool_names, counts)
            if name is not block.name or sent[block.id] is not block.id:
                block = replace(block, id=sent[block.id], name=name)
        content.append(block)
    return replace(message, content=tuple(content)) if sent else message
