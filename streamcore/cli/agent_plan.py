# SPDX-License-Identifier: MIT
"""What ``agent --dry-run`` shows: the system prompt, the tools with their marks, the limits.

In: the arguments, the configuration and its rows, the tools. Out: lines on stdout. No request
is sent and no file is made.
"""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Optional, Sequence

from ..agent.tools import Tool, ToolRegistry
from ..config import Config, Explained
from .terminal import Terminal


def show_plan(
    args: Namespace, rows: Sequence[Explained], config: Config, tools: ToolRegistry,
    system: Optional[str], terminal: Terminal,
) -> None:
    """Show what a turn with these settings would use; ``rows`` are the settings told."""
    where = args.script and "a scripted provider on 127.0.0.1"
    terminal.line(f"model: {config.model or '(not set)'} at {where or config.provider}")
    if args.session:
        state = "continued" if os.path.exists(args.session) else "made"
        terminal.line(f"session: {args.session}, to be {state}")
    terminal.line(f"\nsystem prompt:\n{system or '(none)'}\n\ntools:")
    for tool in tools:
        terminal.line(f"  {_tool_line(tool, args.yes)}")
        terminal.line(f"      {tool.description.strip().partition(chr(10))[0]}")
    if not len(tools):
        terminal.line("  (none)")
    terminal.line("\nlimits:")
    for row in rows:
        if row.setting.partition(".")[0] in ("agent", "limits", "retry"):
            terminal.line(f"  {row.setting:<34} {row.value:<24} {row.origin}")


def _tool_line(tool: Tool, allowed: bool) -> str:
    required = tool.parameters.get("required", ())
    names = [name if name in required else f"[{name}]"
             for name in tool.parameters.get("properties", {})]
    marks = []
    if tool.mutating:
        marks.append("changes things: " + ("allowed by --yes" if allowed else "refused"))
    if tool.isolate:
        marks.append("in a process of its own" + (f", {tool.timeout:g} s" if tool.timeout else ""))
    return f"{tool.name}({', '.join(names)})" + (f"  [{'; '.join(marks)}]" if marks else "")
