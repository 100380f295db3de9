# SPDX-License-Identifier: MIT
"""Histories that each provider made, sent to each provider: nobody answers 400.

A history is made of scenes: streams in the way of its maker, read by the package, with what a
chat does around them. ``strict_rules`` says what each provider refuses. The quick half sends
the history of all scenes of each maker to each receiver; the ``long`` half sends each scene
alone, and long histories of random scenes by random makers.
"""

from __future__ import annotations

import json
import random
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import pytest

from streamcore.providers import ProviderProfile, get_profile, list_profiles
from streamcore.values.calls import LlmRequest
from streamcore.values.errors import LlmError
from streamcore.values.limits import resolve_limits
from streamcore.values.messages import ImageBlock, Message, TextBlock, ToolResult
from streamcore.wire.assembler import MessageAssembler
from streamcore.wire.dialects import find_dialect
from streamcore.wire.pipeline import iter_chunks
import strict_anthropic
from fitting_support import said, user
from strict_rules import RULES, faults, texts_of
from support import D, DONE, F, build_body, call

CHAT = find_dialect("chat-completions")
LIMITS = resolve_limits(None)
DATA = "data:image/png;base64,iVBORw0KGgo="
REASONING_MODELS = ("openai", "azure", "azure-ai-foundry", "github-copilot", "databricks")

IDS: Dict[str, Optional[str]] = {
    "openai": "call_Xa81bcD2efGhijKLmnOp{n:03d}", "mistral": "aB3dE6{n:03d}",
    "moonshot": "functions.look:{n}", "zhipu": "call_-82123456789{n}", "gemini": None,
    "vllm": "chatcmpl-tool-0123456789abcdef0123456789ab{n:04d}", "openrouter": "tool_{n}_look",
    "databricks": "toolu_bdrk_01AbCdEfGhIjKlMnOpQrSt{n:03d}", "perplexity": "", "groq": "ab{n}",
    "fireworks": "look:{n}", "azure": "portkey-6aa6db90-1b84-4155-9f32-f658c97d{n:04d}",
}
"""How each maker writes the ids of its calls; None and the empty id are told by none."""


class Maker(NamedTuple):
    """Who makes a history: a profile, and a model."""

    profile: ProviderProfile
    model: str = "m1"

    def call(self, number: int, arguments: Optional[str] = '{"q":1}', name: str = "look") -> Any:
        """Return the delta of one whole call in this provider's way."""
        form = IDS.get(self.profile.name, "call_{n}")
        told = form.format(n=number) if form else form
        more = {}
        if self.profile.name == "gemini":
            more = {"extra_content": {"google": {"thought_signature": self.mark}}}
        return call(number, told, name, arguments, **more)

    @property
    def mark(self) -> str:
        """Stands in the extras of its answers, and may reach no other provider or model."""
        return f"sig-{self.profile.name}-{self.model}"

    def thinks(self, text: str = "hm") -> Dict[str, Any]:
        """Return a delta of reasoning, with what only its maker can read."""
        options: Any = self.profile.options.resolved()
        shown: Dict[str, Any] = {options.reasoning_field: text}
        if self.profile.name == "github-copilot":
            shown["reasoning_opaque"] = self.mark
        if self.profile.name == "openrouter":
            shown["reasoning_details"] = [{"type": "reasoning.encrypted", "data": self.mark}]
        return shown

    def answers(self, *deltas: Dict[str, Any], word: str = "stop") -> Message:
        """Return the message that a stream of these deltas comes to."""
        options = self.profile.options.resolved()
        decoder = CHAT.make_decoder(options, LIMITS, {}, None)
        assembler = MessageAssembler(self.profile.name, CHAT.name, self.model)
        body = b"".join(map(D, deltas)) + F(word) + DONE
        for chunk in iter_chunks([body], CHAT, decoder, LIMITS):
            assembler.push(chunk)
        return assembler.message


def results(answer: Message, content: Any = "ok") -> List[Message]:
    """Return a result for each call, the last one first."""
    return [
        Message("tool", (ToolResult(one.id, content),)) for one in reversed(answer.tool_calls)
    ]


def step(maker: Maker, *deltas: Dict[str, Any], content: Any = "ok") -> List[Message]:
    """Return an answer with calls, and their results."""
    answer = maker.answers(*deltas, word="tool_calls")
    return [answer, *results(answer, content)]


# The scenes. Each may follow any other.


def plain_talk(maker: Maker) -> List[Message]:
    return [user("a"), maker.answers(maker.thinks(), {"content": "b"})]


