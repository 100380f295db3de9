# SPDX-License-Identifier: MIT
"""The body of an error answer: what it says, or why it says nothing.

In: the body's bytes, as far as they were read: JSON, cut or broken JSON, an event
stream, plain words, a web page, or no text at all.
Out: what it says, added to ``ErrorFacts``, and words for the case that it says nothing.
Refused: nothing, because no body may hide the status.
"""

from __future__ import annotations

import re
from typing import Mapping

from .facts import ErrorFacts, parsed, shown

_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")

_COMPRESSED = re.compile(r"gzip|deflate|\bbr\b|zstd|compress", re.IGNORECASE)

# Where a page says what is wrong. Words stand between two tags, so a search costs no more
# than the length of the page.
_PAGE_WORDS = re.compile(r"<(?:title|message|p)\b[^<>]*>([^<]*)", re.IGNORECASE)
_LINE_BREAKS = re.compile(r"<br\s*/?>", re.IGNORECASE)

# What to look for in broken JSON: names of one thing, and whether they hold a sentence.
_PIECES = (
    ("message|msg|error_message", True),
    ("code|error_code", False),
    ("type|error_type", False),
    ("detail|error", True),
)


def read_body(body: bytes, given: Mapping[str, str], facts: ErrorFacts) -> str:
    """Add to ``facts`` what a body says; return what to tell where it says nothing.

    Args:
        body: what was read of it, decoded.
        given: the answer's headers, under lower-case names.
        facts: what is known of the error so far.
    """
    text = body.decode("utf-8-sig", "replace").strip()
    if not text:
        coded = _COMPRESSED.search(given.get("content-encoding", ""))
        empty = not coded or given.get("content-length", "").strip() == "0"
        return "the body is empty" if empty else "the body could not be decoded"
    if text.startswith("<"):
        kind = "a web page, not JSON" if "<html" in text.lower() else "XML"
        return f"the body is {kind}{_page_words(text)}"
    if 10 * len(_NO_TEXT.findall(text)) > len(text):
        return "the body is not text"
    if text.startswith(("data:", "event:", ":")):  # an error told as a stream
        text = _first_data(text)
    if text[0] not in '{["':
        facts.add_message(text)
        return "the body says nothing"
    value = parsed(text)
    if value is None:
        _salvage(text, facts)
        return "the body is broken JSON"
    facts.read(value)
    return shown(value) or "the body says nothing"


def _page_words(text: str) -> str:
    """Return the title of a page and its first paragraph: they say what a person would read.

    They are shown only. No code is read from them, for they are not about the request.
    """
    from html import unescape  # 5 ms to import, for a rare body

    words = (unescape(found).strip() for found in _PAGE_WORDS.findall(_LINE_BREAKS.sub(" ", text)))
    said = [word for word in words if word][:2]
    return ": " + "; ".join(dict.fromkeys(said)) if said else ""


def _first_data(text: str) -> str:
    return next((li[5:] for li in text.splitlines() if li.startswith("data:")), text).strip()


def _salvage(text: str, facts: ErrorFacts) -> None:
    """Find the message and the names in JSON that was cut off or is broken."""
    for keys, is_sentence in _PIECES:
        found = re.search(rf'"(?:{keys})"\s*:\s*(?:"((?:[^"\\]|\\.)*)|(\d{{1,9}})\b)', text, re.S)
        if found is None:
            continue
        value = found.group(1) or found.group(2) or ""
        plain = parsed(f'"{value}"') or value  # its escapes undone, where they are whole
        if not is_sentence:
            facts.add_name(plain)
        elif not facts.messages:
            facts.add_message(plain)
