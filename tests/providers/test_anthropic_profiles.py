# SPDX-License-Identifier: MIT
"""The profiles that speak Anthropic Messages: what each publishes, and what its notes change.

Every note stands in ``NOTES`` with what it explains; each setting that differs from a server
that follows Anthropic's API is explained by a note there.
"""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Mapping, Tuple

import pytest

from streamcore.providers import ProviderProfile, get_profile, list_profiles
from streamcore.values.calls import LlmRequest
from streamcore.values.errors import LlmError
from streamcore.values.limits import resolve_limits
from streamcore.values.messages import (
    AssistantMessage, ImageBlock, Message, ReasoningBlock, TextBlock, ToolCall, ToolResult,
)
from streamcore.wire.dialects.anthropic_messages.request import write_body

from anthropic_support import rows, run
from strict_anthropic import faults

LOCAL = ("ollama-anthropic", "llama.cpp-anthropic", "vllm-anthropic", "lmstudio-anthropic")
PROFILES = [one for one in list_profiles() if one.dialect == "anthropic-messages"]
EVERY = [pytest.param(profile, id=profile.name) for profile in PROFILES]
PLAIN = ProviderProfile("plain", "https://h", dialect="anthropic-messages")

BEARER = frozenset({"key_header", "key_prefix"})
EFFORTS = frozenset({"efforts"})
SCHEMA = frozenset({"structured_output"})
UNSIGNED = frozenset({"unsigned_thinking"})
FILLED = frozenset({"unsigned_thinking", "reasoning_filler"})
NOTHING: FrozenSet[str] = frozenset()

NOTES: Mapping[str, List[Tuple[str, FrozenSet[str]]]] = {
    "anthropic": [("an effort goes by name", EFFORTS), ("one event may have up to", NOTHING)],
    "anthropic-oauth": [
        ("the token travels as", BEARER | {"headers"}), ("an effort goes by name", EFFORTS),
        ("one event may have up to", NOTHING),
    ],
    "deepseek-anthropic": [
        ("thinking goes back, signed or not, and an empty one", FILLED),
        ("image parts are refused", frozenset({"images"})),
        ("a JSON schema is asked for as a tool", SCHEMA), ("efforts are off, high", EFFORTS),
    ],
    "moonshot-anthropic": [
        ("the key travels as", BEARER),
        ("thinking goes back, signed or not, and an empty one", FILLED),
        ("a JSON schema is refused", SCHEMA), ("thinking is on or off", EFFORTS),
    ],
    "zai-anthropic": [
        ("the key travels as", BEARER), ("thinking goes back, signed or not", UNSIGNED),
        ("a JSON schema is refused", SCHEMA), ("thinking is on or off", EFFORTS),
        ("usage at the start", NOTHING),
    ],
    "minimax-anthropic": [
        ("thinking goes back, signed or not", UNSIGNED), ("a JSON schema is refused", SCHEMA),
        ("thinking is adaptive or off", EFFORTS), ("a ping with the cost", NOTHING),
    ],
    "dashscope-anthropic": [
        ("thinking goes back, signed or not", UNSIGNED), ("a JSON schema is refused", SCHEMA),
        ("thinking is on or off", EFFORTS), ("usage at the start", NOTHING),
    ],
    "openrouter-anthropic": [
        ("the key travels as", BEARER), ("an effort goes as with Anthropic", EFFORTS),
        ("`[DONE]` follows", NOTHING),
    ],
    "ollama-anthropic": [
        ("the key travels as", BEARER), ("thinking goes back without a signature", UNSIGNED),
        ("a JSON schema is refused", SCHEMA), ("thinking is on or off", EFFORTS),
    ],
    "llama.cpp-anthropic": [
        ("thinking goes back without a signature", UNSIGNED),
        ("a JSON schema is refused", SCHEMA), ("thinking is on or off", EFFORTS),
    ],
    "vllm-anthropic": [
        ("the key travels as", BEARER), ("thinking goes back without a signature", UNSIGNED),
        ("a JSON schema is refused", SCHEMA), ("no reasoning effort", EFFORTS),
    ],
    "lmstudio-anthropic": [
        ("thinking goes back without a signature", UNSIGNED),
        ("a JSON schema is refused", SCHEMA), ("no reasoning effort", EFFORTS),
    ],
}


def body_of(profile: ProviderProfile, messages: Any = "Hi", **asked: Any) -> Dict[str, Any]:
    """Return the body that the profile's settings write."""
    model = profile.model(asked.pop("model", "m"))
    effort = asked.get("reasoning_effort", model.default_effort)
    model.check_effort(effort)
    request = LlmRequest.make(model.name, messages, provider=profile.name, **asked)
    options: Any = profile.dialect_options(model)
    data = write_body(request, options, profile.effort_fields(effort), {})
    body: Dict[str, Any] = json.loads(data)
    return body


def turn_of(profile: ProviderProfile, *blocks: Any) -> List[Any]:
    """Return a history with an answer of this profile, and the result of its call."""
    answer = AssistantMessage(
        content=(*blocks, ToolCall("a", "f")), finish="tool-calls", provider=profile.name,
        dialect=profile.dialect, requested_model="m",
    )
    return [Message("user", (TextBlock("Hi"),)), answer, Message("tool", (ToolResult("a", "x"),))]


