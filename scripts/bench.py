# SPDX-License-Identifier: MIT
"""Measure what an event costs:  python3 scripts/bench.py [--peers] [--json FILE] [-k WORD]

Every client reads the same answers from one scripted server in a process of its own, over real
loopback HTTP, interleaved in one run, each measurement in a fresh process after a warm-up;
medians of --repeat runs (5). CPU µs per event is what a client's own process spends, and the
ratio is to the bare loop: iter_content(None), split at blank lines, json.loads, no safety.
A client whose result is not exactly the scripted one has its row marked.

    --import     what importing costs, in a fresh interpreter
    --linear     15k, 30k, 60k fragments; 1, 10, 100 MB: work must grow in proportion
    --session    a chunk event in a session log, in memory and on file
    --calls      small keep-alive calls a second, and connections used
    --single     events that come one by one, 5 ms apart: delay and CPU

Without one of these the main table is made. --peers adds the libraries of the `bench` extra
that are installed where it runs.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import platform
import resource
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CERTS = ROOT / "tests" / "tls"
FLAGS = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


# -- the answers -------------------------------------------------------------------------

def frame(delta: Dict[str, Any], finish: Optional[str] = None) -> bytes:
    """One event of about 250 bytes, as a provider sends it."""
    payload = {
        "id": "chatcmpl-BenchAbCdEfGhIjKlMnOp", "object": "chat.completion.chunk",
        "created": 1732000000, "model": "bench-model-2026-01-01", "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"


def end_frames(finish: str) -> List[bytes]:
    usage = {"id": "chatcmpl-BenchAbCdEfGhIjKlMnOp", "choices": [], "usage": {
        "prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}}
    return [frame({}, finish), b"data: " + json.dumps(usage).encode() + b"\n\n",
            b"data: [DONE]\n\n"]


def text_answer(count: int) -> List[bytes]:
    return [frame({"content": f" word{i % 1000}"}) for i in range(count)] + end_frames("stop")


def reasoning_answer(count: int) -> List[bytes]:
    half = count // 2
    thoughts = [frame({"reasoning_content": f" idea{i % 1000}"}) for i in range(half)]
    return thoughts + text_answer(count - half)


def calls_answer(count: int, calls: int, size: int = 5) -> List[bytes]:
    frames = [frame({"tool_calls": [{
        "index": i, "id": f"call_{i}", "type": "function",
        "function": {"name": f"tool_{i}", "arguments": '{"text":"'}}]}) for i in range(calls)]
    piece = "abcdefghijklmnop"[:size]
    frames += [frame({"tool_calls": [{"index": i % calls, "function": {"arguments": piece}}]})
               for i in range(count)]
    frames += [frame({"tool_calls": [{"index": i, "function": {"arguments": '"}'}}]})
               for i in range(calls)]
    return frames + end_frames("tool_calls")


def one_large_event() -> List[bytes]:
    return [frame({"content": "x" * (8 * 1024 * 1024)})] + end_frames("stop")


ANSWERS: Dict[str, Callable[[], List[bytes]]] = {
    "text": lambda: text_answer(20_000),
    "reasoning": lambda: reasoning_answer(20_000),
    "calls4": lambda: calls_answer(20_000, 4),
    "call60k": lambda: calls_answer(60_000, 1, 16),
    "call30k": lambda: calls_answer(30_000, 1, 16),
    "call15k": lambda: calls_answer(15_000, 1, 16),
    "small": lambda: text_answer(20),
    "warm": lambda: text_answer(300) + [],
    "large": one_large_event,
    "mb1": lambda: text_answer(4_000),
    "mb10": lambda: text_answer(40_000),
    "mb100": lambda: text_answer(400_000),
    "single": lambda: text_answer(400),
    "bytes": lambda: text_answer(1_000),
}


def expected(frames: Sequence[bytes]) -> str:
    """The digest of what an answer says, read the slow way."""
    text: List[str] = []
    thoughts: List[str] = []
    calls: Dict[int, List[str]] = {}
    for item in frames[:-1]:
        for choice in json.loads(item[6:])["choices"]:
            delta = choice["delta"]
            text.append(delta.get("content", ""))
            thoughts.append(delta.get("reasoning_content", ""))
            for call in delta.get("tool_calls", ()):
                calls.setdefault(call["index"], []).append(call["function"]["arguments"])
    return digest("".join(text), "".join(thoughts), ["".join(p) for p in calls.values()])


def digest(text: str, thoughts: str, arguments: Sequence[str]) -> str:
    said = json.dumps([text, thoughts, list(arguments)])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


# -- the server, a process of its own ----------------------------------------------------

Scenario = Tuple[str, str, str]  # answer, framing, url scheme

SCENARIOS: Dict[str, Scenario] = {
    "text": ("text", "chunked", "http"),
    "reasoning + text": ("reasoning", "chunked", "http"),
    "4 calls interleaved": ("calls4", "chunked", "http"),
    "one call, 60,000 fragments": ("call60k", "chunked", "http"),
    "text, close-delimited": ("text", "close", "http"),
    "text, gzip": ("text", "gzip", "http"),
    "text, CRLF": ("mb1", "crlf", "http"),
    "text, TLS": ("text", "chunked", "https"),
    "one 8 MB event in 1 KB pieces": ("large", "kb", "http"),
    "1,000 events in 1-byte chunks": ("bytes", "byte", "http"),
}


def chunked(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def wire_bytes(answer: str, framing: str) -> bytes:
    """The whole response as it goes over the wire."""
    frames = ANSWERS[answer]()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    if framing == "crlf":
        frames = [item.replace(b"\n", b"\r\n") for item in frames]
    if framing == "close":
        return head + b"Connection: close\r\n\r\n" + b"".join(frames)
    if framing == "gzip":
        packed = gzip.compress(b"".join(frames), 1)
        frames = [packed[i:i + 4096] for i in range(0, len(packed), 4096)]
        head += b"Content-Encoding: gzip\r\n"
    if framing in ("kb", "byte"):
        whole, size = b"".join(frames), 1024 if framing == "kb" else 1
        frames = [whole[i:i + size] for i in range(0, len(whole), size)]
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(map(chunked, frames)) + b"0\r\n\r\n"


class Server:
    """Answers ``POST /<answer>/<framing>/v1/chat/completions``; counts connections."""

    def __init__(self) -> None:
        self.cache: Dict[Tuple[str, str], bytes] = {}
        self.connections = 0
        self.listeners = {
            "http": socket.create_server(("127.0.0.1", 0), backlog=64),
            "https": socket.create_server(("127.0.0.1", 0), backlog=64),
        }
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(CERTS / "server.pem", CERTS / "server.key")

    def serve(self) -> None:
        for scheme in self.listeners:
            threading.Thread(target=self.accept, args=(scheme,), daemon=True).start()
        ports = {name: s.getsockname()[1] for name, s in self.listeners.items()}
        print(json.dumps(ports), flush=True)
        sys.stdin.read()  # until the benchmark ends

    def accept(self, scheme: str) -> None:
        while True:
            sock, _ = self.listeners[scheme].accept()
            self.connections += 1
            threading.Thread(target=self.talk, args=(sock, scheme), daemon=True).start()

    def talk(self, sock: socket.socket, scheme: str) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if scheme == "https":
                sock = self.tls.wrap_socket(sock, server_side=True)
            with sock, sock.makefile("rb") as reader:
                while self.answer(sock, reader):
                    pass
        except OSError:
            pass  # the client has what it wants

    def answer(self, sock: socket.socket, reader: Any) -> bool:
        line = reader.readline()
        if not line:
            return False
        length = 0
        while True:
            header = reader.readline().strip().lower()
            if not header:
                break
            if header.startswith(b"content-length:"):
                length = int(header.split(b":")[1])
        reader.read(length)
        path = line.split()[1].decode().strip("/").split("/")
        if path[0] == "connections":
            body = json.dumps(self.connections).encode()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            return True
        answer, framing = path[0], path[1]
        if framing == "single":
            self.one_by_one(sock, answer)
            return True
        key = (answer, framing)
        if key not in self.cache:
            self.cache[key] = wire_bytes(answer, framing)
        sock.sendall(self.cache[key])
        return framing != "close"

    def one_by_one(self, sock: socket.socket, answer: str) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")
        for item in ANSWERS[answer]():
            now = b'"sent":%.6f,' % time.monotonic()
            sock.sendall(chunked(item.replace(b'"service_tier"', now + b'"service_tier"')))
            time.sleep(0.005)
        sock.sendall(b"0\r\n\r\n")


# -- the clients, each measured in a process of its own ----------------------------------

BODY = {"model": "bench", "messages": [{"role": "user", "content": "go"}], "stream": True}
Result = Tuple[str, str, List[str]]


def collect(events: Iterator[Dict[str, Any]]) -> Result:
    """What a hand-written loop does with payloads."""
    text: List[str] = []
    thoughts: List[str] = []
    calls: Dict[int, List[str]] = {}
    for event in events:
        if not event["choices"]:
            continue
        delta = event["choices"][0]["delta"]
        if delta.get("content"):
            text.append(delta["content"])
        elif delta.get("reasoning_content"):
            thoughts.append(delta["reasoning_content"])
        for call in delta.get("tool_calls") or ():
            calls.setdefault(call["index"], []).append(call["function"]["arguments"])
    return "".join(text), "".join(thoughts), ["".join(pieces) for pieces in calls.values()]


class BareLoop:
    """iter_content(None), split at blank lines, json.loads; nothing is checked."""

    def __init__(self, base: str) -> None:
        import requests

        self.base, self.session = base, requests.Session()

    def call(self, path: str) -> Result:
        with self.session.post(f"{self.base}{path}/v1/chat/completions", json=BODY, stream=True,
                               verify=str(CERTS / "ca.pem")) as answer:
            return collect(self.events(answer))

    def events(self, answer: Any) -> Iterator[Dict[str, Any]]:
        tail = b""
        for piece in answer.iter_content(None):
            *blocks, tail = (tail + piece).split(b"\n\n")
            for block in blocks:
                if block.startswith(b"data: ") and block != b"data: [DONE]":
                    yield json.loads(block[6:])


class SseClientPy(BareLoop):
    """requests, sseclient-py, json."""

    def events(self, answer: Any) -> Iterator[Dict[str, Any]]:
        import sseclient

        for event in sseclient.SSEClient(answer).events():
            if event.data != "[DONE]":
                yield json.loads(event.data)


class Streamcore:
    """Client.stream, all its checks on."""

    def __init__(self, base: str, session_log: Any = None) -> None:
        from streamcore import Client, Limits

        self.clients: Dict[str, Any] = {}
        self.make = lambda path: Client(
            "bench", base_url=f"{base}{path}/v1", verify=str(CERTS / "ca.pem"),
            session_log=session_log,
            limits=Limits(max_event_bytes=16 << 20, max_stream_bytes=1 << 30, total_timeout=None,
                          max_tool_argument_bytes=4 << 20),
        )

    def client(self, path: str) -> Any:
        if path not in self.clients:
            self.clients[path] = self.make(path)
        return self.clients[path]

    def call(self, path: str) -> Result:
        with self.client(path).stream("go") as stream:
            for _ in stream:
                pass
            return as_result(stream.message)


class StreamcoreComplete(Streamcore):
    """Client.complete."""

    def call(self, path: str) -> Result:
        return as_result(self.client(path).complete("go"))


class StreamcoreSession(Streamcore):
    """Client.stream with a session file being written."""

    def __init__(self, base: str) -> None:
        from streamcore import Session

        self.folder = tempfile.TemporaryDirectory()
        super().__init__(base, Session(os.path.join(self.folder.name, "log.jsonl")))


class OpenAi:
    """The openai SDK's plain stream."""

    def __init__(self, base: str) -> None:
        import httpx
        import openai

        self.make = lambda path: openai.OpenAI(
            base_url=f"{base}{path}/v1", api_key="k", max_retries=0,
            http_client=httpx.Client(verify=str(CERTS / "ca.pem")))
        self.clients: Dict[str, Any] = {}

    def call(self, path: str) -> Result:
        client = self.clients.setdefault(path, None) or self.make(path)
        self.clients[path] = client
        text: List[str] = []
        thoughts: List[str] = []
        calls: Dict[int, List[str]] = {}
        for chunk in client.chat.completions.create(**BODY):
            for choice in chunk.choices:
                delta = choice.delta
                text.append(delta.content or "")
                thoughts.append(getattr(delta, "reasoning_content", None) or "")
                for call in delta.tool_calls or ():
                    calls.setdefault(call.index, []).append(call.function.arguments or "")
        return "".join(text), "".join(thoughts), ["".join(p) for p in calls.values()]


