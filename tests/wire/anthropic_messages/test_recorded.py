# SPDX-License-Identifier: MIT
"""Each recorded stream in ../shared/captures/anthropic gives the answer that its row names.

Blocks, calls, finish, usage and signatures are exactly those of the row, or the error is one
that the row allows. The result is the same for every cut. A stream cut before its
``message_stop`` never gives a message. A stream that a test has damaged gives a message or an
error, and no call that its events do not hold. The tests are skipped if the folder is absent.
"""

from __future__ import annotations

import hashlib
import json
import random
import zlib
from typing import Any, Dict, Iterable, List, Set, Tuple

import pytest

from streamcore.values.frozen import thaw
from streamcore.values.messages import Block, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall

from anthropic_support import body_of, recorded_content, rows, run, tell
from support import Outcome, bytewise, merge, random_cuts, read_events, two_ways

ROWS = rows()
SMALL = 4096  # bytes; a stream up to this size is tested at every position
CUTS, TRUNCATIONS = 6, 8  # seeded positions per stream in a quick run
HARMS_EACH = 7

pytestmark = pytest.mark.skipif(not ROWS, reason="no ../shared/captures beside this checkout")
each_row = pytest.mark.parametrize(
    "row", ROWS, ids=[row["file"].split("/")[-1][: -len(".sse")] for row in ROWS]
)


def chance_of(row: Dict[str, Any], salt: str = "") -> random.Random:
    return random.Random(zlib.crc32((row["file"] + salt).encode()))


def end_of(body: bytes) -> int:
    """Return the position after ``message_stop`` and its blank line."""
    at = body.rindex(b'"message_stop"')
    return body.index(b"\n\n", at) + 2


EMPTY = ({"type": "text", "text": ""}, {"type": "thinking", "thinking": ""})


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sent_back(block: Block) -> Dict[str, Any]:
    """Return a block in Anthropic's own form, without empty fields."""
    extras: Any = getattr(block, "extras", None) or {}
    if isinstance(block, TextBlock):
        shown = {"type": "text", "text": block.text}
    elif isinstance(block, ReasoningBlock):
        shown = {"type": "thinking", "thinking": block.text}
    elif isinstance(block, ToolCall):
        shown = {"type": "tool_use", "id": block.id, "name": block.name, "input": block.parsed()}
    else:
        assert isinstance(block, OpaqueBlock)
        return thaw(block.part)  # type: ignore[no-any-return]
    return {**shown, **thaw(extras)}


def telling(block: Dict[str, Any]) -> Dict[str, Any]:
    """Return a recorded block without empty fields."""
    if block["type"] not in ("text", "thinking", "tool_use"):
        return block
    kept = {k: v for k, v in block.items() if v or k in ("text", "thinking", "input")}
    return {"input": {}, **kept} if block["type"] == "tool_use" else kept


@each_row
def test_recorded_stream_comes_to_its_row(row: Dict[str, Any]) -> None:
    """Text, thinking, calls, finish and usage are those of the row, or the error is allowed."""
    outcome = run(body_of(row))
    wanted, counts = row["message"], row["usage"]
    if "error" in row:
        assert outcome.code in row["error"], outcome.error
        assert outcome.error is not None
        partial = outcome.error.partial
        assert (partial.text, partial.reasoning) == (wanted["content"], wanted["reasoning"])
        return
    message = outcome.message
    assert (message.text, message.reasoning) == (wanted["content"], wanted["reasoning"])
    assert message.finish == row["finish"]
    assert [(c.id, c.name, c.arguments) for c in message.tool_calls] == [
        (c["id"], c["name"], c["arguments"] or "{}") for c in wanted["tool_calls"]
    ]
    told = message.usage.to_dict() if message.usage else {}
    assert {name: told.get(name) for name in counts} == counts


@each_row
def test_recorded_blocks_keep_their_order_and_what_only_the_provider_reads(
    row: Dict[str, Any]
) -> None:
    """Each block keeps its place and, byte for byte, its signature, data and citations."""
    if "error" in row:
        return
    told = [sent_back(block) for block in run(body_of(row)).message.content]
    wanted = [telling(block) for block in recorded_content(body_of(row))]
    assert told == [one for one in wanted if one not in EMPTY]
    signed = [b["signature"] for b in row["opaque"].get("blocks", []) if "signature" in b]
    got = [b["signature"] for b in told if "signature" in b]
    assert [{"len": len(one), "h": sha(one)} for one in got] == signed


@each_row
def test_recorded_stream_reads_the_same_however_it_is_cut(row: Dict[str, Any]) -> None:
    """The chunks and the error do not depend on how the bytes are cut into pieces."""
    body, chance = body_of(row), chance_of(row)
    hold_when_cut(body, chance.sample(range(len(body)), CUTS))
    whole = tell([body])
    for _ in range(2):
        assert tell(random_cuts(body, chance)).same(whole)


@each_row
def test_recorded_stream_cut_short_is_never_a_message(row: Dict[str, Any]) -> None:
    """Before ``message_stop`` is complete there is no finish and no block-end, only an error."""
    if "error" in row:
        return
    body, chance = body_of(row), chance_of(row)
    end = end_of(body)
    events = [at + 2 for at in range(end - 2) if body.startswith(b"\n\n", at)]
    near = {*range(max(0, end - 4), end), *chance.sample(range(end), TRUNCATIONS)}
    hold_when_cut_short(body, {*near, *chance.sample(events, min(TRUNCATIONS, len(events)))})


def hold_when_cut(body: bytes, positions: Iterable[int]) -> None:
    whole = tell([body])
    assert tell(bytewise(body)).same(whole)
    for at, pieces in two_ways(body, positions):
        assert tell(pieces).same(whole), f"cut at {at}"


