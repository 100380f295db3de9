# SPDX-License-Identifier: MIT
"""The command line as ``python -m``; see ``cli``.

Its modules are loaded inside of a guard, so that a Ctrl-C while they load ends as quietly, and
with the same exit code, as one that comes later.
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
        return 2  # as ``exits.USAGE``, which is not there
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130  # as ``exits.INTERRUPTED``, which may not be loaded yet


if __name__ == "__main__":
    sys.exit(run())