class HttpxSse:
    """httpx, httpx-sse, json."""

    def __init__(self, base: str) -> None:
        import httpx

        self.base, self.client = base, httpx.Client(verify=str(CERTS / "ca.pem"), timeout=60)

    def call(self, path: str) -> Result:
        from httpx_sse import connect_sse

        url = f"{self.base}{path}/v1/chat/completions"
        with connect_sse(self.client, "POST", url, json=BODY) as source:
            return collect(json.loads(event.data) for event in source.iter_sse()
                           if event.data != "[DONE]")


def as_result(message: Any) -> Result:
    return message.text, message.reasoning, [call.arguments for call in message.tool_calls]


class JsonFloor:
    """json.loads of each payload, nothing else; no network."""

    def __init__(self, base: str) -> None:
        self.frames: Dict[str, List[bytes]] = {}

    def prepare(self, answer: str, framing: str) -> None:
        self.frames[answer] = [item[6:-2] for item in ANSWERS[answer]()[:-1]]

    def call(self, path: str) -> Result:
        for payload in self.frames[path.strip("/").split("/")[0]]:
            json.loads(payload)
        return "", "", []


class ParseStream(JsonFloor):
    """parse_stream and assemble in memory, an event a piece."""

    def prepare(self, answer: str, framing: str) -> None:
        self.frames[answer] = ANSWERS[answer]()

    def call(self, path: str) -> Result:
        from streamcore import Limits, assemble, parse_stream

        limits = Limits(max_event_bytes=16 << 20, max_tool_argument_bytes=4 << 20)
        frames = self.frames[path.strip("/").split("/")[0]]
        return as_result(assemble(parse_stream(frames, limits=limits)))


