# SPDX-License-Identifier: MIT
"""Measure what each limit bounds:  python3 scripts/memory.py [--json FILE] [-k WORD] [--tries N]

A server sends the largest body, JSON document, events, tool arguments and error body that the
default limits let pass, most of them without an end; each plain and gzipped, where some kilobytes
stand for all of it. For each, in a process of its own: how the call ends, how many MiB its memory
grew by at most, and how long after its event was set a cancel was seen, the median and the most of
N tries (5) spread over the call. The promises: a median within 250 ms (DESIGN.md §7), memory as in
``CASES``. Exit code 1 where one is broken.
"""

from __future__ import annotations

import argparse
import json
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from streamcore.client import Client  # noqa: E402
from streamcore.values.errors import LlmError  # noqa: E402
from streamcore.values.limits import Limits  # noqa: E402

MIB = 1 << 20
ENDLESS = 1 << 31  # bytes after which the server stops; every limit is lower
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss
PATIENT = Limits(total_timeout=None, idle_timeout=120.0)


def event(delta: Dict[str, Any]) -> bytes:
    """Return one event of a stream."""
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def repeated(start: bytes, again: bytes) -> Iterator[bytes]:
    """Yield ``start``, then ``again`` without end, in pieces of about 64 KiB."""
    yield start
    block = again * (65536 // len(again) + 1)
    for _ in range(ENDLESS // len(block)):
        yield block


def fragment(arguments: str, **named: str) -> bytes:
    """Return an event with a fragment of one tool call."""
    call = {"index": 0, "function": {"arguments": arguments, **named}}
    return event({"tool_calls": [{**call, "id": "c1"} if named else call]})


def document(size: int, again: bytes) -> bytes:
    """Return a JSON document of the given size; most of it is one list."""
    start, end = b'{"choices":[],"x":[0', b"]}"
    return start + again * ((size - len(start) - len(end)) // len(again)) + end


FACT = b'data: {"choices":[{"logprobs":{"content":[%s]}}]}\n\n' % b",".join([b"[]"] * 2000)
"""An event with many lists that the message keeps; 295 of them are as many as it keeps."""
END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class Case(NamedTuple):
    """A body, endless in most cases, and the growth of memory that its limit allows."""

    status: int
    body: Callable[[], Iterator[bytes]]
    most: int  # MiB
    late: float = 250.0  # ms until a cancel is seen


CASES = {
    "body": Case(200, lambda: repeated(b"", event({"content": "x" * 4000})), 450),
    "document": Case(200, lambda: iter([document(8 * MIB, b',"%s"' % (b"x" * 5000))]), 100),
    # the worst document: Python's JSON reader makes a list of 56 bytes or more from two or
    # three bytes, and cannot be interrupted
    "document of lists": Case(200, lambda: iter([document(1_100_000, b",[]")]), 100),
    "events": Case(200, lambda: repeated(b"", b"data: " + document(250_000, b",[]") + b"\n\n"), 50),
    "arguments": Case(200, lambda: repeated(
        fragment("[", name="f"), fragment("[],")), 100),
    "facts": Case(200, lambda: iter([event({"content": "a"}), *[FACT] * 295, END]), 100),
    "parts": Case(200, lambda: repeated(b"", event({"content": [{"x": []}] * 50})), 100),
    "error body": Case(500, lambda: repeated(b'{"error":[', b"[],"), 30),
}


# -- the server ---------------------------------------------------------------------------


def send(sock: socket.socket, case: Case, gzipped: bool) -> None:
    """Send the body until the client leaves."""
    head = f"HTTP/1.1 {case.status} x\r\nContent-Type: text/event-stream\r\n"
    head += "Content-Encoding: gzip\r\n" if gzipped else ""
    sock.sendall(head.encode() + b"Connection: close\r\n\r\n")
    machine = zlib.compressobj(9, wbits=31)
    for piece in case.body():
        data = machine.compress(piece) if gzipped else piece
        if data:
            sock.sendall(data)
    if gzipped:
        sock.sendall(machine.flush())
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(65536):  # with unread bytes, closing would send a reset
        pass


def serve(listener: socket.socket) -> None:
    """Answer one request after another, by its path, until the listener is closed."""
    while True:
        try:
            sock, _peer = listener.accept()
        except OSError:
            return
        with sock:
            try:
                head = sock.recv(65536)
                if not head:  # cancelled before it was sent
                    continue
                name, _, coding = head.split()[1].decode().split("/")[1].partition("-")
                send(sock, CASES[name.replace("_", " ")], bool(coding))
            except OSError:  # the client has left
                pass


# -- the client, in a process of its own --------------------------------------------------


def end_of(client: Client, cancel: threading.Event) -> str:
    """Make one call; return its error code."""
    try:
        client.complete("x", cancel=cancel)
    except LlmError as error:
        return error.code
    return "message"


def peak() -> int:
    """Return the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


def cancelled(client: Client, after: float) -> float:
    """Set a call's event so many seconds after its start; return the ms until it ended.

    0 where it ended before; a call that ends otherwise has not seen the event at all.
    """
    cancel, at = threading.Event(), [0.0]

    def stop() -> None:
        at[0] = time.monotonic()
        cancel.set()

    timer = threading.Timer(after, stop)
    timer.start()
    end_of(client, cancel)
    ended = time.monotonic()
    timer.cancel()
    timer.join()
    return (ended - at[0]) * 1000 if at[0] else 0.0


def measure(url: str, tries: int) -> Dict[str, Any]:
    """Return the row of the case behind an address."""
    with Client("m", base_url=url, limits=PATIENT) as client:
        end_of(Client("m", base_url="http://127.0.0.1:1"), threading.Event())  # imports, caches
        before, began = peak(), time.monotonic()
        code = end_of(client, threading.Event())
        took = time.monotonic() - began
        grown = (peak() - before) / MIB
        late = [cancelled(client, took * (n + 0.5) / tries) for n in range(tries)]
    return {"code": code, "MiB": round(grown, 1), "seconds": round(took, 2),
            "cancel ms": round(statistics.median(late), 1), "most": round(max(late), 1)}


def main(arguments: List[str]) -> int:
    """Run the command line; return its exit code."""
    if arguments[:1] == ["--measure"]:
        print(json.dumps(measure(arguments[1], int(arguments[2]))))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("-k", metavar="WORD", default="", help="only cases whose name has WORD")
    parser.add_argument("--tries", type=int, default=5, help="cancels of each case")
    args = parser.parse_args(arguments)
    rows, broken = {}, []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        for name, case in CASES.items():
            for coding in ("", "-gzip"):
                title = f"{name}{', gzipped' if coding else ''}"
                if args.k not in title:
                    continue
                port = listener.getsockname()[1]
                url = f"http://127.0.0.1:{port}/{name.replace(' ', '_')}{coding}"
                command = [sys.executable, __file__, "--measure", url, str(args.tries)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
                row = rows[title] = json.loads(done.stdout)
                print(f"  {title:20} {row['code']:19} {row['MiB']:6.1f} MiB of {case.most:3},"
                      f" {row['seconds']:5.2f} s; cancel after {row['cancel ms']:5.1f} ms,"
                      f" at most {row['most']:.1f}")
                broken += [title] * (row["MiB"] > case.most or row["cancel ms"] > case.late)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    for title in broken:
        print(f"  promise broken: {title}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
