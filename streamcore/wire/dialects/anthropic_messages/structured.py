# SPDX-License-Identifier: MIT
"""Asks for an answer that follows a JSON schema.

In: ``response_format``, as OpenAI's dict or Anthropic's own. Out: ``output_config.format`` in
the body, or a tool that the model must call. The arguments of that call are then the value.
Refused: a format of another kind, and other tools or a choice together with that tool
(``INVALID_REQUEST``); a schema for a server that takes none (``UNSUPPORTED_CONTENT``).
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ....values.errors import LlmError
from ....values.frozen import thaw
from ....values.given import invalid
from .options import AnthropicMessagesOptions

TOOL_NAME = "structured_output"
"""The tool's name if the schema has no name."""


def add_output_format(
    body: Dict[str, Any], wanted: Any, options: AnthropicMessagesOptions
) -> None:
    """Add the format to the body; None and the type ``text`` add nothing.

    Raises:
        LlmError: ``INVALID_REQUEST`` for a format of another kind, and for tools or a choice
            together with the tool of the format; ``UNSUPPORTED_CONTENT`` if the server
            takes no schema.
    """
    if wanted is None or (isinstance(wanted, Mapping) and wanted.get("type") == "text"):
        return
    if not isinstance(wanted, Mapping) or wanted.get("type") != "json_schema":
        raise invalid("in this dialect, response_format must be {'type': 'json_schema', …}")
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
        raise invalid("this server takes response_format as a tool, so no other tools can be sent")
    name = named.get("name") if isinstance(named.get("name"), str) else None
    tool = {"name": name or TOOL_NAME, "input_schema": thaw(schema)}
    body["tools"] = [tool]
    body["tool_choice"] = {"type": "tool", "name": tool["name"]}
