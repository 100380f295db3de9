# SPDX-License-Identifier: MIT
"""Tools by name.

In: tools, or functions that become tools. Out: the tool of a name, and all tools as the
dicts of a request. Refused with ``ValueError``: two tools of one name.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Optional

from .tool import Tool, tool


class ToolRegistry:
    """Tools by name.

    Args:
        tools: tools, or functions that ``tool`` makes tools of.
    Raises:
        TypeError, ValueError: as ``add``.
    """

    def __init__(self, tools: Iterable[Any] = ()) -> None:
        self._tools: Dict[str, Tool] = {}
        for one in tools:
            self.add(one)

    def add(self, given: Any) -> Tool:
        """Add one more tool, and return it.

        Args:
            given: a tool, or a function that ``tool`` makes a tool of.
        Raises:
            TypeError: for anything else, or a function that ``tool`` refuses.
            ValueError: for a name that another tool has, or that no provider accepts.
        """
        if not isinstance(given, Tool):
            if not callable(given):
                raise TypeError(f"a tool must be a Tool or a function, not {type(given).__name__}")
            given = tool(given)
        made: Tool = given
        if made.name in self._tools:
            raise ValueError(f"two tools have the name {made.name!r}")
        self._tools[made.name] = made
        return made

    def get(self, name: str) -> Optional[Tool]:
        """Return the tool with this name, or None."""
        return self._tools.get(name)

    @property
    def names(self) -> List[str]:
        """All names, in the order they were added."""
        return list(self._tools)

    def specs(self) -> List[Dict[str, Any]]:
        """Return all tools as OpenAI-style dicts."""
        return [one.spec() for one in self]

    def __iter__(self) -> Iterator[Tool]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools
