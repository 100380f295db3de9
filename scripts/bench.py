# SPDX-License-Identifier: MIT
"""Measure what an event costs:  python3 scripts/bench.py [--peers] [--json FILE] [-k WORD]

Every client reads the same answers from one scripted server, over loopback HTTP. The server has
its own process. Each measurement has a fresh process and a warm-up; the clients take turns.
CPU µs per event is the CPU time of the client's process: the minimum of --repeat runs (9), which
other work on the machine disturbs least, and the median. The ratios compare minima with the bare
loop (iter_content(None), split at blank lines, json.loads, no safety) and with json.loads of the
payloads alone. If a client's result is not exactly the scripted result, its row is marked. For
example, the bare loop finds nothing in a stream with CRLF.

    --import     what importing costs, in a fresh interpreter
    --linear     15k, 30k, 60k fragments; 1, 10, 100 MB: the work must grow linearly
    --session    the cost of a chunk event in a session log, in memory and in a file
    --stages     the time of each stage of the pipeline alone, and of the whole
    --calls      small keep-alive calls a second, and connections used
    --single     events that come one by one, 5 ms apart: delay and CPU
    --paced      1 and 100 streams at once, events 5 to 50 ms apart: CPU
    --markdown   print the table of the client's README; --readme writes it into that page

Without these options the main table is made. --peers adds other libraries. The script makes the
environment .venv/bench, or with --peers .venv/bench-peers, which has the `bench` extra of
setup.cfg. --here makes no environment and measures what the running Python has.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import datetime
import itertools
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]  # under -P and -I, Python does not add the second

import _venv  # noqa: E402
from _bench_clients import (  # noqa: E402
    BARE, BODY, FLOOR, KINDS, PEERS, TIMED, InMemory, installed,
)
from _bench_server import (  # noqa: E402
    ANSWERS, CLAUDE, KINDS_OF_ANSWER, MAIN, SCENARIOS, Server, digest, expected,
)

README = ROOT / "streamcore" / "client" / "README.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
OURS, SDK = "Client.stream", "openai SDK"
FLAGS = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "127.0.0.1"}


# -- one measurement -----------------------------------------------------------------------

def work(name: str, base: str, answer: str, framing: str, warm: str = "warm") -> Dict[str, Any]:
    """Measure one client once, after a warm-up."""
    client = KINDS[name](base)
    for what in (warm, answer):
        client.prepare(what, framing)
    warm_framing = framing if framing in ("chunked", "close", "gzip", "crlf") else "chunked"
    try:
        client.call(f"/{warm}/{warm_framing}")
    except Exception:  # a client that cannot read this framing shows it in the run that counts
        pass
    before, began = time.process_time(), time.perf_counter()
    try:
        result, fault = client.call(f"/{answer}/{framing}"), ""
    except Exception as error:
        result, fault = ("", "", []), f"{type(error).__name__}: {error}"[:120]
    cpu, wall = time.process_time() - before, time.perf_counter() - began
    found = {"cpu": cpu, "wall": wall, "rss": peak_rss_mb(), "said": digest(*result),
             "fault": fault}
    client.close()
    return found


def paced(name: str, base: str, answer: str, framing: str) -> Dict[str, Any]:
    """Measure how long after its sending each event is delivered, and the CPU it costs."""
    client = KINDS[name](base)
    client.call("/warm/chunked")
    before = time.process_time()
    delays = [time.monotonic() - float(sent) for sent in client.deltas(f"/{answer}/{framing}")]
    cpu = time.process_time() - before
    client.close()
    delays.sort()
    return {
        "events": len(delays), "p50_ms": delays[len(delays) // 2] * 1000,
        "p99_ms": delays[len(delays) * 99 // 100] * 1000, "cpu_us": cpu / len(delays) * 1e6,
    }


def streams(name: str, base: str, answer: str, framing: str, count: str) -> Dict[str, Any]:
    """Measure the CPU of an event while ``count`` threads read one stream each.

    The clock runs from when every stream has its first event until every stream has its last.
    The other tables tell what a request and the end of an answer cost.
    """
    wanted = len(ANSWERS[answer]()) - 3
    clients = [KINDS[name](base) for _ in range(int(count))]
    clients[0].call("/warm/chunked")
    clock: List[float] = []
    at_first, at_last = (
        threading.Barrier(len(clients), lambda: clock.append(time.process_time()))
        for _ in range(2)
    )

    def read(client: Any) -> None:
        deltas = client.deltas(f"/{answer}/{framing}")
        next(deltas)
        at_first.wait()
        for _ in itertools.islice(deltas, wanted - 1):
            pass
        at_last.wait()
        found.append(wanted + sum(1 for _ in deltas))

    found: List[int] = []
    threads = [threading.Thread(target=read, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        client.close()
    return {"events": min(found),
            "cpu_us": (clock[1] - clock[0]) / (len(clients) * (wanted - 1)) * 1e6}


def peak_rss_mb() -> float:
    """The most memory this process had; ru_maxrss would count the parent's, from before exec."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(verb: str, *arguments: str) -> Dict[str, Any]:
    """Run ``work``, ``paced`` or ``streams`` in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", verb, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **FLAGS}, check=True)
    result: Dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


# -- the tables --------------------------------------------------------------------------

class Lab:
    """The server process, and the clients that can be measured."""

    def __init__(self, peers: bool) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, **FLAGS})
        assert self.process.stdout is not None
        ports = json.loads(self.process.stdout.readline())
        self.base = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
        self.clients = installed(peers)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.process.communicate()

    def ask(self, path: str) -> bytes:
        """Send the server a request that is not measured."""
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"{self.base['http']}{path}", timeout=120) as answer:
            return bytes(answer.read())


def main_table(lab: Lab, repeat: int, scenarios: Sequence[str]) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    for scenario in scenarios:
        answer, framing, scheme = SCENARIOS[scenario]
        frames = ANSWERS[answer]()
        right = (expected(frames), expected(frames, reasoning=False))
        clients = [name for name in lab.clients if takes_part(name, scenario)]
        runs: Dict[str, List[Dict[str, Any]]] = {name: [] for name in clients}
        lab.ask(f"/prepare/{answer}/{framing}")
        for _ in range(repeat):
            for name in clients:
                runs[name].append(measure("work", name, lab.base[scheme], answer, framing))
        rows[scenario] = with_ratios({
            name: summary(found, len(frames), right, name) for name, found in runs.items()
        })
        print("\n" + scenario_text(scenario, len(frames), rows[scenario]), flush=True)
    return rows


def takes_part(name: str, scenario: str) -> bool:
    plain = SCENARIOS[scenario][1:] == ("chunked", "http")
    if KINDS[name].claude == ("no" if scenario in CLAUDE else "only"):
        return False
    places = {"all": True, "plain": plain, "text": scenario == "text", "slow": False}
    return places[KINDS[name].where]


def summary(
    runs: List[Dict[str, Any]], events: int, right: Tuple[str, str], name: str
) -> Dict[str, Any]:
    """Return the minimum and median CPU of a client's runs, and the errors of its results."""
    costs = [run["cpu"] / events * 1e6 for run in runs]
    notes = sorted({run["fault"] for run in runs if run["fault"]})
    said = {run["said"] for run in runs}
    if not notes and name != FLOOR and said != {right[0]}:
        notes = ["reasoning lost" if said == {right[1]} else "WRONG RESULT"]
    return {
        "us_per_event": min(costs),
        "median_us": statistics.median(costs),
        "wall": statistics.median(run["wall"] for run in runs),
        "rss_mb": statistics.median(run["rss"] for run in runs),
        "failed": any(run["fault"] for run in runs),
        "note": "; ".join(notes),
    }


