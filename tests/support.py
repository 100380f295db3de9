# SPDX-License-Identifier: MIT
"""What the stream tests share: bytes for the wire, and one way to run them.

``D``, ``F``, ``J`` and ``DONE`` write events as FAULTS.md does. ``run`` sends
bytes through the whole pipeline, checks the chunk grammar on the way, and returns an
``Outcome``: the chunks with adjacent deltas of one block merged, and the error if any.
Nothing in here reads a clock, the network or the environment.
"""

from __future__ import annotations

import json
import random
import sys
from operator import attrgetter
from pathlib import Path
from typing import (
    Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple,
    Union,
)

from streamcore.values.calls import LlmRequest
from streamcore.values.chunks import (
    BlockStart, ReasoningDelta, StreamChunk, TextDelta, ToolCallDelta,
)
from streamcore.values.errors import Failure, LlmError, Partial
from streamcore.values.limits import Limits, ResolvedLimits, resolve_limits
from streamcore.values.messages import AssistantMessage
from streamcore.wire.assembler import MessageAssembler
from streamcore.wire.dialects import find_dialect
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions
from streamcore.wire.dialects.chat_completions.request import build_body as request_body
from streamcore.wire.json_body import encode_body
from streamcore.wire.pipeline import iter_chunks
from streamcore.wire.sse import SseEnd, SseEvent, SseParser

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
"""The checkout."""
STREAMS = TESTS / "streams"
CAPTURES = TESTS.parent.parent / "shared" / "captures"

DONE = b"data: [DONE]\n\n"

_DEFAULTS = resolve_limits(None)
_DELTAS = (TextDelta, ReasoningDelta, ToolCallDelta)


CHAT = find_dialect("chat-completions")


def make_decoder(
    options: ChatCompletionsOptions = ChatCompletionsOptions(),
    limits: Optional[ResolvedLimits] = None,
    diagnostics: Optional[Dict[str, int]] = None,
    json_loads: Any = None,
) -> Any:
    """Make the decoder of one answer in chat completions."""
    counters = {} if diagnostics is None else diagnostics
    return CHAT.make_decoder(options.resolved(), limits or _DEFAULTS, counters, json_loads)


def build_body(
    request: LlmRequest,
    options: Any = ChatCompletionsOptions(),
    fields: Optional[Mapping[str, Any]] = None,
    diagnostics: Optional[Dict[str, int]] = None,
) -> Dict[str, Any]:
    """Return the body of a request in chat completions, refused where it cannot be sent."""
    effort = request.config.reasoning_effort
    if fields is None:
        fields = {} if effort is None else CHAT.effort_fields(effort)
    counters = {} if diagnostics is None else diagnostics
    body = request_body(request, options.resolved(), fields, counters)
    encode_body(body)
    return body


def J(payload: Any) -> bytes:
    """Return one event with a JSON payload, written compactly and in UTF-8."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return b"data: " + text.encode("utf-8", "surrogatepass") + b"\n\n"


def D(delta: Any, finish: Any = None, **more: Any) -> bytes:
    """Return one event with a delta; ``more`` are fields beside ``choices``."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return J({"id": "c1", "choices": [choice], **more})


def F(word: Any, **more: Any) -> bytes:
    """Return one event with an empty delta and a finish word."""
    return D({}, word, **more)


def call(
    index: Any = None, id: Any = None, name: Any = None, arguments: Any = None, **more: Any
) -> Dict[str, Any]:
    """Return a delta with one tool-call fragment; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    fragment: Dict[str, Any] = {"index": index, "id": id, **more}
    fragment = {key: value for key, value in fragment.items() if value is not None}
    fragment["function"] = {key: value for key, value in function.items() if value is not None}
    return {"tool_calls": [fragment]}


class Outcome(NamedTuple):
    """What a body came to."""

    chunks: Tuple[StreamChunk, ...]  # adjacent deltas of one block merged
    error: Optional[LlmError]
    diagnostics: Dict[str, int]
    answer: Optional[AssistantMessage]

    @property
    def code(self) -> Optional[str]:
        """The error's code, or None for a message."""
        return None if self.error is None else self.error.code

    @property
    def message(self) -> AssistantMessage:
        """The message; a failed answer fails the test with its error."""
        assert self.answer is not None, f"no message but {self.error}"
        return self.answer

    @property
    def told(self) -> Tuple[Any, ...]:
        """All that a caller can see, for comparing two ways of sending the same bytes."""
        if self.error is None:
            return self.chunks, self.diagnostics
        return self.chunks, self.diagnostics, self.error.failure, self.error.partial

    def deltas(self, kind: str) -> List[str]:
        """The texts of the merged deltas of one chunk type."""
        name = "arguments_delta" if kind == "tool-call-delta" else "text"
        return [getattr(chunk, name) for chunk in self.chunks if chunk.type == kind]

    def calls(self) -> List[Tuple[str, str, str]]:
        """Id, name and arguments of the message's calls."""
        return [(c.id, c.name, c.arguments) for c in self.message.tool_calls]


