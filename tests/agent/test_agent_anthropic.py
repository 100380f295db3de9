# SPDX-License-Identifier: MIT
"""An agent with a server that accepts only valid requests of Anthropic Messages.

Other providers begin the conversations. Then come seeded random turns with failures, aborts,
parallel calls, foreign ids, thinking, server tools and pauses. No request may be refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import pytest
from agent_support import LIMITS, ONCE
from agent_world import Broken, World
from strict_anthropic import StrictAnthropic, faults
from strict_server import StrictServer

from streamcore.agent import Agent, AgentLimits
from streamcore.client import Client
from streamcore.session import Session
from streamcore.wire.history import check_history

BEGUN_BY = ("openai", "deepseek", "moonshot", "mistral", "gemini", "ollama")
MODELS = ("claude-sonnet-4-5", "claude-opus-4-6")  # thinks with a budget; thinks adaptively
TURNS = 25  # in each of eight conversations: 200 turns


def script(*steps: Any) -> Dict[str, Any]:
    return {"dialect": "anthropic-messages", "steps": list(steps)}


def ends(word: str) -> List[Dict[str, Any]]:
    return [{"finish": word}, {"done": True}]


class AnthropicWorld(World):
    """Makes Claude's next answer, in Anthropic Messages."""

    def claude(self) -> Dict[str, Any]:
        chance = self.chance
        think: List[Dict[str, Any]] = chance.choice([
            [], [{"reasoning": "hm"}, {"signature": f"sig{chance.randint(0, 9)}"}],
            [{"signature": "omitted"}], [{"reasoning": "unsigned"}],
            [{"block": {"type": "redacted_thinking", "data": "ZW5j"}}],
        ])
        said: List[Dict[str, Any]] = chance.choice([[], [{"text": "well"}], [{"text": "\n\n"}]])
        if chance.random() < 0.5:
            return script(*think, *said, *self._tools(), *ends("tool_use"))
        search = {"type": "server_tool_use", "id": f"srv{chance.random()}", "name": "web_search",
                  "input": {"q": "x"}}
        found = {"type": "web_search_tool_result", "tool_use_id": search["id"], "content": []}
        plain = [*think, {"text": "done"}]
        return chance.choice([
            script(*plain, *ends("end_turn")), script(*think, *ends("end_turn")),
            script(*plain, {"block": search}, {"block": found}, *ends("end_turn")),
            script(*plain, {"block": search}, *ends("pause_turn")),
            script(*plain, *ends("max_tokens")), script(*plain, *ends("refusal")),
            script(*ends("stop_sequence")), script(*ends("tool_use")), script(*plain),
            script({"error": {"type": "overloaded_error", "message": "Overloaded"}}),
            {"status": 529, "json": {"type": "error", "error": {"type": "overloaded_error"}}},
            script({"tool_call": {"index": 0, "id": "c", "name": "good", "arguments": "{"}},
                   *ends(chance.choice(["tool_use", "max_tokens"]))),
        ])

    def _tools(self) -> List[Dict[str, Any]]:
        chance = self.chance
        ids = chance.choice(["toolu_", f"toolu_{chance.randint(0, 3)}", "functions.good:"])
        return [
            {"tool_call": {
                "index": number, "id": f"{ids}{number}",
                "name": chance.choice(["good", "good", "bad", "stops", "unknown"]),
                "arguments": chance.choice(["", "{}", '{"n": 1}', '{"n": "x"}', "[1]"]),
            }} for number in range(chance.choice([1, 1, 2, 3]))
        ]


def take_turn(agent: Agent, world: World) -> None:
    """Take one turn, which may break off."""
    world.cancel.clear()
    try:
        if world.chance.random() < 0.7:
            agent.run("go on")
        else:
            events = agent.iter("go on")
            for _, _ in zip(range(world.chance.randint(0, 30)), events):
                pass
            events.close()
    except (Broken, KeyboardInterrupt):
        pass
    check_history(agent.messages)


def options_of(world: World) -> Dict[str, Any]:
    return {
        "on_event": world.event, "cancel": world.cancel,
        "on_tool_error": world.chance.choice(["report", "stop"]),
        "limits": AgentLimits(max_calls_per_step=4, max_steps=5), "retry": ONCE,
    }


def begin(world: World, name: str, path: Path) -> None:
    """Begin the conversation with another provider."""
    with StrictServer([world.answer() for _ in range(12)]) as server:
        with Session.open(path) as session, Client(
            "m", provider=name, base_url=server.base_url, api_key="k", limits=LIMITS
        ) as client:
            tools = [world.good, world.bad, world.stops]
            take_turn(Agent(client, tools, session=session, **options_of(world)), world)
        assert server.refused == []


