# SPDX-License-Identifier: MIT
"""Tool-call fragments in, whole tool calls out.

Fragments are joined by their integer index, interleaved or not. Arguments are
text until ``finish``; then each call is parsed once, strictly, and either is
whole or fails with its index, name, reason and last characters. Nothing is
guessed and nothing is repaired. Which index a provider's fragment belongs to
is the dialect's business.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

from ..values.errors import LlmError
from ..values.frozen import freeze
from ..values.messages import ToolCall, parse_arguments
from ..values.strictjson import mend_surrogates, mend_text

TAIL_CHARACTERS = 64


class _Call:
    """One call while it forms."""

    __slots__ = ("id", "name", "pieces", "size", "extras")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: List[str] = []
        self.size = 0  # UTF-8 bytes in pieces
        self.extras: Dict[str, Any] = {}


class ToolCallAssembler:
    """Joins the fragments of one answer's tool calls.

    Args:
        max_tool_calls: distinct calls in one answer.
        max_tool_argument_bytes: UTF-8 bytes of one call's arguments.
    ``ignored`` counts the fragments that had no legal integer index.
    """

    def __init__(
        self, max_tool_calls: int = 32, max_tool_argument_bytes: int = 1024 * 1024
    ) -> None:
        self._max_calls = max_tool_calls
        self._max_bytes = max_tool_argument_bytes
        self._calls: Dict[int, _Call] = {}  # by index, in opening order
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
        function = fragment.get("function") or {}
        if not isinstance(function, Mapping):
            raise self._fail(index, f"its function is a {type(function).__name__}")
        texts = (fragment.get("id"), function.get("name"), function.get("arguments"))
        for text in texts:
            if not isinstance(text, (str, type(None))):
                raise self._fail(index, f"it has a {type(text).__name__} in a text's place")
        self.add(index, texts[0], texts[1], texts[2] or "", fragment.get("extras"))

    def add(
        self,
        index: int,
        id: Optional[str],
        name: Optional[str],
        arguments: str,
        extras: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Take one fragment already taken apart; see ``push``."""
        call = self._calls.get(index)
        if call is None:
            call = self._open(index)
        if id and not call.id:
            call.id = id
        if name and not call.name and not name.isspace():
            call.name = name
        if extras:
            call.extras.update(extras)
        if arguments:
            self.extend(index, arguments)

    def extend(self, index: int, arguments: str) -> None:
        """Take more arguments of a call that is there already.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` before the limit is passed.
        """
        call = self._calls[index]
        size = call.size + (
            len(arguments)
            if arguments.isascii()
            else len(arguments.encode("utf-8", "surrogatepass"))
        )
        if size > self._max_bytes:
            raise self._fail(
                index, f"its arguments pass max_tool_argument_bytes ({self._max_bytes} bytes)"
            )
        call.size = size
        call.pieces.append(arguments)

    def pieces(self, index: int) -> Sequence[str]:
        """Return the arguments of a call so far: a list that grows with it, to be read only."""
        return self._calls[index].pieces

    def finish(self) -> List[ToolCall]:
        """Parse every call, strictly, and return them in opening order.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` when one of them cannot be trusted.
        """
        taken = {call.id for call in self._calls.values() if call.id}
        return [self._finish(index, taken) for index in self._calls]

    def _finish(self, index: int, taken: Set[str]) -> ToolCall:
        call = self._calls[index]
        if not call.name:
            raise self._fail(index, "it has no name")
        text = mend_text("".join(call.pieces))
        try:
            parse_arguments(text)
        except ValueError as bad:
            raise self._fail(index, f"its arguments are not one JSON document: {bad}") from None
        if not text.strip() or text.strip() == "null":
            text = "{}"
        made = call.id or unique_id(f"call_{index}", taken)
        taken.add(made)
        return ToolCall(made, call.name, text, freeze(mend_surrogates(call.extras)) or None)

    def _open(self, index: int) -> _Call:
        if len(self._calls) >= self._max_calls:
            raise self._fail(index, f"the answer has more than max_tool_calls ({self._max_calls})")
        call = self._calls[index] = _Call()
        return call

    def _fail(self, index: int, reason: str) -> LlmError:
        call = self._calls.get(index)
        name = call.name if call else ""
        tail = "".join(call.pieces[-TAIL_CHARACTERS:])[-TAIL_CHARACTERS:] if call else ""
        shown = f"; it ends with {mend_text(tail)!r}" if tail else ""
        return LlmError(
            f"tool call {index} ({mend_text(name)[:100]!r}): {reason}{shown}",
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
