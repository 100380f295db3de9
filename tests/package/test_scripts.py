# SPDX-License-Identifier: MIT
"""The scripts that make their own environments: when they reuse one, and what they say.

Environments are not made here (``.ci/run`` does, all day); the decisions are.
"""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from scripts_support import load

ROOT = Path(__file__).resolve().parents[2]


_venv = load("_venv")
BASE = _venv.Interpreter("/opt/python3.11/bin/python3.11", (3, 11, 7))


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=120, universal_newlines=True,
    )


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A folder that looks like a whole environment of BASE; its Python is the running one."""
    folder = tmp_path / "test"
    python = _venv.python_in(folder)
    python.parent.mkdir(parents=True)
    os.symlink(sys.executable, python)
    stamp = _venv.stamp_for(BASE, folder, ["requests>=2.25"])
    (folder / _venv.STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    return folder


def wanted(folder: Path, base: object = BASE, needs: str = "requests>=2.25") -> object:
    return _venv.stamp_for(base, folder, [needs])


def test_venv_whole_is_reused(whole: Path) -> None:
    """The same Python, place and requirements: nothing is rebuilt."""
    assert _venv.why_rebuild(whole, wanted(whole)) is None


def test_venv_absent_is_made(tmp_path: Path) -> None:
    """Without an environment, the reason says so."""
    assert _venv.why_rebuild(tmp_path / "x", wanted(tmp_path / "x")) == "there is none"


@pytest.mark.parametrize("stamp", [None, "", "{", "[]"])
def test_venv_half_made_is_rebuilt(whole: Path, stamp: object) -> None:
    """An environment without the stamp, or with a broken stamp, is not reused."""
    if stamp is None:
        (whole / _venv.STAMP).unlink()
    else:
        (whole / _venv.STAMP).write_text(str(stamp))
    assert _venv.why_rebuild(whole, wanted(whole)) is not None


@pytest.mark.parametrize("base", [
    BASE._replace(path="/elsewhere/python3.11"), BASE._replace(version=(3, 12, 1)),
])
def test_venv_of_another_python_is_rebuilt(whole: Path, base: object) -> None:
    """Another Python, or the same path with another version, gets an environment of its own."""
    assert "another Python" in _venv.why_rebuild(whole, wanted(whole, base))


def test_venv_with_other_requirements_is_rebuilt(whole: Path) -> None:
    """After a change in setup.cfg the environment is made again."""
    assert _venv.why_rebuild(whole, wanted(whole, needs="requests>=3")) is not None


def test_venv_that_was_moved_is_rebuilt(whole: Path) -> None:
    """Environments hold absolute paths: a copied checkout makes its own."""
    moved = whole.rename(whole.parent / "moved")
    assert _venv.why_rebuild(moved, wanted(moved)) is not None


def test_venv_of_a_vanished_python_is_rebuilt(whole: Path) -> None:
    """A dangling link where the Python was is noticed."""
    python = _venv.python_in(whole)
    python.unlink()
    os.symlink("/nowhere/python3", python)
    assert _venv.why_rebuild(whole, wanted(whole)) == "its Python no longer runs"


def test_missing_ensurepip_names_the_package_to_install() -> None:
    """The sentence says which Python lacks what, and what brings it."""
    text = _venv.no_venv_sentence(BASE._replace(lacks=("venv", "ensurepip")))
    assert BASE.path in text and "3.11.7" in text
    assert "no venv and no ensurepip" in text
    assert "python3.11-venv" in text


def test_python_that_does_not_run_is_refused(tmp_path: Path) -> None:
    """A shim without a Python gives a sentence, not a traceback."""
    shim = tmp_path / "python3"
    shim.write_text("#!/bin/sh\necho no such version >&2\nexit 127\n")
    shim.chmod(0o755)
    assert _venv.identify(str(shim)) is None
    with pytest.raises(_venv.NoVenv, match="not a Python that runs"):
        _venv.ensure("x", [], str(shim), tmp_path)


def test_running_python_is_identified_by_its_base() -> None:
    """A Python in an environment reports the Python that the environment was made from."""
    found = _venv.identify(sys.executable)
    assert found.version == sys.version_info[:3]
    assert found.path == os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def test_pythons_come_from_path_and_pyenv(tmp_path: Path) -> None:
    """Names on the PATH first, then pyenv's versions folder."""
    names = ["bin/python3", "bin/python3.9", "pyenv/versions/3.12.1/bin/python3"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch(mode=0o755)
    environ = {"PATH": str(tmp_path / "bin"), "PYENV_ROOT": str(tmp_path / "pyenv")}
    expected = [str(tmp_path / n) for n in (names[1], names[0], names[2])]
    assert _venv.candidates(environ) == expected
    del environ["PYENV_ROOT"]
    environ["HOME"] = str(tmp_path)
    (tmp_path / "pyenv").rename(tmp_path / ".pyenv")
    assert _venv.candidates(environ)[2] == str(tmp_path / ".pyenv/versions/3.12.1/bin/python3")


def test_supported_pythons_are_sorted_and_fit() -> None:
    """Oldest first; too old, too new, not running, or unable to make environments: left out."""
    def at(*version: int, lacks: "tuple[str, ...]" = ()) -> object:
        return _venv.Interpreter("/p" + ".".join(map(str, version)), version, lacks)

    found = _venv.supported([
        at(3, 13, 0), at(3, 10, 2), None, at(3, 8, 18), at(3, 9, 1), at(3, 14, 0), at(3, 9, 1),
        at(3, 11, 2, lacks=("ensurepip",)),
    ])
    assert [p.version for p in found] == [(3, 9, 1), (3, 10, 2), (3, 13, 0)]


def test_supported_range_is_the_one_of_the_metadata() -> None:
    """The classifiers of setup.cfg name the Pythons that .ci/run looks for."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = parser["metadata"]["classifiers"].split("\n")
    minors: List[int] = [int(ln.split("3.")[1]) for ln in lines if ":: 3." in ln]
    assert minors == list(range(_venv.OLDEST[1], _venv.NEWEST[1] + 1))
    assert parser["options"]["python_requires"] == f">=3.{_venv.OLDEST[1]}"


def test_requirements_come_from_the_metadata() -> None:
    """The tests' environment gets what the package needs and the test extra adds."""
    assert _venv.requirements() == ["requests>=2.25"]
    wanted = ["requests>=2.25", "h11", "pytest", "pytest-xdist", "responses"]
    assert _venv.requirements("test") == wanted


@pytest.mark.parametrize("version, good", [
    ("2.25.0", True), ("2.34.2", True), ("3.0", True), ("2.24.0", False), ("1.2.3", False),
    ("odd", False), ("", False),
])
def test_demo_takes_a_recent_requests_only(version: str, good: bool) -> None:
    """The running Python is used when its requests is 2.25 or newer."""
    assert load("demo").recent_enough(version) is good


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_test_script_helps_without_making_anything(flag: str) -> None:
    """The help says which program gets the arguments."""
    done = run(sys.executable, "scripts/test.py", flag)
    assert done.returncode == 0
    assert "Every argument goes to pytest" in done.stdout and done.stderr == ""


def test_demo_script_helps_with_the_options_of_the_command() -> None:
    """Help is its own text and that of ``streamcore demo``."""
    done = run(sys.executable, "scripts/demo.py", "--help")
    assert done.returncode == 0
    assert "streamcore demo" in done.stdout and "usage:" in done.stdout


def test_ci_script_is_well_formed_and_executable() -> None:
    """Bash can parse .ci/run, and the file is executable."""
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert run("bash", "-n", ".ci/run").returncode == 0


def test_core_suite_deletes_the_optional_rooms(tmp_path: Path) -> None:
    """The reduced checkout has the rooms that each copy needs, and loopback beside the tests."""
    suite = load("core_suite")
    suite.reduce(tmp_path)
    rooms = {path.name for path in (tmp_path / "streamcore").iterdir() if path.is_dir()}
    assert rooms == {"values", "wire", "transport", "providers", "runtime", "client"}
    assert (tmp_path / "tests" / "kept" / "loopback" / "server.py").is_file()


def test_core_suite_leaves_out_tests_that_import_a_deleted_room(tmp_path: Path) -> None:
    """A public name, a module and a helper's import each count; loopback and the core do not."""
    sources = {
        "cli_helper.py": "from streamcore.cli import main",
        "client/test_client.py": "from streamcore import Client, LoopbackServer",
        "client/test_agent.py": "from streamcore import Agent",
        "client/test_config.py": "def f():\n    import streamcore.config.ini",
        "client/test_helped.py": "from cli_helper import main",
    }
    for name, source in sources.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    assert load("core_suite").left_out(tmp_path) == [
        "tests/client/test_agent.py", "tests/client/test_config.py", "tests/client/test_helped.py",
    ]
