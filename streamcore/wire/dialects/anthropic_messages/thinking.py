# SPDX-License-Identifier: MIT
"""Makes thinking fit the model, the history and the other settings.

In: the body fields of an effort, and the body. Out: the same, with a budget for models that
take one. Refused with ``INVALID_REQUEST``: settings that the API refuses with thinking on
(docs.claude.com/en/docs/build-with-claude/extended-thinking).
"""

from __future__ import annotations

import re
from typing import Any, Dict, List

from ....values.calls import CallConfig
from ....values.given import invalid
from ...fitting.counting import Counts
from .efforts import BUDGETS, LEAST_BUDGET
from .options import AnthropicMessagesOptions
from .wire_messages import THOUGHTS, only_results

_SHARE = 0.75  # of max_tokens for thinking; the rest is for the answer


def fit_to_budget(
    fields: Dict[str, Any], config: CallConfig, options: AnthropicMessagesOptions
) -> Dict[str, Any]:
    """Return the fields of an effort, with a budget if the model takes one.

    Without ``max_tokens``, the cap is the default cap plus the budget. With ``max_tokens``,
    the budget is at most three quarters of it.

    Raises:
        LlmError: ``INVALID_REQUEST`` if ``max_tokens`` leaves too little for a budget.
    """
    thinking = fields.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    rest = {name: value for name, value in fields.items() if name != "thinking"}
    if kind == "adaptive" and _takes_a_budget(config.model, options.budget_models):
        output = dict(rest.pop("output_config", {}))
        budget = BUDGETS.get(output.pop("effort", ""), BUDGETS["max"])
        rest.update({"output_config": output} if output else {})
    elif kind == "enabled":
        budget = fields["thinking"]["budget_tokens"]
    else:
        return fields
    if config.max_tokens is None:
        rest["max_tokens"] = options.default_max_tokens + budget
    else:
        budget = min(budget, int(config.max_tokens * _SHARE))
    if budget < LEAST_BUDGET:
        raise invalid(
            f"max_tokens ({config.max_tokens}) is too small for thinking: thinking takes at least"
            f" {LEAST_BUDGET} tokens and at most three quarters of max_tokens"
        )
    return {**rest, "thinking": {"type": "enabled", "budget_tokens": budget}}


def _takes_a_budget(model: str, pattern: str) -> bool:
    return bool(pattern) and re.fullmatch(pattern, model) is not None


def fit_thinking(
    body: Dict[str, Any],
    config: CallConfig,
    options: AnthropicMessagesOptions,
    diagnostics: Dict[str, int],
) -> None:
    """Make thinking and the rest of the body fit each other.

    With a budget, the API wants a turn whose tools have run to begin with thinking. If
    another model began the turn without, this request goes out without thinking, and
    ``thinking_left_out`` is counted.

    Raises:
        LlmError: ``INVALID_REQUEST`` for a temperature or a forced tool with thinking on.
    """
    thinking = body.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind == "enabled" and not _may_think(body["messages"]):
        del body["thinking"]
        Counts(diagnostics).add("thinking_left_out")
        return
    if kind not in ("enabled", "adaptive"):
        return
    if body.get("temperature", 1) != 1:
        raise invalid("with thinking on, temperature must be 1 or not given")
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        raise invalid("with thinking on, tool_choice must be auto or none")


def _may_think(messages: List[Dict[str, Any]]) -> bool:
    """Say whether no turn is under way, or the one under way begins with thinking."""
    first = None
    for message in reversed(messages):
        if message["role"] == "assistant":
            first = message
        elif not only_results(message):
            break
    if first is None or messages[-1]["role"] == "assistant":
        return True
    return bool(first["content"]) and first["content"][0]["type"] in THOUGHTS
