# SPDX-License-Identifier: MIT
"""An answer of a JSON schema, asked for in Anthropic's form.

In: the neutral ``response_format``, OpenAI's dict or Anthropic's own. Out: what is added to
the body: ``output_config.format``, or a tool the model must call, whose arguments are then
the value. Refused with ``INVALID_REQUEST``: a format of another kind, and tools or a choice
beside the one tool.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ....values.errors import LlmError
from ....values.frozen import thaw
from ....values.given import invalid
from .options import AnthropicMessagesOptions

TOOL_NAME = "structured_output"
"""The tool that stands for the value where the schema has no name."""


def add_output_format(
    body: Dict[str, Any], wanted: Any, options: AnthropicMessagesOptions
) -> None:
    """Add what asks for the format; None and ``text`` ask for none."""
    if wanted is None or (isinstance(wanted, Mapping) and wanted.get("type") == "text"):
        return
    if not isinstance(wanted, Mapping) or wanted.get("type") != "json_schema":
        raise invalid("response_format is {'type': 'json_schema', …} in this dialect")
    named = wanted.get("json_schema")
    named = named if isinstance(named, Mapping) else wanted
    schema = named.get("schema")
    if not isinstance(schema, Mapping):
        raise invalid("response_format has no schema")
    if options.structured_output == "none":
        text = "this server takes no response_format"
        raise LlmError(text, "UNSUPPORTED_CONTENT", phase="prepare")
    if options.structured_output == "output-config":
        shown = {"type": "json_schema", "schema": thaw(schema)}
        body["output_config"] = {**body.get("output_config", {}), "format": shown}
        return
    if "tools" in body or "tool_choice" in body:
        raise invalid("this server gives structured output as a tool: no tools beside it")
    name = named.get("name") if isinstance(named.get("name"), str) else None
    tool = {"name": name or TOOL_NAME, "input_schema": thaw(schema)}
    body["tools"] = [tool]
    body["tool_choice"] = {"type": "tool", "name": tool["name"]}
