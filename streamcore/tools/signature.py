# SPDX-License-Identifier: MIT
"""A function's parameters as a schema, and JSON arguments as Python values.

In: a function with type hints. Out: an object schema, and a ``convert`` that makes of
checked arguments what the hints say: str, int, float, bool, list, dict, Optional and
Union, Literal, Enum, dataclass, None, Any, ``Annotated[T, "words about it"]``, nested as
they like; defaults make a parameter optional. Refused with ``TypeError``: other hints,
``*args``, ``**kwargs``, positional-only parameters, a dataclass that contains itself.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import json
import types
import typing
from enum import Enum
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from .schema import argument_faults, same_json

INJECTED = ("cancel", "call_id")
"""Parameters that the agent fills, and the model never sees."""

Convert = Callable[[Any], Any]

_SCALARS: Dict[Any, Tuple[str, Optional[Convert]]] = {
    str: ("string", None),
    int: ("integer", int),  # 3.0 is an integer to JSON
    float: ("number", float),
    bool: ("boolean", None),
    type(None): ("null", None),
}
_LISTS = (list, collections.abc.Sequence)
_DICTS = (dict, collections.abc.Mapping)
_UNIONS = (Union, getattr(types, "UnionType", Union))  # X | Y has a type of its own since 3.10


class Shape(NamedTuple):
    """What one hint means: its schema, and how its JSON value is converted (None: not)."""

    schema: Dict[str, Any]
    convert: Optional[Convert] = None


class Signature(NamedTuple):
    """A function's parameters: the schema of all, and how each JSON value is converted."""

    schema: Dict[str, Any]
    converts: Dict[str, Convert]

    def convert(self, arguments: Mapping[str, Any]) -> Dict[str, Any]:
        """Return checked arguments as the function's hints want them.

        Raises:
            ValueError, TypeError, ArithmeticError: what a dataclass says of its values.
        """
        found = dict(arguments)
        for name, convert in self.converts.items():
            if name in found:
                found[name] = convert(found[name])
        return found


def read_signature(function: Callable[..., Any], about: Mapping[str, str]) -> Signature:
    """Return what a model may pass to ``function``.

    Args:
        function: what is described; ``cancel`` and ``call_id`` are left out.
        about: words about parameters, by name.
    Raises:
        TypeError: naming the parameter, for what has no schema.
    """
    hints = _hints(function)
    properties: Dict[str, Any] = {}
    required: List[str] = []
    converts: Dict[str, Convert] = {}
    for name, parameter in parameters_of(function).items():
        if name in INJECTED:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{name}: a tool is called with named arguments only")
        shape = _with_default(_shape(hints.get(name, Any), name, ()), parameter.default)
        properties[name] = dict(shape.schema)
        if name in about:
            properties[name]["description"] = about[name]
        if parameter.default is parameter.empty:
            required.append(name)
        if shape.convert is not None:
            converts[name] = shape.convert
    schema: Dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return Signature(schema, converts)


