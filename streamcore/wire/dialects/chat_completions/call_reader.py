# SPDX-License-Identifier: MIT
"""The tool calls of one answer: a provider's fragments in, deltas and whole calls out.

``placing`` finds the call of each fragment, and the ``ToolCallAssembler`` joins the fragments.
The assembler alone decides at the end which calls can be trusted. Refused: wrong types
(``MALFORMED_RESPONSE``), fragments without a sure place, and calls over a limit
(``MALFORMED_TOOL_CALL``).
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple

from ....values.chunks import StreamChunk, ToolCallDelta
from ....values.messages import Block
from ....values.strictjson import mend_text
from ...growing import Count
from ...toolcalls import ToolCallAssembler
from .placing import PlacedCall, Placement, fail, read_index
from .shapes import malformed, string

Chunks = List[StreamChunk]

# The fields of a fragment, and of its function, that are read. Others become extras.
_KNOWN = frozenset(("index", "id", "type", "function"))
_KNOWN_FUNCTION = frozenset(("name", "arguments"))


class CallReader:
    """Reads the fragments of one answer.

    Args:
        assembler: holds the limits, and parses the calls at the end.
        open_block: appends the start of a block to a list of chunks and returns its index.
        count: counts by name what was skipped, repaired or dropped.
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
        self._calls: List[PlacedCall] = []  # in opening order
        self.took_object = False  # arguments came as an object; the decoder resets it

    def __len__(self) -> int:
        return len(self._calls)

    def add_whole(self, chunks: Chunks, calls: Any) -> None:
        """Take the calls of a whole message: each item is one call, whatever its index is.

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
            LlmError: for a wrong type, a fragment without a sure place, or a limit passed.
        """
        if type(fragments) is dict and fragments:  # TGI sends a fragment without a list
            fragments = [fragments]
        if type(fragments) is not list:
            raise malformed(f"tool_calls is a {type(fragments).__name__}")
        for fragment in fragments:
            if type(fragment) is dict:
                self._add(chunks, fragment)
            elif fragment is not None:
                raise malformed(f"a tool call is a {type(fragment).__name__}")

    def _add(self, chunks: Chunks, fragment: Dict[str, Any]) -> None:
        index, function = fragment.get("index"), fragment.get("function")
        if type(index) is not int:
            index = read_index(index)
        if type(function) is not dict:
            if function is not None:
                raise malformed(f"a tool call's function is a {type(function).__name__}")
            function = {}
        arguments = function.get("arguments")
        if type(arguments) is str:
            text = arguments
        else:
            text = _as_text(arguments)
            self.took_object = self.took_object or bool(arguments)
        sent_id, name, new_id, new_name = "", "", None, None
        says_more = (
            len(fragment) != 2 or len(function) != 1
            or "index" not in fragment or "arguments" not in function
        )
        if says_more:
            sent_id, name = self._read_id(fragment.get("id")), _read_name(function.get("name"))
            extras = _extras(fragment, function)
        call = self._placement.find(index, sent_id, name, text) or self._open(chunks, index)
        if says_more:
            new_id, new_name = self._take_id(call, sent_id), self._take_name(call, name)
            call.extras.update(extras)
        if text[:1] == "{":  # an object that became text begins with a brace, too
            text = self._less_repetition(call, arguments, text)
        if text:
            text = self._assembler.extend(call, text)
            if call.unshown != "":
                text = call.show(text)
        if text or new_id or new_name:
            chunks.append(ToolCallDelta(call.index, new_id, new_name, text))

    def _open(self, chunks: Chunks, index: Optional[int]) -> PlacedCall:
        block = self._open_block(chunks, "tool-call")
        call = PlacedCall(len(self._calls), block, self._count, index)
        self._assembler.open(call)
        self._placement.open(call, index)
        self._calls.append(call)
        return call

    def _read_id(self, sent_id: Any) -> str:
        if type(sent_id) is not str:
            if sent_id is not None:
                self._count("tool_call_id_odd")
            return ""
        return mend_text(sent_id)

    def _take_id(self, call: PlacedCall, sent_id: str) -> Optional[str]:
        """Give a call its id if it has none; return a new id."""
        if sent_id and not call.id:
            self._placement.name(call, sent_id)
            return call.id
        if sent_id not in ("", call.sent_id):
            # Counted for each fragment: many are a provider's habit, a single one may be a fault.
            self._count("tool_call_id_changed")
        return None

    def _take_name(self, call: PlacedCall, name: str) -> Optional[str]:
        """Give a call its name if it has none; return a new name."""
        if name and not call.name:
            call.name = name
            return name
        if name not in ("", call.name):
            self._count("tool_call_name_changed")
        return None

    def _less_repetition(self, call: PlacedCall, arguments: Any, text: str) -> str:
        """Return the text of arguments, or "" if they repeat the whole object before them.

        Arguments that follow an empty object replace it.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` for an object after other arguments.
        """
        if call.is_repeated(arguments):
            self._count("tool_call_arguments_repeated")
            return ""
        if call.unshown:  # some gateways send {} with the name, and the arguments after it
            self._count("tool_call_arguments_begun_again")
            call.begin_again()
        if type(arguments) is dict:
            if call.size:
                raise fail(f"call {call.told}: an object of arguments after other arguments")
            self._count("tool_call_arguments_object")
        return text

    def flush(self, chunks: Chunks) -> None:
        """Append what was held back: empty objects, and halves of characters."""
        for call in self._calls:
            text = (call.unshown or "") + call.finish()
            if text:
                chunks.append(ToolCallDelta(call.index, None, None, text))

    def finish(self) -> List[Tuple[int, Block]]:
        """Return the whole calls and their blocks' indexes, in the order of opening.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` if a call is not whole.
        """
        calls = self._assembler.finish()
        for open_call, call in zip(self._calls, calls):
            sent = open_call.sent_id
            if call.id != sent:
                self._count("tool_call_id_repeated" if sent else "tool_call_id_made")
            if call.arguments == "{}" and open_call.joined() != "{}":
                self._count("tool_call_arguments_empty")
        return [(open_call.index, call) for open_call, call in zip(self._calls, calls)]


def _read_name(name: Any) -> str:
    name = "" if name is None else mend_text(string(name, "a tool's name"))
    return "" if name.isspace() else name


def _as_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    if type(arguments) is not dict:
        raise malformed(f"a call's arguments are a {type(arguments).__name__}")
    return json.dumps(arguments, ensure_ascii=False)


def _extras(fragment: Dict[str, Any], function: Dict[str, Any]) -> Dict[str, Any]:
    """Return the fields that only the provider can read, such as thought signatures."""
    if not function.get("arguments"):
        # As extras, arguments under another name would be lost, and the call trusted without them.
        if fragment.get("arguments"):
            raise malformed("a tool call's arguments are beside its function, not in it")
        for name in ("parameters", "input", "args"):
            if function.get(name):
                raise malformed(f"a tool call's arguments have the name {name!r}")
    extras = _others(fragment, _KNOWN)
    inner = _others(function, _KNOWN_FUNCTION)
    return {**extras, "function": inner} if inner else extras


def _others(fields: Dict[str, Any], known: FrozenSet[str]) -> Dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in known and value is not None}
