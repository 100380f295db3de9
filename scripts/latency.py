# SPDX-License-Identifier: MIT
"""Measure how soon things happen:  python3 scripts/latency.py [--count N] [--json FILE] [-k WORD]

Against the loopback provider, each plain and over TLS: how long after the event a cancel is
seen, in each phase, in a retry's wait and through a proxy too; how far from its time each clock
fires; how long after it was sent a frame is handed on, in each framing, by the transport and by
``iter_content`` of requests, of which nothing is promised. Each line is p50, p99 and the most in
ms: of N tries (20), for frames of ten in each of N/4 tries. One call before them is not measured.
The promises: cancel and clocks within 250 ms (DESIGN.md §7), a frame
within 50 ms (FAULTS.md T1). Exit code 1 when a median breaks its promise.
"""

from __future__ import annotations

import argparse
import json
import math
import socket
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import requests  # noqa: E402
from proxy import Proxy  # noqa: E402

from streamcore.client import Client  # noqa: E402
from streamcore.loopback import LoopbackServer  # noqa: E402
from streamcore.transport import Transport  # noqa: E402
from streamcore.values.errors import LlmError  # noqa: E402
from streamcore.values.limits import Limits, ResolvedLimits, resolve_limits  # noqa: E402
from streamcore.values.retry import RetryPolicy  # noqa: E402

TLS = ROOT / "tests" / "tls"
CA, SERVER_FILES = str(TLS / "ca.pem"), (str(TLS / "server.pem"), str(TLS / "server.key"))
BIG = b"x" * (16 << 20)  # more than the buffers of both sides hold
CANCEL_AFTER = 0.2  # seconds; the tries add up to 0.1 s, evenly spread
CLOCK = 0.3  # seconds
FRAMES = 10
PROMISED = {"cancel": 250.0, "clock": 250.0, "delivery": 50.0}  # ms, for a line's median
PATIENT = RetryPolicy(initial_delay=30.0, max_delay=30.0)
OFF: Dict[str, Any] = {"connect_timeout": 10.0, "first_byte_timeout": None, "idle_timeout": None,
                       "total_timeout": None, "max_stream_bytes": 1 << 40}

SILENT: Dict[str, Any] = {"no_answer": True}
STALLED: Dict[str, Any] = {"steps": [{"raw": "abc"}, {"stall": True}]}
HEAD_DRIP: Dict[str, Any] = {"header_drip": 0.05, "body": "x"}
DRIP: Dict[str, Any] = {"steps": [{"raw": "abc"}, {"repeat": {
    "times": None, "every": 0.02, "steps": [{"comment": "ping"}]}}]}
FLOOD: Dict[str, Any] = {"steps": [{"repeat": {
    "times": None, "every": 0, "steps": [{"raw": "x" * 4000}]}}]}
BUSY: Dict[str, Any] = {"status": 503, "body": "busy"}
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
    """Return limits with only the connect clock and the given clocks on."""
    return resolve_limits(Limits(**{**OFF, **given}))


def end_of(transport: Transport, url: str, body: bytes = b"{}", **given: Any) -> str:
    """Make one call to its end; return its error code."""
    try:
        for _piece in transport.open(url, {}, body, **given).pieces():
            pass
    except LlmError as error:
        return error.code
    return "end"


def cancels(count: int, answer: Any, tls: Any, call: Callable[[str, Any], str]) -> List[float]:
    """Return the seconds from setting the event to the end of ``call(url, event)``."""
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
            code = call(server.base_url, cancel)
            ended = time.monotonic()
            timer.join()
            assert code == "ABORTED", code
            delays.append(ended - at[0])
    return delays


def in_phase(transport: Transport, answer: Any, tls: Any, count: int) -> List[float]:
    """Cancel a call while the server is silent at this point."""
    body = BIG if answer is DEAF else b"{}"
    return cancels(count, answer, tls, lambda url, cancel: end_of(
        transport, url, body, limits=clocks(), cancel=cancel))


def in_retry(_transport: Transport, tls: Any, count: int) -> List[float]:
    """Cancel a client while it waits for a retry."""
    def call(url: str, cancel: Any) -> str:
        given = {"limits": Limits(**OFF), "retry": PATIENT, "verify": CA}
        with Client("m", base_url=url, **given) as client:
            try:
                client.complete("hi", cancel=cancel)
            except LlmError as error:
                return error.code
        return "end"

    return cancels(count, BUSY, tls, call)


def through_proxy(_transport: Transport, tls: Any, count: int) -> List[float]:
    """Cancel a call through a proxy (with TLS, a tunnel) to a silent server."""
    with Proxy() as proxy:
        transport = Transport(verify=CA, proxies={"http": proxy.url, "https": proxy.url})
        try:
            return in_phase(transport, STALLED, tls, count)
        finally:
            transport.close()


def firing(transport: Transport, setting: str, url: str, body: bytes = b"{}") -> float:
    """Return the seconds between a clock's time and the end of the call."""
    started = time.monotonic()
    code = end_of(transport, url, body, limits=clocks(**{setting: CLOCK}))
    late = time.monotonic() - started - CLOCK
    assert code == "TIMEOUT", code
    return late


def firings(
    transport: Transport, setting: str, answer: Any, tls: Any, count: int
) -> List[float]:
    """Let a clock fire while the server is silent at this point."""
    late = []
    for _ in range(count):
        with LoopbackServer([answer], tls=tls) as server:
            body = BIG if answer is DEAF else b"{}"
            late.append(firing(transport, setting, server.base_url, body))
    return late


