# SPDX-License-Identifier: MIT
"""The chat-completions request body: what is sent, what is left out, what is refused."""

from __future__ import annotations

import copy
import datetime
import json
import math
import pickle
import random
from collections import OrderedDict
from types import MappingProxyType, SimpleNamespace
from typing import Any, Dict, List, Optional, Tuple

import pytest

from streamcore.values.calls import LlmRequest
from streamcore.values.errors import LlmError
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
from streamcore.wire.history import check_history
from streamcore.wire.json_body import encode_body
from support import build_body
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions

IMAGE = {"type": "image_url", "image_url": {"url": "https://h/i.png"}}
USER = {"role": "user", "content": "hi"}


def body_of(
    messages: Any, options: ChatCompletionsOptions = ChatCompletionsOptions(), **rest: Any
) -> Dict[str, Any]:
    """Build the body and check that it is plain JSON."""
    body = build_body(LlmRequest.make("m", messages, **rest), options)
    assert json.loads(encode_body(body)) == body
    return body


def sent(
    messages: Any, options: ChatCompletionsOptions = ChatCompletionsOptions(), **rest: Any
) -> List[Any]:
    """Return the messages as they are sent."""
    found: List[Any] = body_of(messages, options, **rest)["messages"]
    return found


def refused(messages: Any = "hi", code: str = "INVALID_REQUEST", **rest: Any) -> str:
    """Return the message of the error this request must give."""
    options = rest.pop("options", ChatCompletionsOptions())
    model = rest.pop("model", "m")
    with pytest.raises(LlmError) as caught:
        build_body(LlmRequest.make(model, messages, **rest), options)
    assert caught.value.code == code
    assert caught.value.retryable is False
    assert caught.value.failure.phase == "prepare"
    str(caught.value).encode("utf-8")
    return caught.value.failure.message


def call(call_id: str, name: str = "f", arguments: str = "{}", **rest: Any) -> Dict[str, Any]:
    """Make an OpenAI-style tool call."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **rest}


def asks(*call_ids: str, **rest: Any) -> Dict[str, Any]:
    """Make an assistant message with calls."""
    calls = [call(call_id) for call_id in call_ids]
    return {"role": "assistant", "content": "", "tool_calls": calls, **rest}


def result(call_id: str, content: Any = "ok", **rest: Any) -> Dict[str, Any]:
    """Make a tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **rest}


# -- the body ------------------------------------------------------------------------------


def test_body_of_a_string() -> None:
    """A string is one user message, and the body has only the fields that are set."""
    assert body_of("hi") == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_body_without_stream_options() -> None:
    """A profile whose provider refuses stream_options leaves the field out."""
    assert "stream_options" not in body_of("hi", ChatCompletionsOptions(stream_options=False))


def test_body_with_everything() -> None:
    """Each setting is sent under its wire name, even if it is zero or False."""
    body = body_of(
        "hi", system="be kind", tools=[{"name": "f"}], tool_choice="auto",
        parallel_tool_calls=False, response_format={"type": "json_object"}, temperature=0,
        top_p=0.5, seed=0, max_tokens=1, stop=["a", "b"], reasoning_effort="low",
    )
    assert body["messages"][0] == {"role": "system", "content": "be kind"}
    del body["messages"], body["model"], body["stream"], body["stream_options"]
    assert body == {
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "response_format": {"type": "json_object"},
        "temperature": 0,
        "top_p": 0.5,
        "seed": 0,
        "max_tokens": 1,
        "stop": ["a", "b"],
        "reasoning_effort": "low",
    }


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_body_max_tokens_field(field: str) -> None:
    """The output cap is sent in the field that the profile names."""
    body = body_of("hi", ChatCompletionsOptions(max_tokens_field=field), max_tokens=7)
    assert [name for name in body if "max" in name] == [field]
    assert body[field] == 7


@pytest.mark.parametrize(
    "rest",
    [{"system": ""}, {"tools": []}, {"tools": None}, {"stop": []}, {"extra_body": {}}],
    ids=str,
)
def test_body_empty_settings_left_out(rest: Dict[str, Any]) -> None:
    """Empty settings are left out, because providers refuse them."""
    assert body_of("hi", **rest) == body_of("hi")


@pytest.mark.parametrize(
    "given, wire",
    [
        ("auto", "auto"), ("none", "none"), ("required", "required"),
        ("look_up", {"type": "function", "function": {"name": "look_up"}}),
        ({"type": "allowed_tools"}, {"type": "allowed_tools"}),
    ],
)
def test_body_tool_choice(given: Any, wire: Any) -> None:
    """A known word and a dict are sent unchanged; any other string names a tool."""
    tools = [{"name": "look_up"}]
    assert body_of("hi", tool_choice=given, tools=tools)["tool_choice"] == wire


def test_body_extra_body_last() -> None:
    """extra_body is merged last at the top level and wins over our own settings."""
    extra = {"top_k": 5, "temperature": 1, "stream_options": {"x": [1]}, "nothing": None}
    body = body_of("hi", temperature=0, extra_body=extra)
    assert {name: body[name] for name in extra} == extra


@pytest.mark.parametrize(
    "name, value", [("model", "x"), ("messages", []), ("stream", False), ("n", 2), ("n", 1)]
)
def test_body_extra_body_cannot_set(name: str, value: Any) -> None:
    """extra_body cannot change the fields that make one streamed answer."""
    assert name in refused(extra_body={name: value})


