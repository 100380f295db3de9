# SPDX-License-Identifier: MIT
"""Reads the body of an error answer.

In: the bytes of the body that were read: JSON, cut or broken JSON, an event stream, plain
words, a web page, or bytes that are not text.
Out: the facts of the body, added to ``ErrorFacts``, and words to show if it holds none.
Refused: nothing, because a bad body must not hide the status.
"""

from __future__ import annotations

import re
from typing import Mapping

from .facts import ErrorFacts, parsed, shown

_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")

_COMPRESSED = re.compile(r"gzip|deflate|\bbr\b|zstd|compress", re.IGNORECASE)

# The elements of a page that tell what is wrong. The pattern ends at the next tag, so a search
# takes time in proportion to the length of the page.
_PAGE_WORDS = re.compile(r"<(?:title|message|p)\b[^<>]*>([^<]*)", re.IGNORECASE)
_LINE_BREAKS = re.compile(r"<br\s*/?>", re.IGNORECASE)

# The keys to look for in broken JSON, and whether their value is a sentence.
_PIECES = (
    ("message|msg|error_message", True),
    ("code|error_code", False),
    ("type|error_type", False),
    ("detail|error", True),
)


def read_body(body: bytes, given: Mapping[str, str], facts: ErrorFacts) -> str:
    """Add what a body says to ``facts``; return words to show if ``facts`` has no sentence.

    Args:
        body: the part of the body that was read, decompressed.
        given: the answer's headers, under lower-case names.
        facts: the facts of the error so far.
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
    if text.startswith(("data:", "event:", ":")):  # an error sent as a stream
        text = _first_data(text)
    if text[0] not in '{["':
        facts.add_message(text)
        return "the body has no message"
    value = parsed(text)
    if value is None:
        _salvage(text, facts)
        return "the body is broken JSON"
    facts.read(value)
    return shown(value) or "the body has no message"


def _page_words(text: str) -> str:
    """Return the title of a page and its first paragraph, for people.

    No code is taken from these words, because they are not about the request.
    """
    from html import unescape  # 5 ms to import, for a rare body

    words = (unescape(found).strip() for found in _PAGE_WORDS.findall(_LINE_BREAKS.sub(" ", text)))
    said = [word for word in words if word][:2]
    return ": " + "; ".join(dict.fromkeys(said)) if said else ""


def _first_data(text: str) -> str:
    return next((li[5:] for li in text.splitlines() if li.startswith("data:")), text).strip()


def _salvage(text: str, facts: ErrorFacts) -> None:
    """Add the message and the names found in JSON that is cut off or broken."""
    for keys, is_sentence in _PIECES:
        found = re.search(rf'"(?:{keys})"\s*:\s*(?:"((?:[^"\\]|\\.)*)|(\d{{1,9}})\b)', text, re.S)
        if found is None:
            continue
        value = found.group(1) or found.group(2) or ""
        plain = parsed(f'"{value}"') or value  # with its escapes read, if they are whole
        if not is_sentence:
            facts.add_name(plain)
        elif not facts.messages:
            facts.add_message(plain)
