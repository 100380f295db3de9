# SPDX-License-Identifier: MIT
"""Virtual environments under ``.venv`` for the scripts and ``.ci/run``.

``ensure`` returns the Python of the environment ``.venv/<name>``. It reuses an environment that
is whole and made for the asked Python and requirements, and makes a new one otherwise. A stamp
file is written last; an environment without it is half made. If no environment can be made,
``NoVenv`` carries a sentence for the user. Needs only the standard library.

For the shell:  _venv.py find                       supported Pythons, oldest first
                _venv.py make NAME PYTHON REQ…      prints the path of the environment's Python
A requirement ``@extra`` means the package's requirements and those of that extra in setup.cfg.
"""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".venv"
STAMP = "streamcore-stamp.json"
OLDEST, NEWEST = (3, 9), (3, 13)

# Runs on any Python, so its syntax is old. A Python inside a virtual environment reports the
# Python that the environment was made from.
PROBE = """
import importlib.util, json, os, sys
base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
lacks = [m for m in ("venv", "ensurepip") if importlib.util.find_spec(m) is None]
print(json.dumps([base, list(sys.version_info[:3]), lacks]))
"""

NO_VENV = (
    "A virtual environment is needed, and this Python ({path}, {version}) cannot make one: it has "
    "no {lacks}. On Debian or Ubuntu `apt-get install python{minor}-venv` brings it; or run "
    "this script with another Python, {oldest} or newer."
)


class NoVenv(Exception):
    """No environment can be made; the text says why, and what to install."""


class Interpreter(NamedTuple):
    """A Python that ran: its real path, its version, and the modules it lacks to make a venv."""

    path: str
    version: Tuple[int, ...]
    lacks: Tuple[str, ...] = ()

    @property
    def number(self) -> str:
        return ".".join(map(str, self.version))


def identify(python: str) -> Optional[Interpreter]:
    """Run ``python`` and return its facts; None when it does not run (as an empty pyenv shim)."""
    try:
        done = subprocess.run(
            [python, "-c", PROBE],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=30, check=True,
        )
        path, version, lacks = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter(path, tuple(version), tuple(lacks))


def requirements(*extras: str, cfg: Path = ROOT / "setup.cfg") -> List[str]:
    """Return the requirements of the package in setup.cfg, then those of each extra."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(cfg, encoding="utf-8")
    wanted = [parser["options"]["install_requires"]]
    wanted += [parser["options.extras_require"][extra] for extra in extras]
    return [line.strip() for text in wanted for line in text.splitlines() if line.strip()]


def python_in(folder: Path) -> Path:
    """Return where the Python of the environment in ``folder`` is."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def stamp_for(base: Interpreter, folder: Path, needs: Sequence[str]) -> Dict[str, object]:
    """Return the facts that identify an environment; a moved folder needs a new environment."""
    return {
        "python": base.path, "version": base.number, "folder": str(folder), "needs": list(needs),
    }


def why_rebuild(folder: Path, wanted: Mapping[str, object]) -> Optional[str]:
    """Return why the environment in ``folder`` cannot be reused; None when it can."""
    if not folder.exists():
        return "there is none"
    try:
        found = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "it is half made"
    if found != dict(wanted):
        return "it belongs to another Python, place or set of requirements"
    if identify(str(python_in(folder))) is None:
        return "its Python no longer runs"
    return None


def ensure(
    name: str, needs: Sequence[str], python: str = sys.executable, venvs: Path = VENVS
) -> str:
    """Return the path of the Python of environment ``name``, which has all of ``needs``.

    Raises:
        NoVenv: when it cannot be made; a half-made environment is never reused.
    """
    base = identify(python)
    if base is None:
        raise NoVenv(f"{python} is not a Python that runs.")
    folder = venvs / name
    wanted = stamp_for(base, folder, needs)
    reason = why_rebuild(folder, wanted)
    if reason is not None:
        if base.lacks:
            raise NoVenv(no_venv_sentence(base))
        say(f"making {folder} with Python {base.number} ({reason})")
        build(base, folder, needs)
        (folder / STAMP).write_text(json.dumps(wanted, indent=1), encoding="utf-8")
    return str(python_in(folder))


def build(base: Interpreter, folder: Path, needs: Sequence[str]) -> None:
    """Remove the folder, make the environment, and install ``needs`` into it."""
    if folder.exists():
        shutil.rmtree(folder)
    if call([base.path, "-m", "venv", str(folder)]) != 0:
        raise NoVenv(f"`{base.path} -m venv` failed; its output is above.")
    pip = [str(python_in(folder)), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    if needs and call([*pip, "install", "--quiet", *needs]) != 0:
        raise NoVenv(
            f"pip could not install {', '.join(needs)}; its output is above. "
            "Can this machine reach a package index?"
        )


def no_venv_sentence(base: Interpreter) -> str:
    """Return the sentence that says what to install so that ``base`` can make environments."""
    return NO_VENV.format(
        path=base.path, version=base.number, lacks=" and no ".join(base.lacks),
        minor=".".join(map(str, base.version[:2])), oldest=".".join(map(str, OLDEST)),
    )


def call(command: Sequence[str]) -> int:
    """Run a command with its output on stderr, because stdout is for the script's answer."""
    sys.stderr.flush()
    return subprocess.call(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno())


def say(line: str) -> None:
    """Tell the user what happens, on stderr."""
    print(line, file=sys.stderr, flush=True)


def hand_over(command: Sequence[str], cwd: Optional[Path] = None) -> int:
    """Replace this process by ``command`` on POSIX, so that Ctrl-C reaches only one process."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        if cwd is not None:
            os.chdir(cwd)
        os.execv(command[0], list(command))
    return subprocess.call(command, cwd=cwd)


def candidates(environ: Mapping[str, str]) -> List[str]:
    """Return the Pythons to look at: names on the PATH, then pyenv's versions folder."""
    minors = range(OLDEST[1], NEWEST[1] + 1)
    names = [f"python3.{minor}" for minor in minors] + ["python3", "python"]
    found = [shutil.which(name, path=environ.get("PATH", "")) for name in names]
    home = environ.get("PYENV_ROOT") or os.path.join(environ.get("HOME", ""), ".pyenv")
    kept = sorted(Path(home, "versions").glob("*/bin/python3"))
    return [path for path in found if path] + [str(path) for path in kept]


def supported(pythons: Iterable[Optional[Interpreter]]) -> List[Interpreter]:
    """Return the supported Pythons that can make environments, oldest first, each once."""
    fit = {p for p in pythons if p and OLDEST <= p.version[:2] <= NEWEST and not p.lacks}
    return sorted(fit, key=lambda p: (p.version, p.path))


def main(args: Sequence[str]) -> int:
    """Run the verb ``find`` or ``make``; return the exit code."""
    if args and args[0] == "find" and len(args) == 1:
        for python in supported(map(identify, candidates(os.environ))):
            print(python.number, python.path)
        return 0
    if args and args[0] == "make" and len(args) >= 3:
        _, name, python_path, *asked = args
        needs: List[str] = []
        for item in asked:
            needs += requirements(item[1:]) if item.startswith("@") else [item]
        print(ensure(name, needs, python_path))
        return 0
    print(__doc__)
    return 0 if set(args) & {"-h", "--help"} else 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except NoVenv as error:
        sys.exit(str(error))
