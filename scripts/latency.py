# SPDX-License-Identifier: MIT
"""Measure how soon things happen:  python3 scripts/latency.py [--count N] [--json FILE] [-k WORD]

Against the loopback provider, plain, over TLS: how long after the event a cancel is seen, in
each phase; how far from its time each clock fires; how long after it was sent a frame is
handed on, in each framing. Each line is p50, p99 and the most of N tries (20), in ms.
The promises: cancel and clocks within 250 ms, a frame within 50 ms (design.md §7).
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from streamcore.errors import LlmError  # noqa: E402
from streamcore.limits import Limits, ResolvedLimits, resolve_limits  # noqa: E402
from streamcore.loopback import LoopbackServer  # noqa: E402
from streamcore.transport import Transport  # noqa: E402

TLS = ROOT / "tests" / "tls"
CA, SERVER_FILES = str(TLS / "ca.pem"), (str(TLS / "server.pem"), str(TLS / "server.key"))
BIG = b"x" * (16 << 20)  # more than the buffers of both sides take
CANCEL_AFTER = 0.2  # seconds, and up to a tenth more, spread over the tries
CLOCK = 0.3  # seconds
FRAMES = 10

SILENT: Dict[str, Any] = {"no_answer": True}
STALLED: Dict[str, Any] = {"steps": [{"raw": "abc"}, {"stall": True}]}
HEAD_DRIP: Dict[str, Any] = {"header_drip": 0.05, "body": "x"}
DRIP: Dict[str, Any] = {"steps": [{"raw": "abc"}, {"repeat": {
    "times": None, "every": 0.02, "steps": [{"comment": "ping"}]}}]}
FLOOD: Dict[str, Any] = {"steps": [{"repeat": {
    "times": None, "every": 0, "steps": [{"raw": "x" * 4000}]}}]}
DEAF: Dict[str, Any] = {"read_request": False, "drain_after": 0.5}

PHASES = {"no headers": SILENT, "dripped headers": HEAD_DRIP, "silent body": STALLED,
          "dripped body": DRIP, "flood": FLOOD, "unread request": DEAF}
CLOCKS = {"first-byte, silent": ("first_byte_timeout", SILENT),
          "first-byte, dripped headers": ("first_byte_timeout", HEAD_DRIP),
          "idle, silent body": ("idle_timeout", STALLED),
          "idle, unread request": ("idle_timeout", DEAF),
          "total, silent": ("total_timeout", SILENT),
          "total, dripped headers": ("total_timeout", HEAD_DRIP),
          "total, dripped body": ("total_timeout", DRIP)}
FRAMINGS: Dict[str, Dict[str, Any]] = {
    "chunked": {}, "one dripped chunk": {"chunk_dripped": True}, "close": {"framing": "close"},
    "content-length": {"framing": "content-length"}, "HTTP/1.0": {"framing": "http10"},
    "gzip, flushed": {"gzip": "flush"}}


def clocks(**given: Any) -> ResolvedLimits:
    """Return limits with every clock off but connect and the given ones."""
    off: Dict[str, Any] = {"first_byte_timeout": None, "idle_timeout": None,
                           "total_timeout": None, "max_stream_bytes": 1 << 40}
    return resolve_limits(Limits(connect_timeout=10.0, **{**off, **given}))


def end_of(transport: Transport, server: LoopbackServer, answer: Any, **given: Any) -> str:
    """Make one call to its end; return the code it ends with."""
    body = BIG if answer is DEAF else b"{}"
    try:
        for _piece in transport.open(server.base_url, {}, body, **given).pieces():
            pass
    except LlmError as error:
        return error.code
    return "end"


def cancels(transport: Transport, answer: Any, tls: Any, count: int) -> List[float]:
    """Return the seconds from setting the event to the end of the call."""
    delays = []
    for number in range(count):
        with LoopbackServer([answer], tls=tls) as server:
            cancel = threading.Event()
            at: List[float] = []

            def stop() -> None:
                at.append(time.monotonic())
                cancel.set()

            timer = threading.Timer(CANCEL_AFTER + 0.1 * number / count, stop)
            timer.start()
            code = end_of(transport, server, answer, limits=clocks(), cancel=cancel)
            delays.append(time.monotonic() - at[0])
            timer.join()
            assert code == "ABORTED", code
    return delays


def firings(
    transport: Transport, setting: str, answer: Any, tls: Any, count: int
) -> List[float]:
    """Return the seconds between a clock's time and the end of the call."""
    late = []
    for _ in range(count):
        with LoopbackServer([answer], tls=tls) as server:
            started = time.monotonic()
            code = end_of(transport, server, answer, limits=clocks(**{setting: CLOCK}))
            late.append(time.monotonic() - started - CLOCK)
            assert code == "TIMEOUT", code
    return late


def deliveries(transport: Transport, framing: Any, tls: Any, count: int) -> List[float]:
    """Return the seconds each frame took beyond the server's pace; the first sets the pace.

    Server and client share one interpreter here, so its switches of threads are in the figure.
    """
    steps: List[Dict[str, Any]] = []
    for number in range(FRAMES):
        steps += [{"raw": f"data: {number:030}\n\n"}, {"sleep": 0.03}]
    delays = []
    with LoopbackServer([{**framing, "steps": steps}], tls=tls) as server:
        for _ in range(count):
            seen, got = [], b""
            for piece in transport.open(server.base_url, {}, b"{}", limits=clocks()).pieces():
                got += piece
                seen += [time.monotonic()] * (got.count(b"\n\n") - len(seen))
            pace = [b - a - 0.03 for a, b in zip(seen, seen[1:])]
            delays += [max(0.0, delay) for delay in pace]
    return delays


def rows(count: int, word: str) -> Iterator[Tuple[str, List[float]]]:
    """Yield the name and the seconds of each measurement that ``word`` is in."""
    measures: List[Tuple[str, Callable[[Transport, Any], List[float]]]] = []
    for name, answer in PHASES.items():
        measures.append((f"cancel: {name}", lambda t, tls, a=answer: cancels(t, a, tls, count)))
    for name, (setting, answer) in CLOCKS.items():
        measures.append((f"clock: {name}", lambda t, tls, s=setting, a=answer:
                         firings(t, s, a, tls, count)))
    for name, framing in FRAMINGS.items():
        measures.append((f"delivery: {name}", lambda t, tls, f=framing:
                         deliveries(t, f, tls, max(1, count // 4))))
    for tls in (None, SERVER_FILES):
        transport = Transport(verify=CA)
        for name, measure in measures:
            full = f"{name}{', TLS' if tls else ''}"
            if word in full:
                yield full, measure(transport, tls)
        transport.close()


def summary(seconds: List[float]) -> Dict[str, float]:
    """Return p50, p99 and the most, in ms."""
    ordered = sorted(seconds)
    at = {"p50": len(ordered) // 2, "p99": int(len(ordered) * 0.99), "max": len(ordered) - 1}
    return {key: round(ordered[min(n, len(ordered) - 1)] * 1000, 1) for key, n in at.items()}


def main(arguments: Optional[List[str]] = None) -> int:
    """Measure, print the table, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="tries for each line")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("-k", metavar="WORD", default="", help="only lines with this in the name")
    given = parser.parse_args(arguments)
    figures = {}
    print(f"{'ms':<44}{'p50':>8}{'p99':>8}{'max':>8}")
    for name, seconds in rows(max(1, given.count), given.k):
        figures[name] = summary(seconds)
        print(f"{name:<44}" + "".join(f"{value:>8.1f}" for value in figures[name].values()),
              flush=True)
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
