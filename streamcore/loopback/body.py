# SPDX-License-Identifier: MIT
"""Makes the bytes of an answer: compression, cutting, framing, and the head.

In: an ``Answer`` and the last user text of the request. Out: ``Reply``: the bytes of the
head, and the operations of the body, with every byte compressed, cut and framed.
Nothing is refused here. Framing: RFC 9112; an answer may break it if its script says so.
"""

from __future__ import annotations

import bisect
import http
import zlib
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from .ops import EMIT, PAUSE, WIRE, Op
from .script import Answer

_Header = Tuple[str, Tuple[str, ...]]

_BODILESS = (204, 304)
_WIDEST_WRITE = 65536
_GARBAGE = b"\xff" * 16  # starts with a deflate block of the reserved type


class Reply(NamedTuple):
    """An answer ready to be sent: the head, then operations without any EMIT."""

    head: bytes
    ops: Iterable[Op]


def build_reply(answer: Answer, last_user: str = "") -> Reply:
    """Return the head and the body operations of an answer."""
    if answer.status in _BODILESS:
        return Reply(_head(answer, None), ())
    ops = cut(encode(answer.ops(last_user), answer), answer.pieces)
    length = None
    if answer.framing == "content-length" or answer.chunk_dripped:
        listed = list(ops)
        ops = iter(listed)
        length = sum(len(op.data) for op in listed if op.kind == EMIT)
    ops = _spaced(ops, answer.every)
    return Reply(_head(answer, length), _framed(ops, answer, length))


def encode(ops: Iterable[Op], answer: Answer) -> Iterator[Op]:
    """Yield the operations with the bytes of the body compressed as the answer says."""
    mode = answer.gzip or answer.deflate
    if mode is None:
        yield from ops
        return
    packer = zlib.compressobj(wbits=31 if answer.gzip else 15)
    broken = False
    for op in ops:
        if op.kind != EMIT:
            yield op
        elif broken:
            yield Op(EMIT, _GARBAGE)
        else:
            data = packer.compress(op.data)
            if mode != "noflush":
                data += packer.flush(zlib.Z_SYNC_FLUSH)
            broken = mode == "bad"
            yield Op(EMIT, data)
    yield Op(EMIT, _GARBAGE if mode == "bad" else packer.flush())


def cut(ops: Iterable[Op], pieces: Union[None, int, Tuple[int, ...]]) -> Iterator[Op]:
    """Yield the bytes of the body in other pieces: n bytes each, or cut at offsets.

    The bytes before a pause are all written before it.
    """
    if pieces is None:
        yield from ops
        return
    held = bytearray()
    offset = 0
    for op in ops:
        if op.kind == EMIT:
            held += op.data
        size = _next_size(pieces, offset)
        while len(held) >= size:
            yield Op(EMIT, bytes(held[:size]))
            del held[:size]
            offset += size
            size = _next_size(pieces, offset)
        if op.kind != EMIT:
            if held:
                yield Op(EMIT, bytes(held))
                offset += len(held)
                held.clear()
            yield op
    if held:
        yield Op(EMIT, bytes(held))


def _next_size(pieces: Union[int, Tuple[int, ...]], offset: int) -> int:
    if isinstance(pieces, int):
        return pieces
    place = bisect.bisect_right(pieces, offset)
    return pieces[place] - offset if place < len(pieces) else _WIDEST_WRITE


def _spaced(ops: Iterable[Op], every: float) -> Iterator[Op]:
    """Yield the operations, with a pause added between every two writes that have none."""
    after_write = False
    for op in ops:
        if op.kind == EMIT and after_write and every:
            yield Op(PAUSE, seconds=every)
        after_write = op.kind == EMIT
        yield op


def _framed(ops: Iterable[Op], answer: Answer, length: Optional[int]) -> Iterator[Op]:
    chunked = answer.framing == "chunked"
    if answer.chunk_dripped and length:
        yield Op(WIRE, b"%x\r\n" % length)
    for op in ops:
        if op.kind != EMIT:
            yield op
        elif op.data:  # an empty chunk would end the body
            own_chunk = chunked and not answer.chunk_dripped
            yield Op(WIRE, b"%x\r\n%s\r\n" % (len(op.data), op.data) if own_chunk else op.data)
    if answer.chunk_dripped and length:
        yield Op(WIRE, b"\r\n")
    if chunked:
        yield Op(WIRE, b"0\r\n\r\n")


def _head(answer: Answer, length: Optional[int]) -> bytes:
    if answer.raw_head is not None:
        return answer.raw_head.encode("latin-1")
    version = "1.0" if answer.framing == "http10" else "1.1"
    lines = [f"HTTP/{version} {answer.status} {_reason(answer)}".rstrip()]
    headers = _default_headers(answer, length)
    for name, values in answer.headers.items():
        headers.pop(name.lower(), None)
        if values is not None:
            headers[name.lower()] = (name, values)
    for name, values in headers.values():
        lines.extend(f"{name}: {value}" for value in values)
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _reason(answer: Answer) -> str:
    if answer.reason is not None:
        return answer.reason
    try:
        return http.HTTPStatus(answer.status).phrase
    except ValueError:  # a status that HTTP has no phrase for, such as 529
        return "Unknown"


def _default_headers(answer: Answer, length: Optional[int]) -> Dict[str, _Header]:
    headers: List[Tuple[str, str]] = []
    if answer.status not in _BODILESS:
        as_json = any("json" in step for step in answer.steps)
        headers.append(("Content-Type", "application/json" if as_json else "text/event-stream"))
        if answer.framing == "chunked":
            headers.append(("Transfer-Encoding", "chunked"))
        elif answer.framing == "content-length":
            headers.append(("Content-Length", str(length)))
        if answer.gzip or answer.deflate:
            headers.append(("Content-Encoding", "gzip" if answer.gzip else "deflate"))
    if answer.framing != "http10":
        ends = answer.framing == "close" or answer.announce_close
        headers.append(("Connection", "close" if ends else "keep-alive"))
    return {name.lower(): (name, (value,)) for name, value in headers}
