# SPDX-License-Identifier: MIT
"""The tool calls of one answer: a provider's fragments in, deltas and whole calls out.

Each fragment is taken apart, given its call (``placing``) and handed to the
``ToolCallAssembler``, which alone decides at the end what can be trusted. Refused:
wrong types (``MALFORMED_RESPONSE``), fragments without a sure place and calls over
a limit (``MALFORMED_TOOL_CALL``).
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from ....values.chunks import StreamChunk, ToolCallDelta
from ....values.messages import Block
from ....values.strictjson import mend_text
from ...toolcalls import ToolCallAssembler
from .content import Count, GrowingText
from .placing import PlacedCall, Placement, read_arguments, read_index
from .shapes import FRAGMENT_FIELDS, FUNCTION_FIELDS, malformed, string

Chunks = List[StreamChunk]


class _OpenCall:
    """One call: its place, its block, and what was told of it so far."""

    __slots__ = ("place", "index", "id_told", "name_told", "arguments")

    def __init__(self, place: PlacedCall, index: int, count: Count) -> None:
        self.place = place
        self.index = index
        self.id_told = False
        self.name_told = False
        self.arguments = GrowingText(index, count, keep=False)


class CallReader:
    """Reads the fragments of one answer.

    Args:
        assembler: joins them, holds the limits, and parses at the end.
        open_block: opens a block of a type in a list of chunks; gives its index.
        count: counts what was skipped, repaired or dropped, by name.
    """

    def __init__(
        self,
        assembler: ToolCallAssembler,
        open_block: Callable[[Chunks, str], int],
        count: Count,
    ) -> None:
        self._assembler = assembler
        self._open_block = open_block
        self._count = count
        self._placement = Placement()
        self._calls: Dict[int, _OpenCall] = {}  # by their number, in opening order
        self._touched: Dict[int, _OpenCall] = {}  # by a provider's index, the last touched there

    def __len__(self) -> int:
        return len(self._calls)

    def add_whole(self, chunks: Chunks, calls: Any) -> None:
        """Take the calls of a message: each item is one call, whatever its index says.

        Raises:
            LlmError: as ``add`` does.
        """
        if type(calls) is list:
            calls = [
                {**call, "index": place} if type(call) is dict else call
                for place, call in enumerate(calls)
            ]
        self.add(chunks, calls)

    def add(self, chunks: Chunks, fragments: Any) -> None:
        """Take the fragments of one delta and append their chunks.

        Raises:
            LlmError: for what has no sure place, a wrong type, or passes a limit.
        """
        if type(fragments) is dict:  # one call without the list round it, as TGI sends it
            fragments = [fragments]
        if type(fragments) is not list:
            raise malformed(f"tool_calls is a {type(fragments).__name__}")
        for fragment in fragments:
            if type(fragment) is dict:
                continued = self._continues(fragment)
                if continued is None:
                    self._add(chunks, fragment)
                else:
                    chunks += continued
            elif fragment is not None:
                raise malformed(f"a tool call is a {type(fragment).__name__}")

    def _continues(self, fragment: Dict[str, Any]) -> Optional[Chunks]:
        # Nearly every fragment of a long call is an index and more text for the call last
        # touched there. _add gives the same for it at over twice the cost (1.9 µs to 0.8);
        # test_call_reader holds both against each other.
        if len(fragment) == 2:
            index, function = fragment.get("index"), fragment.get("function")
            if type(index) is int and type(function) is dict and len(function) == 1:
                return self.more(index, function.get("arguments"))
        return None

    def more(self, index: int, text: Any) -> Optional[Chunks]:
        """Take more arguments for the call last touched at a provider's index.

        Returns:
            its chunks; None where it takes the whole fragment to decide.
        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` before the limit is passed.
        """
        call = self._touched.get(index)
        # "{" may begin a repetition
        if call is None or type(text) is not str or not text or text[0] == "{":
            return None
        place = self._placement.last = call.place
        self._assembler.extend(place.number, text)
        if call.arguments.half or not text.isascii():
            text = call.arguments.add(text)
        return [ToolCallDelta(call.index, None, None, text)] if text else []

    def _add(self, chunks: Chunks, fragment: Dict[str, Any]) -> None:
        function, sent_id, name, arguments = self._take_apart(fragment)
        index = read_index(fragment.get("index"))
        # Blank arguments say nothing, so beside a repeated name they open no further call.
        says = bool(arguments.strip()) if isinstance(arguments, str) else True
        place = self._placement.place(index, sent_id, name, says)
        if sent_id and sent_id != place.sent_id:
            # For each fragment: many are a provider's habit, one may be another call's.
            self._count("tool_call_id_changed")
        text = ""
        if says or arguments:
            text = read_arguments(place, arguments, bool(name), sent_id)
            if not text:
                self._count("tool_call_arguments_repeated")
            elif type(arguments) is dict:
                self._count("tool_call_arguments_object")
        extras = None
        if fragment.keys() - FRAGMENT_FIELDS or function.keys() - FUNCTION_FIELDS:
            extras = _extras(fragment, function)
        self._assembler.add(place.number, place.id, place.name, text, extras)
        call = self._calls.get(place.number)
        if call is None:
            block = self._open_block(chunks, "tool-call")
            call = self._calls[place.number] = _OpenCall(place, block, self._count)
            place.pieces = self._assembler.pieces(place.number)
        elif name and call.name_told and name != place.name:
            self._count("tool_call_name_changed")
        if index is not None:
            self._touched[index] = call
        self._tell(chunks, call, text)

    def _take_apart(self, fragment: Dict[str, Any]) -> Tuple[Dict[str, Any], str, str, Any]:
        """Return a fragment's function, id, name and arguments, each of its right type."""
        function = fragment.get("function")
        if function is None:
            function = {}
        elif type(function) is not dict:
            raise malformed(f"a tool call's function is a {type(function).__name__}")
        sent_id = fragment.get("id")
        if type(sent_id) is not str:
            if sent_id is not None:
                self._count("tool_call_id_odd")
            sent_id = ""
        name = function.get("name")
        name = "" if name is None else mend_text(string(name, "a tool's name"))
        arguments = function.get("arguments")
        if arguments is None:
            arguments = ""
        elif type(arguments) is not str and type(arguments) is not dict:
            raise malformed(f"a call's arguments are a {type(arguments).__name__}")
        return function, mend_text(sent_id), "" if name.isspace() else name, arguments

    def _tell(self, chunks: Chunks, call: _OpenCall, text: str) -> None:
        place = call.place
        if text:
            text = call.arguments.add(text)
        new_id = new_name = None
        if place.id and not call.id_told:
            call.id_told, new_id = True, place.id
        if place.name and not call.name_told:
            call.name_told, new_name = True, place.name
        if text or new_id or new_name:
            chunks.append(ToolCallDelta(call.index, new_id, new_name, text))

    def flush(self, chunks: Chunks) -> None:
        """Give out the halves of characters that were held back."""
        for call in self._calls.values():
            text = call.arguments.finish()
            if text:
                chunks.append(ToolCallDelta(call.index, None, None, text))

    def finish(self) -> List[Tuple[int, Block]]:
        """Return the whole calls with their blocks' indexes, in opening order.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` when one of them cannot be trusted.
        """
        calls = self._assembler.finish()
        for open_call, call in zip(self._calls.values(), calls):
            sent = open_call.place.sent_id
            if call.id != sent:
                self._count("tool_call_id_repeated" if sent else "tool_call_id_made")
            if call.arguments == "{}" and "".join(open_call.place.pieces) != "{}":
                self._count("tool_call_arguments_empty")
        return list(zip([open_call.index for open_call in self._calls.values()], calls))


def _extras(fragment: Dict[str, Any], function: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """The fields of a fragment that only its provider can read, such as thought signatures."""
    if not function.get("arguments"):
        # Kept as opaque, they would be lost unseen, and the call trusted without them.
        if fragment.get("arguments"):
            raise malformed("a tool call's arguments stand beside its function, not in it")
        for name in ("parameters", "input", "args"):
            if function.get(name):
                raise malformed(f"a tool call's arguments stand under the name {name!r}")
    extras = {
        key: value
        for key, value in fragment.items()
        if key not in FRAGMENT_FIELDS and value is not None
    }
    inner = {
        key: value
        for key, value in function.items()
        if key not in FUNCTION_FIELDS and value is not None
    }
    if inner:
        extras["function"] = inner
    return extras or None
