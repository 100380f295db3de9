# SPDX-License-Identifier: MIT
"""``session salvage``: what can be read of a damaged session file, in a new file.

In: a file that ``agent --session`` refuses. Out, on stdout: the new file's name; on stderr,
what was left out and where. A file that cannot be salvaged is said on stderr.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..session import Session
from ..values.errors import LlmError
from .exits import FAILED, PROVEN
from .terminal import Terminal

_SHOWN = 20  # pieces told of; a file may have a damaged line for each of its thousands


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "session",
        help="save what can be read of a damaged session file",
        description="salvage: write all whole records of a session file into a new file, and\n"
        "say what was left out and where. The damaged file stays as it is.",
    )
    parser.add_argument("action", choices=("salvage",), help="what to do")
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
