# SPDX-License-Identifier: MIT
"""Compares our body framing with h11, and our inflater with zlib, on the same random bytes.

The transport finds the end of a body itself. Thousands of seeded answers, good and broken, cut
anywhere, go through it and through h11. Both must give the same body and end, and refuse the
same answers. A failure prints the seed and the bytes.

Two differences are wanted. A body whose last chunk came is whole, even if the connection closes
before the blank line after it (RFC 9112, section 8). And we undo transfer codings besides
chunked, which h11 does not; the answers here have none.
"""

from __future__ import annotations

import gzip
import http.client
import random
import time
import zlib
from typing import Any, List, Tuple

import pytest
from rawserver import limits

from streamcore.transport.decoding import decoder_for
from streamcore.transport.reading import SocketBody
from streamcore.transport.sockets import SocketFile
from streamcore.transport.watch import Watch
from streamcore.values.clock import WaitBudget
from streamcore.values.errors import LlmError

h11 = pytest.importorskip("h11")

WHOLE, CUT, REFUSED = "whole", "cut", "refused"
Read = Tuple[bytes, str]


class Pieces:
    """A socket whose reads return these pieces, and then the end."""

    def __init__(self, pieces: List[bytes]) -> None:
        self._pieces = list(pieces)
        self.watch = Watch("x", limits(), None, WaitBudget(None))

    def recv(self, _size: int) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def makefile(self, *_args: Any) -> SocketFile:
        return SocketFile(self)  # type: ignore[arg-type]

    def check_end(self) -> None:
        pass

    def file_closed(self) -> None:
        pass


def read_by_us(pieces: List[bytes]) -> Tuple[bytes, str, bytes]:
    """Return the body, how it ended, and the bytes after it."""
    sock = Pieces(pieces)
    response: Any = http.client.HTTPResponse(sock)  # type: ignore[arg-type]
    response.begin()
    body = SocketBody(response, response.fp, sock.watch)
    response.fp = None
    got = b""
    try:
        piece = body.read()
        while piece:
            got += piece
            piece = body.read()
    except LlmError as error:
        return got, CUT if error.code == "STREAM_CLOSED" else REFUSED, b""
    behind = b"".join([body.framing.rest, body._file.pending, *sock._pieces])
    return got, WHOLE, behind


