# SPDX-License-Identifier: MIT
"""Measure what an event costs:  python3 scripts/bench.py [--peers] [--json FILE] [-k WORD]

Every client reads the same answers from one scripted server in a process of its own, over real
loopback HTTP, interleaved in one run, each measurement in a fresh process after a warm-up;
medians of --repeat runs (5). CPU µs per event is what a client's own process spends; ratios
are to the bare loop (iter_content(None), split at blank lines, json.loads, no safety) and to
json.loads of the payloads alone. A client whose result is not exactly the scripted one has its
row marked.

    --import     what importing costs, in a fresh interpreter
    --linear     15k, 30k, 60k fragments; 1, 10, 100 MB: work must grow in proportion
    --session    a chunk event in a session log, in memory and on file
    --calls      small keep-alive calls a second, and connections used
    --single     events that come one by one, 5 ms apart: delay and CPU
    --markdown   the README's table: the main scenarios only; --readme writes it there

Without one of these the main table is made. --peers adds other libraries. What is needed is
installed in .venv/bench, with --peers the `bench` extra of setup.cfg in .venv/bench-peers;
--here measures in the running Python, with what it has, and makes nothing.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import datetime
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
import urllib.request
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]  # the latter is absent under -P and -I

import _venv  # noqa: E402

README = ROOT / "README.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
CERTS = ROOT / "tests" / "tls"
CA = str(CERTS / "ca.pem")
FLAGS = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "127.0.0.1"}


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


def padded_answer(count: int) -> List[bytes]:
    """Text of which no payload is like another: OpenAI pads each with letters at random."""
    padded = []
    for i, item in enumerate(text_answer(count)[:count]):
        padding = hashlib.sha256(str(i).encode()).hexdigest()[:i % 16 + 1]
        padded.append(item[:-3] + f',"obfuscation":"{padding}"}}\n\n'.encode())
    return padded + end_frames("stop")


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
    "padded": lambda: padded_answer(20_000),
    "reasoning": lambda: reasoning_answer(20_000),
    "calls4": lambda: calls_answer(20_000, 4),
    "call60k": lambda: calls_answer(60_000, 1, 16),
    "call30k": lambda: calls_answer(30_000, 1, 16),
    "call15k": lambda: calls_answer(15_000, 1, 16),
    "small": lambda: text_answer(20),
    "small-reasoning": lambda: reasoning_answer(20),
    "small-calls": lambda: calls_answer(20, 3),
    "warm": lambda: text_answer(300),
    "large": one_large_event,
    "mb1": lambda: text_answer(4_000),
    "mb10": lambda: text_answer(40_000),
    "mb100": lambda: text_answer(400_000),
    "single": lambda: text_answer(400),
    "bytes": lambda: text_answer(1_000),
}


def expected(frames: Sequence[bytes], reasoning: bool = True) -> str:
    """The digest of what an answer says, read the slow way; or of that without its reasoning."""
    text: List[str] = []
    thoughts: List[str] = []
    calls: Dict[int, List[str]] = {}
    for item in frames[:-1]:
        for choice in json.loads(item[6:])["choices"]:
            delta = choice["delta"]
            text.append(delta.get("content", ""))
            thoughts.append(delta.get("reasoning_content", "") if reasoning else "")
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
    "text, each payload padded": ("padded", "chunked", "http"),
    "text, close-delimited": ("text", "close", "http"),
    "text, gzip": ("text", "gzip", "http"),
    "text, CRLF": ("mb1", "crlf", "http"),
    "text, TLS": ("text", "chunked", "https"),
    "one 8 MB event in 1 KB pieces": ("large", "kb", "http"),
    "1,000 events in 1-byte chunks": ("bytes", "byte", "http"),
}
KINDS_OF_ANSWER = ("text", "reasoning + text", "4 calls interleaved", "one call, 60,000 fragments")
MAIN = (*KINDS_OF_ANSWER, "text, each payload padded")


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
    """Answers ``POST /<answer>/<framing>/v1/chat/completions``; counts connections.

    ``/prepare/<answer>/<framing>`` has an answer made, so that no client's time runs beside it.
    """

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
        if path[0] == "prepare":
            self.wire(path[1], path[2])
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return True
        answer, framing = path[0], path[1]
        if framing in PACED:
            one_by_one(sock, ANSWERS[answer](), framing)
            return framing == "paced"
        sock.sendall(self.wire(answer, framing))
        return framing != "close"

    def wire(self, answer: str, framing: str) -> bytes:
        key = (answer, framing)
        if key not in self.cache:
            self.cache[key] = wire_bytes(answer, framing)
        return self.cache[key]


PACED = ("paced", "paced-close")  # 5 ms apart: in HTTP chunks, or until the connection closes


def one_by_one(sock: socket.socket, frames: Sequence[bytes], framing: str) -> None:
    """Send a text answer with a pause after each event; its text is the times of sending."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    wrap: Callable[[bytes], bytes] = chunked if framing == "paced" else bytes
    sock.sendall(head + (b"Transfer-Encoding: chunked\r\n\r\n" if framing == "paced"
                         else b"Connection: close\r\n\r\n"))
    for _ in frames[:-3]:
        sock.sendall(wrap(frame({"content": f"{time.monotonic():.6f}"})))
        time.sleep(0.005)
    sock.sendall(b"".join(map(wrap, frames[-3:])) + (b"0\r\n\r\n" if wrap is chunked else b""))


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


