# SPDX-License-Identifier: MIT
"""The command line: ``chat``, ``agent``, ``replay``, ``session``, ``config``, ``providers``,
``demo``, ``vendor``.

In: arguments and the three standard streams. Out: an answer's text on stdout, everything
else on stderr, and an exit code: 0 for a proven, whole message, 1 for an answer that failed
(``CODE: message`` on stderr), 2 for wrong usage, 130 for Ctrl-C. ``exits`` and the program's
``--help`` list all codes. Tracebacks are shown only under ``--debug``, secrets never.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import traceback
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, TextIO, Tuple

from .. import __version__
from ..values.errors import error_chain
from ..values.rooms import left_out
from . import exits
from .arguments import Parser
from .terminal import Terminal

__all__ = ["main"]

PROGRAM = "streamcore"
COMMANDS = ("chat", "agent", "replay", "session", "config", "providers", "demo", "vendor")
"""The modules of the commands. A copy offers only the commands whose rooms it has."""
_PACKAGE = __name__.rpartition(".")[0]  # the package's import path, also inside another package
_STARTED = PROGRAM if _PACKAGE == PROGRAM else f"python -m {_PACKAGE}"  # as usage shows it


def main(
    argv: Optional[Sequence[str]] = None,
    *,
    stdin: Optional[TextIO] = None,
    stdout: Optional[TextIO] = None,
    stderr: Optional[TextIO] = None,
    environ: Optional[Mapping[str, str]] = None,
) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the arguments without the program's name; by default those of the process.
        stdin, stdout, stderr: text streams over bytes; by default those of the process.
        environ: where keys are looked up; by default the environment of the process.
    Returns:
        the exit code, as in ``exits.TABLE``.
    """
    terminal = Terminal(
        sys.stdin if stdin is None else stdin,
        sys.stdout if stdout is None else stdout,
        sys.stderr if stderr is None else stderr,
        os.environ if environ is None else environ,
    )
    try:
        with _sigterm_raises():
            code = _run(sys.argv[1:] if argv is None else argv, terminal)
            terminal.flush()
        return code
    except exits.Usage as error:
        terminal.note(f"{PROGRAM}: {error}")
        return exits.USAGE
    except exits.Terminated:
        terminal.note("ended by SIGTERM")
        return exits.TERMINATED
    except KeyboardInterrupt:
        terminal.note("interrupted")
        return exits.INTERRUPTED
    except exits.OutputGone:
        terminal.give_up_stdout()
        return exits.UNREAD
    except exits.OutputFailed as error:
        terminal.give_up_stdout()
        terminal.note(f"{PROGRAM}: {error}")
        return exits.UNWRITTEN
    except Exception as error:  # a bug: one line, and a traceback under --debug
        terminal.note(f"{PROGRAM}: a bug: {error_chain(error)} (--debug shows where)")
        if terminal.debug:
            terminal.note(traceback.format_exc())
        return exits.BUG


def _run(argv: Sequence[str], terminal: Terminal) -> int:
    # The modules load here, inside main's try, so that Ctrl-C while they load shows no traceback.
    found, absent = _load()
    if argv and argv[0] in absent:
        raise exits.Usage(absent[argv[0]])
    parser = Parser(
        prog=_STARTED,
        description="A language model's streamed answer: one trusted message, or an error code.",
        epilog=exits.TABLE,
    )
    parser.add_version(f"{PROGRAM} {__version__}\n")
    commands = parser.add_commands()
    for command in found:
        command.add_parser(commands)
    try:
        args = parser.parse(argv)
    except exits.Shown as shown:
        terminal.text(str(shown))
        return exits.PROVEN
    terminal.debug = args.debug
    terminal.check_stdout()  # before a request is paid for
    with _traced(args.debug, terminal):
        code: int = args.run(args, terminal)
        return code


def _load() -> Tuple[List[Any], Dict[str, str]]:
    """Return the modules of the commands, and by name why a command is missing."""
    found, absent = [], {}
    for name in COMMANDS:
        try:
            found.append(import_module("." + name, __name__))
        except ModuleNotFoundError as error:
            absent[name] = left_out(name, error, _PACKAGE)
            if not absent[name]:
                raise
    return found, absent


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Make SIGTERM raise ``Terminated`` inside the block, so that connections are closed."""
    def terminate(number: int, frame: Any) -> None:
        raise exits.Terminated

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


class _TraceHandler(logging.Handler):
    """Shows log records as notes; the terminal hides secrets and control characters in notes."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record."""
        self._terminal.note(f"{record.name}: {record.getMessage()}".rstrip())


@contextmanager
def _traced(on: bool, terminal: Terminal) -> Iterator[None]:
    """Inside the block, show what the package's loggers write, if ``on``."""
    if not on:
        yield
        return
    logger, handler = logging.getLogger(_PACKAGE), _TraceHandler(terminal)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
