# SPDX-License-Identifier: MIT
"""Recorded and hand-written streams with small, seeded harms: drop an event or a byte, repeat
or swap events, cut a fragment, null a field, change a type.

Whatever comes of it is chunks or an LlmError, keeps the grammar, and never holds a call whose
arguments differ from what the fragments of the harmed stream say. An oracle of its own joins
those fragments, without the package.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from functools import lru_cache
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest

from support import STREAMS, Outcome, capture_bytes, capture_rows, run

HARMS_EACH = 28  # a capture; the long run does ten times as many
LARGE = 40_000  # bytes; larger ones get a quarter

Body = Tuple[str, bytes, str]  # name, body, done marker


def bodies() -> List[Body]:
    found = [(row["file"].split("/")[-1], capture_bytes(row), row["done_marker"])
             for row in capture_rows()]
    # Of our own, those whose framing the oracle can read; alone where there are no recorded ones.
    return found + our_own("calls-*.sse") + our_own("text-*.sse") + our_own("usage-*.sse")


def our_own(pattern: str) -> List[Body]:
    paths = sorted(STREAMS.glob(pattern))
    return [(path.name, path.read_bytes(), "required") for path in paths]


BODIES = bodies()

_GAP = re.compile(rb"(\r\n\r\n|\n\n|\r\r)")


def blocks_of(body: bytes) -> List[bytes]:
    """Split a body at its blank lines, each block with the blank line that ends it."""
    parts = _GAP.split(body)
    return [text + gap for text, gap in zip(parts[::2], [*parts[1::2], b""]) if text + gap]


def payload_of(block: bytes) -> Any:
    """The JSON object of a block of one data line, or None."""
    text = block.strip()
    if not text.startswith(b"data:"):
        return None
    try:
        value = json.loads(text[5:])
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def written(payload: Any) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def drop_event(chance: random.Random, body: bytes) -> bytes:
    blocks = blocks_of(body)
    del blocks[chance.randrange(len(blocks))]
    return b"".join(blocks)


def drop_byte(chance: random.Random, body: bytes) -> bytes:
    at = chance.randrange(len(body))
    return body[:at] + body[at + 1:]


def repeat_event(chance: random.Random, body: bytes) -> bytes:
    blocks = blocks_of(body)
    at = chance.randrange(len(blocks))
    return b"".join(blocks[:at + 1] + blocks[at:])


def swap_events(chance: random.Random, body: bytes) -> bytes:
    blocks = blocks_of(body)
    one, two = chance.randrange(len(blocks)), chance.randrange(len(blocks))
    blocks[one], blocks[two] = blocks[two], blocks[one]
    return b"".join(blocks)


def places(value: Any, path: Tuple[Any, ...] = ()) -> List[Tuple[Any, ...]]:
    """The paths of everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())
    found = [path] if path else []
    for key, item in inner:
        found += places(item, (*path, key))
    return found


def change(
    chance: random.Random, body: bytes, wanted: Callable[[Tuple[Any, ...], Any], bool],
    new: Callable[[Any], Any],
) -> bytes:
    """Replace one value somewhere in one payload."""
    blocks = blocks_of(body)
    for at in chance.sample(range(len(blocks)), min(len(blocks), 12)):
        payload = payload_of(blocks[at])
        paths = [p for p in places(payload) if wanted(p, get(payload, p))] if payload else []
        if paths:
            *way, last = chance.choice(paths)
            get(payload, way)[last] = new(get(payload, (*way, last)))
            blocks[at] = written(payload)
            break
    return b"".join(blocks)


def get(value: Any, path: Any) -> Any:
    for key in path:
        value = value[key]
    return value


def cut_fragment(chance: random.Random, body: bytes) -> bytes:
    return change(
        chance, body, lambda path, value: isinstance(value, str) and len(value) > 1
        and path[-1] in ("arguments", "content", "name", "id"),
        lambda value: value[:chance.randrange(len(value))],
    )


def null_field(chance: random.Random, body: bytes) -> bytes:
    return change(chance, body, lambda path, value: value is not None, lambda value: None)


