# SPDX-License-Identifier: MIT
"""The one folder that the built-in tools read from.

In: relative paths as a model writes them. Out: open regular files, and the names in a folder.
Refused with ``ToolError``: absolute paths, ``..``, symbolic links anywhere in the path, devices,
FIFOs, sockets, and files that the caller withholds. If the system has openat, each part of a
path is opened relative to the folder before it and links are not followed, so a link that
somebody puts there meanwhile is refused. Elsewhere (Windows) each part is checked before and
after the opening. Hard links and mounts inside the folder count as part of it.
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
"""Most names that are read of one folder."""

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
# O_NONBLOCK: opening a FIFO must not wait. O_NOCTTY: a terminal must not control this process.
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
        path: the folder; only in this path symbolic links are followed.
        openat: whether each part of a path is opened relative to the folder before it.
        look: returns the kind and identity of a file before it is opened, as ``os.stat`` does.
        withheld: paths of files that are never opened, whatever their name in the folder; they
            need not exist yet.
    Raises:
        OSError: when the path cannot be opened, or is not a folder.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        openat: bool = HAS_OPENAT,
        look: Callable[..., os.stat_result] = os.stat,
        withheld: Sequence[str] = (),
    ) -> None:
        self._fd = -1  # set first, because __del__ reads it
        self.path = os.path.realpath(path)
        if not stat.S_ISDIR(os.stat(self.path).st_mode):
            raise NotADirectoryError(20, "it is not a folder", self.path)
        self._openat, self._look = openat, look
        self._withheld = tuple(os.path.abspath(path) for path in withheld)
        if openat:
            self._fd = os.open(self.path, _FOLDER_FLAGS)

    @contextmanager
    def file(self, path: str) -> Iterator[BinaryIO]:
        """Open a regular file to read from.

        Raises:
            ToolError: when the file does not exist, is refused, or cannot be opened or read.
        """
        parts = split_path(path)
        with _as_tool_error(path):
            fd = self._open(parts, path) if parts else -1
        if fd < 0:
            raise ToolError("this is the folder itself, not a file")
        with open(fd, "rb") as file, _as_tool_error(path):
            self._check_withheld(fd, path)
            yield file

    def entries(self, path: str = ".") -> List[Found]:
        """Return what a folder holds, sorted by name; at most ``MAX_ENTRIES`` names.

        Raises:
            ToolError: when the path does not exist, is refused, or is not a folder.
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
        """Return the kind of a path. Raises: ``ToolError`` when it does not exist."""
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
        """Close the folder; closing it again does nothing."""
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
        """Refuse a withheld file. Each opening looks it up: an editor replaces a file it saves."""
        for withheld in self._withheld:
            with suppress(OSError):  # the withheld file does not exist
                if os.path.samestat(os.stat(withheld), os.fstat(fd)):
                    raise ToolError(f"{_shown(path)}: it is withheld, because it may hold a key")

    def _open(self, parts: Tuple[str, ...], path: str) -> int:
        if not self._openat:
            return self._open_by_path(parts, path)
        parent = self._walk(parts[:-1], path)
        try:
            # Checked first, because opening some devices has effects.
            _check_file(self._look(parts[-1], dir_fd=parent, follow_symlinks=False), path)
            fd = os.open(parts[-1], _FLAGS, dir_fd=parent)
        finally:
            os.close(parent)
        return _checked_fd(fd, path)

    def _walk(self, parts: Tuple[str, ...], path: str) -> int:
        """Open the folder at the end of ``parts``, part by part, and return its descriptor."""
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
        """Return the absolute path of a folder; every part must be a folder and not a link."""
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
    """Return the parts of a relative path; an empty tuple for the folder itself.

    Args:
        path: with ``/`` between its parts; on Windows a backslash separates them too.
        windows: whether the rules of Windows apply.
    Raises:
        ToolError: for an empty or absolute path, a path with ``..`` or NUL, or on Windows the
            name of a device or a stream.
    """
    if "\0" in path or not path.strip():
        raise ToolError("the path is empty or has a NUL; give a path relative to the folder")
    plain = path.replace("\\", "/") if windows else path
    if plain.startswith(("/", "~/")) or plain == "~" or _DRIVE.match(plain):
        raise ToolError(f"{_shown(path)}: absolute paths are refused; give a path relative to "
                        "the folder")
    parts = tuple(part for part in plain.split("/") if part not in ("", "."))
    if ".." in parts or (windows and any(part.strip(". ") == "" for part in parts)):
        raise ToolError(f"{_shown(path)}: paths with .. are refused")
    if windows and any(":" in part or _WINDOWS_DEVICE.fullmatch(part) for part in parts):
        raise ToolError(f"{_shown(path)}: this names a device or a stream, not a file")
    return parts


def _listed(place: Union[int, str]) -> List[Found]:
    found: List[Found] = []
    with os.scandir(place) as entries:
        for entry in islice(entries, MAX_ENTRIES):
            try:
                facts = entry.stat(follow_symlinks=False)
            except OSError:  # the entry was removed meanwhile
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
    return ToolError(f"{_shown(path)}: a part of it is not a folder")


@contextmanager
def _as_tool_error(path: str) -> Iterator[None]:
    """Turn an error of the system into a ``ToolError``, which the model reads."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be encoded
        reason = getattr(error, "strerror", None) or "no file can have such a name"
        raise ToolError(f"{_shown(path)}: {reason}") from error


def _shown(path: str) -> str:
    return show(path, 200)
