# SPDX-License-Identifier: MIT
"""A session's file as the system sees it: opened, locked, read and given back.

In: a path. Out: a ``Handle`` that only this process may use, and bytes read at a place.
Refused with ``OSError`` or ``LlmError`` (``SESSION``): what is no regular file, and a file
that somebody else writes.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import Iterable

from ..values.errors import LlmError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED_BYTE = 0x7FFFFFFE  # Windows locks bytes, and a locked one cannot be read: one far away


class Handle:
    """An open descriptor, and the process that opened it."""

    __slots__ = ("fd", "owner")

    def __init__(self, fd: int, owner: int) -> None:
        self.fd, self.owner = fd, owner

    def give_back(self) -> None:
        """Unlock and close; doing it again does nothing."""
        fd, self.fd = self.fd, -1
        if fd < 0:
            return
        # Closing alone would leave the lock held for as long as a forked child has the
        # descriptor too. Only the owner may unlock: a child would take its parent's lock.
        try:
            if sys.platform != "win32" and os.getpid() == self.owner:
                with suppress(OSError):  # some network file systems refuse; closing does it then
                    fcntl.flock(fd, fcntl.LOCK_UN)
        finally:
            os.close(fd)


class LastHandle(Handle):
    """A handle that gives its descriptor back when nobody holds it any more."""

    __slots__ = ()

    def __del__(self) -> None:
        self.give_back()


def open_locked(path: str) -> Handle:
    """Open a file to read and append, and lock it; it is made with mode 0600 if it is missing.

    Raises:
        OSError, ValueError: when the system does not open such a path.
        LlmError: ``SESSION`` when another has locked it.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    # A FIFO or a terminal must neither block the opening nor become ours.
    for name in ("O_BINARY", "O_NOINHERIT", "O_NONBLOCK", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    handle = Handle(os.open(path, flags, 0o600), os.getpid())
    try:
        if not stat.S_ISREG(os.fstat(handle.fd).st_mode):
            raise OSError("it is not a regular file")
        _lock(handle.fd)
    except (BlockingIOError, PermissionError):
        handle.give_back()
        raise LlmError(f"the session {path} is being written by another", "SESSION") from None
    except BaseException:
        handle.give_back()
        raise
    return handle


def _lock(fd: int) -> None:
    if sys.platform == "win32":
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_new(path: str, lines: Iterable[bytes]) -> None:
    """Write a file that is not there yet, with mode 0600, and bring it to the disk.

    Raises:
        LlmError: ``SESSION`` when there is such a file, or it cannot be written; no part
            of it is left then.
    """
    made = False
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            made = True
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as exc:
        if made:
            os.unlink(path)
        if not isinstance(exc, (OSError, ValueError)):
            raise
        raise LlmError(f"{ascii(path)} cannot be written: {reason(exc)}", "SESSION") from exc


def read_at(fd: int, start: int, count: int) -> bytes:
    """Return up to ``count`` bytes from a place of the file; b"" at its end."""
    if sys.platform == "win32":
        os.lseek(fd, start, os.SEEK_SET)
        return os.read(fd, count)
    return os.pread(fd, count, start)


def reason(exc: Exception) -> str:
    """Return what the system says of an error."""
    return getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
