# SPDX-License-Identifier: MIT
"""Reads text that providers wrap in lists of parts.

In: lists of content parts or of ``reasoning_details``. Out: their texts. ``OpaqueDetails``
keeps the fields that only the provider can read, to send them back. Refused: wrong types, as
``MALFORMED_RESPONSE``.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Tuple

from ....values.strictjson import mend_surrogates
from ...growing import Count
from .shapes import malformed


class OpaqueDetails:
    """Fields of the whole message that go back only to the same provider.

    Fragments of one ``reasoning_details`` item are joined, as the provider expects them back.
    Other lists grow, and all other fields keep their last value.
    """

    def __init__(self) -> None:
        self._fields: Dict[str, Any] = {}
        self._items: List[Dict[str, Any]] = []
        self._texts: List[Dict[str, List[str]]] = []  # the pieces of each item's texts, by name
        self._places: Dict[str, int] = {}  # type and index → the place of the latest item

    def keep(self, name: str, value: Any) -> None:
        """Keep a field; a list is added to the list that is there."""
        there = self._fields.get(name)
        if isinstance(there, list) and isinstance(value, list):
            there.extend(value)
        else:
            self._fields[name] = list(value) if isinstance(value, list) else value

    def add(self, item: Dict[str, Any]) -> None:
        """Take an item of ``reasoning_details``, or a further fragment of an item.

        A fragment belongs to the item of its type and index, even if other items came between:
        first its text in pieces, then its signature alone. A fragment without an index belongs
        only to the last item.
        """
        growing = ("text", "summary")
        texts = {key: item[key] for key in growing if isinstance(item.get(key), str)}
        rest = {
            key: value
            for key, value in item.items()
            if key not in growing or not isinstance(value, (str, type(None)))
        }
        at = self._find(rest)
        if at is None:
            at = len(self._items)
            self._items.append(rest)
            self._texts.append({})
            self._places[_place(rest)] = at
        else:
            self._items[at].update({k: v for k, v in rest.items() if v is not None})
        for key, text in texts.items():
            self._texts[at].setdefault(key, []).append(text)

    def _find(self, rest: Dict[str, Any]) -> Optional[int]:
        at = self._places.get(_place(rest))
        if at is None or (rest.get("data") and self._items[at].get("data")):
            return None  # another encrypted item
        unnumbered = rest.get("index") is None
        return None if unnumbered and at != len(self._items) - 1 else at

    def extras(self) -> Optional[Dict[str, Any]]:
        """Return the fields of the message, or None when there are none."""
        extras = dict(self._fields)
        if self._items:
            extras["reasoning_details"] = [
                {**item, **{key: "".join(pieces) for key, pieces in texts.items()}}
                for item, texts in zip(self._items, self._texts)
            ]
        mended: Dict[str, Any] = mend_surrogates(extras)
        return mended or None


def _place(item: Dict[str, Any]) -> str:
    return repr((item.get("type"), item.get("index")))


def read_details(details: Any, opaque: OpaqueDetails, count: Count) -> List[str]:
    """Keep each item of ``reasoning_details`` in ``opaque``, and return the readable texts.

    An item that is not an object is counted and skipped.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` if ``details`` is not a list.
    """
    if not isinstance(details, list):
        raise malformed(f"reasoning_details is a {type(details).__name__}")
    texts: List[str] = []
    for item in details:
        if not isinstance(item, dict):
            if item is not None:
                count("reasoning_details_odd")
            continue
        opaque.add(item)
        for key in ("text", "summary"):
            if isinstance(item.get(key), str) and item[key]:
                texts.append(item[key])
    return texts


def read_content(parts: List[Any]) -> Iterator[Tuple[str, str, Dict[str, Any]]]:
    """Yield (kind, text, part) for each content part.

    The kind is ``text``, ``reasoning``, or the kind that another part names. Such a part has no
    text here.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` for a part of a wrong type.
    """
    for part in parts:
        if isinstance(part, str):
            part = {"text": part}
        elif part is None:
            continue
        elif not isinstance(part, dict):
            raise malformed(f"a content part is a {type(part).__name__}")
        kind = part.get("type")
        if kind in ("text", "output_text") or (kind is None and "text" in part):
            yield "text", _texts(part.get("text")), part
        elif kind == "refusal":
            yield "text", _texts(part.get("refusal")), part
        elif kind in ("thinking", "reasoning"):
            names = ("thinking", "reasoning", "text", "summary")
            texts = (_texts(part.get(name)) for name in names)
            yield "reasoning", next(filter(None, texts), ""), part
        elif part:
            yield kind if isinstance(kind, str) and kind else "unknown", "", part


def _texts(value: Any) -> str:
    """Return the text of a string, a part, or a list of parts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _texts(value.get("text"))
    if isinstance(value, list):
        return "".join([_texts(item) for item in value])
    raise malformed(f"a content part's text is a {type(value).__name__}")