def contents(events: Iterator[Dict[str, Any]]) -> Iterator[str]:
    """The text of each payload that has one."""
    for event in events:
        if event["choices"] and event["choices"][0]["delta"].get("content"):
            yield event["choices"][0]["delta"]["content"]


class Kind:
    """One way to read an answer; ``where`` it takes part: all scenarios, plain HTTP, or text."""

    where = "all"

    def __init__(self, base: str) -> None:
        self.base = base

    def prepare(self, answer: str, framing: str) -> None:
        """Do beforehand what is not to be measured."""

    def call(self, path: str) -> Result:
        raise NotImplementedError

    def close(self) -> None:
        """Give everything back."""


class BareLoop(Kind):
    """iter_content(None), split at blank lines, json.loads; nothing is checked."""

    def __init__(self, base: str) -> None:
        import requests

        super().__init__(base)
        self.session = requests.Session()

    def post(self, path: str) -> Any:
        return self.session.post(f"{self.base}{path}/v1/chat/completions", json=BODY, stream=True,
                                 verify=CA)

    def call(self, path: str) -> Result:
        with self.post(path) as answer:
            return collect(self.events(answer))

    def deltas(self, path: str) -> Iterator[str]:
        with self.post(path) as answer:
            yield from contents(self.events(answer))

    def events(self, answer: Any) -> Iterator[Dict[str, Any]]:
        tail = b""
        for piece in answer.iter_content(None):
            *blocks, tail = (tail + piece).split(b"\n\n")
            for block in blocks:
                if block.startswith(b"data: ") and block != b"data: [DONE]":
                    yield json.loads(block[6:])

    def close(self) -> None:
        self.session.close()


class SseClientPy(BareLoop):
    """requests, sseclient-py, json."""

    def events(self, answer: Any) -> Iterator[Dict[str, Any]]:
        import sseclient

        for event in sseclient.SSEClient(answer).events():
            if event.data != "[DONE]":
                yield json.loads(event.data)


class PerPath(Kind):
    """One client of the library for each address, kept from call to call."""

    def __init__(self, base: str) -> None:
        super().__init__(base)
        self.clients: Dict[str, Any] = {}

    def client(self, path: str) -> Any:
        if path not in self.clients:
            self.clients[path] = self.make(f"{self.base}{path}/v1")
        return self.clients[path]

    def make(self, url: str) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        for client in self.clients.values():
            client.close()


