# SPDX-License-Identifier: MIT
"""The loopback provider in Anthropic Messages: its events, and a client that reads them."""

from __future__ import annotations

import json
import threading
from typing import Any, Dict, List

import pytest

from streamcore import Client, Limits, LlmError, LoopbackServer, RetryPolicy
from streamcore.loopback import answer_bytes

from anthropic_support import run

CALLS = [{"id": "a", "name": "f", "arguments": {"x": 1, "y": "a longer text"}},
         {"id": "b", "name": "g", "arguments": "{}"}]
WHOLE = {"reasoning": "hm well", "signature": "c2ln", "text": "Hello there", "tool_calls": CALLS,
         "usage": {"output_tokens": 5, "input_tokens": 2}}


def script(*steps: Any, **more: Any) -> Dict[str, Any]:
    return {"dialect": "anthropic-messages", "steps": list(steps), **more}


def kinds(answer: Dict[str, Any]) -> List[str]:
    lines = answer_bytes(answer).decode().split("\n")
    return [line[len("event: "):] for line in lines if line.startswith("event: ")]


def client(server: LoopbackServer, **more: Any) -> Client:
    return Client("m", provider="anthropic", base_url=server.base_url, api_key="k", **more)


def test_whole_answer_is_written_in_the_grammar() -> None:
    """Thinking with its signature, text, and calls come one after the other, then the usage."""
    answer = script({"answer": WHOLE})
    message = run(answer_bytes(answer)).message
    assert (message.reasoning, message.text, message.finish) == (
        "hm well", "Hello there", "tool-calls")
    assert message.content[0].extras == {"signature": "c2ln"}  # type: ignore[attr-defined]
    assert [(c.id, c.parsed()) for c in message.tool_calls] == [
        ("a", {"x": 1, "y": "a longer text"}), ("b", {})]
    assert message.usage is not None and message.usage.output_tokens == 5
    told = kinds(answer)
    assert (told[0], told[-2:]) == ("message_start", ["message_delta", "message_stop"])
    opened = 0
    for kind in told:  # no block starts while another is open
        opened += (kind == "content_block_start") - (kind == "content_block_stop")
        assert opened in (0, 1)


def test_steps_of_its_own() -> None:
    """A script can send pings, whole blocks, raw deltas, errors and payloads."""
    block = {"type": "redacted_thinking", "data": "x"}
    answer = script(
        {"ping": True}, {"block": block}, {"text": "Hi"},
        {"delta": {"type": "citations_delta", "citation": {"n": 1}}}, {"finish": "end_turn"},
        {"payload": {"type": "ping"}}, {"done": True}, envelope={"id": "msg_7"},
    )
    message = run(answer_bytes(answer)).message
    assert [one.type for one in message.content] == ["opaque", "text"]
    assert message.content[1].extras == {"citations": [{"n": 1}]}  # type: ignore[attr-defined]
    assert message.response_id == "msg_7"
    failed = run(answer_bytes(script({"text": "H"}, {"error": {"type": "overloaded_error"}})))
    assert failed.code == "SERVER"


@pytest.mark.parametrize("answer, words", [
    ({"steps": [{"signature": "x"}]}, "there is no step 'signature' in chat-completions"),
    ({"steps": [{"repeat": {"times": 1, "steps": [{"block": {}}]}}]}, "no step 'block'"),
    ({"dialect": "gemini", "steps": []}, "dialect"),
])
def test_step_of_another_dialect_is_refused(answer: Any, words: str) -> None:
    """A step of another dialect and an unknown dialect are refused when the server is made."""
    with pytest.raises(ValueError, match=words):
        LoopbackServer([answer])


def test_client_asks_and_reads() -> None:
    """The client sends the right address, headers and body, and reads the answer."""
    answer = script({"answer": {"text": "You said: {last_user}"}})
    with LoopbackServer([answer]) as server, client(server) as asked:
        message = asked.complete(
            "Hi", system="Be brief.", headers={"anthropic-beta": "compact-2026-09-04"})
        sent = server.requests[0]
    assert (message.text, message.provider, message.dialect) == (
        "You said: Hi", "anthropic", "anthropic-messages")
    assert sent.path == "/v1/messages"
    told = {name: sent.headers.get(name) for name in (
        "x-api-key", "anthropic-version", "anthropic-beta", "authorization")}
    assert told == {"x-api-key": "k", "anthropic-version": "2023-06-01",
                    "anthropic-beta": "compact-2026-09-04", "authorization": None}
    assert sent.json()["system"] == "Be brief."


def test_placeholder_passes_over_results_of_tools() -> None:
    """The placeholder for the user's words ignores messages that hold only tool results."""
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ]
    with LoopbackServer([script({"answer": {"text": "{last_user}"}})]) as server:
        with client(server) as asked:
            assert asked.complete(history).text == "Hi"


