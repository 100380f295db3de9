# SPDX-License-Identifier: MIT
"""What the agent's tests share: answers for a scripted model, and an agent that talks to it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Tuple

from streamcore.agent import TURN_ENDS, Agent, AgentResult, ToolOutcome
from streamcore.client import Client
from streamcore.loopback import LoopbackServer
from streamcore.session import Session
from streamcore.values.limits import Limits
from streamcore.values.messages import Message
from streamcore.values.retry import RetryPolicy
from strict_server import StrictServer, faults

Answer = Dict[str, Any]
LIMITS = Limits(idle_timeout=10.0, total_timeout=20.0)
ONCE = RetryPolicy(max_retries=0)
USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def says(text: str, **more: Any) -> Answer:
    """Return an answer that is text."""
    return {"steps": [{"answer": {"text": text, **more}}]}


def calls(*wanted: Tuple[str, str], ids: str = "call_", **more: Any) -> Answer:
    """Return an answer that asks for tools, given as pairs of name and arguments."""
    made = [
        {"id": f"{ids}{number}", "name": name, "arguments": arguments}
        for number, (name, arguments) in enumerate(wanted)
    ]
    return {"steps": [{"answer": {"tool_calls": made, **more}}]}


class Scene:
    """An agent and the server it talks to."""

    def __init__(self, agent: Agent, server: StrictServer, client: Client) -> None:
        self.agent = agent
        self.server = server
        self.client = client

    def run(self, prompt: Any = "go") -> AgentResult:
        """Take a turn; the history it leaves must be one that a strict provider takes."""
        result = self.agent.run(prompt)
        check_result(result)
        check_ends(self.agent.session)
        assert self.server.refused == []
        return result


@contextmanager
def scene(answers: List[Answer], tools: Any = (), **options: Any) -> Iterator[Scene]:
    """Start a strict server with these answers, and make an agent that talks to it."""
    retry = options.pop("retry", ONCE)
    with StrictServer(answers) as server:
        with Client("m", base_url=server.base_url, limits=LIMITS, retry=retry) as client:
            yield Scene(Agent(client, tools, **options), server, client)


@contextmanager
def loopback(answers: Any, tools: Any = (), **options: Any) -> Iterator[Tuple[Agent, Any]]:
    """Start the loopback provider with these answers, and make an agent that talks to it."""
    with LoopbackServer(answers) as server:
        with Client("m", base_url=server.base_url, limits=LIMITS, retry=ONCE) as client:
            yield Agent(client, tools, **options), server


def check_result(result: AgentResult) -> None:
    """Hold what every result promises, whatever happened."""
    check_history(list(result.messages))
    assert len({id(outcome.call) for outcome in result.tool_calls}) == len(result.tool_calls)
    if result.reason not in ("stop", "max-tokens"):
        assert result.failure is not None and result.failure.message


def check_ends(session: Session) -> None:
    """Hold that every turn of the log ended with a word of the list."""
    ends = [event.data["reason"] for event in session if event.type == "turn/end"]
    assert set(ends) <= set(TURN_ENDS)


def check_history(messages: List[Message]) -> None:
    """Hold that the messages, and one more word of the user, pass the strict check."""
    shown = [message.to_dict() for message in messages]
    for message in shown:
        if message["role"] == "assistant":
            assert message.get("content") or message.get("tool_calls") or (
                message.get("reasoning_content")
            ), "an empty assistant message"
            message.setdefault("content", "")
        elif message["role"] == "tool":
            message["content"] = message["content"] or "(no output)"
    assert faults({"messages": [*shown, {"role": "user", "content": "next"}]}) == []


def told(result: AgentResult) -> List[Tuple[str, str, str]]:
    """Return name, status and text of every outcome."""
    return [(o.call.name, o.status, o.content) for o in result.tool_calls]


def statuses(outcomes: Tuple[ToolOutcome, ...]) -> List[str]:
    """Return the statuses."""
    return [outcome.status for outcome in outcomes]


def kinds(session: Session) -> List[str]:
    """Return the types of the session's events, chunks and the start left out."""
    left_out = ("assistant/chunk", "session/start")
    return [event.type for event in session if event.type not in left_out]


def is_alive(pid: int) -> bool:
    """Say whether a process is there and more than a corpse nobody has fetched."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return not os.path.isdir("/proc/1")  # where there is /proc, it has just ended
