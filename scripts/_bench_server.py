# SPDX-License-Identifier: MIT
"""The benchmark's scripted answers, and the server that sends them.

``ANSWERS`` are events as a provider sends them, ``SCENARIOS`` say how they go over the wire,
``expected`` what they say, read the slow way. ``Server`` runs in a process of its own.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import socket
import ssl
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

CERTS = Path(__file__).resolve().parent.parent / "tests" / "tls"


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


def padded(frames: List[bytes]) -> List[bytes]:
    """The same answer with OpenAI's padding: random letters in each payload."""
    made = []
    for i, item in enumerate(frames[:-1]):
        padding = hashlib.sha256(str(i).encode()).hexdigest()[:i % 16 + 1]
        made.append(item[:-3] + f',"obfuscation":"{padding}"}}\n\n'.encode())
    return made + frames[-1:]


def claude_frame(kind: str, **fields: Any) -> bytes:
    """One event of Anthropic Messages."""
    payload = json.dumps({"type": kind, **fields}, separators=(",", ":"))
    return f"event: {kind}\ndata: {payload}\n\n".encode()


def claude_block(
    index: int, block: Dict[str, Any], deltas: Iterator[Dict[str, Any]]
) -> List[bytes]:
    frames = [claude_frame("content_block_start", index=index, content_block=block)]
    frames += [claude_frame("content_block_delta", index=index, delta=one) for one in deltas]
    return frames + [claude_frame("content_block_stop", index=index)]


