# SPDX-License-Identifier: MIT
"""What no text may show: the secrets of one request, and masking them.

In: the headers and the addresses a request is sent with. Out: every form in which a
provider may echo a secret of theirs, and texts with these forms replaced by ``***``.
A text that was cut may end, or begin, in the middle of a secret: that part is masked too.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Iterable, List, Mapping, Optional, Sequence, Set, Tuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ..values.redaction import MASK, is_secret_header, is_secret_parameter, redact

_SHORTEST = 4  # as in redaction: a shorter one hides nothing and masks half of any text
_SCHEMES = ("bearer", "basic", "token", "digest", "apikey", "api-key", "key")
# What stands where a text was cut: after its head, before its tail.
_CUT_AFTER = ("'", '"', "…", " …", "...", " ...", "*")
_CUT_BEFORE = ("'", '"', "…", "… ", "...", "... ", "*")
_ESCAPED = re.compile(r"[\\'\"]|[^ -~]")
_LONGEST_CHAIN = 16  # causes of causes; more is a cycle
_SHORTEST_PART = 6  # a shorter part of a secret gives nothing away


def secrets_of(headers: Mapping[str, str], url: str, key: str = "") -> Sequence[str]:
    """Return every form of what is secret in a request.

    Args:
        headers: as they are sent.
        url: as it is sent; its user, password and secret query parameters count.
        key: the bare key, in whatever header it travels.
    """
    found: List[str] = [key] if key else []
    found += _in_headers(headers.items())
    if "@" in url or "?" in url:
        found += _in_address(url)
    return _forms(found)


def with_carried(
    secrets: Sequence[str], headers: Sequence[Tuple[str, str]], addresses: Sequence[str]
) -> Sequence[str]:
    """Return ``secrets`` and every form of those the transport adds; see ``read_carried``."""
    found = list(_in_headers(headers))
    for address in addresses:
        found += _in_address(address)
    if not found:
        return secrets
    return sorted({*secrets, *_forms(found)}, key=len, reverse=True)


def _forms(found: Iterable[str]) -> Sequence[str]:
    forms: Set[str] = set()
    for secret in found:
        forms.add(secret)
        if _ESCAPED.search(secret):  # as JSON writes it, and as repr() of a message's quote does
            forms.update((json.dumps(secret)[1:-1], repr(secret)[1:-1]))
    return sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True)


def _in_headers(headers: Iterable[Tuple[str, str]]) -> Iterable[str]:
    for name, value in headers:
        if is_secret_header(name):
            yield value
            yield from _parts(value)


def _parts(value: str) -> Iterable[str]:
    for part in value.replace(";", " ").replace(",", " ").split():
        if part.lower() not in _SCHEMES:
            yield part
            yield part.partition("=")[2].strip('"')  # a cookie's value


def _in_address(url: str) -> Iterable[str]:
    parts = urlsplit(url)
    user, marked, _ = parts.netloc.rpartition("@")
    if marked:
        name, _, password = user.partition(":")
        for one in (password or name, unquote(password or name)):
            yield one
        plain = f"{unquote(name)}:{unquote(password)}".encode("utf-8")
        yield base64.b64encode(plain).decode("ascii")  # as Basic sends it
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if is_secret_parameter(unquote(name)):
            yield value
            yield from (plain for _, plain in parse_qsl(pair))


def mask(text: str, secrets: Sequence[str]) -> str:
    """Return ``text`` with each secret masked, and the part of one at a cut edge."""
    text = redact(text, secrets)
    for secret in secrets:
        if secret[:_SHORTEST_PART] in text or secret[-_SHORTEST_PART:] in text:
            text = _mask_parts(text, secret)
    return text


def _mask_parts(text: str, secret: str) -> str:
    for size in range(len(secret) - 1, _SHORTEST_PART - 1, -1):
        head, tail = secret[:size], secret[-size:]
        for edge in _CUT_AFTER:
            text = text.replace(head + edge, MASK + edge)
        for edge in _CUT_BEFORE:
            text = text.replace(edge + tail, edge + MASK)
        if text.endswith(head):
            text = text[: -size] + MASK
    return text


def drop_telling_causes(error: BaseException, secrets: Sequence[str]) -> None:
    """Take the causes off an error where one of them quotes a secret.

    A JSONDecodeError, for one, keeps the whole document it did not read.
    """
    links = [error.__cause__, error.__context__]
    for _ in range(_LONGEST_CHAIN):
        links = [one for link in links if link is not None for one in _looked_at(link, secrets)]
        if not links:
            return
    error.__cause__ = error.__context__ = None


def _looked_at(link: BaseException, secrets: Sequence[str]) -> Sequence[Optional[BaseException]]:
    """Return what an exception was raised from; itself, again and again, if it tells a secret."""
    shown = f"{link!s} {link.args!r} {link.__dict__!r}"
    if any(secret in shown for secret in secrets):
        return (link,)
    return (link.__cause__, link.__context__)


def begun_secret(data: bytes, secrets: Sequence[str]) -> int:
    """Return how many bytes at the end of ``data`` may be the beginning of a secret."""
    longest = 0
    for secret in secrets:
        whole = secret.encode("utf-8", "replace")
        for size in range(min(len(whole) - 1, len(data)), longest, -1):
            if data.endswith(whole[:size]):
                longest = size
                break
    return longest
