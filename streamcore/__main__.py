# SPDX-License-Identifier: MIT
"""Runs the command line as ``python -m streamcore``; the command line itself is in ``cli``.

The modules of ``cli`` are loaded inside the ``try``. So a Ctrl-C while they load ends in the
same message and exit code as a later one.
"""

from __future__ import annotations

import sys

from .values.rooms import left_out


def run() -> int:
    """Run the command line and return its exit code."""
    try:
        from .cli import main

        return main()
    except ModuleNotFoundError as error:
        text = left_out("The command line", error, __package__ or "")
        if not text:
            raise
        sys.stderr.write(text + "\n")
        return 2  # the value of ``exits.USAGE``; that module was left out
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130  # the value of ``exits.INTERRUPTED``; that module may not be loaded yet


if __name__ == "__main__":
    sys.exit(run())
