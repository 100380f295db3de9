# SPDX-License-Identifier: MIT
"""Profiles: their values, what they refuse, and what each of their notes changes.

Every note in the package stands in ``NOTES`` with a check of what it changes, and every
setting that differs from a well-behaved provider's is explained by a note there; two
tests hold the tables complete.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
import shutil
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Tuple

import pytest

from streamcore.providers import (
    PROFILES,
    ModelInfo,
    OptionNote,
    ProviderProfile,
    get_profile,
    list_profiles,
)
from streamcore.values.calls import LlmRequest
from streamcore.values.errors import LlmError
from streamcore.values.frozen import freeze, thaw
from streamcore.values.limits import Limits, resolve_limits
from streamcore.values.messages import (
    AssistantMessage,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
)
from streamcore.wire.assembler import assemble
from streamcore.wire.failures import failure_from_answer
from streamcore.wire.pipeline import parse_stream
from fresh_support import fresh
from support import DONE, D, F, J, call, run, build_body

ROOT = Path(__file__).resolve().parents[2]

NAMES = (
    "openai deepseek openrouter groq mistral gemini xai moonshot zhipu dashscope together"
    " fireworks azure ollama llama.cpp vllm lmstudio transformers perplexity cerebras"
    " huggingface github-copilot baseten databricks azure-ai-foundry openai-compatible"
).split()
LOCAL = ("ollama", "llama.cpp", "vllm", "lmstudio", "transformers")
CHAT = [one for one in list_profiles() if one.dialect == "chat-completions"]
EVERY = [pytest.param(profile, id=profile.name) for profile in CHAT]
PLAIN = ProviderProfile("plain", "https://h/v1")


# What each note changes


def body_of(profile: ProviderProfile, messages: Any = "hi", **config: Any) -> Dict[str, Any]:
    """Return the body this profile's settings write."""
    request = LlmRequest.make("m", messages, provider=profile.name, **config)
    options = profile.dialect_options(profile.model("m"))
    return build_body(request, options, effort_fields(profile, config.get("reasoning_effort")))


def effort_fields(profile: ProviderProfile, effort: Any, name: str = "m") -> Mapping[str, Any]:
    """Return the body fields of an effort, decided as the runtime and the adapter decide."""
    model = profile.model(name)
    effort = model.default_effort if effort is None else effort
    model.check_effort(effort)
    return profile.effort_fields(effort)


def answer_sent_back(profile: ProviderProfile, **extras: Any) -> Dict[str, Any]:
    """Return an assistant message of this provider, with a call, as it goes back."""
    content = (ReasoningBlock("hm"), ToolCall("c", "f", "{}"))
    history = [
        {"role": "user", "content": "hi"},
        Message("assistant", content, extras=freeze(extras) or None),
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]
    back: Dict[str, Any] = body_of(profile, history)["messages"][1]
    return back


def caps_output(profile: ProviderProfile) -> None:
    body = body_of(profile, max_tokens=7)
    assert body["max_completion_tokens"] == 7 and "max_tokens" not in body


def leaves_stream_options_out(profile: ProviderProfile) -> None:
    assert "stream_options" not in body_of(profile)


