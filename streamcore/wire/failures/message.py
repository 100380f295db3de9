# SPDX-License-Identifier: MIT
"""The message of a failure: one line for people, without markup or secrets.

In: a provider's words, a status, an address. Out: text for a log line, at most 500
characters, that can be written anywhere. Refused: nothing.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Sequence

from ...values.redaction import redact

_MESSAGE_CHARACTERS = 500  # a person reads it in a log line
_ADDRESS_CHARACTERS = 255  # the longest a name in the DNS can be, RFC 1035 §2.3.4

_PAGE = re.compile(r"<(?:!doctype|html)\b.*", re.IGNORECASE | re.DOTALL)
_TAGS = re.compile(r"</?(?:p|br|b|i|a|em|strong|div|span|h[1-6]|pre|hr)\b[^<>]{0,300}>", re.I)
_LONE_HALVES = re.compile(r"[\ud800-\udfff]")  # of surrogate pairs: no encoding can write them
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str, secrets: Sequence[str]) -> str:
    """Return a text as one short line: no markup, control character or secret in it."""
    text = _TAGS.sub(" ", _PAGE.sub("(a web page)", text))
    text = redact(text, secrets)  # before it is cut: half a secret is not recognised
    text = _LONE_HALVES.sub("\ufffd", text)
    text = " ".join(_CONTROLS.sub(" ", text).split())
    cut = _MESSAGE_CHARACTERS - 1
    return text if len(text) <= _MESSAGE_CHARACTERS else text[:cut].rstrip() + "…"


def status_line(status: int, address: str, secrets: Sequence[str]) -> str:
    """404 → HTTP 404 Not Found from https://api.example/v1/chat/completions

    The address is told without its user and query, for both can be secrets.
    """
    try:
        line = f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:  # no standard one: Cloudflare's 52x, Anthropic's 529
        line = f"HTTP {status}"
    scheme, marked, rest = re.split(r"[?#]", address, maxsplit=1)[0].partition("://")
    host, slash, path = rest.partition("/")
    place = redact(scheme + marked + host.rpartition("@")[2] + slash + path, secrets)
    return f"{line} from {place[:_ADDRESS_CHARACTERS]}" if marked else line


def redirection(location: str) -> str:
    """Say where a redirect would lead: the host alone, for paths and queries can be secrets."""
    from urllib.parse import urlsplit  # as rare, and as dear, as the date of a Retry-After

    if not location.strip():  # 304 has none, and is no redirect
        return "not redirected to any address; the base URL may be wrong"
    try:
        parts = urlsplit(location.strip())
        host = parts.netloc.rpartition("@")[2]  # never the query, never the user
    except ValueError:  # a broken address
        where = " to an address that cannot be read"
    else:
        where = " to another path of the same host" if parts.path or parts.query else ""
        where = f" to {host[:_ADDRESS_CHARACTERS]}" if host else where
    return f"redirected{where}; redirects are not followed, the base URL may be wrong"
