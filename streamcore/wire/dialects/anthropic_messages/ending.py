# SPDX-License-Identifier: MIT
"""How an answer ends: what stop reasons mean, and the errors of a bad end.

In: the provider's word, what stood beside it, how the body ended. Out: the meaning, or the
``LlmError`` to raise. Pure tables and sentences; the decoder decides when.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ....values.errors import LlmError
from ....values.strictjson import mend_text
from ...ending import finish_error
from ...sse import SseEnd

STOP_REASONS: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "stop": "stop",  # servers that pass on the word of another dialect
    "tool_use": "tool-calls",
    "tool_calls": "tool-calls",
    "max_tokens": "max-tokens",
    "length": "max-tokens",
    "pause_turn": "paused",
    "compaction": "paused",
}
"""Stop reasons by what they mean; every other word is an error of that name."""

CAUTION = {"stop": 0, "paused": 1, "tool-calls": 2, "max-tokens": 3, "error": 4}
"""Of several stop reasons the one with the highest number counts."""


def stop_error(word: str, details: Any) -> LlmError:
    """Return the error of an answer that ended with a stop reason of no good meaning.

    Args:
        word: the stop reason, such as ``refusal``.
        details: the ``stop_details`` beside it, where they are an object.
    """
    error = finish_error(word)
    if not isinstance(details, dict):
        return error
    told: Dict[str, str] = {
        name: mend_text(value) for name, value in details.items()
        if isinstance(value, str) and name != "type"
    }
    words = ": ".join(told[name] for name in ("category", "explanation") if name in told)
    message = error.failure.message + (f" ({words[:400]})" if words else "")
    return error.with_facts(message=message, details=told)


def no_call_error() -> LlmError:
    """Return the error of an answer that says it ended with tool calls, and has none.

    Nothing was shown as a call, so another try is worth it.
    """
    said = "the answer ended with tool_use and has no tool_use block"
    return LlmError(said, "MALFORMED_TOOL_CALL", True, phase="body")


def closed_error(end: Optional[SseEnd], word: Optional[str], done_marker: str) -> LlmError:
    """Return the error of an answer whose end proves nothing; no ``end``: it said it ended."""
    if end is None:
        return LlmError("message_stop came without a stop_reason", "STREAM_CLOSED", phase="body")
    said = "the stream ended before message_stop"
    if word is not None:
        said += f", after the stop reason {mend_text(word)[:40]!r}"
        if done_marker == "required" and not end.truncated:
            said += " (for a provider that always ends so, set done_marker='optional')"
    if end.tail:
        said += f"; it breaks off with {end.tail[-120:]!r}"
    if end.strays:
        said += f"; lines that were no event: {' | '.join(end.strays)[:200]!r}"
    return LlmError(said, "STREAM_CLOSED", phase="body")
