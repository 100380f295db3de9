# SPDX-License-Identifier: MIT
"""Schemas of a request's tools in a form that a provider accepts.

In: tools as OpenAI-style dicts. Out: the same dicts. In them each array has ``items``, the
schema is an object with ``properties``, and keywords that the receiver refuses are left out.
Only the provider gets these schemas. Arguments are checked against the tool's own schema.
Nothing is refused.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

from ...values.schemas.items import NAMED_SCHEMAS, with_items
from ..dialects.options import DialectOptions
from .counting import Counts

_VALUES = ("enum", "const", "default", "examples", "required")
"""Keywords whose value is data and not a schema."""


def fit_tools(
    tools: Sequence[Mapping[str, Any]], options: DialectOptions, diagnostics: Dict[str, int]
) -> List[Mapping[str, Any]]:
    """Return the tools to write; tools that a provider runs itself do not change."""
    counts = Counts(diagnostics)
    return [_fit_tool(tool, options.schema_without, counts) for tool in tools]


def _fit_tool(
    tool: Mapping[str, Any], refused: Sequence[str], counts: Counts
) -> Mapping[str, Any]:
    function = tool.get("function")
    if not isinstance(function, Mapping) or "parameters" not in function:
        return tool
    told = function["parameters"]
    schema = _without(with_items(told), refused) if refused else with_items(told)
    if not schema or (schema.get("type") == "object" and "properties" not in schema):
        schema = {**schema, "type": "object", "properties": {}}
    if schema == told:
        return tool
    counts.add("tool_schema_changed")
    return {**tool, "function": {**function, "parameters": schema}}


def _without(schema: Any, refused: Sequence[str]) -> Any:
    if isinstance(schema, list):
        return [_without(inner, refused) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    made = {}
    for keyword, value in schema.items():
        if keyword in refused:
            continue
        if keyword in NAMED_SCHEMAS and isinstance(value, dict):
            made[keyword] = {name: _without(inner, refused) for name, inner in value.items()}
        else:
            made[keyword] = value if keyword in _VALUES else _without(value, refused)
    return made
