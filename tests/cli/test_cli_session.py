# SPDX-License-Identifier: MIT
"""``session salvage`` on the command line."""

from __future__ import annotations

from pathlib import Path

from cli_support import run

from streamcore.session import Session


def make(path: Path, junk: bytes = b"junk\n") -> None:
    """Write a log of three events with something between the first two."""
    with Session(path) as log:
        log.turn_start()
        log.turn_end("stop")
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, junk, *rest]))


def test_salvage_names_the_new_file_and_what_is_not_in_it(tmp_path: Path) -> None:
    """Stdout has the new file's name, stderr what was left out; the new file opens."""
    path = tmp_path / "log"
    make(path)
    result = run("session", "salvage", str(path))
    assert (result.code, result.out) == (0, f"{path}.salvaged\n")
    assert "left out: line 2, byte " in result.err and ", 4 bytes: " in result.err
    assert "3 whole records saved, 0 missing" in result.err
    with Session.open(f"{path}.salvaged") as log:
        assert len(log) == 3


def test_salvage_writes_where_it_is_told_and_nothing_twice(tmp_path: Path) -> None:
    """A second argument names the new file; an existing file is a failure with its code."""
    path, new = tmp_path / "log", tmp_path / "new"
    make(path)
    assert run("session", "salvage", str(path), str(new)).out == f"{new}\n"
    before = new.read_bytes()
    result = run("session", "salvage", str(path), str(new))
    assert (result.code, result.out) == (1, "") and result.err.startswith("SESSION: ")
    assert new.read_bytes() == before


def test_salvage_tells_of_many_pieces_in_short(tmp_path: Path) -> None:
    """A thousand damaged lines do not become a thousand lines of report."""
    make(tmp_path / "log", b"junk\n" * 1000)
    result = run("session", "salvage", str(tmp_path / "log"))
    assert result.err.count("\n") == 22 and "980 more" in result.err


def test_session_without_an_action_is_wrong_usage() -> None:
    """The usage names the actions."""
    result = run("session")
    assert result.code == 2 and "salvage" in result.err