def connect_firings(transport: Transport, tls: Any, count: int) -> List[float]:
    """Let the connect clock fire: no connection is accepted, or no TLS handshake is answered."""
    with unattended(full=not tls) as port:
        url = f"http{'s' if tls else ''}://127.0.0.1:{port}/v1"
        return [firing(transport, "connect_timeout", url) for _ in range(count)]


@contextmanager
def unattended(full: bool) -> Iterator[int]:
    """Listen and accept nobody; ``full``: nobody more is let in by the system either."""
    socks = [socket.socket()]
    try:
        socks[0].bind(("127.0.0.1", 0))
        socks[0].listen(0 if full else 128)
        for _ in range(4 if full else 0):
            socks.append(socket.socket())
            socks[-1].setblocking(False)
            socks[-1].connect_ex(socks[0].getsockname())
        time.sleep(0.05)
        yield socks[0].getsockname()[1]
    finally:
        for sock in socks:
            sock.close()


def our_pieces(transport: Transport, url: str) -> Iterator[bytes]:
    """Yield the pieces of the body from the transport."""
    return transport.open(url, {}, b"{}", limits=clocks()).pieces()


def requests_pieces(size: Optional[int]) -> Callable[[Transport, str], Iterator[bytes]]:
    """Return a reader by requests' ``iter_content(size)``, for comparison."""
    def pieces(_transport: Transport, url: str) -> Iterator[bytes]:
        with requests.post(url, data=b"{}", stream=True, verify=CA) as response:
            yield from response.iter_content(size)
    return pieces


Reader = Callable[[Transport, str], Iterator[bytes]]
READERS: Dict[str, Reader] = {
    "delivery": our_pieces, "iter_content(None)": requests_pieces(None),
    "iter_content(512)": requests_pieces(512), "iter_content(1)": requests_pieces(1)}


def deliveries(
    transport: Transport, reader: Reader, framing: Any, tls: Any, count: int
) -> List[float]:
    """Return the seconds each frame took beyond the server's pace; the first sets the pace.

    A frame that was held back until the end of the body counts from when it was sent.

    Server and client share one interpreter here, so its switches of threads are in the figure.
    """
    steps: List[Dict[str, Any]] = []
    for number in range(FRAMES):
        steps += [{"sleep": 0.03 if number else 0}, {"raw": f"data: {number:030}\n\n"}]
    delays = []
    with LoopbackServer([{**framing, "steps": steps}], tls=tls) as server:
        for _ in range(count):
            seen, got = [], b""
            began = time.monotonic()
            for piece in reader(transport, server.base_url):
                got += piece
                seen += [time.monotonic()] * (got.count(b"\n\n") - len(seen))
            delays += [max(0.0, at - began - 0.03 * number) for number, at in enumerate(seen)]
    return delays


Measure = Callable[[Transport, Any, int], List[float]]


def measures() -> Iterator[Tuple[str, Measure]]:
    """Yield the name of each line and the function that measures it."""
    for name, answer in PHASES.items():
        yield f"cancel: {name}", lambda t, tls, n, a=answer: in_phase(t, a, tls, n)
    yield "cancel: retry wait", in_retry
    yield "cancel: through a proxy", through_proxy
    yield "clock: connect", connect_firings
    for name, (setting, answer) in CLOCKS.items():
        yield f"clock: {name}", lambda t, tls, n, s=setting, a=answer: firings(t, s, a, tls, n)
    for kind, reader in READERS.items():
        for name, framing in FRAMINGS.items():
            yield f"{kind}: {name}", lambda t, tls, n, r=reader, f=framing: deliveries(
                t, r, f, tls, max(1, n // 4))


def rows(count: int, word: str) -> Iterator[Tuple[str, List[float]]]:
    """Yield the name and the seconds of each measurement whose name has ``word``."""
    for tls in (None, SERVER_FILES):
        transport = Transport(verify=CA)
        warm_up(transport, tls)
        for name, measure in measures():
            full = f"{name}{', TLS' if tls else ''}"
            if word in full:
                yield full, measure(transport, tls, count)
        transport.close()


def warm_up(transport: Transport, tls: Any) -> None:
    """Make one call, so that no figure includes late imports."""
    with LoopbackServer([{"body": "x"}], tls=tls) as server:
        code = end_of(transport, server.base_url, limits=clocks())
        assert code == "end", code


def summary(seconds: List[float]) -> Dict[str, float]:
    """Return p50, p99 and the maximum, in ms."""
    ordered = sorted(seconds)
    at = {"p50": len(ordered) // 2, "p99": int(len(ordered) * 0.99), "max": len(ordered) - 1}
    return {key: round(ordered[min(n, len(ordered) - 1)] * 1000, 1) for key, n in at.items()}


def main(arguments: Optional[List[str]] = None) -> int:
    """Measure, print the table, write the figures; return 1 for a broken promise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="tries for each line (20)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("-k", metavar="WORD", default="", help="only lines whose name has WORD")
    given = parser.parse_args(arguments)
    figures, broken = {}, []
    print(f"{'ms':<44}{'p50':>8}{'p99':>8}{'max':>8}")
    for name, seconds in rows(max(1, given.count), given.k):
        figures[name] = summary(seconds)
        print(f"{name:<44}" + "".join(f"{value:>8.1f}" for value in figures[name].values()),
              flush=True)
        if abs(figures[name]["p50"]) > PROMISED.get(name.partition(":")[0], math.inf):
            broken.append(name)
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name in broken:
        print(f"the median breaks its promise: {name}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