@pytest.mark.parametrize(
    "rest",
    [
        {"model": ""}, {"model": None}, {"model": 5}, {"system": 5}, {"system": ["a"]},
        {"temperature": math.nan}, {"temperature": math.inf}, {"temperature": True},
        {"temperature": "1"}, {"top_p": -math.inf}, {"top_p": False}, {"top_p": []},
        {"seed": 1.0}, {"seed": True}, {"seed": "1"},
        {"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": True}, {"max_tokens": 1.5},
        {"max_tokens": "9"}, {"parallel_tool_calls": 1}, {"parallel_tool_calls": "yes"},
        {"stop": ""}, {"stop": ["a", ""]}, {"stop": 5}, {"stop": [None]}, {"stop": {"a"}},
        {"stop": {"a": 1}}, {"reasoning_effort": ""}, {"reasoning_effort": 1},
        {"extra_body": []}, {"extra_body": "n"}, {"extra_body": {"a": math.nan}},
        {"response_format": {"schema": {"x": math.inf}}}, {"response_format": dict},
        {"tool_choice": {"a": b"x"}}, {"tool_choice": "\ud83d"},
        {"extra_body": {"when": datetime.date(2020, 1, 1)}}, {"extra_body": {("a",): 1}},
        {"tools": 5}, {"tools": {"name": "f"}}, {"tools": ["f"]}, {"tools": [None]},
        {"tools": [{"name": ""}]}, {"tools": [{"name": " "}]}, {"tools": [{"name": 5}]},
        {"tools": [{}]}, {"tools": [{"type": "function"}]}, {"tools": [{"function": "f"}]},
        {"tools": [{"type": "function", "function": {}}]},
        {"tools": [{"name": "f", "parameters": []}]},
        {"tools": [{"name": "f", "parameters": dict}]},
        {"tools": [{"name": "f"}, {"type": "function", "function": {"name": "f"}}]},
        {"tools": [{"name": "f", "parameters": {"default": math.nan}}]},
        {"tools": [{"name": "f", "parameters": {"default": {1, 2}}}]},
        {"tools": [SimpleNamespace(name="f", parameters={}), {"name": "f"}]},
        {"tools": [SimpleNamespace(name=None)]}, {"tools": [Ellipsis]},
    ],
    ids=lambda rest: ascii(rest)[:70],
)
def test_body_wrong_settings(rest: Dict[str, Any]) -> None:
    """A value that no provider could accept is INVALID_REQUEST before any I/O."""
    refused(**rest)


@pytest.mark.parametrize("name", ["seed", "max_tokens", "temperature", "response_format"])
@pytest.mark.parametrize("value", [10**10_000, -(10**10_000)], ids=["large", "small"])
def test_body_huge_numbers(name: str, value: int) -> None:
    """A number too long to print is refused, or sent where this Python can print it."""
    try:
        body_of("hi", **{name: value})
    except LlmError as error:
        assert error.code == "INVALID_REQUEST"


@pytest.mark.parametrize(
    "messages",
    [
        [], (), None, 5, b"hi", ["hi"], [None], [{}], [{"role": "user", "content": 5}],
        [{"role": "tool", "content": "x"}], [{"role": "assistant", "content": ""}],
        [Message("tool", (TextBlock("x"),))], [Message("tool")],
        [Message("user", (ToolCall("c", "f"),))],
        [Message("system", (ToolResult("c", "x"),))],
        [Message("user", (TextBlock(None),))],  # type: ignore[arg-type]
        [Message("user", (ImageBlock(5),))],  # type: ignore[arg-type]
        [Message("user", (TextBlock("x", [1]),))],  # type: ignore[arg-type]
        [Message("user", (TextBlock("x"),), extras="odd")],  # type: ignore[arg-type]
        [Message("user", (TextBlock("x"),), name=5)],  # type: ignore[arg-type]
        [Message("user", (Block(),))],
        [Message("assistant", (ToolCall([], "f"),))],  # type: ignore[arg-type]
        [Message("assistant", (ToolCall("c", " "),)), result("c")],
        [Message("assistant", (ToolCall("c", "f", {}),))],  # type: ignore[arg-type]
        [Message("assistant", (ToolCall("c", "f", "{}", freeze({"function": 5})),))],
        [asks("c"), Message("tool", (ToolResult({}, "x"),))],  # type: ignore[arg-type]
        [asks("c"), Message("tool", (ToolResult("c", 5),))],  # type: ignore[arg-type]
        [asks("c"), Message("tool", (ToolResult("c", "x"), TextBlock("y")))],
    ],
    ids=lambda messages: ascii(messages)[:70],
)
def test_body_wrong_messages(messages: Any) -> None:
    """Messages of no readable shape, and hand-made blocks no message can hold, are refused."""
    refused(messages)


def circular() -> Dict[str, Any]:
    """Make a dict that holds itself."""
    data: Dict[str, Any] = {"role": "user", "content": "x"}
    data["self"] = [data]
    return data