def alternates(profile: ProviderProfile) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "a"}, {"role": "user", "content": "b"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"}, {"role": "user", "content": "d"},
    ]
    sent = build_body(LlmRequest.make("m", said), profile.options)["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[0]["content"] == "a\n\nb"


def keeps_reasoning(profile: ProviderProfile) -> None:
    back = answer_sent_back(profile)
    assert not {"reasoning", "reasoning_content", "reasoning_text"} & set(back)


def returns_reasoning_as(name: str) -> Callable[[ProviderProfile], None]:
    def check(profile: ProviderProfile) -> None:
        back = answer_sent_back(profile)
        named = {key for key in back if key.startswith("reasoning")}
        assert named == {name} and back[name] == "hm"

    return check


def returns_details(profile: ProviderProfile) -> None:
    returns_reasoning_as("reasoning")(profile)
    details = [{"type": "reasoning.encrypted", "data": "x"}]
    assert answer_sent_back(profile, reasoning_details=details)["reasoning_details"] == details


def returns_opaque(profile: ProviderProfile) -> None:
    returns_reasoning_as("reasoning_text")(profile)
    assert answer_sent_back(profile, reasoning_opaque="x")["reasoning_opaque"] == "x"


def reads_cut(profile: ProviderProfile) -> None:
    body = D({"content": "a"}) + F("stop", usage={"prompt_tokens": 1, "completion_tokens": 7})
    told = parse_stream([body + DONE], options=profile.options, max_tokens=7)
    assert assemble(told).finish == "max-tokens"


def test_image_of_megabytes_is_read_where_models_make_images() -> None:
    """OpenRouter sends an image whole, in one event."""
    body = D({"images": [{"image_url": {"url": "data:image/png;base64," + "A" * 2_000_000}}]})
    told = parse_stream([body + F("stop") + DONE], limits=get_profile("openrouter").limits)
    assert [block.type for block in assemble(told).content] == ["opaque"]


def ends_without_done(profile: ProviderProfile) -> None:
    body = D({"content": "a"}) + F("stop")
    assert run(body, done_marker=profile.options.done_marker).message.text == "a"
    assert run(body).code == "STREAM_CLOSED"


def ends_unterminated(profile: ProviderProfile) -> None:
    body = D({"content": "a"}) + F("stop") + b"data: [DONE]"
    for tail in (b"", b"\n"):
        assert run(body + tail, done_marker=profile.options.done_marker).message.text == "a"
        assert run(body + tail).code == "STREAM_CLOSED"


def switches(**efforts: Dict[str, Any]) -> Callable[[ProviderProfile], None]:
    def check(profile: ProviderProfile) -> None:
        assert profile.efforts == efforts
        for word, expected in efforts.items():
            body = body_of(profile, reasoning_effort=word)
            assert {key: body[key] for key in expected} == expected
            assert ("reasoning_effort" in body) == ("reasoning_effort" in expected)

    return check


def takes_no_effort(profile: ProviderProfile) -> None:
    with pytest.raises(LlmError, match="takes no reasoning effort"):
        body_of(profile, reasoning_effort="low")
    assert "reasoning_effort" not in body_of(profile)


def splits_efforts_by_model(profile: ProviderProfile) -> None:
    old, new = "kimi-k2.6", "kimi-k3"
    assert effort_fields(profile, "off", old) == {"thinking": {"type": "disabled"}}
    assert effort_fields(profile, "on", old) == {"thinking": {"type": "enabled"}}
    assert effort_fields(profile, "max", new) == {"reasoning_effort": "max"}
    for word, model in (("max", old), ("off", new)):
        with pytest.raises(LlmError):
            effort_fields(profile, word, model)


def takes_no_images(profile: ProviderProfile) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://h/i.png"}}
    with pytest.raises(LlmError) as caught:
        body_of(profile, [{"role": "user", "content": [image]}])
    assert caught.value.code == "UNSUPPORTED_CONTENT"


def sends_ids(pattern: str, unique: bool = False) -> Callable[[ProviderProfile], None]:
    """Check that the ids of calls and results fit, and that they are unique if they must be."""
    def check(profile: ProviderProfile) -> None:
        told = ["call_0", "functions.f:0", "x" * 60, "", "call_0"]
        history: List[Any] = [{"role": "user", "content": "hi"}]
        for one in told:
            history.append(Message("assistant", (ToolCall(one, "f"),)))
            history.append({"role": "tool", "tool_call_id": one, "content": "1"})
        sent = body_of(profile, history)["messages"]
        ids = [m["tool_calls"][0]["id"] for m in sent if m.get("tool_calls")]
        assert ids == [m["tool_call_id"] for m in sent if m["role"] == "tool"]
        assert all(re.fullmatch(pattern, one) for one in ids)
        assert (len(set(ids)) == 5) is unique and len(set(ids)) >= 4

    return check


def knows_developers(profile: ProviderProfile) -> None:
    said = [{"role": "developer", "content": "d"}, {"role": "user", "content": "hi"}]
    assert [m["role"] for m in body_of(profile, said)["messages"]] == ["developer", "user"]


def sends_no_blank_text(profile: ProviderProfile) -> None:
    call = ToolCall("c", "f")
    said: List[Any] = [
        {"role": "user", "content": " "}, Message("assistant", (TextBlock("\n\n"), call)),
        {"role": "tool", "tool_call_id": "c", "content": " \n"},
    ]
    sent = body_of(profile, said)["messages"]
    assert [m["content"] for m in sent] == ["(no message)", "", "(no output)"]


def takes_any_tool_name(profile: ProviderProfile) -> None:
    tools = [{"name": "a.b c" + "x" * 70}]
    assert body_of(profile, tools=tools)["tools"][0]["function"]["name"] == tools[0]["name"]


def takes_google_names(profile: ProviderProfile) -> None:
    assert body_of(profile, tools=[{"name": "a.b:c"}])
    with pytest.raises(LlmError, match="tool name"):
        body_of(profile, tools=[{"name": "1a"}])


def drops_keywords(profile: ProviderProfile) -> None:
    inner = {"type": "object", "additionalProperties": False, "examples": [{}]}
    schema = {"$schema": "x", "type": "object", "properties": {"examples": inner}}
    sent = body_of(profile, tools=[{"name": "f", "parameters": schema}])["tools"][0]["function"]
    assert sent["parameters"] == {
        "type": "object", "properties": {"examples": {"type": "object"}},
    }


def joins_system(profile: ProviderProfile) -> None:
    said = [{"role": "user", "content": "hi"}, {"role": "system", "content": "b"}]
    sent = body_of_system(profile, said)
    assert sent == [{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "hi"}]


def body_of_system(profile: ProviderProfile, messages: Any) -> List[Any]:
    request = LlmRequest.make("m", messages, "a", provider=profile.name)
    sent: List[Any] = build_body(request, profile.options)["messages"]
    return sent


def caps_output_by_model(profile: ProviderProfile) -> None:
    caps(profile, "gpt-5", "databricks-gpt-5-mini", "o4-mini", "openai/o3")
    for model in ("gpt-4o", "llama-4", "claude-opus-4", "gpt-50", "foo3"):
        body = build_body(LlmRequest.make(model, "hi", max_tokens=7), profile.options)
        assert body["max_tokens"] == 7 and "max_completion_tokens" not in body


def caps(profile: ProviderProfile, *models: str) -> None:
    for model in models:
        body = build_body(LlmRequest.make(model, "hi", max_tokens=7), profile.options)
        assert body["max_completion_tokens"] == 7 and "max_tokens" not in body


def fills_reasoning(filler: str, always: bool) -> Callable[[ProviderProfile], None]:
    def check(profile: ProviderProfile) -> None:
        other = AssistantMessage(
            content=(ReasoningBlock("theirs"), ToolCall("c", "f")), provider="another"
        )
        said: List[Any] = [
            {"role": "user", "content": "hi"}, other,
            {"role": "tool", "tool_call_id": "c", "content": "1"},
            {"role": "assistant", "content": "so"}, {"role": "user", "content": "and?"},
        ]
        sent = body_of(profile, said)["messages"]
        assert sent[1]["reasoning_content"] == filler
        assert sent[3].get("reasoning_content") == (filler if always else None)
        returns_reasoning_as("reasoning_content")(profile)

    return check


def joins_parts(profile: ProviderProfile) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    said = [
        {"role": role, "content": parts} for role in ("system", "user", "assistant", "user")
    ]
    call = ToolCall("c", "f")
    said += [Message("assistant", (call,)), Message("tool", (ToolResult("c", freeze(parts)),))]
    sent = [m["content"] for m in body_of(profile, said)["messages"]]
    assert sent == ["a\n\nb", "a\n\nb", "ab", "a\n\nb", "", "a\n\nb"]


def takes_no_addresses(profile: ProviderProfile) -> None:
    for url, code in (("https://h/i.png", "UNSUPPORTED_CONTENT"), (DATA_URL, None)):
        image = {"type": "image_url", "image_url": {"url": url}}
        said = [{"role": "user", "content": [image]}]
        if code is None:
            assert body_of(profile, said)["messages"][0]["content"] == [image]
        else:
            with pytest.raises(LlmError) as caught:
                body_of(profile, said)
            assert caught.value.code == code


def sends_bare_key(profile: ProviderProfile) -> None:
    assert (profile.key_header, profile.key_prefix) == ("api-key", "")


def sends_session_as(name: str) -> Callable[[ProviderProfile], None]:
    def check(profile: ProviderProfile) -> None:
        assert profile.session_header == name

    return check


def sends_editor(profile: ProviderProfile) -> None:
    assert dict(profile.headers) == {"Editor-Version": "streamcore/1"}


def lives_at(path: str) -> Callable[[ProviderProfile], None]:
    def check(profile: ProviderProfile) -> None:
        whole = f"https://x.example{path}/chat/completions"
        assert profile.url("https://x.example") == profile.url("https://x.example/") == whole
        assert profile.url(f"https://x.example{path}/") == whole
        own = profile.url("https://x.example/openai/deployments/d?api-version=1")
        assert own == "https://x.example/openai/deployments/d/chat/completions?api-version=1"

    return check


def usage_of(body: bytes, **options: Any) -> Any:
    found = run(body, **options).message.usage
    assert found is not None
    return found


def takes_cache_out(profile: ProviderProfile) -> None:
    report = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 6}
    usage = usage_of(D({"content": "a"}) + F("stop", usage=report) + DONE)
    assert (usage.input_tokens, usage.cache_read_tokens) == (4, 6)