def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return a callable's parameters by name.

    Raises:
        TypeError: when it has no signature that Python can read.
    """
    try:
        return inspect.signature(function).parameters
    except ValueError as exc:
        raise TypeError(f"{function!r} has no readable signature: {exc}") from None


def _hints(function: Any) -> Dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, AttributeError, TypeError) as exc:
        name = getattr(function, "__name__", function)
        raise TypeError(f"the type hints of {name} cannot be read: {exc}") from None


def _with_default(shape: Shape, default: Any) -> Shape:
    if default is inspect.Parameter.empty:
        return shape
    if default is None:
        # Older Pythons read "x: str = None" as Optional[str] and newer ones do not.
        return shape if not argument_faults(None, shape.schema) else _union([shape, _NULL])
    value = default.value if isinstance(default, Enum) else default
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):  # a default of another kind is the function's own business
        return shape
    return Shape({**shape.schema, "default": value}, shape.convert)


def _shape(hint: Any, where: str, inside: Tuple[Any, ...]) -> Shape:
    """Return the shape of one hint; ``inside`` are the dataclasses round it."""
    if hint in (Any, object):
        return Shape({})
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(hint, "__metadata__"):
        shape = _shape(args[0], where, inside)
        words = next((item for item in hint.__metadata__ if isinstance(item, str)), None)
        return shape if words is None else shape._replace(
            schema={**shape.schema, "description": words}
        )
    if origin in _UNIONS:
        return _union([_shape(arg, where, inside) for arg in args])
    if origin is typing.Literal:
        return _choice(args, args, where)
    if (origin or hint) in _LISTS:
        return _list(args, where, inside)
    if (origin or hint) in _DICTS:
        return _dict(args, where, inside)
    return _plain_shape(hint, where, inside)


def _plain_shape(hint: Any, where: str, inside: Tuple[Any, ...]) -> Shape:
    if hint in _SCALARS:
        word, convert = _SCALARS[hint]
        return Shape({"type": word}, convert)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _choice([member.value for member in hint], list(hint), where)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _dataclass(hint, where, inside)
    supertype = getattr(hint, "__supertype__", None)  # of a NewType
    if supertype is not None:
        return _shape(supertype, where, inside)
    raise TypeError(
        f"{where}: there is no schema for the hint {hint!r}; give Tool() parameters of your own"
    )


_NULL = Shape({"type": "null"})


def _union(shapes: List[Shape]) -> Shape:
    def convert(value: Any) -> Any:
        for shape in shapes:
            if not argument_faults(value, shape.schema):
                return value if shape.convert is None else shape.convert(value)
        return value

    changed = any(shape.convert is not None for shape in shapes)
    return Shape({"anyOf": [shape.schema for shape in shapes]}, convert if changed else None)


def _choice(values: Any, members: Any, where: str) -> Shape:
    """Return the shape of a Literal or an Enum: one of a few JSON values."""
    kinds = {"null" if value is None else _SCALARS.get(type(value), ("",))[0] for value in values}
    if "" in kinds or not kinds:
        raise TypeError(f"{where}: the choices are strings, numbers, booleans or None")
    pairs = list(zip(values, members))

    def convert(value: Any) -> Any:
        return next(member for known, member in pairs if same_json(known, value))

    schema: Dict[str, Any] = {"type": kinds.pop()} if len(kinds) == 1 else {}
    return Shape({**schema, "enum": list(values)}, convert)


def _list(args: Tuple[Any, ...], where: str, inside: Tuple[Any, ...]) -> Shape:
    item = _shape(args[0], f"{where}[]", inside) if args else Shape({})
    schema: Dict[str, Any] = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    convert = item.convert
    if convert is None:
        return Shape(schema)
    each = convert
    return Shape(schema, lambda value: [each(one) for one in value])


def _dict(args: Tuple[Any, ...], where: str, inside: Tuple[Any, ...]) -> Shape:
    if args and args[0] not in (str, Any):
        raise TypeError(f"{where}: the keys of a dict are strings, not {args[0]!r}")
    item = _shape(args[1], f"{where}{{}}", inside) if args else Shape({})
    schema: Dict[str, Any] = {"type": "object"}
    if item.schema:
        schema["additionalProperties"] = item.schema
    convert = item.convert
    if convert is None:
        return Shape(schema)
    each = convert
    return Shape(schema, lambda value: {key: each(one) for key, one in value.items()})


def _dataclass(hint: Any, where: str, inside: Tuple[Any, ...]) -> Shape:
    if hint in inside:
        raise TypeError(f"{where}: {hint.__name__} contains itself, which a schema here cannot")
    signature = _fields(hint, where, (*inside, hint))
    return Shape(signature.schema, lambda value: hint(**signature.convert(value)))


def _fields(hint: Any, where: str, inside: Tuple[Any, ...]) -> Signature:
    hints = _hints_of_class(hint, where)
    properties: Dict[str, Any] = {}
    required: List[str] = []
    converts: Dict[str, Convert] = {}
    for item in dataclasses.fields(hint):
        if not item.init:
            continue
        has_default = item.default is not dataclasses.MISSING
        default = item.default if has_default else inspect.Parameter.empty
        shape = _shape(hints[item.name], f"{where}.{item.name}", inside)
        shape = _with_default(shape, default)
        properties[item.name] = shape.schema
        if not has_default and item.default_factory is dataclasses.MISSING:
            required.append(item.name)
        if shape.convert is not None:
            converts[item.name] = shape.convert
    schema: Dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return Signature(schema, converts)


def _hints_of_class(hint: Any, where: str) -> Dict[str, Any]:
    try:
        return typing.get_type_hints(hint, include_extras=True)
    except (NameError, AttributeError, TypeError) as exc:
        raise TypeError(f"{where}: the hints of {hint.__name__} cannot be read: {exc}") from None