class Streamcore(PerPath):
    """Client.stream, all its checks on."""

    session_log: Any = None
    json_loads: Any = None

    def make(self, url: str) -> Any:
        from streamcore import Client, Limits

        return Client(
            "bench", base_url=url, verify=CA, session_log=self.session_log,
            json_loads=self.json_loads,
            limits=Limits(max_event_bytes=16 << 20, max_stream_bytes=1 << 30, total_timeout=None,
                          max_tool_argument_bytes=4 << 20),
        )

    def call(self, path: str) -> Result:
        with self.client(path).stream("go") as stream:
            for _ in stream:
                pass
            return as_result(stream.message)

    def deltas(self, path: str) -> Iterator[str]:
        with self.client(path).stream("go") as stream:
            for chunk in stream:
                if chunk.type == "text-delta":
                    yield chunk.text


class StreamcoreComplete(Streamcore):
    """Client.complete."""

    def call(self, path: str) -> Result:
        return as_result(self.client(path).complete("go"))


class StreamcoreSession(Streamcore):
    """Client.stream with a session file being written."""

    where = "text"

    def __init__(self, base: str) -> None:
        from streamcore import Session

        super().__init__(base)
        self.folder = tempfile.TemporaryDirectory()
        self.session_log = Session(os.path.join(self.folder.name, "log.jsonl"))

    def close(self) -> None:
        super().close()
        self.session_log.close()
        self.folder.cleanup()


class StreamcoreOrjson(Streamcore):
    """Client.stream with orjson's parser handed in."""

    where = "plain"

    def __init__(self, base: str) -> None:
        import orjson

        super().__init__(base)
        self.json_loads = orjson.loads


def openai_client(url: str) -> Any:
    import httpx
    import openai

    return openai.OpenAI(base_url=url, api_key="k", max_retries=0,
                         http_client=httpx.Client(verify=ssl.create_default_context(cafile=CA)))


class OpenAi(PerPath):
    """The openai SDK's plain stream."""

    def make(self, url: str) -> Any:
        return openai_client(url)

    def chunks(self, path: str) -> Iterator[Any]:
        return iter(self.client(path).chat.completions.create(**BODY))

    def call(self, path: str) -> Result:
        text: List[str] = []
        thoughts: List[str] = []
        calls: Dict[int, List[str]] = {}
        for chunk in self.chunks(path):
            for choice in chunk.choices:
                delta = choice.delta
                text.append(delta.content or "")
                thoughts.append(getattr(delta, "reasoning_content", None) or "")
                for call in delta.tool_calls or ():
                    calls.setdefault(call.index, []).append(call.function.arguments or "")
        return "".join(text), "".join(thoughts), ["".join(p) for p in calls.values()]


class LiteLlm(OpenAi):
    """litellm.completion through the openai SDK's client, so that both trust one certificate."""

    def chunks(self, path: str) -> Iterator[Any]:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks the network
        import litellm

        litellm.telemetry = False
        wanted = {**BODY, "model": "openai/bench"}
        return iter(litellm.completion(
            **wanted, api_base=f"{self.base}{path}/v1", api_key="k", client=self.client(path)))


class LangChainOpenAi(PerPath):
    """langchain-openai's ChatOpenAI.stream; it hands on no reasoning."""

    def make(self, url: str) -> Any:
        import httpx
        from langchain_openai import ChatOpenAI

        trust = ssl.create_default_context(cafile=CA)
        self.https = [*getattr(self, "https", ()), httpx.Client(verify=trust)]
        return ChatOpenAI(model="bench", base_url=url, api_key="k", max_retries=0,
                          http_client=self.https[-1])

    def call(self, path: str) -> Result:
        text: List[str] = []
        thoughts: List[str] = []
        calls: Dict[int, List[str]] = {}
        for chunk in self.client(path).stream("go"):
            text.append(chunk.content)
            thoughts.append(chunk.additional_kwargs.get("reasoning_content") or "")
            for call in chunk.tool_call_chunks:
                calls.setdefault(call["index"], []).append(call["args"] or "")
        return "".join(text), "".join(thoughts), ["".join(p) for p in calls.values()]

    def close(self) -> None:
        for client in getattr(self, "https", ()):
            client.close()


