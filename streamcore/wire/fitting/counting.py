# SPDX-License-Identifier: MIT
"""Counters of what fitting changed, by name.

In: a dict to count in. Out: the same dict with higher numbers. Nothing is refused.
"""

from __future__ import annotations

from typing import Dict


class Counts:
    """Counts by name in a dict that is handed in."""

    def __init__(self, diagnostics: Dict[str, int]) -> None:
        self._diagnostics = diagnostics

    def add(self, name: str) -> None:
        """Count one more under a name."""
        self._diagnostics[name] = self._diagnostics.get(name, 0) + 1
