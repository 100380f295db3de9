# SPDX-License-Identifier: MIT
"""Keys that a tool reads: they reach neither the model nor the session."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Dict, Tuple

import isolated_tools
import pytest
from agent_support import LIMITS, calls, check_result, says
from strict_server import StrictServer

from streamcore.agent import Agent, AgentLimits, AgentResult
from streamcore.agent.tools import Tool, ToolError
from streamcore.client import Client
from streamcore.session import Session

KEY, HEADER = "sk-Zq7Xw9Kd2-Lm4Yp6", "hd-Mn4Aq6Dz9-Wj1Tr5"
PASSWORD = "pw-Lk3Zp5Cy8-Vh0Gf4"
BASIC = base64.b64encode(f"me:{PASSWORD}".encode()).decode()


def raises(error: BaseException) -> Any:
    """Raise it."""
    raise error


def run(path: Path, made: Tool, arguments: str = "{}", **options: Any) -> Tuple[AgentResult, str]:
    """Let a model call a tool; return the result, and everything that was sent or recorded."""
    with StrictServer([calls((made.name, arguments)), says("x")]) as server:
        address = server.base_url.replace("://", f"://me:{PASSWORD}@")
        with Session(path / "log.jsonl") as log, Client(
            "m", base_url=address, api_key=KEY, limits=LIMITS, headers={"X-Api-Key": HEADER},
        ) as client:
            result = Agent(client, [made], session=log, **options).run("go")
        check_result(result)
        sent = json.dumps(server.requests)
    return result, sent + repr(result) + (path / "log.jsonl").read_text()


@pytest.mark.parametrize("secret", [KEY, HEADER, PASSWORD, BASIC])
@pytest.mark.parametrize("how", ["text", "json", "bytes", "tool error", "crash"])
def test_key_in_a_result_is_masked(tmp_path: Path, secret: str, how: str) -> None:
    """The key is masked in any form of result, and the rest of the output stays."""
    given: Dict[str, Any] = {
        "text": lambda: f"key={secret};", "json": lambda: {"key": [secret, 1]},
        "bytes": lambda: f"key={secret};".encode(),
        "tool error": lambda: raises(ToolError(f"not with key={secret};")),
        "crash": lambda: raises(ValueError(f"key={secret};")),
    }
    result, all_of_it = run(tmp_path, Tool("t", "", None, given[how]))
    assert "***" in result.tool_calls[0].content and "key" in result.tool_calls[0].content
    assert secret[:8] not in all_of_it and secret[-8:] not in all_of_it


@pytest.mark.parametrize("cut", range(0, 20, 3))
@pytest.mark.parametrize("isolate", [False, True])
def test_key_at_the_cut_of_a_long_output_is_masked(
    tmp_path: Path, cut: int, isolate: bool
) -> None:
    """No beginning of a key of eight characters or more is left before the mark of the cut."""
    made = Tool("t", "", {"additionalProperties": True}, isolated_tools.plain, isolate=isolate)
    arguments = json.dumps({"k": "x" * (205 - cut) + KEY + "y" * 500})
    limits = AgentLimits(max_output_bytes=256)
    result, _ = run(tmp_path, made, arguments, limits=limits)
    content = result.tool_calls[0].content
    assert "output cut" in content and KEY[:8] not in content


def test_only_what_is_known_is_masked(tmp_path: Path) -> None:
    """Text that only looks like a key stays, because a model could not work on it otherwise."""
    text = "GET http://u:p@host/?api_key=abcdef Authorization: Bearer abcdefgh sk-Zq7 x"
    result, _ = run(tmp_path, Tool("t", "", None, lambda: text))
    assert result.tool_calls[0].content == text


def test_key_function_is_not_asked_for_a_tool(tmp_path: Path) -> None:
    """The key of the last request is masked, because a key function may return another."""
    asked = []

    def key() -> str:
        asked.append(1)
        return f"{KEY}-{len(asked)}"

    made = Tool("t", "", None, lambda: f"now {KEY}-1.")
    with StrictServer([calls(("t", "{}")), says("x")]) as server:
        with Client("m", base_url=server.base_url, api_key=key, limits=LIMITS) as client:
            result = Agent(client, [made]).run("go")
    assert len(asked) == 2 and result.tool_calls[0].content == "now ***."