def reads_x_groq(profile: ProviderProfile) -> None:
    report = {"prompt_tokens": 3, "completion_tokens": 2}
    body = D({"content": "a"}) + F("stop", x_groq={"id": "r", "usage": report}) + DONE
    assert usage_of(body).input_tokens == 3


def fails_on_error_event(profile: ProviderProfile) -> None:
    error = b'event: error\ndata: {"error":{"message":"bad","code":"tool_use_failed"}}\n\n'
    assert run(D({"content": "a"}) + error).code == "INVALID_REQUEST"


def reads_late_usage(profile: ProviderProfile) -> None:
    report = {"prompt_tokens": 3, "completion_tokens": 2}
    body = D({"content": "a"}) + F("stop") + D({"content": ""}, usage=report) + DONE
    assert usage_of(body).output_tokens == 2


def takes_last_usage(profile: ProviderProfile) -> None:
    body = b"".join(
        D({"content": "a"}, usage={"prompt_tokens": 3, "completion_tokens": n}) for n in (1, 2)
    )
    assert usage_of(body + F("stop") + DONE).output_tokens == 2


def reads_calls(*fragments: Dict[str, Any]) -> Callable[[ProviderProfile], None]:
    """Check that these fragments are the call f with {"a":1}, and g with {} where it is named."""
    two = any(f["tool_calls"][0]["function"].get("name") == "g" for f in fragments)
    expected = [("f", '{"a":1}'), ("g", "{}")][: 2 if two else 1]

    def check(profile: ProviderProfile) -> None:
        body = b"".join(D(fragment) for fragment in fragments) + F("tool_calls") + DONE
        assert [(name, arguments) for _, name, arguments in run(body).calls()] == expected

    return check


def keeps_signature(profile: ProviderProfile) -> None:
    extra = {"google": {"thought_signature": "AAA"}}
    fragment = call(0, "c", "f", "{}", extra_content=extra)
    message = run(D(fragment) + F("tool_calls") + DONE).message
    result = {"role": "tool", "tool_call_id": "c", "content": "1"}
    sent = body_of(profile, [{"role": "user", "content": "hi"}, message, result])["messages"][1]
    assert sent["tool_calls"][0]["extra_content"] == extra


def reads_parts(kind: str, inner: str) -> Callable[[ProviderProfile], None]:
    def check(profile: ProviderProfile) -> None:
        part = {"type": kind, inner: [{"type": "text", "text": "hm"}]}
        if kind == "reasoning":
            part = {"type": kind, inner: [{"type": "summary_text", "text": "hm"}]}
        body = D({"content": [part]}) + D({"content": "a"}) + F("stop")
        outcome = run(body + DONE)
        assert outcome.deltas("reasoning-delta") == ["hm"] and outcome.message.text == "a"
        if profile.options.reasoning_passback == "never":
            keeps_reasoning(profile)

    return check


def reads_two_sentences(profile: ProviderProfile) -> None:
    body = {"code": "invalid", "error": "This model's maximum prompt length is 8 but it has 9."}
    failure = failure_from_answer(400, {}, json.dumps(body).encode())
    assert failure.code == "CONTEXT_WINDOW_EXCEEDED" and "maximum prompt length" in failure.message


def reads_full_context(profile: ProviderProfile) -> None:
    body = {"error": {"code": 400, "message": "too big", "type": "exceed_context_size_error"}}
    failure = failure_from_answer(400, {}, json.dumps(body).encode())
    assert failure.code == "CONTEXT_WINDOW_EXCEEDED"


def frame(choice: Dict[str, Any]) -> bytes:
    return J({"id": "c1", "choices": [choice]})


def reads_phases(profile: ProviderProfile) -> None:
    body = b"".join(frame({"index": i, "delta": {"content": t}}) for i, t in enumerate("abcd"))
    assert run(body + DONE).message.text == "abcd"


def reads_delta_beside(**beside: Any) -> Callable[[ProviderProfile], None]:
    def check(profile: ProviderProfile) -> None:
        body = b"".join(
            frame({"index": 0, "delta": {"content": text}, **beside}) for text in ("a", "b")
        )
        body += frame({"index": 0, "delta": {"content": ""}, "finish_reason": "stop", **beside})
        assert run(body + DONE).message.text == "ab"

    return check


def reads_two_finish_words(profile: ProviderProfile) -> None:
    body = D(call(0, "c", "f", "{}"), "tool_calls") + F("stop") + DONE
    assert run(body).message.finish == "tool-calls"


