# SPDX-License-Identifier: MIT
"""Messages: frozen values, and OpenAI-style dicts that come back unchanged."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import pickle
import random
from pathlib import Path
from typing import Any, Dict, List

import pytest

from streamcore.values.frozen import FrozenDict, FrozenList, freeze
from streamcore.values.messages import (
    REASONING_FIELDS,
    AssistantMessage,
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
    block_from_dict,
    parse_arguments,
)
from streamcore.values.usage import TokenUsage

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "https://h/i.png"}}

DICTS: List[Dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"role": "user", "content": ""},
    {"role": "user", "content": None},
    {"role": "user"},
    {"role": "user", "content": []},
    {"role": "user", "content": "hi", "name": "ann"},
    {"role": "user", "content": "hi", "name": ""},
    {"role": "user", "content": "hi", "name": None},
    {"role": "user", "content": "hi", "name": 5},
    {"role": "system", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": ""}]},
    {"role": "developer", "content": "d"},
    {"role": "function", "name": "f", "content": "legacy result"},
    {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"t": [1]}}]},
    {"role": "user", "content": [{"type": "text", "text": None}]},
    {"role": "user", "content": [{"type": "text"}]},
    {"role": "user", "content": [{"text": "no type"}]},
    {"role": "user", "content": [{}]},
    {"role": "user", "content": [IMAGE, {"type": "text", "text": "what"}]},
    {"role": "user", "content": [{**IMAGE, "cache_control": {}}]},
    {"role": "user", "content": [{**IMAGE, "image_url": {"url": "u", "detail": "low"}}]},
    {"role": "user", "content": [{**IMAGE, "image_url": {"url": "u", "detail": None}}]},
    {"role": "user", "content": [{**IMAGE, "image_url": {"url": "u", "x": 1}}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": "u"}]},
    {"role": "user", "content": [{"type": "image_url"}]},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA"}}]},
    {"role": "user", "content": [{"type": ["odd"], "deep": [{"a": [{"b": None}]}]}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "ok"}]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_call_id": "c", "content": [IMAGE], "is_error": True},
            {"type": "tool_result", "tool_call_id": "d", "content": "", "is_error": False},
            {"type": "tool_result", "tool_call_id": "e", "content": [], "is_error": "yes"},
            {"type": "tool_result", "tool_call_id": "f", "content": "x", "cache_control": {}},
            {"type": "tool_result", "tool_use_id": "another house's name"},
            {"type": "text", "text": "go on"},
        ],
    },
    {"role": "assistant", "content": "hi"},
    {"role": "assistant", "content": None, "refusal": "I can't"},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    {
        "role": "assistant", "content": "hi", "refusal": None, "annotations": [], "audio": None,
        "function_call": None, "tool_calls": None,
    },
    {"role": "assistant", "content": "", "tool_calls": []},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "assistant", "tool_calls": [CALL, {**CALL, "id": "c2"}]},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "assistant", "tool_calls": [{**CALL, "index": 0}]},
    {"role": "assistant", "tool_calls": [{**CALL, "extra_content": {"google": {"s": "AAA"}}}]},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "c", "type": "odd", "function": {"name": "f", "arguments": "", "parsed": None}},
            {"id": "", "type": None, "function": {"name": "", "arguments": "not json"}},
        ],
    },
    {"role": "assistant", "content": "a", "reasoning_content": "r"},
    {"role": "assistant", "content": "a", "reasoning": "r"},
    {"role": "assistant", "content": "a", "reasoning_text": "r"},
    {"role": "assistant", "content": "a", "reasoning_content": "r", "reasoning": "s"},
    {"role": "assistant", "content": "a", "reasoning_content": "", "reasoning": None},
    {"role": "assistant", "content": "a", "reasoning_content": None},
    {"role": "assistant", "content": "a", "reasoning": {"odd": 1}},
    {"role": "assistant", "reasoning_details": [{"type": "reasoning.encrypted", "data": "AA"}]},
    {"role": "assistant"},
    {"role": "tool", "tool_call_id": "c1", "content": "out"},
    {"role": "tool", "tool_call_id": "c1", "content": ""},
    {"role": "tool", "tool_call_id": "c1", "content": None},
    {"role": "tool", "tool_call_id": "c1"},
    {"role": "tool", "tool_call_id": "c1", "content": []},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "x"}, IMAGE]},
    {"role": "tool", "tool_call_id": "c1", "content": "x", "name": "f", "is_error": True},
    {"role": "tool", "tool_call_id": "", "content": "x", "reasoning": "odd", "tool_calls": [1]},
    {"role": "critic", "content": "unknown roles pass", "mood": {"deep": [1, {"a": "b"}]}},
    {"role": "user", "content": "lone \ud83d half"},
]


@pytest.mark.parametrize("data", DICTS, ids=lambda data: ascii(json.dumps(data))[:60])
def test_message_dict_round_trip(data: Dict[str, Any]) -> None:
    """A dict read and written again is the same dict, and the given one is untouched."""
    before = copy.deepcopy(data)
    message = Message.from_dict(data)
    assert message.to_dict() == before
    assert data == before
    assert Message.from_dict(message.to_dict()) == message


@pytest.mark.parametrize("data", DICTS, ids=lambda data: ascii(json.dumps(data))[:60])
def test_message_is_a_value(data: Dict[str, Any]) -> None:
    """A message can be hashed, copied and pickled, and then writes the same dict."""
    message = Message.from_dict(data)
    for twin in (copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert twin == message and hash(twin) == hash(message)
        assert twin.to_dict() == data


@pytest.mark.parametrize("data", DICTS, ids=lambda data: ascii(json.dumps(data))[:60])
def test_block_dict_round_trip(data: Dict[str, Any]) -> None:
    """Every block's log dict is JSON, and reads back as the block."""
    for block in Message.from_dict(data).content:
        assert block_from_dict(json.loads(json.dumps(block.to_dict()))) == block


