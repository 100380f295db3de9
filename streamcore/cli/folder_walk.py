# SPDX-License-Identifier: MIT
"""Walk through a folder, and search its files for a text, both within limits.

In: a ``Folder``. Out: names with their paths; lines with the text. Links are named and never
followed. ``notes`` says what was left out. The limits: names looked at, bytes read of one file
and by one search, depth of folders.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Tuple

from ..agent.tools import ToolError
from .folder import FOLDER, Folder, Found

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Most bytes that are read of one file."""
MAX_SEARCH_BYTES = 64 * 1024 * 1024
"""Most bytes of all files that one search reads."""
MAX_NAMES = 5000
"""Most names that one call looks at."""

_MAX_DEPTH = 40  # folders within folders
_LONGEST_HIT = 240  # most characters shown of a line with the text
_SNIFFED = 8192  # bytes in which a NUL makes a file binary


class Walk:
    """Walks through a folder in the order of names, and counts what it leaves out."""

    def __init__(self, folder: Folder, hidden: bool) -> None:
        self._folder = folder
        self._hidden = hidden
        self._names = 0
        self._unread = 0

    def iter(self, path: str, recursive: bool, depth: int = 0) -> Iterator[Tuple[str, Found]]:
        """Yield each path with its entry. Links are yielded and never followed."""
        start = "" if path in (".", "./") else path.rstrip("/") + "/"
        try:
            entries = self._folder.entries(path)
        except ToolError:
            if depth == 0:
                raise
            self._unread += 1
            return
        for found in entries:
            if found.name.startswith(".") and not self._hidden:
                continue
            self._names += 1
            if self._names > MAX_NAMES:
                return
            yield start + found.name, found
            if recursive and found.kind == FOLDER:
                if depth < _MAX_DEPTH:
                    yield from self.iter(start + found.name, True, depth + 1)
                else:
                    self._unread += 1

    def notes(self) -> List[str]:
        """Say what was left out."""
        notes = [f"{self._unread} folders could not be read"] if self._unread else []
        if self._names > MAX_NAMES:
            notes.append(f"only the first {MAX_NAMES} names were looked at; give a smaller folder")
        return notes


class Search:
    """Searches one file after another for a text, and collects the lines with it."""

    def __init__(self, folder: Folder, wanted: str, ignore_case: bool) -> None:
        self.hits: List[str] = []
        self.size = 0  # characters of the hits
        self._folder = folder
        self._wanted = wanted
        self._lower = ignore_case
        self._bytes = 0
        self._skipped: Dict[str, int] = {}

    def take(self, place: str) -> bool:
        """Search one file; return whether another file may be read."""
        try:
            with self._folder.file(place) as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except (ToolError, OSError):
            self._skip("could not be read")
            return True
        self._bytes += len(data)
        if len(data) > MAX_FILE_BYTES:
            self._skip("too large")
        elif is_binary(data):
            self._skip("binary")
        else:
            self._look_through(place, read_as_text(data))
        return self._bytes < MAX_SEARCH_BYTES

    def notes(self) -> List[str]:
        """Say what was left out."""
        notes = [f"{count} files not searched: {why}" for why, count in self._skipped.items()]
        if self._bytes >= MAX_SEARCH_BYTES:
            notes.append(f"ended after {MAX_SEARCH_BYTES} bytes; give a folder or a pattern")
        return notes

    def _look_through(self, place: str, text: str) -> None:
        for number, line in enumerate(text.split("\n"), 1):
            at = (line.lower() if self._lower else line).find(self._wanted)
            if at >= 0:
                hit = f"{place}:{number}: {_snippet(line, at)}"
                self.hits.append(hit)
                self.size += len(hit) + 1

    def _skip(self, why: str) -> None:
        self._skipped[why] = self._skipped.get(why, 0) + 1


def _snippet(line: str, at: int) -> str:
    """Return a line, or the part of it around ``at``, with ``…`` where the line is cut.

    The marks tell ``redact`` that the text beside them may be a part of a secret.
    """
    start = max(0, at - _LONGEST_HIT // 2)
    end = start + _LONGEST_HIT
    before, after = "…" if start else "", "…" if end < len(line) else ""
    return before + line[start:end].strip() + after


def is_binary(data: bytes) -> bool:
    """Return whether the first bytes of a file hold a NUL."""
    return b"\0" in data[:_SNIFFED]


def read_as_text(data: bytes) -> str:
    """Return bytes as text, with bad UTF-8 replaced, and CRLF as a line feed."""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