def nested(depth: int) -> Any:
    """Make a list in a list, ``depth`` times."""
    value: List[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "odd", [circular(), {"role": "user", "x": nested(50_000)}], ids=["circular", "deep"]
)
def test_body_circular_or_endlessly_deep(odd: Any) -> None:
    """Values that hold themselves or nest too deeply are refused without a RecursionError."""
    refused([odd])
    for name in ("extra_body", "response_format", "tool_choice"):
        refused(**{name: odd})
    refused(tools=[{"name": "f", "parameters": odd}])
    refused(tools=[{"type": "web", "x": odd}])
    with pytest.raises(LlmError, match="INVALID_REQUEST"):
        encode_body(odd)


# -- tools ---------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
FUNCTION = {"name": "f", "description": "d", "parameters": SCHEMA}


@pytest.mark.parametrize(
    "tool, wire",
    [
        ({"type": "function", "function": FUNCTION}, FUNCTION),
        ({"function": FUNCTION}, FUNCTION),
        ({"type": None, "function": FUNCTION}, FUNCTION),
        (FUNCTION, FUNCTION),
        ({"type": "function", **FUNCTION}, FUNCTION),
        ({**FUNCTION, "strict": True}, {**FUNCTION, "strict": True}),
        (SimpleNamespace(**FUNCTION), FUNCTION),
        (SimpleNamespace(name="f", description=None, parameters=None), {"name": "f"}),
        ({"name": "f", "description": None, "parameters": None}, {"name": "f"}),
        ({"name": "f", "parameters": SCHEMA}, {"name": "f", "parameters": SCHEMA}),
        (
            MappingProxyType({"name": "f", "parameters": MappingProxyType(SCHEMA)}),
            {"name": "f", "parameters": SCHEMA},
        ),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_tools_shapes(tool: Any, wire: Dict[str, Any]) -> None:
    """Each accepted shape of a tool becomes the OpenAI-style one, without nulls."""
    assert body_of("hi", tools=[tool])["tools"] == [{"type": "function", "function": wire}]


def test_tools_extra_fields_and_foreign_kinds() -> None:
    """Fields beside the function stay, and tools that the provider runs do not change."""
    tools = [
        {"type": "function", "function": {"name": "f"}, "cache_control": {"type": "ephemeral"}},
        {"type": "web_search", "filters": {"a": None}},
        {"type": "web_search"},
    ]
    assert body_of("hi", tools=tools)["tools"] == tools


def test_tools_duplicate_name_is_named() -> None:
    """Two tools with the same name are refused, and the error tells the name."""
    assert "'look'" in refused(tools=[{"name": "look"}, {"name": "f"}, {"name": "look"}])


# -- messages ------------------------------------------------------------------------------


def test_messages_shapes() -> None:
    """A message, a dict, and any iterable of both are read."""
    message = Message("user", (TextBlock("hi"),))
    for given in (message, USER, [message], (USER,), iter([message]), OrderedDict(USER)):
        assert sent(given) == [USER]


def test_request_is_frozen_and_a_value() -> None:
    """Later changes of the caller's values do not change the request, and it pickles."""
    messages = [{"role": "user", "content": [{"type": "odd", "x": [1]}]}]
    tools = [{"name": "f", "parameters": {"a": [1]}}]
    extra = {"a": [1]}
    stop = ["x"]
    request = LlmRequest.make("m", messages, tools=tools, extra_body=extra, stop=stop)
    before = encode_body(build_body(request))
    messages[0]["content"][0]["x"].append(2)  # type: ignore[index]
    messages.append(USER)
    tools[0]["parameters"]["a"].append(2)  # type: ignore[index]
    extra["a"].append(2)
    stop.append("y")
    assert encode_body(build_body(request)) == before
    assert pickle.loads(pickle.dumps(request)) == request == copy.deepcopy(request)
    assert isinstance(hash(request), int)


def test_body_is_the_callers() -> None:
    """Changing a body changes neither the request nor the next body."""
    request = LlmRequest.make(
        "m", [{"role": "user", "content": [{"type": "odd", "x": [1]}]}],
        tools=[{"name": "f", "parameters": {"a": [1]}}], extra_body={"a": [1]}, stop=["x"],
    )
    before = copy.deepcopy(build_body(request))
    body = build_body(request)
    body["messages"][0]["content"][0]["x"].append(2)
    body["tools"][0]["function"]["parameters"]["a"].append(2)
    body["a"].append(2)
    body["stop"].append("y")
    assert build_body(request) == before


@pytest.mark.parametrize(
    "given, wire",
    [
        (USER, USER),
        ({"role": "user", "content": None}, {"role": "user", "content": ""}),
        ({"role": "user"}, {"role": "user", "content": ""}),
        ({"role": "user", "content": []}, {"role": "user", "content": ""}),
        ({**USER, "name": "ann"}, {**USER, "name": "ann"}),
        ({**USER, "name": None, "x": None}, USER),
        ({**USER, "meta": {"a": None}}, {**USER, "meta": {"a": None}}),
        (
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"x": 1}}]},
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"x": 1}}]},
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "A"}}]},
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "A"}}]},
        ),
        (
            Message("user", (TextBlock("a"), TextBlock("b"))),
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
        ),
        (
            Message("user", (ImageBlock("https://h/i.png", "low"), TextBlock("what"))),
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "https://h/i.png", "detail": "low"}},
                    {"type": "text", "text": "what"},
                ],
            },
        ),
        (
            {"role": "function", "name": "f", "content": "x"},
            {"role": "function", "name": "f", "content": "x"},
        ),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_message_of_others_sent(given: Any, wire: Dict[str, Any]) -> None:
    """Messages of other roles are sent as they were written, without nulls."""
    assert sent([given]) == [wire]


