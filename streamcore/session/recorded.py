# SPDX-License-Identifier: MIT
"""Reads requests and answers back out of the log.

In: the events of a session, and the number of one event. Out: the parts of a request
(``RecordedRequest``), its body, or the chunk stream of an answer. Refused with
``ValueError``: an event that has no request or no answer, and a damaged event.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from ..values.calls import CallConfig, LlmRequest
from ..values.chunks import StreamChunk, chunk_from_dict
from ..values.frozen import FrozenDict
from ..values.messages import Message
from ..wire.dialects import find_dialect
from .events import Event
from .history import History, read_entry
from .lines import ASSISTANT, CHUNK, CONTEXT, HEADER, LOST, encode_value
from .records import message_from_record, message_to_record

_SENT = (
    "role", "content", "name", "extras", "form", "provider", "dialect", "requested_model",
)
"""The keys of a message's record that decide how the message is sent."""

_BEFORE = {"developer_role": True, "tool_names": ""}
"""Options of version 0.1, for logs written before these options were recorded."""


@dataclass(frozen=True)
class RecordedRequest:
    """The parts of one request, of which a dialect makes the same body again.

    Args:
        config: the settings of the call, secrets masked.
        adapter_defaults: which settings the adapter filled in, as recorded.
        system: the system prompt, or None.
        tools: the tools as dicts, in order.
        messages: the conversation as it was sent, without ``system``.
        facts: what else was recorded with the request.
    """

    config: FrozenDict
    adapter_defaults: Any
    system: Optional[str]
    tools: Tuple[FrozenDict, ...]
    messages: Tuple[Message, ...]
    facts: FrozenDict


def pack_messages(derived: Sequence[Message], messages: Sequence[Message]) -> List[Any]:
    """Return ``messages`` with slices of ``derived`` in place of the messages in both.

    Each item is ``[start, stop]``, a slice of ``derived``, or the record of a message.

    Raises:
        TypeError, ValueError, RecursionError: when JSON cannot carry a message.
    """
    keys = [_key(message) for message in derived]
    places = {key: place for place, key in enumerate(keys)}
    packed: List[Any] = []
    for message in messages:
        key = _key(message)
        run = packed[-1] if packed and isinstance(packed[-1], list) else [0, 0]
        # First the message after the run: ``places`` has only the last of equal messages.
        goes_on = run[1] < len(keys) and keys[run[1]] == key
        place = run[1] if goes_on else places.get(key)
        if place is None:
            packed.append(message_to_record(message))
        elif run[1] == place and run[1]:
            run[1] += 1
        else:
            packed.append([place, place + 1])
    return packed


def unpack_messages(derived: Sequence[Message], packed: Sequence[Any]) -> List[Message]:
    """Return the messages that ``pack_messages`` packed."""
    found: List[Message] = []
    for item in packed:
        if isinstance(item, list):
            found.extend(derived[item[0] : item[1]])
        else:
            found.append(message_from_record(item))
    return found


def _key(message: Message) -> str:
    record = message_to_record(message)
    return encode_value({name: record[name] for name in _SENT if name in record})


def request_at(events: Sequence[Event], notes: Sequence[int], seq: int) -> RecordedRequest:
    """Return the request that event ``seq`` records or belongs to.

    Args:
        events: all events.
        notes: numbers of all events that are not chunks, ascending.
        seq: number of a ``request/context``, or of any event after it.
    Raises:
        ValueError: when no whole request was recorded up to ``seq``, or when an event is
            lost that the request may have been made of.
    """
    header: Optional[Event] = None
    found: Optional[Tuple[Event, Event]] = None
    lost: Optional[Event] = None
    for number in notes:
        if number > seq:
            break
        event = events[number]
        if event.type == HEADER:
            header = event
        elif event.type == LOST:
            lost = event
        elif event.type == CONTEXT and header is not None:
            found = header, event
    if found is None:
        raise ValueError(f"no request is recorded before event {seq}")
    if lost is not None and found[1].seq <= lost.data["until"]:
        raise ValueError(f"event {lost.seq} is lost, and the request may have used it")
    derived = _history(events, notes, found[1].seq)
    with _reading(f"the request of event {found[1].seq}"):
        return _request(*found, derived)


def _history(events: Sequence[Event], notes: Sequence[int], before: int) -> List[Message]:
    history = History()
    for number in notes:
        if number >= before:
            break
        history.push(read_entry(events[number]))
    return history.messages()


def _request(header: Event, context: Event, derived: List[Message]) -> RecordedRequest:
    data, sent = header.data, context.data
    return RecordedRequest(
        config=data["config"],
        adapter_defaults=data["adapter_defaults"],
        system=data["system"],
        tools=tuple(data["tools"]),
        messages=tuple(unpack_messages(derived, sent["messages"])),
        facts=sent["facts"],
    )


def rebuild_body(sent: RecordedRequest) -> bytes:
    """Return the body of a recorded request, byte for byte as it was sent.

    Raises:
        ValueError: when its facts do not say how the body was written.
    """
    facts = sent.facts
    if "dialect" not in facts or "options" not in facts:
        raise ValueError("the log does not say how the body of this request was written")
    with _reading("the request"):
        config = CallConfig.from_dict(sent.config)
        request = LlmRequest(config, sent.messages, sent.system, sent.tools)
        dialect = find_dialect(facts["dialect"])
        options = dialect.options(**{**_BEFORE, **facts["options"]}).resolved()
        effort_fields = facts.get("effort_fields")
        if effort_fields is None:
            effort = config.reasoning_effort
            effort_fields = {} if effort is None else dialect.effort_fields(effort)
        return dialect.write_body(request, options, effort_fields, {})


def replay(events: Sequence[Event], seq: int) -> Iterator[StreamChunk]:
    """Return the chunk stream of the answer that event ``seq`` holds.

    Raises:
        ValueError: at once, when event ``seq`` is not an ``assistant/message`` or does not
            name its chunks; while iterating, for a damaged chunk.
    """
    event = events[seq]
    if event.type != ASSISTANT:
        raise ValueError(f"event {seq} is a {event.type}, not an {ASSISTANT}")
    seqs = event.data.get("source_seqs")
    if not isinstance(seqs, list) or not all(type(number) is int for number in seqs):
        raise ValueError(f"event {seq} is damaged: source_seqs must be numbers of chunks")
    return _chunks(events, seqs)


def _chunks(events: Sequence[Event], seqs: List[int]) -> Iterator[StreamChunk]:
    for seq in seqs:
        with _reading(f"event {seq}"):
            event = events[seq]
            if event.type != CHUNK:
                raise ValueError(f"event {seq} is a {event.type}, not an {CHUNK}")
            chunk = chunk_from_dict(event.data)
        yield chunk


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Raise ValueError for an event whose line is JSON but whose data does not fit its type."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError) as exc:
        text = f"{what} is damaged: {type(exc).__name__}: {exc}"
        raise ValueError(text) from exc
