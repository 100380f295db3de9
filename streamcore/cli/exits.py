# SPDX-License-Identifier: MIT
"""How a command ends: the exit codes, and the exceptions that lead to them.

A command returns ``PROVEN`` or ``FAILED``; ``vendor`` may also return ``BEHIND``, ``replay``
``USAGE``. Any other end is an exception, so that every ``with`` closes its socket; ``main`` turns
the exception into a code. A code above 128 is what a shell shows for a program ended by a signal.
"""

from __future__ import annotations

PROVEN = 0
FAILED = 1
USAGE = 2
BEHIND = 3
BUG = 70  # EX_SOFTWARE of sysexits.h
UNWRITTEN = 74  # EX_IOERR
INTERRUPTED = 130  # 128 + SIGINT
UNREAD = 141  # 128 + SIGPIPE
TERMINATED = 143  # 128 + SIGTERM

TABLE = f"""\
exit codes:
  {PROVEN:<4} a proven, whole message; also a message cut at the output
       limit (max-tokens), which stderr then says
  {FAILED:<4} an answer failed, and stderr has `CODE: message`; or a copy
       was changed by hand (vendor)
  {USAGE:<4} wrong arguments, or a file that cannot be read
  {BEHIND:<4} a copy is behind this version (vendor --check)
  {BUG:<4} a bug in this program
  {UNWRITTEN:<4} the output could not be written
  {INTERRUPTED:<4} interrupted by Ctrl-C; the connection is closed
  {UNREAD:<4} the reader of the output went away (`| head`)
  {TERMINATED:<4} ended by SIGTERM; the connection is closed
"""


class Usage(Exception):
    """The arguments are wrong, or a file cannot be read; the text says why."""


class Shown(Exception):
    """Carries a help page or the version, which ends the command."""


class OutputGone(Exception):
    """Nobody reads stdout any more."""


class OutputFailed(Exception):
    """Stdout cannot be written; the text says why."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came. Like Ctrl-C, it passes through a running tool and is not a tool's failure."""
