# SPDX-License-Identifier: MIT
"""Writes what a caller asks as the body of one Anthropic Messages request.

In: a neutral ``LlmRequest`` and the server's ``AnthropicMessagesOptions``. Out: the body as
plain JSON values, and its bytes. Refused before any I/O: values that cannot be sent, or do
not exist in this dialect (``INVALID_REQUEST``); content that the server does not take
(``UNSUPPORTED_CONTENT``).
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from ....values.calls import CallConfig, LlmRequest
from ....values.frozen import thaw
from ....values.given import invalid
from ...fitting import Receiver, fit_history, fit_tools
from ...json_body import encode_body
from ...request_checks import check_request
from .caching import check_marks, mark
from .options import NAME, RESERVED_FIELDS, AnthropicMessagesOptions
from .structured import add_output_format
from .thinking import fit_thinking, fit_to_budget
from .tools import write_choice, write_tool
from .wire_messages import write_messages


def build_body(
    request: LlmRequest,
    options: AnthropicMessagesOptions,
    effort_fields: Mapping[str, Any],
    diagnostics: Dict[str, int],
) -> Dict[str, Any]:
    """Return the request body as plain JSON values; fields that nobody set are left out.

    Args:
        request: what is asked.
        options: the server's options, resolved.
        effort_fields: the body fields that the reasoning effort becomes.
        diagnostics: a dict in which changes of the history are counted by name.
    Raises:
        LlmError: ``INVALID_REQUEST`` for values, text or a history that cannot be sent;
            ``UNSUPPORTED_CONTENT`` for content that this server or dialect does not take.
    """
    config = request.config
    check_request(request, options, RESERVED_FIELDS)
    if config.seed is not None:
        raise invalid("seed does not exist in this dialect")
    body: Dict[str, Any] = {"model": config.model, "max_tokens": _cap(config, options)}
    _add_messages(body, request, options, diagnostics)
    body["stream"] = True
    _add_tools(body, request, options, diagnostics)
    _add_settings(body, config)
    fields = fit_to_budget(thaw(dict(effort_fields)), config, options)
    body.update(fields)
    add_output_format(body, config.response_format, options)
    body.update(thaw(dict(config.extra_body or {})))
    for name in ("system", "tools"):
        value = body.get(name)
        if isinstance(value, list) and not all(isinstance(one, dict) for one in value):
            raise invalid(f"{name} of extra_body is not a list of objects")
    if not isinstance(body.get("tools", []), list):
        raise invalid("tools of extra_body is not a list")
    fit_thinking(body, config, options, diagnostics)
    if config.cache is not None:
        mark(body)
    check_marks(body)
    return body


def write_body(
    request: LlmRequest,
    options: AnthropicMessagesOptions,
    effort_fields: Mapping[str, Any],
    diagnostics: Dict[str, int],
) -> bytes:
    """Return the bytes of the request body; see ``build_body``."""
    return encode_body(build_body(request, options, effort_fields, diagnostics))


def _cap(config: CallConfig, options: AnthropicMessagesOptions) -> int:
    return options.default_max_tokens if config.max_tokens is None else config.max_tokens


def _add_messages(
    body: Dict[str, Any],
    request: LlmRequest,
    options: AnthropicMessagesOptions,
    diagnostics: Dict[str, int],
) -> None:
    receiver = Receiver(NAME, request.config.provider, request.config.model)
    try:
        fitted = fit_history(request.messages, receiver, options, diagnostics, request.system)
        system, messages = write_messages(fitted, options, diagnostics)
    except RecursionError:
        raise invalid("messages: nested too deeply") from None
    if system:
        body["system"] = system
    body["messages"] = messages


def _add_tools(
    body: Dict[str, Any],
    request: LlmRequest,
    options: AnthropicMessagesOptions,
    diagnostics: Dict[str, int],
) -> None:
    config = request.config
    tools: List[Any] = [write_tool(t) for t in fit_tools(request.tools, options, diagnostics)]
    if tools:
        body["tools"] = tools
    choice = write_choice(config.tool_choice, config.parallel_tool_calls, bool(tools))
    if choice is not None:
        body["tool_choice"] = choice


def _add_settings(body: Dict[str, Any], config: CallConfig) -> None:
    stop = [config.stop] if isinstance(config.stop, str) else thaw(config.stop)
    settings = {
        "temperature": config.temperature, "top_p": config.top_p, "stop_sequences": stop or None,
    }
    body.update((name, value) for name, value in settings.items() if value is not None)
