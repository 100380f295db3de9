# SPDX-License-Identifier: MIT
"""Which call a tool-call fragment belongs to.

In: fragments as providers bend them: every call numbered 0, no numbers, a
fresh id with every fragment, names repeated, arguments as objects.
Out: the number of its call, counted in opening order, and clean fields. Every
fragment gets a sure place or fails (``MALFORMED_TOOL_CALL``): two calls are
never merged and none is lost.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Sequence, Set

from ....values import strictjson
from ....values.errors import LlmError
from ...toolcalls import unique_id

_TOKENS = re.compile(r'[{}\[\]"]|[^\s{}\[\]"]+')
_STRING_MARKS = re.compile(r'["\\]')


class PlacedCall:
    """One call: its number, and what tells whether a fragment continues it.

    ``pieces`` are its arguments so far, in the assembler's own list: set once it has one.
    """

    __slots__ = ("number", "sent_id", "id", "name", "pieces", "_whole", "_read")

    def __init__(self, number: int, sent_id: str, id: str) -> None:
        self.number = number
        self.sent_id = sent_id  # the id as the provider wrote it
        self.id = id  # the same, made unique
        self.name = ""
        self.pieces: Sequence[str] = ()
        self._whole = WholeObject()  # reads along, only when asked
        self._read = 0  # how many pieces it has read

    def whole(self) -> Optional[WholeObject]:
        """Return the arguments so far where they are one whole object and nothing after it."""
        new = self.pieces[self._read:] if self._read else self.pieces
        self._read = len(self.pieces)
        self._whole.read("".join(new))
        return self._whole if self._whole.done else None


class WholeObject:
    """Tells, reading along, whether a text is one whole ``{…}``: each character once."""

    __slots__ = (
        "done", "size", "_text", "_canonical", "_depth", "_in_string", "_escaped", "_broken",
    )  # fmt: skip

    def __init__(self) -> None:
        self.done = False
        self.size = 0  # characters read
        self._text: List[str] = []  # all of them, for comparing a repetition with it
        self._canonical: Optional[str] = None  # the same in one spelling, made once
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._broken = False  # not an object, or more than one

    def read(self, piece: str) -> None:
        """Take the next characters."""
        if not piece:
            return
        self._text.append(piece)
        self.size += len(piece)
        self._canonical = None
        at = 0
        while at < len(piece):
            if self._in_string:
                at = self._read_string(piece, at)
                continue
            token = _TOKENS.search(piece, at)
            if token is None:
                return
            at = token.end()
            self._read_token(token.group())

    def text(self) -> str:
        """Return what was read."""
        self._text = ["".join(self._text)]
        return self._text[0]

    def canonical(self) -> Optional[str]:
        """Return what was read in one spelling; None where it is no JSON: ``finish`` says so."""
        if self._canonical is None:
            try:
                self._canonical = _spelled(strictjson.loads(self.text()))
            except ValueError:
                return None
        return self._canonical

    def _read_token(self, token: str) -> None:
        if self.done or (not self._depth and token != "{"):
            self._broken, self.done = True, False
        if token in "{[":
            self._depth += 1
        elif token in "}]":
            self._depth -= 1
            self.done = self._depth == 0 and not self._broken
        elif token == '"':
            self._in_string = True

    def _read_string(self, piece: str, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        mark = _STRING_MARKS.search(piece, at)
        if mark is None:
            return len(piece)
        self._escaped = mark.group() == "\\"
        self._in_string = self._escaped
        return mark.end()


class Placement:
    """Gives each fragment of one answer its call.

    The rules are those of a provider's index first, then its id, then its name;
    ``place`` says each where it decides.
    """

    def __init__(self) -> None:
        self._by_index: Dict[int, List[PlacedCall]] = {}  # opened there; the last touched is last
        self._by_id: Dict[str, PlacedCall] = {}  # by the id as sent; the latest call that had it
        self._taken: Set[str] = set()  # ids given out
        self.last: Optional[PlacedCall] = None  # the call last touched, whoever says so
        self._count = 0

    def place(
        self, index: Optional[int], id: str, name: str, has_arguments: bool
    ) -> PlacedCall:
        """Return the call of a fragment, which may be a new one.

        Raises:
            LlmError: ``MALFORMED_TOOL_CALL`` for a fragment that belongs to no call.
        """
        if index is None:
            call = self._place_unnumbered(id, name, has_arguments)
        else:
            call = self._place_numbered(index, id, name, has_arguments)
        if id and not call.id:
            self._name(call, id)
        if name and not call.name:
            call.name = name
        self.last = call
        return call

    def _place_numbered(
        self, index: int, id: str, name: str, has_arguments: bool
    ) -> PlacedCall:
        here = self._by_index.get(index)
        if here is None:  # a new index opens a call
            here = self._by_index[index] = []
            call = self._open(id)
        elif id:
            known = [call for call in here if call.sent_id == id]
            if known:  # the id picks among the calls opened here
                call = known[-1]
                if _is_another(call, name, has_arguments):
                    call = self._open(id)
            elif name and not _is_late_id(here[-1], name):
                call = self._open(id)  # a new id with a name: some providers send every call as 0
            else:  # a new id without one: some send a fresh id with every fragment
                call = here[-1]
        else:
            call = here[-1]
            if name and has_arguments and call.whole():  # name and arguments again: another call
                call = self._open("")
            elif name not in ("", call.name) and not call.id and not any(call.pieces):
                # No ids at all, and another name before any argument: a call without arguments
                # stood here. (With an id it is one name sent in parts, and the first part stays.)
                call = self._open("")
        if here and here[-1] is call:
            return call
        if call in here:
            here.remove(call)
        here.append(call)
        return call

    def _place_unnumbered(self, id: str, name: str, has_arguments: bool) -> PlacedCall:
        if id:
            known = self._by_id.get(id)
            if known is None or _is_another(known, name, has_arguments):
                return self._open(id)
            return known
        last = self.last
        if name:  # the name of the call at hand, again, continues it while it is not whole
            if last is not None and last.name == name and not last.whole():
                return last
            return self._open("")
        if last is None:
            raise _fail("a fragment has no index, no id and no name, and no call is open")
        return last

    def _open(self, id: str) -> PlacedCall:
        call = PlacedCall(self._count, "", "")
        self._count += 1
        if id:
            self._name(call, id)
        return call

    def _name(self, call: PlacedCall, id: str) -> None:
        call.sent_id, call.id = id, unique_id(id, self._taken)
        self._taken.add(call.id)
        self._by_id[id] = call


def _is_another(call: PlacedCall, name: str, has_arguments: bool) -> bool:
    """Say whether a fragment with a call's id and another name, after its end, is another call."""
    return name not in ("", call.name) and has_arguments and call.whole() is not None


