# SPDX-License-Identifier: MIT
"""Run the tests:  python3 scripts/test.py [PYTEST ARGUMENT ...]

Makes or reuses a virtual environment in .venv/test with what the tests need, then runs
pytest there on this checkout. Nothing but Python 3.9 or newer has to be installed.
The tests are shared out over a few processes, since many of them wait for clocks; a process
that is done takes from the others, and with -n 0 there is only one.
Every argument goes to pytest; paths count from the top folder:

    python3 scripts/test.py                       all tests
    python3 scripts/test.py -m "not long"         without the long fuzz and soak parts
    python3 scripts/test.py -k sse -x             some, up to the first failure

-h or --help shows this text and makes nothing. pytest's own help, once the
environment stands:  .venv/test/bin/python -m pytest --help
"""

import os
import sys

# Before any newer syntax is met: an old Python gets a sentence.
if sys.version_info < (3, 9):
    sys.exit("streamcore needs Python 3.9 or newer; this one is %d.%d (%s)."
             % (sys.version_info[0], sys.version_info[1], sys.executable))

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # absent under -P and -I
import _venv  # noqa: E402


def main(args):
    if set(args) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    try:
        python = _venv.ensure("test", _venv.requirements("test"))
    except _venv.NoVenv as error:
        sys.exit(str(error))
    return _venv.hand_over([python, "-m", "pytest"] + shared_out(args) + args, cwd=_venv.ROOT)


def shared_out(args):
    """Return what shares the tests out, unless the caller says how, or wants to look inside."""
    told = ("-n", "--numprocesses", "--dist", "-p", "--pdb", "--trace", "-s", "--capture")
    if any(arg.startswith(told) for arg in args):
        return []
    return ["-n", str(min(8, 2 * (os.cpu_count() or 1))), "--dist", "worksteal"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
