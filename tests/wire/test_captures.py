# SPDX-License-Identifier: MIT
"""What real providers sent, as recorded: each answer comes to what it must.

Content, reasoning, calls, finish and usage exactly, or one of the right errors; the same for
every cut; no message from a stream cut before its end. Captures of up to 4 KB run through the
whole pipeline cut, and cut short, at every byte: one position in eight always, the rest marked
``long``. Larger ones run at seeded samples, the parser alone at more. ``-s`` shows a table,
provider by provider. Skipped where the folder is absent.
"""

from __future__ import annotations

import copy
import random
import zlib
from collections import defaultdict
from functools import lru_cache, partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

import pytest

from streamcore.values.errors import LlmError
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions
from streamcore.wire.sse import SseEvent, SseParser

from decoded import Decoded
from support import (
    make_decoder,
    Outcome, Told, bytewise, capture_bytes, capture_rows, done_position, end_facts, event_end,
    event_facts, merge, random_cuts, read_events, run, sample, tell, two_ways,
)

ROWS = capture_rows()
SMALL = 4096  # bytes; up to there every position counts
STEP = 8  # one position in so many is tried in quick runs too
CUTS = 8  # positions a capture is cut and truncated at, through the whole pipeline
LARGE_CUTS = 40  # positions for the parser alone, above 4 KB

pytestmark = pytest.mark.skipif(not ROWS, reason="no recorded answers beside this checkout")


def is_document(body: bytes) -> bool:
    return body.lstrip().startswith(b"{")


def each(rows: List[Dict[str, Any]]) -> pytest.MarkDecorator:
    names = [row["file"].split("/")[-1][: -len(".sse")] for row in rows]
    return pytest.mark.parametrize("row", rows, ids=names)


each_capture = each(ROWS)
each_event_stream = each([row for row in ROWS if not is_document(capture_bytes(row))])
each_small_capture = each([row for row in ROWS if len(capture_bytes(row)) <= SMALL])

_passed: Dict[str, Dict[str, List[str]]] = defaultdict(lambda: defaultdict(list))


def seed_of(row: Dict[str, Any]) -> int:
    """A seed that is the capture's own, and the same in every run."""
    return zlib.crc32(row["file"].encode())


def note(row: Dict[str, Any], what: str) -> None:
    _passed[row["provider"]][what].append(row["file"])