def random_message(rng: random.Random) -> Dict[str, Any]:
    """Make a message dict of odd but legal pieces."""

    def odd(depth: int = 0) -> Any:
        kinds = [None, True, 0, -1.5, "", "text", "é\u2028", [], {}]
        if depth < 3:
            kinds += [[odd(depth + 1)], {"k": odd(depth + 1), "type": odd(depth + 1)}]
        return rng.choice(kinds)

    def part() -> Dict[str, Any]:
        kind = rng.choice(["text", "image_url", "thinking", "tool_result", None])
        made: Dict[str, Any] = {} if kind is None else {"type": kind}
        if rng.random() < 0.8:
            made["text"] = odd()
        if rng.random() < 0.5:
            made["image_url"] = rng.choice(["u", {"url": "u", "detail": odd()}, {"url": odd()}])
        if rng.random() < 0.5:
            made["cache_control"] = odd()
        if kind == "tool_result":
            made.update(tool_call_id="c", content=rng.choice(["", "x", [], [{"type": "text"}]]))
            if rng.random() < 0.5:
                made["is_error"] = odd()
        return made

    def call() -> Dict[str, Any]:
        function = {"name": rng.choice(["", "f"]), "arguments": rng.choice(["", "{}", "x"])}
        made: Dict[str, Any] = {"id": rng.choice(["", "c"]), "type": odd(), "function": function}
        if made["type"] in (None, "") and rng.random() < 0.5:
            made["type"] = "function"
        if rng.random() < 0.5:
            made["extra_content"] = odd()
            function["strict"] = odd()
        return made

    data: Dict[str, Any] = {"role": rng.choice(["user", "assistant", "tool", "system", "x"])}
    if data["role"] == "tool":
        data["tool_call_id"] = rng.choice(["", "c"])
    if rng.random() < 0.9:
        parts = [part() for _ in range(rng.randrange(4))]
        data["content"] = rng.choice([None, "", "text", parts, parts])
    if rng.random() < 0.4 and data["role"] != "tool":
        data["tool_calls"] = rng.choice([None, [], [call() for _ in range(rng.randrange(3))]])
    for name in (*REASONING_FIELDS, "name", "refusal", "function_call", "is_error", "x"):
        if rng.random() < 0.2:
            data[name] = odd()
    return data


