# SPDX-License-Identifier: MIT
"""``chat`` goes on without the user when the provider pauses; the tests have the dialect."""

from __future__ import annotations

import io
import json
from argparse import Namespace
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from toy_dialect import TOY

from streamcore import Client, LlmError, LoopbackServer, ProviderProfile, register_dialect
from streamcore.cli.chat import converse
from streamcore.cli.terminal import Terminal

ARGS: Dict[str, Any] = {"json": False, "raw": False, "system": None, "max_tokens": None,
                        "temperature": None, "reasoning_effort": None}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Register the toy dialect during one test."""
    remove = register_dialect(TOY)
    yield
    remove()


def chat(ends: List[str], **args: Any) -> Tuple[str, str, List[Any], Any]:
    """Ask a provider whose answers have these ends; return stdout, stderr, requests and error."""
    frames = [[{"text": f"part {number} "}, {"end": end}] for number, end in enumerate(ends)]
    bodies = ["".join(f"data: {json.dumps(f)}\n\n" for f in answer) for answer in frames]
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(None, out, err, environ={})
    profile = ProviderProfile("toys", dialect="toy", key_required=False)
    error = None
    with LoopbackServer([{"body": body} for body in bodies]) as server:
        with Client("m", provider=profile, base_url=server.base_url) as client:
            try:
                converse(client, Namespace(**{**ARGS, **args}), "hello", (), terminal)
            except LlmError as caught:
                error = caught
        sent = [json.loads(request.body)["said"] for request in server.requests]
    return out.getvalue(), err.getvalue(), sent, error


def test_paused_answer_is_sent_back_and_the_rest_is_shown() -> None:
    """Each part is shown as it comes; the parts so far are the last messages of the request."""
    out, err, sent, error = chat(["paused", "paused", "stop"])
    assert error is None and out == "part 0 \npart 1 \npart 2 \n"
    assert err.count("paused: ") == 2
    assert [[m["role"] for m in said] for said in sent] == [
        ["user"], ["user", "assistant"], ["user", "assistant", "assistant"]]
    assert sent[2][1]["content"] == [{"type": "text", "text": "part 0 "}]


def test_seventh_pause_in_a_row_is_the_end() -> None:
    """Six paused answers are sent back; the seventh is AGENT_LIMIT, without another request."""
    _, _, sent, error = chat(["paused"] * 6 + ["stop"])
    assert error is None and len(sent) == 7
    out, _, sent, error = chat(["paused"] * 8)
    assert error.code == "AGENT_LIMIT" and len(sent) == 7 and "part 6" in out


def test_chunks_of_all_parts_are_told_as_json() -> None:
    """With --json each part has its finish."""
    out, _, _, _ = chat(["paused", "stop"], json=True)
    ends = [json.loads(line) for line in out.splitlines() if "finish" in line]
    assert [end["reason"]["kind"] for end in ends] == ["paused", "stop"]


def test_answer_that_waits_for_the_client_is_shown_and_told() -> None:
    """chat runs nothing, not even calls: it says that a block waits for the client."""
    _, err, sent, error = chat(["awaits-client"])
    assert error is None and len(sent) == 1 and "awaits-client: " in err
