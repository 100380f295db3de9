# SPDX-License-Identifier: MIT
"""How a neutral request is written for Anthropic Messages, rule by rule."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

import pytest

from streamcore.values.errors import LlmError
from streamcore.values.messages import (
    AssistantMessage, ImageBlock, Message, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall,
    ToolResult,
)
from streamcore.wire.dialects.anthropic_messages import AnthropicMessagesOptions

from anthropic_support import write
from strict_anthropic import faults

TOOL = {"name": "f", "description": "Does it.", "parameters": {"type": "object", "properties": {}}}
SIGNED = ReasoningBlock("hm", "thinking", {"signature": "s"})
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}


def own(*blocks: Any, **more: Any) -> AssistantMessage:
    """Return an answer of the model that is asked."""
    facts = {"provider": "anthropic", "dialect": "anthropic-messages",
             "requested_model": "claude-opus-4-6", "finish": "stop", **more}
    return AssistantMessage(content=tuple(blocks), **facts)


def user(text: str) -> Message:
    return Message("user", (TextBlock(text),))


def results(*ids: str, **more: Any) -> List[Message]:
    return [Message("tool", (ToolResult(one, f"of {one}", **more),)) for one in ids]


def refused(*given: Any, **asked: Any) -> str:
    with pytest.raises(LlmError) as caught:
        write(*given, **asked)
    return caught.value.code


def test_system_stands_at_the_top() -> None:
    """The system prompt and all system messages go to ``system``, wherever they stood."""
    body = write("Hi", system="Be brief.")
    assert (body["system"], len(body["messages"])) == ("Be brief.", 1)
    body = write([Message("developer", (TextBlock("A"),)), user("Hi"),
                  Message("system", (TextBlock("B"),))], system="S")
    assert [block["text"] for block in body["system"]] == ["S", "A", "B"]
    assert "system" not in write("Hi")


def test_max_tokens_is_always_sent() -> None:
    """The caller's cap is sent, else the default of the options."""
    assert write("Hi")["max_tokens"] == 8192
    assert write("Hi", max_tokens=7)["max_tokens"] == 7
    assert write("Hi", options=AnthropicMessagesOptions(default_max_tokens=9))["max_tokens"] == 9


