# SPDX-License-Identifier: MIT
"""Secrets kept out of every text that streamcore shows.

In: a text that may quote a request, a header or a URL, and the known secrets.
Out: the same text in which each secret, and each credential that a URL carries,
is replaced by ``***``. Pure; used for messages, logs, reprs and recordings.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping, Tuple

MASK = "***"

_SHORTEST_SECRET = 4  # a shorter "key" would mask half of any text, and protects nothing
_USERINFO = re.compile(r"(?<=://)[^/\s?#\"'<>]+@")  # to the last @: a password may contain one
_SECRET_WORDS = (
    "authorization|cookie|key|token|secret|passw|passphrase|pwd|credential|signature|jwt"
)
"""A header or a URL parameter whose name contains one of these carries a credential."""
_SECRET_HEADERS = re.compile(
    rf"(?i){_SECRET_WORDS}|(?<![a-z])(?:auth|sig|session|sas)(?![a-z])(?!-affinity)"
)
# Bounded: otherwise the time would grow with the square of a name's length.
_SECRET_PARAMETER = (
    rf"(?:[a-z0-9_.-]{{0,64}}(?:{_SECRET_WORDS}|sig|auth|session)[a-z0-9_.-]{{0,64}}|sas|code)"
)
_PARAMETERS = re.compile(rf"(?i){_SECRET_PARAMETER}")
_QUERY_SECRET = re.compile(rf"(?i)([?&#]{_SECRET_PARAMETER}=)[^&#\s'\")]+")
# Only whole names match: max_tokens, eos_token and prompt_cache_key of a body are not secrets.
_SECRET_FIELDS = re.compile(
    r"(?:.*_)?(?:api_?key|access_?key|secret_?key|private_?key|subscription_?key|authorization"
    r"|auth|password|passwd|passphrase|secret|credentials?|cookie|connection_?string)"
    r"|(?:.*_)?(?:access|auth|authorization|refresh|id|bearer|session|api|oauth|github|hf)_?token"
    r"|token"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+(?!authentication\b)[a-z0-9._~+/=-]{8,}")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Mask known ``secrets`` and the credentials that URLs and headers carry."""
    for secret in sorted((s for s in secrets if len(s) >= _SHORTEST_SECRET), key=len)[::-1]:
        text = text.replace(secret, MASK)
    if "://" in text:
        text = _USERINFO.sub(MASK + "@", text)
    if "=" in text:
        text = _QUERY_SECRET.sub(r"\g<1>" + MASK, text)
    return _BEARER.sub(r"\g<1> " + MASK, text)


def redact_headers(headers: Mapping[str, str]) -> Tuple[Tuple[str, str], ...]:
    """Return the headers; the value of each header that carries a secret is masked."""
    return tuple(
        (name, MASK if is_secret_header(name) else value) for name, value in headers.items()
    )


def is_secret_header(name: str) -> bool:
    """Say whether a header of this name carries a credential."""
    return _SECRET_HEADERS.search(name) is not None


def is_secret_parameter(name: str) -> bool:
    """Say whether a URL's query parameter of this name carries a credential."""
    return _PARAMETERS.fullmatch(name) is not None


def is_secret_field(name: str) -> bool:
    """Say whether a setting or a body's field of this name holds a secret."""
    return _SECRET_FIELDS.fullmatch(name.lower().replace("-", "_")) is not None
