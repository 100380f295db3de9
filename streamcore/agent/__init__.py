# SPDX-License-Identifier: MIT
"""The agent: a model in a loop that runs tools between its answers, within caps.

``loop``: the agent. ``turn``: one turn of it. ``model``: calls of the model. ``gates``: the
caps, and when a loop must stop. ``trimming``: shortens a history to its cap. ``dispatch``:
one tool call, from its arguments to its result. ``owed``: gives every tool call a result in
the log. ``isolation``, ``child`` and ``processes``: a tool in a process of its own.
``result``: the result of a turn, and its events.
"""

from __future__ import annotations

from ..values.agent_limits import AgentLimits
from .loop import Agent
from .result import REASONS, TURN_ENDS, AgentEvent, AgentResult, ToolOutcome

__all__ = [
    "REASONS", "TURN_ENDS", "Agent", "AgentEvent", "AgentLimits", "AgentResult", "ToolOutcome",
]
