# SPDX-License-Identifier: MIT
"""Prompt caching: which blocks of a request are marked.

In: a body that is written. Out: the same body with marks, at most four of them: on the last
tool, the system prompt, and the last two turns of the user. Marks that the caller set by
hand stay, and count. Refused with ``INVALID_REQUEST``: more than four set by hand
(docs.claude.com/en/docs/build-with-claude/prompt-caching).
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

from ....values.given import invalid
from .wire_messages import THOUGHTS

MOST_MARKS = 4
_MARK = "cache_control"
_TURNS = 2  # the last one, and the one before, which the last request has written


def mark(body: Dict[str, Any]) -> None:
    """Mark what will be there again in the next request of the conversation."""
    left = MOST_MARKS - sum(1 for block in _blocks(body) if _MARK in block)
    for block in _worth_marking(body):
        if left > 0 and block is not None and _MARK not in block:
            block[_MARK] = {"type": "ephemeral"}
            left -= 1


def check_marks(body: Dict[str, Any]) -> None:
    """Refuse more marks than the API takes.

    Raises:
        LlmError: ``INVALID_REQUEST`` that says how many there are.
    """
    marks = sum(1 for block in _blocks(body) if _MARK in block)
    if marks > MOST_MARKS:
        raise invalid(f"a request has at most {MOST_MARKS} cache_control marks, not {marks}")


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
    """Return the last block that may carry a mark."""
    if not isinstance(blocks, list):
        return None
    return next((b for b in reversed(blocks) if b.get("type") not in THOUGHTS), None)


def _blocks(body: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Return every block of the body that a mark can stand on."""
    found = [body]  # the mark of the whole request
    found += body.get("tools", [])
    found += body["system"] if isinstance(body.get("system"), list) else []
    for message in body["messages"]:
        for block in message["content"]:
            found.append(block)
            inner = block.get("content")
            if isinstance(inner, list):
                found += [part for part in inner if isinstance(part, dict)]
    return [block for block in found if isinstance(block, dict)]
