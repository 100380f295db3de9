# SPDX-License-Identifier: MIT
"""Show streamcore at work:  python3 scripts/demo.py [ARGUMENT ...]

Runs `streamcore demo` from this checkout, against a provider of its own on 127.0.0.1;
no key, no network. The running Python is used when it has requests 2.25 or newer;
otherwise a virtual environment with it is made or reused in .venv/demo, for which
nothing but Python 3.9 or newer has to be installed.
Every argument goes to `streamcore demo`.
"""

import os
import sys

# Before any newer syntax is met: an old Python gets a sentence.
if sys.version_info < (3, 9):
    sys.exit("streamcore needs Python 3.9 or newer; this one is %d.%d (%s)."
             % (sys.version_info[0], sys.version_info[1], sys.executable))

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # absent under -P and -I
import _venv  # noqa: E402


def recent_enough(version):
    """Say whether this version of requests will do: 2.25 or newer."""
    numbers = version.split(".")[:2]
    return all(n.isdigit() for n in numbers) and tuple(map(int, numbers)) >= (2, 25)


def has_requests():
    """Say whether the running Python has a requests that works and is recent enough."""
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
