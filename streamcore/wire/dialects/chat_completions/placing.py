# SPDX-License-Identifier: MIT
"""Which call a tool-call fragment belongs to.

In: fragments as providers send them. Some give every call the index 0 or no index, some send
a new id with every fragment, repeat names, or send arguments as objects. Out: the call that a
fragment continues, or None if it opens another call. Refused with ``MALFORMED_TOOL_CALL``: a
fragment without a sure place. So two calls are never merged, and no call is lost.
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
_EMPTY = ("{}", "null")  # arguments that are empty


class PlacedCall(OpenCall):
    """One call, with the state that tells whether a fragment continues or repeats it."""

    __slots__ = ("sent_id", "unshown", "_object", "_read", "_spelled")

    def __init__(
        self, number: int, index: int, count: Count, told: Optional[int] = None
    ) -> None:
        super().__init__(number, index, count, told)
        self.sent_id = ""  # the id as the provider wrote it; ``id`` is the same, made unique
        # Empty arguments held back, while others may replace them; None before the first.
        self.unshown: Optional[str] = None
        self._object = WholeObject()  # reads the pieces when ``is_whole`` asks it
        self._read = 0  # how many pieces ``_object`` has read
        self._spelled: Optional[str] = None  # the whole object as sorted JSON, made once

    def is_whole(self) -> bool:
        """Say whether the arguments so far are one whole object with nothing after it."""
        self._object.read("".join(self.pieces[self._read:]))
        self._read = len(self.pieces)
        return self._object.done and not self._half

    def show(self, text: str) -> str:
        """Return the text that can be shown after ``text`` was added to the arguments."""
        if text.strip() in _EMPTY:
            self.unshown = text
            return ""
        text, self.unshown = (self.unshown or "") + text, ""
        return text

    def begin_again(self) -> None:
        """Forget the arguments so far; none of them were shown."""
        self.pieces.clear()
        self.size, self.unshown, self._spelled = 0, None, None
        self._object, self._read = WholeObject(), 0

    def is_repeated(self, arguments: Any) -> bool:
        """Say whether a fragment's arguments, text or object, repeat the whole object so far."""
        if not self.pieces or not self.is_whole():
            return False
        if isinstance(arguments, str):
            arguments = strictjson.mend_text(arguments)
            return self._object.size == len(arguments) and self.joined() == arguments
        if self._spelled is None:  # once is enough: only blanks can follow a whole object
            try:
                self._spelled = _spelled(strictjson.loads(self.joined()))
            except ValueError:  # it only looks like an object: ``finish`` refuses it
                self._spelled = ""
        # Compared as text, because 1 and true are equal in Python but not in JSON.
        return self._spelled == _spelled(arguments)


class WholeObject:
    """Tells whether a growing text is one whole ``{…}``; it reads each character once.

    ``done`` says whether the text so far is whole. ``size`` is its length in characters.
    """

    __slots__ = ("done", "size", "_depth", "_in_string", "_broken", "_escape")

    def __init__(self) -> None:
        self.done = False
        self.size = 0
        self._depth = 0
        self._in_string = False
        self._broken = False  # not an object, or more than one
        self._escape = ""  # a backslash at the end; its character is still to come

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

    A fragment's index decides first, then its id, then its name; comments in ``find`` give the
    rules. ``open`` takes a new call. ``name`` gives it the id that was sent.
    """

    def __init__(self) -> None:
        self._by_index: Dict[int, List[PlacedCall]] = {}  # index → its calls, last used last
        self._by_id: Dict[str, PlacedCall] = {}  # id as sent → the latest call that had it
        self._taken: Set[str] = set()  # the ids of all calls so far
        self._last: Optional[PlacedCall] = None  # the call of the fragment before

    def find(
        self, index: Optional[int], id: str, name: str, arguments: str
    ) -> Optional[PlacedCall]:
        """Return the call that a fragment continues, or None if it opens another.

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
        elif name:  # the name of the last call, repeated, continues that call until it is whole
            if call is None or call.name != name or call.is_whole():
                return None
        elif call is None:
            raise fail("a fragment has no index, no id and no name, and no call is open")
        self._last = call
        return call

    def open(self, call: PlacedCall, index: Optional[int]) -> None:
        """Take a new call, and the provider's index for it."""
        self._last = call
        if index is not None:
            self._by_index.setdefault(index, []).append(call)

    def name(self, call: PlacedCall, id: str) -> None:
        """Give a call the id that was sent, made unique."""
        call.sent_id, call.id = id, unique_id(id, self._taken)
        self._taken.add(call.id)
        self._by_id[id] = call


def _find_by_id(
    here: List[PlacedCall], id: str, name: str, arguments: str
) -> Optional[PlacedCall]:
    """Return the call with an id among the calls of one index, and put it last; or None."""
    known = [call for call in here if call.sent_id == id]
    if known:
        call = known[-1]
        if _is_another(call, name, arguments):
            return None
        here.remove(call)
        here.append(call)
        return call
    call = here[-1]
    if not name:  # some providers send a new id with every fragment
        return call
    # A new id beside a repeated name may belong to the open call, if that has no id yet. Any
    # other new id with a name opens a call, because some providers give every call the index 0.
    is_late = not call.id and name == call.name and not call.is_whole()
    return call if is_late else None


def _begins_another(call: PlacedCall, name: str, arguments: str) -> bool:
    """Say whether a fragment with a name but no id begins another call at a call's index."""
    if arguments.strip() and call.is_whole():  # a name and arguments after a whole call
        return True
    # Another name comes before any argument, and there are no ids: the call before has no
    # arguments. (If the call has an id, its name is sent in parts, and the first part stays.)
    return name != call.name and not call.id and not call.size


def _is_another(call: PlacedCall, name: str, arguments: str) -> bool:
    """Say whether a fragment with a whole call's id but another name begins another call."""
    # Blank arguments are empty, so they never open a further call.
    return name not in ("", call.name) and bool(arguments.strip()) and call.is_whole()


def read_index(index: Any) -> Optional[int]:
    """Return a fragment's index: an integer, or digits in a string; None if it is absent.

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
    """Return the error for a fragment without a sure place."""
    return LlmError(f"tool calls: {reason}", "MALFORMED_TOOL_CALL", phase="body")
