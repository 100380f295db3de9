# SPDX-License-Identifier: MIT
"""How an answer ends: what finish words mean, and the errors of a bad end.

In: the provider's word, its usage, how the body ended. Out: the meaning, or the
``LlmError`` to raise. Pure tables and sentences; the decoder decides when.
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
"""Finish words in lower case by what they mean; every other word is an error of that name.

Beside OpenAI's own: those of gateways that pass on the words of Anthropic, Mistral and Cohere.
"""

_NO_WORD = ("", "null", "none")  # null, as servers write it that turn everything into text

_NATIVE_ERRORS = (
    "error", "failed", "refusal", "content_filter", "safety", "image_safety", "recitation",
    "prohibited_content", "blocklist", "spii", "malformed_function_call",
    "insufficient_system_resource", "model_context_window_exceeded",
)
"""Words of the providers behind a gateway that mean an error; others may mean anything."""

_CAUTION = {"stop": 0, "tool-calls": 1, "max-tokens": 2, "error": 3}  # of several, the highest wins


class FinishWords:
    """The words that an answer told its end with; the most cautious one counts.

    Args:
        count: counts what was overruled or passed over, by name.
    ``kind``: what they mean, None before the first; ``word``: the one that counts.
    """

    def __init__(self, count: Count) -> None:
        self.kind: Optional[str] = None
        self.word: Optional[str] = None
        self._native: Optional[str] = None  # the most cautious one that is to be heeded
        self._count = count

    def note(self, word: Any) -> None:
        """Take a ``finish_reason``.

        Raises:
            LlmError: ``MALFORMED_RESPONSE`` for what is no string.
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
        """Take the word of the provider behind a gateway.

        The gateway may tell a cut answer as a complete one. Only words that are known to mean
        a cut or an error are heeded.
        """
        known = _meaning_of_native(word) if isinstance(word, str) else None
        if known not in ("max-tokens", "error"):
            self._count("native_finish_reason_skipped")
        elif self._native is None or known == "error":
            self._native = word.strip()

    def decide(self) -> Tuple[str, Optional[str]]:
        """Return what the answer's end means, and the word that says so."""
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
    """Say whether the provider tells that a stop sequence ended the answer.

    Args:
        word: its finish word.
        facts: what it told beside; vLLM and SGLang name the sequence there.
    """
    told = [facts.get(name) for name in ("stop_reason", "matched_stop")]
    named = [text for text in told if isinstance(text, str) and text.lower() not in FINISH_WORDS]
    return bool(named) or (word or "").lower() == "stop_sequence"


def no_call_error() -> LlmError:
    """Return the error of an answer that says it ended with tool calls, and has none."""
    said = "the answer ended with tool calls and has none"
    return LlmError(said, "MALFORMED_TOOL_CALL", phase="body")


def closed_error(end: SseEnd, word: Optional[str], done_marker: str) -> LlmError:
    """Return the error of a body whose end proves nothing."""
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