def run(
    body: Union[bytes, Iterable[bytes]],
    *,
    done_marker: str = "required",
    think_tags: bool = False,
    context_window: Optional[int] = None,
    limits: Optional[Limits] = None,
) -> Outcome:
    """Send a body, whole or in pieces, through the pipeline.

    Every chunk is checked against the grammar; anything raised but ``LlmError`` goes through.
    """
    pieces = [body] if isinstance(body, bytes) else body
    options = ChatCompletionsOptions(
        done_marker=done_marker, think_tags=think_tags, context_window=context_window
    )
    diagnostics: Dict[str, int] = {}
    resolved = _DEFAULTS if limits is None else resolve_limits(limits)
    decoder = make_decoder(options, resolved, diagnostics)
    assembler = MessageAssembler()
    chunks: List[StreamChunk] = []
    try:
        for chunk in iter_chunks(pieces, CHAT, decoder, resolved):
            assembler.push(chunk)
            chunks.append(chunk)
    except LlmError as error:
        assert not any(chunk.type == "finish" for chunk in chunks), "an error after the finish"
        return Outcome(merge(chunks), error, diagnostics, None)
    types = [chunk.block_type for chunk in chunks if isinstance(chunk, BlockStart)]
    assert max(types.count("text"), types.count("reasoning")) <= 1, "this dialect has one of each"
    return Outcome(merge(chunks), None, diagnostics, assembler.message)


class Told(NamedTuple):
    """What a body came to, for comparing thousands of cuts: see ``tell``."""

    chunks: List[StreamChunk]  # as they came
    diagnostics: Dict[str, int]
    failure: Optional[Failure]
    partial: Optional[Partial]

    def same(self, other: Told) -> bool:
        """Say whether both told the caller the same: chunks merged, error, counters."""
        return self[1:] == other[1:] and (
            self.chunks == other.chunks or merge(self.chunks) == merge(other.chunks)
        )


def tell(
    pieces: Iterable[bytes], *, done_marker: str = "required", think_tags: bool = False
) -> Told:
    """Send pieces through the pipeline, as ``run`` does, but check and assemble nothing.

    Cheaper by a third. What ``run`` has checked for the whole body holds for every cut of it
    that tells the same chunks.
    """
    options = ChatCompletionsOptions(done_marker=done_marker, think_tags=think_tags)
    return tell_by(make_decoder(options, _DEFAULTS, {}), pieces)


def tell_by(decoder: Any, pieces: Iterable[bytes]) -> Told:
    """The same with a decoder already made."""
    chunks: List[StreamChunk] = []
    try:
        for chunk in iter_chunks(pieces, CHAT, decoder, _DEFAULTS):
            chunks.append(chunk)
    except LlmError as error:
        return Told(chunks, decoder.diagnostics, error.failure, error.partial)
    return Told(chunks, decoder.diagnostics, None, None)


def merge(chunks: Iterable[StreamChunk]) -> Tuple[StreamChunk, ...]:
    """Join adjacent deltas of one block."""
    groups: List[List[Any]] = []
    for chunk in chunks:
        last = groups[-1][-1] if groups else None
        if isinstance(chunk, _DELTAS) and type(last) is type(chunk) and last.index == chunk.index:
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return tuple(group[0] if len(group) == 1 else _join(group) for group in groups)