class HttpxSse(Kind):
    """httpx, httpx-sse, json."""

    def __init__(self, base: str) -> None:
        import httpx

        super().__init__(base)
        self.client = httpx.Client(verify=ssl.create_default_context(cafile=CA), timeout=60)

    def call(self, path: str) -> Result:
        from httpx_sse import connect_sse

        url = f"{self.base}{path}/v1/chat/completions"
        with connect_sse(self.client, "POST", url, json=BODY) as source:
            return collect(json.loads(event.data) for event in source.iter_sse()
                           if event.data != "[DONE]")

    def close(self) -> None:
        self.client.close()


def as_result(message: Any) -> Result:
    return message.text, message.reasoning, [call.arguments for call in message.tool_calls]


class InMemory(Kind):
    """No network: what is read is there, an event a piece."""

    where = "plain"

    def __init__(self, base: str) -> None:
        super().__init__(base)
        self.frames: Dict[str, List[bytes]] = {}

    def prepare(self, answer: str, framing: str) -> None:
        self.frames[answer] = ANSWERS[answer]()

    def read(self, path: str) -> List[bytes]:
        return self.frames[path.strip("/").split("/")[0]]


class JsonFloor(InMemory):
    """json.loads of each payload, nothing else."""

    def prepare(self, answer: str, framing: str) -> None:
        self.frames[answer] = [item[6:-2] for item in ANSWERS[answer]()[:-1]]

    def call(self, path: str) -> Result:
        for payload in self.read(path):
            json.loads(payload)
        return "", "", []


class ParseStream(InMemory):
    """parse_stream; what it said is in its last chunks, the whole blocks."""

    def parsed(self, path: str) -> Any:
        from streamcore import Limits, parse_stream

        limits = Limits(max_event_bytes=16 << 20, max_tool_argument_bytes=4 << 20)
        return parse_stream(self.read(path), limits=limits)

    def call(self, path: str) -> Result:
        said = {"text": [""], "reasoning": [""], "tool-call": []}
        for chunk in collections.deque(self.parsed(path), maxlen=40):
            if chunk.type == "block-end":
                block = chunk.block
                said[block.type].append(
                    block.arguments if block.type == "tool-call" else block.text)
        return "".join(said["text"]), "".join(said["reasoning"]), said["tool-call"]


class ParseAssemble(ParseStream):
    """parse_stream and assemble."""

    def call(self, path: str) -> Result:
        from streamcore import assemble

        return as_result(assemble(self.parsed(path)))


FLOOR, BARE = "json.loads only", "bare loop"
# Each with the module it needs; those of the second table are measured when asked for.
OWN: Dict[str, Tuple[str, Any]] = {
    FLOOR: ("json", JsonFloor),
    "parse_stream": ("json", ParseStream),
    "parse_stream + assemble": ("json", ParseAssemble),
    BARE: ("requests", BareLoop),
    "Client.stream": ("requests", Streamcore),
    "Client.complete": ("requests", StreamcoreComplete),
    "Client.stream + session file": ("requests", StreamcoreSession),
    "Client.stream + orjson": ("orjson", StreamcoreOrjson),
}
PEERS: Dict[str, Tuple[str, Any]] = {
    "requests + sseclient-py": ("sseclient", SseClientPy),
    "httpx + httpx-sse": ("httpx_sse", HttpxSse),
    "openai SDK": ("openai", OpenAi),
    "langchain-openai": ("langchain_openai", LangChainOpenAi),
    "litellm": ("litellm", LiteLlm),
}
KINDS: Dict[str, Any] = {name: kind for name, (_, kind) in [*OWN.items(), *PEERS.items()]}


