# SPDX-License-Identifier: MIT
"""A request can be made again from the session log, byte for byte as it was sent."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, List

import pytest

from streamcore import Client, LlmError, LoopbackServer, Message, RetryPolicy, Session

CALL = {
    "steps": [
        {"reasoning": "先"},
        {"text": "结论"},
        {"tool_call": {"index": 0, "id": "c1", "name": "look", "arguments": '{"at":"\u2028"}',
                       "extra_content": {"google": {"thought_signature": "AAA"}}}},
        {"finish": "tool_calls"},
        {"done": True},
    ]
}
DONE = {"steps": [{"text": "done"}, {"finish": "stop"}, {"done": True}]}
TOOLS: List[Dict[str, Any]] = [{"name": "look", "parameters": {"type": "object"}}]


@pytest.mark.parametrize("provider", ["openai", "deepseek", "gemini", "mistral", "openrouter"])
def test_rebuilt_bodies_equal_the_bytes_received(provider: str, tmp_path: pathlib.Path) -> None:
    """Each request of a conversation, rebuilt from the reopened file, equals what was sent."""
    path = tmp_path / "log.jsonl"
    with LoopbackServer([CALL, {"status": 503}, DONE]) as server:
        with Client("m", provider=provider, base_url=server.base_url, api_key="sk-rebuild",
                    retry=RetryPolicy(initial_delay=0.01)) as client, Session(path) as log:
            answer = client.complete(
                "hi", system="be brief", tools=TOOLS, temperature=0.5, stop=["x"],
                max_tokens=99, extra_body={"vendor": [1, None]}, session=log,
            )
            result = {"role": "tool", "tool_call_id": "c1", "content": "out"}
            client.complete([Message("user", "hi"), answer, result], session=log)
        sent = [record.body for record in server.requests]
    with Session.open(path) as log:
        contexts = [event.seq for event in log if event.type == "request/context"]
        answers = [event.seq for event in log if event.type == "assistant/message"]
        assert [log.rebuild_request(seq) for seq in contexts] == sent
        assert [log.rebuild_request(seq) for seq in answers] == [sent[0], sent[2]]


def test_rebuild_of_a_request_without_facts_is_refused() -> None:
    """If the log does not say how the body was written, the rebuild refuses to guess."""
    with Session() as log:
        log.request_header({"model": "m"})
        seq = log.request_context([Message("user", "hi")])
        with pytest.raises(ValueError, match="does not say"):
            log.rebuild_request(seq)
        with pytest.raises(ValueError, match="no request"):
            log.rebuild_request(0)


def test_header_stands_in_the_file_before_the_first_byte_goes_out(tmp_path: pathlib.Path) -> None:
    """The file has the request even if no server was reached."""
    path = tmp_path / "log.jsonl"
    with Client("m", base_url="http://127.0.0.1:9/v1") as client, Session(path) as log:
        with pytest.raises(LlmError):
            client.complete("hi", session=log)
    assert b'"request/context"' in path.read_bytes()