def _is_late_id(call: PlacedCall, name: str) -> bool:
    """Say whether an id with the name repeated names the call that is open without one."""
    return not call.id and name == call.name and call.whole() is None


def read_index(index: Any) -> Optional[int]:
    """Read a fragment's index: any integer, digits in a string too; None when absent.

    Raises:
        LlmError: ``MALFORMED_TOOL_CALL`` for anything else.
    """
    if index is None or type(index) is int:
        return index
    if isinstance(index, str) and re.fullmatch(r"\s*-?[0-9]{1,9}\s*", index):
        return int(index)
    raise _fail(f"a fragment's index is {str(index)[:40]!r}")


def read_arguments(call: PlacedCall, arguments: Any, has_name: bool, id: str) -> str:
    """Return a fragment's arguments as text to append; ``""`` when it repeats what is there.

    Raises:
        LlmError: ``MALFORMED_TOOL_CALL`` for an object after text.
    """
    is_object = not isinstance(arguments, str)
    text = json.dumps(arguments, ensure_ascii=False) if is_object else arguments
    by_itself = not has_name or (id and id == call.sent_id)
    if by_itself and _repeats(call, arguments, text, is_object):
        return ""
    if is_object and any(call.pieces):
        raise _fail(f"call {call.number}: an object of arguments after other arguments")
    return text


def _repeats(call: PlacedCall, arguments: Any, text: str, is_object: bool) -> bool:
    whole = call.whole() if text[:1] == "{" and call.pieces else None
    if whole is None:
        return False
    if is_object:
        # Compared as text: Python holds 1 and true for equal, JSON does not.
        return whole.canonical() == _spelled(arguments)
    return whole.size == len(text) and whole.text() == text


def _spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _fail(reason: str) -> LlmError:
    return LlmError(f"tool calls: {reason}", "MALFORMED_TOOL_CALL", phase="body")
