# SPDX-License-Identifier: MIT
"""Show streamcore at work:  python3 scripts/demo.py [ARGUMENT ...]

Runs `streamcore demo` from this checkout. The demo starts its own provider on 127.0.0.1, so
it needs no key and no network. If the running Python has requests 2.25 or newer, it is used.
Otherwise the script makes or reuses a virtual environment in .venv/demo, which needs only
Python 3.9 or newer. Every argument goes to `streamcore demo`.
"""

import os
import sys

# First of all, so that an old Python shows a sentence and not a syntax error.
if sys.version_info < (3, 9):
    sys.exit("streamcore needs Python 3.9 or newer; this one is %d.%d (%s)."
             % (sys.version_info[0], sys.version_info[1], sys.executable))

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # absent under -P and -I
import _venv  # noqa: E402


def recent_enough(version):
    """Return whether this version of requests is 2.25 or newer."""
    numbers = version.split(".")[:2]
    return all(n.isdigit() for n in numbers) and tuple(map(int, numbers)) >= (2, 25)


def has_requests():
    """Return whether the running Python has a requests that loads and is recent enough."""
    try:
        import requests
    except ImportError:
        return False
    return recent_enough(requests.__version__)


def main(args):
    if set(args) & {"-h", "--help"}:
        sys.stdout.write(__doc__.strip() + "\n\n")
    elif not has_requests():
        return in_venv(args)
    sys.path.insert(0, str(_venv.ROOT))
    from streamcore.cli import main as cli
    return cli(["demo"] + args)


def in_venv(args):
    """Run this script again in an environment that has requests."""
    try:
        python = _venv.ensure("demo", _venv.requirements())
    except _venv.NoVenv as error:
        sys.exit(str(error))
    if os.path.abspath(sys.prefix) == str(_venv.VENVS / "demo"):
        sys.exit("requests does not load in .venv/demo; delete that folder and try again.")
    return _venv.hand_over([python, os.path.abspath(__file__)] + args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