@pytest.mark.parametrize(
    "content", ["absent", None, "", [], [{"type": "text", "text": ""}]], ids=str
)
def test_assistant_without_text_sends_empty_string(content: Any) -> None:
    """An assistant message that has only calls is sent with "content": ""."""
    asked = asks("c")
    asked["content"] = content
    if content == "absent":
        del asked["content"]
    for given in (asked, Message.from_dict(asked)):
        assert sent([given, result("c")])[0] == asks("c")


@pytest.mark.parametrize(
    "rest",
    [{"tool_calls": None}, {"tool_calls": []}, {"refusal": None, "audio": None, "name": None}],
    ids=str,
)
def test_assistant_nulls_of_a_caller_are_left_out(rest: Dict[str, Any]) -> None:
    """Null fields and an empty list of calls in a caller's dict are left out."""
    said = {"role": "assistant", "content": "a"}
    assert sent([USER, {**said, **rest}]) == [USER, said]


@pytest.mark.parametrize("arguments", ["", "  ", "null", " null\n"])
def test_assistant_blank_arguments(arguments: str) -> None:
    """Blank arguments go back as {}, because strict servers parse them."""
    asked = {"role": "assistant", "tool_calls": [call("c", arguments=arguments)]}
    assert sent([asked, result("c")])[0]["tool_calls"] == [call("c")]


def test_assistant_arguments_unchanged() -> None:
    """Other arguments go back unchanged, whether they are objects or not."""
    for arguments in ('{"a" : 1}', "[1]", '"x"', '{"s":"\\ud83d"}'):
        asked = {"role": "assistant", "tool_calls": [call("c", arguments=arguments)]}
        sent_call = sent([asked, result("c")])[0]["tool_calls"][0]
        assert sent_call["function"]["arguments"] == arguments


def test_assistant_text_blocks_join() -> None:
    """Text before and after a call is one string: few providers take parts from an assistant."""
    message = AssistantMessage(content=(TextBlock("a"), ToolCall("c", "f"), TextBlock("b")))
    assert sent([message, result("c")])[0] == {**asks("c"), "content": "ab"}


def test_assistant_with_nothing_is_left_out() -> None:
    """An answer with no text, no call and no reasoning is not sent."""
    for empty in (AssistantMessage(), {"role": "assistant", "content": None, "refusal": None}):
        assert sent([USER, empty, USER]) == [USER, USER]


@pytest.mark.parametrize("messages", [[], [AssistantMessage()]], ids=["none", "empty"])
def test_system_alone_is_no_request(messages: List[Any]) -> None:
    """A request with only a system prompt is refused."""
    assert "no message" in refused(messages, system="be kind")


def test_assistant_with_reasoning_alone() -> None:
    """An answer that has only reasoning goes back with a placeholder as its text."""
    message = AssistantMessage(content=(ReasoningBlock("r"),))
    stands_for_it = {"role": "assistant", "content": "(no answer)"}
    assert sent([USER, message]) == [USER, stands_for_it]
    always = ChatCompletionsOptions(reasoning_passback="always")
    assert sent([USER, message], always)[1] == {**stands_for_it, "reasoning_content": "r"}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
@pytest.mark.parametrize(
    "given", ["block", "reasoning_content", "reasoning", "reasoning_text", "two", "extras"]
)
@pytest.mark.parametrize("when", ["tool-calls", "always", "never"])
@pytest.mark.parametrize("calls", [True, False])
def test_reasoning_passback(field: str, given: str, when: str, calls: bool) -> None:
    """Reasoning goes back once, under the profile's name and when the profile says."""
    options = ChatCompletionsOptions(reasoning_field=field, reasoning_passback=when)
    asked: Dict[str, Any] = asks("c") if calls else {"role": "assistant", "content": "a"}
    message: Any
    if given == "block":
        plain = Message.from_dict(asked)
        message = AssistantMessage(content=(ReasoningBlock("r", "reasoning"), *plain.content))
    elif given == "extras":
        plain = Message.from_dict(asked)
        message = Message("assistant", plain.content, extras=freeze({"reasoning": "r"}))
    elif given == "two":
        message = {**asked, "reasoning_content": "r", "reasoning": "r"}
    else:
        message = {**asked, given: "r"}
    wire = sent([message, *([result("c")] if calls else [])], options)[0]
    back = when == "always" or (when == "tool-calls" and calls)
    assert wire == ({**asked, field: "r"} if back else asked)


def test_reasoning_empty_but_written_goes_back() -> None:
    """An empty reasoning field goes back, for a provider that insists on the field."""
    assert sent([asks("c", reasoning_content=""), result("c")])[0]["reasoning_content"] == ""


def test_reasoning_details_of_a_caller_are_opaque() -> None:
    """Encrypted details are not read as reasoning; they go back unchanged."""
    details = [{"type": "reasoning.encrypted", "data": "AA"}]
    wire = sent([{"role": "assistant", "content": "a", "reasoning_details": details}])[0]
    assert wire["reasoning_details"] == details


