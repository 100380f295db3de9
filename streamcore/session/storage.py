# SPDX-License-Identifier: MIT
"""The lines of a session in a file that one process owns.

In: whole lines. Out: the same lines by number. A failed write is undone where the
system allows it, so that no half line stays. No write is accepted after it. Refused
with ``SESSION``: a process that only inherited the handle, a disk that fails, a file
that somebody else removed, replaced or changed.
"""

from __future__ import annotations

import os
from array import array
from typing import Any, Callable, Iterator, List, NoReturn, Optional

from ..values.errors import LlmError
from .handle import Handle, LastHandle, open_locked, read_at, reason

_READ_BLOCK = 1024 * 1024
_BOM = b"\xef\xbb\xbf"  # some editors put it before the first line; it is not part of the line

Write = Callable[[int, bytes], int]
Sync = Callable[[int], None]


class LogFile:
    """Lines in a file, which is locked as long as this object is open.

    Args:
        path: the file; a missing file is created with mode 0600.
        write: writes bytes to a descriptor and returns how many.
        fsync: syncs a descriptor's data to the disk.
    Raises:
        LlmError: ``SESSION`` when the file cannot be opened or another session writes it.
    """

    def __init__(self, path: Any, write: Write = os.write, fsync: Sync = os.fsync) -> None:
        self._handle = Handle(-1, os.getpid())  # set first, because __del__ reads it
        self.ends = array("q")  # where each line ends; its length is the number of lines
        self.path = os.fsdecode(path)
        self._write, self._fsync = write, fsync
        self._fault: Optional[str] = None  # why no further write is accepted
        self._writing = False  # still set after an append was interrupted, as by Ctrl-C
        self._only_here = False  # the file left its path, so closing it would lose its lines
        try:
            self._place = os.path.abspath(self.path)  # the process may change its folder
            self._handle = open_locked(self.path)
            self._file = os.fstat(self._handle.fd)
            self.found = self._file.st_size
            self.begin = len(_BOM) if read_at(self._handle.fd, 0, len(_BOM)) == _BOM else 0
            gone = self._gone(self.found)  # it may have been replaced before it was locked
            if gone is not None:
                raise LlmError(f"the session {self.path} {gone}", "SESSION")
        except OSError as exc:
            self._handle.give_back()
            raise self._error("cannot be opened", exc) from exc
        except ValueError as exc:  # the path has a NUL or a lone surrogate half
            text = f"the session {ascii(self.path)} cannot be opened: {exc}"
            raise LlmError(text, "SESSION") from exc
        except LlmError:
            self._handle.give_back()
            raise

    def __del__(self) -> None:
        # The garbage collector finalises a cycle in any order, so a stream's finaliser may
        # still record the end of its turn after this one. The new handle is not part of the
        # cycle. It closes when this object is freed, which is after all finalisers.
        self._handle = LastHandle(self._handle.fd, self._handle.owner)

    @property
    def size(self) -> int:
        """Bytes of the file up to the end of the last line kept."""
        return self.ends[-1] if self.ends else self.begin

    def stored(self) -> Iterator[bytes]:
        """Yield the lines the file had when it was opened, also an unfinished last line."""
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
        """Count one more line that is in the file already."""
        self.ends.append(self.size + len(line))

    def cut(self) -> None:
        """Cut off everything after the last line kept.

        Raises:
            LlmError: ``SESSION`` when the system refuses.
        """
        try:
            os.ftruncate(self._handle.fd, self.size)
        except OSError as exc:
            raise self._error("cannot be repaired", exc) from exc
        self._writing = False

    def sync_folder(self) -> None:
        """Sync the folder of a new file where the system can, so that its name is on the disk."""
        if not hasattr(os, "O_DIRECTORY"):
            return
        try:
            folder = os.open(os.path.dirname(self._place), os.O_RDONLY | os.O_DIRECTORY)
        except OSError:  # the folder may be writable but not readable
            return
        try:
            self._fsync(folder)
        except OSError:  # some file systems cannot sync a folder; the file itself is synced
            pass
        finally:
            os.close(folder)

    def check_owner(self) -> None:
        """Refuse a handle that was inherited in a fork.

        Raises:
            LlmError: ``SESSION`` in any process but the one that opened the file.
        """
        if os.getpid() != self._handle.owner:
            raise LlmError(
                f"only process {self._handle.owner}, which opened the session {self.path}, may "
                "write it; a forked process needs its own session", "SESSION",
            )

    def append(self, line: bytes, sync: bool) -> None:
        """Write one whole line. ``sync`` checks the file before, and syncs it after.

        Raises:
            LlmError: ``SESSION`` when the line may be missing from the file. The file is
                then cut back if the system allows it, and accepts no further line.
        """
        self._refuse_fault()
        if self._writing:
            self.cut()
        if sync:
            self._look()
            self._refuse_fault()
        end = self.size + len(line)
        self._writing = True
        try:
            written = self._write(self._handle.fd, line)
            while written < len(line):  # a nearly full disk accepts a part, then fails
                written += self._write(self._handle.fd, line[written:])
            if sync:
                self._fsync(self._handle.fd)
        except OSError as exc:
            self._fail(exc)
        self.ends.append(end)
        self._writing = False

    def line(self, number: int) -> bytes:
        """Return the line with this number, from 0.

        Raises:
            LlmError: ``SESSION`` when the file is closed or cannot be read.
        """
        if self._handle.fd < 0:
            raise LlmError(f"the session {self.path} is closed; open it again to read", "SESSION")
        start = self.ends[number - 1] if number else self.begin
        return b"".join(self._pieces(start, self.ends[number]))

    def saved(self) -> None:
        """Note that all lines are in another file too."""
        self._only_here = False

    def close(self, sync: bool, look: bool = True) -> None:
        """Close the file and release its lock; closing again does nothing.

        Args:
            sync: whether to sync the last lines to the disk.
            look: whether to check that nobody else removed, replaced or changed the file.
        Raises:
            LlmError: ``SESSION`` when the last lines could not be synced to the disk, or
                when this check fails and the lines were not saved elsewhere. In the second
                case the file stays open to be read, and a second ``close`` closes it.
        """
        if self._handle.fd < 0:
            return
        owner = os.getpid() == self._handle.owner
        if look and owner and self._fault is None:
            if self._writing:
                self.cut()
            self._look()
        if owner and self._only_here:
            self._only_here = False
            self._refuse_fault()
        try:
            if sync and self._fault is None:
                self._fsync(self._handle.fd)
        except OSError as exc:
            raise self._error("may not be on the disk", exc) from exc
        finally:
            self._handle.give_back()
            self._fault = self._fault or "is closed"

    def _refuse_fault(self) -> None:
        if self._fault is not None:
            raise LlmError(f"the session {self.path} {self._fault}", "SESSION")

    def _look(self) -> None:
        """Accept no further writes if somebody else removed, replaced or changed the file."""
        gone = self._gone(self.size)
        if gone is not None:
            self._fault = f"{gone}; save_as() writes its events to another file"
            self._only_here = True

    def _gone(self, size: int) -> Optional[str]:
        try:
            there = os.stat(self._place)
        except PermissionError:  # the process gave up rights; the open file still works
            return None
        except OSError as exc:
            return f"is not in its place any more: {reason(exc)}"
        if not os.path.samestat(there, self._file):
            return "was replaced by another file"
        if there.st_size != size:
            return f"was changed by somebody else: it has {there.st_size} bytes, not {size}"
        return None

    def _blocks(self) -> Iterator[bytes]:
        for start in range(self.begin, self.found, _READ_BLOCK):
            yield from self._pieces(start, min(start + _READ_BLOCK, self.found))

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            try:
                piece = read_at(self._handle.fd, start, end - start)
                if not piece:
                    raise OSError("it has become shorter")
            except OSError as exc:
                raise self._error("cannot be read", exc) from exc
            start += len(piece)
            yield piece

    def _fail(self, exc: OSError) -> NoReturn:
        self._fault = "accepts no further writes, because one failed"
        try:
            os.ftruncate(self._handle.fd, self.size)
        except OSError:  # the half line stays, and the next opening drops it
            pass
        raise self._error("cannot be written", exc) from exc

    def _error(self, what: str, exc: OSError) -> LlmError:
        return LlmError(f"the session {self.path} {what}: {reason(exc)}", "SESSION")
