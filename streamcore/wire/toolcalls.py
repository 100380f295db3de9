# SPDX-License-Identifier: MIT
"""Tool-call fragments in, whole tool calls out.

Arguments are text until ``finish``; then each call is parsed once, strictly, and
either is whole or fails with its index, name, reason and last characters. Nothing is
guessed and nothing is repaired. ``push`` joins fragments by their integer index,
interleaved or not. A dialect whose provider says otherwise which call a fragment
belongs to keeps the ``OpenCall`` itself: it hands it to ``open`` once, and to
``extend`` for all that follows.
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


class OpenCall(GrowingText):
    """One call while it forms: its growing arguments, and what else is known of it.

    ``number`` is in an id that is made; ``told`` is the index that the provider sent, and
    names the call in messages, or the number where it sent none; ``index`` is that of its
    block; ``size`` counts the UTF-8 bytes of its arguments as they were sent.
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
        max_tool_calls: distinct calls in one answer; 1 or more.
        max_tool_argument_bytes: UTF-8 bytes of one call's arguments; 1 or more.
    Raises:
        TypeError, ValueError: for a limit that cannot be.
    ``ignored`` counts the fragments that had no legal integer index.
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
                ``arguments``; what is absent or None says nothing.
        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` before a limit is passed.
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
                raise _fail(call, f"it has a {type(text).__name__} in a text's place")
        id, name, arguments = (text or "" for text in texts)
        if index not in self._calls:
            self.open(call)
        call.id = call.id or id
        call.name = call.name or name.strip() and name
        call.extras.update(fragment.get("extras") or {})
        if arguments:
            self.extend(call, arguments)

    def open(self, call: OpenCall) -> None:
        """Take a new call, whose number no other has.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` where it is one too many.
        """
        if len(self._calls) >= self._max_calls:
            raise _fail(call, f"the answer has more than max_tool_calls ({self._max_calls})")
        self._calls[call.number] = call

    def extend(self, call: OpenCall, arguments: str) -> str:
        """Add to the arguments of an open call, and return what of them can be shown.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` before the limit is passed.
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
        """Parse every call, strictly, and return them in opening order.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` when one of them cannot be trusted.
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
    except RecursionError:  # from mending or freezing: the caller's own stack is deep
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
    """Return ``wanted``, or with the first ``_2``, ``_3``… that no taken id has."""
    made, count = wanted, 1
    while made in taken:
        count += 1
        made = f"{wanted}_{count}"
    return made
