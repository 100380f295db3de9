# SPDX-License-Identifier: MIT
"""What the scripts share that write a table of the profiles into a page.

A table stands between two marker comments; what is outside them is left alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional


class Table(NamedTuple):
    """A table in a page: the script's text, the markers around it, and what writes it."""

    doc: str
    begin: str
    end: str
    render: Callable[[], str]

    def replaced(self, page: str) -> Optional[str]:
        """Return the page with the table in its place; None where the markers are not."""
        before, begin, rest = page.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end:
            return None
        return f"{before}{self.begin}\n\n{self.render()}\n{self.end}{after}"

    def main(self, args: List[str], path: Path) -> int:
        """Run the script on a page; return its exit status."""
        if args == ["--print"]:
            print(self.render(), end="")
            return 0
        if args not in ([], ["--check"]):
            print(self.doc.strip())
            return 0 if set(args) & {"-h", "--help"} else 2
        page = path.read_text(encoding="utf-8") if path.exists() else ""
        wanted = self.replaced(page)
        if wanted is None:
            print(f"{path.name} has no {self.begin} … {self.end}", file=sys.stderr)
            return 1
        if wanted == page:
            return 0
        if args:
            script = Path(sys.argv[0]).name
            print(f"{path.name} differs from the profiles: run {script}", file=sys.stderr)
            return 1
        path.write_text(wanted, encoding="utf-8")
        return 0


def cell(text: str) -> str:
    """Return a text as a cell of a Markdown table holds it."""
    return text.replace("|", "\\|").replace("<", "&lt;")
