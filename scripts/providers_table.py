# SPDX-License-Identifier: MIT
"""Write the README's table of providers and their options, from the profiles.

    python3 scripts/providers_table.py             rewrites it in README.md
    python3 scripts/providers_table.py --check     exits 1 where it differs, writes nothing
    python3 scripts/providers_table.py --print     shows it, reads and writes nothing

It stands between two marker comments, <!-- providers:begin --> and <!-- providers:end -->;
what is outside them is left alone. Nothing has to be installed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import List, Optional

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- providers:begin -->", "<!-- providers:end -->"

sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from streamcore.providers import OptionNote, ProviderProfile, list_profiles  # noqa: E402
from streamcore.values.limits import NotGiven, resolve_limits  # noqa: E402
from _tables import Table, cell  # noqa: E402


def render() -> str:
    """Return both tables as Markdown: the providers, then their options."""
    lines = [
        "| provider | base URL | key | reasoning efforts | images | clocks |",
        "|---|---|---|---|---|---|",
    ]
    profiles = list_profiles()
    lines += [_provider_row(profile) for profile in profiles]
    lines += ["", "| provider | option | why | source |", "|---|---|---|---|"]
    for profile in profiles:
        lines += [_note_row(profile.name, note) for note in profile.notes]
    return "\n".join(lines) + "\n"


def replaced(readme: str) -> Optional[str]:
    """Return the README with the table in its place; None where the markers are not."""
    return TABLE.replaced(readme)


def main(args: List[str], path: Path = README) -> int:
    """Run the script on a README; return its exit status."""
    return TABLE.main(args, path)


def _provider_row(profile: ProviderProfile) -> str:
    cells = (
        f"`{profile.name}`", _address(profile), _key(profile), _efforts(profile),
        "yes" if profile.options.resolved().images else "no", _clocks(profile),
    )
    return f"| {' | '.join(cells)} |"


def _note_row(name: str, note: OptionNote) -> str:
    cells = (f"`{name}`", *(cell(t) for t in (note.text, note.reason, note.source)))
    return f"| {' | '.join(cells)} |"


def _address(profile: ProviderProfile) -> str:
    variable = f"`{profile.base_url_env}`" if profile.base_url_env else "yours"
    return f"{profile.base_url} ({variable})" if profile.base_url else f"yours ({variable})"


def _key(profile: ProviderProfile) -> str:
    names = " or ".join(f"`{name}`" for name in profile.key_env)
    return names if profile.key_required else f"none needed ({names})"


def _efforts(profile: ProviderProfile) -> str:
    if profile.efforts is None:
        return "passed through"
    words = [
        f"{word} (default)" if word == profile.default_effort else word for word in profile.efforts
    ]
    return ", ".join(words) or "none"


def _clocks(profile: ProviderProfile) -> str:
    limits = resolve_limits(profile.limits)
    given = not isinstance(profile.limits.first_byte_timeout, NotGiven)
    first = f"first byte {limits.first_byte_timeout:g} s, " if given else ""
    total = "no total" if limits.total_timeout is None else f"total {limits.total_timeout:g} s"
    return f"{first}idle {limits.idle_timeout:g} s, {total}"


TABLE = Table(__doc__, BEGIN, END, render)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
