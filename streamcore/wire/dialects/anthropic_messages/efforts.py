# SPDX-License-Identifier: MIT
"""Reasoning efforts as Anthropic's models take them: by name, or as a budget of tokens.

In: an effort's word. Out: the body fields it becomes. Newer models decide themselves how
long they think and take the effort by name; older ones take a budget.
"""

from __future__ import annotations

from typing import Any, Mapping

from ....values.frozen import FrozenDict, freeze

OFF = "off"
BUDGETS: Mapping[str, int] = FrozenDict(
    low=1_024, medium=4_096, high=16_384, xhigh=24_576, max=32_000
)
"""Effort → tokens to think with, for models that take a budget; the API's least is 1,024."""
LEAST_BUDGET = 1_024


def effort_fields(effort: str) -> Mapping[str, Any]:
    """Return the fields for a model that decides itself how long it thinks."""
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
"""Anthropic's own efforts; ``thinking`` makes budgets of them where a model takes one."""
SWITCHED: Mapping[str, Mapping[str, Any]] = freeze({
    OFF: {"thinking": {"type": "disabled"}},
    "on": {"thinking": {"type": "enabled", "budget_tokens": BUDGETS["medium"]}},
})
"""Efforts of servers that switch thinking on with a budget, and off."""
ADAPTIVE_OR_OFF: Mapping[str, Mapping[str, Any]] = freeze({
    OFF: {"thinking": {"type": "disabled"}}, "on": {"thinking": {"type": "adaptive"}},
})
"""Efforts of servers that refuse a budget."""