def thoughts_alone(maker: Maker) -> List[Message]:
    return [user("a"), maker.answers(maker.thinks())]


def parallel_calls(maker: Maker) -> List[Message]:
    first = step(maker, maker.thinks(), {"content": "let me"}, maker.call(0), maker.call(1))
    return [user("a"), *first, maker.answers(maker.thinks(), {"content": "so"})]


def repeated_ids(maker: Maker) -> List[Message]:
    return [user("a"), *(m for _ in range(3) for m in step(maker, maker.call(0)))]


def odd_ids(maker: Maker) -> List[Message]:
    ids = ("x.y:z", "é" * 50, "a b", "call_0", "call_0_2")
    deltas = [call(number, one, "look", "{}") for number, one in enumerate(ids)]
    return [user("a"), *step(maker, *deltas), maker.answers({"content": "b"})]


def blank_text(maker: Maker) -> List[Message]:
    first = step(maker, {"content": "\n\n"}, maker.call(0), content=" \n")
    blank = [Message("user", (TextBlock(" "), TextBlock("")))]
    return [user("a"), *first, maker.answers({"content": " "}), *blank, user(""), user("b")]


def broken_off(maker: Maker) -> List[Message]:
    return [user("a"), user("b"), *step(maker, maker.call(0)), user("c"), user("d")]


def no_arguments(maker: Maker) -> List[Message]:
    calls = [maker.call(n, text) for n, text in enumerate((None, "", "null", "{}"))]
    return [user("a"), *step(maker, maker.thinks(), *calls, content="")]


def without_thinking(maker: Maker) -> List[Message]:
    first = step(maker, {"content": "ok"}, maker.call(0))
    return [user("a"), *first, maker.answers({"content": "b"})]


def refusal(maker: Maker) -> List[Message]:
    return [user("a"), maker.answers({"refusal": "I cannot."})]


def odd_names(maker: Maker) -> List[Message]:
    calls = [maker.call(n, "{}", one) for n, one in enumerate(("a.b", "a b", "ä", "x" * 70, "1a"))]
    return [user("a"), *step(maker, *calls)]


def parts(maker: Maker) -> List[Message]:
    texts = (TextBlock("a"), TextBlock("b"))
    shown = [{"type": "text", "text": "a"}, {"type": "text", "text": ""}]
    words = Message("user", texts)
    return [words, *step(maker, maker.call(0), content=shown), words]


def two_answers(maker: Maker) -> List[Message]:
    return [maker.answers({"content": "a"}), *step(maker, maker.thinks(), maker.call(0)), user("b")]


def other_roles(maker: Maker) -> List[Message]:
    return [said("system", "be kind"), user("a"), said("developer", "be exact"), user("b")]


def picture(maker: Maker) -> List[Message]:
    return [Message("user", (TextBlock("see"), ImageBlock(DATA)))]


def picture_address(maker: Maker) -> List[Message]:
    return [Message("user", (ImageBlock("https://h/i.png"),)), maker.answers({"content": "b"})]


Scene = Callable[[Maker], List[Message]]
SCENES: Tuple[Scene, ...] = (
    plain_talk, thoughts_alone, parallel_calls, repeated_ids, odd_ids, blank_text, broken_off,
    no_arguments, without_thinking, refusal, odd_names, parts, two_answers, other_roles,
)
PICTURES: Tuple[Scene, ...] = (picture, picture_address)
SCHEMA = {
    "$schema": "x", "type": "object", "additionalProperties": False,
    "properties": {"q": {"type": "array"}, "p": {"anyOf": [{"type": "array"}]}},
}
TOOLS = [
    {"name": "look", "parameters": SCHEMA}, {"name": "stop", "parameters": {}},
    {"name": "rest", "parameters": {"type": "object"}}, {"name": "go"},
]


def scenes_for(profile: ProviderProfile) -> Tuple[Scene, ...]:
    """Return the scenes that a provider can carry; it refuses the rest before any I/O."""
    options = profile.options.resolved()
    if not options.images:
        return SCENES
    return (*SCENES, *(PICTURES if options.image_addresses else PICTURES[:1]))


def body_for(maker: Maker, history: List[Message], **given: Any) -> Dict[str, Any]:
    """Return the body of a request to a provider's model."""
    profile = maker.profile
    model = "gpt-5" if profile.name in REASONING_MODELS and maker.model != "m1" else maker.model
    asked = LlmRequest.make(
        model, history, "be brief", provider=profile.name, max_tokens=9, **given
    )
    return build_body(asked, profile.dialect_options(profile.model(model)), {})


