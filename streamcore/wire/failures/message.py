# SPDX-License-Identifier: MIT
"""The message of a failure: one line for people, without markup or secrets.

In: a provider's words, a status, an address. Out: a text of at most 500 characters for a log
line. Any encoding can write it. Refused: nothing.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Sequence

from ...values.redaction import redact

_MESSAGE_CHARACTERS = 500  # a person reads the message in a log line
_ADDRESS_CHARACTERS = 255  # the longest name that the DNS allows, RFC 1035 §2.3.4

_PAGE = re.compile(r"<(?:!doctype|html)\b.*", re.IGNORECASE | re.DOTALL)
_TAGS = re.compile(r"</?(?:p|br|b|i|a|em|strong|div|span|h[1-6]|pre|hr)\b[^<>]{0,300}>", re.I)
_LONE_HALVES = re.compile(r"[\ud800-\udfff]")  # of surrogate pairs: no encoding can write them
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str, secrets: Sequence[str]) -> str:
    """Return a text as one short line without markup, control characters or secrets."""
    text = _TAGS.sub(" ", _PAGE.sub("(a web page)", text))
    text = redact(text, secrets)  # masked before the text is cut: half a secret is not found
    text = _LONE_HALVES.sub("\ufffd", text)
    text = " ".join(_CONTROLS.sub(" ", text).split())
    cut = _MESSAGE_CHARACTERS - 1
    return text if len(text) <= _MESSAGE_CHARACTERS else text[:cut].rstrip() + "…"


def status_line(status: int, address: str, secrets: Sequence[str]) -> str:
    """404 → HTTP 404 Not Found from https://api.example/v1/chat/completions

    The address is shown without its user and query, because both can be secrets.
    """
    try:
        line = f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:  # not a standard status, such as Cloudflare's 52x and Anthropic's 529
        line = f"HTTP {status}"
    scheme, marked, rest = re.split(r"[?#]", address, maxsplit=1)[0].partition("://")
    host, slash, path = rest.partition("/")
    place = redact(scheme + marked + host.rpartition("@")[2] + slash + path, secrets)
    return f"{line} from {place[:_ADDRESS_CHARACTERS]}" if marked else line


def redirection(location: str) -> str:
    """Say to which host a redirect leads; its path and query are left out as possible secrets."""
    from urllib.parse import urlsplit  # slow to import, for a rare status

    if not location.strip():  # a 304 has no location and is not a redirect
        return "redirected without an address; the base URL may be wrong"
    try:
        parts = urlsplit(location.strip())
        host = parts.netloc.rpartition("@")[2]  # without the user
    except ValueError:  # a broken address
        where = " to an address that cannot be read"
    else:
        where = " to another path of the same host" if parts.path or parts.query else ""
        where = f" to {host[:_ADDRESS_CHARACTERS]}" if host else where
    return f"redirected{where}; redirects are not followed, the base URL may be wrong"
