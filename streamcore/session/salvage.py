# SPDX-License-Identifier: MIT
"""Saves the whole records of a damaged session file.

In: a file that ``Session.open`` refuses. Out: a new file of all its whole records, each
with its number, and a report of what was left out. Records are also found inside a
damaged line: after a block of NULs, or joined to half of another record. A
``session/lost`` event replaces each missing record, because records refer to each other
by number. Refused with ``SESSION``: a file without a whole record, or of another format.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import BinaryIO, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..values.errors import LlmError
from ..values.strictjson import DECODER
from . import lines
from .handle import reason, write_new
from .state import FORMAT, check_format, read_note

_BEGIN = re.compile(r'\{"seq":')
_BOM = b"\xef\xbb\xbf"
_SHORTEST = 40  # bytes; no record is shorter
_MISSING = 1000  # records that may have gone without leaving a byte in the file


@dataclass(frozen=True)
class LeftOut:
    """A piece of the damaged file that is not in the new one.

    Args:
        line: number of its line, from 1.
        offset: bytes of the file before it.
        bytes: its length in bytes.
        reason: why it was left out.
    """

    line: int
    offset: int
    bytes: int
    reason: str


@dataclass(frozen=True)
class Salvaged:
    """What was saved of a damaged file.

    Args:
        path: the new file.
        records: how many whole records are in it.
        lost: how many records are missing before its last one. A ``session/lost`` event
            replaces each, and a new ``session/start`` replaces the first of the log.
        left_out: the pieces that are not in it, in their order in the damaged file.
    """

    path: str
    records: int
    lost: int
    left_out: Tuple[LeftOut, ...]


class _Record(NamedTuple):
    line: int
    offset: int
    length: int
    seq: int
    time: float


def salvage(path: str, to: Optional[str] = None) -> Salvaged:
    """Write the whole records of ``path`` into the new file ``to``; see ``Session.salvage``."""
    target = f"{path}.salvaged" if to is None else to
    try:
        if not os.path.isfile(path):
            raise OSError("there is no such regular file")
        with open(path, "rb") as file:
            found, left_out = _search(file, path)
            most = os.fstat(file.fileno()).st_size // _SHORTEST + _MISSING
            kept = _ascending([record for record in found if 0 <= record.seq < most])
            if not kept:
                raise LlmError(f"no whole record of a session is in {path}", "SESSION")
            write_new(target, _lines(file, kept))
    except OSError as exc:
        raise LlmError(f"{ascii(path)} cannot be read: {reason(exc)}", "SESSION") from exc
    for record in sorted(set(found).difference(kept)):
        why = f"event {record.seq} is out of place"
        left_out.append(LeftOut(record.line, record.offset, record.length, why))
    left_out.sort(key=lambda piece: piece.offset)
    lost = kept[-1].seq + 1 - len(kept)
    return Salvaged(target, len(kept), lost, tuple(left_out))


def _search(file: BinaryIO, path: str) -> Tuple[List[_Record], List[LeftOut]]:
    """Return the whole records of a file, and its other pieces."""
    found: List[_Record] = []
    left_out: List[LeftOut] = []
    offset = 0
    for number, line in enumerate(file, 1):
        begin = len(_BOM) if number == 1 and line.startswith(_BOM) else 0
        for start, end in _pieces(line, begin):
            piece = line[start:end]
            try:
                value = lines.parse_line(piece)
                read_note(value)
                check_format(value, path)
            except ValueError as exc:
                why = f"it is no whole record: {exc}"
                left_out.append(LeftOut(number, offset + start, len(piece), why))
                continue
            place = number, offset + start, len(piece.rstrip(b"\r\n"))
            found.append(_Record(*place, value["seq"], value["time"]))
        offset += len(line)
    return found, left_out


def _pieces(line: bytes, start: int) -> Iterator[Tuple[int, int]]:
    """Yield the begin and end of each piece of a line: records, and the bytes between them."""
    text, end = line.decode("latin-1"), len(line.rstrip(b"\r\n"))  # one character a byte
    for match in _BEGIN.finditer(text, start):
        if match.start() < start:  # inside a record
            continue
        try:
            stop = DECODER.raw_decode(text, match.start())[1]
        except (ValueError, RecursionError):
            continue
        if start < match.start():
            yield start, match.start()
        yield match.start(), stop
        start = stop
    if start < end:
        yield start, end


def _ascending(records: Sequence[_Record]) -> List[_Record]:
    """Return the longest run of records, not always neighbours, with rising numbers."""
    numbers: List[int] = []  # the smallest number that ends a run, by the run's length
    ends: List[int] = []  # the place of the record with that number
    before: List[int] = []  # for each record, the place of the one before it in its run, or -1
    for place, record in enumerate(records):
        length = bisect_left(numbers, record.seq)
        before.append(ends[length - 1] if length else -1)
        numbers[length:length + 1] = [record.seq]
        ends[length:length + 1] = [place]
    kept: List[_Record] = []
    place = ends[-1] if ends else -1
    while place >= 0:
        kept.append(records[place])
        place = before[place]
    return kept[::-1]


def _lines(file: BinaryIO, kept: Sequence[_Record]) -> Iterator[bytes]:
    """Yield the lines of the new file."""
    start = lines.encode_event(lines.START, {"format": FORMAT})
    lost = lines.encode_event(lines.LOST, {"until": kept[-1].seq})
    seq, time = 0, kept[0].time
    for record in kept:
        for missing in range(seq, record.seq):
            yield lines.stamp(missing, time, lost if missing else start)
        file.seek(record.offset)
        yield file.read(record.length) + b"\n"
        seq, time = record.seq + 1, record.time
