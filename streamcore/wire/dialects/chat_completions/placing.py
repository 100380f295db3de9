# SPDX-License-Identifier: MIT
"""Which call a tool-call fragment belongs to.

In: fragments as providers bend them: every call numbered 0, no numbers, a
fresh id with every fragment, names repeated, arguments as objects.
Out: the call it continues, or None where it opens another. Every
fragment gets a sure place or fails (``MALFORMED_TOOL_CALL``): two calls are
never merged and none is lost.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Set

from ....values import strictjson
from ....values.errors import LlmError
from ...growing import Count
from ...toolcalls import OpenCall, unique_id

_MARKS = re.compile(r'\\.?|["{}\[\]]|[^\s\\"{}\[\]]+', re.DOTALL)
_EMPTY = ("{}", "null")  # arguments that say nothing


class PlacedCall(OpenCall):
    """One call, and what tells whether a fragment continues or repeats it."""

    __slots__ = ("sent_id", "unshown", "_object", "_read", "_spelled")

    def __init__(
        self, number: int, index: int, count: Count, told: Optional[int] = None
    ) -> None:
        super().__init__(number, index, count, told)
        self.sent_id = ""  # the id as the provider wrote it; ``id`` is the same, made unique
        # Arguments that say nothing, while others may take their place; None before the first.
        self.unshown: Optional[str] = None
        self._object = WholeObject()  # reads along, only when asked
        self._read = 0  # how many pieces it has read
        self._spelled: Optional[str] = None  # the whole object in one spelling, made once

    def is_whole(self) -> bool:
        """Say whether the arguments so far are one whole object and nothing after it."""
        self._object.read("".join(self.pieces[self._read:]))
        self._read = len(self.pieces)
        return self._object.done and not self._half

    def show(self, text: str) -> str:
        """Return what can be shown of the arguments that were just added."""
        if text.strip() in _EMPTY:
            self.unshown = text
            return ""
        text, self.unshown = (self.unshown or "") + text, ""
        return text

    def begin_again(self) -> None:
        """Forget the arguments so far, of which none were shown."""
        self.pieces.clear()
        self.size, self.unshown, self._spelled = 0, None, None
        self._object, self._read = WholeObject(), 0

    def is_repeated(self, arguments: Any) -> bool:
        """Say whether a fragment's arguments, text or object, are the whole that is there."""
        if not self.pieces or not self.is_whole():
            return False
        if isinstance(arguments, str):
            arguments = strictjson.mend_text(arguments)
            return self._object.size == len(arguments) and self.joined() == arguments
        if self._spelled is None:  # blanks may follow, which change nothing
            try:
                self._spelled = _spelled(strictjson.loads(self.joined()))
            except ValueError:  # it only looks like an object: ``finish`` says so
                self._spelled = ""
        # Compared as text: Python holds 1 and true for equal, JSON does not.
        return self._spelled == _spelled(arguments)


class WholeObject:
    """Tells, reading along, whether a text is one whole ``{…}``: each character once.

    ``done`` says so of the text so far, whose length is ``size``.
    """

    __slots__ = ("done", "size", "_depth", "_in_string", "_broken", "_escape")

    def __init__(self) -> None:
        self.done = False
        self.size = 0
        self._depth = 0
        self._in_string = False
        self._broken = False  # not an object, or more than one
        self._escape = ""  # a backslash at the end, whose character is still to come

    def read(self, piece: str) -> None:
        """Take the next characters."""
        self.size += len(piece)
        marks = _MARKS.findall(self._escape + piece)
        self._escape = marks.pop() if marks and marks[-1] == "\\" else ""
        for mark in marks:
            if self._in_string:
                self._in_string = mark != '"'
                continue
            if self.done or (not self._depth and mark != "{"):
                self._broken = True
            self._depth += (mark in "{[") - (mark in "}]")
            self._in_string = mark == '"'
            self.done = mark == "}" and self._depth == 0 and not self._broken


