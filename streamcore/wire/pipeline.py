# SPDX-License-Identifier: MIT
"""Body bytes in, chunks out: the pure pipeline, for any transport or for a file.

    byte pieces ─▶ what kind of body? ─▶ SseParser ─▶ decoder ─▶ chunks

The consumer pulls. A body that starts with ``{`` or ``[`` is read as a JSON document. A body
that starts with ``<`` or has no SSE field is refused. Everything a provider can send gives
chunks or an ``LlmError`` that carries what had arrived. A finish is yielded only when the end
of the answer is proven.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from ..values.chunks import StreamChunk
from ..values.errors import LlmError, Partial
from ..values.limits import Limits, ResolvedLimits, resolve_limits
from ..values.numbers import check_whole
from ..values.redaction import redact
from ..values.showing import shorten
from ..values.strictjson import mend_text, read_value
from .dialects import (
    Asked, Decoder, Dialect, DialectOptions, dialect_names, find_dialect, recognise,
)
from .sse import BOM, SseEvent, SseParser

_BLANKS = b" \t\r\n"
# Python's JSON reader makes a list of 56 bytes from two bytes "[]". No cancel can interrupt it.
_MOST_BRACKETS = 400_000
_SHOWN = 200  # characters that the error message shows of a body that is not a stream


def parse_stream(
    byte_pieces: Iterable[bytes],
    *,
    dialect: Union[str, Dialect] = "chat-completions",
    done_marker: str = "required",
    options: Optional[DialectOptions] = None,
    limits: Optional[Limits] = None,
    diagnostics: Optional[Dict[str, int]] = None,
    raw_events: Optional[List[SseEvent]] = None,
    json_loads: Optional[Callable[[str], Any]] = None,
    max_tokens: Optional[int] = None,
    after_tools: bool = False,
) -> Iterator[StreamChunk]:
    """Read one answer's body and yield its chunks as they come.

    Args:
        byte_pieces: the body, in pieces of any size.
        dialect: the wire dialect, or its name, such as ``chat-completions``.
        done_marker: ``required``, or ``optional`` where the provider leaves out the
            dialect's end marker, such as ``[DONE]`` in chat completions.
        options: options of the dialect. A field that is not given has its default.
        limits: the limits. Their sizes are used here and their clocks are not.
        diagnostics: a dict to count in, by name, what was skipped, repaired or dropped.
        raw_events: a list to append every event to, for debugging.
        json_loads: a faster parser of payloads, such as ``orjson.loads``. What it refuses is
            read again strictly. Tool arguments are always read by streamcore's own parser.
        max_tokens: the output cap of the request in tokens, 1 or more. An answer with exactly
            as many output tokens is counted. Under the option ``cut_as_complete`` it finishes
            as ``max-tokens``.
        after_tools: whether the request ended with tool results. If so, an answer may be empty.
    Returns: an iterator over the chunks.
    Raises:
        LlmError: while iterating, for every failure; ``partial`` has what had arrived.
        ValueError, TypeError: at once, for an unknown dialect or done marker, options of
            another dialect, or a cap that is not a whole number of 1 or more.
    """
    found, resolved = find_dialect(dialect), resolve_limits(limits)
    given: DialectOptions = DialectOptions(done_marker=done_marker)
    if options is not None:
        given = options.over(given)
    counters = {} if diagnostics is None else diagnostics
    chosen = given.over(found.options()).resolved()
    if max_tokens is not None:
        check_whole("max_tokens", max_tokens)
    asked = Asked(max_tokens, after_tools)
    decoder = found.make_decoder(chosen, resolved, counters, json_loads, asked)
    return iter_chunks(byte_pieces, found, decoder, resolved, raw_events=raw_events)


def iter_chunks(
    byte_pieces: Iterable[bytes],
    dialect: Dialect,
    decoder: Decoder,
    limits: ResolvedLimits,
    *,
    origin: Origin = str,
    raw_events: Optional[List[SseEvent]] = None,
) -> Iterator[StreamChunk]:
    """Run the pipeline with a decoder that is already made; see ``parse_stream``.

    Args:
        origin: returns words that say where the body came from. It is called only for the
            error message of a body that is empty or not a stream.
    ``byte_pieces`` is closed when the iteration ends, if it has a ``close``.
    """
    pieces = iter(byte_pieces)
    try:
        head, first = _first_bytes(pieces, limits.max_event_bytes)
        if not first:
            raise LlmError(f"the body is empty{origin()}", "EMPTY_RESPONSE", phase="body")
        if first == b"{" or first == b"[":
            whole = _limited(chain((head,), pieces), limits)
            yield from _document(_whole_text(whole), dialect, decoder)
            return
        if first == b"<":
            raise _no_stream(head, pieces, origin)
        parser = SseParser(limits.max_event_bytes)
        push: Push = decoder.push
        if raw_events is not None:
            push = _recording(push, raw_events)
        left = limits.max_stream_bytes
        unknown = True  # no payload was checked yet for being of another dialect
        for piece in chain((head,), pieces):
            left -= len(piece)
            if left < 0:
                piece = piece[:left]  # the bytes within the limit may hold the whole answer
            for event in parser.feed(piece):
                chunks = push(event)
                if chunks:
                    yield from chunks
                    if decoder.done:
                        return
                elif unknown and event.data:
                    unknown = False
                    _refuse_foreign(event.data, dialect)
            if parser.fault is not None:  # raised now, without waiting for the next bytes
                raise parser.fault
            if left < 0:
                raise _too_large("the body", "max_stream_bytes", limits.max_stream_bytes)
        yield from _finish(parser, decoder, origin)
    except LlmError as error:
        if error.partial == Partial():
            error.with_partial(decoder.partial())
        raise
    except RecursionError:  # the reader bounds the depth, but the caller's stack may be deep
        raise LlmError(
            "the answer nests too deeply for what is left of the caller's stack",
            "MALFORMED_RESPONSE",
            phase="body",
            partial=decoder.partial(),
        ) from None
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


Push = Callable[[SseEvent], List[StreamChunk]]
Origin = Callable[[], str]


def _document(text: str, dialect: Dialect, decoder: Decoder) -> List[StreamChunk]:
    try:
        return decoder.document(text)
    except LlmError as error:
        if error.code == "MALFORMED_RESPONSE":
            _refuse_foreign(text, dialect)
        raise


def _refuse_foreign(text: str, dialect: Dialect) -> None:
    """Refuse a body whose first JSON object belongs to another dialect."""
    try:
        payload, _ = read_value(text, text.index("{"))
    except (ValueError, StopIteration, RecursionError):  # no object begins here
        return
    found = recognise(payload)
    if found in (None, dialect.name):
        return
    how = f"name a provider that speaks it; parse_stream reads it with dialect={found!r}"
    if found not in dialect_names():
        how = f"this version cannot read it; use an endpoint that speaks {dialect.name}"
    raise LlmError(
        f"the body is in the dialect {found}, not {dialect.name}; {how}",
        "MALFORMED_RESPONSE",
        phase="body",
    )


def _finish(parser: SseParser, decoder: Decoder, origin: Origin) -> Iterator[StreamChunk]:
    end = parser.finish()
    if not end.fields:
        shown = " ".join([*end.strays, end.tail]).strip()
        if shown:
            raise _refuse(shown, origin)
    yield from decoder.finish(end)


def _recording(push: Push, raw_events: List[SseEvent]) -> Push:
    def push_and_keep(event: SseEvent) -> List[StreamChunk]:
        raw_events.append(event)
        return push(event)

    return push_and_keep


def _limited(pieces: Iterable[bytes], limits: ResolvedLimits) -> Iterator[bytes]:
    names = ("max_document_bytes", "max_stream_bytes")
    left, name = min((getattr(limits, name), name) for name in names)
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise _too_large("the JSON document", name, getattr(limits, name))
        yield piece


def _first_bytes(body: Iterator[bytes], limit: int) -> Tuple[bytes, bytes]:
    """Take pieces until they hold a byte after the BOM and blanks that may come first.

    Returns: the bytes taken, and that byte. Both are b"" if the body has no such byte.
    """
    head, at = bytearray(), 0
    for piece in body:
        head += piece
        if BOM.startswith(head[: len(BOM)]):
            if len(head) < len(BOM):
                continue
            at = max(at, len(BOM))
        while at < len(head) and head[at] in _BLANKS:
            at += 1
        if at > limit:  # blanks are kept, so that offsets in messages are right: bound them
            raise _too_large("the blank start of the body", "max_event_bytes", limit)
        if at < len(head):
            return bytes(head), bytes(head[at:at + 1])
    return b"", b""


def _too_large(what: str, setting: str, limit: int) -> LlmError:
    return LlmError(
        f"{what} is larger than {setting} ({limit} bytes)", "MALFORMED_RESPONSE", phase="body"
    )


def _whole_text(body: Iterable[bytes]) -> str:
    data = b"".join(body)
    if data.count(b"[") + data.count(b"{") > _MOST_BRACKETS:
        raise LlmError(
            f"the JSON document has more than {_MOST_BRACKETS} brackets", "MALFORMED_RESPONSE",
            phase="body",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        raise LlmError(
            f"the byte at offset {bad.start} of a JSON body is not UTF-8", "MALFORMED_RESPONSE",
            phase="body",
        ) from None


def _no_stream(head: bytes, body: Iterator[bytes], origin: Origin) -> LlmError:
    while len(head) < 4 * _SHOWN:
        piece = next(body, None)
        if piece is None:
            break
        head += piece
    return _refuse(head[: 4 * _SHOWN].decode("utf-8", "replace"), origin)


def _refuse(text: str, origin: Origin) -> LlmError:
    shown = shorten(redact(" ".join(mend_text(text).split())), _SHOWN)
    return LlmError(
        f"the body is not an event stream{origin()}; it begins with {shown!r}",
        "MALFORMED_RESPONSE",
        phase="body",
    )