@pytest.fixture(scope="module", autouse=True)
def table(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print, once all have run, what passed provider by provider (seen with ``-s``)."""
    yield
    columns = ("outcome", "cuts", "truncation")
    streams: Dict[str, int] = defaultdict(int)
    for row in ROWS:
        streams[row["provider"]] += 1
    print(f"\n{'provider':24}{'streams':>9}" + "".join(f"{name:>12}" for name in columns))
    for provider in sorted(streams):
        counts = [len(set(_passed[provider][name])) for name in columns]
        print(f"{provider:24}{streams[provider]:9}" + "".join(f"{count:12}" for count in counts))


def run_row(row: Dict[str, Any], pieces: Any) -> Outcome:
    return run(pieces, done_marker=row["done_marker"])


def count_of(report: Any, *path: str) -> Optional[int]:
    for name in path:
        report = report.get(name) if isinstance(report, dict) else None
    return report if isinstance(report, int) and report >= 0 else None


def first_of(*counts: Optional[int]) -> Optional[int]:
    return next((count for count in counts if count is not None), None)


def expected_usage(report: Optional[Dict[str, Any]]) -> Optional[Dict[str, int]]:
    """Normalise a provider's report by DESIGN.md §5, independently of the package."""
    if not report:
        return None
    prompt, completion = count_of(report, "prompt_tokens"), count_of(report, "completion_tokens")
    read = first_of(
        count_of(report, "prompt_tokens_details", "cached_tokens"),
        count_of(report, "prompt_cache_hit_tokens"),
        count_of(report, "cache_read_input_tokens"),
    )
    write = first_of(
        count_of(report, "prompt_tokens_details", "cache_write_tokens"),
        count_of(report, "cache_creation_input_tokens"),
    )
    reasoning = first_of(
        count_of(report, "completion_tokens_details", "reasoning_tokens"),
        count_of(report, "reasoning_tokens"),
    )
    cached = (read or 0) + (write or 0)
    fresh = prompt if prompt is None or prompt < cached else prompt - cached
    total = count_of(report, "total_tokens")
    if reasoning and None not in (total, prompt, completion):
        if total == prompt + completion + reasoning:  # type: ignore[operator]
            completion += reasoning  # type: ignore[operator]
    usage = {
        "input_tokens": fresh, "output_tokens": completion, "cache_read_tokens": read,
        "cache_write_tokens": write, "reasoning_tokens": reasoning,
    }
    return {name: count for name, count in usage.items() if count is not None}


def readable(arguments: Optional[str]) -> str:
    """Return a call's arguments; empty, blank and null ones are ``{}``."""
    blank = not arguments or arguments.strip() in ("", "null")
    return "{}" if blank else str(arguments)


@lru_cache(maxsize=None)
def ends(marker: str, body: bytes) -> int:
    """Where the stream is told: a cut before it must never give a message."""
    if marker == "required":
        return done_position(body)
    # With ``optional`` the first finish word proves the end, once its event has ended.
    events = read_events([body]).events
    words = [at for at, event in enumerate(events) if _has_finish_word(event.data)]
    return event_end(body, words[0]) if words else done_position(body)


def end_of(row: Dict[str, Any], body: bytes) -> int:
    """Return where a capture is told, a JSON document too, whose last blanks may go."""
    return len(body.rstrip()) if is_document(body) else ends(row["done_marker"], body)


def _has_finish_word(data: str) -> bool:
    return '"finish_reason":"' in data.replace(" ", "").replace('"finish_reason":""', "")


@each_capture
def test_capture_comes_to_what_it_must(row: Dict[str, Any]) -> None:
    """Content, reasoning, calls, finish and usage are exactly those recorded, or the error is."""
    outcome = run_row(row, capture_bytes(row))
    if "error" in row:
        assert outcome.code in row["error"], outcome
        note(row, "outcome")
        return
    message, wanted = outcome.message, row["message"]
    assert (message.text, message.reasoning) == (wanted["content"], wanted["reasoning"])
    assert message.finish == row["finish"]
    assert [(call.name, call.arguments) for call in message.tool_calls] == [
        (call["name"], readable(call["arguments"])) for call in wanted["tool_calls"]
    ]
    ids = [call.id for call in message.tool_calls]
    assert all(ids) and len(set(ids)) == len(ids)
    for got, sent in zip(ids, wanted["tool_calls"]):
        assert not sent["id"] or got == sent["id"] or sent["id"] in got.rsplit("_", 1)[0]
    usage = None if message.usage is None else message.usage.to_dict()
    assert (usage or row).pop("raw", None) == (row["usage"] if usage else None)
    assert usage == expected_usage(row["usage"])
    note(row, "outcome")


@each_capture
def test_capture_reads_the_same_however_it_is_cut(row: Dict[str, Any]) -> None:
    """Byte by byte, in two, and in random pieces, the chunks and the error stay the same."""
    body, marker = capture_bytes(row), row["done_marker"]
    chance = random.Random(seed_of(row))
    whole, told = run_row(row, body).told, tell([body], done_marker=marker)
    assert (merge(told.chunks), told.diagnostics) == whole[:2]
    assert run_row(row, bytewise(body)).told == whole
    for at, pieces in two_ways(body, chance.sample(range(len(body)), min(CUTS, len(body)))):
        assert tell(pieces, done_marker=marker).same(told), f"cut at {at}"
    for _ in range(3):
        assert tell(random_cuts(body, chance), done_marker=marker).same(told)
    note(row, "cuts")


@each_capture
def test_capture_cut_short_is_never_a_message(row: Dict[str, Any]) -> None:
    """Truncated before its proof of the end, near it and anywhere, a stream gives an error."""
    body, marker = capture_bytes(row), row["done_marker"]
    end, whole = end_of(row, body), tell([body], done_marker=marker).chunks
    chance = random.Random(seed_of(row))
    count = CUTS if len(body) < 40_000 else CUTS // 2
    cuts = {*range(max(0, end - count), end), *chance.sample(range(end), min(count, end))}
    for position in sorted(cuts):
        told = tell([body[:position]], done_marker=marker)
        assert told.failure is not None, f"a message from {position} of {len(body)} bytes"
        assert told.chunks == whole[: len(told.chunks)], f"cut short at {position}"
        assert not any(chunk.type == "block-end" for chunk in told.chunks)
    note(row, "truncation")


def positions(row: Dict[str, Any], size: int, quick: bool) -> List[int]:
    """Return one position in ``STEP``, other ones in each capture; or all that leaves out."""
    return [at for at in range(size + 1) if ((at + seed_of(row)) % STEP == 0) == quick]


def teller(row: Dict[str, Any], quick: bool) -> Callable[[Iterable[bytes]], Told]:
    """Each cut with a decoder of its own in quick runs; else those of the whole body's events."""
    if quick:
        return partial(tell, done_marker=row["done_marker"])
    return Decoded(capture_bytes(row), done_marker=row["done_marker"]).tell


def hold_when_cut(row: Dict[str, Any], quick: bool) -> None:
    body, tell_cut = capture_bytes(row), teller(row, quick)
    whole, told = run_row(row, body).told, tell_cut([body])
    assert (merge(told.chunks), told.diagnostics) == whole[:2]
    for at, pieces in two_ways(body, positions(row, len(body), quick)):
        assert tell_cut(pieces).same(told), f"cut at {at}"


def hold_when_cut_short(row: Dict[str, Any], quick: bool) -> None:
    body, tell_cut = capture_bytes(row), teller(row, quick)
    whole = tell_cut([body]).chunks
    for at in positions(row, end_of(row, body) - 1, quick):
        told = tell_cut([body[:at]])
        assert told.failure is not None, f"a message from {at} of {len(body)} bytes"
        assert told.chunks == whole[: len(told.chunks)], f"cut short at {at}"
        assert not any(chunk.type == "block-end" for chunk in told.chunks)


@each_small_capture
def test_small_capture_cut_in_two_reads_the_same(row: Dict[str, Any]) -> None:
    """The whole pipeline, cut at one byte in eight: the same chunks and the same error."""
    hold_when_cut(row, quick=True)


@each_small_capture
def test_small_capture_cut_short_gives_an_error(row: Dict[str, Any]) -> None:
    """The whole pipeline, cut short at one byte in eight: the first chunks, then an error."""
    hold_when_cut_short(row, quick=True)


@pytest.mark.long
@each_small_capture
def test_small_capture_cut_in_two_at_any_byte_reads_the_same(row: Dict[str, Any]) -> None:
    """The other seven in eight."""
    hold_when_cut(row, quick=False)


@pytest.mark.long
@each_small_capture
def test_small_capture_cut_short_at_any_byte_gives_an_error(row: Dict[str, Any]) -> None:
    """The other seven in eight."""
    hold_when_cut_short(row, quick=False)


@each_event_stream
def test_event_stream_holds_at_every_byte(row: Dict[str, Any]) -> None:
    """All positions up to 4 KB, a sample above: cut there, the events are the same; cut short
    there, the events so far are the first ones, and the decoder refuses the end."""
    body = capture_bytes(row)
    whole, end = read_events([body]), ends(row["done_marker"], body)
    told = list(map(event_facts, whole.events))
    truncation = Truncation(row)
    for position in sample(len(body), LARGE_CUTS, seed_of(row)):
        parser = SseParser()
        events = parser.feed(body[:position])
        assert list(map(event_facts, events)) == told[: len(events)], f"cut short at {position}"
        if position < end:
            assert truncation.refused(events, copy.copy(parser)), f"cut short at {position}"
        rest = parser.feed(body[position:])
        assert list(map(event_facts, rest)) == told[len(events):], f"cut at {position}"
        assert end_facts(parser.finish()) == whole.end, f"cut at {position}"


class Truncation:
    """One decoder that is told, position by position, that the body ended there."""

    def __init__(self, row: Dict[str, Any]) -> None:
        options = ChatCompletionsOptions(done_marker=row["done_marker"])
        self._decoder = make_decoder(options)
        self._pushed = 0
        self._failed = False  # the provider's own error: no later position gives a message

    def refused(self, events: List[SseEvent], parser: SseParser) -> bool:
        try:
            for event in events[self._pushed:]:
                self._pushed += 1
                self._failed = self._failed or not self._push(event)
            if not self._failed:
                self._decoder.finish(parser.finish())
        except LlmError:
            return True
        return self._failed

    def _push(self, event: SseEvent) -> bool:
        try:
            self._decoder.push(event)
        except LlmError:
            return False
        return True


def test_table_of_captures_covers_each_kind() -> None:
    """The folder holds messages and errors, both done markers, and many providers."""
    kinds: Tuple[int, ...] = (
        sum("message" in row for row in ROWS), sum("error" in row for row in ROWS),
        len({row["provider"] for row in ROWS}), len({row["done_marker"] for row in ROWS}),
    )
    assert kinds >= (1, 1, 1, 1)
