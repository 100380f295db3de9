# SPDX-License-Identifier: MIT
"""The benchmark's clients: each reads one answer and returns text, reasoning and arguments.

``OWN`` are measured always, ``PEERS`` when asked for; each with the module it needs.
"""

from __future__ import annotations

import collections
import json
import os
import ssl
import tempfile
from importlib.util import find_spec
from typing import Any, Dict, Iterator, List, Tuple

from _bench_server import ANSWERS, CERTS

CA = str(CERTS / "ca.pem")
BODY = {"model": "bench", "messages": [{"role": "user", "content": "go"}], "stream": True}
Result = Tuple[str, str, List[str]]


def collect(events: Iterator[Dict[str, Any]]) -> Result:
    """Read payloads as a hand-written loop does."""
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


def collect_claude(events: Iterator[Dict[str, Any]]) -> Result:
    """The same for payloads of Anthropic Messages."""
    text: List[str] = []
    thoughts: List[str] = []
    calls: Dict[int, List[str]] = {}
    for event in events:
        if event["type"] != "content_block_delta":
            continue
        delta = event["delta"]
        if delta["type"] == "text_delta":
            text.append(delta["text"])
        elif delta["type"] == "thinking_delta":
            thoughts.append(delta["thinking"])
        elif delta["type"] == "input_json_delta":
            calls.setdefault(event["index"], []).append(delta["partial_json"])
    return "".join(text), "".join(thoughts), ["".join(pieces) for pieces in calls.values()]


def is_claude(path: str) -> bool:
    """Say whether an answer is in Anthropic Messages."""
    return path.strip("/").startswith("claude")


def contents(events: Iterator[Dict[str, Any]]) -> Iterator[str]:
    """The text of each payload that has one."""
    for event in events:
        if event["choices"] and event["choices"][0]["delta"].get("content"):
            yield event["choices"][0]["delta"]["content"]


class Kind:
    """One way to read an answer.

    ``where`` it takes part: all scenarios, plain HTTP, text, or only where events come slowly.
    ``claude`` says whether it reads Anthropic Messages: ``no``, ``too``, or ``only``.
    """

    where = "all"
    claude = "no"

    def __init__(self, base: str) -> None:
        self.base = base

    def prepare(self, answer: str, framing: str) -> None:
        """Do the work before the measurement."""

    def call(self, path: str) -> Result:
        raise NotImplementedError

    def close(self) -> None:
        """Close what the client holds."""


class BareLoop(Kind):
    """iter_content(None), split at blank lines, json.loads; nothing is checked."""

    claude = "too"
    timeout: Any = None

    def __init__(self, base: str) -> None:
        import requests

        super().__init__(base)
        self.session = requests.Session()

    def post(self, path: str) -> Any:
        return self.session.post(f"{self.base}{path}/v1/chat/completions", json=BODY, stream=True,
                                 verify=CA, timeout=self.timeout)

    def call(self, path: str) -> Result:
        with self.post(path) as answer:
            if is_claude(path):
                return collect_claude(self.claude_events(answer))
            return collect(self.events(answer))

    def claude_events(self, answer: Any) -> Iterator[Dict[str, Any]]:
        tail = b""
        for piece in answer.iter_content(None):
            *blocks, tail = (tail + piece).split(b"\n\n")
            for block in blocks:
                yield json.loads(block[block.index(b"data: ") + 6:])

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


class BareLoopTimed(BareLoop):
    """The bare loop with streamcore's time-outs for connecting and for silence."""

    where = "slow"
    timeout = (10, 30)


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
    """Client.stream with all checks."""

    claude = "too"
    session_log: Any = None
    json_loads: Any = None

    def make(self, url: str) -> Any:
        from streamcore import Client, Limits

        named = {"provider": "anthropic", "api_key": "k"} if "/claude" in url else {}
        return Client(
            "bench", **named, base_url=url, verify=CA, session=self.session_log,
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


class AnthropicSdk(PerPath):
    """The anthropic SDK's plain stream."""

    claude = "only"

    def make(self, url: str) -> Any:
        import anthropic

        base = url[: -len("/v1")]
        return anthropic.Anthropic(base_url=base, api_key="k", max_retries=0)

    def call(self, path: str) -> Result:
        asked = {"model": "bench", "messages": BODY["messages"], "max_tokens": 9}
        events = self.client(path).messages.create(stream=True, **asked)
        return collect_claude(self.plain(event) for event in events)

    def plain(self, event: Any) -> Dict[str, Any]:
        if event.type != "content_block_delta":
            return {"type": event.type}
        delta = {"type": event.delta.type, **vars(event.delta)}
        return {"type": event.type, "index": event.index, "delta": delta}


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
    """langchain-openai's ChatOpenAI.stream; it drops reasoning."""

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
    """Reads from memory, without a network; each piece is one event."""

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
    """parse_stream; the result comes from the whole blocks in its last chunks."""

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


FLOOR, BARE, TIMED = "json.loads only", "bare loop", "bare loop, time-outs"
# Each with the module it needs; those of the second table are measured when asked for.
OWN: Dict[str, Tuple[str, Any]] = {
    FLOOR: ("json", JsonFloor),
    "parse_stream": ("json", ParseStream),
    "parse_stream + assemble": ("json", ParseAssemble),
    BARE: ("requests", BareLoop),
    TIMED: ("requests", BareLoopTimed),
    "Client.stream": ("requests", Streamcore),
    "Client.complete": ("requests", StreamcoreComplete),
    "Client.stream + session file": ("requests", StreamcoreSession),
    "Client.stream + orjson": ("orjson", StreamcoreOrjson),
}
PEERS: Dict[str, Tuple[str, Any]] = {
    "requests + sseclient-py": ("sseclient", SseClientPy),
    "httpx + httpx-sse": ("httpx_sse", HttpxSse),
    "openai SDK": ("openai", OpenAi),
    "anthropic SDK": ("anthropic", AnthropicSdk),
    "langchain-openai": ("langchain_openai", LangChainOpenAi),
    "litellm": ("litellm", LiteLlm),
}
KINDS: Dict[str, Any] = {name: kind for name, (_, kind) in [*OWN.items(), *PEERS.items()]}


def installed(peers: bool) -> List[str]:
    """The clients that can be measured in this Python, in the order of the tables."""
    asked = {**OWN, **(PEERS if peers else {})}
    return [name for name, (module, _) in asked.items() if find_spec(module)]