def read_by_h11(pieces: List[bytes]) -> Tuple[bytes, str, bytes]:
    """Return the same facts as read by h11."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    got, left, closed = b"", list(pieces), False
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                closed = not left
                connection.receive_data(left.pop(0) if left else b"")
            elif isinstance(event, h11.Data):
                got += event.data
            elif isinstance(event, h11.EndOfMessage):
                return got, WHOLE, b"".join([connection.trailing_data[0], *left])
    except h11.RemoteProtocolError:
        return got, CUT if closed else REFUSED, b""


def cut(data: bytes, rng: random.Random) -> List[bytes]:
    """Cut bytes anywhere: not at all, in two, in many, or into single bytes."""
    most = rng.choice((0, 1, 5, len(data)))
    marks = sorted({rng.randrange(len(data) + 1) for _ in range(most)} - {0, len(data)})
    return [data[a:b] for a, b in zip([0, *marks], [*marks, len(data)])]


def chunked(rng: random.Random) -> bytes:
    """Return a chunked body; most are sound, but any part may be broken."""
    def odd(sound: bytes, *others: bytes) -> bytes:
        return rng.choice(others) if rng.random() < 0.02 else sound

    wire = b""
    for _ in range(rng.randrange(6)):
        data = bytes(rng.choice(b"abc\r\n0;: ") for _ in range(rng.choice((1, 2, 9, 15, 16, 40))))
        size = rng.choice((b"%x", b"%X", b"%04x")) % len(data)
        size = odd(size, b"+" + size, b"-" + size, b"0x" + size, size + b"_0", b" " + size, b"",
                   size + b"\t ", b"\t" + size, b"f" * 21, b"0" * 17 + size, size + b"h",
                   b"\xb2", size + b" ;x", size + b"\0", size + b",5", size + b"\v", b'"3"')
        extension = rng.choice((b"", b"", b"", b";a=b", b';a="b"', b";;", b"; a = b ", b";\xff"))
        extension = odd(extension, b";a\nb", b";a\rb", b";\0", b" ;a", b";" + b"x" * 300)
        wire += size + extension + odd(b"\r\n", b"\n", b"\r", b"\r\r\n", b"\n\r\n") + data
        wire += odd(b"\r\n", b"\n", b"", b"X\r\n", b"\r", b"\r\n\r\n")
    wire += rng.choice((b"0", b"0", b"000", b"0;x=1")) + odd(b"\r\n", b"\n", b"")
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        trailer = rng.choice((b"X-Sum: 1", b"Y:2", b"Z:", b"A: b\r\n  folded", b"B: \xff"))
        wire += odd(trailer, b"no colon", b": no name", b" folded: 1", b"sp ace: 1", b"A\0: 1",
                    b"A: \0", b"A : 1", b"A: a\rb", b"A: \v", b"\xe9: 1", b"A: 1\n  ")
        wire += rng.choice((b"\r\n", b"\r\n", b"\r\n", b"\n"))
    return wire + odd(b"\r\n", b"\n", b"")


LENGTHS = (b"+5", b"-5", b"5_0", b"0x5", b"5.0", b"", b"5 5", b"5,6", b"5, 6", b"\xb2", b"f",
           b"9" * 21, b"5\v", b"5;", b"1e1", b",", b"5,")


def answer(rng: random.Random) -> bytes:
    """Return one answer: chunked, sized, until close, or with both lengths."""
    kind = rng.choice(("chunked", "chunked", "sized", "sized", "close", "both"))
    body = bytes(rng.choice(b"abc\r\n ") for _ in range(rng.choice((0, 1, 5, 50))))
    status = rng.choice((b"200",) * 8 + (b"204", b"304", b"400"))
    lines = [b"HTTP/1.1 %s OK" % status]
    if kind in ("sized", "both"):
        size = b"%d" % len(body)
        sound = (size, size, size, b"  %s\t" % size, b"0" + size, b"%s, %s" % (size, size))
        value = rng.choice(LENGTHS if rng.random() < 0.15 else sound)
        lines += [b"Content-Length: " + value]
        if rng.random() < 0.1:
            lines += [b"content-length: " + rng.choice((value, size, b"7"))]
    if kind in ("chunked", "both"):
        lines += [rng.choice((b"Transfer-Encoding: chunked", b"transfer-encoding:CHUNKED"))]
        body = chunked(rng)
    rng.shuffle(lines[1:])
    wire = b"\r\n".join([*lines, b"", b""]) + body
    if rng.random() < 0.15:
        wire += rng.choice((b"HTTP/1.1 200 OK\r\n\r\n", b"\r\n", b"x", b"0\r\n\r\n"))
    head = wire.index(b"\r\n\r\n") + 4
    return wire[:rng.randrange(head, len(wire) + 1)] if rng.random() < 0.15 else wire


def ends_alike(ours: Tuple[bytes, str, bytes], theirs: Tuple[bytes, str, bytes]) -> bool:
    """Say whether both read the same, except for the difference in the module's docstring."""
    if ours == theirs:
        return True
    if theirs[1] == WHOLE:
        return False
    if ours[1] == WHOLE:  # closed within the trailers
        return theirs[1] == CUT and ours[0] == theirs[0]
    # Both refuse it. If a line never ends, one reader waits for more and the other does not.
    return ours[0] == theirs[0]


def compare(seed: int, count: int) -> None:
    """Read ``count`` random answers, each cut at random, with both readers."""
    rng = random.Random(seed)
    ends = {WHOLE: 0, CUT: 0, REFUSED: 0}
    for number in range(count):
        wire = answer(rng)
        pieces = cut(wire, rng)
        ours, theirs = read_by_us(pieces), read_by_h11(pieces)
        ends[theirs[1]] += 1
        assert ends_alike(ours, theirs), (
            f"seed {seed}, answer {number}: {pieces!r}\nours   {ours}\ntheirs {theirs}")
    assert min(ends.values()) > count / 50, ends


def test_bodies_end_where_h11_ends_them() -> None:
    """Both find the same body, end and rest, and refuse the same input."""
    compare(20260, 2500)


