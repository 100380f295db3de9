# SPDX-License-Identifier: MIT
"""SseParser: the WHATWG rules, however the bytes are cut, strict and linear.

``reference`` is the standard's algorithm, written out slowly on the whole body
(HTML, section 9.2.6); the parser must agree with it on thousands of made-up bodies.
"""

from __future__ import annotations

import random
import re
import time
import tracemalloc
from typing import Any, List, Optional, Tuple

import pytest

from streamcore.values.errors import LlmError
from streamcore.wire.sse import SseEvent, SseParser

from support import Events, bytewise, event_facts, random_cuts, read_events, two_ways

KB = 1024


def reference(body: bytes) -> Tuple[List[SseEvent], bool]:
    """Interpret a whole body as the standard says; also whether an event was left open.

    What the parser adds is not in here: bytes that are no UTF-8 are not for this function.
    """
    text = body.decode("utf-8")
    if text.startswith("\ufeff"):
        text = text[1:]
    *lines, rest = re.split("\r\n|\n|\r", text)
    events: List[SseEvent] = []
    data, event_type, last_id = "", "", ""
    retry: Optional[int] = None
    open_event = False
    for line in lines:
        if line == "":
            if data:
                events.append(SseEvent(data[:-1], event_type or "message", last_id, retry))
            data, event_type, retry, open_event = "", "", None, False
            continue
        if line.startswith(":"):
            continue
        field, _, value = line.partition(":")
        if value.startswith(" "):
            value = value[1:]
        open_event = open_event or field in ("data", "event", "id", "retry")
        if field == "event":
            event_type = value
        elif field == "data":
            data += value + "\n"
        elif field == "id" and "\0" not in value:
            last_id = value
        elif field == "retry" and value and all(c in "0123456789" for c in value):
            retry = int(value)
    return events, open_event or rest != ""


PIECES = [
    "data", "data:", "data: ", "data:  two", "data: x", "data:{\"a\":1}", "event", "event:",
    "event: ping", "event:error", "id", "id:", "id: 7", "id: 8\0", "retry: 10", "retry:",
    "retry: 1x", "retry: ٣", ":", ": ping", ":data: x", "dat", "data :x", " data: x", "DATA: x",
    "junk", "x: y", "\ufeff", "\0", "\u2028", "\u0085", "\x0b", "\x0c", "\x1c", "日本", "😀",
    "é", " ", "[DONE]", ":" * 3,
]
ENDS = ["\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\n\r", "\r\n\n", "\n\r\n", "", ""]


def made_up_body(chance: random.Random) -> bytes:
    """Make a short body of random line pieces and line ends."""
    parts = ["\ufeff"] if chance.random() < 0.1 else []
    for _ in range(chance.randint(0, 14)):
        parts += [chance.choice(PIECES), chance.choice(ENDS)]
    return "".join(parts).encode("utf-8")


def only_lf(chance: random.Random) -> bytes:
    """Make a body without CR and mostly of whole data events, as most providers send it."""
    parts = []
    for _ in range(chance.randint(0, 10)):
        line = chance.choice(PIECES) if chance.random() < 0.2 else "data: " + chance.choice(PIECES)
        parts += [line, chance.choice(("\n\n", "\n\n", "\n\n", "\n", "\n\n\n", ""))]
    return "".join(parts).encode("utf-8")


@pytest.mark.parametrize("make", [made_up_body, only_lf])
def test_events_equal_those_of_the_standard_on_made_up_bodies(make) -> None:
    """Whole, byte by byte and in random pieces, the events are the standard's."""
    for seed in range(3000):
        chance = random.Random(seed)
        body = make(chance)
        events, left_open = reference(body)
        whole = read_events([body])
        assert (whole.fault, whole.events) == (None, events), f"seed {seed}: {body!r}"
        # An empty body that is nothing but half a BOM is no text; all else ends as it should.
        assert whole.end is not None and whole.end[0] == left_open, f"seed {seed}: {body!r}"
        assert read_events(bytewise(body)) == whole, f"seed {seed}: {body!r}"
        assert read_events(random_cuts(body, chance)) == whole, f"seed {seed}: {body!r}"


