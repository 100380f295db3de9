# SPDX-License-Identifier: MIT
"""Schemas of tools in a form that providers accept."""

from __future__ import annotations

import copy
from typing import Any, Dict

import pytest

from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions
from streamcore.wire.fitting import fit_tools


def schema_sent(schema: Any, *without: str) -> Any:
    """Return a tool's schema as it is sent; the tool that was given must stay as it is."""
    counters: Dict[str, int] = {}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    before = copy.deepcopy(tool)
    options = ChatCompletionsOptions(schema_without=without).resolved()
    sent = fit_tools([tool], options, counters)[0]["function"]["parameters"]
    assert tool == before
    assert counters == ({} if sent == schema else {"tool_schema_changed": 1})
    return sent


@pytest.mark.parametrize("schema, sent", [
    ({}, {"type": "object", "properties": {}}),
    ({"type": "object"}, {"type": "object", "properties": {}}),
    ({"type": "object", "properties": {"a": {"type": "array"}}},
     {"type": "object", "properties": {"a": {"type": "array", "items": {}}}}),
    ({"type": "object", "properties": {"a": {"anyOf": [{"type": ["array"]}]}}},
     {"type": "object", "properties": {"a": {"anyOf": [{"type": ["array"], "items": {}}]}}}),
    ({"type": "object", "properties": {"a": {"type": "object"}}},
     {"type": "object", "properties": {"a": {"type": "object"}}}),
    ({"$ref": "#/$defs/x"}, {"$ref": "#/$defs/x"}),
])
def test_schema_has_what_providers_insist_on(schema: Any, sent: Any) -> None:
    """Arrays say their items, and the whole is an object with properties."""
    assert schema_sent(schema) == sent


def test_keywords_that_are_refused_are_left_out() -> None:
    """At every depth; a property of that name, and data, stay."""
    schema = {
        "$schema": "x", "type": "object", "examples": [{"$schema": 1}], "required": ["$schema"],
        "properties": {
            "$schema": {"type": "string", "$schema": "y", "enum": ["$schema"]},
            "list": {"type": "array", "items": {"anyOf": [{"$schema": "z", "type": "null"}]}},
        },
        "$defs": {"$schema": {"$schema": "z"}},
    }
    assert schema_sent(schema, "$schema") == {
        "type": "object", "examples": [{"$schema": 1}], "required": ["$schema"],
        "properties": {
            "$schema": {"type": "string", "enum": ["$schema"]},
            "list": {"type": "array", "items": {"anyOf": [{"type": "null"}]}},
        },
        "$defs": {"$schema": {}},
    }


@pytest.mark.parametrize("tool", [
    {"type": "web_search", "filters": {"type": "array"}},
    {"type": "function", "function": {"name": "f"}},
], ids=["a provider's own", "without parameters"])
def test_tools_without_a_schema_stay(tool: Any) -> None:
    """A tool without a schema does not change."""
    counters: Dict[str, int] = {}
    assert fit_tools([tool], ChatCompletionsOptions().resolved(), counters) == [tool]
    assert counters == {}
