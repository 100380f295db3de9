# SPDX-License-Identifier: MIT
"""The way out: what a caller asks, as the body of one chat-completions request.

In: a neutral ``LlmRequest`` (its config, messages, system, tools) and the
provider's ``ChatCompletionsOptions``. Out: the body as plain JSON values, and its bytes.
Refused before any I/O: what cannot be sent is ``INVALID_REQUEST``, what the
provider cannot carry is ``UNSUPPORTED_CONTENT``; a history with a call that has
not exactly one result is never sent. Rules: DESIGN.md §6 and §8.16.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ....values.calls import CallConfig, LlmRequest
from ....values.frozen import thaw
from ....values.given import invalid
from ....values.numbers import is_number, is_whole
from ...json_body import encode_body
from .options import RESERVED_FIELDS, ChatCompletionsOptions
from .wire_messages import write_messages

_CHOICES = ("auto", "none", "required")  # tool_choice words; any other is a tool's name


def build_body(
    request: LlmRequest, options: ChatCompletionsOptions, effort_fields: Mapping[str, Any]
) -> Dict[str, Any]:
    """Return the request body as plain JSON values; fields nobody set are left out.

    Args:
        request: what is asked.
        options: the provider's options, resolved.
        effort_fields: the body fields that the reasoning effort becomes.
    Raises:
        LlmError: ``INVALID_REQUEST`` for values, text or a history no provider can
            take; ``UNSUPPORTED_CONTENT`` for images where ``options`` has none.
    """
    config = request.config
    _check_values(config, request.system)
    body: Dict[str, Any] = {"model": config.model}
    body["messages"] = _messages(request, options)
    body["stream"] = True
    if options.stream_options:
        body["stream_options"] = {"include_usage": True}
    for name, value in _settings(request, options):
        if value is not None:
            body[name] = thaw(value)
    body.update(thaw(dict(effort_fields)))
    body.update(thaw(dict(config.extra_body or {})))
    return body


def write_body(
    request: LlmRequest, options: ChatCompletionsOptions, effort_fields: Mapping[str, Any]
) -> bytes:
    """Return the bytes of the request body; see ``build_body``."""
    return encode_body(build_body(request, options, effort_fields))


def _check_values(config: CallConfig, system: Optional[str]) -> None:
    for name in ("model", "reasoning_effort"):
        value = getattr(config, name)
        if (value is not None or name == "model") and not (isinstance(value, str) and value):
            raise invalid(f"{name} is a non-empty string")
    if system is not None and not isinstance(system, str):
        raise invalid(f"system is a string, not {type(system).__name__}")
    for name in ("temperature", "top_p"):
        _check_number(name, getattr(config, name))
    for name in ("seed", "max_tokens"):
        value = getattr(config, name)
        if value is not None and not is_whole(value):
            raise invalid(f"{name} is a whole number, not {type(value).__name__}")
    if config.max_tokens is not None and config.max_tokens < 1:
        raise invalid("max_tokens must be 1 or more")
    if not isinstance(config.parallel_tool_calls, (bool, type(None))):
        raise invalid("parallel_tool_calls is True, False or None")
    _check_stop(config.stop)
    _check_extra_body(config.extra_body)


def _check_number(name: str, value: Any) -> None:
    if value is None:
        return
    if not is_number(value):
        raise invalid(f"{name} is a number, not {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise invalid(f"{name} must be finite: {value}")


def _check_stop(stop: Any) -> None:
    strings = [stop] if isinstance(stop, str) else ([] if stop is None else stop)
    if not isinstance(strings, list) or not all(isinstance(s, str) and s for s in strings):
        raise invalid("stop is a non-empty string, or a list of them")


def _check_extra_body(extra: Any) -> None:
    if extra is None:
        return
    if not isinstance(extra, Mapping):
        raise invalid(f"extra_body is a dict, not {type(extra).__name__}")
    for name in RESERVED_FIELDS:
        if name in extra:
            raise invalid(f"extra_body cannot set {name}")


def _messages(request: LlmRequest, options: ChatCompletionsOptions) -> List[Dict[str, Any]]:
    try:
        messages = write_messages(request.messages, request.config.provider, options)
    except RecursionError:
        raise invalid("messages: nested too deeply") from None
    if not messages:
        raise invalid("there is no message to send")
    return [{"role": "system", "content": request.system}] * bool(request.system) + messages


def _settings(request: LlmRequest, options: ChatCompletionsOptions) -> List[Tuple[str, Any]]:
    config = request.config
    choice = config.tool_choice
    if isinstance(choice, str) and choice not in _CHOICES:
        choice = {"type": "function", "function": {"name": choice}}
    return [
        ("tools", request.tools or None),  # an empty list is refused by OpenAI
        ("tool_choice", choice),
        ("parallel_tool_calls", config.parallel_tool_calls),
        ("response_format", config.response_format),
        ("temperature", config.temperature),
        ("top_p", config.top_p),
        ("seed", config.seed),
        (options.max_tokens_field, config.max_tokens),
        ("stop", config.stop or None),
    ]