def test_events_are_the_same_at_every_two_way_cut_of_made_up_bodies() -> None:
    """A cut between any two bytes changes neither events nor end."""
    for seed in range(250):
        body = made_up_body(random.Random(10_000 + seed))
        whole = read_events([body])
        for position, pieces in two_ways(body, range(len(body) + 1)):
            assert read_events(pieces) == whole, f"seed {seed} at {position}: {body!r}"


def test_any_bytes_give_the_same_for_every_way_of_cutting() -> None:
    """Random bytes, bad UTF-8 included: events, fault and end do not depend on the reads."""
    alphabet = [b"data: ", b"\n", b"\n\n", b"\r", b"\xff", b"\xe6\x97", b"\xa5", b"\xef\xbb\xbf",
                b"a", b":", b"id:", b"event:", b"\0", b"\xed\xa0\xbd", b"\xf0\x9f\x98\x80"]
    for seed in range(2000):
        chance = random.Random(seed)
        body = b"".join(chance.choice(alphabet) for _ in range(chance.randint(0, 25)))
        whole = read_events([body], 60)
        assert read_events(bytewise(body), 60) == whole, f"seed {seed}: {body!r}"
        assert read_events(random_cuts(body, chance), 60) == whole, f"seed {seed}: {body!r}"


def only_event(*pieces: bytes) -> SseEvent:
    found = read_events(pieces)
    assert len(found.events) == 1, found
    return found.events[0]


@pytest.mark.parametrize("body, expected", [
    (b"data: a\n\n", SseEvent("a")),
    (b"data:a\n\n", SseEvent("a")),
    (b"data:  a\n\n", SseEvent(" a")),
    (b"data: a \n\n", SseEvent("a ")),
    (b"data:\ta\n\n", SseEvent("\ta")),
    (b"data\n\n", SseEvent("")),
    (b"data:\n\n", SseEvent("")),
    (b"data\ndata\n\n", SseEvent("\n")),
    (b"data: a\ndata: b\n\n", SseEvent("a\nb")),
    (b"data: a\r\ndata: b\r\n\r\n", SseEvent("a\nb")),
    (b"data: a\rdata: b\r\r", SseEvent("a\nb")),
    (b"data: a\n\r\n", SseEvent("a")),
    (b"data: a\r\n\n", SseEvent("a")),
    (b"event: x\ndata: a\n\n", SseEvent("a", "x")),
    (b"event: x\nevent: y\ndata: a\n\n", SseEvent("a", "y")),
    (b"event: x\n\ndata: a\n\n", SseEvent("a")),
    (b"id: 7\n\ndata: a\n\n", SseEvent("a", id="7")),
    (b"id: 7\nid: 8\0\ndata: a\n\n", SseEvent("a", id="7")),
    (b"id: 7\nid\ndata: a\n\n", SseEvent("a")),
    (b"retry: 10\ndata: a\n\n", SseEvent("a", retry=10)),
    (b"retry: 10\n\ndata: a\n\n", SseEvent("a")),
    (b"retry: -1\ndata: a\n\n", SseEvent("a")),
    (b": comment\ndata: a\n: comment\n\n", SseEvent("a")),
    (b":\n:\n\ndata: a\n\n", SseEvent("a")),
    (b"unknown: x\nDATA: y\ndata: a\n\n", SseEvent("a")),
    (b"\xef\xbb\xbfdata: a\n\n", SseEvent("a")),
    (b"\xef\xbb\xbf\xef\xbb\xbfdata: b\ndata: a\n\n", SseEvent("a")),
    (b"data: \xef\xbb\xbfa\n\n", SseEvent("\ufeffa")),
    (b"data: a\0b\n\n", SseEvent("a\0b")),
    ("data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei\n\n".encode(),
     SseEvent("a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei")),
])
def test_field_is_read_as_the_standard_says(body: bytes, expected: SseEvent) -> None:
    """One event, whole and at every cut."""
    assert only_event(body) == expected
    assert only_event(*bytewise(body)) == expected
    for _, pieces in two_ways(body, range(len(body))):
        assert only_event(*pieces) == expected


def test_event_comes_with_the_byte_that_ends_its_blank_line() -> None:
    """Nothing is held back: a CR ends its line at once, an LF after it is swallowed."""
    parser = SseParser()
    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"\r") == [SseEvent("a")]
    assert parser.feed(b"\ndata: b\r\n\r") == [SseEvent("b")]
    assert parser.feed(b"\n") == []
    assert parser.feed(b"data: c\n") == []
    assert parser.feed(b"\n") == [SseEvent("c")]


