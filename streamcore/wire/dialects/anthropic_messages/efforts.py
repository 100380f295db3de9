# SPDX-License-Identifier: MIT
"""Reasoning efforts as Anthropic's models take them: by name, or as a budget of tokens.

In: an effort's word. Out: the body fields for it. Newer models decide how long they think,
and take the effort by name. Older models take a budget.
"""

from __future__ import annotations

from typing import Any, Mapping

from ....values.frozen import FrozenDict, freeze

OFF = "off"
BUDGETS: Mapping[str, int] = FrozenDict(
    low=1_024, medium=4_096, high=16_384, xhigh=24_576, max=32_000
)
"""Effort → tokens for thinking, for models that take a budget. The API's least is 1,024."""
LEAST_BUDGET = 1_024


def effort_fields(effort: str) -> Mapping[str, Any]:
    """Return the body fields of an effort for a model that takes efforts by name."""
    if effort == OFF:
        return FrozenDict(thinking=freeze({"type": "disabled"}))
    fields = {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": effort},
    }
    frozen: Mapping[str, Any] = freeze(fields)
    return frozen


EFFORTS: Mapping[str, Mapping[str, Any]] = FrozenDict(
    {word: effort_fields(word) for word in (OFF, *BUDGETS)}
)
"""Anthropic's own efforts. If a model takes a budget, ``thinking`` puts one in their place."""
SWITCHED: Mapping[str, Mapping[str, Any]] = freeze({
    OFF: {"thinking": {"type": "disabled"}},
    "on": {"thinking": {"type": "enabled", "budget_tokens": BUDGETS["medium"]}},
})
"""Efforts of servers that only switch thinking on, with a budget, or off."""
ADAPTIVE_OR_OFF: Mapping[str, Mapping[str, Any]] = freeze({
    OFF: {"thinking": {"type": "disabled"}}, "on": {"thinking": {"type": "adaptive"}},
})
"""Efforts of servers that only switch thinking on or off, and refuse a budget."""