def installed(peers: bool) -> List[str]:
    """The clients that can be measured in this Python, in the order of the tables."""
    asked = {**OWN, **(PEERS if peers else {})}
    return [name for name, (module, _) in asked.items() if find_spec(module)]


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


def peak_rss_mb() -> float:
    """The most memory this process had; ru_maxrss would count the parent's, from before exec."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(verb: str, *arguments: str) -> Dict[str, Any]:
    """Run ``work`` or ``paced`` in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), f"--{verb}", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **FLAGS}, check=True)
    result: Dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
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
        self.clients = installed(peers)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.process.communicate()

    def ask(self, path: str) -> bytes:
        """Ask the server for something that is not measured."""
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
    return {"all": True, "plain": plain, "text": scenario == "text"}[KINDS[name].where]


def summary(
    runs: List[Dict[str, Any]], events: int, right: Tuple[str, str], name: str
) -> Dict[str, Any]:
    """The medians of a client's runs, and what was wrong with its results."""
    notes = sorted({run["fault"] for run in runs if run["fault"]})
    said = {run["said"] for run in runs}
    if not notes and name != FLOOR and said != {right[0]}:
        notes = ["reasoning lost" if said == {right[1]} else "WRONG RESULT"]
    return {
        "us_per_event": statistics.median(run["cpu"] for run in runs) / events * 1e6,
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
    lines = [f"{title:44} µs/event   × bare   × json  peak MB"]
    for name, row in rows.items():
        ratios = "".join(f"{row[key]:9.2f}" if key in row else " " * 8 + "-"
                         for key in ("to_bare", "to_json"))
        lines.append(f"  {name:42} {row['us_per_event']:8.2f}{ratios}{row['rss_mb']:9.1f}"
                     f"  {row['note']}".rstrip())
    return "\n".join(lines)


OURS, SDK = "Client.stream", "openai SDK"

# what is promised, of which client, against what (a client, or a scenario), at most how many times
TARGETS = (
    *((scenario, OURS, BARE, 1.15) for scenario in MAIN),
    *((scenario, "parse_stream", FLOOR, 1.35) for scenario in MAIN),
    ("text", "Client.stream + session file", BARE, 3.0),
    *((scenario, OURS, SDK, 1 / 12) for scenario in KINDS_OF_ANSWER),
    ("text, close-delimited", OURS, "text", 1.5),
    ("text, TLS", OURS, "text", 1.5),
)
MORE_MEMORY = 8  # MB over the bare loop's peak, at most


def targets_text(rows: Dict[str, Any]) -> str:
    """Say of each target that was measured whether it is held."""
    lines = []
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
    return "\n".join(lines)


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
        # What is in memory beforehand would count as theirs.
        peak = "" if issubclass(KINDS[name], InMemory) else low if low == high else f"{low}–{high}"
        lines.append("| " + " | ".join([name, *map(markdown_cell, found), peak]) + " |")
    return "\n".join(lines) + (
        f"\n\nMedians of {repeat}, interleaved in one run: payloads of about 250 bytes, each in an"
        f" HTTP chunk of its own, loopback.\n{versions}; {date}. Made by `{command}`.\n")


def markdown_cell(row: Optional[Dict[str, Any]]) -> str:
    if row is None:
        return ""
    if row["failed"]:
        return row["note"].replace("|", "\\|")
    note = f", {row['note']}" if row["note"] else ""
    ratio = f" ({row['to_bare']:.2f})" if "to_bare" in row else ""
    return f"{row['us_per_event']:.3g}{ratio}{note}"


def replaced(readme: str, table: str) -> Optional[str]:
    """The README with its table replaced; None where it has no place for one."""
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
                    measure("work", "Client.stream", lab.base["http"], answer, "chunked"))
        for answer in series:
            frames = ANSWERS[answer]()
            right = (expected(frames), "")
            rows[answer] = {"events": len(frames), "growth": growth,
                            **summary(runs[answer], len(frames), right, "Client.stream")}
        mark_growth([rows[answer] for answer in series], bound)
        for answer in series:
            print(linear_line(answer, rows[answer]), flush=True)
    return rows


