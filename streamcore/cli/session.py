# SPDX-License-Identifier: MIT
"""``session salvage``: copy the readable records of a damaged session file into a new file.

In: a file that ``agent --session`` refuses. Out: the new file's name on stdout; on stderr, what
was left out and where, or why the file cannot be salvaged.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..session import Session
from ..values.errors import LlmError
from .exits import FAILED, PROVEN
from .terminal import Terminal

_SHOWN = 20  # damaged pieces that are listed; a file may have thousands


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "session",
        help="copy what can be read of a damaged session file",
        description="salvage writes all whole records of a session file into a new file, and\n"
        "says what was left out and where. It does not change the damaged file.",
    )
    parser.add_argument("action", choices=("salvage",), help="the only action")
    parser.add_argument("file", metavar="FILE", help="the damaged session file")
    parser.add_argument("new", metavar="NEW", nargs="?",
                        help="the file to make; default: FILE.salvaged")
    parser.add_debug()
    parser.set_defaults(run=run)


def run(args: Namespace, terminal: Terminal) -> int:
    """Salvage one file and return the exit code."""
    try:
        saved = Session.salvage(args.file, args.new)
    except LlmError as error:
        terminal.note(f"{error.code}: {error.failure.message}")
        return FAILED
    for piece in saved.left_out[:_SHOWN]:
        terminal.note(f"left out: line {piece.line}, byte {piece.offset}, {piece.bytes} bytes: "
                      f"{piece.reason}")
    if len(saved.left_out) > _SHOWN:
        terminal.note(f"left out: {len(saved.left_out) - _SHOWN} more pieces")
    terminal.note(f"[session] {saved.records} whole records saved, {saved.lost} missing")
    terminal.line(saved.path)
    return PROVEN
