# SPDX-License-Identifier: MIT
"""The reference tables of the rooms' pages say what the code says, and leave nothing out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Set

import pytest
from scripts_support import load
from support import ROOT

from streamcore.cli import COMMANDS
from streamcore.config.settings import SETTINGS
from streamcore.providers import PROFILES, list_profiles
from streamcore.session import lines
from streamcore.values.errors import CODES

tables = load("tables")
PACKAGE = ROOT / "streamcore"
ALL = [(room, name) for room, made in tables.TABLES.items() for name in made]


def page(room: str) -> str:
    """Return the page of a room."""
    return (PACKAGE / room / "README.md").read_text(encoding="utf-8")


def test_tables_are_those_of_the_code() -> None:
    """The pages have the tables that scripts/tables.py makes."""
    assert tables.main(["--check"]) == 0, "run scripts/tables.py"


@pytest.mark.parametrize("room, name", ALL)
def test_no_cell_breaks_a_row(room: str, name: str) -> None:
    """Each row of a table has as many cells as its head."""
    for block in tables.TABLES[room][name]().split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({re.sub(r"\\\|", "", row).count("|") for row in rows}) <= 1


def test_nothing_is_left_out() -> None:
    """Each code, provider, note, setting and command has its row or part."""
    codes = page("values")
    assert all(f"| `{code}` |" in codes for code in CODES)
    rows = re.findall(r"^\| `", tables.providers() + "\n" + tables.notes(), re.MULTILINE)
    assert len(rows) == len(PROFILES) + sum(len(one.notes) for one in list_profiles())
    settings = page("config")
    assert all(f"| `{key}` |" in settings for keys in SETTINGS.values() for key in keys)
    assert re.findall(r"^### (\w+)$", page("cli"), re.MULTILINE) == [*COMMANDS]


def test_each_counter_has_its_row() -> None:
    """The counters of the wire's page are those that the wire counts."""
    counted: Set[str] = set()
    for path in (PACKAGE / "wire").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        calls = re.findall(r"(?:count|counts\.add)\((.*?)\)", source, re.DOTALL)
        counted |= {name for call in calls for name in re.findall(r'"([a-z]+_[a-z_]+)"', call)}
    part = page("wire").partition("## Diagnostics")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE))
    assert len(told) > 20
    usage = {"cache_creation_input_tokens", "prompt_tokens"}  # a reader of numbers has the name
    assert counted - usage == told


def test_each_event_of_a_session_has_its_row() -> None:
    """The page of the session tells each type of event."""
    types = {value for name, value in vars(lines).items()
             if name.isupper() and isinstance(value, str)}
    told = set(re.findall(r"`([a-z]+/[a-z]+)`", page("session")))
    assert len(types) > 10 and types == told


def test_check_tells_a_page_that_differs(
    tmp_path: Path, capsys: "pytest.CaptureFixture[str]"
) -> None:
    """--check writes nothing and exits 1; without it the tables are put in their places."""
    assert tables.main(["--check"], tmp_path) == 1  # there are no pages
    for room in tables.TABLES:
        (tmp_path / "streamcore" / room).mkdir(parents=True)
        shutil.copy(PACKAGE / room / "README.md", tmp_path / "streamcore" / room)
    assert tables.main(["--check"], tmp_path) == 0
    values = tmp_path / "streamcore" / "values" / "README.md"
    good = values.read_text(encoding="utf-8")
    values.write_text(good.replace("| `SERVER` |", "| `SERVANT` |"), encoding="utf-8")
    assert tables.main(["--check"], tmp_path) == 1
    assert "differs" in capsys.readouterr().err and "SERVANT" in values.read_text(encoding="utf-8")
    assert tables.main([], tmp_path) == 0
    assert values.read_text(encoding="utf-8") == good
    values.write_text(good.replace("<!-- codes:end -->", ""), encoding="utf-8")
    assert tables.main([], tmp_path) == 1
    assert tables.main(["--help"], tmp_path) == 0 and tables.main(["--odd"], tmp_path) == 2