CLIENTS: Dict[str, Any] = {
    "json.loads only": JsonFloor,
    "parse_stream": ParseStream,
    "bare loop": BareLoop,
    "Client.stream": Streamcore,
    "Client.complete": StreamcoreComplete,
    "Client.stream + session file": StreamcoreSession,
}
PEERS: Dict[str, Tuple[str, Any]] = {
    "requests + sseclient-py": ("sseclient", SseClientPy),
    "httpx + httpx-sse": ("httpx_sse", HttpxSse),
    "openai SDK": ("openai", OpenAi),
}


def work(name: str, base: str, answer: str, framing: str, warm: str) -> None:
    """Measure one client once and print it; runs in a process of its own."""
    kind = CLIENTS.get(name) or PEERS[name][1]
    client = kind(base)
    for what in (warm, answer):
        if hasattr(client, "prepare"):
            client.prepare(what, framing)
    warm_framing = framing if framing in ("chunked", "close", "gzip", "crlf") else "chunked"
    try:
        client.call(f"/{warm}/{warm_framing}")
    except Exception:  # a client that cannot read this framing shows it in the run that counts
        pass
    before, began = time.process_time(), time.perf_counter()
    try:
        said, fault = digest(*client.call(f"/{answer}/{framing}")), ""
    except Exception as error:
        said, fault = "", f"{type(error).__name__}: {error}"[:120]
    cpu, wall = time.process_time() - before, time.perf_counter() - began
    peak = peak_rss_mb()
    print(json.dumps({"cpu": cpu, "wall": wall, "rss": peak, "said": said, "fault": fault}))


