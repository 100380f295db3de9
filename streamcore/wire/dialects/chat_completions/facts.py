# SPDX-License-Identifier: MIT
"""The facts that an answer tells beside its text, such as probabilities, sources and cost.

In: the fields of a frame, a choice or a delta that nothing else reads. Out: the extras of
the text block and of the message. Nothing is refused. A field of an unknown name, or one that
passes the limit, is left out and counted.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional, Set

from ....values.frozen import freeze
from ....values.strictjson import mend_surrogates
from ...growing import Count
from .options import ANSWER_FACTS, TEXT_FACTS

PLAIN_FRAME = frozenset((
    "id", "object", "created", "model", "choices", "usage", "system_fingerprint", "obfuscation",
    "p", "stream_options", "service_tier", "provider",
))
"""The fields of a frame that hold no fact, or the same fact in each frame."""
PLAIN_CHOICE = frozenset(("index", "delta", "finish_reason"))
"""The fields of a choice that hold no fact."""
OFTEN_NULL = PLAIN_CHOICE | {"logprobs", "native_finish_reason", "stop_reason"}
"""The plain fields of a choice, and those that some providers send as null in each frame."""
_READ_ELSEWHERE = PLAIN_FRAME | PLAIN_CHOICE | {
    "x_groq", "error", "message", "native_finish_reason",
}
_READ_IN_PART = frozenset((
    "type", "text", "refusal", "thinking", "reasoning", "summary", "closed",
))
_BRACKET = 10  # bytes that an object or a list counts beside its JSON
_TOLD_AGAIN = ("annotations", "citations")  # lists that some providers repeat from the start


class Allowance:
    """The bytes of JSON that may be kept of an answer beside its texts and calls.

    Args:
        most: how many bytes; 0 or more.
    """

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, size: int) -> bool:
        """Take ``size`` bytes if they are left, and say whether they were."""
        fits = size <= self.left
        self.left -= size if fits else 0
        return fits


class Facts:
    """Collects the facts of one answer.

    Args:
        allowance: bounds what is kept.
        count: counts by name what is not kept.
    """

    def __init__(self, allowance: Allowance, count: Count) -> None:
        self._allowance = allowance
        self._count = count
        self._of_text: Dict[str, Any] = {}
        self._of_message: Dict[str, Any] = {}
        self._sizes: Dict[str, int] = {}  # bytes taken, by name
        self._left_out: Set[str] = set()  # names that did not fit

    def add_constant(self, frame: Mapping[str, Any]) -> None:
        """Take the facts that a provider writes into each frame; the last value counts."""
        for name in ("service_tier", "provider"):
            if name in frame:
                self._replace(name, frame[name])

    def add_frame(self, frame: Mapping[str, Any]) -> None:
        """Take the other fields of a frame; each holds a whole fact."""
        is_read = bool(frame.get("choices") or frame.get("usage"))  # any other counts as a whole
        for name, value in frame.items():
            if name in ANSWER_FACTS:
                self._replace(name, value)
            elif is_read and name not in _READ_ELSEWHERE and _says(value):
                self._count("frame_field_unknown")

    def _replace(self, name: str, value: Any) -> None:
        kept = self._of_message
        if _says(value) and kept.get(name) != value:
            if self._fits(name, value, self._sizes.get(name, 0), kept):
                kept[name] = freeze(mend_surrogates(value))

    def add_choice(self, choice: Mapping[str, Any]) -> None:
        """Take the fields of a choice."""
        for name, value in choice.items():
            if value is None or name in _READ_ELSEWHERE:
                continue
            if name in ANSWER_FACTS:
                self.add(name, value)
            elif _says(value):
                self._count("choice_field_unknown")

    def add_part(self, part: Mapping[str, Any]) -> None:
        """Take the fields of a content part with text."""
        for name, value in part.items():
            if value is None or name in _READ_IN_PART:
                continue
            if name in ANSWER_FACTS:
                self.add(name, value, of_text=True)
            elif _says(value):
                self._count("content_part_field_unknown")

    def add(self, name: str, value: Any, of_text: bool = False) -> None:
        """Take the next piece of a fact: lists grow, and other values are replaced.

        Args:
            name: the name of the fact.
            value: the next piece.
            of_text: whether the fact belongs to the text; some names always do.
        """
        kept = self._of_text if of_text or name in TEXT_FACTS else self._of_message
        if _says(value) and self._fits(name, value, 0, kept):
            # Frozen piece by piece: the copy of all at the end could not be interrupted.
            _grow(kept, name, freeze(mend_surrogates(value)))

    def _fits(self, name: str, value: Any, before: int, kept: Dict[str, Any]) -> bool:
        size = weigh(value) - before
        if name not in self._left_out and self._allowance.take(size):
            self._sizes[name] = self._sizes.get(name, 0) + size
            return True
        self._count("facts_over_limit")
        self._left_out.add(name)
        self._allowance.take(-self._sizes.pop(name, 0))
        kept.pop(name, None)
        return False

    def of_text(self) -> Optional[Dict[str, Any]]:
        """Return the extras of the text block, or None."""
        return self._of_text or None

    def of_message(self) -> Dict[str, Any]:
        """Return the extras of the message."""
        return self._of_message


def weigh(value: Any) -> int:
    """Return the bytes of a JSON value, with more for each object and list in it.

    Python takes 56 bytes and more for an empty list, of two bytes of JSON.
    """
    text = json.dumps(value)
    return len(text) + _BRACKET * (text.count("[") + text.count("{"))


def _says(value: Any) -> bool:
    """Say whether a value holds a fact; null, false and empty values do not."""
    return bool(value) or type(value) in (int, float)


def _grow(kept: Dict[str, Any], name: str, value: Any) -> None:
    """Add a frozen value to what is kept: the lists of an object grow each by itself."""
    if not isinstance(value, dict):
        _put(kept, name, value)
        return
    there = kept.get(name)
    if type(there) is not dict:
        there = kept[name] = dict.fromkeys(value)
    for inner, piece in value.items():
        if piece is not None:
            _put(there, inner, piece)


def _put(kept: Dict[str, Any], name: str, value: Any) -> None:
    there = kept.get(name)
    if not isinstance(value, list):
        kept[name] = value
    elif type(there) is not list:
        kept[name] = list(value)
    else:
        told_again = name in _TOLD_AGAIN and value[: len(there)] == there
        there.extend(value[len(there) if told_again else 0:])
