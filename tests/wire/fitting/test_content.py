# SPDX-License-Identifier: MIT
"""What of a message goes out: extras and reasoning to their maker, no blank text, parts."""

from __future__ import annotations

from typing import Any, Dict, Optional

import pytest

from streamcore.values.frozen import freeze
from streamcore.values.messages import (
    AssistantMessage,
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
)
from streamcore.wire.fitting import Receiver
from fitting_support import ME, answer, fitted, result, said, told, user

SIGNED = freeze({"signature": "S"})
FULL = (
    ReasoningBlock("r", extras=SIGNED), TextBlock("t", SIGNED),
    OpaqueBlock(freeze({"type": "theirs"})), ToolCall("c", "f", "{}", SIGNED),
)
OTHERS = [
    Receiver("anthropic-messages", "mine", "m"), Receiver("chat-completions", "theirs", "m"),
    Receiver("chat-completions", "mine", "m2"),
]


@pytest.mark.parametrize("maker", [ME, *OTHERS], ids=["own", "dialect", "provider", "model"])
def test_extras_go_to_their_maker_alone(maker: Receiver) -> None:
    """Only the same dialect, provider and model get extras, opaque parts and reasoning back."""
    counters: Dict[str, int] = {}
    message = answer(*FULL, maker=maker, extras=SIGNED)
    sent = fitted([user(), message, result("c")], counters)[1]
    if maker == ME:
        assert (sent.content, sent.extras, counters) == (FULL, SIGNED, {})
    else:
        assert sent.content == (TextBlock("t"), ToolCall("c", "f")) and sent.extras is None
        assert counters == {
            "extras_left_out": 4, "opaque_block_left_out": 1, "reasoning_left_out": 1,
        }


@pytest.mark.parametrize("provider, goes", [(None, True), ("mine", True), ("theirs", False)])
def test_extras_of_a_message_that_tells_less(provider: Optional[str], goes: bool) -> None:
    """A fact that a message does not tell of its maker counts as equal."""
    message = AssistantMessage(content=(TextBlock("t", SIGNED),), provider=provider)
    assert fitted([user(), message])[1].content[0] == TextBlock("t", SIGNED if goes else None)


def test_order_of_blocks_is_kept() -> None:
    """Blocks go back in the order they came in."""
    content = (
        TextBlock("a"), ReasoningBlock("r"), ToolCall("c", "f"), TextBlock("b"), ToolCall("d", "f"),
    )
    sent = fitted([user(), answer(*content), result("d"), result("c")])
    assert sent[1].content == content
    assert [m.tool_results[0].call_id for m in sent[2:]] == ["c", "d"]


@pytest.mark.parametrize("when, calls, goes", [
    ("always", False, True), ("always", True, True), ("never", True, False),
    ("tool-calls", True, True), ("tool-calls", False, False),
])
@pytest.mark.parametrize("filler", [None, "", " "])
def test_reasoning_goes_back_when_the_receiver_wants_it(
    when: str, calls: bool, goes: bool, filler: Optional[str]
) -> None:
    """The maker gets its own reasoning; without any, or with another's, the filler is sent."""
    rest: Any = (TextBlock("t"), *([ToolCall("c", "f")] if calls else []))
    after = [result("c")] if calls else []
    options = {"reasoning_passback": when, "reasoning_filler": filler}
    cases: Any = (
        (answer(ReasoningBlock("r"), *rest), "r"),
        (answer(*rest), filler),
        (answer(ReasoningBlock("r"), *rest, maker=OTHERS[1]), filler),
        (answer(ReasoningBlock(""), *rest), "" if filler is None else filler),
    )
    for message, expected in cases:
        sent = fitted([user(), message, *after], **options)[1]
        thoughts = [b.text for b in sent.content if isinstance(b, ReasoningBlock)]
        assert thoughts == ([expected] if goes and expected is not None else [])


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t", "\u00a0"])
def test_blank_text_beside_a_call_is_no_text(blank: str) -> None:
    """It is left out for every receiver; a text that carries extras stays for its maker."""
    call = ToolCall("c", "f")
    sent = fitted([user(), answer(TextBlock(blank), call), result("c")])[1]
    assert sent.content == (call,)
    signed = TextBlock(blank, SIGNED)
    assert fitted([user(), answer(signed, call), result("c")])[1].content == (signed, call)


@pytest.mark.parametrize("alternate", [True, False])
@pytest.mark.parametrize("maker", [ME, OTHERS[1]], ids=["own", "another"])
def test_answer_of_reasoning_alone(maker: Receiver, alternate: bool) -> None:
    """It goes back with a placeholder as its text, never as empty content."""
    for content in ([ReasoningBlock("r")], [ReasoningBlock("r"), TextBlock("\n")]):
        history = [user("a"), answer(*content, maker=maker), user("b")]
        sent = fitted(history, alternate=alternate, reasoning_passback="never")
        assert told(sent) == [("user", "a"), ("assistant", "(no answer)"), ("user", "b")]


