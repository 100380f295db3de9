# SPDX-License-Identifier: MIT
"""Writes the body of one chat-completions request.

In: a neutral ``LlmRequest`` (its config, messages, system, tools) and the provider's
``ChatCompletionsOptions``. Out: the body as plain JSON values, and its bytes. Refused before
any I/O: ``INVALID_REQUEST`` for values that cannot be sent, and for a tool call without exactly
one result. ``UNSUPPORTED_CONTENT`` for content that this provider does not accept. The rules
are in DESIGN.md §6 and §8.16.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Tuple

from ....values.calls import LlmRequest
from ....values.frozen import thaw
from ....values.given import invalid
from ...fitting import Receiver, fit_history, fit_tools
from ...json_body import encode_body
from ...request_checks import CHOICES, check_request
from .options import NAME, RESERVED_FIELDS, ChatCompletionsOptions
from .wire_messages import with_reasoning, without_facts, write_message


def build_body(
    request: LlmRequest,
    options: ChatCompletionsOptions,
    effort_fields: Mapping[str, Any],
    diagnostics: Dict[str, int],
) -> Dict[str, Any]:
    """Return the request body as plain JSON values; fields that nobody set are left out.

    Args:
        request: the request.
        options: the provider's options, resolved.
        effort_fields: the body fields that the reasoning effort becomes.
        diagnostics: a dict to count in, by name, the changes that fit the request.
    Raises:
        LlmError: ``INVALID_REQUEST`` for values, text or a history that no provider can
            accept. ``UNSUPPORTED_CONTENT`` for images that ``options`` do not allow.
    """
    config = request.config
    check_request(request, options, RESERVED_FIELDS)
    body: Dict[str, Any] = {"model": config.model}
    body["messages"] = _messages(request, options, diagnostics)
    body["stream"] = True
    if options.stream_options:
        body["stream_options"] = {"include_usage": True}
    for name, value in _settings(request, options, diagnostics):
        if value is not None:
            body[name] = thaw(value)
    body.update(thaw(dict(effort_fields)))
    body.update(thaw(dict(config.extra_body or {})))
    return body


def write_body(
    request: LlmRequest,
    options: ChatCompletionsOptions,
    effort_fields: Mapping[str, Any],
    diagnostics: Dict[str, int],
) -> bytes:
    """Return the bytes of the request body; see ``build_body``."""
    return encode_body(build_body(request, options, effort_fields, diagnostics))


def _messages(
    request: LlmRequest, options: ChatCompletionsOptions, diagnostics: Dict[str, int]
) -> List[Dict[str, Any]]:
    config, field = request.config, options.reasoning_field
    receiver = Receiver(NAME, config.provider, config.model)
    messages = [with_reasoning(without_facts(message), field) for message in request.messages]
    try:
        fitted = fit_history(messages, receiver, options, diagnostics, request.system)
        return [write_message(message, field) for message in fitted]
    except RecursionError:
        raise invalid("messages: nested too deeply") from None


def _settings(
    request: LlmRequest, options: ChatCompletionsOptions, diagnostics: Dict[str, int]
) -> List[Tuple[str, Any]]:
    config = request.config
    choice = config.tool_choice
    if isinstance(choice, str) and choice not in CHOICES:
        choice = {"type": "function", "function": {"name": choice}}
    tools = fit_tools(request.tools, options, diagnostics)
    offers = bool(tools) or "tools" in (config.extra_body or {})
    return [
        ("tools", tools or None),  # OpenAI refuses an empty list
        ("tool_choice", choice),
        ("parallel_tool_calls", config.parallel_tool_calls if offers else None),
        ("response_format", config.response_format),
        ("temperature", config.temperature),
        ("top_p", config.top_p),
        ("seed", config.seed),
        (_max_tokens_field(config.model, options), config.max_tokens),
        ("stop", config.stop or None),
    ]


def _max_tokens_field(model: str, options: ChatCompletionsOptions) -> str:
    pattern = options.max_completion_tokens_models
    if pattern and re.compile(pattern).fullmatch(model):
        return "max_completion_tokens"
    return options.max_tokens_field
