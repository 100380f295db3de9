# SPDX-License-Identifier: MIT
"""How an answer ends: what stop reasons mean, and the errors of a bad end.

In: the stop reason, its details, how the body ended. Out: the meaning, or the ``LlmError`` to
raise. This module has only tables and messages; the decoder decides when to use them.
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
"""Stop reason → what it means. Every other word is an error of that name."""

CAUTION = {"stop": 0, "paused": 1, "tool-calls": 2, "max-tokens": 3, "error": 4}
"""If an answer has several stop reasons, the one with the highest number counts."""


def stop_error(word: str, details: Any) -> LlmError:
    """Return the error of an answer that ended with a stop reason outside the table.

    Args:
        word: the stop reason, such as ``refusal``.
        details: the ``stop_details`` of the answer; ignored unless they are an object.
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
    """Return the error of an answer that ended with ``tool_use`` but has no call.

    No call was shown, so it is safe to try again.
    """
    said = "the answer ended with tool_use but has no tool_use block"
    return LlmError(said, "MALFORMED_TOOL_CALL", True, phase="body")


def closed_error(end: Optional[SseEnd], word: Optional[str], done_marker: str) -> LlmError:
    """Return the error of an answer whose end is not proven.

    Args:
        end: how the body ended; None if ``message_stop`` came.
        word: the stop reason, or None.
        done_marker: the option of that name.
    """
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