def answer(provider: Optional[str]) -> AssistantMessage:
    """Make an answer with opaque extras everywhere."""
    signed = {"extra_content": {"google": {"thought_signature": "AAA"}}, "function": {"x": 1}}
    return AssistantMessage(
        content=(
            ReasoningBlock("r", extras=freeze({"signature": "S"})),
            TextBlock("t", freeze({"citations": [1]})),
            OpaqueBlock(freeze({"type": "theirs"})),
            ToolCall("c", "f", "{}", freeze(signed)),
        ),
        extras=freeze({"reasoning_opaque": "XX"}),
        provider=provider,
    )


@pytest.mark.parametrize("made_by, route", [(None, None), (None, "p"), ("p", "p")])
def test_opaque_extras_go_back_to_their_provider(
    made_by: Optional[str], route: Optional[str]
) -> None:
    """Extras go back to their own provider; extras of unknown origin go to every provider."""
    assert sent([answer(made_by), result("c")], provider=route)[0] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "t", "citations": [1]}, {"type": "theirs"}],
        "reasoning_content": "r",
        "signature": "S",
        "reasoning_opaque": "XX",
        "tool_calls": [
            {
                "id": "c", "type": "function",
                "function": {"name": "f", "arguments": "{}", "x": 1},
                "extra_content": {"google": {"thought_signature": "AAA"}},
            }
        ],
    }


@pytest.mark.parametrize("route", [None, "q"])
def test_opaque_extras_stay_away_from_other_providers(route: Optional[str]) -> None:
    """Another provider gets only text and calls."""
    assert sent([answer("p"), result("c")], provider=route)[0] == {**asks("c"), "content": "t"}


def test_opaque_extras_of_a_caller_are_sent() -> None:
    """Extras in the caller's own dict are sent."""
    asked = asks("c")
    asked["tool_calls"][0].update(extra_content={"a": 1}, index=0)
    assert sent([asked, result("c", mood="x")], provider="q") == [asked, result("c", mood="x")]


@pytest.mark.parametrize(
    "extras", [{"role": "x"}, {"content": "x"}, {"tool_calls": [1]}, {"tool_call_id": "y"}], ids=str
)
def test_extras_never_replace_what_we_write(extras: Dict[str, Any]) -> None:
    """Hand-made extras cannot change role, text, calls or the id of a result."""
    frozen = freeze(extras)
    asked = Message("assistant", (ToolCall("c", "f", "{}", freeze({"id": "z"})),), extras=frozen)
    answered = Message("tool", (ToolResult("c", "ok", extras=frozen),), extras=frozen)
    user = Message("user", (TextBlock("hi"),), extras=frozen)
    wire = sent([asked, answered, user])
    assert wire[:2] == [asks("c"), result("c")]
    assert (wire[2]["role"], wire[2]["content"]) == ("user", "hi")


# -- tool results --------------------------------------------------------------------------


def test_results_in_call_order() -> None:
    """Results given in another order are sent in the order of the calls."""
    given = [asks("a", "b", "c"), result("c", "3"), result("a", "1"), result("b", "2"), USER]
    assert sent(given) == [given[0], result("a", "1"), result("b", "2"), result("c", "3"), USER]


def test_results_in_a_user_message_come_before_its_text() -> None:
    """A neutral user message with results and text becomes tool messages, then the text."""
    user = Message(
        "user",
        (
            TextBlock("go on"), ToolResult("b", "2"), ToolResult("a", "1", True),
            ImageBlock("https://h/i.png"),
        ),
        name="ann",
    )
    assert sent([asks("a", "b"), user]) == [
        asks("a", "b"), result("a", "1"), result("b", "2"),
        {
            "role": "user", "name": "ann",
            "content": [{"type": "text", "text": "go on"}, IMAGE],
        },
    ]


def test_results_spread_over_messages() -> None:
    """Tool and user messages may share the results of one step; only the last may have text."""
    first = Message("user", (ToolResult("b", "2"), TextBlock("")))
    last = Message("user", (ToolResult("a", "1"), TextBlock("so?")))
    wire = sent([asks("a", "b", "c"), first, result("c", "3"), last])
    assert [m.get("tool_call_id") or m["content"] for m in wire[1:]] == ["a", "b", "c", "so?"]
    two = Message("tool", (ToolResult("b", "2"), ToolResult("a", "1")))
    assert sent([asks("a", "b"), two]) == [asks("a", "b"), result("a", "1"), result("b", "2")]


@pytest.mark.parametrize(
    "content", ["", None, [], [{"type": "text", "text": ""}], [TextBlock("")]], ids=str
)
def test_result_empty(content: Any) -> None:
    """Every form of empty output is sent as (no output)."""
    for answered in (result("c", content), Message("tool", (ToolResult("c", content),))):
        assert sent([asks("c"), answered])[1] == result("c", "(no output)")


def test_result_absent_content() -> None:
    """A tool message without content is sent as (no output) too."""
    assert sent([asks("c"), {"role": "tool", "tool_call_id": "c"}])[1] == result("c", "(no output)")


def test_result_parts_and_blank() -> None:
    """Parts stay parts, and white space counts as output."""
    parts = [{"type": "text", "text": "x"}, IMAGE, {"type": "odd", "a": None}]
    assert sent([asks("c"), result("c", parts)])[1] == result("c", parts)
    assert sent([asks("c"), result("c", " \n")])[1] == result("c", " \n")
    blocks = [TextBlock("x"), ImageBlock("https://h/i.png")]
    message = Message("tool", (ToolResult("c", blocks),))  # type: ignore[arg-type]
    assert sent([asks("c"), message])[1] == result("c", parts[:2])


