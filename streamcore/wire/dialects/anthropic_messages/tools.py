# SPDX-License-Identifier: MIT
"""Writes tools and the choice among them in Anthropic's form.

In: OpenAI-style tool dicts, tools that the provider runs, the neutral ``tool_choice``. Out:
the ``tools`` and the ``tool_choice`` of the body. Refused with ``INVALID_REQUEST``: a choice
of unknown shape.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ....values.frozen import thaw
from ....values.given import invalid

_WORDS = {"auto": "auto", "none": "none", "required": "any"}


def write_tool(tool: Mapping[str, Any]) -> Dict[str, Any]:
    """Return a tool in Anthropic's form; a tool that the provider runs stays unchanged."""
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return dict(thaw(tool))
    inner = dict(thaw(function))
    schema = inner.pop("parameters", None) or inner.pop("input_schema", None)
    shown = {"name": inner.pop("name"), **inner}
    shown["input_schema"] = schema or {"type": "object", "properties": {}}
    beside = {key: thaw(value) for key, value in tool.items() if key not in ("type", "function")}
    return {**shown, **beside}  # cache_control, for example, stands beside the function


def write_choice(choice: Any, parallel: Optional[bool], offers: bool) -> Optional[Dict[str, Any]]:
    """Return the ``tool_choice``; None if the body needs none.

    Args:
        choice: the neutral choice, OpenAI's dict for one function, or Anthropic's own dict.
        parallel: whether one answer may hold several calls. Only False changes the body.
        offers: whether the request has tools.
    Raises:
        LlmError: ``INVALID_REQUEST`` for a choice of unknown shape.
    """
    if choice is None and (parallel is not False or not offers):
        return None
    shown = _choice("auto" if choice is None else choice)
    if parallel is False and shown.get("type") != "none":
        shown["disable_parallel_tool_use"] = True
    return shown


def _choice(choice: Any) -> Dict[str, Any]:
    if isinstance(choice, str):
        word = _WORDS.get(choice)
        return {"type": word} if word else {"type": "tool", "name": choice}
    if not isinstance(choice, Mapping) or not isinstance(choice.get("type"), str):
        raise invalid("tool_choice must be a word, a tool's name, or the provider's dict")
    function = choice.get("function")
    if isinstance(function, Mapping) and isinstance(function.get("name"), str):
        return {"type": "tool", "name": function["name"]}
    return dict(thaw(choice))
