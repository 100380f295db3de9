# SPDX-License-Identifier: MIT
"""Payloads that repeat an earlier one but for one string.

In: the text of a payload. Out: its chunks, where all but one string is byte for byte a
payload that was read in full before; else None, and it is read in full. JSON has no
context: another string token in the place of a string token changes that value alone.
Refused: nothing; whatever is odd is left to the full reading.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ....values.chunks import StreamChunk
from ....values.messages import REASONING_FIELDS
from ....values.strictjson import read_value
from .shapes import DELTA_FIELDS, FRAGMENT_FIELDS, FUNCTION_FIELDS

ReadString = Callable[[str], Optional[List[StreamChunk]]]

PATIENCE = 20  # full readings in a row, after which the search is given up
_LARGEST = 4096  # characters of a payload that is kept
_MOST = 64  # payloads kept; a hostile server could go on for ever
# Where a name's value begins; the first match may be another's, which the proof finds out.
_PLACES = {
    name: re.compile(rf'"{name}"[ \t\r\n]*:[ \t\r\n]*')
    for name in ("content", *REASONING_FIELDS, "arguments")
}


class OneString(NamedTuple):
    """The one string that a payload brings: the object it stands in, and its name there."""

    holder: Dict[str, Any]
    name: str
    call: Optional[int] = None  # of ``arguments``, the index of their call


class Repeats:
    """The payloads of one answer that may come again with another string.

    Most events of most providers are such. Finding one costs 0.6 µs; to parse and judge it
    costs 2.5, for which the full reading is the twin: test_repeats holds both against each
    other. ``patience`` is 0 once none is looked for any more.
    """

    def __init__(self) -> None:
        self._seen: Dict[str, str] = {}  # head → tail, of those read in full once
        self._known: Dict[str, Tuple[str, ReadString]] = {}  # head → tail, and what reads it
        self._at = 0  # characters of the head, in the payloads that come now
        self.patience = PATIENCE

    def read(self, data: str) -> Optional[List[StreamChunk]]:
        """Return the chunks of a payload that is known but for its string, else None."""
        at = self._at
        known = self._known.get(data[:at])
        if known is None or not data.endswith(known[0]):
            return None
        try:
            text, end = read_value(data, at)
        except (ValueError, StopIteration, RecursionError):
            return None
        if type(text) is not str or end != len(data) - len(known[0]):
            return None
        self.patience = PATIENCE
        return known[1](text)

    def learn(
        self, data: str, payload: Any, reader: Callable[[OneString], ReadString]
    ) -> None:
        """Keep a payload that was read in full, when it comes a second time.

        Args:
            data: its text.
            payload: its value.
            reader: gives what makes the chunks of another string in its string's place,
                or None where the full reading must.
        """
        self.patience -= 1
        found = one_string(payload) if len(data) <= _LARGEST else None
        place = found and _PLACES[found.name].search(data)
        if found is None or place is None:
            return
        at, sent = place.end(), found.holder[found.name]
        text, end = _value(data, at)
        if text != sent:
            return
        head, tail = data[:at], data[end:]
        if self._seen.get(head) != tail:
            _keep(self._seen, head, tail)
            return
        known = self._known.get(head)
        if known is None or known[0] != tail:
            if not _is_its_place(f"{head}{json.dumps(text + '?')}{tail}", found):
                return
            _keep(self._known, head, (tail, reader(found)))
        self._at = at


def _is_its_place(other: str, string: OneString) -> bool:
    """Prove that a token of a payload is its string: ``other`` has a ``?`` more in that token."""
    value, end = _value(other, 0)
    found = one_string(value) if end == len(other) and type(value) is dict else None
    if found is None or found.name != string.name:
        return False
    return bool(found.holder[found.name] == string.holder[string.name] + "?")


def _keep(kept: Dict[str, Any], head: str, what: Any) -> None:
    if len(kept) >= _MOST:
        kept.clear()
    kept[head] = what


def one_string(payload: Dict[str, Any]) -> Optional[OneString]:
    """Find the one string that a payload brings, where it says nothing else; else None."""
    choices = payload.get("choices")
    if not choices or payload.get("usage") or "x_groq" in payload:
        return None
    choice = choices[0]
    if choice.get("finish_reason") or choice.get("usage") is not None:
        return None
    delta = choice.get("delta")
    if choice.get("message") is not None or type(delta) is not dict:
        return None
    says = [name for name in delta if name != "role" and delta[name] not in (None, "", [])]
    if len(says) != 1 or not delta.keys() <= DELTA_FIELDS:
        return None
    name, value = says[0], delta[says[0]]
    if name == "tool_calls":
        return _arguments(value)
    return OneString(delta, name) if name in _PLACES and type(value) is str else None


def _arguments(calls: Any) -> Optional[OneString]:
    fragment = calls[0] if type(calls) is list and len(calls) == 1 else None
    if type(fragment) is not dict or type(fragment.get("index")) is not int:
        return None
    function = fragment.get("function")
    if type(function) is not dict or type(function.get("arguments")) is not str:
        return None
    if not fragment.keys() <= FRAGMENT_FIELDS or not function.keys() <= FUNCTION_FIELDS:
        return None
    if fragment.get("id") not in (None, "") or function.get("name") not in (None, ""):
        return None
    return OneString(function, "arguments", fragment["index"])


def _value(text: str, at: int) -> Tuple[Any, int]:
    """Return the JSON value at a place and where it ends; (None, 0) where there is none."""
    try:
        value, end = read_value(text, at)
    except (ValueError, StopIteration, RecursionError):
        return None, 0
    return value, end