@pytest.mark.parametrize("content", [(), (TextBlock(" \n"),)], ids=["nothing", "blank"])
def test_answer_with_nothing_is_left_out(content: Any) -> None:
    """An empty answer is left out."""
    assert told(fitted([user("a"), answer(*content), user("b")])) == [("user", "a"), ("user", "b")]


def test_image_of_another_provider_is_left_out() -> None:
    """An answer that only its maker can read is not sent to others."""
    picture = answer(OpaqueBlock(freeze({"type": "image", "data": "x"})), maker=OTHERS[1])
    assert told(fitted([user("a"), picture, user("b")])) == [("user", "a"), ("user", "b")]


@pytest.mark.parametrize("role", ["user", "system", "developer"])
@pytest.mark.parametrize("blank", ["", " \n"])
def test_blank_words_of_others(role: str, blank: str) -> None:
    """They are sent if blank text is allowed; if not, a user's become a placeholder."""
    history = [said(role, blank), user("b")]
    sent_role = "system" if role == "developer" else role
    assert told(fitted(history)) == [(sent_role, blank), ("user", "b")]
    word = [("user", "(no message)")] if role == "user" else []
    assert told(fitted(history, blank_text=False)) == [*word, ("user", "b")]


def test_blank_part_beside_an_image() -> None:
    """If blank text is not allowed, only the image is sent."""
    image = ImageBlock("https://h/i.png")
    history = [Message("user", (TextBlock(""), image, TextBlock(" ")))]
    assert fitted(history, blank_text=False)[0].content == (image,)
    assert fitted(history)[0].content == history[0].content


def test_blank_system_prompt() -> None:
    """It is sent only if blank text is allowed."""
    assert told(fitted([user()], system=" ")) == [("system", " "), ("user", "hi")]
    assert told(fitted([user()], system=" ", blank_text=False)) == [("user", "hi")]


PARTS = (TextBlock("a"), TextBlock("b", freeze({"cache_control": 1})))


@pytest.mark.parametrize("role, text", [
    ("user", "a\n\nb"), ("system", "a\n\nb"), ("assistant", "ab"),
])
def test_text_parts_are_joined(role: str, text: str) -> None:
    """A receiver that takes no parts gets one text, whoever said it."""
    counters: Dict[str, int] = {}
    message = answer(*PARTS) if role == "assistant" else Message(role, PARTS)
    sent = fitted([user(), message], counters, text_parts=False)[1]
    assert sent.content == (TextBlock(text),) and counters == {"text_parts_joined": 1}
    assert fitted([user(), message])[1].content == PARTS


@pytest.mark.parametrize("parts", [
    [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    [TextBlock("a"), TextBlock("b")],
], ids=["dicts", "blocks"])
def test_text_parts_of_a_result_are_joined(parts: Any) -> None:
    """A tool's output in parts is one text there too; a part of another kind stays one."""
    history = [user(), answer(ToolCall("c", "f")), result("c", parts)]
    assert fitted(history, text_parts=False)[2].tool_results == (ToolResult("c", "a\n\nb"),)
    assert fitted(history)[2].tool_results == (ToolResult("c", freeze(parts)),)
    odd = [*parts, {"type": "file", "file": {}}]
    kept = fitted([*history[:2], result("c", odd)], text_parts=False)[2].tool_results[0].content
    assert list(kept) == odd


@pytest.mark.parametrize("content", ["", " \n", [], [{"type": "text", "text": ""}]], ids=repr)
def test_result_without_output(content: Any) -> None:
    """Empty output is sent as (no output); white space is kept if blank text is allowed."""
    history = [user(), answer(ToolCall("c", "f")), result("c", content)]
    sent = fitted(history)[2].tool_results[0].content
    assert sent == (content if content == " \n" else "(no output)")
    assert fitted(history, blank_text=False)[2].tool_results[0].content == "(no output)"


def test_error_of_a_result_is_kept() -> None:
    """The error mark of a result is kept, and the dialect decides how to write it."""
    history = [user(), answer(ToolCall("c", "f")), Message("user", (ToolResult("c", "x", True),))]
    assert fitted(history)[2] == Message("tool", (ToolResult("c", "x", True),))


def test_history_itself_stays_as_it_is() -> None:
    """Only the copy that goes out is changed."""
    history = [user(), answer(*FULL, maker=OTHERS[1]), result("c", [{"type": "text", "text": "x"}])]
    before = [message.to_record() for message in history]
    fitted(history, call_ids="[A-Za-z0-9]{9}", text_parts=False)
    assert [message.to_record() for message in history] == before


def test_own_arguments_are_said_in_full() -> None:
    """A call without arguments is sent with {}."""
    blocks: Any = [ToolCall(str(n), "f", text) for n, text in enumerate(["", " ", "null", "[1]"])]
    sent = fitted([user(), answer(*blocks), *(result(str(n)) for n in range(4))])[1]
    assert [call.arguments for call in sent.tool_calls] == ["{}", "{}", "{}", "[1]"]
    assert all(isinstance(block, Block) for block in sent.content)
