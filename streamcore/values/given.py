# SPDX-License-Identifier: MIT
"""Messages and tools that a caller gives, read once and frozen.

In: strings, OpenAI-style dicts, our own values, objects with the right fields.
Out: ``Message`` values, and frozen OpenAI-style tool dicts without nulls. Refused
with ``INVALID_REQUEST``, before any I/O: a value that has no readable shape.
Errors quote the caller's texts in ASCII, and cut them.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, Tuple

from .errors import LlmError
from .frozen import FrozenDict, freeze
from .messages import Message, TextBlock
from .showing import show


def read_messages(given: Any) -> Tuple[Message, ...]:
    """Return a conversation as messages; ``given`` is a string, a message, a dict, or several.

    Raises:
        LlmError: ``INVALID_REQUEST`` for a value that has no readable shape.
    """
    if isinstance(given, str):
        return (Message("user", (TextBlock(given),)),)
    if isinstance(given, (Message, Mapping)):
        given = (given,)
    if not isinstance(given, Iterable) or isinstance(given, (bytes, bytearray)):
        raise invalid(f"messages are a string or a list, not {type(given).__name__}")
    return tuple(_read_message(one, f"messages[{i}]") for i, one in enumerate(given))


def _read_message(given: Any, where: str) -> Message:
    if isinstance(given, Message):
        return given
    try:
        return Message.from_dict(given)
    except (TypeError, ValueError) as exc:
        raise invalid(f"{where}: {exc}") from None
    except RecursionError:
        raise invalid(f"{where}: nested too deeply, or circular") from None


def read_tools(given: Any) -> Tuple[FrozenDict, ...]:
    """Return the tools as frozen OpenAI-style dicts.

    Raises:
        LlmError: ``INVALID_REQUEST`` for a tool without a name, or two tools with one name.
    """
    if given is None or given == ():  # fast path: most calls have no tools
        return ()
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise invalid(f"tools are a list, not {type(given).__name__}")
    tools = tuple(_read_tool(tool, f"tools[{i}]") for i, tool in enumerate(given))
    seen = set()
    for name in (tool["function"]["name"] for tool in tools if tool.get("function")):
        if name in seen:
            raise invalid(f"two tools have the name {show(name)}")
        seen.add(name)
    return tools


def _read_tool(tool: Any, where: str) -> FrozenDict:
    shown: Dict[str, Any] = {"type": "function"}
    if not isinstance(tool, Mapping):
        fields = ("name", "description", "parameters")
        shown["function"] = {name: getattr(tool, name, None) for name in fields}
    elif tool.get("function") is not None:
        shown.update((key, value) for key, value in tool.items() if value is not None)
    elif tool.get("type") in (None, "function"):
        shown["function"] = {key: value for key, value in tool.items() if key != "type"}
    else:  # a tool that the provider runs; only the provider knows its shape
        shown = dict(tool)
    if shown.get("function") is not None:
        shown["function"] = _read_function(shown["function"], where)
    frozen: FrozenDict = freeze_given(shown, where)
    return frozen


def _read_function(function: Any, where: str) -> Dict[str, Any]:
    if not isinstance(function, Mapping):
        raise invalid(f"{where}: function is a dict, not {type(function).__name__}")
    given = {key: value for key, value in function.items() if value is not None}
    name, parameters = given.get("name"), given.get("parameters")
    if not isinstance(name, str) or not name.strip():
        raise invalid(f"{where}: the name of a tool is a non-empty string")
    if not isinstance(parameters, (Mapping, type(None))):
        raise invalid(f"{where}: parameters are a dict, not {type(parameters).__name__}")
    if parameters is not None:
        given["parameters"] = dict(parameters)
    return given


def invalid(text: str) -> LlmError:
    """Return the error for a request that cannot be sent."""
    return LlmError(text, "INVALID_REQUEST", phase="prepare")


def freeze_given(value: Any, where: str) -> Any:
    """Freeze a caller's value; refuse one that contains itself or nests too deeply."""
    if value is None:  # fast path: most values are None, and the check below costs 1 µs
        return None
    try:
        return freeze(dict(value) if isinstance(value, Mapping) else value)
    except RecursionError:
        raise invalid(f"{where}: nested too deeply, or circular") from None
