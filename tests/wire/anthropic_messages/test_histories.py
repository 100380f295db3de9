# SPDX-License-Identifier: MIT
"""Recorded requests and answers of Anthropic are written as they were recorded.

The tests read recorded requests with tool results, thinking, signatures and server tools into
neutral values, and the package writes them again. Each recorded answer goes back with the same
content. The tests are skipped if ../shared/captures is absent.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Dict, List

import pytest

from streamcore.values.messages import Message

from anthropic_support import (
    body_of, plain_messages, read_body, recorded_content, rows, run, write,
)
from strict_anthropic import faults

HISTORIES = rows("histories.jsonl")
REQUESTS = [row for row in rows("requests.jsonl") if "model" in row["body"]]  # Vertex sends none
ANSWERS = [row for row in rows() if "error" not in row]

pytestmark = pytest.mark.skipif(not ANSWERS, reason="no ../shared/captures beside this checkout")


def asked_of(body: Dict[str, Any]) -> Dict[str, Any]:
    """Return the neutral arguments that ask for the same as a recorded body."""
    known = {"model", "messages", "stream", "system", "tools", "max_tokens", "temperature",
             "stop_sequences", "tool_choice"}
    tools: List[Any] = [
        {**tool, "parameters": tool["input_schema"]} if "input_schema" in tool else tool
        for tool in copy.deepcopy(body.get("tools", []))
    ]
    for tool in tools:
        tool.pop("input_schema", None)
    asked = {
        "tools": tools, "max_tokens": body["max_tokens"], "temperature": body.get("temperature"),
        "stop": body.get("stop_sequences"), "tool_choice": body.get("tool_choice"),
        "extra_body": {k: v for k, v in body.items() if k not in known} or None,
    }
    return {name: value for name, value in asked.items() if value is not None}


def rewritten(body: Dict[str, Any]) -> Dict[str, Any]:
    messages = read_body(body)
    for block in reversed(system_blocks(body)):
        messages.insert(0, Message("system", read_body(
            {"messages": [{"role": "system", "content": [block]}]})[0].content))
    return write(messages, model=body["model"], **asked_of(body))


def system_blocks(body: Dict[str, Any]) -> List[Dict[str, Any]]:
    system = body.get("system", [])
    return [{"type": "text", "text": system}] if isinstance(system, str) else list(system)


def tool_as_told(tool: Dict[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in tool.items() if key != "type" or value != "custom"}


@pytest.mark.parametrize("row", HISTORIES + REQUESTS)
def test_recorded_request_is_written_as_it_was(row: Dict[str, Any]) -> None:
    """Messages, tools, system prompt and settings equal the recorded ones."""
    body = row["body"]
    made = rewritten(body)
    assert plain_messages(made["messages"]) == plain_messages(body["messages"])
    assert system_blocks(made) == system_blocks(body)
    assert list(map(tool_as_told, made.get("tools", []))) == list(
        map(tool_as_told, body.get("tools", [])))
    left = {"model", "messages", "system", "tools", "stream"}
    assert {k: v for k, v in made.items() if k not in left} == {
        k: v for k, v in body.items() if k not in left}
    assert made["stream"] is True
    assert set(faults(made)) <= set(faults(body))  # some servers accept more than the API


def turn_with(answer: Any) -> List[Any]:
    """Return a history that ends with this answer and, if it has calls, with their results."""
    if answer.finish == "paused":
        return ["Hi", answer]
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": "done"} for call in answer.tool_calls
    ]
    return ["Hi", answer, *(results or [{"role": "user", "content": "Go on"}])]


def as_messages(history: List[Any]) -> List[Any]:
    return [{"role": "user", "content": one} if isinstance(one, str) else one for one in history]


@pytest.mark.parametrize("row", ANSWERS, ids=[row["file"].split("/")[-1] for row in ANSWERS])
def test_recorded_answer_goes_back_as_it_came(row: Dict[str, Any]) -> None:
    """Each block of an answer is sent back unchanged; blank text without extras is left out."""
    answer = run(body_of(row)).message
    if not answer.content:
        return
    history = as_messages(turn_with(answer))
    sent = write(history, model="m", diagnostics={})["messages"][1]["content"]
    wanted = [telling(b) for b in recorded_content(body_of(row))]
    if row["finish"] == "max-tokens":
        wanted = [block for block in wanted if block["type"] != "tool_use"]
    wanted = [b for b in wanted if b["type"] != "text" or b["text"].strip() or len(b) > 2]
    wanted = [b for b in wanted if b["type"] != "thinking" or "signature" in b]
    if {block["type"] for block in wanted} <= {"thinking"}:  # thinking may not end an answer
        wanted.append({"type": "text", "text": "(no answer)"})
    assert canonical(sent) == canonical(wanted)
    assert faults(write(history, model="m")) == []


def telling(block: Dict[str, Any]) -> Dict[str, Any]:
    if block["type"] not in ("text", "thinking", "tool_use"):
        return block
    kept = {k: v for k, v in block.items() if v or k in ("text", "thinking")}
    return {"input": {}, **kept} if block["type"] == "tool_use" else kept


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