def test_results_of_a_step_are_one_user_message_and_come_first() -> None:
    """Results follow the order of the calls, the user's words come last, errors are marked."""
    calls = own(TextBlock("Well"), ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "f", ""))
    body = write([user("Hi"), calls, *results("b"), *results("a", is_error=True), user("Next")],
                 tools=[TOOL])
    assert body["messages"][1:] == [
        {"role": "assistant", "content": [
            {"type": "text", "text": "Well"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            {"type": "tool_use", "id": "b", "name": "f", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "of a", "is_error": True},
            {"type": "tool_result", "tool_use_id": "b", "content": "of b"},
            {"type": "text", "text": "Next"},
        ]},
    ]
    assert faults(body) == []


def test_neighbours_of_one_role_are_joined_and_the_user_begins() -> None:
    """Roles alternate for any history."""
    body = write([own(TextBlock("A")), user("B"), user("C"), own(TextBlock("D")),
                  own(TextBlock("E")), user("F")])
    assert [message["role"] for message in body["messages"]] == [
        "user", "assistant", "user", "assistant", "user"]
    assert faults(body) == []


def test_own_thinking_and_opaque_blocks_go_back_as_they_came() -> None:
    """Signatures, data and unknown blocks are sent unchanged and in their places."""
    redacted = {"type": "redacted_thinking", "data": "ZW5j"}
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    empty = ReasoningBlock("", "thinking", {"signature": "t"})
    answer = own(SIGNED, empty, OpaqueBlock(redacted), TextBlock("A", {"citations": [{"n": 1}]}),
                 OpaqueBlock(search), OpaqueBlock(found), TextBlock(" \n"), TextBlock("B"))
    assert write([user("Hi"), answer, user("Go on")])["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "thinking", "thinking": "", "signature": "t"},
        redacted, {"type": "text", "text": "A", "citations": [{"n": 1}]}, search, found,
        {"type": "text", "text": "B"},
    ]


@pytest.mark.parametrize("maker", [
    {"provider": "deepseek"}, {"dialect": "chat-completions"}, {"requested_model": "another"},
])
def test_foreign_thinking_is_left_out(maker: Dict[str, str]) -> None:
    """Thinking of another provider, dialect or model is not sent as thinking."""
    answer = own(SIGNED, OpaqueBlock({"type": "redacted_thinking", "data": "x"}),
                 TextBlock("A", {"citations": [{}]}), **maker)
    counters: Dict[str, int] = {}
    body = write([user("Hi"), answer, user("Go on")], diagnostics=counters)
    assert body["messages"][1]["content"] == [{"type": "text", "text": "A"}]
    assert counters["reasoning_left_out"]


def test_unsigned_thinking_goes_back_only_where_it_is_taken() -> None:
    """Anthropic's API refuses thinking without a signature; some servers that copy it want it."""
    history = [user("Hi"), own(ReasoningBlock("hm", "thinking"), TextBlock("A")), user("B")]
    assert [b["type"] for b in write(history)["messages"][1]["content"]] == ["text"]
    sent = write(history, options=AnthropicMessagesOptions(unsigned_thinking="send"))
    assert sent["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm"}


def test_filler_stands_for_thinking_that_a_server_insists_on() -> None:
    """An answer with calls but no thinking goes back with an empty thinking block."""
    options = AnthropicMessagesOptions(unsigned_thinking="send", reasoning_filler="")
    history = [user("Hi"), own(ToolCall("a", "f")), *results("a")]
    content = write(history, options=options)["messages"][1]["content"]
    assert content[0] == {"type": "thinking", "thinking": ""}


def test_answer_of_which_nothing_can_be_sent_has_a_word_in_its_place() -> None:
    """The text ``(no answer)`` stands in for content that cannot be sent."""
    body = write([user("Hi"), own(ReasoningBlock("hm", "thinking")), user("B")])
    assert body["messages"][1]["content"] == [{"type": "text", "text": "(no answer)"}]
    redacted = own(OpaqueBlock({"type": "redacted_thinking", "data": "x"}))
    for thoughts in (redacted, own(SIGNED)):  # no message may end with thinking
        assert faults(write([user("Hi"), thoughts, user("B")])) == []
    assert faults(body) == []


def test_foreign_ids_are_mapped_on_both_sides() -> None:
    """An id that repeats or does not fit the pattern is replaced in the call and its result."""
    history = [
        user("Hi"), own(ToolCall("functions.Bash:0", "f"), ToolCall("b", "f")),
        *results("functions.Bash:0", "b"), own(ToolCall("b", "f")), *results("b"),
    ]
    body = write(history)
    assert faults(body) == [] and write(history) == body
    assert write(history + [user("More")])["messages"][:3] == body["messages"][:3]


@pytest.mark.parametrize("arguments, sent", [
    ("", {}), ("null", {}), ('{"x": [1.5, null]}', {"x": [1.5, None]}), ("[1]", {"value": [1]}),
])
def test_input_is_always_an_object(arguments: str, sent: Any) -> None:
    """Arguments that are not an object are put into one, because the API takes only objects."""
    body = write([user("Hi"), own(ToolCall("a", "f", arguments)), *results("a")])
    assert body["messages"][1]["content"][0]["input"] == sent


def test_server_tool_without_its_result_stands_in_an_open_turn_only() -> None:
    """A paused answer goes back unchanged; after the next user message the call is left out."""
    search = OpaqueBlock({"type": "server_tool_use", "id": "s", "name": "g", "input": {}})
    paused = own(TextBlock("A"), search, finish="paused")
    assert len(write([user("Hi"), paused])["messages"][1]["content"]) == 2
    waits = own(ToolCall("a", "f"), search)
    assert len(write([user("Hi"), waits, *results("a")])["messages"][1]["content"]) == 2
    counters: Dict[str, int] = {}
    body = write([user("Hi"), paused, user("B")], diagnostics=counters)
    assert len(body["messages"][1]["content"]) == 1 and faults(body) == []
    assert counters["server_tool_without_result"] == 1
    found = OpaqueBlock({"type": "g_tool_result", "tool_use_id": "s", "content": []})
    whole = write([user("Hi"), paused, own(found, TextBlock("B")), user("C")])
    assert len(whole["messages"][1]["content"]) == 4


def test_images_and_documents() -> None:
    """Image blocks and OpenAI's parts become Anthropic's blocks, in tool results too."""
    data = "data:image/png;base64,aGk="
    base64 = {"type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": "aGk="}}
    url = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}
    pdf = {"type": "file", "file": {"filename": "a.pdf",
                                    "file_data": "data:application/pdf;base64,aGk="}}
    parts = [ImageBlock(data), ImageBlock("https://x/y.png"), OpaqueBlock(DOCUMENT),
             OpaqueBlock({"type": "image_url", "image_url": {"url": data, "detail": None}}),
             OpaqueBlock(pdf)]
    sent = write([Message("user", tuple(parts))])["messages"][0]["content"]
    assert sent[:4] == [base64, url, DOCUMENT, base64]
    assert sent[4] == {"type": "document", "title": "a.pdf", "source": {
        "type": "base64", "media_type": "application/pdf", "data": "aGk="}}
    told = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": data}}]
    history = [user("Hi"), own(ToolCall("a", "f")),
               Message("tool", (ToolResult("a", told),))]  # type: ignore[arg-type]
    assert write(history)["messages"][2]["content"][0]["content"] == [told[0], base64]


