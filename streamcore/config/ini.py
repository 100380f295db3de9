# SPDX-License-Identifier: MIT
"""A configuration file's text as entries, each with its line number.

In: the text of an INI-style file. Out: one ``Entry`` for each ``key = value``. Refused with
``INVALID_CONFIG``, naming file and line: a line that is not a section, an entry or a comment,
and a section or a key that comes twice. Lines: ``[section]``; ``key = value``; a comment that
begins with ``#`` or ``;``; an indented line, which continues the value above. There is no
interpolation and no comment after a value, so that any URL and any header can be written.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from ..values.errors import LlmError

MAX_FILE_BYTES = 1024 * 1024
"""A larger file is refused: no configuration is that large."""

_SECTION = re.compile(r"\[\s*([^\[\]]*?)\s*\]")
_ENTRY = re.compile(r"([A-Za-z0-9_.-]+)\s*=\s*(.*)")
_BLANKS = re.compile(r"\s+")


class Entry(NamedTuple):
    """One ``key = value``; ``line`` counts from 1."""

    section: str
    key: str
    value: str
    line: int


class IniFile(NamedTuple):
    """A file that was read: its name, the line of each section, and its entries.

    ``private`` says that nobody but the owner can access the file.
    """

    name: str
    sections: Dict[str, int]
    entries: Tuple[Entry, ...]
    private: bool


def read_file(path: Union[str, "os.PathLike[str]"]) -> IniFile:
    """Return the entries of a file.

    Raises:
        LlmError: ``INVALID_CONFIG`` for a file that cannot be read, or is not such a file.
    """
    name = os.fsdecode(path)
    try:
        with open(path, "rb") as file:
            private = _is_private(os.fstat(file.fileno()))
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise refused(f"{name} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise refused(f"{ascii(name)} cannot be read: {error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise refused(f"{name} has more than {MAX_FILE_BYTES} bytes, which is too large")
    sections, entries = read_entries(_decoded(data, name), name)
    return IniFile(name, sections, entries, private)


def read_entries(text: str, name: str) -> Tuple[Dict[str, int], Tuple[Entry, ...]]:
    """Return the line of each section, and the entries of a text.

    Args:
        text: the content of the file.
        name: the name of the file, for messages.
    Raises:
        LlmError: ``INVALID_CONFIG`` naming the line.
    """
    sections: Dict[str, int] = {}
    entries: List[Entry] = []
    lines: Dict[Tuple[str, str], int] = {}
    section: Optional[str] = None
    open_entry = False  # an indented line continues the last entry
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        bare = line.strip()
        if not bare or bare[0] in "#;":
            open_entry = open_entry and bool(bare)
        elif line[0] in " \t" and open_entry:
            last = entries[-1]
            entries[-1] = last._replace(value=f"{last.value}\n{bare}".lstrip("\n"))
        elif bare[0] == "[":
            section, open_entry = _section(bare, sections, f"{name}:{number}"), False
            sections[section] = number
        else:
            entry = _entry(bare, section, number, name)
            first = lines.setdefault((entry.section, entry.key), number)
            if first != number:
                raise refused(f"{name}:{number}: [{section}] {entry.key} is there already, "
                              f"in line {first}")
            entries.append(entry)
            open_entry = True
    return sections, tuple(entries)


def refused(text: str) -> LlmError:
    """Return the error for a configuration that is not valid."""
    return LlmError(text, "INVALID_CONFIG")


def _section(bare: str, sections: Dict[str, int], place: str) -> str:
    found = _SECTION.fullmatch(bare)
    if found is None or not found.group(1):
        raise refused(f"{place}: a section is written [name], with nothing after it")
    section = _BLANKS.sub(" ", found.group(1))
    if section in sections:
        raise refused(f"{place}: [{section}] is there already, in line {sections[section]}")
    return section


def _entry(bare: str, section: Optional[str], number: int, name: str) -> Entry:
    found = _ENTRY.fullmatch(bare)
    if found is None:  # the line is not shown: it may hold a key
        raise refused(f"{name}:{number}: a line is [section], key = value, or a # comment")
    key, value = found.groups()
    if section is None:
        raise refused(f"{name}:{number}: {key} stands before the first [section]")
    return Entry(section, key, value, number)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        line = data.count(b"\n", 0, bad.start) + 1
    raise refused(f"{name}:{line}: this is not UTF-8")


def _is_private(facts: Any) -> bool:
    """Say whether nobody but the owner may read or write the file.

    Windows has no such bits, so every file counts as private there. A user who keeps a
    key in a file must protect the file with its access list.
    """
    return os.name == "nt" or not stat.S_IMODE(facts.st_mode) & 0o077
