# SPDX-License-Identifier: MIT
"""How an answer ends: what finish words mean, and the errors of a bad end.

In: the provider's word, its usage, how the body ended. Out: the meaning, or the
``LlmError`` to raise. Pure tables and sentences; the decoder decides when.
"""

from __future__ import annotations

from typing import Optional

from ....values.errors import CODES, LlmError
from ....values.strictjson import mend_text
from ....values.usage import TokenUsage
from ...sse import SseEnd

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

_OWN_WORDS = ("CONTENT_FILTER", "INSUFFICIENT_SYSTEM_RESOURCE")  # codes that are finish words too


def finish_error(word: str) -> LlmError:
    """Return the error of an answer that ended with ``word``, which means none of the above."""
    word = " ".join(mend_text(word).split())[:64]
    code = word.upper()
    if code == "MODEL_CONTEXT_WINDOW_EXCEEDED":
        code = "CONTEXT_WINDOW_EXCEEDED"
    elif code == "ERROR" or code.startswith("HTTP_"):
        code = "SERVER"
    elif code in CODES and code not in _OWN_WORDS:
        code = "SERVER"  # a provider's word is not one of our own codes
    said = f"the provider ended the answer with finish_reason {word!r}"
    return LlmError(said, code, phase="body")


def no_call_error() -> LlmError:
    """Return the error of an answer that says it ended with tool calls, and has none."""
    said = "the answer ended with tool calls and has none"
    return LlmError(said, "MALFORMED_TOOL_CALL", phase="body")


def empty_error(usage: Optional[TokenUsage], window: Optional[int]) -> LlmError:
    """Return the error of an answer that ended well with nothing in it.

    Where its usage reaches the model's window, that is why.
    """
    billed = usage.billed_input_tokens if usage is not None else None
    if window is not None and billed is not None and billed >= window:
        said = f"no answer, and {billed} input tokens fill the window of {window}"
        return LlmError(said, "CONTEXT_WINDOW_EXCEEDED", phase="body")
    said = "the answer ended well and holds nothing"
    return LlmError(said, "EMPTY_RESPONSE", phase="body")


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