@pytest.mark.parametrize("part, code", [
    (OpaqueBlock({"type": "input_audio", "input_audio": {}}), "UNSUPPORTED_CONTENT"),
    (OpaqueBlock({"type": "file", "file": {"file_id": "x"}}), "UNSUPPORTED_CONTENT"),
    (OpaqueBlock({"text": "a"}), "INVALID_REQUEST"),
    (ImageBlock("data:image/png,raw"), "INVALID_REQUEST"), (ImageBlock("y.png"), "INVALID_REQUEST"),
])
def test_part_without_a_form_is_refused(part: Any, code: str) -> None:
    """A part that cannot be sent is refused before any I/O, not dropped."""
    assert refused([Message("user", (part,))]) == code


@pytest.mark.parametrize("extra", [{"tools": 5}, {"tools": [1]}, {"system": [1]}])
def test_extra_body_that_no_request_could_have_is_refused(extra: Dict[str, Any]) -> None:
    """It is refused before any I/O, with and without marks for the cache."""
    for cache in (None, "auto"):
        assert refused("Hi", extra_body=extra, cache=cache) == "INVALID_REQUEST"


def test_image_is_refused_where_the_server_takes_none() -> None:
    """The option ``images`` decides, in tool results too."""
    options = AnthropicMessagesOptions(images=False)
    assert refused([Message("user", (ImageBlock("https://x/y"),))], options=options) == (
        "UNSUPPORTED_CONTENT")


def test_tools_in_their_form() -> None:
    """Functions become tools with an input_schema; tools of the provider stay unchanged."""
    strict = {"type": "function", "function": {**TOOL, "strict": True},
              "cache_control": {"type": "ephemeral"}}
    search = {"type": "web_search_20250305", "name": "web_search"}
    bare = {"name": "g", "input_schema": {"type": "object", "properties": {"x": {}}}}
    assert write("Hi", tools=[strict, search, bare, {"name": "h"}])["tools"] == [
        {"name": "f", "description": "Does it.", "strict": True,
         "input_schema": {"type": "object", "properties": {}},
         "cache_control": {"type": "ephemeral"}},
        search, bare, {"name": "h", "input_schema": {"type": "object", "properties": {}}},
    ]


@pytest.mark.parametrize("choice, parallel, sent", [
    (None, None, None), ("auto", None, {"type": "auto"}), ("none", False, {"type": "none"}),
    ("required", None, {"type": "any"}), ("f", None, {"type": "tool", "name": "f"}),
    (None, False, {"type": "auto", "disable_parallel_tool_use": True}), (None, True, None),
    ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
    ({"type": "function", "function": {"name": "f"}}, None, {"type": "tool", "name": "f"}),
    ({"type": "any"}, None, {"type": "any"}),
])
def test_tool_choice_in_its_forms(choice: Any, parallel: Optional[bool], sent: Any) -> None:
    """The choice may be a neutral word, a name, OpenAI's dict or Anthropic's own."""
    body = write("Hi", tools=[TOOL], tool_choice=choice, parallel_tool_calls=parallel)
    assert body.get("tool_choice") == sent and faults(body) == []


