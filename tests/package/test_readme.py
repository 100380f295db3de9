# SPDX-License-Identifier: MIT
"""The README's code runs as written, against the loopback provider.

Every ``python`` block is run as a script of its own; the environment points the
named providers at a scripted server, so not a character of the code is changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

from streamcore.loopback import LoopbackServer

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS: List[str] = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

TALK = {"steps": [{"text": "Hello, "}, {"text": "Ada."}, {"finish": "stop"}, {"done": True}]}
SCRIPT = {
    "answers": [
        {
            "when": {"contains": "setup.cfg"},
            "steps": [
                {"reasoning": "a file"},
                {"tool_call": {"index": 0, "id": "c", "name": "read_file",
                               "arguments": '{"path":"setup.cfg"}'}},
                {"finish": "tool_calls"},
                {"done": True},
            ],
        },
        {"when": {"contains": "million"}, "steps": [{"text": "1, 2, 3"}, {"stall": True}]},
        TALK,
    ],
}


def title(block: str) -> str:
    lines = [line for line in block.splitlines() if "(" in line and "import" not in line]
    return lines[0].strip()[:50]


@pytest.mark.parametrize("block", BLOCKS, ids=title)
def test_readme_block_runs(block: str, tmp_path: Path) -> None:
    """A block of the README runs to its end and says something, or asserts it."""
    with LoopbackServer(SCRIPT) as server:
        environ = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
            "OPENAI_API_KEY": "sk-readme",
            "OPENAI_BASE_URL": server.base_url,
            "OLLAMA_BASE_URL": server.base_url,
            "NO_PROXY": "127.0.0.1",
        }
        done = subprocess.run(
            [sys.executable, "-W", "error::ResourceWarning", "-c", block],
            cwd=tmp_path, env=environ, timeout=60,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    assert done.stdout or "assert" in block


def test_readme_names_every_code() -> None:
    """The table of errors has every code there is."""
    from streamcore.values.errors import CODES

    own = set(CODES) - {"INSUFFICIENT_SYSTEM_RESOURCE"}
    assert not {code for code in own if f"`{code}`" not in README}
