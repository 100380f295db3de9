# SPDX-License-Identifier: MIT
"""Every history that the loop sends is valid: after every kind of failure, cancel and kill.

Seeded random turns run against a provider that answers 400 to an invalid history. A process is
stopped with SIGKILL while its agent works, and another process continues its session.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest
from agent_support import calls, check_history, says, scene
from agent_world import World, take_a_turn
from strict_server import StrictServer, faults

from streamcore.agent import AgentLimits
from streamcore.session import Session

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("seed", range(16))
def test_random_turns_send_valid_histories_only(seed: int, tmp_path: Path) -> None:
    """After any turn, a strict provider accepts the next request."""
    world = World(seed)
    options: Dict[str, Any] = {
        "on_chunk": world.event, "on_event": world.event, "cancel": world.cancel,
        "approve": world.approve if seed % 3 == 0 else None,
        "on_tool_error": "report" if seed % 2 else "stop",
        "limits": AgentLimits(max_calls_per_step=4, max_steps=5),
    }
    tools = [world.good, world.bad, world.stops]
    with Session.open(tmp_path / "log", durability="os") as session:
        with scene([world.answer() for _ in range(60)], tools, session=session, **options) as at:
            for _ in range(12):
                take_a_turn(at.agent, world)
            assert at.server.refused == [] and len(at.server.requests) > 5
            kept = at.agent.messages
    with Session.open(tmp_path / "log") as session:
        assert tuple(session.derive_messages()) == kept


WORKER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from streamcore.agent import Agent
from streamcore.client import Client
from streamcore.session import Session
from streamcore.agent.tools import tool

@tool
def work(n: int = 0) -> str:
    time.sleep(0.005)
    return "x" * 2000

client = Client("m", base_url=sys.argv[3])
agent = Agent(client, [work], session=Session.open(sys.argv[2], durability="os"))
while True:
    assert agent.run("go").ok
    print("turn", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no SIGKILL")
def test_killed_agent_is_continued(tmp_path: Path) -> None:
    """SIGKILL at any moment: the next process goes on with a valid history."""
    step = calls(("work", '{"n": 1}'), ("work", '{"n": 2}'))
    chance = random.Random(11)
    path = tmp_path / "log"
    with StrictServer([step, says("done")] * 3000) as server:
        for _ in range(4):
            command = [sys.executable, "-c", WORKER, str(ROOT), str(path), server.base_url]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None and process.stdout.readline() == b"turn\n"
                time.sleep(chance.uniform(0, 0.05))
                process.send_signal(signal.SIGKILL)
            with Session.open(path) as session:
                check_history(session.derive_messages())
                server.answers = [step, says("done")] * 3000
        assert server.refused == [] and len(server.requests) >= 8


def bodies(*messages: Dict[str, Any]) -> Dict[str, Any]:
    """Return a request body with these messages."""
    return {"messages": [{"role": "user", "content": "x"}, *messages]}


ASKS = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
TELLS = {"role": "tool", "tool_call_id": "a", "content": "y"}
BROKEN = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}]}


@pytest.mark.parametrize("messages, good", [
    ([ASKS, TELLS], True),
    ([ASKS], False),
    ([ASKS, TELLS, TELLS], False),
    ([TELLS], False),
    ([ASKS, {**TELLS, "tool_call_id": "b"}], False),
    ([ASKS, {"role": "user", "content": "z"}], False),
    ([BROKEN, TELLS], False),
    ([{"role": "assistant"}, {"role": "user", "content": "z"}], False),
    ([{"role": "assistant", "content": "z"}], False),
    ([ASKS, {**TELLS, "content": ""}], False),
])
def test_strict_check_is_strict(messages: List[Dict[str, Any]], good: bool) -> None:
    """The strict provider refuses each kind of invalid history."""
    assert (faults(bodies(*messages)) == []) is good
