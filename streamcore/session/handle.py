# SPDX-License-Identifier: MIT
"""Opens, locks, reads and closes the file of a session.

In: a path. Out: a ``Handle`` that only this process may use, and bytes read at a place.
Refused with ``OSError`` or ``LlmError`` (``SESSION``): a path that is not a regular file,
and a file that another session has locked.
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

_LOCKED_BYTE = 0x7FFFFFFE  # Windows makes a locked byte unreadable; this one is beyond any log


class Handle:
    """An open descriptor, and the process that opened it."""

    __slots__ = ("fd", "owner")

    def __init__(self, fd: int, owner: int) -> None:
        self.fd, self.owner = fd, owner

    def give_back(self) -> None:
        """Unlock and close the file; a second call does nothing."""
        fd, self.fd = self.fd, -1
        if fd < 0:
            return
        # A forked child shares the descriptor, so closing alone would keep the lock. Only
        # the owner unlocks, because unlocking in a child would release its parent's lock.
        try:
            if sys.platform != "win32" and os.getpid() == self.owner:
                with suppress(OSError):  # some network file systems unlock only at closing
                    fcntl.flock(fd, fcntl.LOCK_UN)
        finally:
            os.close(fd)


class LastHandle(Handle):
    """A handle that unlocks and closes its file when it is garbage collected."""

    __slots__ = ()

    def __del__(self) -> None:
        self.give_back()


def open_locked(path: str) -> Handle:
    """Open a file to read and append, and lock it. A missing file is created with mode 0600.

    Raises:
        OSError, ValueError: when the system cannot open the path.
        LlmError: ``SESSION`` when another session has locked the file.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    # Opening a FIFO must not block, and a terminal must not become the controlling one.
    for name in ("O_BINARY", "O_NOINHERIT", "O_NONBLOCK", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    handle = Handle(os.open(path, flags, 0o600), os.getpid())
    try:
        if not stat.S_ISREG(os.fstat(handle.fd).st_mode):
            raise OSError("it is not a regular file")
        _lock(handle.fd)
    except (BlockingIOError, PermissionError):
        handle.give_back()
        raise LlmError(f"another session is writing the file {path}", "SESSION") from None
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
    """Write a new file with mode 0600, and sync it to the disk.

    Raises:
        LlmError: ``SESSION`` when the file exists already or cannot be written. No
            half-written file is left.
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
    """Return up to ``count`` bytes from byte ``start`` on; ``b""`` at the end of the file."""
    if sys.platform == "win32":
        os.lseek(fd, start, os.SEEK_SET)
        return os.read(fd, count)
    return os.pread(fd, count, start)


def reason(exc: Exception) -> str:
    """Return the system's words for an error."""
    return getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
