# SPDX-License-Identifier: MIT
"""Tools: made from functions, checked when made and before they run, found by name."""

from __future__ import annotations

import pickle
import sys
import threading
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import (
    Any, Callable, Dict, List, Literal, Mapping, NewType, Optional, Sequence, Set, Union,
)

import isolated_tools
import pytest

from streamcore.agent.tools import InvalidArguments, Tool, ToolError, ToolRegistry, tool


class Unit(Enum):
    """A unit."""

    METRE = "m"
    FOOT = "ft"


@dataclass
class Size:
    """A size."""

    width: float
    unit: Unit = Unit.METRE
    tags: List[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.width < 0:
            raise KeyError("a width below 0")


@dataclass
class Ring:
    """A value that contains itself."""

    inner: Optional[Ring] = None


Name = NewType("Name", str)


def schema_of(hint: Any, **more: Any) -> Dict[str, Any]:
    """Return the schema that a parameter with this hint gets."""
    def function(value: Any) -> None:
        """Do nothing."""

    function.__annotations__["value"] = hint
    if "default" in more:
        function.__defaults__ = (more["default"],)
    properties: Dict[str, Any] = tool(function).spec()["function"]["parameters"]["properties"]
    return properties["value"]


@pytest.mark.parametrize("hint, schema", [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (list, {"type": "array", "items": {}}),
    (List[int], {"type": "array", "items": {"type": "integer"}}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (dict, {"type": "object"}),
    (Dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
    (Mapping[str, Any], {"type": "object"}),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1, None], {"enum": ["a", 1, None]}),
    (Unit, {"type": "string", "enum": ["m", "ft"]}),
    (Name, {"type": "string"}),
    (Size, {
        "type": "object",
        "properties": {
            "width": {"type": "number"},
            "unit": {"type": "string", "enum": ["m", "ft"], "default": "m"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["width"],
        "additionalProperties": False,
    }),
])
def test_schema_of_a_hint(hint: Any, schema: Dict[str, Any]) -> None:
    """Each kind of hint has its schema, the same on every Python."""
    assert schema_of(hint) == schema


@pytest.mark.parametrize("hint, default, schema", [
    (int, 3, {"type": "integer", "default": 3}),
    (Unit, Unit.FOOT, {"type": "string", "enum": ["m", "ft"], "default": "ft"}),
    (str, None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (Optional[str], None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (Any, object, {}),
])
def test_default_in_the_schema(hint: Any, default: Any, schema: Dict[str, Any]) -> None:
    """A default is in the schema if JSON can carry it, and None as a default allows null."""
    assert schema_of(hint, default=default) == schema


def bare_arrays(schema: Any) -> List[Any]:
    """Return the array schemas in a schema that do not say what their items are."""
    found: List[Any] = []
    inner = list(schema.values()) if isinstance(schema, dict) else schema
    if isinstance(schema, dict) and "array" in str(schema.get("type")) and "items" not in schema:
        found.append(schema)
    if isinstance(inner, list):
        for one in inner:
            found += bare_arrays(one)
    return found


@dataclass
class Holder:
    """A dataclass with arrays in it."""

    rows: List[list]
    more: Optional[List[Any]] = None


@pytest.mark.parametrize("hint", [
    list, List, List[Any], Sequence, Sequence[Any], Optional[list], Dict[str, list],
    List[List[Any]], Union[int, List[Any], None], Holder, List[Holder],
])
def test_array_in_a_schema_says_what_its_items_are(hint: Any) -> None:
    """Arrays get ``items``, because OpenAI, Copilot and Gemini refuse a request without."""
    def function(x: Any) -> None:
        """Take it."""

    function.__annotations__["x"] = hint
    made = tool(function).spec()["function"]["parameters"]
    assert "array" in str(made) and bare_arrays(made) == []


def test_array_in_a_schema_of_ones_own_says_what_its_items_are() -> None:
    """A given schema gets ``items`` everywhere, except in data such as a default or enum."""
    array: Dict[str, Any] = {"type": "array"}
    given = {
        "$defs": {"row": array},
        "properties": {
            "a": array, "b": {"type": ["array", "null"]}, "c": {"anyOf": [array, True]},
            "d": {"type": "array", "items": array}, "items": array, "e": {"oneOf": [array]},
            "f": {"additionalProperties": array}, "g": {"type": "array", "items": {"type": "null"}},
        },
    }
    made = Tool("f", "", given, print).spec()["function"]["parameters"]
    assert bare_arrays(made) == []
    assert made["properties"]["g"]["items"] == {"type": "null"}
    data = {"properties": {"a": {"default": {"type": "array"}, "enum": [{"type": "array"}]}}}
    assert Tool("f", "", data, print).spec()["function"]["parameters"]["properties"] == {
        "a": {"default": {"type": "array"}, "enum": [{"type": "array"}]}}


@pytest.mark.parametrize("hint", [
    Set[int], bytes, Callable[[int], int], Dict[int, str], Ring, "Unknown", Literal[b"x"],
])
def test_hint_without_a_schema_is_refused(hint: Any) -> None:
    """A hint outside the documented list fails when the tool is made, not at a call."""
    with pytest.raises(TypeError):
        schema_of(hint)


def test_decorator_reads_name_words_and_parameters() -> None:
    """``@tool`` takes name, docstring and hints, and leaves out injected parameters."""
    @tool
    def read_lines(
        path: str, count: int = 10, cancel: Any = None, call_id: str = ""
    ) -> str:
        """Read the first lines of a file.

        Blank lines count.

        Args:
            path: relative to the folder,
                or absolute: both work
            count (int): how many
        Returns:
            path: not a parameter
        """
        return f"{path}{count}{call_id}{cancel.is_set()}"

    assert read_lines.spec() == {"type": "function", "function": {
        "name": "read_lines",
        "description": "Read the first lines of a file.\n\nBlank lines count.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "relative to the folder, or absolute: both work",
                },
                "count": {"type": "integer", "default": 10, "description": "how many"},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    }}
    assert read_lines.injected == ["cancel", "call_id"]
    event = threading.Event()
    event.set()
    assert read_lines.invoke({"path": "a"}, call_id="c", cancel=event) == "a10cTrue"
    assert read_lines.invoke({"path": "a"}) == "a10False"


def test_decorator_reads_field_lists() -> None:
    """``:param name:`` describes a parameter too."""
    @tool(name="other", mutating=True)
    def function(a: int, b: int) -> int:
        """Add.

        :param a: the first,
            and more
        :param int b: the second
        :returns: the sum
        """
        return a + b

    shown = function.spec()["function"]
    assert shown["description"] == "Add."
    assert shown["parameters"]["properties"]["a"]["description"] == "the first, and more"
    assert shown["parameters"]["properties"]["b"]["description"] == "the second"
    assert (function.name, function.mutating) == ("other", True)


def test_tool_is_still_a_function() -> None:
    """A decorated function can be called as before."""
    assert isolated_tools.add(2, 3) == 5
    assert tool(isolated_tools.add)(2, b=3) == 5


def test_arguments_become_what_the_hints_say() -> None:
    """Enums, dataclasses and whole floats arrive as the hints' own types, nested too."""
    @tool
    def function(
        n: int, x: float, unit: Unit, sizes: List[Size], maybe: Optional[Size] = None,
        mode: Literal["a", "b"] = "a", table: Dict[str, Unit] = {},
    ) -> Any:
        return n, x, unit, sizes, maybe, mode, table

    arguments = {
        "n": 3.0, "x": 2, "unit": "ft", "sizes": [{"width": 1}], "maybe": {"width": 2.5},
        "table": {"k": "m"},
    }
    function.check(arguments)
    n, x, unit, sizes, maybe, mode, table = function.invoke(arguments)
    assert (type(n), type(x)) == (int, float)
    assert unit is Unit.FOOT and table == {"k": Unit.METRE}
    assert sizes == [Size(1.0)] and maybe == Size(2.5) and mode == "a"


def test_dataclass_that_refuses_its_values_is_an_argument_error() -> None:
    """An exception of a dataclass is a mistake of the model, not of the tool."""
    @tool
    def function(size: Size) -> None:
        """Do nothing."""

    with pytest.raises(InvalidArguments, match="a width below 0"):
        function.invoke({"size": {"width": -1}})


def test_all_faults_are_told_at_once() -> None:
    """The error lists every fault of the arguments with its place."""
    with pytest.raises(InvalidArguments) as caught:
        tool(isolated_tools.locate.run).check({"point": {"y": "a"}, "z": 1})
    assert str(caught.value) == (
        "invalid arguments: arguments.point.x is missing; arguments.point.y must be integer, "
        "not string; arguments.z is unknown (there are: point)"
    )


@pytest.mark.parametrize("arguments", [[1], "text", 5, None, True])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    """Only a JSON object can be a call's arguments."""
    with pytest.raises(InvalidArguments, match="must be a JSON object"):
        Tool("f", "", None, isolated_tools.plain).check(arguments)


def _raise(arguments: Any) -> None:
    raise LookupError("not this one")


@pytest.mark.parametrize("validate, words", [
    (lambda arguments: "not on Sundays", "not on Sundays"),
    (_raise, "not this one"),
    (lambda arguments: None, None),
    (lambda arguments: arguments, None),
])
def test_validate_has_the_last_word(validate: Any, words: Optional[str]) -> None:
    """``validate`` refuses arguments by raising or by returning a text."""
    made = Tool("f", "", {"properties": {"a": {}}}, isolated_tools.plain, validate=validate)
    if words is None:
        made.check({"a": 1})
    else:
        with pytest.raises(InvalidArguments, match=words):
            made.check({"a": 1})


def test_arguments_the_function_cannot_take_are_refused() -> None:
    """If the schema allows more than the function accepts, the call is refused."""
    made = Tool("f", "", {"properties": {"a": {}}}, isolated_tools.add)
    made.check({"a": 1, "zz": 2})
    with pytest.raises(InvalidArguments, match="zz"):
        made.bind({"a": 1, "zz": 2})


async def _async() -> None:
    """An async function."""


def _generator() -> Any:
    yield 1


@pytest.mark.parametrize("name, parameters, run, options", [
    ("", None, print, {}),
    ("a b", None, print, {}),
    ("é", None, print, {}),
    ("x" * 65, None, print, {}),
    ("name\n", None, print, {}),
    (5, None, print, {}),
    ("f", {"type": "array"}, print, {}),
    ("f", {"properties": {"a": {"type": "text"}}}, print, {}),
    ("f", {"properties": {"a": {"minimum": float("nan")}}}, print, {}),
    ("f", {"required": "a"}, print, {}),
    ("f", [], print, {}),
    ("f", None, 5, {}),
    ("f", None, _async, {}),
    ("f", None, _generator, {}),
    ("f", None, isolated_tools.add, {"timeout": 1}),
    ("f", None, isolated_tools.add, {"timeout": 0, "isolate": True}),
    ("f", None, isolated_tools.add, {"timeout": float("inf"), "isolate": True}),
    ("f", None, isolated_tools.add, {"timeout": "1", "isolate": True}),
    ("f", None, isolated_tools.add, {"validate": "x"}),
    ("f", None, lambda: None, {"isolate": True}),
    ("f", None, "".upper, {"isolate": True}),
    ("f", None, print, {"isolate": True}),
])
def test_odd_tool_is_refused_when_made(
    name: Any, parameters: Any, run: Any, options: Any
) -> None:
    """A tool that cannot work is refused at once, with a ValueError or a TypeError."""
    with pytest.raises((ValueError, TypeError)):
        Tool(name, "", parameters, run, **options)


def test_name_at_its_limit_passes() -> None:
    """A name of 64 characters is accepted."""
    assert Tool("x" * 64, "", None, print).name == "x" * 64


def test_isolated_function_must_be_found_under_its_name() -> None:
    """A local function, a function of the script, and one its module lacks are refused."""
    def local() -> None:
        """Do nothing."""

    lost = type(local)(local.__code__, {}, "lost")
    lost.__module__ = lost.__qualname__ = "isolated_tools"
    script = type(local)(local.__code__, {}, "script")
    script.__module__, script.__qualname__ = "__main__", "script"
    for function in (local, lost, script):
        with pytest.raises(ValueError, match="isolate needs"):
            Tool("f", "", None, function, isolate=True)
    with pytest.raises(ValueError, match="move it to a module"):
        tool(isolate=True)(script)
    assert Tool("f", "", None, isolated_tools.add, isolate=True).isolate


def test_function_with_open_parameters_is_refused() -> None:
    """``*args`` and ``**kwargs`` are refused, because they have no schema."""
    with pytest.raises(TypeError, match="named arguments"):
        tool(isolated_tools.plain)


def test_tool_is_frozen_and_not_pickled() -> None:
    """A tool cannot be changed after its checks, and cannot be pickled."""
    made = Tool("f", "", {"properties": {"a": {}}}, isolated_tools.plain)
    with pytest.raises(AttributeError):
        made.name = "g"  # type: ignore[misc]
    with pytest.raises(TypeError):
        made.parameters["properties"]["b"] = {}
    with pytest.raises(TypeError):
        pickle.dumps(made)


def test_registry_refuses_a_name_twice() -> None:
    """Two tools of one name are refused, because it would be unclear which one runs."""
    registry = ToolRegistry([isolated_tools.add, isolated_tools.locate])
    assert registry.names == ["add", "locate"] and len(registry) == 2 and "add" in registry
    with pytest.raises(ValueError, match="'add'"):
        registry.add(isolated_tools.add)
    with pytest.raises(TypeError):
        registry.add("add")
    found = registry.get("add")
    assert found is not None and found.invoke({"a": 1, "b": 2}) == 3
    assert registry.get("nothing") is None
    assert [spec["function"]["name"] for spec in registry.specs()] == ["add", "locate"]


def test_tool_error_is_recoverable_by_class() -> None:
    """Wrong arguments are a ToolError too."""
    assert issubclass(InvalidArguments, ToolError)


@dataclass
class Wanting:
    """A value that needs more than its fields."""

    x: int
    more: InitVar[int]


def _deep() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize("hint, default", [
    ("not valid(", None), ("Nope", None), ("typing.Nope", None), ([int], None),
    (Wanting, None), (List[int], _deep()),
])
def test_odd_hint_is_refused_with_the_parameter_named(hint: Any, default: Any) -> None:
    """For any odd hint, the error names the parameter."""
    def odd(fine: int, x: Any = default) -> None:
        """Do nothing."""

    odd.__annotations__["x"] = hint
    with pytest.raises(TypeError, match=r"\bx: "):
        tool(odd)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older Pythons cannot read such hints")
def test_init_variable_with_a_default_passes() -> None:
    """An ``InitVar`` with a default may be missing in the arguments."""
    @dataclass
    class Content:
        x: int
        more: InitVar[int] = 3

    def take(value: Any) -> Any:
        """Take it."""
        return value.x

    take.__annotations__["value"] = Content
    assert tool(take).invoke({"value": {"x": 2}}) == 2
