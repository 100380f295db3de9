# SPDX-License-Identifier: MIT
"""Tool-call fragments in, whole tool calls out.

Arguments stay text until ``finish``. Then each call is parsed once, strictly. A call that
is not whole fails, and the error tells its index, name, reason and last characters.
Nothing is guessed or repaired. ``push`` joins fragments by their integer index, even if
the fragments of several calls alternate. A dialect may find the call of a fragment in
another way. It then keeps each ``OpenCall`` itself, gives it to ``open`` once, and adds
the later arguments with ``extend``.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Set

from ..values.errors import LlmError
from ..values.frozen import freeze
from ..values.messages import ToolCall, parse_arguments, said_arguments
from ..values.numbers import check_whole
from ..values.strictjson import mend_surrogates, mend_text
from .growing import Count, GrowingText

TAIL_CHARACTERS = 64
"""How many of the last characters of a call's arguments an error shows."""


class OpenCall(GrowingText):
    """One call while it forms: its growing arguments, id, name and extras.

    Args:
        number: the call's own number in the answer. A call without an id gets an id that is
            made of it, such as ``call_0``.
        index: the index of the call's block.
        count: counts surrogate halves that stay alone.
        told: the index that the provider sent, for error messages; None uses ``number``.
    ``size`` counts the UTF-8 bytes of the arguments as they were sent.
    """

    __slots__ = ("number", "told", "id", "name", "size", "extras")

    def __init__(
        self, number: int, index: int, count: Count, told: Optional[int] = None
    ) -> None:
        super().__init__(index, count)
        self.number = number
        self.told = number if told is None else told
        self.id = ""
        self.name = ""
        self.size = 0
        self.extras: Dict[str, Any] = {}


class ToolCallAssembler:
    """Joins the fragments of one answer's tool calls.

    Args:
        max_tool_calls: the most calls in one answer; 1 or more.
        max_tool_argument_bytes: the most UTF-8 bytes in one call's arguments; 1 or more.
    Raises:
        TypeError, ValueError: if a limit is not a whole number of 1 or more.
    ``ignored`` counts the fragments without an integer index.
    """

    def __init__(
        self, max_tool_calls: int = 32, max_tool_argument_bytes: int = 1024 * 1024
    ) -> None:
        check_whole("max_tool_calls", max_tool_calls)
        check_whole("max_tool_argument_bytes", max_tool_argument_bytes)
        self._max_calls = max_tool_calls
        self._max_bytes = max_tool_argument_bytes
        self._calls: Dict[int, OpenCall] = {}  # by number, in opening order
        self.ignored = 0

    def push(self, fragment: Mapping[str, Any]) -> None:
        """Take one fragment as providers send it.

        Args:
            fragment: ``index``, ``id``, ``extras``, and ``function`` with ``name`` and
                ``arguments``. A field that is absent or None has no effect.
        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` for a field of a wrong type, or a fragment that
                would pass a limit.
        """
        index = fragment.get("index")
        if not isinstance(index, int) or isinstance(index, bool):
            self.ignored += 1
            return
        call = self._calls.get(index) or OpenCall(index, index, lambda _: None)
        function = fragment.get("function") or {}
        if not isinstance(function, Mapping):
            raise _fail(call, f"its function is a {type(function).__name__}")
        texts = (fragment.get("id"), function.get("name"), function.get("arguments"))
        for text in texts:
            if not isinstance(text, (str, type(None))):
                raise _fail(call, f"it has a {type(text).__name__} where text must be")
        id, name, arguments = (text or "" for text in texts)
        if index not in self._calls:
            self.open(call)
        call.id = call.id or id
        call.name = call.name or name.strip() and name
        call.extras.update(fragment.get("extras") or {})
        if arguments:
            self.extend(call, arguments)

    def open(self, call: OpenCall) -> None:
        """Take a new call; its ``number`` must be new.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` if the answer then has too many calls.
        """
        if len(self._calls) >= self._max_calls:
            raise _fail(call, f"the answer has more than max_tool_calls ({self._max_calls})")
        self._calls[call.number] = call

    def extend(self, call: OpenCall, arguments: str) -> str:
        """Add to the arguments of an open call; return the part of them that can be shown.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` if the arguments would pass the limit.
        """
        size = call.size + (
            len(arguments)
            if arguments.isascii()
            else len(arguments.encode("utf-8", "surrogatepass"))
        )
        if size > self._max_bytes:
            reason = f"its arguments pass max_tool_argument_bytes ({self._max_bytes} bytes)"
            raise _fail(call, reason)
        call.size = size
        return call.add(arguments)

    def finish(self) -> List[ToolCall]:
        """Parse all calls strictly and return them in the order in which they were opened.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` for the first call that is not whole.
        """
        taken = {call.id for call in self._calls.values() if call.id}
        return [_finished(call, taken) for call in self._calls.values()]


def _finished(call: OpenCall, taken: Set[str]) -> ToolCall:
    call.finish()
    if not call.name:
        raise _fail(call, "it has no name")
    text = said_arguments(call.joined())
    try:
        parse_arguments(text)
        extras = freeze(mend_surrogates(call.extras)) or None
    except ValueError as bad:
        raise _fail(call, f"its arguments are not one JSON document: {bad}") from None
    except RecursionError:  # mending and freezing recurse, and the caller's stack may be deep
        raise _fail(call, "its extras are nested too deeply") from None
    made = call.id or unique_id(f"call_{call.number}", taken)
    taken.add(made)
    return ToolCall(made, call.name, text, extras)


def _fail(call: OpenCall, reason: str) -> LlmError:
    tail = "".join(call.pieces[-TAIL_CHARACTERS:])[-TAIL_CHARACTERS:]
    shown = f"; it ends with {tail!r}" if tail else ""
    return LlmError(
        f"tool call {call.told} ({mend_text(call.name)[:100]!r}): {reason}{shown}",
        "MALFORMED_TOOL_CALL",
        phase="body",
    )


def unique_id(wanted: str, taken: Set[str]) -> str:
    """Return ``wanted``, with ``_2``, ``_3``… appended if it is taken already."""
    made, count = wanted, 1
    while made in taken:
        count += 1
        made = f"{wanted}_{count}"
    return made
