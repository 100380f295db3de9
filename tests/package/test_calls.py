# SPDX-License-Identifier: MIT
"""scripts/calls.py counts what it says: calls of package functions, up to the first byte."""

from __future__ import annotations

import socket
import subprocess
import sys

from scripts_support import load
from support import ROOT

from streamcore.values.frozen import freeze
from streamcore.values.strictjson import mend_text

calls = load("calls")


def test_each_call_of_a_package_function_counts_once() -> None:
    """Inner calls count too; calls of other modules do not."""
    with calls.counting() as found:
        mend_text("a")
        freeze([1, 2])
        str.upper("a")
    assert {place.split()[-1]: times for place, times in found.items()} == {
        "mend_text": 1, "freeze": 3, "<genexpr>": 3}


def test_counting_may_end_when_a_socket_is_written() -> None:
    """Calls after the first byte do not count."""
    one, other = socket.socketpair()
    with one, other, calls.counting(until_written=True) as found:
        mend_text("a")
        one.send(b"x")
        mend_text("b")
    assert list(found.values()) == [1]


def test_both_figures_are_made() -> None:
    """An event passes the parser, the decoder and the stream once each."""
    event = calls.per_event()
    for name in ("sse.py", "decoder.py", "stream.py"):
        assert any(name in place and 0.5 < times < 1.5 for place, times in event.items()), name
    request = calls.before_first_byte()
    assert any(place.startswith("client/client.py") for place in request)
    assert not any(place.startswith("wire/sse.py") for place in request)


def test_help_is_printed() -> None:
    """The output names what is counted."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "calls.py"), "--help"], stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL, timeout=120, universal_newlines=True)
    assert done.returncode == 0 and "per text event" in done.stdout and "--list" in done.stdout
