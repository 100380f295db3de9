# SPDX-License-Identifier: MIT
"""Arguments checked against a schema: a subset of JSON Schema, the same on every machine.

In: a schema as a dict, and a JSON value. Out: what is wrong with the value, in sentences that
a model can act on. The subset: ``type`` (a word or a list of them), ``enum``, ``const``,
``anyOf``, ``properties``, ``required``, ``additionalProperties``, ``items``, ``minimum``,
``maximum``, ``minLength``, ``maxLength``, ``minItems``, ``maxItems``. Other keywords go to
the model but are not checked here. Refused with ``ValueError``: a schema in which a keyword of
the subset has a value that makes no sense. The keywords mean what JSON Schema 2020-12 says.
"""

from __future__ import annotations

import json
import math
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ..showing import shorten

MAX_FAULTS = 8
"""The most faults that are told at once: enough to correct a call, too few to flood the model."""

_SHOWN = 60  # characters of a name or a value in a sentence


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)  # json reads 1e999 as infinity
    return isinstance(value, int) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    # 3.0 is an integer to JSON Schema
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


_TYPES: Dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def argument_faults(value: Any, schema: Mapping[str, Any], where: str = "arguments") -> List[str]:
    """Return at most ``MAX_FAULTS`` sentences on what is wrong with a value; [] if it fits.

    Args:
        value: a JSON value, as parsed.
        schema: a schema that ``check_schema`` accepts.
        where: the name of the value in the sentences.
    """
    found: List[str] = []
    for fault in _faults(value, schema, where):
        found.append(fault)
        if len(found) == MAX_FAULTS:
            break
    return found


def check_schema(schema: Any, where: str = "parameters") -> None:
    """Refuse a value that is not a usable schema.

    Raises:
        ValueError: with the place, for a value that JSON cannot carry, an unknown type
            word, or a keyword of the subset with a value of the wrong shape.
    """
    try:
        json.dumps(schema, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as exc:
        raise ValueError(f"{where} is not JSON: {exc}") from None
    _check(schema, where)


def _check(schema: Any, where: str) -> None:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise ValueError(f"{where} is a dict, not {type(schema).__name__}")
    for keyword, fits in _SHAPES.items():
        if keyword in schema and not fits(schema[keyword]):
            raise ValueError(f"{where}: {keyword} cannot be {_show(schema[keyword])}")
    for name, inner in schema.get("properties", {}).items():
        _check(inner, f"{where}.{name}")
    for number, inner in enumerate(schema.get("anyOf", ())):
        _check(inner, f"{where}.anyOf[{number}]")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            _check(schema[keyword], f"{where}.{keyword}")


def _is_type(value: Any) -> bool:
    words = value if isinstance(value, (list, tuple)) and value else [value]
    return all(isinstance(word, str) and word in _TYPES for word in words)


def _is_strings(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_SHAPES: Dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "enum": lambda value: isinstance(value, (list, tuple)) and len(value) > 0,
    "anyOf": lambda value: isinstance(value, (list, tuple)) and len(value) > 0,
    "properties": lambda value: isinstance(value, dict),
    "required": _is_strings,
    "minimum": _is_number,
    "maximum": _is_number,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minItems": _is_count,
    "maxItems": _is_count,
}


def _faults(value: Any, schema: Any, where: str) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{where} is not allowed"
        return
    if "type" in schema:
        words = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(_TYPES[word](value) for word in words):
            yield f"{where} must be {' or '.join(words)}, not {_kind(value)}"
            return
    if "enum" in schema and not any(same_json(value, item) for item in schema["enum"]):
        choices = ", ".join(_show(item) for item in schema["enum"][:20])
        yield f"{where} must be one of {choices}, not {_show(value)}"
    if "const" in schema and not same_json(value, schema["const"]):
        yield f"{where} must be {_show(schema['const'])}, not {_show(value)}"
    if "anyOf" in schema:
        yield from _any_of(value, schema["anyOf"], where)
    yield from _range_faults(value, schema, where)
    if isinstance(value, dict):
        yield from _object_faults(value, schema, where)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _faults(item, schema["items"], f"{where}[{number}]")


def _any_of(value: Any, choices: Any, where: str) -> Iterator[str]:
    told: List[str] = []
    for choice in choices:
        faults = list(_faults(value, choice, where))
        if not faults:
            return
        told.append(faults[0])
    yield " or ".join(dict.fromkeys(told))


def _object_faults(
    value: Dict[str, Any], schema: Mapping[str, Any], where: str
) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}.{name} is missing"
    for name, item in value.items():
        place = f"{where}.{_short(name)}"
        if name in properties:
            yield from _faults(item, properties[name], place)
        elif schema.get("additionalProperties", True) is False:
            known = ", ".join(properties) or "none"
            yield f"{place} is unknown (there are: {known})"
        else:
            yield from _faults(item, schema.get("additionalProperties", True), place)


_SIZES: Tuple[Tuple[str, type, str], ...] = (
    ("Length", str, "characters"), ("Items", list, "items"),
)


def _range_faults(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    if _is_number(value):
        if "minimum" in schema and value < schema["minimum"]:
            yield f"{where} must be {schema['minimum']} or more, not {_show(value)}"
        if "maximum" in schema and value > schema["maximum"]:
            yield f"{where} must be {schema['maximum']} or less, not {_show(value)}"
    for name, kind, unit in _SIZES:
        if isinstance(value, kind):
            size: int = len(value)  # type: ignore[arg-type]
            if size < schema.get(f"min{name}", 0):
                yield f"{where} must have at least {schema[f'min{name}']} {unit}"
            if size > schema.get(f"max{name}", size):
                yield f"{where} must have at most {schema[f'max{name}']} {unit}"


def same_json(one: Any, other: Any) -> bool:
    """Say whether two values are equal in JSON: 1 equals 1.0, and neither equals true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    return bool(one == other)


def _kind(value: Any) -> str:
    return next((word for word in _TYPES if _TYPES[word](value)), type(value).__name__)


def _show(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False, default=str))


def _short(text: str) -> str:
    return shorten(text, _SHOWN)