def with_ratios(rows: Dict[str, Any]) -> Dict[str, Any]:
    """The rows, each with its ratios to the bare loop and to json.loads, where those read right."""
    for row in rows.values():
        for key, other in (("to_bare", BARE), ("to_json", FLOOR)):
            if other in rows and not rows[other]["note"] and not row["failed"]:
                row[key] = row["us_per_event"] / rows[other]["us_per_event"]
    return rows


def scenario_text(scenario: str, events: int, rows: Dict[str, Any]) -> str:
    title = f"{scenario} ({events:,} events)"
    lines = [f"{title:44} µs/event   median   × bare   × json  peak MB"]
    for name, row in rows.items():
        ratios = "".join(f"{row[key]:9.2f}" if key in row else " " * 8 + "-"
                         for key in ("to_bare", "to_json"))
        lines.append(f"  {name:42} {row['us_per_event']:8.2f}{row['median_us']:9.2f}{ratios}"
                     f"{row['rss_mb']:9.1f}"
                     f"  {row['note']}".rstrip())
    return "\n".join(lines)


# what is promised, of which client, against what (a client, or a scenario), at most how many times
TARGETS = (
    *((scenario, OURS, BARE, 0.9) for scenario in MAIN),
    *((scenario, f"{OURS} + orjson", BARE, 0.75) for scenario in MAIN),
    *((scenario, OURS, BARE, 0.9) for scenario in CLAUDE),
    ("text", "Client.stream + session file", BARE, 3.0),
    *((scenario, OURS, SDK, 1 / 12) for scenario in KINDS_OF_ANSWER),
    ("text, close-delimited", OURS, "text", 1.5),
    ("text, TLS", OURS, "text", 1.5),
)
MORE_MEMORY = 8  # MB over the bare loop's peak, at most


