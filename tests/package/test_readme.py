# SPDX-License-Identifier: MIT
"""The code of the README, and of each room's page, runs as written against the loopback provider.

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
PAGES = [ROOT / "README.md", *sorted((ROOT / "streamcore").rglob("README.md"))]
BLOCKS: List[str] = list(dict.fromkeys(
    block for page in PAGES for block in re.findall(
        r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
))

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
    """A block of a page runs to its end, and it prints or asserts something."""
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


def test_readme_is_a_front_page() -> None:
    """The README has at most 250 lines, and each linked page exists."""
    assert len(README.splitlines()) <= 250
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert len(links) > 12
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_links_within_a_page_lead_to_a_heading() -> None:
    """A link with a place in it names a heading of that page."""
    for link, place in re.findall(r"\]\(([^)#]*)#([\w-]+)\)", README):
        page = (ROOT / (link or "README.md")).read_text(encoding="utf-8")
        heads = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
        assert place in [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]


def test_commands_of_the_readme_exist() -> None:
    """What the README runs in a shell is there: its scripts, its commands and their options."""
    shells = "\n".join(re.findall(r"^```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL))
    scripts = re.findall(r"python3 (scripts/\S+)", shells)
    assert scripts and all((ROOT / script).is_file() for script in scripts)
    line, = re.findall(r"python3 -m streamcore (vendor .*)", shells)
    words = line.split()
    done = subprocess.run([sys.executable, "-m", "streamcore", words[0], "--help"], cwd=ROOT,
                          stdout=subprocess.PIPE, timeout=60, check=True)
    assert all(word in done.stdout.decode() for word in words if word.startswith("--"))
