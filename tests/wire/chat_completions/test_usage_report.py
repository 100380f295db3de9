# SPDX-License-Identifier: MIT
"""read_usage: a provider's report under any of the names in use; odd values are passed over."""

from __future__ import annotations

from typing import Any, Dict, Optional

import pytest

from streamcore.values.usage import TokenUsage
from streamcore.wire.dialects.chat_completions.usage_report import read_usage

PROMPT = {"prompt_tokens": 10, "completion_tokens": 4}


def used(
    input: Optional[int] = 10, output: Optional[int] = 4, read: Optional[int] = None,
    write: Optional[int] = None, reasoning: Optional[int] = None,
) -> TokenUsage:
    return TokenUsage(input, output, read, write, reasoning)


@pytest.mark.parametrize("report, expected", [
    (PROMPT, used()),
    ({"input_tokens": 10, "output_tokens": 4}, used()),
    ({**PROMPT, "input_tokens": 99}, used()),
    ({"prompt_tokens": 10}, used(output=None)),
    ({"prompt_tokens": 0, "completion_tokens": 0}, used(0, 0)),
    ({**PROMPT, "prompt_tokens_details": {"cached_tokens": 3}}, used(7, read=3)),
    ({**PROMPT, "prompt_tokens_details": {"cached_tokens": 0}}, used(read=0)),
    ({**PROMPT, "prompt_tokens_details": None}, used()),
    ({**PROMPT, "prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 7}, used(7, read=3)),
    ({**PROMPT, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2},
     used(5, read=3, write=2)),
    ({**PROMPT, "cached_tokens": 3}, used(7, read=3)),
    ({**PROMPT, "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2}},
     used(5, read=3, write=2)),
    # more cached than prompt: it is counted beside the prompt
    ({**PROMPT, "prompt_tokens_details": {"cached_tokens": 30}}, used(read=30)),
    ({**PROMPT, "completion_tokens_details": {"reasoning_tokens": 3}}, used(reasoning=3)),
    ({**PROMPT, "reasoning_tokens": 3}, used(reasoning=3)),
    ({**PROMPT, "total_tokens": 14, "completion_tokens_details": {"reasoning_tokens": 3}},
     used(reasoning=3)),
    ({**PROMPT, "total_tokens": 17, "completion_tokens_details": {"reasoning_tokens": 3}},
     used(output=7, reasoning=3)),  # the total counts it beside
    ({**PROMPT, "total_tokens": 99, "reasoning_tokens": 3}, used(reasoning=3)),
    ({"prompt_tokens": 10.0, "completion_tokens": 4.0}, used()),
])
def test_report_is_normalised(report: Dict[str, Any], expected: TokenUsage) -> None:
    """Input without the cached, output with the reasoning, unknown as None."""
    assert read_usage(report) == expected


@pytest.mark.parametrize("value", [
    None, True, False, -1, 1.5, float("inf"), float("nan"), "10", [], {}, [10], {"n": 10}, 1e400,
])
@pytest.mark.parametrize("name", [
    "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "reasoning_tokens",
    "prompt_tokens_details", "completion_tokens_details", "cache_creation_input_tokens",
])
def test_odd_value_is_passed_over(name: str, value: Any) -> None:
    """A value of a wrong type is never a count and raises nothing."""
    got = read_usage({**PROMPT, name: value})
    plain = {"prompt_tokens": used(None), "completion_tokens": used(output=None)}.get(name, used())
    assert got == plain


@pytest.mark.parametrize("report", [
    {}, {"cost": 1}, {"prompt_tokens": None}, {"total_tokens": 5}, {"prompt_tokens": "5"},
])
def test_report_without_a_count_is_no_usage(report: Dict[str, Any]) -> None:
    """Unknown is None, never zero."""
    assert read_usage(report) is None


def test_huge_counts_stay_whole() -> None:
    """A huge count does not become a float."""
    assert read_usage({"prompt_tokens": 10**30 + 1, "prompt_tokens_details": {"cached_tokens": 1}}
                      ) == TokenUsage(10**30, None, 1)


@pytest.mark.parametrize("report,uncached", [
    ({"input_tokens": 3000, "output_tokens": 50, "cache_read_input_tokens": 2000}, 3000),
    ({"prompt_tokens": 3000, "completion_tokens": 50, "total_tokens": 5050,
      "cache_read_input_tokens": 2000}, 3000),
    ({"prompt_tokens": 3000, "completion_tokens": 50, "total_tokens": 3050,
      "cache_read_input_tokens": 2000}, 1000),
    ({"prompt_tokens": 3000, "completion_tokens": 50, "total_tokens": 3050,
      "prompt_tokens_details": {"cached_tokens": 2000}}, 1000),
])
def test_cached_input_beside_the_prompt_is_not_taken_out(
    report: Dict[str, Any], uncached: int
) -> None:
    """Anthropic's names count uncached input only, as does a prompt whose total says so."""
    usage = read_usage(report)
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens) == (uncached, 2000)
