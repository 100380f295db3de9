# SPDX-License-Identifier: MIT
"""Feed made-up and damaged streams to the pipeline:  python3 scripts/fuzz.py [OPTION ...]

    --count N     bodies to try (default 2000)
    --seed N      seed of the first body (default: from the clock; it is printed)
    --kind NAME   only one kind: bytes, events, payloads, calls, streams, captures
    --exhaustive  instead, cut and truncate every recorded stream at every byte; takes minutes

Any bytes must give chunks or an LlmError, and nothing else. The result must be the same whole,
byte by byte and in random pieces, code and message included. The chunks must keep the grammar,
survive JSON, and have no half characters. If recorded streams are there, they are tried too. If
a body breaks a rule, its seed is printed and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support import (  # noqa: E402
    CAPTURES, DONE, STREAMS, Outcome, bytewise, capture_bytes, capture_rows, random_cuts, run,
)

from streamcore.values.chunks import chunk_from_dict  # noqa: E402
from streamcore.values.limits import Limits  # noqa: E402

WORDS = [
    "", " ", "a", "f", "get_weather", "日本", "😀", "\ud83d", "\ude00", "x\ud83d", "\ude00y",
    "<think>", "</think>", "<thi", "nk>", "\u2028", "\0", "null", "{}", '{"a":1}', '{"a"', ":1}",
    "}", "[DONE]", "error", "stop", "0", "-1", "c1",
]
FINISHES = [
    None, None, None, "", "stop", "STOP", "tool_calls", "function_call", "length", "eos_token",
    "content_filter", "error", "model_context_window_exceeded", "TIMEOUT", "HTTP_500", " ", 0,
    False, {}, ["stop"],
]
LIMITS = [
    *[None] * 16, Limits(max_event_bytes=120), Limits(max_stream_bytes=400),
    Limits(max_tool_calls=1), Limits(max_tool_argument_bytes=5),
]


class Chance(random.Random):
    """A seeded random generator, with the share of odd values in one body."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.oddness = self.choice((0.0, 0.1, 0.3, 1.0))


def odd(chance: Chance, depth: int = 2) -> Any:
    """Return an unexpected JSON value."""
    kinds: List[Callable[[], Any]] = [
        lambda: None, lambda: True, lambda: False, lambda: chance.choice((0, 1, -1, 2**70, 10**30)),
        lambda: chance.choice((0.0, 1.5, -0.0, 1e300, float("inf"), float("nan"))),
        lambda: chance.choice(WORDS), lambda: [], lambda: {},
    ]
    if depth:
        kinds.append(lambda: [odd(chance, depth - 1) for _ in range(chance.randint(1, 3))])
        kinds.append(lambda: {chance.choice(WORDS): odd(chance, depth - 1)})
        kinds.append(lambda: {"text": odd(chance, depth - 1), "type": chance.choice(
            ("text", "thinking", "reasoning", "reasoning.text", "reasoning.encrypted", "image"))})
    return chance.choice(kinds)()


def maybe(chance: Chance, usual: Any, share: float = 0.12) -> Any:
    """Return the usual value, or sometimes an odd value."""
    return odd(chance) if chance.random() < share * chance.oddness else usual


def some(chance: Chance, fields: Dict[str, Any], share: float) -> Dict[str, Any]:
    return {name: value for name, value in fields.items() if chance.random() < share}


def a_fragment(chance: Chance) -> Any:
    function = some(chance, {
        "name": maybe(chance, chance.choice(("f", "f", "g", "", " "))),
        "arguments": maybe(chance, chance.choice(
            ('{"a":1}', '{"a"', ":1}", "{}", "", " ", "null", "}", '"', "\\", '{"a":{"b":[]}}',
             {"a": 1}, {}, '{"é":"😀"}'))),
        "sig": maybe(chance, "s"),
    }, 0.7)
    return maybe(chance, some(chance, {
        "index": maybe(chance, chance.choice((0, 0, 0, 1, 2, "0", -1))),
        "id": maybe(chance, chance.choice(("c1", "c2", "", "c1_2"))),
        "type": "function", "function": maybe(chance, function, 0.05),
        "extra_content": maybe(chance, {"s": 1}),
    }, 0.75), 0.04)


