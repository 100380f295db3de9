# SPDX-License-Identifier: MIT
"""Checks of a request that are the same in every dialect, made before any I/O.

In: a neutral ``LlmRequest``, the provider's options, and the body fields that only the
dialect may set. Refused with ``INVALID_REQUEST``: values that no provider could accept, a
tool name that this provider does not accept, and a tool choice that names a tool that the
request does not have (DESIGN.md §6).
"""

from __future__ import annotations

import math
import re
from typing import Any, List, Mapping, Optional, Sequence

from ..values.calls import CallConfig, LlmRequest
from ..values.given import invalid
from ..values.numbers import is_number, is_whole
from ..values.showing import show
from .dialects.options import DialectOptions

CHOICES = ("auto", "none", "required")
"""The words of ``tool_choice``; any other is a tool's name."""


def check_request(
    request: LlmRequest, options: DialectOptions, reserved_fields: Sequence[str]
) -> None:
    """Refuse a request whose settings or tools cannot be sent; ``history`` checks messages.

    Args:
        request: what is about to be sent.
        options: what the provider accepts, resolved.
        reserved_fields: the body fields that ``extra_body`` may not set.
    Raises:
        LlmError: ``INVALID_REQUEST`` naming the setting or the tool.
    """
    _check_values(request.config, request.system)
    _check_stop(request.config.stop)
    _check_extra_body(request.config.extra_body, reserved_fields)
    _check_tools(request, options.tool_names)


def _check_values(config: CallConfig, system: Optional[str]) -> None:
    for name in ("model", "reasoning_effort"):
        value = getattr(config, name)
        if (value is not None or name == "model") and not (isinstance(value, str) and value):
            raise invalid(f"{name} must be a non-empty string")
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
        raise invalid("parallel_tool_calls must be True, False or None")


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
        raise invalid("stop must be a non-empty string, or a list of non-empty strings")


def _check_extra_body(extra: Any, reserved_fields: Sequence[str]) -> None:
    if extra is None:
        return
    if not isinstance(extra, Mapping):
        raise invalid(f"extra_body is a dict, not {type(extra).__name__}")
    for name in reserved_fields:
        if name in extra:
            raise invalid(f"extra_body cannot set {name}")


def _check_tools(request: LlmRequest, pattern: str) -> None:
    names = [tool["function"]["name"] for tool in request.tools if tool.get("function")]
    for name in names:
        if pattern and not re.compile(pattern).fullmatch(name):
            raise invalid(f"the tool name {show(name)} does not match the pattern {pattern}")
    choice = request.config.tool_choice
    if choice is None or "tools" in (request.config.extra_body or {}):
        return  # the caller wrote the tools in extra_body in the provider's own form
    if not request.tools:
        raise invalid("tool_choice needs tools, and the request has no tools")
    wanted = _wanted_tool(choice)
    if wanted is not None and wanted not in names:
        there: List[str] = [show(name) for name in names]
        raise invalid(f"tool_choice: no tool {show(wanted)}; there are {', '.join(there)}")


def _wanted_tool(choice: Any) -> Optional[str]:
    """Return the name of the function that a choice asks for; None if it names no function."""
    if isinstance(choice, str):
        return None if choice in CHOICES else choice
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None