def targets_text(rows: Dict[str, Any]) -> str:
    """Return, for each measured target, a line that says whether it is met."""
    lines = ["", "targets"]
    for scenario, name, other, most in TARGETS:
        mine = rows.get(scenario, {}).get(name)
        theirs = rows.get(scenario, {}).get(other) or rows.get(other, {}).get(name)
        if mine and theirs and not mine["failed"] and not theirs["failed"]:
            ratio = mine["us_per_event"] / theirs["us_per_event"]
            lines.append(f"  {verdict(ratio <= most)}{scenario}: {name} {ratio:.3f} × {other}"
                         f" (at most {most:.3g})")
    for scenario in MAIN:
        found = rows.get(scenario, {})
        if OURS in found and BARE in found:
            more = found[OURS]["rss_mb"] - found[BARE]["rss_mb"]
            lines.append(f"  {verdict(more <= MORE_MEMORY)}{scenario}: {OURS} {more:+.1f} MB over"
                         f" the {BARE} (at most {MORE_MEMORY})")
    return "\n".join(lines if len(lines) > 2 else [])


def verdict(held: bool) -> str:
    return "held    " if held else "MISSED  "


def markdown_table(
    rows: Dict[str, Any], versions: str, date: str, repeat: int, command: str
) -> str:
    """The README's table of the given scenarios, one row a client."""
    names = list(dict.fromkeys(name for scenario in rows.values() for name in scenario))
    lines = [
        "| CPU µs per event (× the bare loop) | " + " | ".join(rows) + " | peak RSS, MB |",
        "|---|" + "---|" * len(rows) + "---|",
    ]
    for name in names:
        found = [scenario.get(name) for scenario in rows.values()]
        memory = [row["rss_mb"] for row in found if row and not row["failed"]]
        low, high = (f"{f(memory):.0f}" if memory else "" for f in (min, max))
        # Memory that this process holds already would count for them.
        peak = "" if issubclass(KINDS[name], InMemory) else low if low == high else f"{low}–{high}"
        lines.append("| " + " | ".join([name, *map(markdown_cell, found), peak]) + " |")
    return "\n".join(lines) + (
        f"\n\nMinima of {repeat}, interleaved in one run: payloads of about 250 bytes, each in an"
        f" HTTP chunk of its own, loopback.\n{versions}; {date}. Made by `{command}`.\n")


