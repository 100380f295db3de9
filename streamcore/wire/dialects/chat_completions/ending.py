# SPDX-License-Identifier: MIT
"""How an answer ends: what finish words mean, and the errors of a bad end.

In: the provider's finish word, its usage, and how the body ended. Out: the meaning of the word,
or the ``LlmError`` to raise. The decoder decides when to use it.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple

from ....values.errors import LlmError
from ....values.strictjson import mend_text
from ...growing import Count
from ...sse import SseEnd
from .shapes import string

_STOP_WORDS = ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete")
_CALL_WORDS = ("tool_calls", "function_call", "tool_use", "tool_call", "tool-calls")
_LENGTH_WORDS = ("length", "max_tokens", "model_length", "max_output_tokens")

FINISH_WORDS = {
    **dict.fromkeys(_STOP_WORDS, "stop"),
    **dict.fromkeys(_CALL_WORDS, "tool-calls"),
    **dict.fromkeys(_LENGTH_WORDS, "max-tokens"),
}
"""The meaning of each finish word in lower case. Any other word is an error of that name.

Beside OpenAI's own words, these are words of Anthropic, Mistral and Cohere that gateways pass on.
"""

_NO_WORD = ("", "null", "none")  # null, as some servers write it that send every value as text

_NATIVE_ERRORS = (
    "error", "failed", "refusal", "content_filter", "safety", "image_safety", "recitation",
    "prohibited_content", "blocklist", "spii", "malformed_function_call",
    "insufficient_system_resource", "model_context_window_exceeded",
)
"""Finish words of providers behind a gateway that mean an error; others may mean anything."""

_CAUTION = {"stop": 0, "tool-calls": 1, "max-tokens": 2, "error": 3}  # the highest meaning wins


class FinishWords:
    """The finish words of one answer; the most cautious word counts.

    Args:
        count: counts by name the words that were overruled or skipped.
    ``word`` is the word that counts, and ``kind`` its meaning; both are None before the first.
    """

    def __init__(self, count: Count) -> None:
        self.kind: Optional[str] = None
        self.word: Optional[str] = None
        self._native: Optional[str] = None  # the most cautious word behind a gateway that counts
        self._count = count

    def note(self, word: Any) -> None:
        """Take a ``finish_reason``.

        Raises:
            LlmError: ``MALFORMED_RESPONSE`` for a value that is not a string.
        """
        word = string(word, "a finish_reason").strip()
        if word.lower() in _NO_WORD:
            return
        meaning = FINISH_WORDS.get(word.lower(), "error")
        if self.kind is not None and meaning != self.kind:
            self._count("finish_reason_overruled")
        if self.kind is None or _CAUTION[meaning] > _CAUTION[self.kind]:
            self.kind, self.word = meaning, word

    def note_native(self, word: Any) -> None:
        """Take the finish word of the provider behind a gateway.

        The gateway may report a cut answer as complete. Only words that are known to mean a cut
        or an error count.
        """
        known = _meaning_of_native(word) if isinstance(word, str) else None
        if known not in ("max-tokens", "error"):
            self._count("native_finish_reason_skipped")
        elif self._native is None or known == "error":
            self._native = word.strip()

    def decide(self) -> Tuple[str, Optional[str]]:
        """Return the meaning of the answer's end, and the finish word for it."""
        kind = self.kind or "stop"
        native = _meaning_of_native(self._native or "")
        if native is None or _CAUTION[native] <= _CAUTION[kind]:
            return kind, self.word
        self._count("finish_reason_overruled")
        return native, self._native


def _meaning_of_native(word: str) -> Optional[str]:
    word = word.strip().lower()
    return "error" if word in _NATIVE_ERRORS else FINISH_WORDS.get(word)


def is_stop_hit(word: Optional[str], facts: Mapping[str, Any]) -> bool:
    """Say whether the provider reports that a stop sequence ended the answer.

    Args:
        word: the finish word.
        facts: the extras of the answer; vLLM and SGLang name the sequence there.
    """
    told = [facts.get(name) for name in ("stop_reason", "matched_stop")]
    named = [text for text in told if isinstance(text, str) and text.lower() not in FINISH_WORDS]
    return bool(named) or (word or "").lower() == "stop_sequence"


def no_call_error() -> LlmError:
    """Return the error of an answer whose finish word means tool calls, but which has none."""
    said = "the finish word means tool calls, but the answer has no tool call"
    return LlmError(said, "MALFORMED_TOOL_CALL", phase="body")


def closed_error(end: SseEnd, word: Optional[str], done_marker: str) -> LlmError:
    """Return the error of a body that ended before the end of the answer was proven."""
    said = "the stream ended before [DONE]"
    if word is not None:
        said += f", after the finish word {mend_text(word)[:40]!r}"
        if done_marker == "required" and (not end.truncated or end.data.strip() == "[DONE]"):
            said += " (for a provider that always ends so, set done_marker='optional')"
    if end.tail:
        said += f"; it breaks off with {end.tail[-120:]!r}"
    if end.strays:
        said += f"; lines that were no event: {' | '.join(end.strays)[:200]!r}"
    return LlmError(said, "STREAM_CLOSED", phase="body")
