# SPDX-License-Identifier: MIT
"""Decompresses a body in bounded pieces, although no compression was asked for.

In: body bytes as they arrive, and a cap on the output of one call. Out: the bytes that can
be decoded now; ``more`` says that another call will give more. Refused (``ValueError``): a
compression other than gzip and deflate, or two of them. A word that names no compression
(``none``, ``utf-8``) is ignored. Bytes that are not in the named format raise ``zlib.error``.
RFC 9110, section 8.4.1.
"""

from __future__ import annotations

import zlib
from typing import Any, Iterator, List, Optional, Sequence

_GZIP = 16 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_MOST_EMPTY = 64  # empty gzip members in a row; a flood of them would never end
_KNOWN = frozenset(("gzip", "x-gzip", "deflate"))
_UNKNOWN = frozenset((
    "br", "zstd", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "aes128gcm",
    "bzip2", "x-bzip2", "lzma", "xz", "lz4", "snappy", "x-snappy-framed",
))  # fmt: skip


class Inflater:
    """Decodes gzip, or deflate with or without its zlib wrapper."""

    def __init__(self, gzip: bool) -> None:
        self.more = False
        self._gzip = gzip
        self._machine: Any = zlib.decompressobj(_GZIP) if gzip else None
        self._input = b""  # taken in and not yet decoded
        self._begun = False
        self._empty = 0  # members begun since the last byte of output
        self._fault: Optional[zlib.error] = None

    def decode(self, data: bytes, limit: int) -> bytes:
        """Take ``data`` and return at most ``limit`` (1 or more) decoded bytes.

        Raises:
            zlib.error: for bytes that cannot be decoded; the bytes before them come first.
        """
        if self._fault is not None:
            raise self._fault
        data = self._input + data if self._input else data
        self._input = b""
        if self._machine is None and not self._choose(data):
            return b""
        if self._machine.eof:
            data = data.lstrip(b"\0")  # padding between members, and behind the last
            if not self._next_member(data):
                return b""
        self._begun = self._begun or bool(data)
        before = self._machine.copy()  # to decode the good bytes again if these have a fault
        try:
            output: bytes = self._machine.decompress(data, limit)
        except zlib.error as error:
            return self._up_to_fault(before, data, error)
        if output:
            self._empty = 0
        self._input = self._machine.unconsumed_tail or self._machine.unused_data
        # zlib may still hold output after a full piece, even if it has taken all input
        self.more = bool(self._input) or len(output) >= limit
        return output

    def _up_to_fault(self, machine: Any, data: bytes, error: zlib.error) -> bytes:
        """Return the bytes that ``data`` holds before its fault; the next call raises."""
        parts: List[bytes] = []
        try:
            for at in range(len(data)):
                parts.append(machine.decompress(data[at:at + 1]))
        except zlib.error:  # the same error again, now at its own byte
            pass
        self._fault, self.more = error, True
        output = b"".join(parts)
        if not output:
            raise error
        return output

    def _choose(self, data: bytes) -> bool:
        """Pick the kind of deflate from its first two bytes; False until they are there."""
        if len(data) < 2:
            self._input = data
            return False
        wrapped = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
        self._machine = zlib.decompressobj(zlib.MAX_WBITS if wrapped else _RAW)
        return True

    def _next_member(self, data: bytes) -> bool:
        """Start the next gzip member; return False if there are no bytes for one."""
        self.more = False
        if not data:
            return False
        self._empty += 1
        if self._empty > _MOST_EMPTY:
            self._fault = zlib.error("more than 64 gzip members without a byte")
            raise self._fault
        if not self._gzip:
            raise zlib.error("data after the end of the deflate stream")
        self._machine = zlib.decompressobj(_GZIP)
        return True

    def finish(self) -> Optional[str]:
        """Note that the body has ended; return what is missing, or None."""
        if (self._begun or self._input) and not (self._machine and self._machine.eof):
            return "the compressed data is cut"
        return None


def decoder_for(content: str, transfer: Sequence[str] = ()) -> Optional[Inflater]:
    """Return the decoder for a body; None if it is not compressed.

    Args:
        content: the Content-Encoding header; words that name no compression are ignored.
        transfer: the transfer codings other than ``chunked``, each a name in lower case.
    Raises:
        ValueError: for an unknown transfer coding, an unknown compression, or two of them.
    """
    for name in transfer:
        if name not in _KNOWN and name != "identity":
            raise ValueError(f"unknown Transfer-Encoding {name[:60]!r}")
    names = [name for name in coding_names(content) if name in _KNOWN or name in _UNKNOWN]
    names += [name for name in transfer if name in _KNOWN]
    if not names:
        return None
    if len(names) > 1 or names[0] in _UNKNOWN:
        raise ValueError(f"unknown Content-Encoding {', '.join(names)[:60]!r}")
    return Inflater(names[0] != "deflate")


def coding_names(header: str) -> Iterator[str]:
    """Yield the codings of a header in lower case, without parameters; skip empty ones."""
    for part in header.split(","):
        name = part.partition(";")[0].strip().lower()
        if name:
            yield name
