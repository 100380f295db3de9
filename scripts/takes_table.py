# SPDX-License-Identifier: MIT
"""Write the table of what each provider takes, from the profiles.

    python3 scripts/takes_table.py             rewrites it in streamcore/providers/README.md
    python3 scripts/takes_table.py --check     exits 1 where it differs, writes nothing
    python3 scripts/takes_table.py --print     shows it, reads and writes nothing

It stands between two marker comments, <!-- takes:begin --> and <!-- takes:end -->; what is
outside them is left alone. Nothing has to be installed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Iterator, List

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "streamcore" / "providers" / "README.md"
BEGIN, END = "<!-- takes:begin -->", "<!-- takes:end -->"

sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from streamcore.providers import OptionNote, ProviderProfile, list_profiles  # noqa: E402
from _tables import Table, cell  # noqa: E402


def render() -> str:
    """Return the table as Markdown: one row for each option that a profile sets."""
    lines = ["| provider | option | what it takes | why | source |", "|---|---|---|---|---|"]
    for profile in list_profiles():
        lines += _rows(profile)
    return "\n".join(lines) + "\n"


def main(args: List[str], path: Path = PAGE) -> int:
    """Run the script on a page; return its exit status."""
    return TABLE.main(args, path)


def _rows(profile: ProviderProfile) -> Iterator[str]:
    for note in profile.notes:
        if note.options:
            yield _row(profile, note)


def _row(profile: ProviderProfile, note: OptionNote) -> str:
    options = "<br>".join(_option(profile, name) for name in note.options)
    texts = (cell(text) for text in (note.text, note.reason, note.source))
    return f"| {' | '.join((f'`{profile.name}`', options, *texts))} |"


def _option(profile: ProviderProfile, name: str) -> str:
    value: Any = getattr(profile.options.resolved(), name)
    return f"`{name}={value!r}`".replace("|", "\\|")


TABLE = Table(__doc__, BEGIN, END, render)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
