# SPDX-License-Identifier: MIT
"""What the tests of Anthropic Messages share: its events, and one way to run them.

``E`` writes an event, ``answer`` a whole stream. ``run`` sends bytes through the whole
pipeline and checks the chunk grammar on the way; ``tell`` does the same, checks nothing and
costs less.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Optional, Union

from streamcore.values.calls import LlmRequest
from streamcore.values.chunks import StreamChunk
from streamcore.values.errors import LlmError
from streamcore.values.frozen import freeze
from streamcore.values.grammar import ChunkGrammar
from streamcore.values.limits import Limits, resolve_limits
from streamcore.values.messages import (
    Block, Message, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall, ToolResult,
)
from streamcore.wire.assembler import MessageAssembler
from streamcore.wire.dialects import find_dialect
from streamcore.wire.dialects.anthropic_messages import AnthropicMessagesOptions
from streamcore.wire.dialects.anthropic_messages.decoder import AnthropicMessagesDecoder
from streamcore.wire.dialects.anthropic_messages.request import write_body
from streamcore.wire.dialects.dialect import Asked
from streamcore.wire.pipeline import iter_chunks

from support import CAPTURES, Outcome, Told, merge, read_events

FOLDER = CAPTURES / "anthropic"
DIALECT = find_dialect("anthropic-messages")


def rows(name: str = "streams.jsonl") -> List[Dict[str, Any]]:
    """Return the rows of an index of the recorded streams; none where it is absent."""
    index = FOLDER / name
    if not index.is_file():
        return []
    return [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]


def body_of(row: Dict[str, Any]) -> bytes:
    """Return the body of a recorded stream."""
    return (FOLDER / row["file"]).read_bytes()


def E(kind: str, **fields: Any) -> bytes:
    """Return one event, named as the provider names it."""
    payload = {"type": kind, **fields}
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\n".encode() + b"data: " + text.encode("utf-8", "surrogatepass") + b"\n\n"


def start(**message: Any) -> bytes:
    """Return the event a stream begins with."""
    usual = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test",
        "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    return E("message_start", message={**usual, **message})


def opens(index: int, kind: str, **fields: Any) -> bytes:
    """Return the start of a block."""
    return E("content_block_start", index=index, content_block={"type": kind, **fields})


def delta(index: int, kind: str, **fields: Any) -> bytes:
    """Return a delta; ``kind`` without its ``_delta``."""
    return E("content_block_delta", index=index, delta={"type": f"{kind}_delta", **fields})


def stops(index: int) -> bytes:
    """Return the end of a block."""
    return E("content_block_stop", index=index)


def text(index: int, *pieces: str, **fields: Any) -> bytes:
    """Return a whole text block."""
    deltas = b"".join(delta(index, "text", text=piece) for piece in pieces)
    return opens(index, "text", text="", **fields) + deltas + stops(index)


def thinking(index: int, words: str, signature: str = "c2ln") -> bytes:
    """Return a whole thinking block."""
    pieces = delta(index, "thinking", thinking=words) if words else b""
    pieces += delta(index, "signature", signature=signature) if signature else b""
    return opens(index, "thinking", thinking="", signature="") + pieces + stops(index)


def call(index: int, id: str, name: str, *pieces: str) -> bytes:
    """Return a whole tool_use block."""
    deltas = b"".join(delta(index, "input_json", partial_json=piece) for piece in pieces)
    return opens(index, "tool_use", id=id, name=name, input={}) + deltas + stops(index)


def ends(reason: Any = "end_turn", **usage: Any) -> bytes:
    """Return the two events a stream ends with."""
    return told(reason, **usage) + E("message_stop")


def told(reason: Any, **usage: Any) -> bytes:
    """Return the event that tells the stop reason."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    return E("message_delta", delta=delta, usage=usage or {"output_tokens": 9})


def answer(*parts: bytes, reason: Any = "end_turn") -> bytes:
    """Return a whole stream."""
    return start() + b"".join(parts) + ends(reason)


def make_decoder(
    limits: Optional[Limits] = None,
    after_tools: bool = False,
    output_cap: Optional[int] = None,
    **options: Any,
) -> AnthropicMessagesDecoder:
    """Make the decoder of one answer, with counters of its own."""
    chosen = AnthropicMessagesOptions(**options).resolved()
    asked = Asked(output_cap, after_tools)
    return AnthropicMessagesDecoder(chosen, resolve_limits(limits), {}, None, asked)


