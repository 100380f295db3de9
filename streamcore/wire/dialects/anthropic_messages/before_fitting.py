# SPDX-License-Identifier: MIT
"""Stands in for the neutral stage that fits a history to its receiver: same names, same form.

In: a history, and whom it goes to. Out: the messages to write: each result is a tool message
of its own, in the order of the calls and directly after them; ids fit the pattern and are
unique; blank text and what another maker alone can read are gone. Refused: what no provider
takes (``INVALID_REQUEST``). Whatever is in here belongs to that stage and not to this dialect.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ....values.calls import LlmRequest
from ....values.given import invalid
from ....values.messages import (
    Block, Message, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall,
)
from ....values.messages.blocks import NO_OUTPUT
from ....values.strictjson import mend_surrogates
from ...history import check_history, only_results
from ..chat_completions.request import _check_extra_body, _check_values
from ..chat_completions.wire_messages import _refuse_images
from .options import AnthropicMessagesOptions

NO_ANSWER = "(no answer)"
_IDS = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Receiver(NamedTuple):
    """Whom a request goes to: the dialect's name, the provider's, and the model's."""

    dialect: str
    provider: Optional[str]
    model: str

    def made(self, message: Message) -> bool:
        """Say whether it made a message, or nobody else is known to have."""
        names = ("dialect", "provider", "requested_model")
        told = (getattr(message, name, None) for name in names)
        return all(maker is None or maker == mine for maker, mine in zip(told, self))


def check_request(request: LlmRequest, options: Any, reserved: Sequence[str]) -> None:
    """Refuse a request whose settings cannot be sent."""
    _check_values(request.config, request.system)
    _check_extra_body(request.config.extra_body)
    for name in reserved:
        if name in (request.config.extra_body or {}):
            raise invalid(f"extra_body cannot set {name}")


def fit_tools(
    tools: Sequence[Mapping[str, Any]], options: Any, diagnostics: Dict[str, int]
) -> List[Mapping[str, Any]]:
    """Return the tools to write."""
    return list(tools)


def fit_history(
    messages: Sequence[Message],
    receiver: Receiver,
    options: AnthropicMessagesOptions,
    diagnostics: Dict[str, int],
    system: Optional[str] = None,
) -> List[Message]:
    """Return the messages to write; ``system`` becomes the first of them."""
    check_history(messages)
    for position, message in enumerate(messages):
        if not options.images:
            _refuse_images(message, f"messages[{position}]")
    fitted: List[Message] = []
    used: Dict[str, int] = {}
    sent: Dict[str, str] = {}
    results: Dict[str, Message] = {}
    for message in messages:
        for result in message.tool_results:
            content = mend_surrogates(result.content) or NO_OUTPUT
            answered = replace(result, call_id=sent[result.call_id], content=content)
            results[result.call_id] = Message("tool", (answered,))
        if only_results(message):
            continue
        fitted += [results[told] for told in sent]
        results, sent = {}, {call.id: _id_of(call.id, used) for call in message.tool_calls}
        content = _said(message, receiver, options, diagnostics)
        if content:
            renamed = tuple(
                replace(b, id=sent[b.id]) if isinstance(b, ToolCall) else b for b in content
            )
            fitted.append(replace(message, content=renamed))
    fitted += [results[told] for told in sent]
    if not fitted:
        raise invalid("there is no message to send")
    first = [Message("system", (TextBlock(system),))] if system and system.strip() else []
    return first + fitted


def _said(
    message: Message,
    receiver: Receiver,
    options: AnthropicMessagesOptions,
    diagnostics: Dict[str, int],
) -> List[Block]:
    own = receiver.made(message)
    kept: List[Block] = [block for block in message.content if not _is_blank(block)]
    kept = [block for block in kept if block.type != "tool-result"]
    if not own:
        foreign = (OpaqueBlock, ReasoningBlock)
        kept = [
            replace(b, extras=None)  # type: ignore[type-var]
            for b in kept if not isinstance(b, foreign)
        ]
        if len(kept) < len(message.content):
            diagnostics["reasoning_left_out"] = diagnostics.get("reasoning_left_out", 0) + 1
    if message.role != "assistant":
        return kept or [TextBlock("(no message)")]
    thoughts = [block for block in kept if isinstance(block, ReasoningBlock)]
    filler = options.reasoning_filler
    if filler is not None and message.tool_calls and not thoughts:
        kept.insert(0, ReasoningBlock(filler))
    if kept and all(isinstance(block, ReasoningBlock) for block in kept):
        kept.append(TextBlock(NO_ANSWER))
    return kept


def _is_blank(block: Block) -> bool:
    return isinstance(block, TextBlock) and not block.extras and not block.text.strip()


def _id_of(told: str, used: Dict[str, int]) -> str:
    made = told
    while not _IDS.fullmatch(made) or made in used:
        used[told] = used.get(told, 0) + 1
        made = "toolu_" + hashlib.sha256(f"{used[told]} {told}".encode()).hexdigest()[:24]
    used[made] = used.get(made, 0)
    return made
