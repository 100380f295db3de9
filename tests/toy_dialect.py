# SPDX-License-Identifier: MIT
"""A dialect made outside the package, as small as one can be: the seam must need no more.

Each event is a JSON object with one key: ``text``, ``think``, ``thing`` (a part that is kept as
it is), ``call`` (``n``, ``id``, ``name``, ``args``; a fragment), ``error``, or ``end``, the finish
word; ``end`` proves the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Dict, List, Mapping

from streamcore.values.calls import LlmRequest
from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, ReasoningDelta, StreamChunk, TextDelta,
    ToolCallDelta, UsageChunk,
)
from streamcore.values.errors import LlmError, Partial
from streamcore.values.frozen import FrozenDict
from streamcore.values.messages import OpaqueBlock, ReasoningBlock, TextBlock
from streamcore.values.strictjson import loads_unique
from streamcore.values.usage import TokenUsage
from streamcore.wire.dialects import Dialect, DialectOptions
from streamcore.wire.dialects.options import NOT_GIVEN
from streamcore.wire.history import check_history
from streamcore.wire.json_body import encode_body
from streamcore.wire.toolcalls import ToolCallAssembler

KINDS = {"text": (TextDelta, TextBlock), "reasoning": (ReasoningDelta, ReasoningBlock)}


@dataclass(frozen=True)
class ToyOptions(DialectOptions):
    polite: bool = NOT_GIVEN

    DEFAULTS: ClassVar[Mapping[str, Any]] = FrozenDict(DialectOptions.DEFAULTS, polite=False)


class ToyDecoder:
    def __init__(self, options: Any, limits: Any, diagnostics: Any, json_loads: Any,
                 asked: Any) -> None:
        self.done = False
        self._blocks: List[Any] = []  # in opening order: [type, text], an opaque block, a call's n
        self._calls = ToolCallAssembler(limits.max_tool_calls, limits.max_tool_argument_bytes)

    def push(self, event: Any) -> List[StreamChunk]:
        try:
            ((key, value),) = loads_unique(event.data).items()
            return getattr(self, f"_take_{key}")(value)
        except (ValueError, AttributeError, KeyError, TypeError):
            raise LlmError("an event is no toy frame", "MALFORMED_RESPONSE", phase="body") from None

    def finish(self, end: Any) -> List[StreamChunk]:
        raise LlmError("the body ended before its end frame", "STREAM_CLOSED", phase="body")

    def document(self, text: str) -> List[StreamChunk]:
        raise LlmError("a document is no toy stream", "MALFORMED_RESPONSE", phase="body")

    def partial(self) -> Partial:
        said = [block for block in self._blocks if isinstance(block, list)]
        return Partial(*("".join(t for kind, t in said if kind == wanted) for wanted in KINDS))

    def _take_error(self, words: str) -> List[StreamChunk]:
        raise LlmError(words, "SERVER", phase="body")

    def _take_think(self, text: str) -> List[StreamChunk]:
        return self._take_text(text, "reasoning")

    def _take_text(self, text: str, kind: str = "text") -> List[StreamChunk]:
        new = not self._blocks or not isinstance(self._blocks[-1], list) or (
            self._blocks[-1][0] != kind)
        self._blocks += [[kind, ""]] if new else []
        self._blocks[-1][1] += text
        index = len(self._blocks) - 1
        return [*([BlockStart(index, kind)] if new else []), KINDS[kind][0](index, text)]

    def _take_thing(self, part: Dict[str, Any]) -> List[StreamChunk]:
        self._blocks.append(OpaqueBlock(FrozenDict(part)))
        return [BlockStart(len(self._blocks) - 1, "opaque", part["type"])]

    def _take_call(self, call: Dict[str, Any]) -> List[StreamChunk]:
        self._calls.push({"index": call["n"], "id": call.get("id"), "function": {
            "name": call.get("name"), "arguments": call["args"]}})
        new = call["n"] not in self._blocks
        self._blocks += [call["n"]] if new else []
        index = self._blocks.index(call["n"])
        delta = ToolCallDelta(index, call.get("id"), call.get("name"), call["args"])
        return [BlockStart(index, "tool-call"), delta] if new else [delta]

    def _take_end(self, word: str) -> List[StreamChunk]:
        finish = Finish(FinishReason(word), word, "toy-1", "r")
        calls = iter([] if word == "max-tokens" else self._calls.finish())
        wholes = [KINDS[b[0]][1](b[1]) if isinstance(b, list) else b if isinstance(b, OpaqueBlock)
                  else next(calls, None) for b in self._blocks]
        self.done = True
        ends = [BlockEnd(index, whole) for index, whole in enumerate(wholes) if whole is not None]
        return [*ends, UsageChunk(TokenUsage(1, 1)), finish]


def write_body(request: LlmRequest, options: Any, effort_fields: Mapping[str, Any],
               diagnostics: Dict[str, int]) -> bytes:
    check_history(request.messages)
    said = [message.to_record() for message in request.messages]
    return encode_body({"ask": request.config.model, "said": said, "tools": list(request.tools),
                        "please": options.polite, "system": request.system, **effort_fields})


TOY = Dialect("toy", ToyOptions, "the end frame", "/toy", ToyDecoder, write_body,
              lambda effort: {"effort": effort}, ("ask", "said"),
              lambda payload: len(payload) == 1 and bool({"text", "think"} & set(payload)))
