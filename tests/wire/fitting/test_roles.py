# SPDX-License-Identifier: MIT
"""Roles and turns as a receiver takes them."""

from __future__ import annotations

from typing import Dict, List, Tuple

import pytest

from streamcore.values.frozen import freeze
from streamcore.values.messages import (
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
)
from fitting_support import answer, fitted, result, said, told, user

Pairs = List[Tuple[str, str]]


@pytest.mark.parametrize("before, after", [
    ([("user", "a"), ("user", "b")], [("user", "a\n\nb")]),
    ([("user", "a"), ("assistant", "x"), ("assistant", "y"), ("user", "b")],
     [("user", "a"), ("assistant", "x\n\ny"), ("user", "b")]),
    ([("assistant", "x"), ("user", "b")],
     [("user", "(no message)"), ("assistant", "x"), ("user", "b")]),
    ([("system", "s"), ("assistant", "x")],
     [("system", "s"), ("user", "(no message)"), ("assistant", "x")]),
    ([("system", "s"), ("user", "a"), ("system", "t"), ("user", "b")],
     [("system", "s\n\nt"), ("user", "a\n\nb")]),
    ([("user", "a"), ("assistant", "x"), ("developer", "t"), ("user", "b")],
     [("system", "t"), ("user", "a"), ("assistant", "x"), ("user", "b")]),
    ([("user", "a"), ("assistant", "x"), ("user", "b")],
     [("user", "a"), ("assistant", "x"), ("user", "b")]),
])
def test_turns_alternate(before: Pairs, after: Pairs) -> None:
    """User and assistant take turns, the user first, after one system message."""
    history = [said(role, text) for role, text in before]
    assert told(fitted(history, alternate=True)) == after
    plain = [("system" if role == "developer" else role, text) for role, text in before]
    assert told(fitted(history)) == plain


def test_user_after_tool_results() -> None:
    """A turn broken off after its tools ran gets a placeholder as its answer."""
    counters: Dict[str, int] = {}
    history = [user("a"), answer(ToolCall("c", "f")), result("c"), user("b")]
    sent = fitted(history, counters, alternate=True)
    assert [m.role for m in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[3].text == "(no answer)" and counters == {"placeholder_added": 1}


def test_text_beside_results_comes_after_a_word() -> None:
    """A user's words in the message of the results are a user message after tool results."""
    words = Message("user", (ToolResult("c", "1"), TextBlock("and")))
    sent = fitted([user(), answer(ToolCall("c", "f")), words], alternate=True)
    assert [m.role for m in sent[2:]] == ["tool", "assistant", "user"]


def test_answers_are_joined_with_their_calls() -> None:
    """Text, then an answer with reasoning and calls: one answer, its results after it."""
    history = [
        user(), answer(TextBlock("a")),
        answer(ReasoningBlock("r"), TextBlock("b"), ToolCall("c", "f")), result("c"),
    ]
    sent = fitted(history, alternate=True)
    assert [m.role for m in sent] == ["user", "assistant", "tool"]
    assert sent[1].content == (ReasoningBlock("r"), TextBlock("a\n\nb"), ToolCall("c", "f"))


def test_parts_keep_their_place_when_joined() -> None:
    """An image between two texts stays between them."""
    image = ImageBlock("https://h/i.png")
    sent = fitted([user("a"), Message("user", (image,)), user("b")], alternate=True)
    assert sent == [Message("user", (TextBlock("a"), image, TextBlock("b")))]


def test_joined_messages_keep_name_and_extras() -> None:
    """The last name counts, and fields of both are there."""
    first = Message("user", (TextBlock("a"),), "ann", freeze({"x": 1}))
    second = Message("user", (TextBlock("b"),), None, freeze({"y": 2}))
    sent = fitted([first, second], alternate=True)[0]
    assert (sent.name, sent.extras, sent.text) == ("ann", {"x": 1, "y": 2}, "a\n\nb")


@pytest.mark.parametrize("options", [{"one_system_message": True}, {"alternate": True}])
def test_system_prompt_and_system_messages_are_one(options: Dict[str, bool]) -> None:
    """The prompt of the call comes first, and the rest after it, wherever it stood."""
    counters: Dict[str, int] = {}
    history = [said("system", "b"), user(), answer(TextBlock("x")), said("system", "c"), user("y")]
    sent = fitted(history, counters, "a", **options)
    assert told(sent) == [
        ("system", "a\n\nb\n\nc"), ("user", "hi"), ("assistant", "x"), ("user", "y"),
    ]
    assert counters == {"messages_joined": 2, "system_message_moved": 1}


@pytest.mark.parametrize("knows", [True, False])
def test_developer_is_the_system_elsewhere(knows: bool) -> None:
    """Only OpenAI knows the role, so other providers get it as system."""
    counters: Dict[str, int] = {}
    sent = fitted([said("developer", "d"), user()], counters, developer_role=knows)
    assert sent[0].role == ("developer" if knows else "system")
    assert counters == ({} if knows else {"role_changed": 1})