OTHERS = [0, 1, -1, 1.5, True, False, "", "x", [], {}, ["x"], {"a": 1}, 10**40]


def change_type(chance: random.Random, body: bytes) -> bytes:
    return change(
        chance, body, lambda path, value: True,
        lambda value: chance.choice([o for o in OTHERS if type(o) is not type(value)]),
    )


HARMS = [
    drop_event, drop_byte, repeat_event, swap_events, cut_fragment, null_field, change_type,
]


class Fragment(NamedTuple):
    index: Any
    id: str
    name: str
    text: str


def choices_of(body: bytes) -> Iterator[Dict[str, Any]]:
    """Every choice of a stream, or of a document in its place, in order; up to [DONE]."""
    texts = [body] if body.lstrip().startswith(b"{") else [
        data_of(block) for block in re.split(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n", body)
    ]
    for text in texts:
        if text.strip() == b"[DONE]":
            return
        yield from choices_in(text)


@lru_cache(maxsize=4096)
def data_of(block: bytes) -> bytes:
    """The data of one block, its lines joined."""
    lines = re.split(rb"\r\n|\n|\r", block)
    return b"\n".join(line[5:] for line in lines if line[:5] == b"data:")


@lru_cache(maxsize=4096)  # a harm leaves nearly all as it is
def choices_in(text: bytes) -> List[Dict[str, Any]]:
    """The choices of one payload; they are only looked at."""
    try:
        payload = json.loads(text)
    except ValueError:
        return []
    choices = payload.get("choices") if isinstance(payload, dict) else None
    return [c for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []


def fragments_of(body: bytes) -> List[Fragment]:
    """Every tool-call fragment of a stream, in order."""
    found: List[Fragment] = []
    for choice in choices_of(body):
        for delta in (choice.get("delta"), choice.get("message")):
            if isinstance(delta, dict):
                found += map(fragment_of, delta_calls(delta))
    return found


def text_of(body: bytes) -> Optional[str]:
    """The text of a stream of plain deltas; None where parts, refusals or messages make it more."""
    found = []
    for choice in choices_of(body):
        delta = choice.get("delta")
        if choice.get("message") or not isinstance(delta, (dict, type(None))):
            return None
        content = (delta or {}).get("content")
        if (delta or {}).get("extra_content"):
            return None
        if (delta or {}).get("refusal") or not isinstance(content, (str, type(None))):
            return None
        found.append(content or "")
    return mended("".join(found))


def delta_calls(delta: Dict[str, Any]) -> List[Dict[str, Any]]:
    calls = delta.get("tool_calls")
    calls = [calls] if isinstance(calls, dict) else calls
    calls = [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
    return calls + ([{"function": delta["function_call"]}] if delta.get("function_call") else [])


def fragment_of(sent: Dict[str, Any]) -> Fragment:
    function = sent.get("function") if isinstance(sent.get("function"), dict) else {}
    assert isinstance(function, dict)
    index, id, name = sent.get("index"), sent.get("id"), function.get("name")
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else (
        json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else "")
    if isinstance(index, str) and index.strip().lstrip("-").isdigit():
        index = int(index)
    return Fragment(index, id if isinstance(id, str) else "",
                    name if isinstance(name, str) else "", text)


def possible_texts(fragments: List[Fragment]) -> List[str]:
    """What the fragments say when joined by index, by index and id, and by id."""
    by_index: Dict[Any, str] = {}
    by_both: Dict[Any, str] = {}
    last_index: Any = None
    last_id: Dict[Any, str] = {}
    home: Dict[str, Any] = {}  # where an id was first seen
    for number, one in enumerate(fragments):
        index = one.index
        if index is None and one.id:
            index = home.get(one.id, ("id", one.id))
        elif index is None:
            index = ("name", number) if one.name and last_index is None else last_index
        if one.id:
            home.setdefault(one.id, index)
            last_id[index] = one.id
        last_index = index
        by_index[index] = by_index.get(index, "") + one.text
        key = (index, last_id.get(index))
        by_both[key] = by_both.get(key, "") + one.text
    return [*by_index.values(), *by_both.values()]


def mended(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def check_calls(outcome: Outcome, body: bytes) -> None:
    """Every call's arguments, name and id stand in the fragments."""
    if outcome.error is not None or not outcome.message.tool_calls:
        return
    fragments = fragments_of(body)
    texts = [mended(text) for text in possible_texts(fragments)]
    ids = {one.id for one in fragments}
    for call in outcome.message.tool_calls:
        assert call.name in {one.name for one in fragments}
        assert call.id in ids or re.fullmatch(r"call_\d+(_\d+)?|.+_\d+", call.id)
        assert call.arguments == "{}" or any(call.arguments in text for text in texts), (
            call, texts)
        assert call.parsed() is not None
    said = sum(len(one.text) for one in fragments)
    assert sum(len(c.arguments) for c in outcome.message.tool_calls if c.arguments != "{}") <= said


def check_text(outcome: Outcome, body: bytes) -> None:
    """No text is lost, invented or put in another order; an error's partial text is its start."""
    text = text_of(body)
    if text is None:
        return
    if outcome.error is None:
        assert outcome.message.text == text
    else:
        # a half character waits for its other half
        assert text.startswith(outcome.error.partial.text.rstrip("\ufffd"))


def try_harms(body: Body, count: int, salt: str) -> None:
    name, data, marker = body
    for number in range(count if len(data) < LARGE else max(1, count // 4)):
        seed = zlib.crc32(f"{salt} {name} {number}".encode())
        chance = random.Random(seed)
        harm = HARMS[number % len(HARMS)]
        harmed = harm(chance, data)
        if chance.random() < 0.2 and harmed:
            harmed = chance.choice(HARMS)(chance, harmed)
        outcome = run(harmed, done_marker=marker)
        try:
            check_calls(outcome, harmed)
            check_text(outcome, harmed)
        except AssertionError as wrong:
            raise AssertionError(f"{harm.__name__}, number {number}: {wrong}") from wrong
        if marker == "required" and b"[DONE]" not in harmed and not _is_document(harmed):
            assert outcome.error is not None, f"{harm.__name__}, number {number}: no [DONE]"


def _is_document(body: bytes) -> bool:
    return body.lstrip().startswith(b"{")


each_body = pytest.mark.parametrize(
    "body", [body for body in BODIES if body[1]], ids=[body[0] for body in BODIES if body[1]]
)


@each_body
def test_harmed_stream_gives_chunks_or_an_error_and_no_call_of_its_own_making(body: Body) -> None:
    """Seeded harms: nothing raised but LlmError, the grammar kept, no call the stream lacks."""
    try_harms(body, HARMS_EACH, "short")


@pytest.mark.long
def test_harmed_streams_with_calls_many_times_over() -> None:
    """Streams with tool calls, each with forty harms more."""
    for body in BODIES:
        if b"tool_calls" in body[1] and len(body[1]) < 20_000:
            try_harms(body, 40, "long")


@pytest.mark.parametrize("body, calls", [
    (b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":'
     b'{"name":"f","arguments":"{\\"x\\":"}}]}}]}\n\ndata: {"choices":[{"delta":{"tool_calls":'
     b'[{"index":0,"function":{"arguments":"1}"}}]}}]}\n\ndata: [DONE]\n\n', ['{"x":1}']),
])
def test_oracle_reads_fragments_by_itself(body: bytes, calls: List[str]) -> None:
    """The oracle joins what is there, and refuses a call that is not."""
    assert possible_texts(fragments_of(body))[0] == calls[0]
    check_calls(run(body), body)
    other = body.replace(b"1}", b"2}")
    with pytest.raises(AssertionError):
        check_calls(run(other), body)


def test_harms_change_a_stream_and_nothing_else() -> None:
    """Each harm makes another body, from the same seed always the same."""
    body: Optional[bytes] = next((b for n, b, _ in BODIES if n == "calls-interleaved.sse"), None)
    assert body is not None
    for harm in HARMS:
        made = [harm(random.Random(seed), body) for seed in range(8)]
        assert made == [harm(random.Random(seed), body) for seed in range(8)]
        assert any(one != body for one in made), harm.__name__
