# SPDX-License-Identifier: MIT
"""The cases of scripts/soak.py: good answers in every framing, and every fault.

In: chance, for how good answers are written and cut. Out: ``Case`` values by name: an answer
of the loopback provider, and what has to become of it (DESIGN.md §6). ``{last_user}`` in a
text stands for the words of the call itself.
"""

from __future__ import annotations

import base64
import itertools
import random
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, Optional, Tuple

from streamcore.loopback import answer_bytes
from streamcore.values.limits import Limits

READ = ("complete", "on-chunk", "iterate", "message", "text")
LEAVE = ("break", "close", "raise", "on-chunk-raise", "abandon", "cycle")
STOP = ("cancel", "close-elsewhere")
ALL = READ * 3 + LEAVE + STOP
"""The ways to consume an answer; those that read to the end are drawn more often."""

TEXT = "You said {last_user} and grüße, 日本 and 😀 are the words that come back to you."


HEAD_OF_ANOTHER = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
CHUNKED_HEAD = HEAD_OF_ANOTHER[:-2] + "Transfer-Encoding: chunked\r\n\r\n"


def prompt_of(name: str, number: int, salt: int) -> str:
    """Return the words of one call; they have the same length for every call of a case."""
    return f"<{name}> {number:06}.{salt:08x}"


@dataclass(frozen=True)
class Case:
    """One kind of answer, and its expected outcome.

    ``code`` None is a message. ``text`` is the message's text, or what of it comes before the
    fault: all of it for an ``exact`` case, at most that otherwise; None: not looked at.
    ``holds`` says that the server never ends the connection itself.
    """

    answer: Dict[str, Any]
    code: Optional[str] = None
    text: Optional[str] = TEXT
    exact: bool = True
    clock: Optional[str] = None
    reasoning: str = ""
    tool_calls: Tuple[Tuple[str, str, str], ...] = ()
    limits: Limits = Limits()
    ways: Tuple[str, ...] = ALL
    holds: bool = False
    share: int = 2


def wire(chance: random.Random) -> Dict[str, Any]:
    """Draw how the events of a good answer are written and cut."""
    drawn: Dict[str, Any] = {"newline": chance.choice(("\n", "\n", "\r\n", "\r"))}
    drawn["pieces"] = chance.choice((None, None, 7, 100, 1000, [1, 2, 3, 500, 501]))
    coding = chance.choice((None, None, None, "gzip", "deflate"))
    if coding:
        drawn[coding] = chance.choice(("flush", "noflush"))
    if chance.random() < 0.2:
        drawn["bom"] = True
    return drawn


