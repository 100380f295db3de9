# SPDX-License-Identifier: MIT
"""Framing and decoding without I/O: any cut of the bytes gives the same body and the same end."""

from __future__ import annotations

import gzip
import random
import zlib
from typing import List, Optional, Tuple

import pytest

from streamcore.transport.decoding import decoder_for
from streamcore.transport.framing import Chunked, Framing, Sized, UntilClose


def run(framing: Framing, pieces: List[bytes]) -> Tuple[bytes, str]:
    """Feed the pieces; return the body and the state at the end."""
    body = b""
    for number, piece in enumerate(pieces):
        body += framing.feed(piece)
        if framing.fault is not None:
            return body, "fault"
        if framing.done:
            return body, f"done+{framing.rest!r}" if number == len(pieces) - 1 else "done"
    missing = framing.finish()
    return body, "ended" if missing is None else "cut"


def chunk(data: bytes, extension: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n" % (len(data), extension, data)


END = b"0\r\n\r\n"


@pytest.mark.parametrize("wire, body, end", [
    (chunk(b"abc") + chunk(b"defg") + END, b"abcdefg", "done+b''"),
    (END, b"", "done+b''"),
    (chunk(b"a", b";name=value") + b"0;last\r\n\r\n", b"a", "done+b''"),
    (chunk(b"a") + b"0\r\nX-Trailer: 1\r\nY: 2\r\n\r\n", b"a", "done+b''"),
    (chunk(b"\r\n0\r\n\r\n") + END, b"\r\n0\r\n\r\n", "done+b''"),
    (b"A\r\n0123456789\r\n" + END, b"0123456789", "done+b''"),
    (b"0003\r\nabc\r\n000\r\n\r\n", b"abc", "done+b''"),
    (b"3 \r\nabc\r\n" + END, b"abc", "done+b''"),
    (chunk(b"abc") + END + b"HTTP/1.1 200", b"abc", "done+b'HTTP/1.1 200'"),
    (chunk(b"abc"), b"abc", "cut"),
    (chunk(b"abc") + b"5\r\nde", b"abcde", "cut"),
    (chunk(b"abc") + b"5", b"abc", "cut"),
    (b"", b"", "cut"),
    (chunk(b"abc") + b"0\r\n", b"abc", "ended"),
    (chunk(b"abc") + b"0\r\nX: 1\r\n", b"abc", "ended"),
    (chunk(b"abc") + b"ZZ\r\n", b"abc", "fault"),
    (chunk(b"abc") + b"\r\n", b"abc", "fault"),
    (chunk(b"abc") + b"-3\r\nabc\r\n", b"abc", "fault"),
    (chunk(b"abc") + b"0x3\r\nabc\r\n", b"abc", "fault"),
    (chunk(b"abc") + b"1_0\r\nabc\r\n", b"abc", "fault"),
    (chunk(b"abc") + b"f" * 21 + b"\r\nabc\r\n", b"abc", "fault"),
    (b"3\r\nabcd\r\n" + END, b"abc", "fault"),
    (b"3\r\nabcXX3\r\nabc\r\n" + END, b"abc", "fault"),
    (b"a" * 10000, b"", "fault"),
    (b"0\r\n" + (b"X: " + b"y" * 2000 + b"\r\n") * 34, b"", "fault"),
], ids=lambda value: repr(value)[:24])
def test_chunked_body_is_the_same_for_every_cut(wire: bytes, body: bytes, end: str) -> None:
    """Whole, byte by byte and at every two-way cut: same body, same end, same rest."""
    assert run(Chunked(), [wire]) == (body, end)
    kind = end.partition("+")[0]
    step = 1 if len(wire) < 20_000 else 97
    single = run(Chunked(), [wire[i:i + step] for i in range(0, len(wire), step)])
    assert (single[0], single[1].partition("+")[0]) == (body, kind)
    for cut in range(1, min(len(wire), 300)):
        got = run(Chunked(), [wire[:cut], wire[cut:]])
        assert (got[0], got[1].partition("+")[0]) == (body, kind), cut


def test_chunked_body_of_random_chunks_survives_random_cuts() -> None:
    """Thousands of chunks of many sizes, cut at random, give the right body."""
    seed = 20250101
    rng = random.Random(seed)
    sizes = [rng.choice((1, 2, 16, 250)) for _ in range(3000)]
    data = [bytes(rng.randrange(256) for _ in range(size)) for size in sizes]
    wire = b"".join(chunk(part) for part in data) + END
    for _ in range(5):
        cuts = sorted(rng.randrange(len(wire)) for _ in range(500))
        pieces = [wire[a:b] for a, b in zip([0] + cuts, cuts + [len(wire)])]
        framing = Chunked()
        assert b"".join(map(framing.feed, pieces)) == b"".join(data), f"seed {seed}"
        assert framing.done


@pytest.mark.parametrize("length, wire, expected", [
    (3, b"abc", (b"abc", "done+b''")),
    (3, b"abcd", (b"abc", "done+b'd'")),
    (3, b"ab", (b"ab", "cut")),
])
def test_sized_body_ends_at_its_length(
    length: int, wire: bytes, expected: Tuple[bytes, str]
) -> None:
    """Fewer bytes are a cut; more bytes do not belong to the body."""
    assert run(Sized(length), [wire]) == expected


def test_sized_body_of_nothing_is_done_at_once() -> None:
    """Content-Length: 0 needs no read."""
    assert Sized(0).done


def test_body_until_close_just_ends() -> None:
    """Nothing is missing, and the end is not proven."""
    framing = UntilClose()
    assert run(framing, [b"a", b"b"]) == (b"ab", "ended")
    assert not framing.done


PLAIN = b"data: " + b"x" * 5000 + b"\n\n" + bytes(range(256)) * 20


def raw_deflate(data: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return machine.compress(data) + machine.flush()


def decode(encoding: str, pieces: List[bytes], limit: int = 100) -> Tuple[bytes, Optional[str]]:
    """Decode the pieces as the reader does; return the output and what is missing."""
    machine = decoder_for(encoding)
    assert machine is not None
    out = b""
    for piece in pieces:
        part = machine.decode(piece, limit)
        out += part
        while machine.more:
            part = machine.decode(b"", limit)
            assert len(part) <= limit
            out += part
    return out, machine.finish()


def gz(data: bytes) -> bytes:
    """Return the data compressed, without a time in the header, so that it is always the same."""
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize("encoding, wire", [
    pytest.param("gzip", gz(PLAIN), id="gzip"),
    pytest.param("X-GZIP ", gz(PLAIN), id="x-gzip"),
    pytest.param("gzip", gz(PLAIN[:700]) + gz(PLAIN[700:]), id="two members"),
    pytest.param("gzip", gz(PLAIN) + b"\0" * 40, id="zeros after"),
    pytest.param("deflate", zlib.compress(PLAIN), id="zlib"),
    pytest.param("deflate", raw_deflate(PLAIN), id="raw deflate"),
])
def test_compressed_body_is_the_same_for_every_cut(encoding: str, wire: bytes) -> None:
    """Whole, byte by byte and at two-way cuts, in bounded pieces."""
    assert decode(encoding, [wire]) == (PLAIN, None)
    assert decode(encoding, [wire[i:i + 1] for i in range(len(wire))]) == (PLAIN, None)
    for cut in range(1, len(wire), 7):
        assert decode(encoding, [wire[:cut], wire[cut:]]) == (PLAIN, None)


@pytest.mark.parametrize("encoding, wire", [
    pytest.param("gzip", gz(PLAIN), id="gzip"),
    pytest.param("deflate", zlib.compress(PLAIN), id="zlib"),
    pytest.param("deflate", raw_deflate(PLAIN), id="raw deflate"),
])
def test_compressed_body_cut_anywhere_is_noticed(encoding: str, wire: bytes) -> None:
    """A body without the end of its compressed data is refused."""
    for length in range(1, len(wire) - 1, 3):
        assert decode(encoding, [wire[:length]])[1] is not None


def test_compressed_body_that_is_none_keeps_what_was_good() -> None:
    """The bytes before a fault come out, even if both were in one read."""
    machine = zlib.compressobj(wbits=31)
    good = machine.compress(b"good bytes") + machine.flush(zlib.Z_SYNC_FLUSH)
    decoder = decoder_for("gzip")
    assert decoder is not None
    assert decoder.decode(good + b"\xff" * 50, 1000) == b"good bytes"
    assert decoder.more
    with pytest.raises(zlib.error):
        decoder.decode(b"", 1000)


@pytest.mark.parametrize("encoding, wire", [("gzip", b"data: x\n\n"), ("deflate", b"data: x\n\n")])
def test_body_that_is_not_compressed_is_refused(encoding: str, wire: bytes) -> None:
    """A plain body with a compression header raises zlib.error."""
    decoder = decoder_for(encoding)
    assert decoder is not None
    with pytest.raises(zlib.error):
        decoder.decode(wire, 1000)


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_encoding_identity_needs_no_decoder(encoding: str) -> None:
    """For an uncompressed body there is no decoder."""
    assert decoder_for(encoding) is None


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_unknown_encoding_is_refused(encoding: str) -> None:
    """A body that cannot be decompressed is not passed on as text."""
    with pytest.raises(ValueError):
        decoder_for(encoding)