def check(receiver: Maker, history: List[Message], where: str) -> Dict[str, Any]:
    """Send a history to a receiver, which must take it, and return the body."""
    body = body_for(receiver, history, tools=TOOLS, tool_choice="look", parallel_tool_calls=True)
    assert faults(receiver.profile.name, body) == [], where
    text = json.dumps(body)
    marks = text.count("sig-")
    assert marks == text.count(f'"{receiver.mark}"'), f"{where}: extras of another"
    return body


CHAT_PROFILES = [one for one in list_profiles() if one.dialect == CHAT.name]
EVERY = [Maker(profile) for profile in CHAT_PROFILES]
RECEIVERS = [pytest.param(profile, id=profile.name) for profile in CHAT_PROFILES]
OTHERS = [pytest.param(p, id=p.name) for p in list_profiles() if p.dialect == "anthropic-messages"]


def history_of(maker: Maker, receiver: ProviderProfile) -> List[Message]:
    """Return the history of all scenes, and one question more."""
    scenes = scenes_for(receiver)
    return [*(message for scene in scenes for message in scene(maker)), user("and now?")]


@pytest.mark.parametrize("profile", RECEIVERS)
def test_history_of_each_provider_suits_each(profile: ProviderProfile) -> None:
    """No receiver answers 400, whoever made the history: itself, its other model, or another."""
    for maker in EVERY:
        history = history_of(maker, profile)
        for model in ("m1", "m2") if maker.profile is profile else ("m2",):
            check(Maker(profile, model), history, f"by {maker.profile.name} to {model}")


@pytest.mark.parametrize("profile", RECEIVERS)
def test_same_history_gives_the_same_bytes(profile: ProviderProfile) -> None:
    """Again, and after the messages were written to a log and read."""
    receiver = Maker(profile, "m2")
    for maker in EVERY[::5]:
        history = history_of(maker, profile)
        body = json.dumps(body_for(receiver, history))
        assert json.dumps(body_for(receiver, history)) == body
        read = [Message.from_record(message.to_record()) for message in history]
        assert json.dumps(body_for(receiver, read)) == body


@pytest.mark.parametrize("profile", RECEIVERS)
def test_one_message_more_changes_nothing_before(profile: ProviderProfile) -> None:
    """Prefix caches need this. Where turns alternate, the last message may grow."""
    receiver, options = Maker(profile, "m2"), profile.options.resolved()
    for maker in (EVERY[0], EVERY[4], Maker(profile, "m2")):
        scenes = [scene for scene in scenes_for(profile) if scene is not other_roles]
        before: List[Any] = []
        history: List[Message] = []
        for message in [m for scene in scenes for m in scene(maker)]:
            history.append(message)
            try:
                sent = body_for(receiver, history)["messages"]
            except LlmError:  # a call that waits for its result
                continue
            kept = before[:-1] if options.alternate else before
            assert sent[: len(kept)] == kept, maker.profile.name
            if options.alternate and before:
                grown, last = sent[len(kept)], before[-1]
                assert grown["role"] == last["role"]
                assert "".join(texts_of(grown)).startswith("".join(texts_of(last)))
            before = sent


@pytest.mark.parametrize("name", ["deepseek", "moonshot", "ollama"])
def test_images_that_a_provider_has_none_of(name: str) -> None:
    """They are refused before any I/O."""
    maker = Maker(get_profile(name))
    for scene in set(PICTURES) - set(scenes_for(maker.profile)):
        with pytest.raises(LlmError) as caught:
            body_for(maker, scene(maker))
        assert caught.value.code == "UNSUPPORTED_CONTENT"


def anthropic_body(profile: ProviderProfile, history: List[Message]) -> Dict[str, Any]:
    """Return the body that goes to a server of Anthropic's API."""
    tools = [{"name": "look", "parameters": SCHEMA}]
    asked = LlmRequest.make("m2", history, "be brief", tools, provider=profile.name)
    options = profile.dialect_options(profile.model("m2"))
    body: Dict[str, Any] = json.loads(find_dialect(profile.dialect).write_body(
        asked, options, {}, {}))
    return body


@pytest.mark.parametrize("profile", OTHERS)
def test_history_of_each_provider_suits_anthropic_messages(profile: ProviderProfile) -> None:
    """No 400 there either, the same bytes again, and nothing of another maker's extras."""
    for maker in EVERY:
        history = history_of(maker, profile)
        body = anthropic_body(profile, history)
        filled = getattr(profile.options.resolved(), "reasoning_filler") is not None
        assert [f for f in strict_anthropic.faults(body) if not (
            filled and "signature" in f)] == [], maker.profile.name
        assert "sig-" not in json.dumps(body)
        assert anthropic_body(profile, history) == body
        grown = anthropic_body(profile, [*history, user("more")])["messages"]
        kept = body["messages"]
        assert grown[: len(kept) - 1] == kept[:-1]
        assert grown[len(kept) - 1]["content"][: len(kept[-1]["content"])] == kept[-1]["content"]


