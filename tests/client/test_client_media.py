# SPDX-License-Identifier: MIT
"""What was paid for is reachable: over HTTP, in the session, on the way back, in one attempt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from streamcore.client import Client
from streamcore.loopback import LoopbackServer
from streamcore.session import Session
from streamcore.values.errors import LlmError
from streamcore.values.messages import Message, OpaqueBlock, TextBlock
from streamcore.values.retry import RetryPolicy
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}}
LOGPROBS = {"content": [{"token": "hi", "logprob": -0.5}]}
PAID: List[Dict[str, Any]] = [
    {"delta": {"content": "hi", "images": [IMAGE], "annotations": [{"type": "url_citation"}]}},
    {"delta": {"audio": {"id": "audio_1", "data": "AwQF", "transcript": "hello"}}},
    {"payload": {"choices": [{"index": 0, "delta": {}, "logprobs": LOGPROBS}],
                 "citations": ["https://a"], "service_tier": "flex"}},
    {"finish": "stop"},
    {"payload": {"choices": [], "usage": {
        "prompt_tokens": 3, "completion_tokens": 7, "cost": 0.25}}},
    {"done": True},
]
WORD: List[Dict[str, Any]] = [{"answer": {"text": "ok"}}]
CUT: List[Dict[str, Any]] = [
    {"delta": {"tool_calls": [
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}},
    {"finish": "tool_calls"},
    {"payload": {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 7}}},
    {"done": True},
]
EMPTY: List[Dict[str, Any]] = [{"finish": "stop"}, {"done": True}]
AFTER_TOOLS: List[Any] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "done"},
]


def sent_messages(server: LoopbackServer, number: int) -> List[Dict[str, Any]]:
    messages: List[Dict[str, Any]] = json.loads(server.requests[number].body)["messages"]
    return messages


def test_image_only_answer_is_bought_once() -> None:
    """It is no empty answer, so no retry follows."""
    steps = [{"delta": {"images": [IMAGE]}}, {"finish": "stop"}, {"done": True}]
    with LoopbackServer([{"steps": steps}, {"status": 500, "body": "{}"}]) as server:
        retry = RetryPolicy(max_retries=2, initial_delay=0.001)
        with Client("m", base_url=server.base_url, retry=retry) as client:
            (block,) = client.complete("draw").content
        assert isinstance(block, OpaqueBlock) and block.data() == b"\0\1\2"
        assert len(server.requests) == 1


def test_all_that_was_paid_for_is_in_the_session(tmp_path: Path) -> None:
    """A session read again gives the message again, its blocks, extras and cost included."""
    path = tmp_path / "s.jsonl"
    with LoopbackServer([{"steps": PAID}]) as server:
        with Session.open(path) as log, Client("m", base_url=server.base_url) as client:
            message = client.complete("hi", session=log)
    text, image, audio = message.content
    assert text == TextBlock(
        "hi", {"annotations": [{"type": "url_citation"}], "logprobs": LOGPROBS})
    assert (image.kind, audio.kind, audio.data()) == (  # type: ignore[attr-defined]
        "image", "audio", b"\3\4\5")
    assert message.extras == {"citations": ["https://a"], "service_tier": "flex"}
    assert message.usage is not None and message.usage.raw is not None
    assert message.usage.raw["cost"] == 0.25
    with Session.open(path) as again:
        (_, kept) = again.derive_messages()
    assert kept == message and kept.usage.raw == message.usage.raw  # type: ignore[attr-defined]


def test_answer_goes_back_without_its_facts_and_with_its_media() -> None:
    """Images and the id of audio stand beside the content; providers refuse the rest."""
    with LoopbackServer([{"steps": PAID}, {"steps": WORD}]) as server:
        with Client("m", base_url=server.base_url) as client:
            message = client.complete("hi")
            client.complete([Message("user", (TextBlock("hi"),)), message,
                             Message("user", (TextBlock("more"),))])
        assert sent_messages(server, 1)[1] == {
            "role": "assistant", "content": "hi", "images": [IMAGE], "audio": {"id": "audio_1"}}


def test_answer_with_an_image_goes_to_a_model_without_images() -> None:
    """Its text goes there, and the image, which is not for it, refuses nothing."""
    with LoopbackServer([{"steps": PAID}, {"steps": WORD}]) as server:
        with Client("m", base_url=server.base_url) as client:
            history = [Message("user", (TextBlock("hi"),)), client.complete("hi"),
                       Message("user", (TextBlock("more"),))]
        options = ChatCompletionsOptions(images=False)
        with Client("other", base_url=server.base_url, options=options) as client:
            client.complete(history)
        assert sent_messages(server, 1)[1] == {"role": "assistant", "content": "hi"}


@pytest.mark.parametrize("given", [
    {"max_tokens": 7}, {"extra_body": {"max_completion_tokens": 7}},
    {"max_tokens": 100, "extra_body": {"max_tokens": 7}},
])
def test_cap_of_the_request_tells_a_cut_answer(given: Dict[str, Any]) -> None:
    """The decoder knows what this request allowed, wherever it was said."""
    options = ChatCompletionsOptions(cut_as_complete=True)
    with LoopbackServer([{"steps": CUT}] * 2) as server:
        with Client("m", base_url=server.base_url, options=options) as client:
            message = client.complete("go", **given)
            assert (message.finish, message.tool_calls) == ("max-tokens", ())
            assert client.complete("go", max_tokens=8).finish == "tool-calls"


def test_empty_answer_after_tools_is_a_message() -> None:
    """The decoder knows that the request ended with tool results."""
    with LoopbackServer([{"steps": EMPTY}] * 2) as server:
        with Client("m", base_url=server.base_url) as client:
            message = client.complete(AFTER_TOOLS)
            assert (message.finish, message.content) == ("stop", ())
            with pytest.raises(LlmError) as caught:
                client.complete("go")
    assert caught.value.code == "EMPTY_RESPONSE"
