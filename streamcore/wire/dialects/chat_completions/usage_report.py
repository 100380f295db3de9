# SPDX-License-Identifier: MIT
"""Reads a provider's usage report into ``TokenUsage``.

In: the ``usage`` object as sent, with any of the names that providers use. Out: counts that
are whole numbers of 0 or more, and the report itself. A count that is missing or not such a
number is None. Nothing is refused.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from ....values.strictjson import is_deep, mend_surrogates
from ....values.usage import TokenUsage

# The paths of each count in the report. The first path with a whole number wins.
_PROMPT = (("prompt_tokens",), ("input_tokens",))
_COMPLETION = (("completion_tokens",), ("output_tokens",))
_CACHE_READ = (
    ("prompt_tokens_details", "cached_tokens"),  # OpenAI and most who follow it
    ("prompt_cache_hit_tokens",),  # DeepSeek
    ("cache_read_input_tokens",),  # Anthropic models behind compatible endpoints
    ("cached_tokens",),  # Moonshot
    ("input_tokens_details", "cached_tokens"),
)
_ANTHROPIC_CACHE = (("cache_read_input_tokens",),)
_CACHE_WRITE = (
    ("prompt_tokens_details", "cache_write_tokens"),  # OpenRouter
    ("prompt_tokens_details", "cache_creation_tokens"),
    ("cache_creation_input_tokens",),  # Anthropic models behind compatible endpoints
)
_REASONING = (
    ("completion_tokens_details", "reasoning_tokens"),  # OpenAI and most who follow it
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens",),  # Perplexity, Groq and others
)
_TOTAL = (("total_tokens",),)
_DEEPEST = 16  # a report that nests deeper is not kept: copying it could overflow the stack


def read_usage(report: Mapping[str, Any]) -> Optional[TokenUsage]:
    """Return the usage of one report, or None if it holds no known count.

    Cached input is subtracted from the input count. Reasoning tokens are added to the output
    if the total shows that the provider does not count them in the completion tokens.
    """
    prompt, completion = _count(report, _PROMPT), _count(report, _COMPLETION)
    cache_read, cache_write = _count(report, _CACHE_READ), _count(report, _CACHE_WRITE)
    reasoning, total = _count(report, _REASONING), _count(report, _TOTAL)
    uncached = prompt
    if prompt is not None and not _cached_beside(report, prompt, completion, total):
        cached = (cache_read or 0) + (cache_write or 0)
        uncached = prompt - cached if prompt >= cached else prompt
    if completion is not None and prompt is not None and reasoning and total is not None:
        if total == prompt + completion + reasoning:
            completion += reasoning
    raw = None if is_deep(report, _DEEPEST) else mend_surrogates(report)
    usage = TokenUsage(uncached, completion, cache_read, cache_write, reasoning, raw)
    return None if usage == TokenUsage() else usage


def _cached_beside(
    report: Mapping[str, Any], prompt: int, completion: Optional[int], total: Optional[int]
) -> bool:
    """Say whether cached input is counted beside the prompt and not in it.

    It is if all names are Anthropic's, or if only then the counts add up to the total.
    """
    cached = _count(report, _ANTHROPIC_CACHE) or 0
    cached += _count(report, (("cache_creation_input_tokens",),)) or 0
    if not cached:
        return False
    if _count(report, (("prompt_tokens",),)) is None:
        return True
    return total is not None and total == prompt + (completion or 0) + cached


def _count(report: Any, paths: Any) -> Optional[int]:
    for path in paths:
        value = report
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
