# SPDX-License-Identifier: MIT
"""The secrets of one request, and masking them in texts.

In: the headers and addresses of a request, and the fields that the caller added to its body.
Out: every form in which a provider may echo one of their secrets, and texts in which ``***``
replaces these forms. A text that was cut may begin or end in the middle of a secret: that part
is masked too. ``values.masking`` decides which fields of a body are secret by their name.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Set, Tuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ..values.masking import mask_config
from ..values.redaction import MASK, is_secret_header, is_secret_parameter, redact

_SHORTEST = 4  # as in redaction: masking a shorter secret would mask half of any text
_SCHEMES = ("bearer", "basic", "token", "digest", "apikey", "api-key", "key")
# What may follow the last part of a cut text. Read backwards, it may precede the first part.
_CUT_AFTER = ("'", '"', "…", " …", "...", " ...", "*", "\n[output cut")  # the last: from tools
_MAY_BE_CUT = re.compile("[%s]" % re.escape("".join(sorted({edge[0] for edge in _CUT_AFTER}))))
_STRIDE = 64  # characters compared at once, if the secret holds no character that begins a cut
_ESCAPED = re.compile(r"[\\'\"]|[^ -~]")
_LONGEST_CHAIN = 16  # causes of causes; a longer chain is a cycle
_SHORTEST_PART = 6  # characters; a shorter part of a secret reveals too little to mask it


def secrets_of(
    headers: Mapping[str, str],
    url: str,
    key: str = "",
    fields: Sequence[Any] = (),
) -> Sequence[str]:
    """Return every form of the secrets of a request.

    Args:
        headers: as they are sent.
        url: as it is sent; its user, password and secret query parameters count.
        key: the bare key, whatever header it is sent in.
        fields: parts of the body that the caller wrote; what a log masks in them is secret.
    """
    found: List[str] = [key] if key else []
    found += _in_headers(headers.items())
    if "@" in url or "?" in url:
        found += _in_address(url)
    if any(fields):
        found += _in_fields(fields, mask_config(fields))
    return _forms(found)


def with_carried(
    secrets: Sequence[str], headers: Sequence[Tuple[str, str]], addresses: Sequence[str]
) -> Sequence[str]:
    """Return ``secrets`` and every form of the secrets that ``read_carried`` found."""
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
        if _ESCAPED.search(secret):  # as JSON writes it, and as repr() does in a message
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


def _in_fields(value: Any, masked: Any) -> Iterable[str]:
    """Yield the secrets of a value: the texts that its masked copy does not show."""
    if isinstance(value, str):
        if masked == MASK:
            yield value
            if value.partition(" ")[0].lower() in _SCHEMES:
                yield from _parts(value)
        elif masked != value:  # only a part is masked: the value is an address, or a header
            yield from _in_address(value) if "://" in value else _parts(value)
    elif isinstance(value, Mapping):
        shown = list(masked.values()) if isinstance(masked, Mapping) else masked
        yield from _in_fields(list(value.values()), shown)
    elif isinstance(value, (list, tuple)):
        inner = masked if isinstance(masked, list) else [masked] * len(value)
        for one, shown in zip(value, inner):
            yield from _in_fields(one, shown)


def mask(text: str, secrets: Sequence[str]) -> str:
    """Return ``text`` without credentials in addresses and headers, and without ``secrets``."""
    return hide(redact(text, secrets), secrets)


def hide(text: str, secrets: Sequence[str]) -> str:
    """Return ``text`` with each secret masked, and each part of a secret beside a cut.

    Args:
        text: any text.
        secrets: as ``secrets_of`` returns them.
    """
    for secret in secrets:
        text = text.replace(secret, MASK)
    for secret in secrets:
        text = _mask_heads(text, secret)
    behind = text[::-1]  # a tail is a head when both are read from behind
    for secret in secrets:
        behind = _mask_heads(behind, secret[::-1])
    return behind[::-1]


def _mask_heads(text: str, secret: str) -> str:
    """Mask each beginning of a secret that stands at the end of the text, or before a cut.

    This is the search of Knuth, Morris and Pratt. Its time grows with the length of the text,
    whatever the length of the secret. The ``size`` characters before ``at`` are always equal
    to the first ``size`` characters of the secret.
    """
    head = secret[:_SHORTEST_PART]
    at = text.find(head) if len(secret) > _SHORTEST_PART else -1
    if at < 0:
        return text
    borders, plain = _borders(secret), _MAY_BE_CUT.search(secret) is None
    shown: List[str] = []
    kept = 0  # the text before this index is already in ``shown``
    while at >= 0:
        size, at = _SHORTEST_PART, at + _SHORTEST_PART
        while size >= _SHORTEST_PART:
            part = secret[size:size + _STRIDE]
            while plain and part and text.startswith(part, at):
                size, at = size + len(part), at + len(part)
                part = secret[size:size + _STRIDE]
            if at == len(text) or text.startswith(_CUT_AFTER, at):
                if at - size >= kept:  # else this part only extends the one just masked
                    shown += (text[kept:at - size], MASK)
                kept = at
            if at == len(text):
                break
            while size and (size == len(secret) or secret[size] != text[at]):
                size = borders[size]
            size += secret[size] == text[at]
            at += 1
        at = text.find(head, at - min(size, _SHORTEST_PART - 1))
    return "".join((*shown, text[kept:]))


def _borders(secret: str) -> List[int]:
    """Return, for each prefix of ``secret``, the length of its longest border.

    A border is a shorter prefix that is also a suffix.
    """
    borders, size = [0, 0], 0
    for at in range(1, len(secret)):
        while size and secret[size] != secret[at]:
            size = borders[size]
        size += secret[size] == secret[at]
        borders.append(size)
    return borders


def drop_causes_with_secrets(error: BaseException, secrets: Sequence[str]) -> None:
    """Remove the causes of an error if one of them quotes a secret.

    A JSONDecodeError, for example, keeps the whole document that it could not read.
    """
    links = [error.__cause__, error.__context__]
    for _ in range(_LONGEST_CHAIN):
        links = [one for link in links if link is not None for one in _causes_of(link, secrets)]
        if not links:
            return
    error.__cause__ = error.__context__ = None


def _causes_of(link: BaseException, secrets: Sequence[str]) -> Sequence[Optional[BaseException]]:
    """Return the causes of an exception; or the exception itself if it shows a secret.

    The caller's loop then never runs out of links, which is how it learns of the secret.
    """
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