def go_on(world: AnthropicWorld, server: StrictAnthropic, path: Path) -> None:
    """Take a turn with one of Claude's models, with or without thinking and caching."""
    server.answers = [world.claude() for _ in range(12)]
    asked: Dict[str, Any] = {
        "reasoning_effort": world.chance.choice([None, "off", "low", "high"]),
        "cache": world.chance.choice([None, "auto"]),
        "parallel_tool_calls": world.chance.choice([None, False]),
    }
    with Session.open(path) as session, Client(
        world.chance.choice(MODELS), provider="anthropic", base_url=server.base_url,
        api_key="k", limits=LIMITS,
    ) as client:
        tools = [world.good, world.bad, world.stops]
        agent = Agent(client, tools, session=session, system="Be brief.", **options_of(world),
                      **{name: value for name, value in asked.items() if value is not None})
        take_turn(agent, world)


@pytest.mark.parametrize("seed", [
    1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 9)),
])
def test_no_request_is_refused_whatever_happened_before(seed: int, tmp_path: Path) -> None:
    """The strict server accepts histories of other providers and of failed turns."""
    world, path = AnthropicWorld(seed), tmp_path / "log"
    names = list(BEGUN_BY)
    world.chance.shuffle(names)
    for name in names[:2] if seed == 1 else names:
        begin(world, name, path)
    with StrictAnthropic([]) as server:
        for number in range(TURNS):
            go_on(world, server, path)
            if number % 10 == 9:  # other providers also answer in between
                begin(world, world.chance.choice(BEGUN_BY), path)
        assert server.refused == []
        assert len(server.requests) > TURNS
        kinds = {body.get("thinking", {}).get("type") for body in server.requests}
    assert kinds == {None, "disabled", "enabled", "adaptive"}, f"seed {seed} meets too little"


@pytest.mark.parametrize("body, words", [
    ({"messages": []}, "at least one"),
    ({"messages": [{"role": "assistant", "content": "a"}], "max_tokens": 1}, "first message"),
    ({"messages": [{"role": "user", "content": "a"}]}, "max_tokens"),
    ({"messages": [{"role": "user", "content": "a"}] * 2, "max_tokens": 1}, "alternate"),
    ({"messages": [{"role": "user", "content": " "}], "max_tokens": 1}, "non-empty"),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}],
      "max_tokens": 1}, "non-whitespace"),
    ({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}], "max_tokens": 1},
     "without tool_result"),
    ({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "a.b", "name": "f", "input": 1}]}, {
        "role": "user", "content": [{"type": "text", "text": "x"}, {
            "type": "tool_result", "tool_use_id": "a.b", "content": "x"}]}], "max_tokens": 1},
     "pattern"),
    ({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "x"}]}, {"role": "user", "content": "b"}],
      "max_tokens": 1}, "signature"),
    ({"messages": [{"role": "user", "content": "a"}], "max_tokens": 9,
      "thinking": {"type": "enabled", "budget_tokens": 9}}, "budget_tokens"),
    ({"messages": [{"role": "user", "content": "a"}], "max_tokens": 9, "temperature": 0,
      "thinking": {"type": "adaptive"}}, "temperature"),
    ({"messages": [{"role": "user", "content": "a"}], "max_tokens": 9, "tool_choice": {}},
     "tool_choice"),
])
def test_strict_server_refuses_what_the_api_refuses(body: Dict[str, Any], words: str) -> None:
    """The strict server refuses each body that the API would refuse."""
    assert any(words in fault for fault in faults(body))


def test_agent_takes_a_turn_with_tools_and_goes_on_after_a_pause(tmp_path: Path) -> None:
    """Thinking and calls go back unchanged, and the agent goes on by itself after a pause."""
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    answers = [
        script({"answer": {"reasoning": "hm", "signature": "c2ln",
                           "tool_calls": [{"id": "toolu_1", "name": "add",
                                           "arguments": {"a": 1, "b": 2}}]}}),
        script({"text": "Searching"}, {"block": search}, *ends("pause_turn")),
        script({"block": found}, {"text": "It is 3."}, *ends("end_turn")),
    ]

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    with StrictAnthropic(answers) as server:
        with Client("claude-opus-4-6", provider="anthropic", base_url=server.base_url,
                    api_key="k") as client:
            result = Agent(client, [add], reasoning_effort="high").run("What is 1 + 2?")
        assert server.refused == []
        last = server.requests[-1]["messages"]
    assert (result.reason, result.text) == ("stop", "It is 3.")
    assert last[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    assert last[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}]
    assert last[3]["content"][-1] == search