def good_cases(chance: random.Random) -> Iterator[Tuple[str, Case]]:
    """Yield the cases with a proven, whole answer."""
    whole = {"answer": {"text": TEXT, "usage": {"prompt_tokens": 3, "completion_tokens": 5}}}
    for framing in ("chunked", "close", "content-length", "http10"):
        yield framing, Case({"steps": [whole], "framing": framing, **wire(chance)}, share=20)
    yield "dripped chunk", Case({"steps": [whole], "chunk_dripped": True, **wire(chance)})
    yield "byte by byte", Case({"steps": [{"answer": {"text": "{last_user}"}}], "pieces": 1},
                               text="{last_user}")
    yield "paced", Case({"steps": [{"answer": {"text": TEXT, "every": 0.01}}]}, share=6)
    big = [{"text": "{last_user}"}, {"repeat": {"times": 60, "steps": [{"text": "x" * 4000}]}},
           {"finish": "stop"}, {"done": True}]
    yield "big", Case({"steps": big, **wire(chance)}, text="{last_user}" + "x" * 240000)
    yield "reasoning", Case({"steps": [{"answer": {"reasoning": "Well. ", "text": TEXT}}],
                             **wire(chance)}, reasoning="Well. ")
    heads = [{"tool_call": {"index": n, "id": f"c{n}", "name": "f"}} for n in (0, 1)]
    tails = [{"tool_call": {"index": n, "arguments": piece}}
             for piece in ('{"of"', ':"{last_user}', '"}') for n in (0, 1)]
    rest = [{"finish": "tool_calls"}, {"done": True}]
    yield "tool calls", Case(
        {"steps": [{"text": TEXT}, *heads, *tails, *rest], **wire(chance)},
        tool_calls=tuple((f"c{n}", "f", '{"of":"{last_user}"}') for n in (0, 1)), share=6)
    yield "max tokens", Case({"steps": [{"answer": {"text": TEXT, "finish": "length"}}]})
    told = {"message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
    yield "one document", Case({"json": {"choices": [told]}})
    pings = [{"comment": "ping"}, {"event": {"event": "ping", "data": ""}}]
    yield "pings between", Case({"steps": [*pings, {"text": TEXT}, *pings, {"finish": "stop"},
                                           *pings, {"done": True}], **wire(chance)})
    for name, ending in {
        "close said": {"announce_close": True}, "close unsaid": {"keep_alive": False},
        "keep-alive said": {"headers": {"Keep-Alive": "timeout=1"}, "close_idle_after": 0.02},
        "closed idle": {"close_idle_after": 0.02}, "reset idle": {"reset_idle_after": 0.02},
    }.items():
        yield name, Case({"steps": [whole], **ending, **wire(chance)}, share=4)
    for name, steps in {
        "then more": [{"text": "never"}, {"error": {"message": "never"}}],
        "then a reset": [{"sleep": 0.01}, {"reset": True}],
        "then a bad chunk": [{"chunk_size_bad": True}],
        "then a late end": [{"sleep": 0.02}],
    }.items():
        yield f"done, {name}", Case({"steps": [whole, *steps]})
    yield "bytes behind", Case(behind("bytes behind", whole))
    yield "done, then open", Case({"steps": [whole, {"stall": True}]}, holds=True, share=4)


def behind(name: str, whole: Dict[str, Any]) -> Dict[str, Any]:
    """Return an answer that announces its length, and then says more than that.

    All in one write: what comes later, when the next request is out, is its answer to anyone.
    """
    length = len(answer_bytes({"steps": [whole]}, prompt_of(name, 0, 0)))
    never = HEAD_OF_ANOTHER + answer_bytes({"steps": [{"answer": {"text": "never"}}]}).decode()
    return {"framing": "content-length", "headers": {"Content-Length": length},
            "pieces": 65536, "steps": [whole, {"raw": never}]}


def broken_cases() -> Iterator[Tuple[str, Case]]:
    """Yield the cases of a connection that breaks, and of broken HTTP."""
    cut = [{"text": TEXT}, {"close": True}, {"text": "never"}]
    for framing in ("chunked", "close", "content-length", "http10"):
        yield f"cut {framing}", Case({"steps": cut, "framing": framing}, "STREAM_CLOSED")
    for name, answer in {
        "cut gzip": {"steps": cut, "framing": "close", "gzip": "flush"},
        "cut after the finish": {"steps": [{"text": TEXT}, {"finish": "stop"}, {"close": True}]},
        "no done": {"steps": [{"text": TEXT}, {"finish": "stop"}]},
        "done without its end": {"steps": [{"text": TEXT}, {"finish": "stop"},
                                           {"raw": "data: [DONE]"}], "framing": "close"},
    }.items():
        yield name, Case(answer, "STREAM_CLOSED")
    torn = [{"text": TEXT}, {"sleep": 0.005}, {"reset": True}, {"text": "never"}]
    for framing in ("chunked", "close", "content-length"):
        yield f"reset {framing}", Case({"steps": torn, "framing": framing}, "TRANSPORT",
                                       exact=False)
    yield "bad chunk", Case({"steps": [{"text": TEXT}, {"chunk_size_bad": True}]}, "TRANSPORT")
    for name, answer in {
        "no head, closed": {"raw_head": "", "steps": [{"close": True}]},
        "no head, reset": {"raw_head": "", "steps": [{"reset": True}]},
        "no head, late close": {"raw_head": "", "steps": [{"sleep": 0.05}, {"close": True}]},
        "no head, late reset": {"raw_head": "", "steps": [{"sleep": 0.05}, {"reset": True}]},
        "half a head": {"raw_head": "HTTP/1.1 200 O", "steps": [{"close": True}]},
        "slam": {"slam": True},
        "odd length": {"headers": {"Content-Length": "+5"}, "framing": "close", "body": "hello"},
        "two lengths": {"headers": {"Content-Length": "5, 6"}, "framing": "close", "body": "hello"},
        "bad trailer": {"raw_head": CHUNKED_HEAD + "0\r\nno trailer\r\n\r\n",
                        "steps": [{"close": True}]},
    }.items():
        yield name, Case(answer, "TRANSPORT", "")
    nonsense = {"raw_head": "nonsense\r\n\r\n", "steps": [{"close": True}]}
    yield "nonsense head", Case(nonsense, "TRANSPORT", "")


def refused_cases() -> Iterator[Tuple[str, Case]]:
    """Yield the cases in which the provider refuses or fails."""
    error = {"error": {"message": "no", "type": "made_up"}}
    codes = {302: "HTTP_302", 400: "INVALID_REQUEST", 401: "AUTH", 402: "QUOTA", 403: "AUTH",
             404: "HTTP_404", 408: "TIMEOUT", 409: "HTTP_409", 413: "INVALID_REQUEST",
             418: "HTTP_418", 422: "INVALID_REQUEST", 429: "RATE_LIMIT", 500: "SERVER",
             503: "SERVER", 529: "SERVER"}
    for status, code in codes.items():
        answer = {"status": status, "json": error, "headers": {"Location": "/elsewhere"}}
        yield f"status {status}", Case(answer, code, "", share=1)
    for name, status, word, code in (
        ("quota", 429, "insufficient_quota", "QUOTA"),
        ("context", 400, "context_length_exceeded", "CONTEXT_WINDOW_EXCEEDED"),
        ("error document", 200, "insufficient_quota", "QUOTA"),
    ):
        body = {"error": {"message": "no", "code": word}}
        yield name, Case({"status": status, "json": body}, code, "")
    yield "status 204", Case({"status": 204}, "EMPTY_RESPONSE", "")
    page = "<html><title>Bad gateway</title></html>"
    yield "status with a page", Case({"status": 502, "body": page, "framing": "close"},
                                     "SERVER", "")
    yield "status, then silence", Case(
        {"status": 500, "steps": [{"raw": "{"}, {"stall": True}]}, "SERVER", "",
        limits=Limits(total_timeout=0.3), holds=True)
    yield "status, then a flood", Case(
        {"status": 500, "steps": [flood("x" * 4000)]}, "SERVER", "", holds=True)


def flood(text: str, step: str = "raw", every: float = 0.001) -> Dict[str, Any]:
    """Return a step that never ends."""
    return {"repeat": {"times": None, "every": every, "steps": [{step: text}]}}


def malformed_cases() -> Iterator[Tuple[str, Case]]:
    """Yield the cases of content that is malformed or too large."""
    bad_utf8 = b'data: {"choices":[{"index":0,"delta":{"content":"a\xff"}}]}\n\n'
    two = [{"index": n, "delta": {"content": "x"}} for n in (0, 1)]
    for name, step in {
        "bad JSON": {"raw": 'data: {"choices":[{\n\n'},
        "two answers": {"payload": {"choices": two}},
        "bad UTF-8": {"raw_base64": base64.b64encode(bad_utf8).decode("ascii")},
        "wrong type": {"payload": {"choices": 7}},
    }.items():
        yield name, Case({"steps": [{"text": TEXT}, step, {"done": True}]}, "MALFORMED_RESPONSE")
    yield "page", Case({"headers": {"Content-Type": "text/html"}, "framing": "close",
                        "body": "<html><title>Sign in</title></html>"}, "MALFORMED_RESPONSE", "")
    yield "bad gzip", Case({"steps": [{"text": TEXT}, {"text": "never"}], "gzip": "bad"},
                           "MALFORMED_RESPONSE")
    half = {"tool_call": {"index": 0, "id": "c1", "name": "f", "arguments": '{"a":'}}
    yield "half a call", Case({"steps": [{"text": TEXT}, half, {"finish": "tool_calls"},
                                         {"done": True}]}, "MALFORMED_TOOL_CALL")
    yield "error in the stream", Case(
        {"steps": [{"text": TEXT}, {"error": {"message": "Internal", "type": "server_error"}}]},
        "SERVER")
    yield "filtered", Case({"steps": [{"answer": {"text": TEXT, "finish": "content_filter"}}]},
                           "CONTENT_FILTER")
    yield "empty body", Case({"body": "", "framing": "content-length"}, "EMPTY_RESPONSE", "")
    yield "empty stop", Case({"steps": [{"finish": "stop"}, {"done": True}]},
                             "EMPTY_RESPONSE", "")
    short = Limits(max_stream_bytes=100_000)
    for name, coding in {"too long": {}, "too long, gzip": {"gzip": "flush"}}.items():
        yield name, Case({"steps": [flood("x" * 4000, "text", 0.0)], **coding},
                         "MALFORMED_RESPONSE", None, limits=short, holds=True)
    yield "event too long", Case({"steps": [{"raw": "data: "}, flood("a" * 4000, every=0.0)]},
                                 "MALFORMED_RESPONSE", "", holds=True)


def timed_cases() -> Iterator[Tuple[str, Case]]:
    """Yield the cases that only a clock or the caller ends."""
    pings = {"repeat": {"times": None, "every": 0.02, "steps": [{"comment": "ping"}]}}
    first, idle = Limits(first_byte_timeout=0.15), Limits(idle_timeout=0.15, first_byte_timeout=9)
    total = Limits(total_timeout=0.3)
    for name, answer, clock, limits in (
        ("no answer", {"no_answer": True}, "first-byte", first),
        ("no body", {"steps": [{"stall": True}]}, "first-byte", first),
        ("silence", {"steps": [{"text": TEXT}, {"stall": True}]}, "idle", idle),
        ("only pings", {"steps": [{"text": TEXT}, pings]}, "total", total),
        ("head drips", {"header_drip": 0.02, "steps": [{"stall": True}]}, "total", total),
    ):
        yield f"clock: {name}", Case(answer, "TIMEOUT", exact=False, clock=clock, limits=limits,
                                     holds=True)
    for name, answer, text, ways in (
        ("no answer", {"no_answer": True}, "", STOP),
        ("head drips", {"header_drip": 0.02, "steps": [{"stall": True}]}, "", STOP),
        ("status, then silence", {"status": 500, "steps": [{"stall": True}]}, "", STOP),
        ("silence", {"steps": [{"text": TEXT}, {"stall": True}]}, TEXT, STOP + LEAVE),
        ("pings", {"steps": [{"text": TEXT}, pings]}, TEXT, STOP + LEAVE),
        ("flood", {"steps": [flood("x" * 1000, "text")]}, None, STOP + LEAVE),
    ):
        yield f"endless: {name}", Case(answer, "ABORTED", text, exact=False, ways=ways,
                                       holds=True, share=4)


def all_cases(chance: random.Random) -> Dict[str, Case]:
    """Return the cases of one round by name, each answer made to be picked by its name."""
    groups = (good_cases(chance), broken_cases(), refused_cases(), malformed_cases(),
              timed_cases())
    cases: Dict[str, Case] = {}
    for name, case in itertools.chain(*groups):
        assert name not in cases, name
        when = {"contains": f"<{name}>"}
        cases[name] = replace(case, answer={**case.answer, "when": when})
    return cases
