# SPDX-License-Identifier: MIT
"""The soak: many calls with random faults, each outcome the right one, nothing left behind.

``scripts/soak.py`` does the work; here it runs for seconds, and is seen to notice what is
wrong. A failure prints the seed, the call and the answer it got.
"""

from __future__ import annotations

import importlib.util
import random
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def load() -> Any:
    """Load the script as a module; ``sys.path`` stays as it was."""
    path = list(sys.path)
    spec = importlib.util.spec_from_file_location("soak", SCRIPTS / "soak.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak"] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = path
    return module


soak = load()


def run(seed: int, seconds: float, **options: Any) -> Any:
    """Soak for some seconds, and print the seed and what went wrong."""
    print(f"seed {seed}")
    run = soak.Soak(seed, **options)
    run.run(100_000, seconds)
    soak.report(run, seconds)
    return run


def test_soak_short() -> None:
    """Some hundred calls: every outcome the right one, nothing left, memory flat."""
    done = run(20260, 4.0)
    assert not done.faults and done.done > 20


@pytest.mark.long
def test_soak_long() -> None:
    """The same for a longer time, with another seed each time."""
    done = run(int(time.time()) % 1_000_000, 8.0)
    assert not done.faults and done.done > 40


def test_soak_notices_a_wrong_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    """A case that expects another code: the call, its answer and how to repeat it are shown."""
    def wrong(chance: random.Random) -> Dict[str, Any]:
        cases = soak.all_cases(chance)
        case = cases["no done"]
        return {"no done": replace(case, code="SERVER", ways=("complete",))}

    assert [fault.number for fault in run(1, 5.0, threads=1, cases=wrong).faults] == [0]
    shown = capsys.readouterr().out
    for part in ("call 0: 'no done', complete", "SERVER was due", "<no done>",
                 "--seed 1 --call 0"):
        assert part in shown


def test_soak_notices_what_is_left_behind() -> None:
    """A socket that nobody closes is reported at the end, if the system lists descriptors."""
    held: List[socket.socket] = []
    if not soak.open_descriptors():
        pytest.skip("descriptors cannot be listed here")

    def leaking(chance: random.Random) -> Dict[str, Any]:
        held.append(socket.socket())
        return {name: case for name, case in soak.all_cases(chance).items() if name == "chunked"}

    left = soak.Soak(1, threads=1, cases=leaking, late=0.1)
    left.run(3, 5.0)
    for one in held:
        one.close()
    assert [fault.what for fault in left.faults] == ["left behind"]
    assert "socket" in left.faults[0].detail


def test_soak_command_says_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line says the seed first, and ends with 0 where all went right."""
    assert soak.main(["--calls", "20", "--seconds", "20", "--threads", "2", "--seed", "3"]) == 0
    assert capsys.readouterr().out.startswith("seed 3\n20 calls in ")
