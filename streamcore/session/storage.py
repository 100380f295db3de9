# SPDX-License-Identifier: MIT
"""Where the lines of a session are kept: in memory, or in a file that one process owns.

In: whole lines. Out: the same lines by number. A line is in the file wholly or,
where the system allows, not at all: a write that fails is taken back, and the
file takes no further one. Refused with ``SESSION``: what is no regular file, a
file somebody else writes, a process that only inherited the handle, a bad disk.
"""

from __future__ import annotations

import os
import stat
import sys
from array import array
from contextlib import suppress
from typing import Any, Callable, Iterator, List, NoReturn, Optional

from ..values.errors import LlmError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_READ_BLOCK = 1024 * 1024
_LOCKED_BYTE = 0x7FFFFFFE  # Windows locks bytes, and a locked one cannot be read: one far away

Write = Callable[[int, bytes], int]
Sync = Callable[[int], None]


class MemoryLines:
    """Lines in one growing buffer: about nine bytes more than their text each."""

    def __init__(self) -> None:
        self.ends = array("q")  # where each line ends; its length is the number of lines
        self._buffer = bytearray()

    def check_owner(self) -> None:
        """A copy of memory belongs to whoever has it, after a fork too."""

    def append(self, line: bytes, sync: bool) -> None:
        """Keep one more line."""
        end = (self.ends[-1] if self.ends else 0) + len(line)
        self._buffer[end - len(line) :] = line  # what an interrupt left half done is overwritten
        self.ends.append(end)

    def line(self, number: int) -> bytes:
        """Return the line with this number, from 0."""
        return bytes(self._buffer[self.ends[number - 1] if number else 0 : self.ends[number]])

    def close(self, sync: bool) -> None:
        """There is nothing to give back."""