def claude_answer(count: int, calls: int = 0) -> List[bytes]:
    """Thinking and text of so many deltas; or so many deltas of arguments, over some calls."""
    message = {"id": "msg_bench", "type": "message", "role": "assistant", "model": "bench-model",
               "content": [], "stop_reason": None, "usage": {"input_tokens": 9}}
    frames = [claude_frame("message_start", message=message)]
    for index in range(calls):
        texts = ['{"text":"', *["abcde"] * (count // calls), '"}']
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": "tool", "input": {}}
        frames += claude_block(index, block, (
            {"type": "input_json_delta", "partial_json": text} for text in texts))
    if not calls:
        frames += claude_block(0, {"type": "thinking", "thinking": "", "signature": ""}, (
            {"type": "thinking_delta", "thinking": f" idea{i % 1000}"} for i in range(count // 2)))
        frames += claude_block(1, {"type": "text", "text": ""}, (
            {"type": "text_delta", "text": f" word{i % 1000}"} for i in range(count // 2)))
    delta = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    return frames + [claude_frame("message_delta", delta=delta, usage={"output_tokens": count}),
                     claude_frame("message_stop")]


def one_large_event() -> List[bytes]:
    return [frame({"content": "x" * (8 * 1024 * 1024)})] + end_frames("stop")


ANSWERS: Dict[str, Callable[[], List[bytes]]] = {
    "text": lambda: text_answer(20_000),
    "padded": lambda: padded(text_answer(20_000)),
    "padded-reasoning": lambda: padded(reasoning_answer(20_000)),
    "padded-calls4": lambda: padded(calls_answer(20_000, 4)),
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
    "slow": lambda: text_answer(100),
    "bytes": lambda: text_answer(1_000),
    "claude": lambda: claude_answer(20_000),
    "claude-calls": lambda: claude_answer(20_000, 4),
    "claude-small": lambda: claude_answer(20),
}


def expected(frames: Sequence[bytes], reasoning: bool = True) -> str:
    """The digest of an answer, read in a slow and simple way, with or without its reasoning."""
    text: List[str] = []
    thoughts: List[str] = []
    calls: Dict[int, List[str]] = {}
    if frames[0].startswith(b"event: "):
        return expected_of_claude(frames, reasoning)
    for item in frames[:-1]:
        for choice in json.loads(item[6:])["choices"]:
            delta = choice["delta"]
            text.append(delta.get("content", ""))
            thoughts.append(delta.get("reasoning_content", "") if reasoning else "")
            for call in delta.get("tool_calls", ()):
                calls.setdefault(call["index"], []).append(call["function"]["arguments"])
    return digest("".join(text), "".join(thoughts), ["".join(p) for p in calls.values()])


def expected_of_claude(frames: Sequence[bytes], reasoning: bool) -> str:
    said: Dict[str, Dict[int, str]] = {"text": {}, "thinking": {}, "partial_json": {}}
    for item in frames:
        payload = json.loads(item[item.index(b"data: ") + 6:])
        for name, texts in said.items():
            text = payload.get("delta", {}).get(name)
            if text is not None:
                texts[payload["index"]] = texts.get(payload["index"], "") + text
    thoughts = "".join(said["thinking"].values()) if reasoning else ""
    return digest("".join(said["text"].values()), thoughts, list(said["partial_json"].values()))


def digest(text: str, thoughts: str, arguments: Sequence[str]) -> str:
    said = json.dumps([text, thoughts, list(arguments)])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


# -- the server --------------------------------------------------------------------------

Scenario = Tuple[str, str, str]  # answer, framing, url scheme

SCENARIOS: Dict[str, Scenario] = {
    "text": ("text", "chunked", "http"),
    "reasoning + text": ("reasoning", "chunked", "http"),
    "4 calls interleaved": ("calls4", "chunked", "http"),
    "one call, 60,000 fragments": ("call60k", "chunked", "http"),
    "text, padded": ("padded", "chunked", "http"),
    "reasoning + text, padded": ("padded-reasoning", "chunked", "http"),
    "4 calls, padded": ("padded-calls4", "chunked", "http"),
    "text, close-delimited": ("text", "close", "http"),
    "text, gzip": ("text", "gzip", "http"),
    "text, CRLF": ("mb1", "crlf", "http"),
    "text, TLS": ("text", "chunked", "https"),
    "one 8 MB event in 1 KB pieces": ("large", "kb", "http"),
    "1,000 events in 1-byte chunks": ("bytes", "byte", "http"),
    "Anthropic: thinking + text": ("claude", "chunked", "http"),
    "Anthropic: 4 calls": ("claude-calls", "chunked", "http"),
}
CLAUDE = tuple(name for name, (answer, _, _) in SCENARIOS.items() if answer.startswith("claude"))
"""The scenarios in Anthropic Messages."""
KINDS_OF_ANSWER = ("text", "reasoning + text", "4 calls interleaved", "one call, 60,000 fragments")
MAIN = (*KINDS_OF_ANSWER, "text, padded", "reasoning + text, padded", "4 calls, padded")


def chunked(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def wire_bytes(answer: str, framing: str) -> bytes:
    """Return the bytes of the whole response."""
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
            "http": socket.create_server(("127.0.0.1", 0), backlog=128),
            "https": socket.create_server(("127.0.0.1", 0), backlog=128),
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
            pass  # the client has left

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
            return framing != "paced-close"
        sock.sendall(self.wire(answer, framing))
        return framing != "close"

    def wire(self, answer: str, framing: str) -> bytes:
        key = (answer, framing)
        if key not in self.cache:
            self.cache[key] = wire_bytes(answer, framing)
        return self.cache[key]


# Framings that send events one by one → the seconds between two events (least, most).
PACED: Dict[str, Tuple[float, float]] = {
    "paced": (0.005, 0.005), "paced-close": (0.005, 0.005), "spread": (0.005, 0.05),
}


def one_by_one(sock: socket.socket, frames: Sequence[bytes], framing: str) -> None:
    """Send a text answer with a pause after each event; its text is the times of sending."""
    close = framing == "paced-close"
    wrap: Callable[[bytes], bytes] = bytes if close else chunked
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 + (b"Connection: close\r\n\r\n" if close
                    else b"Transfer-Encoding: chunked\r\n\r\n"))
    pauses = random.Random(0)
    for _ in frames[:-3]:
        sock.sendall(wrap(frame({"content": f"{time.monotonic():.6f}"})))
        time.sleep(pauses.uniform(*PACED[framing]))
    sock.sendall(b"".join(map(wrap, frames[-3:])) + (b"" if close else b"0\r\n\r\n"))
