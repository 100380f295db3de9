# SPDX-License-Identifier: MIT
"""Ids of calls and names of tools that a provider accepts.

In: ids and names from any provider, and the receiver's pattern. Out: the same ids and names if
they match. If not, others are made from them, and the same input always gives the same ones.
The history keeps the originals. The id that is sent depends only on the calls before it.
Nothing is refused.
"""

from __future__ import annotations

import hashlib
import re
from typing import Dict, Sequence

from ...values.messages import ToolCall
from .counting import Counts

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_LENGTH = 9  # Mistral accepts only nine letters and digits; every provider accepts those
_NAME_LENGTH = 55  # with _ and eight hex digits it is 64, the most that OpenAI accepts


class CallIds:
    """Gives each call of a history, step by step, the id that it is sent with.

    Args:
        pattern: the pattern that an id must match; "" allows any id.
        unique: whether each sent id may belong to only one call.
        counts: counts the ids that changed.
    """

    def __init__(self, pattern: str, unique: bool, counts: Counts) -> None:
        self._pattern = re.compile(pattern or "(?s:.*)")
        self._unique = unique
        self._counts = counts
        self._told: Dict[str, str] = {}  # id sent → id in the history, for the whole history
        self._next: Dict[str, int] = {}  # id in the history → ids tried for it, if unique

    def of(self, calls: Sequence[ToolCall]) -> Dict[str, str]:
        """Return the ids to send for the calls of one message, by their ids in the history."""
        return {call.id: self._of(call.id) for call in calls}

    def _of(self, told: str) -> str:
        turn, made = self._next.get(told, 0), None
        while made is None or not self._is_free(made, told):
            made = _made_id(told, turn) if turn else told
            turn += 1
        self._told[made] = told
        if self._unique:
            self._next[told] = turn
        if made == told:
            return told
        self._counts.add("call_id_mapped")
        return made

    def _is_free(self, made: str, told: str) -> bool:
        return self._told.get(made, told) == told and bool(self._pattern.fullmatch(made))


def fit_name(name: str, pattern: str, counts: Counts) -> str:
    """Return the name to send for a tool's name in a history."""
    if not pattern or re.compile(pattern).fullmatch(name):
        return name
    counts.add("tool_name_mapped")
    plain = re.sub(r"^(?![A-Za-z])", "f", re.sub(r"[^A-Za-z0-9_-]", "_", name))
    end = _digest(name).hexdigest()[:8]
    made = f"{plain[:_NAME_LENGTH]}_{end}"
    return made if re.compile(pattern).fullmatch(made) else f"f_{end}"


def _made_id(told: str, turn: int) -> str:
    number = int.from_bytes(_digest(f"{turn} {told}").digest(), "big")
    letters = []
    for _ in range(_ID_LENGTH):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)


def _digest(text: str) -> "hashlib._Hash":
    return hashlib.sha256(text.encode("utf-8", "surrogatepass"))