# A checker that cannot fail proves nothing.

USER, TOOL_CALL = {"role": "user", "content": "hi"}, call(0, "a b", "a.b", "{")["tool_calls"]
ASKS = {"role": "assistant", "content": "", "tool_calls": TOOL_CALL}
TOLD = {"role": "tool", "tool_call_id": "a b", "content": "ok"}
PART = [{"type": "image_url", "image_url": {"url": "http://h/i"}}, {"type": "text", "text": " "}]
BAD_TOOLS = [{"function": {"name": "f", "parameters": {"a": {"type": "array"}, "$schema": "x"}}}]
BAD: Dict[str, Any] = {
    "pairs": [[USER, ASKS], [USER, ASKS, USER], [USER, TOLD], [USER, ASKS, TOLD, TOLD]],
    "content": [[{"role": "assistant", "content": ""}], [{"role": "user"}]],
    "mistral ids": [[ASKS]],
    "openai ids": [[{**ASKS, "tool_calls": [{"id": told}]}] for told in ("x" * 41, "")],
    "claude ids": [[ASKS]],
    "ids once": [[ASKS, TOLD, ASKS, TOLD]],
    "names": [[ASKS]],
    "google names": [[{**ASKS, "tool_calls": [{"function": {"name": "1a"}}]}]],
    "turns": [[USER, USER], [USER, ASKS, TOLD, USER], [ASKS], [USER, {"role": "system"}]],
    "system": [[USER, {"role": "system"}]],
    "developer": [[{"role": "developer"}]],
    "blank text": [[{"role": "user", "content": PART}], [{"role": "user", "content": ""}]],
    "parts": [[{"role": "user", "content": PART}]],
    "fields": [[{**USER, "reasoning_content": ""}]],
    "cerebras fields": [[{**USER, "reasoning_content": ""}]],
    "reasoning of a call": [[{**ASKS, "reasoning_content": ""}]],
    "reasoning": [[{"role": "assistant", "content": "a"}]],
    "images": [[{"role": "user", "content": PART}]],
}
BAD_BODIES: Dict[str, Any] = {
    "choice": [{"tool_choice": "auto"}, {"parallel_tool_calls": True, "tools": []}],
    "schemas": [{"tools": BAD_TOOLS}],
    "google schemas": [{"tools": BAD_TOOLS}],
    "cap": [{"model": model, "max_tokens": 1} for model in ("gpt-5", "openai/o4-mini")],
}


def test_each_rule_is_seen_to_fail() -> None:
    """Each rule refuses a body that breaks it."""
    assert {*BAD, *BAD_BODIES} == set(RULES)
    for name, rule in RULES.items():
        assert rule.source
        for messages in BAD.get(name, ()):
            assert list(rule.check({"messages": messages})), (name, messages)
        for body in BAD_BODIES.get(name, ()):
            assert list(rule.check({"messages": [USER], "model": "m", **body})), (name, body)


# The long half.


@pytest.mark.long
@pytest.mark.parametrize("profile", RECEIVERS)
def test_each_scene_alone(profile: ProviderProfile) -> None:
    """Each scene of each maker by itself, and between two plain ones."""
    for maker in EVERY:
        for scene in scenes_for(profile):
            for around in ([], plain_talk(maker)):
                history = [*around, *scene(maker), *around, user("and now?")]
                where = f"{scene.__name__} by {maker.profile.name}"
                check(Maker(profile, "m2"), history, where)


@pytest.mark.long
@pytest.mark.parametrize("profile", RECEIVERS)
def test_random_scenes_by_random_makers(profile: ProviderProfile) -> None:
    """Sessions that changed their model at every scene suit every receiver."""
    makers = [*EVERY, *(Maker(one, "m2") for one in CHAT_PROFILES)]
    for seed in range(60):
        rng = random.Random(f"{profile.name} {seed}")
        scenes = [rng.choice(scenes_for(profile)) for _ in range(12)]
        history = [m for scene in scenes for m in scene(rng.choice(makers))]
        receiver = Maker(profile, rng.choice(("m1", "m2")))
        check(receiver, [*history, user("and now?")], f"seed {seed}")
