# SPDX-License-Identifier: MIT
"""The caps of an agent's run, as a frozen value that is checked when made.

It lies in ``values`` because a configuration reads it even in a copy without the agent room.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from .errors import Failure
from .numbers import check_whole

MIN_OUTPUT_BYTES = 256
"""The smallest cap of a tool result. The mark of a cut would not fit a smaller cap."""

MAX_PAUSES = 6
"""How many paused answers in a row are sent back so that the provider continues."""

PAUSED_TOO_OFTEN = Failure(
    "AGENT_LIMIT", f"the provider paused more than {MAX_PAUSES} answers in a row"
)
"""The failure that ends a turn when one more answer pauses."""

_LEAST = {"max_output_bytes": MIN_OUTPUT_BYTES, "max_repeats": 2}


@dataclass(frozen=True)
class AgentLimits:
    """The caps of one run of an agent (DESIGN.md §7); whole numbers of 1 or more.

    Args:
        max_calls_per_step: tool calls in one answer.
        max_calls: tool calls in one run.
        max_steps: answers in one run. The tool calls of the last answer are not run, because
            nobody would read their results.
        max_output_bytes: UTF-8 bytes of one tool result; 256 or more. A note about a
            repeated call comes on top; it has less than 150 bytes.
        max_context_bytes: UTF-8 bytes of the JSON of messages and tools in one request.
            They are measured in the same form for every provider.
        max_repeats: how often the same call may give the same result, with nothing new
            in between, before the run ends; 2 or more. The model is told at half of this
            number. Calls of tools made with ``polling`` are not counted.
    Raises:
        TypeError, ValueError: for a value that is not such a number.
    """

    max_calls_per_step: int = 8
    max_calls: int = 50
    max_steps: int = 20
    max_output_bytes: int = 16 * 1024
    max_context_bytes: int = 200 * 1024
    max_repeats: int = 6

    def __post_init__(self) -> None:
        for item in fields(self):
            check_whole(item.name, getattr(self, item.name), _LEAST.get(item.name, 1))
