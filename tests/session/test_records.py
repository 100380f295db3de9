# SPDX-License-Identifier: MIT
"""An answer of any dialect comes out of the log as it was recorded."""

from __future__ import annotations

from pathlib import Path

from streamcore.session import Session
from streamcore.values.frozen import freeze
from streamcore.values.messages import (
    AssistantMessage, Message, OpaqueBlock, ReasoningBlock, TextBlock,
)
from streamcore.values.usage import TokenUsage


def test_answer_with_every_fact_survives_the_file(tmp_path: Path) -> None:
    """Two signatures, opaque parts, the provider and its own report come back."""
    answer = AssistantMessage(
        content=(
            ReasoningBlock("", "thinking", freeze({"signature": "one"})), TextBlock("a"),
            OpaqueBlock(freeze({"id": "s"}), "server_tool_use", freeze({"n": 1})),
            ReasoningBlock("b", "thinking", freeze({"signature": "two"})), TextBlock("c"),
        ),
        extras=freeze({"container": {"id": "k"}}), finish="paused",
        usage=TokenUsage(1, 2, raw={"cost": 0.5}), model="served", response_id="r",
        provider="p", dialect="d", requested_model="asked",
    )
    path = tmp_path / "log.jsonl"
    with Session.open(path) as session:
        session.user_message(Message("user", "hello"))
        seq = session.assistant_message(answer)
        assert "usage" not in session.events[seq].data["message"], "it stands beside the message"
    with Session.open(path) as session:
        found = session.derive_messages()[1]
    assert isinstance(found, AssistantMessage) and found == answer
    assert found.usage is not None and found.usage.raw == {"cost": 0.5}


def test_request_tells_apart_whom_an_answer_was_asked_of() -> None:
    """The provider of an answer is recorded, because it decides whether extras are sent back."""
    said = Message("user", "hello")
    answers = [
        AssistantMessage(content="a", provider="p", dialect="d", requested_model=model)
        for model in ("one", "other")
    ]
    with Session() as session:
        session.user_message(said)
        session.assistant_message(answers[0])
        session.request_header({"model": "one"})
        seq = session.request_context([said, answers[1]])
        assert session.request_at(seq).messages == (said, answers[1])