def hold_when_cut_short(body: bytes, positions: Iterable[int]) -> None:
    whole = tell([body]).chunks
    for at in positions:
        told = tell([body[:at]])
        assert told.failure is not None, f"a message from {at} of {len(body)} bytes"
        assert merge(told.chunks) == merge(whole[: len(told.chunks)]), f"cut short at {at}"
        assert not any(chunk.type == "block-end" for chunk in told.chunks)


@pytest.mark.long
@each_row
def test_recorded_stream_holds_at_many_more_positions(row: Dict[str, Any]) -> None:
    """Cut and truncate at every position of a small stream, at 200 seeded ones of a large one."""
    body, chance = body_of(row), chance_of(row, "long")
    small = len(body) <= SMALL
    hold_when_cut(body, range(len(body)) if small else chance.sample(range(len(body)), 40))
    if "error" not in row:
        end = end_of(body)
        hold_when_cut_short(body, range(end) if small else chance.sample(range(end), 200))


# Harms.


def drop(chance: random.Random, events: List[bytes]) -> None:
    del events[chance.randrange(len(events))]


def repeat(chance: random.Random, events: List[bytes]) -> None:
    at = chance.randrange(len(events))
    events.insert(at, events[at])


def swap(chance: random.Random, events: List[bytes]) -> None:
    one, two = chance.randrange(len(events)), chance.randrange(len(events))
    events[one], events[two] = events[two], events[one]


def drop_byte(chance: random.Random, events: List[bytes]) -> None:
    at = chance.randrange(len(events))
    cut = chance.randrange(len(events[at]))
    events[at] = events[at][:cut] + events[at][cut + 1:]


def rewrite(chance: random.Random, events: List[bytes], new: Any) -> None:
    """Replace one value somewhere in one payload."""
    at = chance.randrange(len(events))
    head, found, data = events[at].partition(b"data: ")
    if not found or data.strip() == b"[DONE]":
        return
    payload = json.loads(data)
    holder, key = chance.choice(places(payload))
    holder[key] = new(chance, holder[key])
    events[at] = head + b"data: " + json.dumps(payload).encode() + b"\n\n"


def places(value: Any) -> List[Tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())
    found: List[Tuple[Any, Any]] = []
    for key, item in items:
        found += [(value, key), *places(item)]
    return found


OTHERS = [0, 1, -1, 1.5, True, False, "", "x", [], {}, ["x"], {"a": 1}, 10**40]


def null_field(chance: random.Random, events: List[bytes]) -> None:
    rewrite(chance, events, lambda chance, value: None)


def change_type(chance: random.Random, events: List[bytes]) -> None:
    rewrite(chance, events, lambda chance, value: chance.choice(
        [other for other in OTHERS if type(other) is not type(value)]))


def cut_text(chance: random.Random, events: List[bytes]) -> None:
    rewrite(chance, events, lambda chance, value: value[: len(value) // 2]
            if isinstance(value, str) else value)


HARMS = [drop, repeat, swap, drop_byte, null_field, change_type, cut_text]


def check_calls(outcome: Outcome, body: bytes) -> None:
    """Check, without the decoder, that the events hold each call's name, id and arguments."""
    names: Set[Any] = set()
    ids: Set[Any] = set()
    inputs: Dict[Any, str] = {}
    for event in read_events([body]).events:
        try:
            payload = json.loads(event.data)
        except ValueError:
            continue
        if not isinstance(payload, dict):
            continue
        delta, index = payload.get("delta"), str(payload.get("index"))
        piece = delta.get("partial_json") if isinstance(delta, dict) else None
        inputs[index] = inputs.get(index, "") + (piece if isinstance(piece, str) else "")
        message = payload.get("message")
        starts = [payload.get("content_block")]
        starts += (message.get("content") or []) if isinstance(message, dict) else []
        for block in starts:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                names.add(block.get("name"))
                ids.add(block.get("id"))
                key = f"start {len(inputs)}"
                inputs[key] = json.dumps(block.get("input"), ensure_ascii=False)
    for call in outcome.message.tool_calls:
        assert call.name in names
        assert call.id in ids or call.id.startswith("call_") or call.id.rsplit("_", 1)[0] in ids
        assert call.arguments == "{}" or call.arguments in inputs.values(), call


def try_harms(row: Dict[str, Any], count: int, salt: str) -> None:
    body = body_of(row)
    for number in range(count):
        chance = chance_of(row, f"{salt} {number}")
        events = [part + b"\n\n" for part in body.split(b"\n\n") if part.strip()]
        harm = HARMS[number % len(HARMS)]
        harm(chance, events)
        harmed = b"".join(events)
        outcome = run(harmed)
        where = f"{harm.__name__}, number {number}"
        if outcome.error is None:
            check_calls(outcome, harmed)
            assert b"message_stop" in harmed, where


@each_row
def test_harmed_stream_gives_a_message_or_an_error_and_no_call_nobody_sent(
    row: Dict[str, Any]
) -> None:
    """After one harm of each kind, only LlmError is raised and no call is invented."""
    try_harms(row, HARMS_EACH, "quick")


@pytest.mark.long
@each_row
def test_stream_harmed_many_times_over(row: Dict[str, Any]) -> None:
    """The same holds for ten harms of each kind, fewer for a large stream."""
    try_harms(row, 70 if len(body_of(row)) < 40_000 else 18, "long")


def test_oracle_refuses_a_call_that_is_not_there() -> None:
    """The check fails for a call that the events do not hold."""
    row = next(row for row in ROWS if row["message"]["tool_calls"])
    outcome = run(body_of(row))
    name = row["message"]["tool_calls"][0]["name"].encode()
    with pytest.raises(AssertionError):
        check_calls(outcome, body_of(row).replace(b'"' + name + b'"', b'"another"'))