def test_result_surrogates_are_mended() -> None:
    """Surrogate halves in tool output are joined, or become U+FFFD if alone."""
    dirty, clean = "a\ud83d\ude00b\ud83d", "a😀b\ufffd"
    parts = [{"type": "text", "text": dirty, dirty: 1}]
    assert sent([asks("c"), result("c", dirty)])[1] == result("c", clean)
    assert sent([asks("c"), result("c", parts)])[1] == result(
        "c", [{"type": "text", "text": clean, clean: 1}]
    )


# -- text that cannot be encoded -----------------------------------------------------------


@pytest.mark.parametrize(
    "rest, place",
    [
        ({"messages": "hi \ud83d"}, "messages[0].content"),
        ({"messages": [USER, {"role": "user", "content": "hi \ud83d"}]}, "messages[1].content"),
        ({"messages": [{**USER, "name": "\udc00"}]}, "messages[0].name"),
        ({"messages": [USER, {"role": "assistant", "content": "\ud800"}]}, "messages[1].content"),
        (
            {"messages": [asks(tool_calls=[call("c", arguments='"\ud83d"')]), result("c")]},
            "messages[0].tool_calls[0].function.arguments",
        ),
        ({"messages": [{**USER, "x": {"a\ud83d": 1}}]}, "messages[0].x.a\\ud83d"),
        ({"system": "\ud83d"}, "messages[0].content"),
        ({"model": "\ud83d"}, "model"),
        ({"stop": ["a", "\ud83d"]}, "stop[1]"),
        ({"tools": [{"name": "f", "description": "\ud83d"}]}, "tools[0].function.description"),
        (
            {"tools": [{"name": "f", "parameters": {"x": [1, math.nan]}}]},
            "tools[0].function.parameters.x[1]",
        ),
        ({"messages": [{**USER, "x": b"bytes"}]}, "messages[0].x"),
        ({"messages": [{**USER, "x": datetime.datetime(2020, 1, 1)}]}, "messages[0].x"),
        ({"extra_body": {"a": {"b": {1, 2}}}}, "a.b"),
        ({"extra_body": {"a": {(1, 2): 3}}}, "a: a key is a string, not tuple"),
        ({"extra_body": {"a": {10**5000: [b""]}}}, "a.(key)[0]"),
    ],
)
def test_unencodable_is_refused_by_place(rest: Dict[str, Any], place: str) -> None:
    """A value that JSON or UTF-8 cannot hold is refused; the error names its place only."""
    assert place in refused(**rest)


def test_encode_body_is_compact_utf8() -> None:
    """Bytes are compact JSON with letters as they are."""
    body = {"a": ["é😀\u2028", None, 1.5], "b": {"c": True}}
    assert encode_body(body) == '{"a":["é😀\u2028",null,1.5],"b":{"c":true}}'.encode()
    assert encode_body(MappingProxyType({"a": 1})) == b'{"a":1}'


def test_encode_body_error_quotes_nothing() -> None:
    """Neither the error nor its chain holds the refused text."""
    with pytest.raises(LlmError) as caught:
        encode_body({"a": "a long private story \ud83d"})
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "private" not in repr(caught.value)


