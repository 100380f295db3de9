# SPDX-License-Identifier: MIT
"""One folder, and nothing but it: what the built-in tools read from.

In: relative paths as a model writes them. Out: open regular files, and what folders hold.
Refused with ``ToolError``: absolute paths, ``..``, symbolic links wherever in the path they
stand, devices, FIFOs and sockets, and files that the caller withholds. Where the system can
open relative to an open folder (openat), each part of a path is opened so, without following
links: a link that is put there meanwhile changes nothing. Elsewhere (Windows) each part is
looked at before and after the opening. Hard links and mounts inside the folder count as part
of it.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager, suppress
from itertools import islice
from typing import (
    Any, BinaryIO, Callable, Iterator, List, NamedTuple, Sequence, Tuple, Union,
)

from ..agent.tools import ToolError
from ..values.showing import show

MAX_ENTRIES = 20_000
"""Names of one folder that are ever read."""

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"

HAS_OPENAT = (
    hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")
    and os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
    and os.scandir in os.supports_fd
)

_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/]|$)")
_WINDOWS_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)"
                             r"\s*(?:[.:].*)?")
_REPARSE_POINT = 0x400  # FILE_ATTRIBUTE_REPARSE_POINT: links and junctions of Windows
# A FIFO must not block the opening, a terminal must not become ours.
_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
    _FLAGS |= getattr(os, _name, 0)
_FOLDER_FLAGS = _FLAGS | getattr(os, "O_DIRECTORY", 0)


class Found(NamedTuple):
    """One name in a folder: ``kind`` is ``file``, ``folder``, ``link`` or ``other``."""

    name: str
    kind: str
    size: int


class Folder:
    """A folder that files are read from; closed by ``close`` or ``with``.

    Args:
        path: the folder; this one path may be, or lead over, a symbolic link.
        openat: whether paths are opened part by part relative to the folder.
        look: tells of a file what it is, before it is opened.
        withheld: paths of files that are never opened, under whatever name they stand in the
            folder; one need not be there yet.
    Raises:
        OSError: when it cannot be opened, or is no folder.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        openat: bool = HAS_OPENAT,
        look: Callable[..., os.stat_result] = os.stat,
        withheld: Sequence[str] = (),
    ) -> None:
        self._fd = -1  # first of all, for __del__
        self.path = os.path.realpath(path)
        if not stat.S_ISDIR(os.stat(self.path).st_mode):
            raise NotADirectoryError(20, "it is no folder", self.path)
        self._openat, self._look = openat, look
        self._withheld = tuple(os.path.abspath(path) for path in withheld)
        if openat:
            self._fd = os.open(self.path, _FOLDER_FLAGS)

    @contextmanager
    def file(self, path: str) -> Iterator[BinaryIO]:
        """Open a regular file to read from.

        Raises:
            ToolError: when it is not there, is not to be opened, or cannot be read.
        """
        parts = split_path(path)
        with _as_tool_error(path):
            fd = self._open(parts, path) if parts else -1
        if fd < 0:
            raise ToolError("the folder itself is no file")
        with open(fd, "rb") as file, _as_tool_error(path):
            self._check_withheld(fd, path)
            yield file

    def entries(self, path: str = ".") -> List[Found]:
        """Return what a folder holds, sorted by name; of a vast one ``MAX_ENTRIES`` names.

        Raises:
            ToolError: when it is not there, or no folder.
        """
        parts = split_path(path)
        with _as_tool_error(path):
            if self._openat:
                fd = self._walk(parts, path)
                try:
                    return _listed(fd)
                finally:
                    os.close(fd)
            place = self._looked_at(parts, path)
            return _listed(place)

    def kind(self, path: str) -> str:
        """Return what a path is. Raises: ``ToolError`` when it is not there."""
        parts = split_path(path)
        if not parts:
            return FOLDER
        with _as_tool_error(path):
            if not self._openat:
                place = os.path.join(self._looked_at(parts[:-1], path), parts[-1])
                return _kind(self._look(place, follow_symlinks=False))
            parent = self._walk(parts[:-1], path)
            try:
                return _kind(self._look(parts[-1], dir_fd=parent, follow_symlinks=False))
            finally:
                os.close(parent)

    def close(self) -> None:
        """Give the folder back; closing again does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _check_withheld(self, fd: int, path: str) -> None:
        """Refuse a file that is withheld, looked at now: an editor replaces a file it saves."""
        for withheld in self._withheld:
            with suppress(OSError):  # it is not there
                if os.path.samestat(os.stat(withheld), os.fstat(fd)):
                    raise ToolError(f"{_shown(path)}: it is withheld, since it may hold a key")

    def _open(self, parts: Tuple[str, ...], path: str) -> int:
        if not self._openat:
            return self._open_by_path(parts, path)
        parent = self._walk(parts[:-1], path)
        try:
            # Looked at first, since opening alone does things to some devices.
            _check_file(self._look(parts[-1], dir_fd=parent, follow_symlinks=False), path)
            fd = os.open(parts[-1], _FLAGS, dir_fd=parent)
        finally:
            os.close(parent)
        return _checked_fd(fd, path)

    def _walk(self, parts: Tuple[str, ...], path: str) -> int:
        """Open the folder at the end of ``parts``, step by step, and return its descriptor."""
        fd = os.dup(self._fd)
        for part in parts:
            try:
                facts = self._look(part, dir_fd=fd, follow_symlinks=False)
                if _kind(facts) != FOLDER:
                    raise _not_a_folder(facts, path)
                inner = os.open(part, _FOLDER_FLAGS, dir_fd=fd)
            finally:
                os.close(fd)
            fd = inner
        return fd

    def _open_by_path(self, parts: Tuple[str, ...], path: str) -> int:
        parent = self._looked_at(parts[:-1], path)
        place = os.path.join(parent, parts[-1])
        before = self._look(place, follow_symlinks=False)
        _check_file(before, path)
        fd = _checked_fd(os.open(place, _FLAGS), path)
        after = os.fstat(fd)
        if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
            os.close(fd)
            raise ToolError(f"{_shown(path)}: it was replaced while it was opened")
        try:
            self._looked_at(parts[:-1], path)
        except (OSError, ToolError):
            os.close(fd)
            raise
        return fd

    def _looked_at(self, parts: Tuple[str, ...], path: str) -> str:
        """Return the place of a folder whose every part is a folder and no link."""
        place = self.path
        for part in parts:
            place = os.path.join(place, part)
            facts = self._look(place, follow_symlinks=False)
            if _kind(facts) != FOLDER:
                raise _not_a_folder(facts, path)
        if os.path.normcase(os.path.realpath(place)) != os.path.normcase(place):
            raise ToolError(f"{_shown(path)}: it leads out of the folder")
        return place


def split_path(path: str, windows: bool = os.name == "nt") -> Tuple[str, ...]:
    """Return the parts of a relative path; none for the folder itself.

    Args:
        path: with ``/`` between its parts, on Windows with a backslash too.
        windows: whether the rules of Windows hold.
    Raises:
        ToolError: for an absolute path, one with ``..``, or a name no file can have.
    """
    if "\0" in path or not path.strip():
        raise ToolError("a path is wanted, relative to the folder")
    plain = path.replace("\\", "/") if windows else path
    if plain.startswith(("/", "~/")) or plain == "~" or _DRIVE.match(plain):
        raise ToolError(f"{_shown(path)}: absolute paths are refused; give one relative to the "
                        "folder")
    parts = tuple(part for part in plain.split("/") if part not in ("", "."))
    if ".." in parts or (windows and any(part.strip(". ") == "" for part in parts)):
        raise ToolError(f"{_shown(path)}: paths with .. are refused")
    if windows and any(":" in part or _WINDOWS_DEVICE.fullmatch(part) for part in parts):
        raise ToolError(f"{_shown(path)}: this names a device or a stream, no file")
    return parts


def _listed(place: Union[int, str]) -> List[Found]:
    found: List[Found] = []
    with os.scandir(place) as entries:
        for entry in islice(entries, MAX_ENTRIES):
            try:
                facts = entry.stat(follow_symlinks=False)
            except OSError:  # it went away meanwhile
                continue
            found.append(Found(entry.name, _kind(facts), facts.st_size))
    return sorted(found)


def _kind(facts: Any) -> str:
    if stat.S_ISLNK(facts.st_mode) or getattr(facts, "st_file_attributes", 0) & _REPARSE_POINT:
        return LINK
    if stat.S_ISDIR(facts.st_mode):
        return FOLDER
    return FILE if stat.S_ISREG(facts.st_mode) else OTHER


def _check_file(facts: Any, path: str) -> None:
    kind = _kind(facts)
    if kind != FILE:
        words = {LINK: "a symbolic link, and links are not followed", FOLDER: "a folder",
                 OTHER: "a device, a FIFO or a socket"}
        raise ToolError(f"{_shown(path)}: it is {words[kind]}")


def _checked_fd(fd: int, path: str) -> int:
    try:
        _check_file(os.fstat(fd), path)
    except ToolError:
        os.close(fd)
        raise
    return fd


def _not_a_folder(facts: Any, path: str) -> ToolError:
    if _kind(facts) == LINK:
        return ToolError(f"{_shown(path)}: a part of it is a symbolic link, and links are not "
                         "followed")
    return ToolError(f"{_shown(path)}: a part of it is no folder")


@contextmanager
def _as_tool_error(path: str) -> Iterator[None]:
    """Make an error of the system one that the model can act on."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be encoded
        reason = getattr(error, "strerror", None) or "no file can have such a name"
        raise ToolError(f"{_shown(path)}: {reason}") from error


def _shown(path: str) -> str:
    return show(path, 200)
