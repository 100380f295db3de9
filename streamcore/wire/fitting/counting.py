# SPDX-License-Identifier: MIT
"""Counts by name the changes that fitting makes.

In: a dict to count in. Out: the same dict with higher numbers. Nothing is refused.
"""

from __future__ import annotations

from typing import Dict


class Counts:
    """Counts by name in the caller's dict."""

    def __init__(self, diagnostics: Dict[str, int]) -> None:
        self._diagnostics = diagnostics

    def add(self, name: str) -> None:
        """Add 1 to the counter of a name."""
        self._diagnostics[name] = self._diagnostics.get(name, 0) + 1