@pytest.mark.parametrize("profile", EVERY)
def test_notes_explain_each_setting_off_the_defaults(profile: ProviderProfile) -> None:
    """No setting without its note, and no note that is not in the table."""
    notes = NOTES[profile.name]
    assert len(notes) == len(profile.notes)
    for note, (text, _) in zip(profile.notes, notes):
        assert note.text.startswith(text)
    defaults = profile.options.DEFAULTS
    bent = {name for name, v in profile.options.given().items() if v != defaults[name]}
    watched = ("key_header", "key_prefix", "efforts", "headers", "path", "base_path")
    bent |= {name for name in watched if getattr(profile, name) != getattr(PLAIN, name)}
    assert bent == {name for _, names in notes for name in names}


@pytest.mark.parametrize("profile", EVERY)
def test_profile_is_a_frozen_value_with_an_address_and_its_clocks(
    profile: ProviderProfile
) -> None:
    """It survives copying and pickling; it ends in /v1/messages; local ones need no key."""
    assert pickle.loads(pickle.dumps(profile)) == copy.deepcopy(profile) == profile
    assert profile.url() == f"{profile.base_url}/v1/messages"
    clocks = resolve_limits(profile.limits)
    first = 600.0 if profile.name in LOCAL else 300.0
    assert (clocks.first_byte_timeout, clocks.idle_timeout, clocks.total_timeout) == (
        first, 300.0, None)
    assert profile.key_required is (profile.name not in LOCAL) and profile.key_env


@pytest.mark.parametrize("base", [
    "http://h", "http://h/", "http://h/v1", "http://h/v1/", "http://h/v1/messages",
])
def test_base_url_as_people_write_it(base: str) -> None:
    """With the version and without it, the address is one."""
    assert get_profile("anthropic").url(base) == "http://h/v1/messages"
    assert get_profile("deepseek-anthropic").url("http://h") == "http://h/anthropic/v1/messages"


@pytest.mark.parametrize("profile", EVERY)
def test_every_effort_writes_a_body_that_is_taken(profile: ProviderProfile) -> None:
    """With the default cap and with a small one, on models of either kind."""
    for effort in profile.efforts or ():
        for model in ("m", "claude-sonnet-4-5"):
            for cap in (None, 3000):
                body = body_of(profile, reasoning_effort=effort, model=model, max_tokens=cap)
                assert faults(body) == []
                assert (body["thinking"]["type"] == "disabled") is (effort == "off")


def test_minimax_never_gets_a_budget() -> None:
    """Its endpoint refuses one."""
    body = body_of(get_profile("minimax-anthropic"), reasoning_effort="on")
    assert body["thinking"] == {"type": "adaptive"}


def test_anthropic_refuses_efforts_that_a_model_has_not() -> None:
    """An effort is never clamped; an older model has none, and a smaller cap."""
    anthropic = get_profile("anthropic")
    for model, effort in (("claude-opus-4-6", "xhigh"), ("claude-3-haiku-20240307", "low")):
        with pytest.raises(LlmError) as caught:
            body_of(anthropic, model=model, reasoning_effort=effort)
        assert caught.value.code == "UNSUPPORTED_REASONING_EFFORT"
    assert anthropic.model("claude-3-haiku-20240307").default_max_tokens == 4096


@pytest.mark.parametrize("profile", EVERY)
def test_thinking_goes_back_as_the_server_wants_it(profile: ProviderProfile) -> None:
    """Signed always; unsigned where it is taken; an empty one where one must be there."""
    signed = ReasoningBlock("hm", "thinking", {"signature": "s"})
    content = body_of(profile, turn_of(profile, signed))["messages"][1]["content"]
    assert content[0] == {"type": "thinking", "thinking": "hm", "signature": "s"}
    content = body_of(profile, turn_of(profile, ReasoningBlock("hm")))["messages"][1]["content"]
    taken = getattr(profile.options.resolved(), "unsigned_thinking") == "send"
    assert (content[0]["type"] == "thinking") is taken
    content = body_of(profile, turn_of(profile))["messages"][1]["content"]
    filled = profile.name in ("deepseek-anthropic", "moonshot-anthropic")
    assert (content[0] == {"type": "thinking", "thinking": ""}) is filled


@pytest.mark.parametrize("profile", EVERY)
def test_schema_is_asked_for_or_refused(profile: ProviderProfile) -> None:
    """As an output format, as a tool, or not at all: never dropped."""
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    how = getattr(profile.options.resolved(), "structured_output")
    if how == "none":
        with pytest.raises(LlmError) as caught:
            body_of(profile, response_format=wanted)
        assert caught.value.code == "UNSUPPORTED_CONTENT"
    else:
        body = body_of(profile, response_format=wanted)
        assert ("output_config" in body, "tools" in body) == (how != "tool", how == "tool")


def test_deepseek_takes_no_images() -> None:
    """They are refused before they are sent."""
    image = Message("user", (ImageBlock("https://x/y.png"),))
    with pytest.raises(LlmError) as caught:
        body_of(get_profile("deepseek-anthropic"), [image])
    assert caught.value.code == "UNSUPPORTED_CONTENT"


RECORDED = [
    pytest.param(note.source[len("recorded: "):], id=f"{profile.name}-{note.text[:20]}")
    for profile in PROFILES for note in profile.notes if note.source.startswith("recorded: ")
]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_source_exists_and_reads_well(name: str, shared_dir: Path) -> None:
    """The stream that a note names is there, and comes to its row."""
    row = next(row for row in rows() if row["file"].endswith(name))
    body = (shared_dir / "captures" / "anthropic" / "streams" / name).read_bytes()
    assert run(body).message.text == row["message"]["content"]