def test_second_bom_and_late_bom_are_no_bom() -> None:
    """Only the first three bytes of a body can be a BOM."""
    assert read_events([b"\xef", b"\xbb", b"\xbfdata: a\n\n"]).events == [SseEvent("a")]
    assert read_events([b"\n\xef\xbb\xbfdata: a\n\n"]).events == []


def end_of(*pieces: bytes):
    parser = SseParser()
    for piece in pieces:
        parser.feed(piece)
    return parser.finish()


@pytest.mark.parametrize("body, truncated, data, tail", [
    (b"", False, "", ""),
    (b"data: a\n\n", False, "", ""),
    (b"data: a\n\n: ping\n", False, "", ""),
    (b"data: a\n", True, "a", "data: a"),
    (b"data: a", True, "a", "data: a"),
    (b"data: a\ndata: b", True, "a\nb", "data: a\ndata: b"),
    (b"data: [DONE]\r\n", True, "[DONE]", "data: [DONE]"),
    (b"data: a\n\nda", True, "", "da"),
    (b"data: a\n\nevent: x\n", True, "", ""),
    (b"data: a\n\n: pi", True, "", ": pi"),
    (b"data: \xe6\x97", True, "\ufffd", "data: \ufffd"),
    (b"\xef\xbb", True, "", "\ufffd"),
])
def test_tail_without_blank_line_is_truncation(
    body: bytes, truncated: bool, data: str, tail: str
) -> None:
    """``finish`` says that an event was open, and shows it as far as it goes."""
    for pieces in ([body], bytewise(body)):
        end = end_of(*pieces)
        assert (end.truncated, end.data, end.tail) == (truncated, data, tail)


def test_stray_lines_are_kept_to_be_shown() -> None:
    """Lines that are no field are told at the end, a few and short; blank ones say nothing."""
    end = end_of(b"data: a\n\nInternal Server Error\n  \n" + b"x" * 5000 + b"\n" + b"y\n" * 50)
    assert end.strays[0] == "Internal Server Error" and end.strays[1] == "x" * 200
    assert len(end.strays) == 8 and not end.truncated and end.fields
    assert not end_of(b"Not Found\n").fields
    assert not end_of(b"data: a\n\n \n\t\n").strays


def fault_of(body: bytes, limit: int = 256 * KB) -> Optional[str]:
    return read_events([body], limit).fault


@pytest.mark.parametrize("body, offset", [
    (b"data: a\xffb\n\n", 7),
    (b"\xef\xbb\xbfdata: a\xffb\n\n", 10),
    (b"data: ok\n\ndata: a\xff\n\n", 17),
    (b"data: a\ndata: b\r\ndata:\xff\n\n", 22),
    (b": ping\r\ndata: \xed\xa0\xbd\n\n", 14),
    (b"event: \xff\ndata: a\n\n", 7),
    (b"id:\xff\ndata: a\n\n", 3),
    ("data: 日".encode()[:-1] + b"\n\n", 6),
    (b"data: a\xc0\x80\n\n", 7),
])
def test_bytes_that_are_no_utf8_fail_with_their_offset(body: bytes, offset: int) -> None:
    """The offset counts from the body's first byte, for every cut."""
    for pieces in [[body], bytewise(body), *(cut for _, cut in two_ways(body, range(len(body))))]:
        fault = read_events(pieces).fault
        assert fault is not None and f"offset {offset} " in fault, pieces
        assert fault.startswith("MALFORMED_RESPONSE")


def test_bytes_that_are_no_utf8_in_comments_and_unknown_fields_are_not_read() -> None:
    """Bytes in comments and unknown fields are not checked."""
    assert only_event(b": \xff\nunknown\xff: x\ndata: a\n\n") == SseEvent("a")


def test_events_before_a_fault_are_handed_out_and_the_next_call_raises() -> None:
    """``feed`` returns the good events first; the fault is final."""
    parser = SseParser()
    assert parser.feed(b"data: a\n\ndata: b\n\ndata: \xff\n\ndata: c\n\n") == [
        SseEvent("a"), SseEvent("b"),
    ]
    for again in (lambda: parser.feed(b"data: d\n\n"), lambda: parser.feed(b""), parser.finish):
        with pytest.raises(LlmError) as caught:
            again()
        assert caught.value.code == "MALFORMED_RESPONSE"


