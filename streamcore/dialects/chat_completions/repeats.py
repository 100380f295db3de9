# SPDX-License-Identifier: MIT
"""Payloads that repeat an earlier one but for one string.

In: the text of a payload; then, of one that was read in full, where its string stands.
Out: what became of that string, where all else is byte for byte as in a payload that was
read in full and judged; None for any other, which is then read in full. JSON has no
context: another string token in the place of a string token changes that value alone.
Refused: nothing; whatever is odd is left to the full reading.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from ...chunks import StreamChunk
from ...messages import REASONING_FIELDS
from ...strictjson import read_value
from .shapes import DELTA_FIELDS, FRAGMENT_FIELDS, FUNCTION_FIELDS

Take = Callable[[str], Optional[List[StreamChunk]]]

PATIENCE = 20  # payloads read in full one after another; more, and none is looked for any more
_LARGEST = 4096  # characters of a payload that is kept
_MOST = 64  # payloads kept; a hostile server could go on for ever
_PLACES = {
    name: re.compile(rf'"{name}"[ \t\r\n]*:[ \t\r\n]*')
    for name in ("content", *REASONING_FIELDS, "arguments")
}


class Repeats:
    """The payloads of one answer that may come again with another string.

    Most events of most providers are such. Finding one costs 0.6 µs; to parse and judge it
    costs 2.5, for which the full reading is the twin: test_repeats holds both against each
    other.
    """

    def __init__(self) -> None:
        self._seen: Dict[str, str] = {}  # head → tail, of those read in full once
        self._known: Dict[str, Tuple[str, Take]] = {}  # head → tail, and what takes the string
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
        except (ValueError, StopIteration):
            return None
        if type(text) is not str or end != len(data) - len(known[0]):
            return None
        self.patience = PATIENCE
        return known[1](text)

    def learn(
        self, data: str, payload: Any, holder: Dict[str, Any], name: str, take: Take
    ) -> None:
        """Keep a payload that was read in full, at its second coming.

        Args:
            data: its text.
            payload: its value; it is changed.
            holder: the object in it whose string may change.
            name: that string's name.
            take: makes the string's chunks; None where the full reading must.
        """
        place = _PLACES[name].search(data)
        if place is None or len(data) > _LARGEST:
            return
        at = place.end()
        text, end = _value(data, at)
        head, tail = data[:at], data[end:]
        if text != holder[name] or self._seen.get(head) != tail:
            _keep(self._seen, head, tail)
            return
        if self._known.get(head, ("",))[0] != tail:
            # The proof that this token is that value, and that nothing else hangs on it.
            holder[name] += "?"
            other = f"{head}{json.dumps(holder[name])}{tail}"
            if _value(other, 0) != (payload, len(other)):
                return
            _keep(self._known, head, (tail, take))
        self._at = at


def _keep(kept: Dict[str, Any], head: str, what: Any) -> None:
    if len(kept) >= _MOST:
        kept.clear()
    kept[head] = what


def one_string(payload: Dict[str, Any]) -> Optional[Tuple[Dict[str, Any], str]]:
    """Find the one string that a payload brings, where it says nothing else.

    Returns:
        the object it stands in, and its name; None for any other payload.
    """
    choice = (payload.get("choices") or [{}])[0]
    delta = choice.get("delta")
    if payload.get("usage") or "x_groq" in payload or choice.get("finish_reason"):
        return None
    if choice.get("usage") is not None or choice.get("message") is not None:
        return None
    if type(delta) is not dict or not delta.keys() <= DELTA_FIELDS:
        return None
    says = [name for name in delta if name != "role" and delta[name] not in (None, "", [])]
    if len(says) != 1:
        return None
    name, value = says[0], delta[says[0]]
    if name == "tool_calls":
        return _arguments(value)
    return (delta, name) if name in _PLACES and type(value) is str else None


def _arguments(calls: Any) -> Optional[Tuple[Dict[str, Any], str]]:
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
    return function, "arguments"


def _value(text: str, at: int) -> Tuple[Any, int]:
    """Return the JSON value at a place and where it ends; (None, 0) where there is none."""
    try:
        value, end = read_value(text, at)
    except (ValueError, StopIteration, RecursionError):
        return None, 0
    return value, end
