# SPDX-License-Identifier: MIT
"""Code in an interpreter of its own, for the tests of what is loaded, and when."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from support import ROOT


def fresh(code: str, *flags: str, **variables: str) -> Any:
    """Run ``code`` in a fresh interpreter on this checkout; return the JSON it prints."""
    head = f"import json, sys; sys.path.insert(0, {str(ROOT)!r})\n"
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", *flags, "-c", head + code],
        env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=120, universal_newlines=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)