def markdown_cell(row: Optional[Dict[str, Any]]) -> str:
    if row is None:
        return ""
    if row["failed"]:
        return row["note"].replace("|", "\\|")
    note = f", {row['note']}" if row["note"] else ""
    ratio = f" ({row['to_bare']:.2f})" if "to_bare" in row else ""
    cost = row["us_per_event"]
    return f"{cost:.3g}{ratio}{note}" if cost < 1000 else f"{cost:,.0f}{ratio}{note}"


def replaced(readme: str, table: str) -> Optional[str]:
    """Return the README with a new table; None if it has no markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n\n{table}\n{end}{after}" if begin and end else None


LINEAR = (
    # answers, how the work grows from one to the next, how much more time is still linear
    (("call15k", "call30k", "call60k"), "twice the fragments", 2.2),
    (("mb1", "mb10", "mb100"), "ten times the bytes", 11.0),
)


def linear_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    for series, growth, bound in LINEAR:
        runs: Dict[str, List[Dict[str, Any]]] = {answer: [] for answer in series}
        for answer in series:
            lab.ask(f"/prepare/{answer}/chunked")
        for _ in range(repeat):
            for answer in series:
                runs[answer].append(
                    measure("work", OURS, lab.base["http"], answer, "chunked"))
        for answer in series:
            frames = ANSWERS[answer]()
            right = (expected(frames), "")
            rows[answer] = {"events": len(frames), "growth": growth,
                            **summary(runs[answer], len(frames), right, OURS)}
        mark_growth([rows[answer] for answer in series], bound)
        for answer in series:
            print(linear_line(answer, rows[answer]), flush=True)
    return rows


def mark_growth(rows: Sequence[Dict[str, Any]], bound: float) -> None:
    """Give each row its ratio to the row before, and mark ratios that are too high."""
    for before, row in zip(rows, rows[1:]):
        spent = [each["us_per_event"] * each["events"] for each in (before, row)]
        row["ratio"] = spent[1] / spent[0]
        row["too_much"] = row["ratio"] > bound
        row["bound"] = bound


def linear_line(answer: str, row: Dict[str, Any]) -> str:
    cpu = row["us_per_event"] * row["events"] / 1e6
    line = (f"  {answer:8} {row['events']:8,} events {cpu:8.3f} s {row['us_per_event']:7.2f}"
            f" µs/event {row['rss_mb']:7.1f} MB")
    if "ratio" in row:
        line += f"  × {row['ratio']:.2f} for {row['growth']}"
        line += f"  MORE THAN {row['bound']:g}" if row["too_much"] else ""
    return f"{line}  {row['note']}".rstrip()


IMPORTS = ("import streamcore", "import streamcore.wire.pipeline", "import streamcore.client",
           "import streamcore.client, requests", "import requests")


def import_table(repeat: int) -> Dict[str, Any]:
    """Time imports in fresh interpreters; the bytecode is there, in a folder of its own."""
    times: Dict[str, List[float]] = {code: [] for code in IMPORTS}
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": folder}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(max(repeat, 9) + 1):
            for code, found in times.items():
                timed = (f"from time import perf_counter; began = perf_counter(); {code}; "
                         "print(perf_counter() - began)")
                done = subprocess.run([sys.executable, "-c", timed], check=True, env=env,
                                      stdout=subprocess.PIPE)
                if turn:  # the first one filled the folder
                    found.append(float(done.stdout))
    rows = {code: statistics.median(found) * 1000 for code, found in times.items()}
    for code, spent in rows.items():
        print(f"  {code:40} {spent:7.1f} ms over bare Python,"
              f" {spent / rows['import requests']:5.2f} × import requests")
    return rows


def calls_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    rates: Dict[str, List[float]] = {BARE: [], OURS: []}
    clients = {name: KINDS[name](lab.base["http"]) for name in rates}
    for name, client in clients.items():
        before = int(lab.ask("/connections"))
        for _ in range(101):
            client.call("/small/chunked")
        rows[f"{name} connections for 101 calls"] = int(lab.ask("/connections")) - before - 1
    for _ in range(repeat):
        for name, client in clients.items():
            began = time.perf_counter()
            for _ in range(300):
                client.call("/small/chunked")
            rates[name].append(300 / (time.perf_counter() - began))
    for client in clients.values():
        client.close()
    rows.update({f"{name} calls/s": statistics.median(r) for name, r in rates.items()})
    rows["ratio"] = rows[f"{OURS} calls/s"] / rows[f"{BARE} calls/s"]
    for name, value in rows.items():
        print(f"  {name:45} {value:10.2f}")
    return rows


def paced_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    """CPU of an event that comes by itself, beside a bare loop with the same time-outs."""
    rows: Dict[str, Any] = {}
    wanted = len(ANSWERS["slow"]()) - 3
    for count in (1, 100):
        runs: Dict[str, List[Dict[str, Any]]] = {TIMED: [], OURS: []}
        for _ in range(repeat):
            for name, found in runs.items():
                found.append(
                    measure("streams", name, lab.base["http"], "slow", "spread", str(count)))
        for name, found in runs.items():
            costs = [run["cpu_us"] for run in found]
            rows[f"{name}, {count} at once"] = {
                "us_per_event": min(costs), "median_us": statistics.median(costs),
                "events": min(run["events"] for run in found),
                "to_bare": min(costs) / min(run["cpu_us"] for run in runs[TIMED]),
            }
    for title, row in rows.items():
        print(paced_line(title, row, wanted), flush=True)
    return rows


def paced_line(title: str, row: Dict[str, Any], wanted: int) -> str:
    lost = "" if row["events"] == wanted else f"  {row['events']} OF {wanted} EVENTS"
    return (f"  {title:34} {row['us_per_event']:8.1f} µs/event, median {row['median_us']:8.1f},"
            f" × {row['to_bare']:.2f}{lost}")


def single_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    kinds = [(framing, name) for framing in ("paced", "paced-close") for name in (BARE, OURS)]
    runs: Dict[Tuple[str, str], List[Dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(repeat):
        for framing, name in kinds:
            runs[framing, name].append(
                measure("paced", name, lab.base["http"], "single", framing))
    wanted = len(ANSWERS["single"]()) - 3
    for (framing, name), found in runs.items():
        row = {key: statistics.median(run[key] for run in found) for key in found[0]}
        words = "chunked" if framing == "paced" else "close-delimited"
        rows[f"{name}, {words}"] = row
        print(single_line(f"{name}, {words}", row, wanted), flush=True)
    return rows


def single_line(title: str, row: Dict[str, Any], wanted: int) -> str:
    lost = "" if row["events"] == wanted else f"  {row['events']:g} OF {wanted} EVENTS"
    return (f"  {title:32} delay p50 {row['p50_ms']:9.3f} ms, p99 {row['p99_ms']:9.3f} ms,"
            f" CPU {row['cpu_us']:7.1f} µs/event{lost}")


def session_table(repeat: int) -> Dict[str, Any]:
    from streamcore import Session, TextDelta

    rows: Dict[str, Any] = {}
    chunk = TextDelta(1, " word42")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (("in memory", None), ("on file", os.path.join(folder, "log"))):
            times = []
            for turn in range(max(repeat, 5)):
                with Session(path and f"{path}{turn}") as session:
                    began = time.process_time()
                    for _ in range(20_000):
                        session.chunk(chunk)
                    times.append((time.process_time() - began) / 20_000 * 1e6)
            rows[name] = statistics.median(times)
            print(f"  a chunk event {name:12} {rows[name]:6.2f} µs", flush=True)
    return rows


STAGED = ("text", "calls4", "padded")


def stages_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    for answer in STAGED:
        lab.ask(f"/prepare/{answer}/chunked")
        frames = ANSWERS[answer]()
        times: Dict[str, List[float]] = collections.defaultdict(list)
        with contextlib.ExitStack() as stack:
            stages = list(stages_of(f"{lab.base['http']}/{answer}/chunked/v1", frames, stack))
            for turn in range(repeat + 1):
                for name, run in stages:
                    began = time.process_time()
                    run()
                    if turn:  # the first one warmed up
                        times[name].append((time.process_time() - began) / len(frames) * 1e6)
        rows[answer] = {name: min(found) for name, found in times.items()}
        print(f"  {answer}, {len(frames):,} events, each a piece of its own", flush=True)
        for name, cost in rows[answer].items():
            print(f"    {name:52} {cost:6.2f} µs/event", flush=True)
    return rows


def stages_of(
    url: str, frames: Sequence[bytes], stack: contextlib.ExitStack
) -> Iterator[Tuple[str, Callable[[], Any]]]:
    """The stages a body goes through, each as something to run, alone where that can be."""
    from streamcore import Client, MessageAssembler, SseParser, find_dialect, parse_stream
    from streamcore.values.limits import resolve_limits
    from streamcore.transport import Transport

    limits = resolve_limits()
    events = [event for item in frames for event in SseParser().feed(item)]
    chunks = list(parse_stream(frames))
    transport = stack.enter_context(contextlib.closing(Transport()))
    client = stack.enter_context(Client("bench", base_url=url))

    def each(take: Callable[[Any], Any], items: Sequence[Any]) -> None:
        for item in items:
            take(item)

    def received() -> None:
        body = json.dumps(BODY).encode()
        for _ in transport.open(f"{url}/chat/completions", {}, body, limits=limits).pieces():
            pass

    yield "json.loads of each payload, for comparison", lambda: each(
        json.loads, [item[6:-2] for item in frames[:-1]])
    yield "transport: bytes off the socket, framing undone", received
    yield "SseParser: bytes to events", lambda: each(SseParser().feed, frames)
    chat = find_dialect("chat-completions")
    options = chat.options().resolved()
    yield "decoder: events to chunks", lambda: each(
        chat.make_decoder(options, limits, {}, None).push, events)
    yield "parse_stream: both, with limits and the end", lambda: collections.deque(
        parse_stream(frames), maxlen=0)
    yield "MessageAssembler: chunks to a message", lambda: each(MessageAssembler().push, chunks)
    yield "Client.stream: all of it", lambda: client.stream("go").message


def positive(text: str) -> int:
    """Return a text as a whole number, 1 or more. Raises: ValueError for other texts."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=positive, default=9, metavar="N",
                        help="runs per figure (9)")
    parser.add_argument("--peers", action="store_true", help="also measure other libraries")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    parser.add_argument("-k", default="", metavar="WORD", help="only scenarios whose name has WORD")
    parser.add_argument("--here", action="store_true",
                        help="measure in this Python; make no environment")
    parser.add_argument("--markdown", action="store_true", help="print the README's table")
    parser.add_argument("--readme", action="store_true", help="write the table into that README")
    for flag in ("import", "linear", "session", "calls", "single", "paced", "stages"):
        parser.add_argument(f"--{flag}", action="store_true", dest=f"do_{flag}")
    return parser