class Placement:
    """Gives each fragment of one answer its call.

    The rules are those of a provider's index first, then its id, then its name;
    ``find`` says each where it decides. ``open`` takes a call that is new, ``name`` gives
    it the id that was sent.
    """

    def __init__(self) -> None:
        self._by_index: Dict[int, List[PlacedCall]] = {}  # opened there; the last touched is last
        self._by_id: Dict[str, PlacedCall] = {}  # by the id as sent; the latest call that had it
        self._taken: Set[str] = set()  # ids given out
        self._last: Optional[PlacedCall] = None  # the call last touched, whoever says so

    def find(
        self, index: Optional[int], id: str, name: str, arguments: str
    ) -> Optional[PlacedCall]:
        """Return the call that a fragment continues, or None where it opens another.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` for a fragment that belongs to no call.
        """
        call = self._last
        if index is not None:
            here = self._by_index.get(index)
            if not here:  # a new index opens a call
                return None
            call = here[-1]
            if id:
                call = _find_by_id(here, id, name, arguments)
            elif name and _begins_another(call, name, arguments):
                return None
        elif id:
            call = self._by_id.get(id)
            if call is not None and _is_another(call, name, arguments):
                return None
        elif name:  # the name of the call at hand, again, continues it while it is not whole
            if call is None or call.name != name or call.is_whole():
                return None
        elif call is None:
            raise fail("a fragment has no index, no id and no name, and no call is open")
        self._last = call
        return call

    def open(self, call: PlacedCall, index: Optional[int]) -> None:
        """Take a new call, and the provider's index it was opened at."""
        self._last = call
        if index is not None:
            self._by_index.setdefault(index, []).append(call)

    def name(self, call: PlacedCall, id: str) -> None:
        """Give a call its id: the one that was sent, made unique."""
        call.sent_id, call.id = id, unique_id(id, self._taken)
        self._taken.add(call.id)
        self._by_id[id] = call


def _find_by_id(
    here: List[PlacedCall], id: str, name: str, arguments: str
) -> Optional[PlacedCall]:
    """Return the call that an id picks among those opened at one index, and put it last."""
    known = [call for call in here if call.sent_id == id]
    if known:
        call = known[-1]
        if _is_another(call, name, arguments):
            return None
        here.remove(call)
        here.append(call)
        return call
    call = here[-1]
    if not name:  # some send a fresh id with every fragment
        return call
    # An id with the name repeated may name the call that is open without one. Any other new
    # id with a name opens a call: some providers send every call as 0.
    is_late = not call.id and name == call.name and not call.is_whole()
    return call if is_late else None


def _begins_another(call: PlacedCall, name: str, arguments: str) -> bool:
    """Say whether a fragment with a name and no id begins another call at the index of one."""
    if arguments.strip() and call.is_whole():  # name and arguments again
        return True
    # No ids at all, and another name before any argument: a call without arguments
    # stood here. (With an id it is one name sent in parts, and the first part stays.)
    return name != call.name and not call.id and not call.size


def _is_another(call: PlacedCall, name: str, arguments: str) -> bool:
    """Say whether a fragment with a call's id and another name, after its end, is another call."""
    # Blank arguments say nothing, so beside a repeated name they open no further call.
    return name not in ("", call.name) and bool(arguments.strip()) and call.is_whole()


def read_index(index: Any) -> Optional[int]:
    """Read a fragment's index: any integer, digits in a string too; None when absent.

    Raises:
        LlmError: ``MALFORMED_TOOL_CALL`` for anything else.
    """
    if index is None or type(index) is int:
        return index
    if isinstance(index, str) and re.fullmatch(r"\s*-?[0-9]{1,9}\s*", index):
        return int(index)
    raise fail(f"a fragment's index is {str(index)[:40]!r}")


def _spelled(value: Any) -> str:
    return json.dumps(strictjson.mend_surrogates(value), sort_keys=True)


def fail(reason: str) -> LlmError:
    """Return the error for a fragment that has no sure place."""
    return LlmError(f"tool calls: {reason}", "MALFORMED_TOOL_CALL", phase="body")