def test_parallel_calls_say_nothing_without_tools() -> None:
    """The API refuses a tool_choice without tools, so none is sent."""
    assert "tool_choice" not in write("Hi", parallel_tool_calls=False)


def test_settings() -> None:
    """Stop words, sampling settings and the caller's own fields are written."""
    body = write("Hi", stop="END", temperature=0.5, top_p=0.9, extra_body={"top_k": 3})
    assert (body["stop_sequences"], body["temperature"], body["top_p"], body["top_k"]) == (
        ["END"], 0.5, 0.9, 3)
    assert write("Hi", stop=["a", "b"])["stop_sequences"] == ["a", "b"]
    assert body["stream"] is True


@pytest.mark.parametrize("asked", [
    {"seed": 1}, {"extra_body": {"stream": False}}, {"extra_body": {"model": "x"}},
    {"temperature": float("nan")}, {"max_tokens": 0}, {"response_format": {"type": "json_object"}},
    {"response_format": {"type": "json_schema"}}, {"tool_choice": 3, "tools": [TOOL]},
    {"reasoning_effort": "high", "temperature": 0.5},
    {"reasoning_effort": "high", "tools": [TOOL], "tool_choice": "required"},
])
def test_what_has_no_place_is_refused(asked: Dict[str, Any]) -> None:
    """A setting that cannot be sent is refused before any I/O, not dropped."""
    assert refused("Hi", **asked) == "INVALID_REQUEST"


@pytest.mark.parametrize("history", [
    [user("Hi"), own(ToolCall("a", "f"))], [user("Hi"), *results("a")], [],
    [user("Hi"), own(ToolCall("a", "f", '{"x"')), *results("a")],
])
def test_history_no_provider_takes_is_refused(history: List[Any]) -> None:
    """Unanswered calls, results without a call, bad arguments and an empty history are refused."""
    assert refused(history) == "INVALID_REQUEST"


# Thinking.


@pytest.mark.parametrize("model, fields", [
    ("claude-opus-4-6", {"thinking": {"type": "adaptive", "display": "summarized"},
                         "output_config": {"effort": "high"}}),
    ("claude-opus-5", {"thinking": {"type": "adaptive", "display": "summarized"},
                       "output_config": {"effort": "high"}}),
    *((model, {"thinking": {"type": "enabled", "budget_tokens": 16384}, "max_tokens": 24576})
      for model in ("claude-3-7-sonnet-20250219", "claude-sonnet-4-20250514", "claude-opus-4-1",
                    "claude-sonnet-4-5", "claude-haiku-4-5-20251001", "claude-sonnet-4-0",
                    "anthropic/claude-sonnet-4.5", "claude-opus-4@20250514",
                    "us.anthropic.claude-sonnet-4-20250514-v1:0")),
])
def test_effort_by_name_or_as_a_budget(model: str, fields: Dict[str, Any]) -> None:
    """Newer models get the effort by name; older ones get a budget, added to the default cap."""
    body = write("Hi", model=model, reasoning_effort="high")
    assert {name: body.get(name) for name in fields} == fields
    assert faults(body) == []


def test_effort_off_turns_thinking_off() -> None:
    """``off`` sends ``disabled``, and a temperature may be sent with it."""
    body = write("Hi", reasoning_effort="off", temperature=0)
    assert body["thinking"] == {"type": "disabled"}


def test_budget_leaves_room_under_the_callers_cap() -> None:
    """The budget is at most three quarters of max_tokens; if that is too little, it is refused."""
    body = write("Hi", model="claude-sonnet-4-5", reasoning_effort="max", max_tokens=4000)
    assert (body["thinking"]["budget_tokens"], body["max_tokens"]) == (3000, 4000)
    assert refused("Hi", model="claude-sonnet-4-5", reasoning_effort="low", max_tokens=1200) == (
        "INVALID_REQUEST")


