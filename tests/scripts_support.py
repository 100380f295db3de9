# SPDX-License-Identifier: MIT
"""A script of ``scripts/`` as a module, for the tests that look inside."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from support import ROOT


def load(name: str) -> ModuleType:
    """Load a script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module