def peak_rss_mb() -> float:
    """The most memory this process had; ru_maxrss would count the parent's, from before exec."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(name: str, base: str, answer: str, framing: str) -> Dict[str, Any]:
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", name, base, answer,
               framing, "warm"]
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **FLAGS}, check=True)
    result: Dict[str, Any] = json.loads(done.stdout)
    return result


# -- the tables --------------------------------------------------------------------------

class Lab:
    """The server process, and the clients that are there."""

    def __init__(self, peers: bool) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, **FLAGS})
        assert self.process.stdout is not None
        ports = json.loads(self.process.stdout.readline())
        self.base = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
        self.clients = list(CLIENTS)
        if peers:
            from importlib.util import find_spec

            self.clients += [name for name, (module, _) in PEERS.items() if find_spec(module)]

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.process.communicate()


def main_table(lab: Lab, repeat: int, word: str) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    for scenario, (answer, framing, scheme) in SCENARIOS.items():
        if word not in scenario:
            continue
        frames = ANSWERS[answer]()
        right, events = expected(frames), len(frames)
        clients = [c for c in lab.clients if "session" not in c or scenario == "text"]
        if framing in ("kb", "byte", "gzip", "crlf", "close") or scheme == "https":
            clients = [c for c in clients if c not in ("json.loads only", "parse_stream")]
        runs: Dict[str, List[Dict[str, Any]]] = {name: [] for name in clients}
        for _ in range(repeat):
            for name in clients:
                runs[name].append(measure(name, lab.base[scheme], answer, framing))
        rows[scenario] = {
            name: summary(found, events, right, name) for name, found in runs.items()
        }
        show_scenario(scenario, events, rows[scenario])
    return rows


def summary(runs: List[Dict[str, Any]], events: int, right: str, name: str) -> Dict[str, Any]:
    faults = sorted({run["fault"] for run in runs if run["fault"]})
    wrong = name != "json.loads only" and any(run["said"] != right for run in runs)
    return {
        "us_per_event": statistics.median(run["cpu"] for run in runs) / events * 1e6,
        "wall": statistics.median(run["wall"] for run in runs),
        "rss_mb": statistics.median(run["rss"] for run in runs),
        "note": "; ".join(faults) or ("WRONG RESULT" if wrong else ""),
    }


def show_scenario(scenario: str, events: int, rows: Dict[str, Any]) -> None:
    bare = rows["bare loop"]["us_per_event"]
    print(f"\n{scenario} ({events:,} events)")
    for name, row in rows.items():
        ratio = row["us_per_event"] / bare
        print(f"  {name:30} {row['us_per_event']:10.2f} µs/event {ratio:7.2f} x"
              f" {row['rss_mb']:7.1f} MB  {row['note']}", flush=True)


def linear_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    for series in (("call15k", "call30k", "call60k"), ("mb1", "mb10", "mb100")):
        for answer in series:
            events = len(ANSWERS[answer]())
            found = [measure("Client.stream", lab.base["http"], answer, "chunked")
                     for _ in range(repeat)]
            cpu = statistics.median(run["cpu"] for run in found)
            rows[answer] = {"events": events, "cpu": cpu, "us_per_event": cpu / events * 1e6}
            print(f"  {answer:8} {events:8,} events {cpu:8.3f} s {cpu / events * 1e6:7.2f} µs/event"
                  f"  {[run['fault'] for run in found if run['fault']] or ''}", flush=True)
    return rows


def import_table(repeat: int) -> Dict[str, Any]:
    rows = {}
    for code in ("pass", "import streamcore", "import streamcore.pipeline", "import requests",
                 "import streamcore.client, requests"):
        times = []
        for _ in range(max(repeat, 9)):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True,
                           env={**os.environ, "PYTHONPATH": str(ROOT)})
            times.append(time.perf_counter() - began)
        rows[code] = statistics.median(times) * 1000
        over = rows[code] - rows["pass"]
        print(f"  {code:40} {rows[code]:7.1f} ms  {over:7.1f} ms over bare Python", flush=True)
    return rows


def calls_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    rates: Dict[str, List[float]] = {"bare loop": [], "Client.stream": []}
    clients = {name: CLIENTS[name](lab.base["http"]) for name in rates}
    for name, client in clients.items():
        before = connections(lab)
        for _ in range(101):
            client.call("/small/chunked")
        rows[f"{name} connections for 101 calls"] = connections(lab) - before - 1
    for _ in range(repeat):
        for name, client in clients.items():
            began = time.perf_counter()
            for _ in range(300):
                client.call("/small/chunked")
            rates[name].append(300 / (time.perf_counter() - began))
    rows.update({f"{name} calls/s": statistics.median(r) for name, r in rates.items()})
    rows["ratio"] = rows["Client.stream calls/s"] / rows["bare loop calls/s"]
    for name, value in rows.items():
        print(f"  {name:45} {value:10.2f}")
    return rows


def connections(lab: Lab) -> int:
    import requests

    return int(requests.post(f"{lab.base['http']}/connections", timeout=5).json())


def single_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    for name in ("bare loop", "Client.stream"):
        command = [sys.executable, str(Path(__file__).resolve()), "--paced", name,
                   lab.base["http"]]
        found = [json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True,
                                           env={**os.environ, **FLAGS}).stdout)
                 for _ in range(min(repeat, 5))]
        rows[name] = {key: statistics.median(run[key] for run in found) for key in found[0]}
        print(f"  {name:20} " + "  ".join(f"{k} {v:.3f}" for k, v in rows[name].items()))
    return rows


def paced(name: str, base: str) -> None:
    """Delay from an event's sending to its delivery, events 5 ms apart; one process."""
    delays: List[float] = []
    client = CLIENTS[name](base)
    client.call("/warm/chunked")
    before = time.process_time()
    if name == "bare loop":
        with client.session.post(f"{base}/single/single/v1/chat/completions", json=BODY,
                                 stream=True) as answer:
            for event in client.events(answer):
                if "sent" in event:
                    delays.append(time.monotonic() - event["sent"])
    else:
        with client.client("/single/single").stream("go", raw=True) as stream:
            for chunk in stream:
                if chunk.type == "text-delta":
                    sent = json.loads(stream.raw[-1].data)["sent"]
                    delays.append(time.monotonic() - sent)
    cpu = (time.process_time() - before) / len(delays)
    delays.sort()
    print(json.dumps({
        "p50_ms": delays[len(delays) // 2] * 1000, "p99_ms": delays[len(delays) * 99 // 100] * 1000,
        "cpu_us": cpu * 1e6,
    }))


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


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="runs per figure (5)")
    parser.add_argument("--peers", action="store_true", help="other libraries too")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("-k", default="", metavar="WORD", help="only scenarios with this word")
    for flag in ("import", "linear", "session", "calls", "single"):
        parser.add_argument(f"--{flag}", action="store_true", dest=f"do_{flag}")
    args = parser.parse_args(argv)
    versions = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    try:
        import requests
        import urllib3
        versions += f", requests {requests.__version__}, urllib3 {urllib3.__version__}"
    except ImportError:
        sys.exit("bench.py needs requests: run it with .venv/test/bin/python")
    print(versions)
    figures: Dict[str, Any] = {"versions": versions}
    if args.do_import:
        figures["import"] = import_table(args.repeat)
    if args.do_session:
        figures["session"] = session_table(args.repeat)
    chosen = args.do_import or args.do_session
    with Lab(args.peers) as lab:
        if args.do_linear:
            figures["linear"] = linear_table(lab, max(3, args.repeat - 2))
        if args.do_calls:
            figures["calls"] = calls_table(lab, args.repeat)
        if args.do_single:
            figures["single"] = single_table(lab, args.repeat)
        if not (chosen or args.do_linear or args.do_calls or args.do_single):
            figures["table"] = main_table(lab, args.repeat, args.k)
    if args.json:
        Path(args.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        Server().serve()
    elif sys.argv[1:2] == ["--worker"]:
        work(*sys.argv[2:7])
    elif sys.argv[1:2] == ["--paced"]:
        paced(*sys.argv[2:4])
    else:
        sys.exit(main(sys.argv[1:]))
