# SPDX-License-Identifier: MIT
"""A copy of the package under another name, and code that runs with it alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterable

from support import ROOT

NAME = "carried"
BODY = (b'data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}\n\n'
        b'data: [DONE]\n\n')
NO_REQUESTS = (
    "class Block:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name.split('.')[0] in ('requests', 'urllib3', 'streamcore'):\n"
    "            raise ImportError(name + ' is blocked')\n"
    "sys.meta_path.insert(0, Block())\n"
)
PARSE = (
    f"message = {NAME}.assemble({NAME}.parse_stream([{BODY!r}]))\n"
    "assert message.text == 'hello', message\n"
)
STREAM = (
    f"with {NAME}.Client('m', base_url=sys.argv[1], proxies={{'no_proxy': '127.0.0.1'}}) as c:\n"
    "    assert c.complete('hi').text == 'hello'\n"
)


def copied(folder: Path, without: Iterable[str] = ()) -> Path:
    """Copy the package into a folder as ``carried``, without some rooms; return the folder."""
    shutil.copytree(ROOT / "streamcore", folder / NAME,
                    ignore=shutil.ignore_patterns("__pycache__"))
    for room in without:
        shutil.rmtree(folder / NAME / room)
    return folder


def python(folder: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, where the copy is found and the checkout is not."""
    return subprocess.run(
        [sys.executable, *args], cwd=folder, env={"PATH": "", "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
        universal_newlines=True,
    )


def told(folder: Path, code: str, *args: str) -> Any:
    """Run code that has the copy imported, in a folder; return the JSON it prints, if any."""
    done = python(folder, "-W", "error::ResourceWarning", "-c",
                  f"import json, sys\nimport {NAME}\n{code}", *args)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout or "null")
