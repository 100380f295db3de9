# SPDX-License-Identifier: MIT
"""Run the tests on a copy in which every optional room is deleted.

    python3 scripts/core_suite.py [PYTEST ARGUMENT ...]

Copies the checkout into a temporary folder, deletes the optional rooms of the package there, and
runs pytest. Test modules that import a deleted room are left out, and so are tests of the whole
checkout. Many tests of the transport and the client use the loopback provider. It imports no
other optional room, so it stays beside the tests, where the package does not find it. The
running Python is used; it must have the packages that the tests need.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Set

ROOT = Path(__file__).resolve().parent.parent

sys.path.insert(0, str(ROOT))

from streamcore import _HOMES  # noqa: E402
from streamcore.values.rooms import OPTIONAL  # noqa: E402

PARTS = ("streamcore", "tests", "scripts", ".ci", "setup.cfg", "setup.py", "README.md",
         "CHANGELOG.md", "LICENSE")
GONE = set(OPTIONAL) - {"loopback"}
WHOLE = {"tests/package", "tests/loopback"}
"""Folders with tests of the whole checkout, or of a deleted room."""
PLUGIN = "kept_loopback"
KEEP = '''"""Lets the tests find the loopback provider, which stands beside them."""
import streamcore
streamcore.__path__.append({!r})
'''


def reduce(folder: Path) -> None:
    """Copy the checkout into a folder, without the optional rooms of the package."""
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    kept = folder / "tests" / "kept"
    kept.mkdir()
    shutil.move(str(folder / "streamcore" / "loopback"), str(kept / "loopback"))
    for room in GONE:
        shutil.rmtree(folder / "streamcore" / room)
    (folder / "tests" / f"{PLUGIN}.py").write_text(KEEP.format(str(kept)), encoding="utf-8")


def imported(source: str) -> Iterator[str]:
    """Yield the modules that a test imports anywhere: ``streamcore.ROOM``, or a helper."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "streamcore":
            yield from (f"streamcore.{_HOMES.get(one.name, one.name)}" for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def needs_a_room(path: Path, helpers: Dict[str, Path], seen: Set[Path]) -> bool:
    """Return whether a test module, or a helper that it imports, imports a deleted room."""
    seen.add(path)
    for name in imported(path.read_text(encoding="utf-8")):
        top, _, rest = name.partition(".")
        if top == "streamcore" and rest.partition(".")[0] in GONE:
            return True
        helper = helpers.get(top)
        if helper is not None and helper not in seen and needs_a_room(helper, helpers, seen):
            return True
    return False


def left_out(folder: Path) -> List[str]:
    """Return the paths of the test modules that need a deleted room."""
    tests = folder / "tests"
    helpers = {path.stem: path for path in tests.glob("*.py")}
    found = [path for path in tests.rglob("test_*.py") if needs_a_room(path, helpers, set())]
    return sorted(path.relative_to(folder).as_posix() for path in found)


def main(args: List[str]) -> int:
    """Run the tests; return pytest's exit code."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "checkout"
        folder.mkdir()
        reduce(folder)
        ignored = sorted(WHOLE | set(left_out(folder)))
        print(f"rooms deleted: {', '.join(OPTIONAL)}; {len(ignored)} test modules and folders "
              "left out", flush=True)
        command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider",
                   *(f"--ignore={name}" for name in ignored), *args]
        variables = {**os.environ, "PYTHONPATH": str(folder / "tests")}
        return subprocess.run(command, cwd=folder, env=variables).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