def a_delta(chance: Chance, calls: float) -> Any:
    fields: Dict[str, Any] = {
        "role": maybe(chance, "assistant"), "content": maybe(chance, chance.choice(WORDS)),
        "reasoning_content": maybe(chance, chance.choice(WORDS)),
        "reasoning": maybe(chance, chance.choice(WORDS)),
        "refusal": maybe(chance, None), "reasoning_opaque": maybe(chance, "o"),
        "reasoning_details": maybe(chance, [odd(chance)]),
    }
    delta = some(chance, fields, 0.3)
    if chance.random() < calls:
        count = chance.choice((0, 1, 1, 1, 2))
        delta["tool_calls"] = maybe(chance, [a_fragment(chance) for _ in range(count)], 0.05)
    if chance.random() < 0.03:
        delta["function_call"] = maybe(chance, {"name": "f", "arguments": "{}"})
    return delta


def a_payload(chance: Chance, calls: float) -> Any:
    choice: Dict[str, Any] = {"index": maybe(chance, 0, 0.04), "delta": a_delta(chance, calls)}
    choice["delta"] = maybe(chance, choice["delta"], 0.04)
    if chance.random() < 0.5:
        words = FINISHES if chance.random() < 0.2 * chance.oddness else FINISHES[:3]
        choice["finish_reason"] = chance.choice(words)
    if chance.random() < 0.05:
        choice[chance.choice(("message", "usage", "error", "text"))] = odd(chance)
    payload: Dict[str, Any] = {"id": maybe(chance, "r1"), "model": maybe(chance, "m")}
    payload["choices"] = maybe(chance, [choice], 0.04)
    if chance.random() < 0.15:
        payload["usage"] = maybe(chance, {"prompt_tokens": odd(chance), "completion_tokens": 2})
    if chance.random() < 0.03:
        payload[chance.choice(("error", "object", "detail", "x_groq", "base_resp"))] = odd(chance)
    return maybe(chance, payload, 0.02)


def an_event(chance: Chance, data: bytes) -> bytes:
    end = chance.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r"))
    start = chance.choice((b"data: ", b"data: ", b"data:", b"event: x" + end + b"data: ", b": p"
                           + end + b"data: ", b"event: error" + end + b"data: ", b"junk" + end))
    if chance.random() < 0.9:
        start = b"data: "
    return start + data + end + end


def payload_body(chance: Chance, calls: float = 0.2) -> bytes:
    """Return a stream of odd payloads, most with a proper end."""
    parts = []
    for _ in range(chance.randint(0, 8)):
        text = json.dumps(a_payload(chance, calls), ensure_ascii=chance.random() < 0.7)
        parts.append(an_event(chance, text.encode("utf-8", "surrogatepass")))
    if chance.random() < 0.7:
        word = chance.choice(FINISHES if chance.random() < 0.5 else ("stop", "tool_calls"))
        choice = {"index": 0, "delta": {}, "finish_reason": word}
        parts.append(an_event(chance, json.dumps({"choices": [choice]}).encode()))
    if chance.random() < 0.8:
        parts.append(an_event(chance, b"[DONE]"))
    return b"".join(parts)


def call_body(chance: Chance) -> bytes:
    return payload_body(chance, 0.9)


def byte_body(chance: Chance) -> bytes:
    """Return random bytes, or random pieces that matter to the framing."""
    if chance.random() < 0.5:
        return bytes(chance.randrange(256) for _ in range(chance.randint(0, 60)))
    alphabet = [b"data: ", b"data:", b"\n", b"\n\n", b"\r", b"\xff", b"\xe6\x97", b"\xef\xbb\xbf",
                b"{", b"}", b"[DONE]", b"<", b" ", b":", b"id: 1", b"event: error", b"\0", b"[",
                b'{"choices":[{"message":{"content":"x"}}]}', b'{"error":"x"}', DONE]
    return b"".join(chance.choice(alphabet) for _ in range(chance.randint(0, 16)))


def event_body(chance: Chance) -> bytes:
    """Return good JSON texts, damaged and put into odd frames."""
    parts = []
    for _ in range(chance.randint(1, 6)):
        data = bytearray(json.dumps(a_payload(chance, 0.3)).encode())
        for _ in range(chance.choice((0, 0, 1, 2))):
            at = chance.randrange(len(data) + 1)
            data[at:at + chance.randint(0, 2)] = chance.choice(
                (b"", b"\n", b"\r", b'"', b"{", b"}", b",", b"\\", b"\xff", b"1e999", b"[" * 300))
        parts.append(an_event(chance, bytes(data)))
    return b"".join(parts) + DONE


