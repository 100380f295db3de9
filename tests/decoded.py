# SPDX-License-Identifier: MIT
"""One body, decoded once, to be cut at thousands of places.

A decoder hears of events and of nothing else: the same events come to the same chunks. So
each cut runs through the pipeline and its parser, and the body's own events, as long as they
come in their order, are answered with what the decoder made of them before. Where another
event comes, or the body ends, a real decoder that has heard the same goes on.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from streamcore.values.chunks import StreamChunk
from streamcore.values.errors import LlmError, Partial
from streamcore.values.limits import resolve_limits
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions
from streamcore.wire.sse import SseEnd, SseEvent

from support import Told, event_facts, read_events, tell_by, make_decoder

_DEFAULTS = resolve_limits(None)


class Answer(NamedTuple):
    """What the decoder made of one event."""

    event: SseEvent
    facts: Tuple[Any, ...]  # all that the decoder can see of it
    chunks: List[StreamChunk]
    done: bool
    diagnostics: Dict[str, int]  # all counters up to here


class Decoded:
    """A body whose cuts are told as ``support.tell`` tells them, at a third of the price."""

    def __init__(
        self, body: bytes, *, done_marker: str = "required", think_tags: bool = False
    ) -> None:
        self._options = ChatCompletionsOptions(done_marker=done_marker, think_tags=think_tags)
        self.answers: List[Answer] = []
        self._ended: Any = None  # the decoder of the last end that was refused
        self._ended_at = -1  # the events it has heard
        decoder = self.decoder_after(0)
        try:
            for event in read_events([body]).events:
                chunks = decoder.push(event)
                counters = dict(decoder.diagnostics)
                facts = event_facts(event)
                self.answers.append(Answer(event, facts, chunks, decoder.done, counters))
        except LlmError:  # raised again by the decoder of whoever gets to this event
            pass

    def tell(self, pieces: Iterable[bytes]) -> Told:
        """Send the body, cut or cut short, through the pipeline."""
        return tell_by(Replay(self), pieces)

    def decoder_after(self, count: int) -> Any:
        """Return a decoder that has heard the first ``count`` events."""
        decoder = make_decoder(self._options, _DEFAULTS, {})
        for answer in self.answers[:count]:
            decoder.push(answer.event)
        return decoder

    def decoder_at_end(self, count: int) -> Any:
        """Return the same one again for each end there, until one is taken."""
        if self._ended is None or self._ended_at != count or self._ended.done:
            self._ended, self._ended_at = self.decoder_after(count), count
        return self._ended


class Replay:
    """What the pipeline takes for a decoder."""

    def __init__(self, decoded: Decoded) -> None:
        self._decoded = decoded
        self._heard = 0  # events, all of them the body's own
        self._real: Any = None  # from the first thing on that is not known
        self.done = False

    def push(self, event: SseEvent) -> List[StreamChunk]:
        known = self._known()
        if known is not None and known.facts == event_facts(event):
            self._heard += 1
            self.done = known.done
            return known.chunks
        if self._real is None:
            self._real = self._decoded.decoder_after(self._heard)
        chunks: List[StreamChunk] = self._real.push(event)
        self.done = self._real.done
        return chunks

    def finish(self, end: SseEnd) -> List[StreamChunk]:
        chunks: List[StreamChunk] = self._at_end().finish(end)
        return chunks

    def document(self, text: str) -> List[StreamChunk]:
        self._real = self._decoded.decoder_after(0)
        chunks: List[StreamChunk] = self._real.document(text)
        return chunks

    def partial(self) -> Partial:
        partial: Partial = self._at_end().partial()
        return partial

    @property
    def diagnostics(self) -> Dict[str, int]:
        if self._real is None:
            return self._decoded.answers[self._heard - 1].diagnostics if self._heard else {}
        counters: Dict[str, int] = self._real.diagnostics
        return counters

    def _known(self) -> Optional[Answer]:
        answers = self._decoded.answers
        return answers[self._heard] if self._real is None and self._heard < len(answers) else None

    def _at_end(self) -> Any:
        if self._real is None:
            self._real = self._decoded.decoder_at_end(self._heard)
        return self._real
