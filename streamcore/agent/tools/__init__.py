# SPDX-License-Identifier: MIT
"""Tools: functions that a model may ask for, described and checked.

``tool``: a function becomes a ``Tool``, whose arguments are checked before it runs;
``registry``: tools by name; ``importable``: which of them another process can find.
``signature``, ``docstring``: hints and text become a schema. ``schema``: arguments are
checked against it. ``output``: what a tool gave becomes text of bounded size;
``raised``: what it raised, in words, and whether that is an interrupt.
Nothing here does I/O; running tools in processes of their own is the agent's part.
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