@pytest.mark.long
def test_bodies_end_where_h11_ends_them_long() -> None:
    """The same with more answers, and another seed in each run."""
    compare(int(time.time()), 60_000)


# -- content -------------------------------------------------------------------------------


def inflate(coding: str, pieces: List[bytes], limit: int) -> Read:
    """Decode pieces with our inflater, at most ``limit`` bytes at once."""
    machine = decoder_for(coding)
    assert machine is not None
    got = b""
    try:
        for piece in pieces:
            part = machine.decode(piece, limit)
            got += part
            while machine.more:
                part = machine.decode(b"", limit)
                assert len(part) <= limit + 1032  # what one byte before a fault may give
                got += part
    except zlib.error:
        return got, REFUSED
    return got, WHOLE if machine.finish() is None else CUT


def inflate_whole(coding: str, data: bytes) -> Read:
    """Decode with zlib, a byte at a time, to learn what came before a fault."""
    got, raw, kinds = b"", coding == "deflate", (31,) if coding == "gzip" else (15, -15)
    if raw:  # with its wrapper or without: which of the two the first two bytes say
        wrapped = len(data) > 1 and data[0] & 15 == 8 and (data[0] * 256 + data[1]) % 31 == 0
        kinds = kinds[:1] if wrapped else kinds[1:]
    machine = zlib.decompressobj(kinds[0])
    begun, at = False, 0
    try:
        while at < len(data):
            if machine.eof:
                at += len(data[at:]) - len(data[at:].lstrip(b"\0"))
                if at == len(data):
                    break
                if raw:
                    return got, REFUSED
                machine = zlib.decompressobj(31)
            got, begun, at = got + machine.decompress(data[at:at + 1]), True, at + 1
    except zlib.error:
        return got, REFUSED
    return got, CUT if begun and not machine.eof else WHOLE


def compressed(rng: random.Random) -> Tuple[str, bytes]:
    """Return a coding and bytes in it; some are broken, cut or followed by more."""
    text = bytes(rng.choice(b"ab") for _ in range(rng.choice((0, 1, 20, 300))))
    text += b"z" * rng.choice((0, 0, 5000)) + rng.randbytes(rng.choice((0, 30)))
    kind = rng.choice(("gzip", "zlib", "raw"))
    if kind == "gzip":
        data = b"".join(gzip.compress(part, rng.randrange(10), mtime=0)
                        for part in (text, text[:9])[:rng.choice((1, 1, 2))])
        data += rng.choice((b"", b"", b"\0\0"))
    else:
        machine = zlib.compressobj(rng.randrange(10), wbits=15 if kind == "zlib" else -15)
        data = machine.compress(text)
        data += machine.flush(zlib.Z_SYNC_FLUSH) if rng.random() < 0.3 else b""
        data += machine.flush()
    chance = rng.random()
    if chance < 0.2:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]
    elif chance < 0.4:
        data = data[:rng.randrange(len(data))]
    elif chance < 0.5:
        data += rng.choice((b"x", b"\0x", b"\x1f\x8b"))
    return "gzip" if kind == "gzip" else "deflate", data


def test_inflater_gives_what_zlib_gives() -> None:
    """Cut anywhere, in bounded pieces: the same bytes as zlib on the whole, and the same end.

    Of broken data zlib gives nothing in the call that meets the fault: less than one match of 258
    bytes may then be missing before it, where a bounded piece ended in that match.
    """
    seed = 20261
    rng = random.Random(seed)
    ends = {WHOLE: 0, CUT: 0, REFUSED: 0}
    for number in range(800):
        coding, data = compressed(rng)
        pieces, limit = cut(data, rng), rng.choice((1, 7, 100, 65536))
        ours, theirs = inflate(coding, pieces, limit), inflate_whole(coding, data)
        ends[theirs[1]] += 1
        shown = f"seed {seed}, body {number}: {coding} {limit} {pieces!r}"
        if theirs[1] == REFUSED:
            assert theirs[0].startswith(ours[0]) and len(theirs[0]) < len(ours[0]) + 258, shown
        assert ours == theirs or (theirs[1] == ours[1] == REFUSED and limit < 1000), shown
    assert min(ends.values()) > 40, ends
