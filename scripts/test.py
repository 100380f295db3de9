# SPDX-License-Identifier: MIT
"""Run the tests:  python3 scripts/test.py [PYTEST ARGUMENT ...]

Makes or reuses a virtual environment in .venv/test that has the packages of the tests, then
runs pytest there on this checkout. Only Python 3.9 or newer has to be installed.
Several processes share the tests, because many tests wait for clocks. An idle process takes
tests from the others. With -n 0 there is only one process.
Every argument goes to pytest; paths are relative to the top folder:

    python3 scripts/test.py                       all tests
    python3 scripts/test.py -m "not long"         without the long fuzz and soak parts
    python3 scripts/test.py -k sse -x             some tests, until the first failure

-h or --help shows this text and makes nothing. When the environment is made, this shows
pytest's own help:  .venv/test/bin/python -m pytest --help
"""

import os
import sys

# First of all, so that an old Python shows a sentence and not a syntax error.
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
    """Return pytest's options for several processes; none if the arguments exclude them."""
    told = ("-n", "--numprocesses", "--dist", "-p", "--pdb", "--trace", "-s", "--capture")
    if any(arg.startswith(told) for arg in args):
        return []
    return ["-n", str(min(8, 2 * (os.cpu_count() or 1))), "--dist", "worksteal"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
