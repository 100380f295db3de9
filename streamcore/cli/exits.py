# SPDX-License-Identifier: MIT
"""How a command ends: the exit codes, and the exceptions that lead to them.

A command returns ``PROVEN`` or ``FAILED``, and ``vendor`` also ``BEHIND``. Everything else is
raised, so that every ``with`` on the way closes its socket, and becomes a code in ``main``.
Codes above 128 are what a shell shows for a program that the signal ended.
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
  {PROVEN:<4} a proven, whole message; one cut at the output limit
       (max-tokens) is whole as far as it goes: stderr says so
  {FAILED:<4} an answer failed: stderr has `CODE: message`; or a copy
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
    """What was asked for cannot be done as asked; the text says why."""


class Shown(Exception):
    """The text was all that was asked for: a help page, the version."""


class OutputGone(Exception):
    """Nobody reads stdout any more."""


class OutputFailed(Exception):
    """Stdout cannot be written; the text says why."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came. Like Ctrl-C it is no failure of a tool that runs at that moment."""
