# SPDX-License-Identifier: MIT
"""Endings of an answer that every dialect refuses in the same way.

In: a finish word that no dialect knows, or an answer without a block. Out: the error.
"""

from __future__ import annotations

from typing import Optional

from ..values.errors import CODES, LlmError
from ..values.strictjson import mend_text
from ..values.usage import TokenUsage

_OWN_WORDS = ("CONTENT_FILTER", "INSUFFICIENT_SYSTEM_RESOURCE")  # codes that are finish words too


def finish_error(word: str) -> LlmError:
    """Return the error of an answer that ended with a word that means an error."""
    word = " ".join(mend_text(word).split())[:64]
    code = word.upper()
    if code == "MODEL_CONTEXT_WINDOW_EXCEEDED":
        code = "CONTEXT_WINDOW_EXCEEDED"
    elif code == "ERROR" or code.startswith("HTTP_"):
        code = "SERVER"
    elif code in CODES and code not in _OWN_WORDS:
        code = "SERVER"  # a provider's word must not be taken for streamcore's own code
    said = f"the provider ended the answer with finish_reason {word!r}"
    return LlmError(said, code, phase="body")


def is_at_cap(usage: Optional[TokenUsage], cap: Optional[int]) -> bool:
    """Say whether an answer has exactly as many output tokens as its request allowed."""
    return cap is not None and usage is not None and usage.output_tokens == cap


def check_empty(usage: Optional[TokenUsage], window: Optional[int], may_be: bool) -> None:
    """Refuse an answer that ended well but is empty.

    Args:
        usage: what the provider reported.
        window: the model's context window in tokens, or None if it is not known.
        may_be: whether the answer may be empty, such as an answer after tool results.
    Raises:
        LlmError: ``CONTEXT_WINDOW_EXCEEDED`` if the input fills the window, else
            ``EMPTY_RESPONSE`` unless the answer may be empty.
    """
    billed = usage.billed_input_tokens if usage is not None else None
    if window is not None and billed is not None and billed >= window:
        said = f"no answer, and {billed} input tokens fill the window of {window}"
        raise LlmError(said, "CONTEXT_WINDOW_EXCEEDED", phase="body")
    if not may_be:
        said = "the answer ended well and holds nothing"
        raise LlmError(said, "EMPTY_RESPONSE", phase="body")
