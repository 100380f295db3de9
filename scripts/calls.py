# SPDX-License-Identifier: MIT
"""Count the calls of streamcore's functions:  python3 scripts/calls.py [--list]

Unlike a time, a count does not depend on the machine. The script counts two things, against a
scripted server on 127.0.0.1:

    per text event      calls while one event goes through Client.stream; resuming a generator
                        counts as a call
    before the first    calls from Client.stream() until the first byte of the request is
    byte                written, on a connection that is open already

    --list              also list the functions of each count, the most called first

It needs a Python that has requests, and nothing else.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Dict, Iterator, Optional, Sequence

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PACKAGE = f"{ROOT / 'streamcore'}/"
SENDING = {"send", "sendall", "sendmsg"}
FEW, MANY = 20, 120  # events of two answers; their difference leaves out the calls of the rest

Calls = Dict[str, float]  # place of a function → number of calls


@contextlib.contextmanager
def counting(until_written: bool = False) -> Iterator[Calls]:
    """Count the calls of package functions in this thread, at most until a socket is written."""
    calls: Calls = collections.defaultdict(float)
    written = False

    def note(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal written
        if event == "call" and not written and frame.f_code.co_filename.startswith(PACKAGE):
            code = frame.f_code
            calls[f"{code.co_filename[len(PACKAGE):]}:{code.co_firstlineno} {code.co_name}"] += 1
        elif event == "c_call" and until_written and arg.__name__ in SENDING:
            written = written or isinstance(arg.__self__, socket.socket)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def answer(events: int) -> Any:
    """Return a scripted answer of ``events`` words, each sent alone."""
    words = [step for at in range(events) for step in ({"text": f" word{at}"}, {"sleep": 0.002})]
    return {"steps": [*words, {"finish": "stop"}, {"done": True}]}


def counted(*answers: Any, until_written: bool = False) -> Iterator[Calls]:
    """Yield the calls of each answer; all answers use one connection."""
    from streamcore import Client, LoopbackServer

    with LoopbackServer([answer(1), *answers]) as server:
        with Client("m", base_url=server.base_url) as client:
            client.complete("opens the connection, and loads what is loaded late")
            for _ in answers:
                with counting(until_written) as calls:
                    for _ in client.stream("go"):
                        pass
                yield calls


def per_event() -> Calls:
    """Count the calls of one text event, from the difference of a long and a short answer."""
    few, many = counted(answer(FEW), answer(MANY))
    return {place: (many[place] - few[place]) / (MANY - FEW) for place in many}


def before_first_byte() -> Calls:
    """Count the calls from ``Client.stream()`` until the first byte is written."""
    (calls,) = counted(answer(1), until_written=True)
    return calls


def report(title: str, calls: Calls, listed: bool) -> None:
    print(f"{sum(calls.values()):8.1f}  {title}")
    for place, times in sorted(calls.items(), key=lambda item: -item[1]) if listed else ():
        print(f"{times:17.2f}  {place}")


def main(argv: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the functions")
    args = parser.parse_args(argv)
    report("calls per text event", per_event(), args.list)
    report("calls before the first byte of a request", before_first_byte(), args.list)
    return 0


if __name__ == "__main__":
    sys.exit(main())
