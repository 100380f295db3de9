# SPDX-License-Identifier: MIT
"""The package carried inside another: ``cp -r streamcore host/_vendor/`` and nothing else.

The copy runs under its new name, with a decoy in place of the installed package, and its
sources hold no string that is their own import path.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterator, List

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "streamcore"

OWN_PATH = re.compile(r"\bstreamcore\.[A-Za-z_]")

READ_A_STREAM = r"""
import sys
from host._vendor import streamcore
body = (b'data: {"choices":[{"index":0,"delta":{"content":"carried"},"finish_reason":"stop"}]}\n\n'
        b'data: [DONE]\n\n')
message = streamcore.assemble(streamcore.parse_stream([body]))
for name in streamcore.__all__:
    getattr(streamcore, name)
assert "streamcore" not in sys.modules
print(message.text)
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder with a package ``host`` that carries the copy, and a decoy beside it."""
    vendor = tmp_path / "host" / "_vendor"
    shutil.copytree(
        PACKAGE, vendor / "streamcore", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "host" / "__init__.py").touch()
    (vendor / "__init__.py").touch()
    (tmp_path / "streamcore.py").write_text("raise ImportError('reached past the copy')\n")
    return tmp_path


def run(host: Path, *args: str) -> str:
    """Run Python in the host's folder; return what it printed."""
    done = subprocess.run(
        [sys.executable, *args], cwd=host, env={"PATH": "", "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode("utf-8")


def test_vendored_copy_runs_as_a_command(host: Path) -> None:
    """``python -m host._vendor.streamcore --help`` shows the commands."""
    out = run(host, "-m", "host._vendor.streamcore", "--help")
    assert "replay" in out and "chat" in out


def test_vendored_copy_runs_its_demo(host: Path) -> None:
    """The provider, the client and the pipeline of the copy work together."""
    assert "STREAM_CLOSED" in run(host, "-m", "host._vendor.streamcore", "demo", "--pause", "0")


def test_vendored_copy_reads_a_stream(host: Path) -> None:
    """The copy parses, and all its public names load, without the package of its own name."""
    assert run(host, "-c", READ_A_STREAM).strip() == "carried"


def strings(nodes: List[ast.AST]) -> Iterator[ast.Constant]:
    """Yield the string constants among them that are no docstrings or bare strings."""
    bare = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node


def own_paths(source: str) -> List[str]:
    """Return what in a source would break, or mislead, under another name."""
    nodes = list(ast.walk(ast.parse(source)))
    found = [node.value for node in strings(nodes) if OWN_PATH.search(node.value)]
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "getLogger":
            found += [f"logger {a.value}" for a in node.args if isinstance(a, ast.Constant)]
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or node.names[0].name
            if module.split(".")[0] == "pkg_resources" or "importlib.metadata" in module:
                found.append(f"metadata by {module}")
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_source_holds_no_import_path_of_its_own(path: Path) -> None:
    """No string, logger or metadata look-up in the package names the package's import path."""
    assert own_paths(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("source, count", [
    ("import_module('streamcore.cli')", 1),
    ("x = f'streamcore.wire.sse{1}'", 1),
    ("logging.getLogger('streamcore')", 1),
    ("from importlib.metadata import version", 1),
    ("import importlib.metadata", 1),
    ('"""See streamcore.wire.sse."""', 0),
    ("prog = 'streamcore'; line = 'this is streamcore. It streams'", 0),
    ("logging.getLogger(__name__)", 0),
])
def test_own_path_is_caught(source: str, count: int) -> None:
    """The check finds each kind, and lets program names and docstrings be."""
    assert len(own_paths(source)) == count


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_source_names_its_licence(path: Path) -> None:
    """Each file carries its licence line, since files are carried one by one."""
    assert path.read_text(encoding="utf-8").startswith("# SPDX-License-Identifier: MIT\n")
