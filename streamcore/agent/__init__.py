# SPDX-License-Identifier: MIT
"""The agent: a model in a loop, with tools between its answers and caps all round.

``loop``: the agent. ``turn``: one turn of it. ``model``: who answers its steps. ``gates``: the
caps, and when a loop must stop. ``trimming``: a history that fits its cap. ``dispatch``: one
call, from its arguments to its result. ``owed``: the results that the log must get.
``isolation`` and ``child``: a tool in a process of its own. ``result``: what a turn came to,
and what it tells on the way.
"""

from __future__ import annotations

from ..values.agent_limits import AgentLimits
from .loop import Agent
from .result import REASONS, TURN_ENDS, AgentEvent, AgentResult, ToolOutcome

__all__ = [
    "REASONS", "TURN_ENDS", "Agent", "AgentEvent", "AgentLimits", "AgentResult", "ToolOutcome",
]
