# SPDX-License-Identifier: MIT
"""A function's parameters as a schema, and JSON arguments as Python values.

In: a function with type hints. Out: an object schema, and a ``convert`` that turns checked
arguments into the values that the hints ask for. A hint may be str, int, float, bool, list,
dict, Optional, Union, Literal, Enum, dataclass, None, Any or ``Annotated[T, "description"]``,
in any nesting. A default makes a parameter optional. Refused with ``TypeError``: other hints,
``*args``, ``**kwargs``, positional-only parameters, a dataclass that contains itself, and a
dataclass that requires an argument which is not a field.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import json
import types
import typing
from enum import Enum
from typing import (
    Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union,
)

from .schema import argument_faults, same_json

INJECTED = ("cancel", "call_id")
"""Parameters that the agent fills. The model never sees them."""

Convert = Callable[[Any], Any]

_SCALARS: Dict[Any, Tuple[str, Optional[Convert]]] = {
    str: ("string", None),
    int: ("integer", int),  # 3.0 is an integer to JSON
    float: ("number", float),
    bool: ("boolean", None),
    type(None): ("null", None),
}
_UNREADABLE = (NameError, AttributeError, TypeError, ValueError, SyntaxError, RecursionError)
"""What reading hints can raise: a hint may be any text or any value."""
_LISTS = (list, collections.abc.Sequence)
_DICTS = (dict, collections.abc.Mapping)
_UNIONS = (Union, getattr(types, "UnionType", Union))  # X | Y has a type of its own since 3.10


class Shape(NamedTuple):
    """The meaning of a hint: its schema, and the function that converts its JSON value, or None."""

    schema: Dict[str, Any]
    convert: Optional[Convert] = None

    def apply(self, value: Any) -> Any:
        """Return a value that fits the schema, converted to what the hint asks for."""
        return value if self.convert is None else self.convert(value)

    def described(self, words: Optional[str]) -> Shape:
        """Return the shape with ``words`` as its description; unchanged if ``words`` is None."""
        if words is None:
            return self
        return Shape({**self.schema, "description": words}, self.convert)


class Member(NamedTuple):
    """One parameter of a function, or one field of a dataclass."""

    name: str
    shape: Shape
    required: bool


class Signature(NamedTuple):
    """A function's parameters: one schema for all, and a converter for each by name."""

    schema: Dict[str, Any]
    converts: Dict[str, Convert]

    def convert(self, arguments: Mapping[str, Any]) -> Dict[str, Any]:
        """Return checked arguments, converted to what the function's hints ask for.

        Raises:
            ValueError, TypeError, ArithmeticError: if a dataclass refuses its values.
        """
        found = dict(arguments)
        for name, convert in self.converts.items():
            if name in found:
                found[name] = convert(found[name])
        return found


def read_signature(function: Callable[..., Any], about: Mapping[str, str]) -> Signature:
    """Return what a model may pass to ``function``.

    Args:
        function: the function to describe; ``cancel`` and ``call_id`` are left out.
        about: descriptions of parameters, by name.
    Raises:
        TypeError: with the name of a parameter that has no schema.
    """
    return _object(_parameters(function, about))


def _parameters(function: Callable[..., Any], about: Mapping[str, str]) -> Iterator[Member]:
    hints = _hints(function)
    for name, parameter in parameters_of(function).items():
        if name in INJECTED:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{name}: a tool is called with named arguments only")
        shape = _parameter_shape(hints.get(name, Any), name, parameter.default)
        yield Member(name, shape.described(about.get(name)), parameter.default is parameter.empty)


def _parameter_shape(hint: Any, name: str, default: Any) -> Shape:
    try:
        return _with_default(_shape(hint, name, ()), default)
    except RecursionError:
        text = f"{name}: its hint or its default is nested too deeply, or holds itself"
        raise TypeError(text) from None


