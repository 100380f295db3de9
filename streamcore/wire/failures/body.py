# SPDX-License-Identifier: MIT
"""The body of an error answer: what it says, or why it says nothing.

In: the body's bytes, as far as they were read: JSON, cut or broken JSON, an event
stream, plain words, a web page, or no text at all.
Out: what it says, added to ``Signs``, and words for the case that it says nothing.
Refused: nothing; faults.md E13: no body may hide the status.
"""

from __future__ import annotations

import re

from .jsontext import parsed, shown
from .reading import read_error
from .signs import Signs

_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")

# What to look for in broken JSON: names of one thing, and whether they hold a sentence.
_PIECES = (
    ("message|msg|error_message", True),
    ("code|error_code", False),
    ("type|error_type", False),
    ("detail|error", True),
)


def read_body(body: bytes, signs: Signs) -> str:
    """Add to ``signs`` what a body says; return what to tell where it says nothing."""
    text = body.decode("utf-8-sig", "replace").strip()
    if not text:
        return "the body is empty"
    if text.startswith("<"):
        return "the body is a web page, not JSON" if "<html" in text.lower() else "the body is XML"
    if 10 * len(_NO_TEXT.findall(text)) > len(text):
        return "the body is not text"
    if text.startswith(("data:", "event:", ":")):  # an error told as a stream
        text = _first_data(text)
    if text[0] not in '{["':
        signs.add_message(text)
        return "the body says nothing"
    value = parsed(text)
    if value is None:
        _salvage(text, signs)
        return "the body is broken JSON"
    read_error(value, signs)
    return shown(value) or "the body says nothing"


def _first_data(text: str) -> str:
    return next((li[5:] for li in text.splitlines() if li.startswith("data:")), text).strip()


def _salvage(text: str, signs: Signs) -> None:
    """Find the message and the names in JSON that was cut off or is broken."""
    for keys, is_sentence in _PIECES:
        found = re.search(rf'"(?:{keys})"\s*:\s*(?:"((?:[^"\\]|\\.)*)|(\d{{1,9}})\b)', text, re.S)
        if found is None:
            continue
        value = found.group(1) or found.group(2) or ""
        plain = parsed(f'"{value}"') or value  # its escapes undone, where they are whole
        if not is_sentence:
            signs.add_name(plain)
        elif not signs.messages:
            signs.add_message(plain)
