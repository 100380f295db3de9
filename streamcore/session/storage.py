# SPDX-License-Identifier: MIT
"""The lines of a session in a file that one process owns.

In: whole lines. Out: the same lines by number. A line is in the file wholly or,
where the system allows, not at all: a write that fails is taken back, and the
file takes no further one. Refused with ``SESSION``: a process that only inherited the
handle, a bad disk, a file that was removed, replaced or changed by somebody else.
"""

from __future__ import annotations

import os
from array import array
from typing import Any, Callable, Iterator, List, NoReturn, Optional

from ..values.errors import LlmError
from .handle import Handle, LastHandle, open_locked, read_at, reason

_READ_BLOCK = 1024 * 1024
_BOM = b"\xef\xbb\xbf"  # some editors put it before the first line; no line has it

Write = Callable[[int, bytes], int]
Sync = Callable[[int], None]


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
        self._handle = Handle(-1, os.getpid())  # first of all, for __del__
        self.ends = array("q")  # where each line ends; its length is the number of lines
        self.path = os.fsdecode(path)
        self._write, self._fsync = write, fsync
        self._fault: Optional[str] = None  # why no further write is taken
        self._writing = False  # still set when an append was interrupted, by Ctrl-C say
        self._only_here = False  # the path leads elsewhere: these lines end with the handle
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
        except ValueError as exc:  # a path no system has: a NUL in it, or half a character
            text = f"the session {ascii(self.path)} cannot be opened: {exc}"
            raise LlmError(text, "SESSION") from exc
        except LlmError:
            self._handle.give_back()
            raise

    def __del__(self) -> None:
        # The garbage collector calls the finalisers of a whole cycle in an order of its own.
        # That of a stream may come after this one, and records the end of its turn. The new
        # handle is not part of the cycle, and goes when this object is taken apart: after that.
        self._handle = LastHandle(self._handle.fd, self._handle.owner)

    @property
    def size(self) -> int:
        """Bytes of the file up to the end of the last line taken."""
        return self.ends[-1] if self.ends else self.begin

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
            os.ftruncate(self._handle.fd, self.size)
        except OSError as exc:
            raise self._error("cannot be repaired", exc) from exc
        self._writing = False

    def sync_folder(self) -> None:
        """Bring a new file's name to the disk, where the system has a way to."""
        if not hasattr(os, "O_DIRECTORY"):
            return
        try:
            folder = os.open(os.path.dirname(self._place), os.O_RDONLY | os.O_DIRECTORY)
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
        if os.getpid() != self._handle.owner:
            raise LlmError(
                f"the session {self.path} is written by process {self._handle.owner}, which "
                "opened it; a forked process needs a session of its own", "SESSION",
            )

    def append(self, line: bytes, sync: bool) -> None:
        """Write one whole line; if ``sync``, look that the file is in its place, and sync it.

        Raises:
            LlmError: ``SESSION`` when the line is not in the file for sure; the
                file is as it was before, if the system allows, and is finished.
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
            while written < len(line):  # a nearly full disk takes a part, then fails
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
        """Take note that all lines are in another file too."""
        self._only_here = False

    def close(self, sync: bool, look: bool = True) -> None:
        """Give the file and its lock back; closing again does nothing.

        Args:
            sync: whether to bring the last lines to the disk.
            look: whether to look that the file is in its place.
        Raises:
            LlmError: ``SESSION`` when the last lines could not be brought to the disk. The
                same when the file is no longer in its place and its lines were not saved
                elsewhere; then it stays open to be read, and closing again closes it.
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
        """Take no further writes when the file is gone from its path, or is not as it was left."""
        gone = self._gone(self.size)
        if gone is not None:
            self._fault = f"{gone}; save_as() writes its events to another file"
            self._only_here = True

    def _gone(self, size: int) -> Optional[str]:
        try:
            there = os.stat(self._place)
        except PermissionError:  # a process that gave up rights goes on with what is open
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
        self._fault = "takes no further writes: one has failed"
        try:
            os.ftruncate(self._handle.fd, self.size)
        except OSError:  # the half line stays, and the next opening drops it
            pass
        raise self._error("cannot be written", exc) from exc

    def _error(self, what: str, exc: OSError) -> LlmError:
        return LlmError(f"the session {self.path} {what}: {reason(exc)}", "SESSION")