def passes_first_frame_over(profile: ProviderProfile) -> None:
    first = J({"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
    assert run(first + D({"content": "a"}) + F("stop") + DONE).message.text == "a"


DATA_URL = "data:image/png;base64,iVBORw0KGgo="
Check = Callable[[ProviderProfile], None]
ADDRESS = frozenset({"base_path"})
KEY = frozenset({"key_header", "key_prefix"})
DONE_MARK, CAP = frozenset({"done_marker"}), frozenset({"max_tokens_field"})
BACK = frozenset({"reasoning_passback"})
FIELD, EFFORTS = frozenset({"reasoning_field"}), frozenset({"efforts"})
CUT = frozenset({"cut_as_complete"})
NOTHING: FrozenSet[str] = frozenset()
Row = Tuple[str, FrozenSet[str], Check]
GATEWAY_IDS: Row = (
    "the id of a call has at most 40 letters", frozenset({"call_ids", "unique_call_ids"}),
    sends_ids("[A-Za-z0-9_-]{1,40}", unique=True),
)
OPENAI_IDS: Row = (
    "the id of a call has at most 40", frozenset({"call_ids"}), sends_ids("(?s:.{1,40})"),
)
NO_BLANKS: Row = ("empty or blank text is not sent", frozenset({"blank_text"}), sends_no_blank_text)
ANY_NAME: Row = ("a tool may have any name", frozenset({"tool_names"}), takes_any_tool_name)
DEVELOPERS: Row = (
    "messages of the role `developer`", frozenset({"developer_role"}), knows_developers,
)
ONE_SYSTEM: Row = (
    "there is one system message", frozenset({"one_system_message"}), joins_system,
)
CAP_BY_MODEL: Row = (
    "GPT-5 and the o models get the output cap", frozenset({"max_completion_tokens_models"}),
    caps_output_by_model,
)
NO_ADDRESSES: Row = (
    "an image is sent as data", frozenset({"image_addresses"}), takes_no_addresses,
)
FILLER = frozenset({"reasoning_filler"})

WORDS = ("none", "minimal", "low", "medium", "high", "xhigh")
THINKING = {
    "off": {"thinking": {"type": "disabled"}}, "on": {"thinking": {"type": "enabled"}},
}
DEEPSEEK_EFFORTS = {
    "off": {"thinking": {"type": "disabled"}},
    "high": {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
    "max": {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
}
GLM: List[Tuple[str, FrozenSet[str], Check]] = [
    ("`thinking.type` turns thinking on and off", EFFORTS, switches(**THINKING)),
    ("`reasoning_content` goes back", NOTHING, returns_reasoning_as("reasoning_content")),
    ("the choice index may grow within one answer", NOTHING, reads_phases),
    ("a call without reasoning goes back", FILLER, fills_reasoning(" ", always=False)),
]

NOTES: Dict[str, List[Tuple[str, FrozenSet[str], Check]]] = {
    "openai": [
        ("the output cap is sent as", CAP, caps_output),
        ("reasoning is never sent back", BACK, keeps_reasoning),
        OPENAI_IDS,
        DEVELOPERS,
    ],
    "deepseek": [
        ("`thinking.type` turns thinking on and off", EFFORTS, switches(**DEEPSEEK_EFFORTS)),
        ("`reasoning_content` goes back", BACK | FILLER, fills_reasoning("", always=True)),
        ("image parts are refused", frozenset({"images"}), takes_no_images),
        ("cached input is reported as", NOTHING, takes_cache_out),
        ("the parts of a text are joined", frozenset({"text_parts"}), joins_parts),
    ],
    "openrouter": [
        ("the effort is sent as `reasoning.effort`", EFFORTS,
         switches(**{word: {"reasoning": {"effort": word}} for word in WORDS})),
        ("reasoning goes back in `reasoning`", FIELD, returns_details),
        ("several calls of one answer may all have the index 0", NOTHING,
         reads_calls(call(0, "x", "f", '{"a":1}'), call(0, "y", "g", "{}"))),
        ("usage comes after the finish word", NOTHING, reads_late_usage),
        GATEWAY_IDS,
        NO_BLANKS,
    ],
    "groq": [
        ("the output cap is sent as", CAP, caps_output),
        ("reasoning is never sent back", BACK | FIELD, keeps_reasoning),
        ("usage may come only as `x_groq.usage`", NOTHING, reads_x_groq),
        ("a failed tool call ends the stream", NOTHING, fails_on_error_event),
    ],
    "mistral": [
        ("user and assistant messages must alternate", frozenset({"alternate"}), alternates),
        ("`stream_options` is left out", frozenset({"stream_options"}), leaves_stream_options_out),
        ("reasoning is never sent back", BACK, keeps_reasoning),
        ("content may be a list of", NOTHING, reads_parts("thinking", "thinking")),
        ("the id of a call has exactly nine", frozenset({"call_ids"}), sends_ids("[A-Za-z0-9]{9}")),
    ],
    "gemini": [
        ("reasoning is never sent back", BACK, keeps_reasoning),
        ("a call has `extra_content", NOTHING, keeps_signature),
        ("a tool's name begins with a letter", frozenset({"tool_names"}), takes_google_names),
        ("tool schemas are sent without", frozenset({"schema_without"}), drops_keywords),
    ],
    "xai": [
        ("the output cap is sent as", CAP, caps_output),
        ("the session id is sent in", frozenset({"session_header"}),
         sends_session_as("x-grok-conv-id")),
        ("an error is", NOTHING, reads_two_sentences),
    ],
    "moonshot": [
        ("the output cap is sent as", CAP, caps_output),
        ("older models take `thinking.type`", EFFORTS, splits_efforts_by_model),
        ("`reasoning_content` goes back", NOTHING, returns_reasoning_as("reasoning_content")),
        ("a call without reasoning goes back", FILLER, fills_reasoning(" ", always=False)),
        NO_BLANKS,
        NO_ADDRESSES,
    ],
    "zhipu": GLM,
    "zai": GLM,
    "dashscope": [
        ("`enable_thinking` turns thinking on and off", EFFORTS,
         switches(off={"enable_thinking": False}, on={"enable_thinking": True})),
        ("later fragments of a call have an empty id", NOTHING,
         reads_calls(call(0, "x", "f", '{"a"'), call(0, "", None, ":1}"))),
        ONE_SYSTEM,
    ],
    "together": [
        ("reasoning comes and goes back in", FIELD, returns_reasoning_as("reasoning")),
        ("text comes a second time", NOTHING, reads_delta_beside(text="zz")),
        ("`tool_calls` may be followed by", NOTHING, reads_two_finish_words),
    ],
    "fireworks": [
        ("the session id is sent in", frozenset({"session_header"}),
         sends_session_as("x-session-affinity")),
        ONE_SYSTEM,
    ],
    "azure": [
        ("the key is sent in `api-key`", KEY, sends_bare_key),
        ("every resource has its own address", ADDRESS, lives_at("/openai/v1")),
        ("the output cap is sent as", CAP, caps_output),
        ("reasoning is never sent back", BACK, keeps_reasoning),
        ("the first payload has no choices", NOTHING, passes_first_frame_over),
        OPENAI_IDS,
        DEVELOPERS,
    ],
    "azure-ai-foundry": [
        ("the key is sent in `api-key`", KEY, sends_bare_key),
        ("every resource has its own address", ADDRESS, lives_at("/openai/v1")),
        ("the last line", DONE_MARK, ends_unterminated),
        CAP_BY_MODEL,
        GATEWAY_IDS,
    ],
    "perplexity": [
        ("user and assistant messages must alternate", frozenset({"alternate"}), alternates),
        ("answers end without", DONE_MARK, ends_without_done),
        ("reasoning is never sent back", BACK, keeps_reasoning),
        ("each payload repeats the whole answer", NOTHING,
         reads_delta_beside(message={"role": "assistant", "content": "zz"})),
    ],
    "cerebras": [
        ("answers may end without", DONE_MARK, ends_without_done),
        ("the output cap is sent as", CAP, caps_output),
        ("reasoning comes and goes back in", FIELD, returns_reasoning_as("reasoning")),
    ],
    "huggingface": [
        ("reasoning is never sent back", BACK, keeps_reasoning),
        ("a call may have the index -1", NOTHING, reads_calls(call(-1, "x", "f", '{"a":1}'))),
    ],
    "github-copilot": [
        ("the last line", DONE_MARK, ends_unterminated),
        ("reasoning comes and goes back in", FIELD, returns_opaque),
        ("the header `Editor-Version` is sent", frozenset({"headers"}), sends_editor),
        ("the first call of an answer may have the index 1", NOTHING,
         reads_calls(call(1, "x", "f", '{"a"'), call(1, None, None, ":1}"))),
        ("the output cap is sent as", CAP, caps_output),
        GATEWAY_IDS,
        NO_BLANKS,
    ],
    "baseten": [
        ("every fragment of a call may have another id", NOTHING,
         reads_calls(call(0, "x", "f", '{"a"'), call(0, "y", "", ":1}"))),
        ("usage comes in many payloads", NOTHING, takes_last_usage),
    ],
    "databricks": [
        ("every workspace has its own address", ADDRESS, lives_at("/serving-endpoints")),
        ("answers of OpenAI models end without", DONE_MARK, ends_without_done),
        ("reasoning comes as a content part", BACK, reads_parts("reasoning", "summary")),
        CAP_BY_MODEL,
        GATEWAY_IDS,
        NO_BLANKS,
    ],
    "ollama": [
        ("reasoning comes and goes back in", FIELD, returns_reasoning_as("reasoning")),
        ("the efforts are none, low, medium and high", EFFORTS,
         switches(**{w: {"reasoning_effort": w} for w in ("none", "low", "medium", "high")})),
        NO_ADDRESSES,
        ANY_NAME,
    ],
    "llama.cpp": [
        ("user and assistant messages must alternate", frozenset({"alternate"}), alternates),
        ("an answer as long as the token cap", CUT, reads_cut),
        ("a full context is an error of the type", NOTHING, reads_full_context),
        ANY_NAME,
    ],
    "vllm": [
        ("user and assistant messages must alternate", frozenset({"alternate"}), alternates),
        ("reasoning goes back in", FIELD, returns_reasoning_as("reasoning")),
        ("an answer as long as the token cap", CUT, reads_cut),
        ANY_NAME,
    ],
    "lmstudio": [
        ("user and assistant messages must alternate", frozenset({"alternate"}), alternates),
        ANY_NAME,
    ],
    "transformers": [
        ("answers end without", DONE_MARK, ends_without_done),
        ("`stream_options` is left out", frozenset({"stream_options"}), leaves_stream_options_out),
        ("an answer as long as the token cap", CUT, reads_cut),
        ("no reasoning effort is taken", EFFORTS, takes_no_effort),
        ANY_NAME,
    ],
    "openai-compatible": [ANY_NAME],
}


@pytest.mark.parametrize("name, text, check", [
    pytest.param(name, text, check, id=f"{name}-{text}")
    for name, notes in NOTES.items() for text, _, check in notes
])
def test_bend_changes_what_it_says(name: str, text: str, check: Check) -> None:
    """Each note, and what it changes on the wire or in what is read."""
    check(get_profile(name))


@pytest.mark.parametrize("profile", EVERY)
def test_notes_all_have_a_check(profile: ProviderProfile) -> None:
    """Each note of a profile has its test, in the same order."""
    notes = NOTES.get(profile.name, [])
    assert len(notes) == len(profile.notes)
    for note, (text, _, _) in zip(profile.notes, notes):
        assert note.text.startswith(text)


@pytest.mark.parametrize("profile", EVERY)
def test_settings_off_the_defaults_all_have_a_note(profile: ProviderProfile) -> None:
    """Each setting that differs from the default has a note."""
    bent = {
        name for name, value in profile.options.given().items()
        if value != profile.options.DEFAULTS[name]
    }
    watched = (
        "key_header", "key_prefix", "efforts", "headers", "session_header", "user_header",
        "path", "base_path",
    )
    bent |= {name for name in watched if getattr(profile, name) != getattr(PLAIN, name)}
    explained = {name for _, names, _ in NOTES.get(profile.name, []) for name in names}
    assert bent == explained
    told = {name for note in profile.notes for name in note.options}
    assert told == explained & set(profile.options.DEFAULTS) - {"done_marker"}


# What is published


def test_profiles_are_all_there() -> None:
    """Every name the package promises, and ``list_profiles`` tells the same ones."""
    assert set(NAMES) <= set(PROFILES)
    assert [profile.name for profile in list_profiles()] == list(PROFILES)


@pytest.mark.parametrize("profile", EVERY)
def test_profile_is_a_frozen_value(profile: ProviderProfile) -> None:
    """It survives copying and pickling, can be hashed, and nothing in it can be changed."""
    assert pickle.loads(pickle.dumps(profile)) == copy.deepcopy(profile) == profile
    assert len({profile, copy.copy(profile)}) == 1
    with pytest.raises(FrozenInstanceError):
        profile.name = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        profile.headers["a"] = "b"  # type: ignore[index]
    if profile.efforts:
        with pytest.raises(TypeError):
            profile.efforts["a"] = {}  # type: ignore[index]


@pytest.mark.parametrize("profile", EVERY)
def test_clocks_fit_the_kind_of_provider(profile: ProviderProfile) -> None:
    """Hosted: idle 300 s, no total. Local: also first byte 600 s. Others: the table's."""
    limits = resolve_limits(profile.limits)
    clocks = (limits.first_byte_timeout, limits.idle_timeout, limits.total_timeout)
    if profile.name == "openai-compatible":
        assert profile.limits == Limits() and clocks == (30.0, 30.0, 60.0)
    else:
        assert clocks == (600.0 if profile.name in LOCAL else 300.0, 300.0, None)


@pytest.mark.parametrize("profile", EVERY)
def test_key_is_needed_by_hosted_providers_only(profile: ProviderProfile) -> None:
    """A local server needs no key; its variables are still named."""
    own = (*LOCAL, "openai-compatible")
    assert profile.key_required is (profile.name not in own)
    assert profile.key_env


def test_done_marker_is_optional_where_it_was_seen_to_be() -> None:
    """The option costs safety, so this test repeats the short list of its providers."""
    optional = {p.name for p in list_profiles() if p.options.done_marker == "optional"}
    assert optional == {
        "perplexity", "transformers", "cerebras", "azure-ai-foundry", "databricks",
        "github-copilot",
    }


@pytest.mark.parametrize("profile", EVERY)
def test_own_base_url_gives_an_address(profile: ProviderProfile) -> None:
    """With a base URL of its own the profile has an address; without, it says what to give."""
    if profile.base_url is not None:
        assert profile.url() == f"{profile.base_url}/chat/completions"
    else:
        with pytest.raises(LlmError, match=f"give base_url or set {profile.base_url_env}"):
            profile.url()


def test_deepseek_is_as_promised() -> None:
    """Window, cap, clocks, text only, and thinking with a default of its own."""
    profile = get_profile("deepseek")
    model = profile.model("deepseek-v4-pro")
    assert model == ModelInfo(
        "deepseek-v4-pro", 1_000_000, 256_000, ("off", "high", "max"), "high", False
    )
    assert profile.effort_fields("off") == {"thinking": {"type": "disabled"}}
    assert profile.options.reasoning_passback == "always"


# Addresses


@pytest.mark.parametrize("base", [
    "https://h/v1", "https://h/v1/", "https://h/v1//", "https://h", "https://h/", " https://h/v1\n",
    "https://h/v1/chat/completions", "https://h/v1/chat/completions/", "HTTPS://h/v1",
])
def test_base_url_as_people_write_it_reaches_one_address(base: str) -> None:
    """With and without slash, /v1 or the endpoint's path."""
    assert PLAIN.url(base) == "https://h/v1/chat/completions"


@pytest.mark.parametrize("base, expected", [
    ("https://h/v1?api-version=1", "https://h/v1/chat/completions?api-version=1"),
    ("https://h/v1/?api-version=1", "https://h/v1/chat/completions?api-version=1"),
    ("https://h/d/chat/completions?a=b/", "https://h/d/chat/completions?a=b/"),
    ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"),
    ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
    ("http://my_host.local./api", "http://my_host.local./api/chat/completions"),
    ("http://u:p@h/v1", "http://u:p@h/v1/chat/completions"),
    ("https://h/v1/chat", "https://h/v1/chat/chat/completions"),
])
def test_base_url_is_kept_as_given(base: str, expected: str) -> None:
    """Query, port, IPv6, user and an unusual path stay what they are."""
    assert PLAIN.url(base) == expected


def test_bare_host_without_a_known_path_is_taken_as_it_is() -> None:
    """If no path is known, no path is added."""
    url = get_profile("openai-compatible").url("http://127.0.0.1:1")
    assert url == "http://127.0.0.1:1/chat/completions"


@pytest.mark.parametrize("base, words", [
    ("localhost:1/v1", "has no scheme"), ("h", "has no scheme"), ("//h/v1", "has no scheme"),
    ("http:///v1", "no host"), ("http://", "no host"), ("http://:80/v1", "no host"),
    ("ftp://x", "not http or https"), ("file:///etc/x", "not http or https"),
    ("https://h/v 1", "cannot hold ' '"), ("https://h/\tv1", "cannot hold"),
    ("https://h\u00e9/v1", "cannot hold"), ("https://{resource}.x/v1", "cannot hold '{'"),
    ("https://h\x00/v1", "cannot hold"), ("https://h\\v1", "cannot hold"),
    ("https://h:x/v1", "cannot be read"), ("https://h:99999/v1", "cannot be read"),
    ("https://[::1/v1", "cannot be read"), ("https://h:0/v1", "is not valid"),
    ("https://a..b/v1", "is not valid"), (f"https://{'a' * 64}.b/v1", "is not valid"),
    ("https://h,i/v1", "is not valid"), ("https://h/v1#x", "is never sent"),
    ("", "is empty"), ("  ", "is empty"), (7, "is a string, not int"),
])
def test_base_url_that_is_none_is_refused(base: Any, words: str) -> None:
    """Before the network, with the reason."""
    with pytest.raises(LlmError) as caught:
        PLAIN.url(base)
    failure = caught.value.failure
    assert (failure.code, failure.phase, failure.retryable) == ("INVALID_REQUEST", "prepare", False)
    assert words in failure.message


@pytest.mark.parametrize("base", [
    "ftp://user:s3cret@h/v1", "user:s3cret@h/v1", "https://user:s3 cret@h/v1 s3cret",
    "https://user:p?s3cret@h:x/v1", "https://user:s3cret/x@h/v1", "ftp://h/v1?code=s3cret",
    "https://h:x/v1?api-key=s3cret", "s3cret@://h", "https://h/v1?a=b@c&code=s3cret#x",
])
def test_refused_base_url_shows_no_secret(base: str) -> None:
    """User, password and query stay out of the message, wherever the URL is broken."""
    with pytest.raises(LlmError) as caught:
        PLAIN.url(base)
    assert "s3" not in str(caught.value)


# Models and efforts


def test_unknown_model_passes_with_the_profile_s_values() -> None:
    """An unknown model is not refused."""
    profile = replace(PLAIN, context_window=100, default_max_tokens=50, efforts={"a": {"b": 1}})
    assert profile.model("new") == ModelInfo("new", 100, 50, ("a",), None, True)
    assert PLAIN.model("new") == ModelInfo("new", images=True)


def test_known_model_has_its_own_values_first() -> None:
    """Unknown fields come from the profile; a cap above the model's window is lowered to it."""
    profile = replace(
        PLAIN, context_window=100, default_max_tokens=50, efforts={"a": {}, "b": {}},
        default_effort="b", models=(ModelInfo("m", 10, efforts=("a",), images=False),),
    )
    assert profile.model("m") == ModelInfo("m", 10, 10, ("a",), None, False)
    options = profile.dialect_options(profile.model("m"))
    assert (options.context_window, options.images) == (10, False)


def test_effort_passes_through_where_nothing_is_known() -> None:
    """Without an effort no field is sent."""
    assert effort_fields(PLAIN, "odd") == {"reasoning_effort": "odd"}
    assert effort_fields(PLAIN, None) == {}


def test_effort_given_none_is_the_default() -> None:
    """A profile with a default effort always sends an effort."""
    profile = replace(PLAIN, efforts={"off": {"t": 0}, "on": {"t": 1}}, default_effort="off")
    assert effort_fields(profile, None) == {"t": 0}


@pytest.mark.parametrize("effort", ["low", "HIGH", "", " high", 3, "x" * 500])
def test_effort_the_provider_has_not_is_refused(effort: Any) -> None:
    """An effort is never replaced by a near one; the message lists the efforts."""
    profile = get_profile("deepseek")
    with pytest.raises(LlmError) as caught:
        effort_fields(profile, effort, "deepseek-v4-pro")
    failure = caught.value.failure
    assert failure.code == "UNSUPPORTED_REASONING_EFFORT" and failure.phase == "prepare"
    assert "off, high, max" in failure.message and len(failure.message) < 200


@pytest.mark.parametrize("effort", ["", " ", 3])
def test_effort_that_is_no_word_is_refused(effort: Any) -> None:
    """If every word is allowed, the effort still must be a word."""
    with pytest.raises(LlmError, match="non-empty string"):
        effort_fields(PLAIN, effort)


def test_model_without_efforts_takes_none() -> None:
    """An effort that the model does not take is refused, even if the profile takes it."""
    profile = get_profile("openai")
    with pytest.raises(LlmError, match="gpt-4o takes no reasoning effort"):
        effort_fields(profile, "high", "gpt-4o")


def test_lock_publishes_one_effort_and_refuses_the_others() -> None:
    """With thinking locked to off, off is sent even if the caller gives no effort."""
    locked = get_profile("deepseek").locked_to("off")
    model = locked.model("deepseek-v4-flash")
    assert (model.efforts, model.default_effort) == (("off",), "off")
    disabled = {"thinking": {"type": "disabled"}}
    assert effort_fields(locked, None) == effort_fields(locked, "off") == disabled
    for word in ("high", "max"):
        with pytest.raises(LlmError, match="there are: off"):
            effort_fields(locked, word)
    assert get_profile("deepseek").model("x").efforts == ("off", "high", "max")


def test_lock_of_a_profile_that_passes_everything() -> None:
    """The profile has only the named efforts; models keep those of them that they take."""
    locked = get_profile("openai").locked_to("low", "high")
    assert locked.model("new").efforts == ("low", "high")
    assert effort_fields(locked, None, "new") == {"reasoning_effort": "low"}
    assert locked.model("gpt-4o").efforts == ()


@pytest.mark.parametrize("words", [(), ("low",), ("off", "off"), ("",)])
def test_lock_to_what_is_not_there_is_refused(words: Tuple[str, ...]) -> None:
    """A lock without an effort is refused."""
    with pytest.raises(ValueError):
        get_profile("deepseek").locked_to(*words)


# Making profiles


MODEL = ModelInfo("m", efforts=("a",))


@pytest.mark.parametrize("error, values", [
    (ValueError, {"name": ""}), (ValueError, {"name": "a b"}), (TypeError, {"name": None}),
    (ValueError, {"base_url": "h/v1"}), (ValueError, {"base_url": "ftp://h"}),
    (ValueError, {"base_url_env": "A-B"}), (ValueError, {"base_url_env": ""}),
    (TypeError, {"key_env": "OPENAI_API_KEY"}), (ValueError, {"key_env": ("A", "A")}),
    (ValueError, {"key_env": ("A B",)}), (TypeError, {"key_env": (1,)}),
    (TypeError, {"key_required": None}), (ValueError, {"key_header": "a b"}),
    (ValueError, {"key_prefix": "Bearer\n"}), (TypeError, {"key_prefix": 1}),
    (ValueError, {"dialect": ""}), (TypeError, {"options": {}}), (TypeError, {"limits": None}),
    (TypeError, {"models": ("m",)}), (TypeError, {"models": MODEL}),
    (ValueError, {"models": (MODEL, MODEL)}),
    (ValueError, {"models": (MODEL,), "efforts": {"b": {}}}),
    (ValueError, {"models": (ModelInfo("m", default_effort="a"),), "efforts": {}}),
    (TypeError, {"efforts": ("a",)}), (TypeError, {"efforts": {"a": "b"}}),
    (ValueError, {"efforts": {"": {}}}), (ValueError, {"efforts": {"a": {"stream": False}}}),
    (ValueError, {"efforts": {"a": {}}, "default_effort": "b"}),
    (ValueError, {"efforts": {}, "default_effort": "b"}), (ValueError, {"default_effort": ""}),
    (ValueError, {"context_window": 0}), (TypeError, {"context_window": True}),
    (TypeError, {"context_window": 1.5}), (ValueError, {"default_max_tokens": -1}),
    (ValueError, {"context_window": 5, "default_max_tokens": 6}),
    (TypeError, {"headers": ["a"]}), (ValueError, {"headers": {"a b": "c"}}),
    (ValueError, {"headers": {"a": "b\r\nc"}}), (TypeError, {"headers": {"a": 1}}),
    (ValueError, {"headers": {"authorization": "x"}}),
    (ValueError, {"session_header": ""}), (ValueError, {"user_header": "a:b"}),
    (ValueError, {"session_header": "X-A", "user_header": "x-a"}),
    (TypeError, {"request_id_headers": "x-id"}), (ValueError, {"request_id_headers": ("a b",)}),
    (ValueError, {"path": "chat"}), (ValueError, {"path": "/a?b"}), (ValueError, {"path": "/"}),
    (ValueError, {"base_path": "v1"}), (TypeError, {"notes": ("x",)}),
])
def test_profile_that_cannot_be_is_refused(error: Any, values: Dict[str, Any]) -> None:
    """A profile refuses wrong values when it is made."""
    with pytest.raises(error):
        replace(PLAIN, **values)


@pytest.mark.parametrize("error, values", [
    (ValueError, {"name": ""}), (ValueError, {"context_window": 0}),
    (TypeError, {"default_max_tokens": "9"}), (TypeError, {"efforts": "low"}),
    (ValueError, {"efforts": ("a",), "default_effort": "b"}), (TypeError, {"images": 1}),
    (ValueError, {"efforts": (), "default_effort": "b"}),
])
def test_model_that_cannot_be_is_refused(error: Any, values: Dict[str, Any]) -> None:
    """Wrong facts are a clear error when they are made."""
    with pytest.raises(error):
        ModelInfo(**{"name": "m", **values})


@pytest.mark.parametrize("lines", [("", "b", "c"), ("a\nb", "b", "c"), ("a", " b", "c")])
def test_note_is_one_line_each(lines: Tuple[str, str, str]) -> None:
    """A note is one line, because it becomes a row of a table."""
    with pytest.raises(ValueError):
        OptionNote(*lines)


def test_profile_does_not_share_what_it_was_made_of() -> None:
    """Later changes of the caller's dicts and lists do not change the profile."""
    efforts: Dict[str, Any] = {"a": {"x": {"y": 1}}}
    headers, models = {"a": "b"}, [MODEL]
    profile = replace(
        PLAIN, efforts=efforts, headers=headers, models=models)
    efforts["a"]["x"]["y"] = 2
    headers["c"] = "d"
    models.clear()
    assert profile.efforts == {"a": {"x": {"y": 1}}}
    assert profile.headers == {"a": "b"} and profile.models == (MODEL,)
    assert thaw(profile.efforts) == {"a": {"x": {"y": 1}}}


# Finding profiles


def test_get_profile_finds_names_and_passes_profiles() -> None:
    """A caller's own profile is found first, and needs nothing of the package changed."""
    mine = replace(get_profile("openai"), base_url="https://mine/v1")
    assert get_profile("deepseek") is PROFILES["deepseek"]
    assert get_profile(mine) is mine
    assert get_profile("openai", {"openai": mine}) is mine
    assert get_profile("house", {"house": mine}) is mine
    with pytest.raises(TypeError):
        PROFILES["mine"] = mine  # type: ignore[index]


@pytest.mark.parametrize("name, hint", [
    ("opnai", "openai"), ("OpenAI", "openai"), ("llamacpp", "llama.cpp"),
    ("open-router", "openrouter"), ("azure_openai", "azure"), ("hous", "house"),
    ("zzzzzz", "there are house, openai, deepseek"),
])
def test_get_profile_tells_near_names(name: str, hint: str) -> None:
    """The error has similar names, or all names if none is similar."""
    with pytest.raises(ValueError) as caught:
        get_profile(name, {"house": PLAIN})
    assert hint in str(caught.value)


@pytest.mark.parametrize("name", [None, 7, SimpleNamespace(name="openai")])
def test_get_profile_refuses_what_is_no_name(name: Any) -> None:
    """A wrong type is a TypeError, not an unknown name."""
    with pytest.raises(TypeError):
        get_profile(name)


# Sources and the table


SPELLED = {"zhipu": "zai", "dashscope": "alibaba", "azure": "azure-openai", "llama.cpp": "llamacpp"}
RECORDED = [
    pytest.param(profile, note.source[len("recorded: "):], id=f"{profile.name}-{note.text}")
    for profile in CHAT for note in profile.notes
    if note.source.startswith("recorded: ")
]


@pytest.mark.parametrize("profile, name", RECORDED)
def test_recorded_source_is_read_with_the_profile(
    profile: ProviderProfile, name: str, shared_dir: Path
) -> None:
    """The stream a note names exists, is this provider's, and reads well with its options."""
    folder = "errors" if name.endswith(".json") else "streams"
    path = shared_dir / "captures" / folder / name
    assert path.is_file()
    assert f"__{SPELLED.get(profile.name, profile.name)}__" in name
    if folder == "streams":
        rows = (shared_dir / "captures" / "streams.jsonl").read_text(encoding="utf-8")
        row = next(r for r in map(json.loads, rows.splitlines()) if r["file"].endswith(name))
        outcome = run(path.read_bytes(), done_marker=profile.options.done_marker)
        if row.get("error"):
            assert outcome.code in row["error"]
        else:
            assert (outcome.message.text or "") == (row["message"]["content"] or "")


def test_profile_is_loaded_when_it_is_asked_for() -> None:
    """One provider's data is loaded by its name; the names are known without any."""
    loaded = fresh(
        "from streamcore.providers import PROFILES, get_profile\n"
        "assert 'groq' in PROFILES and len(list(PROFILES)) > 20\n"
        "get_profile('openai')\n"
        "homes = [n for n in sys.modules if n.split('.')[2:3] in (['hosted'], ['local'])]\n"
        "print(json.dumps(sorted(n for n in homes if n.count('.') == 3)))"
    )
    assert loaded == ["streamcore.providers.hosted.openai"]


def test_provider_left_out_of_a_copy_says_how_to_get_it(tmp_path: Path) -> None:
    """Where a profile's module is absent, the name is not listed, and asking for it says why."""
    shutil.copytree(ROOT / "streamcore", tmp_path / "carried",
                    ignore=shutil.ignore_patterns("__pycache__", "groq.py"))
    listed, refused = fresh(
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from carried import get_profile, list_profiles\n"
        "try: get_profile('groq')\n"
        "except ValueError as error: refused = str(error)\n"
        "print(json.dumps([[one.name for one in list_profiles()], refused]))"
    )
    assert "groq" not in listed and "openai" in listed
    assert "leaves the provider groq out" in refused and "--providers groq" in refused


def test_quirks_are_refused_with_their_new_name() -> None:
    """The old argument fails with a sentence that names the new one."""
    with pytest.raises(TypeError, match="quirks is now named notes"):
        ProviderProfile(name="x", quirks=())  # type: ignore[arg-type]
