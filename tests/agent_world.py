# SPDX-License-Identifier: MIT
"""A random world for an agent: what the model says, what tools do, and a hand that breaks in.

All chance comes from one seed. ``take_a_turn`` holds what every turn leaves behind.
"""

from __future__ import annotations

import random
import threading
from typing import Any

from agent_support import Answer, calls, check_ends, check_history, check_result, says

from streamcore.agent import Agent
from streamcore.agent.tools import ToolError


class Broken(Exception):
    """An error of the caller's own."""


class World:
    """Tools that do all kinds of things, and a hand that breaks in."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.cancel = threading.Event()

    def good(self, n: int = 0) -> Any:
        """Return something."""
        return self.chance.choice(["text", None, b"\0", {"n": n}, "half \ud800", "", "x" * 999])

    def bad(self, n: int = 0) -> Any:
        """Fail in some way."""
        raise self.chance.choice([ToolError("no"), ValueError("bug"), KeyboardInterrupt(),
                                  ToolError(f"no {n}"), SystemExit(1)])

    def stops(self) -> Any:
        """Cancel."""
        self.cancel.set()
        return self.chance.choice(["done", None])

    def answer(self) -> Answer:
        """Return what the model says next."""
        chance = self.chance
        if chance.random() < 0.55:
            return self._calls()
        return chance.choice([
            says("words"), says("more words", reasoning="hm"), says("x", done=False),
            {"steps": [{"finish": "stop"}, {"done": True}]},
            {"steps": [{"reasoning": "hm"}, {"finish": "stop"}, {"done": True}]},
            {"steps": [{"text": "so"}, {"finish": "content_filter"}, {"done": True}]},
            {"steps": [{"text": "lo"}, {"finish": "length"}, {"done": True}]},
            {"status": 500, "json": {}}, {"status": 429, "json": {}},
            {"steps": [{"tool_call": {"index": 0, "id": "c", "name": "good", "arguments": "{"}},
                       {"finish": chance.choice(["tool_calls", "length"])}, {"done": True}]},
        ])

    def _calls(self) -> Answer:
        chance = self.chance
        wanted = [
            (chance.choice(["good", "good", "good", "bad", "stops", "unknown"]),
             chance.choice(["{}", f'{{"n": {chance.randint(0, 99)}}}', '{"n": "x"}', "[1]", "5"]))
            for _ in range(chance.choice([1, 1, 2, 3, 5]))
        ]
        more = {"text": chance.choice(["let me see", "\n\n"])} if chance.random() < 0.3 else {}
        ids = chance.choice(["call_", f"id{chance.randint(0, 9)}_", "functions.good:", "i" * 70])
        return calls(*wanted, ids=ids, **more)

    def event(self, event: Any) -> None:
        """Break in now and then: cancel, or an error of the caller's."""
        roll = self.chance.random()
        if roll < 0.004:
            raise self.chance.choice([Broken(), KeyboardInterrupt()])
        if roll < 0.01:
            self.cancel.set()

    def approve(self, call: Any) -> Any:
        """Say yes, no, or something else."""
        if self.chance.random() < 0.03:
            raise Broken()
        return self.chance.choice([True] * 6 + [False, "not now", None])


def take_a_turn(agent: Agent, world: World) -> None:
    """Take one turn in one of three ways, and hold what it leaves behind."""
    world.cancel.clear()
    way = world.chance.random()
    try:
        if way < 0.6:
            check_result(agent.run("go on"))
        elif way < 0.8:
            events = agent.iter("go on")
            for _, _ in zip(range(world.chance.randint(0, 30)), events):
                pass
            events.close()
        elif agent.messages and agent.messages[-1].role != "assistant":
            check_result(agent.run(None))
    except (Broken, KeyboardInterrupt):
        pass
    check_history(list(agent.messages))
    check_ends(agent.session)
    asked = sum(len(message.tool_calls) for message in agent.messages)
    answered = sum(event.type == "tool/result" for event in agent.session)
    assert asked == answered, "a call without its one result in the log"