def _join(group: List[Any]) -> StreamChunk:
    first = group[0]
    if not isinstance(first, ToolCallDelta):
        joined: StreamChunk = type(first)(first.index, "".join([one.text for one in group]))
        return joined
    return ToolCallDelta(
        first.index, next((one.id for one in group if one.id), None),
        next((one.name for one in group if one.name), None),
        "".join([one.arguments_delta for one in group]),
    )


class Events(NamedTuple):
    """What the parser alone makes of a body; equal events make equal chunks."""

    events: List[SseEvent]
    fault: Optional[str]
    end: Optional[Tuple[Any, ...]]


def read_events(pieces: Iterable[bytes], max_event_bytes: int = 256 * 1024) -> Events:
    """Send pieces through a parser of its own."""
    parser = SseParser(max_event_bytes)
    events: List[SseEvent] = []
    try:
        for piece in pieces:
            events += parser.feed(piece)
        end = parser.finish()
    except LlmError as error:
        return Events(events, str(error), None)
    return Events(events, None, end_facts(end))


event_facts = attrgetter(*SseEvent.__slots__)
"""All that an event says, for comparing many: six times as quick as ``==``."""


def end_facts(end: SseEnd) -> Tuple[Any, ...]:
    """All that the end of a body says, for comparing."""
    return tuple(getattr(end, name) for name in end.__slots__)


def two_ways(body: bytes, positions: Iterable[int]) -> Iterator[Tuple[int, List[bytes]]]:
    """Yield the body cut in two at each position."""
    for position in positions:
        yield position, [body[:position], body[position:]]


def bytewise(body: bytes) -> List[bytes]:
    """Return the body one byte a piece."""
    return [body[at:at + 1] for at in range(len(body))]


def random_cuts(body: bytes, chance: random.Random) -> List[bytes]:
    """Return the body in pieces of random sizes, empty ones included."""
    count = chance.choice((1, 2, 3, 8, 40))
    marks = sorted(chance.randint(0, len(body)) for _ in range(count))
    return [body[a:b] for a, b in zip([0, *marks], [*marks, len(body)])]


def sample(size: int, count: int, seed: int, always: Sequence[int] = ()) -> List[int]:
    """Return all positions of a body of up to 4096 bytes, else a seeded sample."""
    if size <= 4096:
        return list(range(size + 1))
    chosen = random.Random(seed).sample(range(size + 1), count)
    return sorted({*chosen, *(at for at in always if 0 <= at <= size)})


def done_position(body: bytes) -> int:
    """Return where the blank line of the body's ``[DONE]`` ends: at or after it, all is told.

    The body's length where there is none; a stream that breaks before it has none.
    """
    limit = max(len(body), 1)
    events = read_events([body], limit).events
    number = next((at for at, event in enumerate(events) if event.data.strip() == "[DONE]"), None)
    return len(body) if number is None else event_end(body, number, limit)


def event_end(body: bytes, number: int, max_event_bytes: int = 256 * 1024) -> int:
    """Return how much of a body tells its event of this number, the first being 0."""
    low, high = 0, len(body)
    while low < high:
        middle = (low + high) // 2
        if len(read_events([body[:middle]], max_event_bytes).events) > number:
            high = middle
        else:
            low = middle + 1
    return low


def no_partial_call(error: LlmError) -> bool:
    """Say whether an error keeps to what it may carry: text, reasoning, usage."""
    return set(Partial.__dataclass_fields__) == {"text", "reasoning", "usage"} and isinstance(
        error.partial, Partial
    )


def capture_rows() -> List[Dict[str, Any]]:
    """Return the rows of the recorded streams; none where the folder is absent."""
    index = CAPTURES / "streams.jsonl"
    if not index.is_file():
        return []
    return [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]


def capture_bytes(row: Dict[str, Any]) -> bytes:
    """Return the body of a recorded stream."""
    return (CAPTURES / row["file"]).read_bytes()


def with_frames_left(left: int, action: Callable[[], Any]) -> Any:
    """Call ``action`` where the stack has room for some ``left`` more calls."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]

    def call_down(count: int) -> Any:
        return action() if count <= 0 else call_down(count - 1)

    return call_down(sys.getrecursionlimit() - depth - left)
