# SPDX-License-Identifier: MIT
"""The pages of the checkout, and what docstrings and comments cite: all of it is there.

In: each tracked Python file's docstrings and comments, and each page outside its blocks of
code. A page, a section of DESIGN.md, a row of FAULTS.md and a test that is named must exist.
Each check is shown to find what is wrong in a small text.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

import pytest
from support import ROOT

DESIGN = (ROOT / "streamcore" / "DESIGN.md").read_text(encoding="utf-8")
FAULTS = (ROOT / "tests" / "FAULTS.md").read_text(encoding="utf-8")
FOLDERS = ("streamcore", "tests", "scripts")
SKIPPED = {"corpus", "__pycache__"}

Text = Tuple[str, str]  # where, and what it says


def paths(ending: str) -> Iterator[Path]:
    """Yield the files of the checkout with this ending."""
    yield from ROOT.glob(f"*{ending}")
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob(f"*{ending}")):
            if not SKIPPED & set(path.parts):
                yield path


def words_of(source: str) -> Iterator[str]:
    """Yield the docstrings and comments of a module."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                yield str(one.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def prose_of(page: str) -> str:
    """Return a page without its blocks of code and the tables that a script makes."""
    page = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->", "", page, flags=re.DOTALL)


MODULES: List[Text] = [
    (path.relative_to(ROOT).as_posix(), "\n".join(words_of(path.read_text(encoding="utf-8"))))
    for path in paths(".py")
]
PAGES: List[Text] = [
    (path.relative_to(ROOT).as_posix(), prose_of(path.read_text(encoding="utf-8")))
    for path in paths(".md")
]


def sections_of(design: str) -> Set[str]:
    """Return the numbers of the sections, ``8``, and of the rules in one, ``8.13``."""
    found: Set[str] = set()
    for part in re.split(r"^## ", design, flags=re.MULTILINE)[1:]:
        number = part.partition(".")[0]
        rules = re.findall(r"^(\d+)\. ", part[len(number) + 2:], re.MULTILINE)
        found |= {number, *(f"{number}.{rule}" for rule in rules)}
    return found


def cited_sections(text: str) -> List[str]:
    """Return the numbers of DESIGN.md that a text names."""
    lists = re.findall(r"DESIGN\.md ((?:[\s,–-]|and|§[\d.]*\d)+)", text)
    return [number for one in lists for number in re.findall(r"§([\d.]*\d)", one)]


def rows_of(faults: str) -> Dict[str, str]:
    """Return the last cell of each row, by the row's number."""
    rows = re.findall(r"^\| ([A-Z]\d+) \|.*\| ([^|]+) \|$", faults, re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a number stands twice"
    return dict(rows)


def missing_files(where: str, text: str, pattern: str) -> List[str]:
    """Return the files that a text names and that are not there."""
    beside = (ROOT / where).parent
    places = (ROOT, beside, ROOT / "streamcore", ROOT / "tests")
    named = re.findall(rf"(?<![\w./<*-])((?:[\w.-]+/)*[\w-]+\.(?:{pattern}))\b(?![\w/])", text)
    return [name for name in named if not any((one / name).is_file() for one in places)]


def test_each_cited_section_exists() -> None:
    """A citation of DESIGN.md names a section, or a rule of it, that is there."""
    known = sections_of(DESIGN)
    assert {"1", "8", "8.17", "12"} <= known
    cited = [(where, one) for where, text in MODULES + PAGES for one in cited_sections(text)]
    assert len(cited) > 30
    assert [(where, one) for where, one in cited if one not in known] == []


def test_each_page_that_is_cited_is_in_the_checkout() -> None:
    """No docstring, comment or page names a page that is elsewhere."""
    assert [
        (where, name) for where, text in MODULES + PAGES
        for name in missing_files(where, text, "md")
    ] == []


def test_each_file_that_a_page_names_is_there() -> None:
    """A module, script or test that a page names exists."""
    assert [
        (where, name) for where, text in PAGES if where != "CHANGELOG.md"
        for name in missing_files(where, text, "py")
    ] == []


def test_each_row_of_faults_names_tests_that_exist() -> None:
    """The last cell of a row is a test, or several, or says that the row is open."""
    tests = {
        node.name for path in paths(".py") if path.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    rows = rows_of(FAULTS)
    assert len(rows) > 120
    assert {
        number: cell for number, cell in rows.items()
        if cell != "open" and not set(cell.replace("`", "").split(", ")) <= tests
    } == {}


def test_each_cited_row_of_faults_exists() -> None:
    """A row that a test's docstring or name cites is in FAULTS.md."""
    rows, cited = rows_of(FAULTS), []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        words = "\n".join(words_of(source))
        cited += [(path.name, one) for one in re.findall(r"\b[A-Z]\d{1,2}\b", words)]
        names = " ".join(re.findall(r"^def (test_\w+)", source, re.MULTILINE))
        cited += [(path.name, one) for one in re.findall(r"(?<=_)[A-Z]\d{1,2}(?=_)", names)]
    assert len(cited) > 150
    assert [(where, one) for where, one in cited if one not in rows] == []


def test_checks_find_what_is_wrong() -> None:
    """Each check sees a citation that leads nowhere."""
    assert sections_of("# x\n## 1. a\n## 2. b\n1. c\n12. d\n") == {"1", "2", "2.1", "2.12"}
    assert cited_sections("Rules: DESIGN.md §6, §8.4 and\n§9; §3 is no part") == ["6", "8.4", "9"]
    assert missing_files("tests/x.py", "see other.md, FAULTS.md, up/other.md", "md") == [
        "other.md", "up/other.md",
    ]
    assert rows_of("| T1 | a | b | `test_a` |\n| T2 | a | b | open |") == {
        "T1": "`test_a`", "T2": "open",
    }
    with pytest.raises(AssertionError):
        rows_of("| T1 | a | b | open |\n| T1 | a | b | open |")
    assert list(words_of('"""One."""\nx = "no"  # two\n')) == ["One.", "# two"]