def run(
    body: Union[bytes, Iterable[bytes]], limits: Optional[Limits] = None, **options: Any
) -> Outcome:
    """Send a body, whole or in pieces, through the pipeline.

    Every chunk is checked against the grammar; anything raised but ``LlmError`` goes through.
    """
    pieces = [body] if isinstance(body, bytes) else body
    decoder = make_decoder(limits, **options)
    grammar, assembler = ChunkGrammar(), MessageAssembler("anthropic", DIALECT.name, "m")
    chunks: List[StreamChunk] = []
    try:
        for chunk in iter_chunks(pieces, DIALECT, decoder, resolve_limits(limits)):
            grammar.push(chunk)
            assembler.push(chunk)
            chunks.append(chunk)
    except LlmError as error:
        assert not any(chunk.type == "finish" for chunk in chunks), "an error after the finish"
        return Outcome(merge(chunks), error, decoder.diagnostics, None)
    grammar.finish()
    return Outcome(merge(chunks), None, decoder.diagnostics, assembler.message)


def tell(pieces: Iterable[bytes], **options: Any) -> Told:
    """Send pieces through the pipeline, and check and assemble nothing."""
    decoder = make_decoder(**options)
    chunks: List[StreamChunk] = []
    try:
        for chunk in iter_chunks(pieces, DIALECT, decoder, resolve_limits(None)):
            chunks.append(chunk)
    except LlmError as error:
        return Told(chunks, decoder.diagnostics, error.failure, error.partial)
    return Told(chunks, decoder.diagnostics, None, None)


def recorded_content(body: bytes) -> List[Dict[str, Any]]:
    """Return the content of a whole stream as a client that only adds up would keep it."""
    blocks: Dict[int, Dict[str, Any]] = {}
    inputs: Dict[int, str] = {}
    for event in read_events([body], len(body)).events:
        payload = json.loads(event.data) if event.data != "[DONE]" else {}
        kind, index = payload.get("type"), payload.get("index", 0)
        if kind == "message_start":
            blocks.update(enumerate(payload["message"]["content"]))
        elif kind == "content_block_start":
            blocks[index] = payload["content_block"]
        elif kind == "content_block_delta":
            _add_up(blocks[index], payload["delta"], inputs, index)
    for index, text in inputs.items():
        if text:
            blocks[index]["input"] = json.loads(text)
    return [blocks[index] for index in sorted(blocks)]


def _add_up(
    block: Dict[str, Any], delta: Dict[str, Any], inputs: Dict[int, str], index: int
) -> None:
    for name, value in delta.items():
        if name == "partial_json":
            inputs[index] = inputs.get(index, "") + value
        elif name == "citation":
            block["citations"] = [*(block.get("citations") or []), value]
        elif name != "type" and value:
            block[name] = (block.get(name) or "") + value


def read_body(body: Dict[str, Any]) -> List[Message]:
    """Return the messages of a recorded request, as a reader of one's own would."""
    return [Message(m["role"], tuple(_read_content(m["content"]))) for m in body["messages"]]


def _read_content(content: Any) -> List[Block]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [_read_part(dict(part)) for part in parts]


def _read_part(part: Dict[str, Any]) -> Block:
    kind = part["type"]
    rest = {k: v for k, v in part.items() if k != "type"}
    if kind == "text":
        return TextBlock(rest.pop("text"), freeze(rest) or None)
    if kind == "thinking":
        return ReasoningBlock(rest.pop("thinking"), "thinking", freeze(rest) or None)
    if kind == "tool_use":
        arguments = json.dumps(rest.pop("input"))
        return ToolCall(rest.pop("id"), rest.pop("name"), arguments, freeze(rest) or None)
    if kind == "tool_result":
        call_id, said = rest.pop("tool_use_id"), freeze(rest.pop("content", ""))
        return ToolResult(call_id, said, bool(rest.pop("is_error", False)), freeze(rest) or None)
    return OpaqueBlock(part)


def plain_messages(messages: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Return wire messages in one form: text as blocks, no false errors, neighbours joined."""
    plain: List[Dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        shown = [
            {k: v for k, v in part.items() if v is not None and (k, v) != ("is_error", False)}
            for part in parts
        ]
        shown = [p for p in shown if p["type"] != "text" or p["text"].strip() or len(p) > 2]
        if plain and plain[-1]["role"] == message["role"]:
            plain[-1]["content"] += shown
        else:
            plain.append({"role": message["role"], "content": shown})
    return plain


def write(
    messages: Any, model: str = "claude-opus-4-6", options: Any = None, **asked: Any
) -> Dict[str, Any]:
    """Return the body of a request, whose bytes are checked to be JSON."""
    counters = asked.pop("diagnostics", {})
    effort = asked.get("reasoning_effort")
    fields = {} if effort is None else DIALECT.effort_fields(effort)
    request = LlmRequest.make(model, messages, provider="anthropic", **asked)
    chosen = (options or AnthropicMessagesOptions()).resolved()
    data = write_body(request, chosen, fields, counters)
    body: Dict[str, Any] = json.loads(data)
    return body
