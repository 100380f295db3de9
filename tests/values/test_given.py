# SPDX-License-Identifier: MIT
"""Messages and tools of a caller are read once, or refused with their place."""

from __future__ import annotations

import random
from collections import OrderedDict
from types import MappingProxyType, SimpleNamespace
from typing import Any, Iterator

import pytest

from streamcore.values.errors import LlmError
from streamcore.values.given import freeze_given, invalid, read_messages, read_tools, show
from streamcore.values.messages import Message, TextBlock, ToolCall

HI = Message("user", (TextBlock("hi"),))
WIRE = {"type": "function", "function": {"name": "look"}}


def said() -> Iterator[Any]:
    """Yield two messages, one at a time."""
    yield {"role": "user", "content": "hi"}
    yield Message("assistant", (TextBlock("yes"),))


@pytest.mark.parametrize(
    "given, count",
    [
        ("hi", 1), (HI, 1), ({"role": "user", "content": "hi"}, 1), ([HI], 1), ((HI, HI), 2),
        (said(), 2), (MappingProxyType({"role": "user", "content": "hi"}), 1), ([], 0),
        (OrderedDict(role="user", content="hi"), 1),
    ],
)
def test_messages_every_shape(given: Any, count: int) -> None:
    """A conversation is a string, a message, a dict, or an iterable of messages and dicts."""
    messages = read_messages(given)
    assert len(messages) == count
    assert all(message == HI for message in messages[:1])


@pytest.mark.parametrize(
    "given, told",
    [
        (None, "not NoneType"), (5, "not int"), (b"hi", "not bytes"), (bytearray(), "bytearray"),
        ([HI, 5], r"messages\[1\]"), (["hi"], r"messages\[0\]"), ([None], r"messages\[0\]"),
        ([{}], r"messages\[0\]"), ([{"role": "user", "content": 5}], "int"),
        ([{"role": "assistant", "tool_calls": {"a": 1}}], "tool_calls"),
        ([{"role": "tool", "content": "x"}], "tool_call_id"),
    ],
)
def test_messages_unreadable_are_refused_by_place(given: Any, told: str) -> None:
    """An invalid request says which message cannot be read, and why."""
    with pytest.raises(LlmError, match=told) as caught:
        read_messages(given)
    assert caught.value.code == "INVALID_REQUEST"
    assert caught.value.failure.phase == "prepare"


def test_messages_circular_are_refused() -> None:
    """A message that contains itself is refused."""
    circle: Any = {"role": "user", "content": "x"}
    circle["extra"] = circle
    with pytest.raises(LlmError, match="circular"):
        read_messages([circle])


def test_messages_of_a_generator_that_fails_raise_what_it_raised() -> None:
    """An exception of the caller's iterable comes out unchanged."""

    def failing() -> Iterator[Any]:
        yield HI
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        read_messages(failing())


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "look"}, {"type": "function", "name": "look"}, WIRE,
        {"function": {"name": "look", "description": None}, "strict": None},
        SimpleNamespace(name="look", description=None, parameters=None),
        SimpleNamespace(name="look"),
    ],
)
def test_tools_every_shape_is_one(tool: Any) -> None:
    """A bare dict, a wrapped dict and an object give the same tool, without nulls."""
    assert read_tools([tool]) == (WIRE,)
    assert read_tools(read_tools([tool])) == (WIRE,)


def test_tools_of_a_provider_pass_as_they_are() -> None:
    """A tool that the provider runs is kept as it is, nulls included."""
    tool = {"type": "web_search", "filters": None}
    assert read_tools([tool]) == (tool,)
    assert read_tools(None) == () == read_tools([])


@pytest.mark.parametrize(
    "tools, told",
    [
        ({"name": "look"}, "a list"), (5, "a list"), ([{"name": ""}], r"tools\[0\]"),
        ([WIRE, {"name": "  "}], r"tools\[1\]"), ([{"name": 5}], "name"), ("look", r"tools\[0\]"),
        ([{"name": "f", "parameters": [1]}], "parameters are a dict"), ([None], r"tools\[0\]"),
        ([{"function": "look"}], "function is a dict"), ([WIRE, {"name": "look"}], "two tools"),
    ],
)
def test_tools_unusable_are_refused_by_place(tools: Any, told: str) -> None:
    """An invalid request says which tool cannot be sent, and why."""
    with pytest.raises(LlmError, match=told) as caught:
        read_tools(tools)
    assert caught.value.code == "INVALID_REQUEST"


def test_freeze_given_refuses_endless_nesting() -> None:
    """Nesting that Python refuses is an invalid request, never a RecursionError."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(LlmError, match="here: nested too deeply"):
        freeze_given(deep, "here")
    while deep:  # taken apart by hand: older Pythons free what is nested so deeply in C
        deep = deep.pop()


def test_show_is_ascii_and_short() -> None:
    """An odd id in a message is cut, and safe on a terminal."""
    assert show("call_\u2028é") == "'call_\\u2028\\xe9'"
    assert len(show("x" * 500)) < 100
    assert str(invalid(show("\udc80"))).isascii()


@pytest.mark.parametrize("seed", range(4))
def test_random_values_are_read_or_refused(seed: int) -> None:
    """Any JSON-like value is read, or refused as an invalid request."""
    chance = random.Random(seed)
    words = ["role", "user", "assistant", "tool", "content", "tool_calls", "function", "name",
             "arguments", "id", "tool_call_id", "type", "text", "image_url", "parameters", ""]

    def value(depth: int) -> Any:
        kind = chance.randrange(9 if depth < 4 else 6)
        if kind < 6:
            return [None, True, 3, 1.5, chance.choice(words), ToolCall("a", "b")][kind]
        if kind == 6:
            return [value(depth + 1) for _ in range(chance.randrange(3))]
        return {chance.choice(words): value(depth + 1) for _ in range(chance.randrange(6))}

    for read in (read_messages, read_tools):
        for _ in range(3000):
            given = value(0)
            try:
                read(given)
            except LlmError as error:
                assert error.code == "INVALID_REQUEST", given
