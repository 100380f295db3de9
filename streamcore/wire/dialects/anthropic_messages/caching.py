# SPDX-License-Identifier: MIT
"""Prompt caching: which blocks of a request are marked.

In: a finished body. Out: the same body with at most four marks: on the last two user
messages, the system prompt and the last tool. Marks that the caller set by hand stay, and
count among the four. Refused with ``INVALID_REQUEST``: more than four set by hand
(docs.claude.com/en/docs/build-with-claude/prompt-caching).
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

from ....values.given import invalid
from .wire_messages import THOUGHTS

MOST_MARKS = 4
_MARK = "cache_control"
_TURNS = 2  # the last one, and the one before: the last request filled the cache up to there


def mark(body: Dict[str, Any]) -> None:
    """Mark the blocks that the next request of the conversation will repeat."""
    left = MOST_MARKS - sum(1 for block in _blocks(body) if _MARK in block)
    for block in _worth_marking(body):
        if left > 0 and block is not None and _MARK not in block:
            block[_MARK] = {"type": "ephemeral"}
            left -= 1


def check_marks(body: Dict[str, Any]) -> None:
    """Refuse a body with more marks than the API takes.

    Raises:
        LlmError: ``INVALID_REQUEST`` for more than four marks.
    """
    marks = sum(1 for block in _blocks(body) if _MARK in block)
    if marks > MOST_MARKS:
        raise invalid(f"a request may have {MOST_MARKS} cache_control marks, not {marks}")


def _worth_marking(body: Dict[str, Any]) -> Iterator[Optional[Dict[str, Any]]]:
    """Yield the blocks to mark, the most useful first."""
    if isinstance(body.get("system"), str):
        body["system"] = [{"type": "text", "text": body["system"]}]
    users = [message for message in body["messages"] if message["role"] == "user"]
    for message in reversed(users[-_TURNS:]):
        yield _last(message["content"])
    yield _last(body.get("system"))
    yield _last(body.get("tools"))


def _last(blocks: Any) -> Optional[Dict[str, Any]]:
    """Return the last block that is not thinking, which may have no mark."""
    if not isinstance(blocks, list):
        return None
    return next((b for b in reversed(blocks) if b.get("type") not in THOUGHTS), None)


def _blocks(body: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Return the body and every block in it that can have a mark."""
    found = [body]  # a mark at the top of the body counts too
    found += body.get("tools", [])
    found += body["system"] if isinstance(body.get("system"), list) else []
    for message in body["messages"]:
        for block in message["content"]:
            found.append(block)
            inner = block.get("content")
            if isinstance(inner, list):
                found += [part for part in inner if isinstance(part, dict)]
    return [block for block in found if isinstance(block, dict)]