@pytest.mark.parametrize("seed", range(8))
def test_message_dict_round_trip_random(seed: int) -> None:
    """Seeded random dicts come back unchanged."""
    rng = random.Random(seed)
    for _ in range(150):
        data = random_message(rng)
        assert Message.from_dict(data).to_dict() == data, f"seed {seed}"


@pytest.mark.parametrize(
    "data",
    [
        None, "hi", 5, ["role", "user"], b"x", {}, {"role": None}, {"role": ""}, {"role": 5},
        {"role": "user", "content": 5}, {"role": "user", "content": {"type": "text"}},
        {"role": "user", "content": ["text"]}, {"role": "user", "content": [None]},
        {"role": "user", "content": b"x"},
        {"role": "tool", "content": "x"}, {"role": "tool", "tool_call_id": None, "content": "x"},
        {"role": "tool", "tool_call_id": 5}, {"role": "tool", "tool_call_id": "c", "content": 5},
        {"role": "assistant", "tool_calls": "f"}, {"role": "assistant", "tool_calls": {"id": "c"}},
        {"role": "assistant", "tool_calls": [None]}, {"role": "assistant", "tool_calls": ["f"]},
        {"role": "assistant", "tool_calls": [{"id": "c"}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": "f"}]},
        {"role": "assistant", "tool_calls": [{"id": None, "function": {"name": "f"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": "{}"}}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {}}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_call_id": "c", "content": None}],
        },
    ],
    ids=ascii,
)
def test_message_from_dict_wrong_shape(data: Any) -> None:
    """A shape that no provider would read is a TypeError or ValueError."""
    with pytest.raises((TypeError, ValueError)):
        Message.from_dict(data)


def test_tool_call_from_dict_without_type_and_arguments() -> None:
    """The type and arguments of a call are written even if the dict left them out."""
    bare = {"id": "c", "function": {"name": "f"}}
    message = Message.from_dict({"role": "assistant", "tool_calls": [bare]})
    assert message.to_dict()["tool_calls"] == [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
    ]


def test_message_from_dict_takes_blocks_and_mappings() -> None:
    """Blocks in place of dicts are taken as they are, and any mapping counts as a dict."""
    data = FrozenDict(role="assistant", content=[TextBlock("a")], tool_calls=(ToolCall("c", "f"),))
    message = Message.from_dict(data)
    assert message.content == (TextBlock("a"), ToolCall("c", "f"))


def test_message_frozen_when_made() -> None:
    """Neither the message nor anything in it changes with the dict it was read from."""
    data: Dict[str, Any] = {
        "role": "user", "content": [{"type": "odd", "x": [1]}], "meta": {"a": [1]},
    }
    message = Message.from_dict(data)
    data["content"][0]["x"].append(2)
    data["meta"]["a"].append(2)
    assert message.to_dict()["content"] == [{"type": "odd", "x": [1]}]
    assert message.to_dict()["meta"] == {"a": [1]}
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.role = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        message.extras["meta"]["a"].append(3)  # type: ignore[index]
    with pytest.raises(TypeError):
        message.extras["meta"] = 1  # type: ignore[index]


def test_message_to_dict_is_a_copy() -> None:
    """The returned dict is plain, and the caller may change it."""
    data = {"role": "user", "content": [{"type": "odd", "x": [1]}], "meta": {"a": [1]}}
    message = Message.from_dict(data)
    shown = message.to_dict()
    shown["content"][0]["x"].append(2)
    shown["meta"]["a"].append(2)
    shown["role"] = "x"
    assert message.to_dict() == data


@pytest.mark.parametrize(
    "block",
    [
        TextBlock("a", {"x": [1]}),  # type: ignore[arg-type]
        ReasoningBlock("r", "reasoning", {"signature": "s"}),  # type: ignore[arg-type]
        ToolCall("c", "f", "{}", {"extra_content": {"a": [1]}}),  # type: ignore[arg-type]
        ToolResult("c", [{"type": "text", "text": "x"}], True),  # type: ignore[arg-type]
        ImageBlock("data:image/png;base64,AA", "low"),
        OpaqueBlock({"type": "odd", "x": [1]}),  # type: ignore[arg-type]
        OpaqueBlock({"x": [1]}, "odd", {"y": 1}),  # type: ignore[arg-type]
    ],
    ids=lambda block: block.type,
)
def test_block_is_a_frozen_value(block: Block) -> None:
    """A block freezes what it was given, hashes, pickles, and refuses a new field value."""
    assert pickle.loads(pickle.dumps(block)) == block == copy.deepcopy(block)
    assert hash(pickle.loads(pickle.dumps(block))) == hash(block)
    assert block_from_dict(json.loads(json.dumps(block.to_dict()))) == block
    for field in dataclasses.fields(block):  # type: ignore[arg-type]
        value = getattr(block, field.name)
        assert isinstance(value, (str, bool, type(None), FrozenDict, FrozenList))
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(block, field.name, value)


@pytest.mark.parametrize(
    "data",
    [
        {}, {"type": "x"}, {"type": "text"}, {"type": "text", "text": "a", "more": 1},
        {"type": "opaque", "part": "x"},
    ],
)
def test_block_from_dict_wrong(data: Dict[str, Any]) -> None:
    """An unknown type is a ValueError, a missing or unknown field a TypeError."""
    with pytest.raises((ValueError, TypeError)):
        block_from_dict(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Message(""), lambda: Message(None), lambda: Message("user", None),
        lambda: Message("user", ("text",)), lambda: Message("user", ({"type": "text"},)),
    ],
)
def test_message_made_of_wrong_things(make: Any) -> None:
    """A message without a role, or with content that is not blocks, is a TypeError."""
    with pytest.raises(TypeError):
        make()


def test_message_views() -> None:
    """A message gives its text, reasoning, calls and results separately, each in order."""
    one, two = ToolCall("a", "f"), ToolCall("b", "g")
    result = ToolResult("x", "out")
    first, last = (ReasoningBlock("r"), TextBlock("t")), (ReasoningBlock("s"), result)
    message = Message("assistant", (*first, one, TextBlock("u"), two, *last))
    assert (message.text, message.reasoning) == ("tu", "rs")
    assert message.tool_calls == (one, two)
    assert message.tool_results == (result,)
    assert Message("user", "hi").content == (TextBlock("hi"),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, value",
    [
        ("", {}), (" \n", {}), ("null", {}), (" null ", {}), ("{}", {}), ('{"a":[1]}', {"a": [1]}),
        ("[1]", [1]), ("5", 5), ('"{}"', "{}"), ("false", False),
        ('{"a":"\\ud83d\\ude00\\ud83d"}', {"a": "😀\ufffd"}),
    ],
)
def test_tool_call_parsed(text: str, value: Any) -> None:
    """Arguments are parsed unchanged; empty, blank and null mean no arguments."""
    call = ToolCall("c", "f", text)
    assert call.parsed() == value == parse_arguments(text)
    assert call.arguments == text


@pytest.mark.parametrize(
    "text",
    [
        "{", '{"a":1,}', "{'a':1}", '{"a":NaN}', '{"a":1,"a":2}', '{"a":1}}</s', "{}{}",
        "[" * 900 + "]" * 900,
    ],
)
def test_tool_call_parsed_refuses(text: str) -> None:
    """Arguments that are not one strict document are a ValueError, on every Python."""
    with pytest.raises(ValueError):
        ToolCall("c", "f", text).parsed()


def answer(**fields: Any) -> AssistantMessage:
    """Make an answer with every kind of block in it."""
    content = (
        ReasoningBlock("r", "reasoning"),
        TextBlock("t"),
        ToolCall("c", "f", '{"a":1}', freeze({"extra_content": {"s": "AA"}})),
    )
    return AssistantMessage(content=content, **fields)


def test_assistant_message_to_dict() -> None:
    """An answer's dict has OpenAI's form with opaque extras, without the facts of the answer."""
    message = answer(
        extras={"reasoning_opaque": "XX"}, finish="tool-calls", usage=TokenUsage(1, 2),
        model="m-1", response_id="r-1", provider="p",
    )
    shown = message.to_dict()
    assert shown == {
        "role": "assistant",
        "content": "t",
        "reasoning": "r",
        "tool_calls": [
            {
                "id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'},
                "extra_content": {"s": "AA"},
            }
        ],
        "reasoning_opaque": "XX",
    }
    json.dumps(shown)
    again = Message.from_dict(shown)
    assert (again.content, again.extras) == (message.content, message.extras)


def test_assistant_message_to_dict_without_text() -> None:
    """The dict of an answer with only calls has no content key."""
    shown = AssistantMessage(content=(ToolCall("c", "f"),)).to_dict()
    assert sorted(shown) == ["role", "tool_calls"]


def test_assistant_message_to_dict_keeps_reasoning_extras() -> None:
    """The extras of a reasoning block are written beside the reasoning."""
    block = ReasoningBlock("r", extras=FrozenDict(signature="S"))
    shown = AssistantMessage(content=(block, TextBlock("t"))).to_dict()
    assert shown == {
        "role": "assistant", "content": "t", "reasoning_content": "r", "signature": "S",
    }


def test_assistant_message_to_dict_joins_reasoning() -> None:
    """Reasoning in several blocks goes back under its field in one piece."""
    blocks = (ReasoningBlock("r", "reasoning"), TextBlock("t"), ReasoningBlock("s", "reasoning"))
    shown = AssistantMessage(content=blocks).to_dict()
    assert shown == {"role": "assistant", "content": "t", "reasoning": "rs"}


def test_assistant_message_is_a_value() -> None:
    """An answer compares by all its fields, and can be hashed and pickled."""
    fields = dict(finish="stop", usage=TokenUsage(1, 2), model="m", provider="p")
    message = answer(**fields)
    assert message == answer(**fields) != answer(finish="stop")
    assert pickle.loads(pickle.dumps(message)) == message
    assert hash(pickle.loads(pickle.dumps(message))) == hash(message)
    assert (message.role, message.text, message.reasoning) == ("assistant", "t", "r")
    assert message.tool_calls[0].parsed() == {"a": 1}
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.finish = "stop"  # type: ignore[misc]


@pytest.mark.parametrize("phases, text", [
    ([None, None], "ab"),
    (["commentary", "final_answer"], "b"),
    (["final_answer", "final_answer"], "ab"),
    (["final_answer", None], "a"),
    (["commentary", "commentary"], "ab"),
    (["later word", None], "ab"),
])
def test_text_of_blocks_with_phases(phases: List[Any], text: str) -> None:
    """``text`` is the text marked as final answer; without a mark it is all text."""
    extras = [None if phase is None else freeze({"phase": phase}) for phase in phases]
    message = Message("assistant", (TextBlock("a", extras[0]), TextBlock("b", extras[1])))
    assert message.text == text and len(message.content) == 2


def random_block(rng: random.Random) -> Block:
    """Make a block of any type, with every field set or left out."""
    extras = rng.choice([None, freeze({}), freeze({"signature": "s\u2028", "n": [1, None, {}]})])
    text = rng.choice(["", "a", "é\u2028", "two\nlines"])
    makers: List[Any] = [
        lambda: TextBlock(text, extras),
        lambda: ReasoningBlock(text, rng.choice(["reasoning", "thinking"]), extras),
        lambda: ToolCall("c", "f", rng.choice(["{}", '{"a":1}']), extras),
        lambda: ToolResult("c", rng.choice([text, freeze([{"type": "text"}])]),
                           rng.random() < 0.5, extras),
        lambda: ImageBlock("u", rng.choice([None, "low"]), extras),
        lambda: OpaqueBlock(freeze({"type": "odd", "n": [text]}), rng.choice([None, "k"]), extras),
    ]
    made: Block = rng.choice(makers)()
    return made


def random_value(rng: random.Random) -> Message:
    """Make a message of any role, or an answer with some of its facts."""
    blocks = tuple(random_block(rng) for _ in range(rng.randrange(6)))
    name = rng.choice([None, "ada"])
    extras = rng.choice([None, freeze({"cost": 0.5, "citations": [{"url": "u"}]})])
    form = rng.choice([None, "text", "parts", "null", "absent"])
    if rng.random() < 0.5:
        return Message(rng.choice(["user", "assistant", "tool"]), blocks, name, extras, form)
    facts: Dict[str, Any] = {
        fact: rng.choice([None, f"a {fact}"])
        for fact in ("finish", "model", "response_id", "provider", "dialect", "requested_model")
    }
    usage = rng.choice([None, TokenUsage(1, 0, raw={"cost": 1.5, "parts": [{}]})])
    return AssistantMessage("assistant", blocks, name, extras, form, usage=usage, **facts)


@pytest.mark.parametrize("seed", range(8))
def test_message_record_loses_nothing(seed: int) -> None:
    """Seeded random messages come back equal, of the same class, with fields not compared."""
    rng = random.Random(seed)
    for _ in range(150):
        message = random_value(rng)
        record = json.loads(json.dumps(message.to_record()))
        twin = Message.from_record(record)
        assert twin == message and type(twin) is type(message), f"seed {seed}"
        assert twin.form == message.form and twin.to_record() == record, f"seed {seed}"


def test_message_record_keeps_what_openais_form_cannot() -> None:
    """A record keeps what a dict loses: signatures, block order, is_error, an answer's facts."""
    blocks = (
        ReasoningBlock("", "thinking", freeze({"signature": "one"})), TextBlock("a"),
        ReasoningBlock("b", "thinking", freeze({"signature": "two"})), TextBlock("c"),
    )
    message = AssistantMessage(
        content=blocks, finish="paused", usage=TokenUsage(1, raw={"cost": 2}), model="served",
        response_id="r", provider="p", dialect="d", requested_model="asked",
    )
    assert Message.from_record(message.to_record()).content == blocks
    assert message.to_record() == {
        "role": "assistant", "content": [block.to_dict() for block in blocks], "finish": "paused",
        "usage": {"input_tokens": 1, "raw": {"cost": 2}}, "model": "served", "response_id": "r",
        "provider": "p", "dialect": "d", "requested_model": "asked",
    }
    result = Message("tool", (ToolResult("c", "no", is_error=True),))
    assert Message.from_record(result.to_record()) == result


@pytest.mark.parametrize("record", [
    {}, {"role": "user"}, {"role": "user", "content": [{"type": "x"}]},
    {"role": "user", "content": [], "later": 1}, {"role": "user", "content": [], "model": "m"},
])
def test_message_from_wrong_record(record: Dict[str, Any]) -> None:
    """A dict that is not a record, or has an unknown field, is refused."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        Message.from_record(record)


PNG = b"\x89PNG\r\n\x1a\n"
PNG64 = "iVBORw0KGgo="


@pytest.mark.parametrize("part, kind, media_type", [
    ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG64}"}}, None,
     "image/png"),
    ({"type": "input_image", "image_url": f"data:image/png;base64,{PNG64}"}, None, "image/png"),
    ({"type": "input_audio", "input_audio": {"data": PNG64, "format": "wav"}}, None, "audio/wav"),
    ({"type": "audio", "audio": {"data": f"data:audio/mpeg;base64,{PNG64}", "format": "mp3"}}, None,
     "audio/mpeg"),
    ({"type": "audio", "audio": {"id": "a", "data": PNG64, "transcript": "hi"}}, None, None),
    ({"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PNG64}"}}, None,
     "application/pdf"),
    ({"type": "input_file", "file_data": PNG64}, None, None),
    ({"type": "image_generation_call", "result": PNG64, "output_format": "webp"}, None,
     "image/webp"),
    ({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PNG64}},
     None, "image/gif"),
    ({"type": "document", "source": {"type": "base64", "media_type": "a/b", "data": PNG64}}, None,
     "a/b"),
    ({"inlineData": {"mimeType": "image/png", "data": PNG64}}, "inlineData", "image/png"),
    ({"inline_data": {"mime_type": "image/png", "data": f" {PNG64[:5]}\n{PNG64[5:]}"}},
     "image", "image/png"),
])
def test_opaque_media(part: Dict[str, Any], kind: Any, media_type: Any) -> None:
    """The bytes of an image, a sound or a file are found in the form of every dialect."""
    block = OpaqueBlock(freeze(part), kind)
    assert block.data() == PNG and block.media_type == media_type


@pytest.mark.parametrize("part", [
    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    {"type": "file", "file": {"file_id": "file-1"}},
    {"type": "image_generation_call", "result": None},
    {"type": "redacted_thinking", "data": PNG64},
    {"type": "web_search_call", "url": f"data:image/png;base64,{PNG64}"},
    {"data": PNG64},
])
def test_opaque_part_without_data(part: Dict[str, Any]) -> None:
    """An address, a file id, an encrypted part and a part of another kind give no data."""
    assert OpaqueBlock(freeze(part)).data() is None


def test_opaque_data_that_is_none() -> None:
    """Percent-encoded data URLs are read too; broken base64 is a ValueError with the reason."""
    url = {"type": "image_url", "image_url": {"url": "data:image/svg+xml,%3Csvg%2F%3E"}}
    block = OpaqueBlock(freeze(url))
    assert (block.media_type, block.data()) == ("image/svg+xml", b"<svg/>")
    with pytest.raises(ValueError, match="not base64"):
        OpaqueBlock(freeze({"type": "input_audio", "input_audio": {"data": "no!"}})).data()


def test_opaque_data_of_two_megabytes() -> None:
    """The bytes of a large image come out whole."""
    image = random.Random(7).randbytes(2_000_000)
    part = {"type": "image_generation_call", "result": base64.b64encode(image).decode("ascii")}
    assert OpaqueBlock(freeze(part)).data() == image


# -- images out of files -------------------------------------------------------------------

IMAGES = [
    (b"\x89PNG\r\n\x1a\n\0", "image/png"), (b"\xff\xd8\xff\xe0", "image/jpeg"),
    (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"), (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
]


@pytest.mark.parametrize("data, kind", IMAGES)
def test_image_from_file(data: bytes, kind: str, tmp_path: Path) -> None:
    """The bytes tell the format, not the file's name, and all bytes are read."""
    path = tmp_path / "cat.jpg"
    path.write_bytes(data)
    for given in (path, str(path)):
        image = ImageBlock.from_file(given, "low")
        assert (image.url[: len(kind) + 13], image.detail) == (f"data:{kind};base64,", "low")
        assert base64.b64decode(image.url.partition(",")[2]) == data
    told = image.to_dict()
    assert OpaqueBlock({"type": "image_url", "image_url": told}).data() == data


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"RIFF\0\0\0\0WAVE", b"<svg/>", b"\x89PN"])
def test_image_from_another_file(data: bytes, tmp_path: Path) -> None:
    """A file of another format is refused; a missing file is an OSError."""
    path = tmp_path / "cat.png"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="no PNG, JPEG, GIF or WebP"):
        ImageBlock.from_file(path)
    with pytest.raises(OSError):
        ImageBlock.from_file(tmp_path / "none.png")