def in_venv(argv: Sequence[str], peers: bool) -> int:
    """Run this script again in an environment with the measured libraries."""
    name, extras = ("bench-peers", ["bench"]) if peers else ("bench", [])
    try:
        python = _venv.ensure(name, _venv.requirements(*extras))
    except _venv.NoVenv as error:
        sys.exit(str(error))
    return _venv.hand_over([python, str(Path(__file__).resolve()), "--here", *argv])


def versions_text(clients: Sequence[str]) -> str:
    """Return the machine and the versions of the measured packages."""
    asked = ["requests", "urllib3", *(PEERS[name][0] for name in clients if name in PEERS)]
    asked += ["orjson"] * ("Client.stream + orjson" in clients)
    owners = {"sseclient": "sseclient-py"}
    names = [owners.get(module, module.replace("_", "-")) for module in asked]
    found = [f"{name} {metadata.version(name)}" for name in names]
    return ", ".join([f"{os.cpu_count()} cores", f"Python {platform.python_version()}", *found])


def main(argv: Sequence[str]) -> int:
    args = arguments().parse_args(argv)
    if not any(args.k in scenario for scenario in SCENARIOS):
        sys.exit(f"no scenario has {args.k!r} in its name: {', '.join(SCENARIOS)}")
    if args.readme and args.k:
        sys.exit("--readme writes the whole table: not with -k")
    if args.readme and replaced(README.read_text(encoding="utf-8"), "") is None:
        sys.exit(f"{README.name} has no {BEGIN} … {END}")
    if not args.here:
        return in_venv(argv, args.peers)
    if not find_spec("requests"):
        sys.exit("This Python has no requests: run bench.py without --here.")
    os.environ["NO_PROXY"] = FLAGS["NO_PROXY"]
    if args.markdown or args.readme:
        table = measured_markdown(args)
        print(table, end="")
        if args.readme:
            readme = replaced(README.read_text(encoding="utf-8"), table)
            README.write_text(readme or "", encoding="utf-8")
        return 0
    save(measured(args), args.json)
    return 0