def _object(members: Iterable[Member]) -> Signature:
    """Return the signature of an object with these members."""
    known = list(members)
    schema: Dict[str, Any] = {
        "type": "object", "properties": {item.name: item.shape.schema for item in known},
    }
    required = [item.name for item in known if item.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    shapes = {item.name: item.shape for item in known}
    converts = {name: shape.convert for name, shape in shapes.items() if shape.convert is not None}
    return Signature(schema, converts)


def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return a callable's parameters by name.

    Raises:
        TypeError: if Python cannot read its signature.
    """
    try:
        return inspect.signature(function).parameters
    except ValueError as exc:
        raise TypeError(f"{function!r} has no readable signature: {exc}") from None


def _hints(function: Any) -> Dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except _UNREADABLE as exc:
        name = getattr(function, "__name__", function)
        where = _unreadable(target)
        text = f"{where}the type hints of {name} cannot be read: {exc}"
        raise TypeError(text) from None


def _unreadable(target: Any) -> str:
    """Return the first parameter whose hint cannot be read, as the start of a sentence."""
    names = getattr(target, "__globals__", {})
    for name, hint in getattr(target, "__annotations__", {}).items():
        try:
            one: Any = types.SimpleNamespace(__annotations__={name: hint})
            typing.get_type_hints(one, names, include_extras=True)
            Optional[hint]  # older Pythons make this hint if the default is None
        except _UNREADABLE:
            return f"{name}: "
    return ""


def _with_default(shape: Shape, default: Any) -> Shape:
    if default is inspect.Parameter.empty:
        return shape
    if default is None:
        # Older Pythons read "x: str = None" as Optional[str]; newer Pythons do not.
        return shape if not argument_faults(None, shape.schema) else _union([shape, _NULL])
    value = default.value if isinstance(default, Enum) else default
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):  # a default that JSON cannot carry stays out of the schema
        return shape
    return Shape({**shape.schema, "default": value}, shape.convert)


def _shape(hint: Any, where: str, inside: Tuple[Any, ...]) -> Shape:
    """Return the shape of one hint; ``inside`` are the dataclasses around it."""
    if hint in (Any, object):
        return Shape({})
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(hint, "__metadata__"):
        shape = _shape(args[0], where, inside)
        words = next((item for item in hint.__metadata__ if isinstance(item, str)), None)
        return shape.described(words)
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
    if _is_scalar(hint):
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


def _is_scalar(hint: Any) -> bool:
    try:
        return hint in _SCALARS
    except TypeError:  # a hint such as [int] has no hash
        return False


_NULL = Shape({"type": "null"})


def _union(shapes: List[Shape]) -> Shape:
    def convert(value: Any) -> Any:
        for shape in shapes:
            if not argument_faults(value, shape.schema):
                return shape.apply(value)
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
    return _container("array", "items", item, lambda value: [item.apply(one) for one in value])


def _dict(args: Tuple[Any, ...], where: str, inside: Tuple[Any, ...]) -> Shape:
    if args and args[0] not in (str, Any):
        raise TypeError(f"{where}: the keys of a dict are strings, not {args[0]!r}")
    item = _shape(args[1], f"{where}{{}}", inside) if args else Shape({})
    return _container(
        "object", "additionalProperties", item,
        lambda value: {key: item.apply(one) for key, one in value.items()},
    )


def _container(word: str, keyword: str, item: Shape, convert: Convert) -> Shape:
    schema: Dict[str, Any] = {"type": word}
    if item.schema:
        schema[keyword] = item.schema
    return Shape(schema, None if item.convert is None else convert)


def _dataclass(hint: Any, where: str, inside: Tuple[Any, ...]) -> Shape:
    if hint in inside:
        raise TypeError(f"{where}: {hint.__name__} contains itself; a schema cannot")
    signature = _object(_fields(hint, where, (*inside, hint)))
    return Shape(signature.schema, lambda value: hint(**signature.convert(value)))


def _fields(hint: Any, where: str, inside: Tuple[Any, ...]) -> Iterator[Member]:
    hints = _hints_of_class(hint, where)
    _check_made_of_fields(hint, where)
    for item in dataclasses.fields(hint):
        if not item.init:
            continue
        has_default = item.default is not dataclasses.MISSING
        default = item.default if has_default else inspect.Parameter.empty
        shape = _with_default(_shape(hints[item.name], f"{where}.{item.name}", inside), default)
        required = not has_default and item.default_factory is dataclasses.MISSING
        yield Member(item.name, shape, required)


def _check_made_of_fields(hint: Any, where: str) -> None:
    """Refuse a dataclass that requires more than its fields, such as an InitVar."""
    known = {item.name for item in dataclasses.fields(hint) if item.init}
    for name, parameter in parameters_of(hint).items():
        named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if named and parameter.default is parameter.empty and name not in known:
            raise TypeError(f"{where}: {hint.__name__} needs {name}, which is not a field")


def _hints_of_class(hint: Any, where: str) -> Dict[str, Any]:
    try:
        return typing.get_type_hints(hint, include_extras=True)
    except _UNREADABLE as exc:
        raise TypeError(f"{where}: the hints of {hint.__name__} cannot be read: {exc}") from None
