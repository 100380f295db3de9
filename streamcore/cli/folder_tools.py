# SPDX-License-Identifier: MIT
"""The built-in, read-only tools of ``agent``: ``read_file``, ``list_files``, ``search_text``.

In: a ``Folder``, and the largest size of a result. Out: tools. Each call has limits: bytes read
from one file and by one search, names looked at, bytes of the result. A note at the end of a
result says what was left out and how to get it. Binary files are named, not shown. Refused with
``ToolError``: what ``Folder`` refuses, and arguments out of range.
"""

from __future__ import annotations

import threading
from fnmatch import fnmatchcase
from typing import Iterator, List, Optional

from ..agent.tools import Tool, ToolError, tool
from ..values.strictjson import mend_text
from .folder import FILE, FOLDER, LINK, Folder, Found
from .folder_walk import MAX_FILE_BYTES, Search, Walk, is_binary, read_as_text

_CUT = "…".encode("utf-8")  # ends a cut line
_MARK_ROOM = 200  # bytes kept free for the words about what was left out


class FolderTools:
    """The tools of one folder.

    Args:
        folder: the folder that they read.
        max_output_bytes: most UTF-8 bytes of a result, 256 or more; see ``AgentLimits``.
    """

    def __init__(self, folder: Folder, max_output_bytes: int = 16 * 1024) -> None:
        self._folder = folder
        self._room = max(56, max_output_bytes - _MARK_ROOM)

    def tools(self) -> List[Tool]:
        """Return the tools."""
        return [tool(self.read_file), tool(self.list_files), tool(self.search_text)]

    def read_file(self, path: str, first_line: int = 1) -> str:
        """Read a text file of the folder.

        A long file comes in parts; the last line of a part says how to get the next part.

        Args:
            path: relative to the folder, with / between its parts.
            first_line: the number of the first line to return, from 1.
        """
        if first_line < 1:
            raise ToolError("first_line is 1 or more")
        with self._folder.file(path) as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if is_binary(data):
            more = "more than " if len(data) > MAX_FILE_BYTES else ""
            size = min(len(data), MAX_FILE_BYTES)
            return f"[{path} is a binary file of {more}{size} bytes; it is not shown]"
        lines = read_as_text(data[:MAX_FILE_BYTES]).split("\n")
        if lines[-1] == "":
            lines.pop()
        notes = []
        if len(data) > MAX_FILE_BYTES:
            notes.append(f"only the first {MAX_FILE_BYTES} bytes of the file can be read")
        return self._part(lines, first_line, notes)

    def list_files(
        self, path: str = ".", recursive: bool = False, pattern: str = "*", hidden: bool = False
    ) -> str:
        """List a folder, one name a line. Folders end with a /, files have their size.

        Args:
            path: the folder to list, relative to the folder.
            recursive: also list the folders inside it.
            pattern: list only files whose name fits, such as *.py.
            hidden: also list names that begin with a dot.
        """
        shown: List[str] = []
        walk = Walk(self._folder, hidden)
        for place, found in walk.iter(path, recursive):
            if found.kind == FOLDER:
                if pattern == "*":
                    shown.append(f"{place}/")
            elif fnmatchcase(found.name, pattern):
                shown.append(f"{place}  {_about(found)}")
        return self._capped(shown, walk.notes() or ([] if shown else ["no name fits"]))

    def search_text(
        self,
        text: str,
        path: str = ".",
        pattern: str = "*",
        ignore_case: bool = False,
        hidden: bool = False,
        cancel: Optional[threading.Event] = None,
    ) -> str:
        """Search the text files of the folder for a text, and show the lines with it.

        The text is searched for literally; it is not a regular expression.

        Args:
            text: what to search for; it is within one line.
            path: a folder or a file to search, relative to the folder.
            pattern: search only files whose name fits, such as *.py.
            ignore_case: capital and small letters are the same.
            hidden: also search files and folders whose names begin with a dot.
        """
        if not text.strip("\r\n") or "\n" in text:
            raise ToolError("the text is empty or has a line feed; give a text within one line")
        wanted = text.lower() if ignore_case else text
        search = Search(self._folder, wanted, ignore_case)
        walk = Walk(self._folder, hidden)
        for place in self._searched(walk, path, pattern):
            if (cancel is not None and cancel.is_set()) or not search.take(place):
                break
            if search.size > self._room:
                break
        notes = search.notes() + walk.notes()
        return self._capped(search.hits, notes or ([] if search.hits else ["not found"]))

    def _searched(self, walk: Walk, path: str, pattern: str) -> Iterator[str]:
        if self._folder.kind(path) == FILE:
            yield path
            return
        for place, found in walk.iter(path, True):
            if found.kind == FILE and fnmatchcase(found.name, pattern):
                yield place

    def _part(self, lines: List[str], first: int, notes: List[str]) -> str:
        """Return the lines from number ``first`` on, as many as fit into the result."""
        if lines and first > len(lines):
            raise ToolError(f"the file has only {len(lines)} lines")
        kept: List[str] = []
        room = self._room
        for line in lines[first - 1:]:
            room -= len(line.encode("utf-8")) + 1
            if room < 0:
                break
            kept.append(line)
        if lines and not kept:  # the first line alone is too long
            kept = [_cut(lines[first - 1], self._room)]
            notes.append(f"line {first} is cut")
        last = first - 1 + len(kept)
        if last < len(lines):
            notes.insert(0, f"lines {first} to {last} of {len(lines)}; continue with "
                            f"first_line={last + 1}")
        return _with_notes("\n".join(kept), notes) or "[the file is empty]"

    def _capped(self, lines: List[str], notes: List[str]) -> str:
        kept: List[str] = []
        room = self._room
        for line in lines:
            line = mend_text(line)
            room -= len(line.encode("utf-8")) + 1
            if room < 0:
                notes = [f"{len(kept)} of {len(lines)} lines shown; ask for less", *notes]
                break
            kept.append(line)
        return _with_notes("\n".join(kept), notes)


def _about(found: Found) -> str:
    if found.kind == FILE:
        return f"{found.size} bytes"
    return "(a link: not followed)" if found.kind == LINK else "(not a regular file: not read)"


def _cut(line: str, room: int) -> str:
    return line.encode("utf-8")[:room - len(_CUT)].decode("utf-8", "ignore") + _CUT.decode("utf-8")


def _with_notes(text: str, notes: List[str]) -> str:
    told = f"[{'; '.join(notes)}]" if notes else ""
    return f"{text}\n{told}" if text and told else text or told
