# SPDX-License-Identifier: MIT
"""A JSON schema in which every array says what its items are.

In: a schema. Out: a copy with ``items`` where an array lacked them. Nothing is refused.
"""

from __future__ import annotations

from typing import Any, Mapping

NAMED_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose value has names of the caller's own as keys: none of them is a keyword."""
_SCHEMAS = (
    "items", "additionalProperties", "not", "contains", "propertyNames",
    "anyOf", "oneOf", "allOf", "prefixItems",
)
"""Keywords whose value is a schema, or a list of schemas."""


def with_items(schema: Any) -> Any:
    """Return a schema in which every array has ``items``; ``{}`` allows any value.

    Some providers refuse a whole request for one array schema without ``items``
    ("array schema missing items", "items: missing field").
    """
    if isinstance(schema, (list, tuple)):  # a list of schemas, as in anyOf
        return [with_items(inner) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = dict(schema)
    for keyword in _SCHEMAS:
        if keyword in made:
            made[keyword] = with_items(made[keyword])
    for keyword in NAMED_SCHEMAS:
        if isinstance(made.get(keyword), Mapping):
            inner = made[keyword]
            made[keyword] = {name: with_items(one) for name, one in inner.items()}
    kind = made.get("type")
    if kind == "array" or (isinstance(kind, (list, tuple)) and "array" in kind):
        made.setdefault("items", {})
    return made