def test_bearer_token_stands_in_for_a_key() -> None:
    """OAuth tokens travel as Authorization, from the caller's header or from a profile."""
    with LoopbackServer([script({"answer": {"text": "Hi"}})]) as server:
        with Client("m", provider="anthropic", base_url=server.base_url,
                    headers={"Authorization": "Bearer t"}) as asked:
            asked.complete("Hi")
        with Client("m", provider="anthropic-oauth", base_url=server.base_url,
                    api_key="t") as asked:
            asked.complete("Hi")
        first, second = (one.headers for one in server.requests)
    assert first["authorization"] == second["authorization"] == "Bearer t"
    assert "x-api-key" not in first and "x-api-key" not in second
    assert second["anthropic-beta"] == "oauth-2025-04-20"


def test_overload_in_a_200_is_tried_again() -> None:
    """Nothing was shown before the error, so the client tries again and succeeds."""
    error = {"type": "overloaded_error", "message": "Overloaded"}
    answers = [script({"error": error}), script({"answer": {"text": "Hi"}})]
    policy = RetryPolicy(max_retries=1, initial_delay=0.0)
    with LoopbackServer(answers) as server, client(server, retry=policy) as asked:
        assert asked.complete("Hi").text == "Hi"
        assert len(server.requests) == 2


def test_stream_that_breaks_off_keeps_what_came() -> None:
    """Without message_stop the call fails, and the error keeps the text so far."""
    answer = script({"text": "Half"}, {"close": True})
    with LoopbackServer([answer]) as server, client(server) as asked:
        with pytest.raises(LlmError) as caught:
            asked.complete("Hi")
    assert caught.value.code in ("STREAM_CLOSED", "TRANSPORT")
    assert caught.value.partial.text == "Half"


def test_pings_keep_the_idle_clock_from_firing_and_silence_does_not() -> None:
    """Any byte restarts the idle clock; a silent stream is a TIMEOUT of that clock."""
    alive = [{"repeat": {"times": 4, "every": 0.2, "steps": [{"ping": True}]}}]
    answer = script({"text": "A"}, *alive, {"text": "B"}, {"finish": "end_turn"}, {"done": True})
    limits = Limits(idle_timeout=0.5)
    with LoopbackServer([answer, script({"text": "A"}, {"stall": True})]) as server:
        with client(server, limits=limits, retry=RetryPolicy(max_retries=0)) as asked:
            assert asked.complete("Hi").text == "AB"
            with pytest.raises(LlmError) as caught:
                asked.complete("Hi")
    assert (caught.value.code, caught.value.failure.clock) == ("TIMEOUT", "idle")


def test_cancel_stops_a_stream() -> None:
    """A cancel event stops the call while the server is silent."""
    cancel = threading.Event()
    with LoopbackServer([script({"text": "A"}, {"stall": True})]) as server:
        with client(server) as asked, pytest.raises(LlmError) as caught:
            with asked.stream("Hi", cancel=cancel) as stream:
                for _ in stream:
                    cancel.set()
    assert caught.value.code == "ABORTED"


def test_http_error_has_its_code_and_request_id() -> None:
    """The code is from the type, the id from its header, the wait from the limit's reset."""
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down"}}
    answer = {"status": 429, "json": error, "headers": {"request-id": "req_9", "retry-after": "2"}}
    with LoopbackServer([answer]) as server:
        with client(server, retry=RetryPolicy(max_retries=0)) as asked:
            with pytest.raises(LlmError) as caught:
                asked.complete("Hi")
    failure = caught.value.failure
    assert (failure.code, failure.request_id, failure.retry_after) == ("RATE_LIMIT", "req_9", 2.0)


def test_session_records_and_sends_the_same_body_again(tmp_path: Any) -> None:
    """The session rebuilds the recorded request byte for byte and replays its answer."""
    from streamcore import Session
    from streamcore.session.recorded import rebuild_body

    answer = script({"answer": {**WHOLE, "tool_calls": []}})
    with LoopbackServer([answer]) as server, Session(tmp_path / "s.jsonl") as session:
        with client(server, session=session) as asked:
            first = asked.complete("Hi", cache="auto")
            asked.complete([{"role": "user", "content": "Hi"}, first,
                            {"role": "user", "content": "Go on"}], reasoning_effort="high")
        bodies = [request.body for request in server.requests]
        seqs = [n for n, e in enumerate(session.events) if e.type == "request/context"]
        rebuilt = [rebuild_body(session.request_at(seq)) for seq in seqs]
    assert rebuilt == bodies
    assert json.loads(bodies[1])["messages"][1]["content"][0] == {
        "type": "thinking", "thinking": "hm well", "signature": "c2ln"}