def event_of(size: int, kind: str) -> bytes:
    """One event whose lines, without their ends, are ``size`` bytes."""
    if kind == "one line":
        return b"data: " + b"a" * (size - 6) + b"\n\n"
    if kind == "CRLF":
        return b"data: " + b"a" * (size - 6) + b"\r\n\r\n"
    if kind == "fields":
        return b"event: x\r\ndata: " + b"a" * (size - 8 - 6) + b"\r\n\r\n"
    if kind == "other field":
        return b"data: x\nid: " + b"a" * (size - 7 - 4) + b"\n\n"
    whole, rest = divmod(size, 100)
    lines = [b"data: " + b"a" * 94] * (whole - 1) + [b"data: " + b"a" * (94 + rest)]
    return b"\n".join(lines) + b"\n\n"


KINDS = ["one line", "CRLF", "many lines", "fields", "other field"]


@pytest.mark.parametrize("kind", KINDS)
def test_event_limit_is_exact_however_the_event_is_cut(kind: str) -> None:
    """n bytes pass and n+1 fail, for every cut of the event."""
    for size, passes in ((300, True), (301, False)):
        body = b"data: before\n\n" + event_of(size, kind) + b"data: after\n\n"
        whole = read_events([body], 300)
        assert (whole.fault is None) == passes, kind
        assert len(whole.events) == (3 if passes else 1)
        assert read_events(bytewise(body), 300) == whole
        for position, pieces in two_ways(body, range(len(body))):
            assert read_events(pieces, 300) == whole, f"cut at {position}"


@pytest.mark.parametrize("kind", KINDS)
def test_event_limit_at_its_default(kind: str) -> None:
    """255 and 256 KB pass, 257 KB do not; whole, in 1 KB and in odd pieces."""
    for size, passes in ((255 * KB, True), (256 * KB, True), (256 * KB + 1, False),
                         (257 * KB, False)):
        body = event_of(size, kind)
        for step in (len(body), KB, 4099):
            pieces = [body[at:at + step] for at in range(0, len(body), step)]
            found = read_events(pieces)
            assert (found.fault is None, len(found.events)) == (passes, int(passes))
    assert fault_of(event_of(257 * KB, kind)) == (
        "MALFORMED_RESPONSE: one event is larger than max_event_bytes (262144 bytes)"
    )


def test_event_limit_counts_the_event_and_not_the_read() -> None:
    """One read of 10 MB of whole events is fine."""
    body = event_of(100 * KB, "one line") * 100
    assert len(read_events([body]).events) == 100
    assert len(read_events([b": ping\n" * 100_000 + b"data: a\n\n"]).events) == 1


