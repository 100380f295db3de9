# SPDX-License-Identifier: MIT
"""The subset of JSON Schema that arguments are checked against, keyword by keyword."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from streamcore.values.schemas.schema import MAX_FAULTS, argument_faults, check_schema

PAIR = {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}


@pytest.mark.parametrize("schema, good, bad", [
    ({"type": "string"}, ["", "x"], [1, None, [], True]),
    ({"type": "integer"}, [1, -3, 2.0, 10**30], [1.5, True, "1", None]),
    ({"type": "number"}, [1, 1.5], [True, "1", float("inf")]),
    ({"type": "boolean"}, [True, False], [0, 1, "true"]),
    ({"type": "null"}, [None], [0, "", False]),
    ({"type": "array"}, [[], [1]], [{}, "ab"]),
    ({"type": "object"}, [{}, {"a": 1}], [[], "{}"]),
    ({"type": ["string", "null"]}, ["x", None], [1]),
    ({"enum": ["a", 1, None, [1]]}, ["a", 1, 1.0, None, [1]], [True, "b", [True]]),
    ({"const": 0}, [0, 0.0], [False, "0"]),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["x", 1], [1.5, None]),
    (PAIR, [{"a": 1}, {"a": 1, "b": []}, {"a": 1, "c": 2}], [{}, {"a": "x"}, {"b": 1}]),
    ({**PAIR, "additionalProperties": False}, [{"a": 1}], [{"a": 1, "c": 2}]),
    ({"additionalProperties": {"type": "string"}}, [{"x": "y"}], [{"x": 1}]),
    ({"items": {"type": "integer"}}, [[], [1, 2], "text"], [[1, "x"]]),
    ({"minimum": 1, "maximum": 3}, [1, 3, "x"], [0, 3.5]),
    ({"minLength": 1, "maxLength": 2}, ["a", "ab", 5], ["", "abc"]),
    ({"minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
    ({}, [1, None, {"a": []}], []),
    ({"properties": {"a": False}}, [{}], [{"a": 1}]),
    ({"pattern": "^x", "format": "email"}, ["anything"], []),
])
def test_keyword(schema: Dict[str, Any], good: Any, bad: Any) -> None:
    """Each keyword accepts and refuses what JSON Schema says; other keywords are ignored."""
    check_schema(schema)
    for value in good:
        assert argument_faults(value, schema) == [], value
    for value in bad:
        assert argument_faults(value, schema), value


def test_nested_place_is_named() -> None:
    """A fault names its place."""
    schema = {"properties": {"rows": {"items": {"properties": {"n": {"type": "integer"}}}}}}
    value = {"rows": [{"n": 1}, {"n": "x"}]}
    assert argument_faults(value, schema) == [
        "arguments.rows[1].n must be integer, not string"
    ]


def test_faults_are_bounded() -> None:
    """The number of faults, and the length of each, is limited."""
    faults = argument_faults(["x" * 10_000] * 100, {"items": {"enum": ["a"]}})
    assert len(faults) == MAX_FAULTS and max(map(len, faults)) < 200
    faults = argument_faults({"k" * 10_000: 1}, {"additionalProperties": False})
    assert max(map(len, faults)) < 200


@pytest.mark.parametrize("schema", [
    [], "x", {"type": "text"}, {"type": []}, {"enum": []}, {"required": [1]},
    {"properties": []}, {"properties": {"a": 5}}, {"items": [{}]}, {"anyOf": []},
    {"anyOf": [{"type": "x"}]}, {"minLength": -1}, {"maxItems": 1.5}, {"minimum": "1"},
    {"additionalProperties": "no"}, {"default": {1, 2}}, {"default": float("nan")},
])
def test_schema_that_is_none_is_refused(schema: Any) -> None:
    """A schema with senseless keywords is refused when it is given."""
    with pytest.raises(ValueError):
        check_schema(schema)