class LogFile:
    """Lines in a file, which is locked as long as this object is open.

    Args:
        path: the file; made with mode 0600 when it is not there.
        write: writes bytes to a descriptor and returns how many.
        fsync: brings a descriptor's data to the disk.
    Raises:
        LlmError: ``SESSION`` when the file cannot be opened or is written by another.
    """

    def __init__(self, path: Any, write: Write = os.write, fsync: Sync = os.fsync) -> None:
        self._fd = -1  # first of all, for __del__
        self.ends = array("q")  # where each line ends; its length is the number of lines
        self.path = os.fsdecode(path)
        self._write, self._fsync = write, fsync
        self._owner = os.getpid()
        self._fault: Optional[str] = None  # why no further write is taken
        self._writing = False  # still set when an append was interrupted, by Ctrl-C say
        try:
            self._fd = _open(self.path)
            _lock(self._fd, self.path)
            self.found = os.fstat(self._fd).st_size
        except OSError as exc:
            self._release()
            raise self._error("cannot be opened", exc) from exc
        except ValueError as exc:  # a path no system has: a NUL in it, or half a character
            self._release()
            text = f"the session {ascii(self.path)} cannot be opened: {exc}"
            raise LlmError(text, "SESSION") from exc
        except LlmError:
            self._release()
            raise

    def __del__(self) -> None:
        self._release()

    @property
    def size(self) -> int:
        """Bytes of the lines taken so far."""
        return self.ends[-1] if self.ends else 0

    def stored(self) -> Iterator[bytes]:
        """Yield the lines the file had when it was opened, an unfinished last one too."""
        pieces: List[bytes] = []
        for block in self._blocks():
            first, *others = block.split(b"\n")
            pieces.append(first)
            if others:
                yield b"".join(pieces) + b"\n"
                for line in others[:-1]:
                    yield line + b"\n"
                pieces = [others[-1]]
        tail = b"".join(pieces)
        if tail:
            yield tail

    def keep(self, line: bytes) -> None:
        """Count a line that is in the file already."""
        self.ends.append(self.size + len(line))

    def cut(self) -> None:
        """Drop everything after the lines kept.

        Raises:
            LlmError: ``SESSION`` when the system refuses.
        """
        try:
            os.ftruncate(self._fd, self.size)
        except OSError as exc:
            raise self._error("cannot be repaired", exc) from exc

    def sync_folder(self) -> None:
        """Bring a new file's name to the disk, where the system has a way to."""
        if sys.platform == "win32":
            return
        try:
            folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        except OSError:  # a folder may be one to write in but not to read
            return
        try:
            self._fsync(folder)
        except OSError:  # some file systems cannot sync a folder; the file itself still is
            pass
        finally:
            os.close(folder)

    def check_owner(self) -> None:
        """Refuse a handle that came over a fork.

        Raises:
            LlmError: ``SESSION`` in any process but the one that opened the file.
        """
        if os.getpid() != self._owner:
            raise LlmError(
                f"the session {self.path} is written by process {self._owner}, which opened it; "
                "a forked process needs a session of its own", "SESSION",
            )

    def append(self, line: bytes, sync: bool) -> None:
        """Write one whole line, and bring it to the disk if ``sync``.

        Raises:
            LlmError: ``SESSION`` when the line is not in the file for sure; the
                file is as it was before, if the system allows, and is finished.
        """
        if self._fault is not None:
            raise LlmError(f"the session {self.path} {self._fault}", "SESSION")
        if self._writing:
            self.cut()
        end = self.size + len(line)
        self._writing = True
        try:
            written = self._write(self._fd, line)
            while written < len(line):  # a nearly full disk takes a part, then fails
                written += self._write(self._fd, line[written:])
            if sync:
                self._fsync(self._fd)
        except OSError as exc:
            self._fail(exc)
        self.ends.append(end)
        self._writing = False

    def line(self, number: int) -> bytes:
        """Return the line with this number, from 0.

        Raises:
            LlmError: ``SESSION`` when the file is closed or cannot be read.
        """
        if self._fd < 0:
            raise LlmError(f"the session {self.path} is closed; open it again to read", "SESSION")
        start = self.ends[number - 1] if number else 0
        pieces, missing = [], self.ends[number] - start
        try:
            while missing:
                piece = _read_at(self._fd, self.ends[number] - missing, missing)
                if not piece:
                    raise OSError("it has become shorter")
                pieces.append(piece)
                missing -= len(piece)
        except OSError as exc:
            raise self._error("cannot be read", exc) from exc
        return b"".join(pieces)

    def close(self, sync: bool) -> None:
        """Give the file and its lock back; closing again does nothing.

        Raises:
            LlmError: ``SESSION`` when the last lines could not be brought to the disk.
        """
        try:
            if sync and self._fd >= 0 and self._fault is None:
                self._fsync(self._fd)
        except OSError as exc:
            raise self._error("may not be on the disk", exc) from exc
        finally:
            self._release()
            self._fault = self._fault or "is closed"

    def _release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            try:
                if os.getpid() == self._owner:
                    _unlock(fd)
            finally:
                os.close(fd)

    def _blocks(self) -> Iterator[bytes]:
        start = 0
        while start < self.found:
            try:
                block = _read_at(self._fd, start, min(_READ_BLOCK, self.found - start))
                if not block:
                    raise OSError("it has become shorter")
            except OSError as exc:
                raise self._error("cannot be read", exc) from exc
            start += len(block)
            yield block

    def _fail(self, exc: OSError) -> NoReturn:
        self._fault = "takes no further writes: one has failed"
        try:
            os.ftruncate(self._fd, self.size)
        except OSError:  # the half line stays, and the next opening drops it
            pass
        raise self._error("cannot be written", exc) from exc

    def _error(self, what: str, exc: OSError) -> LlmError:
        reason = exc.strerror or str(exc) or type(exc).__name__
        return LlmError(f"the session {self.path} {what}: {reason}", "SESSION")


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    # A FIFO or a terminal must neither block the opening nor become ours.
    for name in ("O_BINARY", "O_NOINHERIT", "O_NONBLOCK", "O_NOCTTY"):
        flags |= getattr(os, name, 0)
    fd = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("it is not a regular file")
    return fd


def _lock(fd: int, path: str) -> None:
    try:
        if sys.platform == "win32":
            os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise LlmError(f"the session {path} is being written by another", "SESSION") from None


def _unlock(fd: int) -> None:
    """Give the lock back, although a forked child may still have the handle.

    Closing alone would leave it held until the child ends. Only the owner may: a child
    that unlocked would take the lock from its parent.
    """
    if sys.platform != "win32":
        with suppress(OSError):  # some network file systems refuse; closing does it then
            fcntl.flock(fd, fcntl.LOCK_UN)


def _read_at(fd: int, start: int, count: int) -> bytes:
    if sys.platform == "win32":
        os.lseek(fd, start, os.SEEK_SET)
        return os.read(fd, count)
    return os.pread(fd, count, start)
