# SPDX-License-Identifier: MIT
"""A conversation that changes its provider at every turn stays valid for every provider.

Seeded random turns with failures, aborts, parallel calls, broken calls and sessions that are
closed and opened again. After each turn every checker checks the body that each profile would
send next; the server checks the bodies that were sent. To check another rule, add a function to
``CHECKERS``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest
import strict_rules
from agent_support import LIMITS, ONCE
from agent_world import World, take_a_turn
from strict_server import StrictServer, faults

from streamcore.agent import Agent, AgentLimits
from streamcore.client import Client
from streamcore.providers import ProviderProfile, list_profiles
from streamcore.session import Session
from streamcore.values.calls import CallConfig, LlmRequest
from streamcore.values.messages import Message
from streamcore.values.retry import RetryPolicy
from streamcore.wire.dialects import find_dialect
from streamcore.wire.history import check_history

DIALECT = find_dialect("chat-completions")
PROFILES = [profile for profile in list_profiles() if profile.dialect == DIALECT.name]
AGAIN = RetryPolicy(initial_delay=0.001, max_delay=0.002)
TURNS = 25  # of one walk; eight walks are 200 turns

Body = Dict[str, Any]
Checker = Callable[[ProviderProfile, Body], List[str]]


def check_pairs(profile: ProviderProfile, body: Body) -> List[str]:
    """Check that each call has its one result and that each message has content."""
    return faults(body)


def check_alternation(profile: ProviderProfile, body: Body) -> List[str]:
    """Check that user and assistant alternate, tools after their calls, where it is wanted."""
    if not options_of(profile).alternate:
        return []
    may_follow = {"system": "user", "user": "assistant", "assistant": "user tool",
                  "tool": "tool assistant"}
    roles = [message["role"] for message in body["messages"]]
    return [f"{after} after {before}" for before, after in zip(roles, roles[1:])
            if after not in may_follow[before].split()]


def check_rules(profile: ProviderProfile, body: Body) -> List[str]:
    """Return what the provider itself would refuse, by the rules that it is known to hold."""
    return strict_rules.faults(profile.name, body)


CHECKERS: Tuple[Checker, ...] = (check_pairs, check_alternation, check_rules)


def options_of(profile: ProviderProfile) -> Any:
    """Return the options that hold for the walk's model."""
    return profile.dialect_options(profile.model("m"))


def next_body(profile: ProviderProfile, messages: List[Message]) -> Body:
    """Return the body that a profile would send after one more user message."""
    request = LlmRequest(CallConfig("m", profile.name), (*messages, Message("user", "next")))
    body: Body = json.loads(DIALECT.write_body(request, options_of(profile), {}, {}))
    return body


def complaints(profile: ProviderProfile, body: Body) -> List[str]:
    """Return the complaints of all checkers about a body."""
    return [f"{profile.name}: {fault}" for check in CHECKERS for fault in check(profile, body)]


class Walk:
    """One conversation in a file, with another provider at every turn."""

    def __init__(self, seed: int, path: Path, server: StrictServer) -> None:
        self.world = World(seed)
        self.path = path
        self.server = server
        self.last: Any = None
        self.answers = 0

    def turn(self) -> None:
        """Take a turn, with a session opened for it, and judge what was sent and is left."""
        chance, world = self.world.chance, self.world
        profile = chance.choice([one for one in PROFILES if one is not self.last])
        self.last, before = profile, len(self.server.requests)
        self.server.answers = [world.answer() for _ in range(12)]
        options: Dict[str, Any] = {
            "on_event": world.event, "cancel": world.cancel,
            "on_chunk": world.event if chance.random() < 0.7 else None,
            "approve": world.approve if chance.random() < 0.3 else None,
            "on_tool_error": chance.choice(["report", "stop"]),
            "limits": AgentLimits(max_calls_per_step=4, max_steps=5),
            "retry": chance.choice([AGAIN, ONCE]),
        }
        tools = [world.good, world.bad, world.stops]
        with Session.open(self.path, durability="os") as session, Client(
            "m", provider=profile, base_url=self.server.base_url, api_key="k", limits=LIMITS
        ) as client:
            for _ in range(chance.choice([1, 1, 2])):  # the second one goes on after an abort
                take_a_turn(Agent(client, tools, session=session, **options), world)
            kept = session.derive_messages()
        with Session.open(self.path) as session:
            assert session.derive_messages() == kept, "the file says what the session said"
        assert self.server.refused == []
        for body in self.server.requests[before:]:
            assert complaints(profile, body) == []
        check_history(kept)
        for one in PROFILES:
            assert complaints(one, next_body(one, kept)) == []


@pytest.mark.parametrize("seed", [
    1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 9)),
])
def test_history_is_taken_by_every_provider_after_every_turn(seed: int, tmp_path: Path) -> None:
    """Every provider accepts the next request, whichever provider came before."""
    with StrictServer([]) as server:
        walk = Walk(seed, tmp_path / "log", server)
        for _ in range(TURNS):
            walk.turn()
        assert len(server.requests) > TURNS
        with Session.open(walk.path) as session:
            ends = [event.data["reason"] for event in session if event.type == "turn/end"]
            tried = [event for event in session if event.type == "retry/scheduled"]
        assert len(set(ends)) > 4 and tried, f"seed {seed} meets too little"


@pytest.mark.parametrize("messages, complaint", [
    ([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], "user after user"),
    ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
      {"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}],
     "assistant after assistant"),
    ([{"role": "tool", "content": "a", "tool_call_id": "b"}, {"role": "user", "content": "c"}],
     "user after tool"),
])
def test_check_of_alternation_finds_what_it_is_for(
    messages: List[Dict[str, Any]], complaint: str
) -> None:
    """It complains only where the provider wants alternation."""
    strict = next(one for one in PROFILES if options_of(one).alternate)
    lax = next(one for one in PROFILES if not options_of(one).alternate)
    assert check_alternation(strict, {"messages": messages}) == [complaint]
    assert check_alternation(lax, {"messages": messages}) == []