def mark_growth(rows: Sequence[Dict[str, Any]], bound: float) -> None:
    """Give each row but the first its ratio to the one before, and say where it is too much."""
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


IMPORTS = ("import streamcore", "import streamcore.pipeline", "import streamcore.client",
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
    rates: Dict[str, List[float]] = {BARE: [], "Client.stream": []}
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
    rows["ratio"] = rows["Client.stream calls/s"] / rows["bare loop calls/s"]
    for name, value in rows.items():
        print(f"  {name:45} {value:10.2f}")
    return rows


def single_table(lab: Lab, repeat: int) -> Dict[str, Any]:
    rows: Dict[str, Any] = {}
    kinds = [(framing, name) for framing in PACED for name in (BARE, "Client.stream")]
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


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs per figure (5)")
    parser.add_argument("--peers", action="store_true", help="other libraries too")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("-k", default="", metavar="WORD", help="only scenarios with this word")
    parser.add_argument("--here", action="store_true", help="in this Python; make nothing")
    parser.add_argument("--markdown", action="store_true", help="print the README's table")
    parser.add_argument("--readme", action="store_true", help="write it into README.md")
    for flag in ("import", "linear", "session", "calls", "single"):
        parser.add_argument(f"--{flag}", action="store_true", dest=f"do_{flag}")
    return parser


def in_venv(argv: Sequence[str], peers: bool) -> int:
    """Run this script again in an environment that has what it measures."""
    name, extras = ("bench-peers", ["bench"]) if peers else ("bench", [])
    try:
        python = _venv.ensure(name, _venv.requirements(*extras))
    except _venv.NoVenv as error:
        sys.exit(str(error))
    return _venv.hand_over([python, str(Path(__file__).resolve()), "--here", *argv])


def versions_text(clients: Sequence[str]) -> str:
    """The machine and the version of everything that is measured."""
    asked = ["requests", "urllib3", *(PEERS[name][0] for name in clients if name in PEERS)]
    asked += ["orjson"] * ("Client.stream + orjson" in clients)
    owners = {"sseclient": "sseclient-py"}
    names = [owners.get(module, module.replace("_", "-")) for module in asked]
    found = [f"{name} {metadata.version(name)}" for name in names]
    return ", ".join([f"{os.cpu_count()} cores", f"Python {platform.python_version()}", *found])


def main(argv: Sequence[str]) -> int:
    args = arguments().parse_args(argv)
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
        }
        asked = [name for name in tables if getattr(args, f"do_{name}")]
        for name in asked:
            figures[name] = tables[name]()
        if not asked:
            scenarios = [scenario for scenario in SCENARIOS if args.k in scenario]
            figures["table"] = main_table(lab, args.repeat, scenarios)
            print(f"\ntargets\n{targets_text(figures['table'])}", flush=True)
    return figures


def measured_markdown(args: argparse.Namespace) -> str:
    """Make the README's table; what is measured meanwhile is told on stderr."""
    with contextlib.redirect_stdout(sys.stderr), Lab(args.peers) as lab:
        rows = main_table(lab, args.repeat, [name for name in MAIN if args.k in name])
        print(f"\ntargets\n{targets_text(rows)}", flush=True)
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
    elif sys.argv[1:2] == ["--work"]:
        print(json.dumps(work(*sys.argv[2:])))
    elif sys.argv[1:2] == ["--paced"]:
        print(json.dumps(paced(*sys.argv[2:])))
    else:
        sys.exit(main(sys.argv[1:]))