def measured(args: argparse.Namespace) -> Dict[str, Any]:
    """Make the tables that were asked for, or the main one."""
    with Lab(args.peers) as lab:
        figures: Dict[str, Any] = {"versions": versions_text(lab.clients)}
        print(figures["versions"], flush=True)
        tables: Dict[str, Callable[[], Dict[str, Any]]] = {
            "import": lambda: import_table(args.repeat),
            "session": lambda: session_table(args.repeat),
            "linear": lambda: linear_table(lab, args.repeat),
            "calls": lambda: calls_table(lab, args.repeat),
            "single": lambda: single_table(lab, args.repeat),
            "paced": lambda: paced_table(lab, args.repeat),
            "stages": lambda: stages_table(lab, args.repeat),
        }
        asked = [name for name in tables if getattr(args, f"do_{name}")]
        for name in asked:
            figures[name] = tables[name]()
        if not asked:
            scenarios = [scenario for scenario in SCENARIOS if args.k in scenario]
            figures["table"] = main_table(lab, args.repeat, scenarios)
            print(targets_text(figures["table"]), flush=True)
    return figures


def measured_markdown(args: argparse.Namespace) -> str:
    """Make the README's table; stderr shows the progress."""
    with contextlib.redirect_stdout(sys.stderr), Lab(args.peers) as lab:
        rows = main_table(lab, args.repeat, [name for name in MAIN if args.k in name])
        print(targets_text(rows), flush=True)
        versions = versions_text(lab.clients)
    save({"versions": versions, "table": rows}, args.json)
    command = "python3 scripts/bench.py --readme" + " --peers" * args.peers
    return markdown_table(
        rows, versions, datetime.date.today().isoformat(), args.repeat, command)


def save(figures: Dict[str, Any], path: Optional[str]) -> None:
    if path:
        Path(path).write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        Server().serve()
    elif sys.argv[1:2] == ["--worker"]:
        verb = {"work": work, "paced": paced, "streams": streams}[sys.argv[2]]
        print(json.dumps(verb(*sys.argv[3:])))
    else:
        sys.exit(main(sys.argv[1:]))