def test_models_that_take_a_budget_are_an_option() -> None:
    """With an empty pattern, no model gets a budget."""
    options = AnthropicMessagesOptions(budget_models="")
    body = write("Hi", model="claude-sonnet-4-5", reasoning_effort="low", options=options)
    assert body["thinking"]["type"] == "adaptive"
    with pytest.raises(ValueError):
        AnthropicMessagesOptions(budget_models="(")


@pytest.mark.parametrize("first, thinks", [
    (own(SIGNED, ToolCall("a", "f")), True),
    (own(SIGNED, ToolCall("a", "f"), requested_model="another"), False),
    (own(OpaqueBlock({"type": "redacted_thinking", "data": "x"}), ToolCall("a", "f")), True),
    (own(ToolCall("a", "f")), False),
])
def test_turn_that_did_not_begin_with_thinking_goes_on_without(first: Any, thinks: bool) -> None:
    """If a turn began without thinking, a budget is left out and counted."""
    counters: Dict[str, int] = {}
    budget = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    history = [user("Hi"), first, *results("a"), own(ToolCall("b", "f")), *results("b")]
    body = write(history, extra_body=budget, diagnostics=counters, tools=[TOOL])
    assert ("thinking" in body, counters.get("thinking_left_out", 0)) == (thinks, not thinks)
    assert faults(body) == []
    closed = write([*history, own(TextBlock("C")), user("D")], extra_body=budget)
    assert "thinking" in closed and faults(closed) == []


# Structured output.


SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "point", "schema": SCHEMA}}


def test_structured_output_as_an_output_format() -> None:
    """OpenAI's dict and Anthropic's own become ``output_config.format``; an effort stays."""
    body = write("Hi", response_format=FORMAT, reasoning_effort="low")
    wanted = {"type": "json_schema", "schema": SCHEMA}
    assert body["output_config"] == {"effort": "low", "format": wanted}
    assert write("Hi", response_format=wanted)["output_config"] == {"format": wanted}
    assert "output_config" not in write("Hi", response_format={"type": "text"})


def test_structured_output_as_a_forced_tool() -> None:
    """With the option ``tool`` the schema is the only tool; with ``none`` it is refused."""
    options = AnthropicMessagesOptions(structured_output="tool")
    body = write("Hi", response_format=FORMAT, options=options)
    assert body["tools"] == [{"name": "point", "input_schema": SCHEMA}]
    assert body["tool_choice"] == {"type": "tool", "name": "point"}
    assert refused("Hi", response_format=FORMAT, options=options, tools=[TOOL]) == (
        "INVALID_REQUEST")
    options = AnthropicMessagesOptions(structured_output="none")
    assert refused("Hi", response_format=FORMAT, options=options) == "UNSUPPORTED_CONTENT"


# Caching.


def marks(body: Dict[str, Any]) -> List[str]:
    """Return the texts and names of the marked blocks."""
    blocks = [*body.get("tools", []), *body["system"], *(
        block for message in body["messages"] for block in message["content"])]
    return [b.get("name") or b.get("text") or b["content"] for b in blocks if "cache_control" in b]


def test_caching_marks_tools_system_and_the_last_turns() -> None:
    """Auto marks stand on at most four blocks that the next request repeats."""
    history = [user("One"), own(SIGNED, ToolCall("a", "f")), *results("a"),
               own(TextBlock("A")), user("Two")]
    body = write(history, system="Be brief.", tools=[TOOL, {"name": "g"}], cache="auto")
    assert marks(body) == ["g", "Be brief.", "of a", "Two"]
    assert faults(body) == []
    assert "cache_control" not in json.dumps(write(history, tools=[TOOL]))


def test_marks_set_by_hand_stay_and_count() -> None:
    """The caller's marks use up the four; more than four are refused."""
    hand = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    said = [Message("user", (TextBlock(f"{n}", hand), TextBlock("x"))) for n in range(3)]
    body = write([*said, user("Last")], system="S", tools=[TOOL], cache="auto")
    assert marks(body) == ["0", "1", "2", "Last"]
    more = [Message("user", (TextBlock(f"{n}", hand),)) for n in range(5)]
    assert refused(more) == "INVALID_REQUEST"


def test_cache_has_one_word() -> None:
    """A word other than ``auto`` is refused."""
    assert refused("Hi", cache="always") == "INVALID_REQUEST"
