# SPDX-License-Identifier: MIT
"""How much code is loaded, and which lines ``scripts/size.py`` counts as code."""

from __future__ import annotations

from typing import Dict

import pytest
from scripts_support import load

size = load("size")

MOST = {"parse_stream and assemble": 4_200, 'Client(provider="openai")': 8_900}
"""Code lines that may be loaded after one success and one failure: a ceiling, not the aim."""


@pytest.fixture(scope="module")
def loads() -> Dict[str, Dict[str, int]]:
    """What each way of use loads."""
    return dict(size.loads())


@pytest.mark.parametrize("way", MOST)
def test_loaded_code_stays_under_its_ceiling(way: str, loads: Dict[str, Dict[str, int]]) -> None:
    """One success and one failure load no more code than they may."""
    assert 1_000 < sum(loads[way].values()) <= MOST[way]


def test_parsing_loads_values_and_wire_only(loads: Dict[str, Dict[str, int]]) -> None:
    """A captured stream is read without a transport, a provider or a client."""
    rooms = set(size.by_room(loads["parse_stream and assemble"]))
    assert rooms == {"", "values", "wire"}


def test_client_loads_the_data_of_its_provider_only(loads: Dict[str, Dict[str, int]]) -> None:
    """Of the hosted and local providers, a client loads the one that it is made with."""
    profiles = {path for path in loads['Client(provider="openai")']
                if path.startswith(("providers/hosted/", "providers/local/"))}
    assert profiles - {"providers/hosted/__init__.py"} == {"providers/hosted/openai.py"}


@pytest.mark.parametrize("source, lines", [
    ("", 0), ("# a comment\n\n", 0), ("x = 1  # counted once\n", 1),
    ('"""A docstring\nof two lines."""\nx = 1\n"""What x is."""\n', 1),
    ("def f():\n    '''Say.'''\n    return 1\n", 2),
    ("x = '''two\nlines'''\n", 2), ("f(\n    1,\n\n    # why\n    2,\n)\n", 4),
])
def test_code_lines_leave_out_blanks_comments_and_docstrings(source: str, lines: int) -> None:
    """A line counts if it has a token of code."""
    assert size.code_lines(source) == lines


@pytest.mark.parametrize("args, rooms", [
    (("", ""), ["session", "agent", "config", "loopback", "cli"]),
    (("agent,session", ""), ["agent", "session"]),
    (("", "cli,loopback"), ["session", "agent", "config"]),
])
def test_rooms_are_chosen_by_name(args: "tuple[str, str]", rooms: "list[str]") -> None:
    """Without options all rooms count; ``--with`` names those that do, ``--without`` the others."""
    assert size.chosen(*args) == rooms


def test_unknown_room_is_refused() -> None:
    """An unknown room ends the script with the names of the rooms."""
    with pytest.raises(SystemExit, match="the rooms are session, agent"):
        size.chosen("agents", "")


def test_report_names_each_room_and_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers of the rooms add up to the whole, and both ways of use are told."""
    assert size.main(["--without", "cli"]) == 0
    out = capsys.readouterr().out
    rows = {line[8:].strip(): int(line[:8].replace(",", "")) for line in out.splitlines()[1:]
            if not line.startswith(" " * 9)}
    whole = rows.pop("together")
    assert whole == sum(count for name, count in rows.items() if not name.startswith("loaded"))
    assert "cli" not in rows and {f"loaded by {way}" for way in MOST} <= set(rows)