@pytest.mark.parametrize("endless", [b"a", b"data: a\n", b": ping", b"id: 1\n", b"junk"])
def test_endless_event_fails_soon_and_in_bounded_memory(endless: bytes) -> None:
    """A line, or an event, that never ends is refused soon after the limit."""
    parser = SseParser()
    piece = (endless * KB)[:KB]
    if not piece.endswith(b"\n"):
        piece = piece.rstrip(b"\n")
    fed = 0
    tracemalloc.start()
    try:
        with pytest.raises(LlmError):
            for _ in range(2000):
                fed += len(piece)
                parser.feed(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert fed < 400 * KB and peak < 40 * 256 * KB


def test_endless_last_line_counts_with_the_lines_before_it() -> None:
    """An event of many lines fails as soon as its open line takes it over the limit."""
    parser = SseParser()
    parser.feed((b"data: " + b"a" * 94 + b"\n") * 2600 + b"data: ")
    with pytest.raises(LlmError):
        for _ in range(10):
            parser.feed(b"a" * KB)


def quick(work, bound: float = 5.0) -> None:
    """Run ``work`` within a generous number of seconds: quadratic work takes minutes."""
    start = time.perf_counter()
    work()
    took = time.perf_counter() - start
    assert took < bound, f"{took:.1f} s"


@pytest.mark.parametrize("body, step, limit", [
    (event_of(250 * KB, "one line"), 1, 256 * KB),
    (event_of(250 * KB, "many lines"), 1, 256 * KB),
    (event_of(8 * KB * KB, "one line"), 150, 9 * KB * KB),
    (event_of(8 * KB * KB, "CRLF"), KB, 9 * KB * KB),
    (event_of(8 * KB * KB, "many lines"), KB, 9 * KB * KB),
    (b"data: x\n\n" * 60_000, 9 * 60_000, 256 * KB),
    (b"data: x\n\n" * 60_000, 7, 256 * KB),
    (b"data: x\r\n\r\n" * 60_000, 11 * 60_000, 256 * KB),
    (b"data\n" * 100_000 + b"\n", 500_001, KB * KB),
    (b"data\n" * 100_000 + b"\n", 4, KB * KB),
    (b"\r" * 500_000, 500_000, 256 * KB),
    (b"\r" * 200_000, 1, 256 * KB),
    (b"\n" * 500_000, 500_000, 256 * KB),
    (b"data: x\n" + b":\n" * 300_000 + b"\n", 3, 256 * KB),
    (b"junk\n" * 100_000, 3, 256 * KB),
    (b"data: x\n\n" + b"id: y\n\n" * 60_000, 5, 256 * KB),
], ids=lambda value: None if isinstance(value, bytes) else str(value))
def test_work_is_linear(body: bytes, step: int, limit: int) -> None:
    """Long lines in small reads, and many small lines in one read, take seconds at most."""
    pieces = [body[at:at + step] for at in range(0, len(body), step)]

    def work() -> None:
        found: Events = read_events(pieces, limit)
        assert found.fault is None

    quick(work)


def test_work_is_linear_when_each_read_ends_inside_a_line() -> None:
    """A read never pays for the reads before it."""
    body = (b"data: " + b"x" * 200 + b"\n\n") * 20_000
    pieces = [body[at:at + 37] for at in range(0, len(body), 37)]
    quick(lambda: read_events(pieces))


def test_event_and_its_repr_compare_by_value() -> None:
    """Equal events compare equal, and their repr shows their fields."""
    assert SseEvent("a", "x", "1", 2) == SseEvent("a", "x", "1", 2) != SseEvent("a")
    assert SseEvent("a") != "a" and "'a'" in repr(SseEvent("a"))


BLOCKS = [
    b"data: x\n\n", b"data: \xc3\xa9\n\n", b"data: \xff\n\n", b"data:y\n\n", b"data: \n\n",
    b": c\n\n", b"\n\n", b"data: a\ndata: b\n\n", b"data: z\r\n\r\n", b"event: e\ndata: 1\n\n",
    b"id: 7\ndata: 2\n\n", b"data: \r\n\n", b"stray\n\n", b"data: " + b"l" * 40 + b"\n\n",
    b"data: half", b" more\n\n", b"\n", b"data: 3\n", b"\xef\xbb\xbfdata: bom\n\n", b"stray",
]


def all_facts(pieces: List[bytes], max_event_bytes: int = 40) -> Tuple[Any, ...]:
    """Return everything a parser tells of a body, with the fields that equality ignores."""
    found = read_events(pieces, max_event_bytes)
    return [event_facts(event) for event in found.events], found.fault, found.end


@pytest.mark.parametrize("seed", range(10))
def test_nothing_that_is_said_depends_on_how_the_reads_are_cut(seed: int) -> None:
    """Read by event, whole, by byte and at random: events, their skipped lines, fault and end."""
    chance = random.Random(seed)
    for _ in range(300):
        pieces = [chance.choice(BLOCKS) for _ in range(chance.randint(1, 8))]
        body = b"".join(pieces)
        whole = all_facts([body])
        for cut in (pieces, bytewise(body), random_cuts(body, chance)):
            assert all_facts(cut) == whole, pieces


def test_lines_that_are_no_field_count_with_the_event_after_them() -> None:
    """Stray lines count with the next event, even after a blank line, for every cut."""
    pieces = [b"data: a\n\n", b"stray\n\n", b"stray\n", b"data: b\n\n", b"data: c\n\n"]
    for cut in (pieces, [b"".join(pieces)], bytewise(b"".join(pieces))):
        assert [event.skipped for event in read_events(cut).events] == [0, 2, 0]


@pytest.mark.parametrize("limit, error", [(0, ValueError), (None, TypeError), (True, TypeError)])
def test_limit_that_cannot_be_is_refused(limit: Any, error: Any) -> None:
    """It is refused when the parser is made, and named."""
    with pytest.raises(error, match="max_event_bytes"):
        SseParser(limit)