# -- images --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "messages",
    [
        [Message("user", (ImageBlock("https://h/i.png"),))],
        [{"role": "user", "content": [IMAGE]}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": "u"}]}],
        [{"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}],
        [asks("c"), result("c", [{"type": "text", "text": "see"}, IMAGE])],
        [asks("c"), Message("user", (ToolResult("c", freeze([IMAGE])),))],
        [asks("c"), Message("tool", (ToolResult("c", freeze([ImageBlock("https://h/i.png")])),))],
    ],
    ids=lambda messages: ascii(messages)[:60],
)
def test_images_where_a_provider_has_none(messages: Any) -> None:
    """An image in any place is UNSUPPORTED_CONTENT on a text-only provider, and sent elsewhere."""
    text_only = ChatCompletionsOptions(images=False)
    refused(messages, "UNSUPPORTED_CONTENT", options=text_only)
    sent(messages)
    assert sent([USER, asks("c"), result("c")], text_only) == [USER, asks("c"), result("c")]


# -- history -------------------------------------------------------------------------------

GOOD: List[Tuple[str, List[Any]]] = [
    ("no call", [USER, {"role": "assistant", "content": "a"}, USER]),
    ("answered", [asks("a", "b"), result("b"), result("a")]),
    ("ids again at the next step", [asks("a"), result("a"), asks("a"), result("a"), USER]),
    ("an empty id is an id", [asks(""), result("")]),
    ("arguments of any kind", [
        {"role": "assistant", "tool_calls": [call("a", arguments="[1]"), call("b", arguments="")]},
        result("a"), result("b"),
    ]),
    ("nothing", []),
]

BAD: List[Tuple[str, List[Any], str]] = [
    ("never answered", [USER, asks("a")], "'a'"),
    ("one of two", [asks("a", "b"), result("a"), USER], "'b'"),
    ("answered after the user spoke", [asks("a"), USER, result("a")], "'a'"),
    ("answered after another answer", [asks("a"), asks("b"), result("a"), result("b")], "'a'"),
    ("text before the last result", [
        asks("a", "b"), Message("user", (ToolResult("a"), TextBlock("x"))), result("b"),
    ], "'b'"),
    ("twice", [asks("a"), result("a"), result("a")], "second result has the id 'a'"),
    ("orphan", [USER, result("x")], "result without call has the id 'x'"),
    ("orphan beside a result", [asks("a"), result("a"), result("x")], "'x'"),
    ("of the step before", [asks("a"), result("a"), asks("b"), result("a")], "without call"),
    ("after the step ended", [asks("a"), result("a"), USER, result("a")], "'a'"),
    ("one id for two calls", [asks("a", "a"), result("a"), result("a")], "two tool calls"),
    ("cut arguments", [
        {"role": "assistant", "tool_calls": [call("a", arguments='{"x":')]}, result("a"),
    ], "'a'"),
    ("arguments with a key twice", [
        {"role": "assistant", "tool_calls": [call("a", arguments='{"x":1,"x":2}')]}, result("a"),
    ], "'a'"),
    ("arguments too deep", [
        asks(tool_calls=[call("a", arguments="[" * 900 + "]" * 900)]), result("a"),
    ], "'a'"),
    ("a lone half in an id", [USER, result("\ud83d")], "'\\ud83d'"),
]


def read(messages: List[Any]) -> List[Message]:
    """Read dicts and messages."""
    return [m if isinstance(m, Message) else Message.from_dict(m) for m in messages]


@pytest.mark.parametrize("messages", [m for _, m in GOOD], ids=[name for name, _ in GOOD])
def test_history_good(messages: List[Any]) -> None:
    """A history whose calls have one result each passes, and is sent as it is."""
    check_history(read(messages))
    if messages:
        sent(messages)


@pytest.mark.parametrize("messages, told", [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_history_bad(messages: List[Any], told: str) -> None:
    """A history that a strict provider would refuse is refused here; the error names the call."""
    with pytest.raises(LlmError) as caught:
        check_history(read(messages))
    assert caught.value.code == "INVALID_REQUEST"
    assert told in caught.value.failure.message
    assert refused(messages) == caught.value.failure.message


# -- fuzz ----------------------------------------------------------------------------------


def random_value(rng: random.Random, depth: int = 0) -> Any:
    """Make a value, mostly JSON, now and then not."""
    if rng.random() < 0.04:
        return rng.choice([math.nan, b"x", {1, 2}, "\ud83d", object(), {(1,): 2}, 10**5000])
    if depth < 3 and rng.random() < 0.3:
        inner = [random_value(rng, depth + 1) for _ in range(rng.randrange(3))]
        return rng.choice([inner, tuple(inner), {f"k{i}": v for i, v in enumerate(inner)}])
    return rng.choice([None, True, 0, 1.5, "", "x", "é", "tool", "user", "image_url", "text"])


def random_block(rng: random.Random, role: str, ids: List[str]) -> Block:
    """Make a block, mostly one that fits the role."""
    if rng.random() < 0.01:
        role = rng.choice(["user", "assistant", "tool", "odd"])
    extras = freeze({"x": random_value(rng), rng.choice(["id", "type", "y"]): random_value(rng)})
    extras = rng.choice([None, None, extras])
    text = rng.choice(["", "t", "é", "t", "t", "lone \ud83d" if rng.random() < 0.05 else "t"])
    if role == "assistant":
        kind = rng.randrange(4)
        if kind == 0:
            return ReasoningBlock(text, rng.choice(["reasoning", "odd"]), extras)
        if kind == 1:
            ids.append(rng.choice(["a", "b", "c", "d"]))
            return ToolCall(ids[-1], "f", rng.choice(["", "{}", "{}", "[1]", "null"]), extras)
        return TextBlock(text, extras)
    if role == "tool":
        parts = [{"type": "text", "text": text}]
        content: Any = rng.choice([text, "", [], parts, [IMAGE], "\udc00"])
        return ToolResult(rng.choice(ids or ["a"]), content, rng.random() < 0.2, extras)
    if rng.random() < 0.1:
        return OpaqueBlock(freeze({"type": random_value(rng), "x": random_value(rng)}))
    return rng.choice([TextBlock(text, extras), ImageBlock("https://h/i.png", extras=extras)])


def random_history(rng: random.Random) -> List[Any]:
    """Make a history that is often legal, with results in any order and place."""
    messages: List[Any] = []
    for _ in range(rng.randrange(1, 6)):
        role = rng.choice(["user", "assistant", "assistant", "system"])
        ids: List[str] = []
        blocks: List[Block] = []
        for _ in range(rng.randrange(4)):
            block = random_block(rng, role, ids)
            blocks.append(block)
        if rng.random() < 0.9:  # mostly no id twice
            seen = set()
            kept: List[Block] = []
            for block in blocks:
                if not isinstance(block, ToolCall) or block.id not in seen:
                    kept.append(block)
                    seen.add(getattr(block, "id", None))
            blocks = kept
        name = rng.choice(["content", "reasoning", "tool_calls", "z"])
        extras = freeze({name: random_value(rng)})
        maker = rng.choice([AssistantMessage, Message]) if role == "assistant" else Message
        rest: Dict[str, Any] = {"extras": rng.choice([None, None, extras])}
        rest["form"] = rng.choice([None, "text", "parts", "null", "absent"])
        if maker is AssistantMessage:
            rest["provider"] = rng.choice([None, "p", "q"])
        message = maker(role, tuple(blocks), **rest)
        as_dict = rng.random() < 0.3 and seen_as_dict(message)
        messages.append(message.to_dict() if as_dict else message)
        results: List[Block] = []
        for open_call in message.tool_calls:
            if rng.random() < 0.97:
                made = random_block(rng, "tool", [open_call.id])
                results.append(made)
        rng.shuffle(results)
        while results:
            count = rng.randrange(1, len(results) + 1)
            now, results = results[:count], results[count:]
            role = rng.choice(["tool", "tool", "user"])
            if role == "user" and not results and rng.random() < 0.5:
                now.insert(0, TextBlock("and"))
            messages.append(Message(role, tuple(now)))
    return messages


def seen_as_dict(message: Message) -> bool:
    """Say whether the message can be written and read as a dict."""
    try:
        Message.from_dict(message.to_dict())
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("seed", range(6))
def test_random_histories_are_sent_whole_or_refused(seed: int) -> None:
    """Any history gives a body that encodes and passes its own check, or an LlmError."""
    rng = random.Random(seed)
    counts = {"sent": 0, "refused": 0}
    for round_number in range(150):
        messages = random_history(rng)
        options = ChatCompletionsOptions(
            reasoning_passback=rng.choice(["tool-calls", "always", "never"]),
            reasoning_field=rng.choice(["reasoning_content", "reasoning", "odd"]),
            images=rng.random() < 0.9,
        )
        rest: Dict[str, Any] = {"provider": rng.choice([None, "p"])}
        if rng.random() < 0.1:
            rest[rng.choice(["top_p", "stop", "extra_body", "tools", "system"])] = random_value(rng)
        try:
            body = build_body(LlmRequest.make("m", messages, **rest), options)
        except LlmError as error:
            assert error.code in ("INVALID_REQUEST", "UNSUPPORTED_CONTENT")
            counts["refused"] += 1
            continue
        where = f"seed {seed}, round {round_number}"
        assert json.loads(encode_body(body))["messages"], where
        check_history([Message.from_dict(one) for one in body["messages"]])
        check_order(body["messages"], where)
        counts["sent"] += 1
    assert min(counts.values()) > 15, counts


def check_order(wire: List[Dict[str, Any]], where: str) -> None:
    """Results stand in call order directly after their calls, and no content is null."""
    for position, message in enumerate(wire):
        assert message["content"] is not None, where
        assert None not in message.values(), where
        ids = [one["id"] for one in message.get("tool_calls", ())]
        after = wire[position + 1 : position + 1 + len(ids)]
        assert [one.get("tool_call_id") for one in after] == ids, where
        for one in after:
            assert one["role"] == "tool" and one["content"], where


@pytest.mark.parametrize("seed", range(4))
def test_random_dicts_are_sent_or_refused(seed: int) -> None:
    """Random values for any argument give a body or an LlmError, and nothing else."""
    rng = random.Random(seed)
    names = ["role", "content", "name", "tool_calls", "tool_call_id", "reasoning", "x"]
    settings = [
        "system", "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature",
        "top_p", "seed", "max_tokens", "stop", "reasoning_effort", "extra_body",
    ]
    for _ in range(400):
        messages = [
            {"role": "user", **{name: random_value(rng) for name in rng.sample(names, 2)}}
            for _ in range(rng.randrange(3))
        ]
        rest = {name: random_value(rng) for name in rng.sample(settings, rng.randrange(3))}
        model = rng.choice(["m", random_value(rng)])
        given = rng.choice([messages, messages, messages, random_value(rng)])
        try:
            body = build_body(LlmRequest.make(model, given, **rest))
        except LlmError:
            continue
        encode_body(body)
        check_history([Message.from_dict(one) for one in body["messages"]])


@pytest.mark.parametrize("said,sent", [
    ([("user", "a"), ("user", "b")], [("user", "a\n\nb")]),
    ([("user", ""), ("user", "b"), ("user", "c")], [("user", "b\n\nc")]),
    ([("user", "a"), ("assistant", "x"), ("user", "b")],
     [("user", "a"), ("assistant", "x"), ("user", "b")]),
    ([("system", "s"), ("user", "a")], [("system", "s"), ("user", "a")]),
])
def test_alternating_history(said: List[Tuple[str, str]], sent: List[Tuple[str, str]]) -> None:
    """User messages in a row are joined only for a provider that wants it."""
    messages = [{"role": role, "content": text} for role, text in said]
    body = build_body(LlmRequest.make("m", messages), ChatCompletionsOptions(alternate=True))
    assert [(m["role"], m["content"]) for m in body["messages"]] == sent
    plain = build_body(LlmRequest.make("m", messages))
    assert [(m["role"], m["content"]) for m in plain["messages"]] == said


def test_alternating_history_joins_parts() -> None:
    """An image among user messages in a row keeps its place."""
    messages = [USER, {"role": "user", "content": [IMAGE]}, USER]
    body = build_body(LlmRequest.make("m", messages), ChatCompletionsOptions(alternate=True))
    text = {"type": "text", "text": "hi"}
    assert body["messages"] == [{"role": "user", "content": [text, IMAGE, text]}]
