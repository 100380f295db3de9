# SPDX-License-Identifier: MIT
"""Tools: functions that a model may call, with a schema that their arguments are checked by.

``tool``: makes a ``Tool`` of a function, and checks arguments before it runs.
``registry``: tools by name. ``importable``: which functions another process can import.
``output``: makes text of bounded size from a tool's value. ``raised``: makes text from a
tool's exception, and raises interrupts again. The schemas are those of ``values.schemas``.
Nothing here does I/O; ``agent.isolation`` runs tools in processes of their own.
"""

from __future__ import annotations

from ...values.schemas.schema import argument_faults, check_schema
from .output import render_output
from .registry import ToolRegistry
from .tool import InvalidArguments, Tool, ToolError, tool

__all__ = [
    "InvalidArguments", "Tool", "ToolError", "ToolRegistry", "argument_faults", "check_schema",
    "render_output", "tool",
]