def damaged(chance: Chance, body: bytes) -> bytes:
    """Return a real stream with a few changed bytes or events."""
    for _ in range(chance.randint(1, 3)):
        if chance.random() < 0.5:
            at = chance.randrange(len(body) + 1)
            put = bytes([chance.randrange(256)]) if chance.random() < 0.6 else b""
            body = body[:at] + put + body[at + chance.randint(0, 2):]
        else:
            blocks = body.split(b"\n\n")
            one, two = chance.randrange(len(blocks)), chance.randrange(len(blocks))
            if chance.random() < 0.5:
                blocks[one], blocks[two] = blocks[two], blocks[one]
            else:
                blocks.insert(one, blocks[two])
            body = b"\n\n".join(blocks)
    return body


def stream_body(chance: Chance) -> bytes:
    files = sorted(STREAMS.glob("*.sse"))
    return damaged(chance, chance.choice(files).read_bytes()) if files else b""


def capture_body(chance: Chance) -> bytes:
    files = sorted(path for path in (CAPTURES / "streams").glob("*.sse")
                   if path.stat().st_size < 30_000) if CAPTURES.is_dir() else []
    return damaged(chance, chance.choice(files).read_bytes()) if files else stream_body(chance)


KINDS: Dict[str, Callable[[Chance], bytes]] = {
    "bytes": byte_body, "events": event_body, "payloads": payload_body, "calls": call_body,
    "streams": stream_body, "captures": capture_body,
}


def check(outcome: Outcome) -> None:
    """Check the rules of an outcome; ``run`` has checked the grammar already."""
    for chunk in outcome.chunks:
        text = json.dumps(chunk.to_dict(), ensure_ascii=False)
        text.encode("utf-8")
        assert chunk_from_dict(json.loads(text)) == chunk, f"changed by JSON: {chunk}"
    if outcome.error is not None:
        json.dumps(outcome.error.failure.to_dict(), ensure_ascii=False).encode("utf-8")
        assert outcome.error.code and not outcome.error.failure.code.isspace()
        assert not any(chunk.type == "finish" for chunk in outcome.chunks)
        return
    for call in outcome.message.tool_calls:
        call.parsed()
    json.dumps(outcome.message.to_dict(), ensure_ascii=False).encode("utf-8")


def try_one(seed: int, kind: Optional[str] = None) -> Outcome:
    """Make one body and try it. Raises: AssertionError, or the exception of a bug."""
    chance = Chance(seed)
    name = kind or chance.choice(sorted(KINDS))
    body = KINDS[name](chance)
    options: Dict[str, Any] = {
        "done_marker": chance.choice(("required", "optional")),
        "think_tags": chance.random() < 0.3, "limits": chance.choice(LIMITS),
    }
    whole = run(body, **options)
    check(whole)
    ways = [random_cuts(body, chance)]
    if len(body) < 6000:
        ways.append(bytewise(body))
    for pieces in ways:
        told = run(pieces, **options).told
        assert told == whole.told, f"{pieces!r:.2000}\ngave {told}\nwhole {whole.told}"
    return whole


def exhaustive() -> int:
    """Cut every recorded stream in two, and truncate it, at every byte up to 4 KB."""
    rows = capture_rows()
    for number, row in enumerate(rows):
        body, marker = capture_bytes(row), row["done_marker"]
        step = max(1, len(body) // 4096)
        whole = run(body, done_marker=marker).told
        for at in range(0, len(body) + 1, step):
            told = run([body[:at], body[at:]], done_marker=marker).told
            assert told == whole, f"{row['file']} cut at {at}"
            run(body[:at], done_marker=marker)
        print(f"{number + 1:4} of {len(rows)}  {row['file']}", flush=True)
    return 0


def main(args: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kind", choices=sorted(KINDS))
    parser.add_argument("--exhaustive", action="store_true")
    given = parser.parse_args(args)
    if given.exhaustive:
        return exhaustive()
    print(f"seed {given.seed}, count {given.count}")
    codes: Dict[str, int] = {}
    for seed in range(given.seed, given.seed + given.count):
        try:
            outcome = try_one(seed, given.kind)
        except Exception:
            traceback.print_exc()
            kind = f" --kind {given.kind}" if given.kind else ""
            print(f"\nagain with: python3 scripts/fuzz.py --count 1 --seed {seed}{kind}")
            return 1
        code = outcome.code or "a message"
        codes[code] = codes.get(code, 0) + 1
    for code in sorted(codes, key=codes.__getitem__, reverse=True)[:12]:
        print(f"{codes[code]:7}  {code}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
