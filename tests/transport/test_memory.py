# SPDX-License-Identifier: MIT
"""The limits bound the memory of a call: ``scripts/memory.py`` measures it, case by case."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "memory.py"
pytest.importorskip("resource")


@pytest.mark.parametrize("word", [
    "error", "document, gzipped",
    pytest.param("", marks=pytest.mark.long),
])
def test_memory_is_bounded_by_the_limits(word: str) -> None:
    """The largest body of each kind stays under its bound, gzipped too; so does a cancel."""
    command = [sys.executable, str(SCRIPT), "-k", word, "--tries", "1" if word else "3"]
    done = subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0 and "MiB" in done.stdout, done.stdout
