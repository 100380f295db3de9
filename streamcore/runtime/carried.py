# SPDX-License-Identifier: MIT
"""What a caller's session and proxies add to a request, where it may be secret.

In: a ``requests.Session``, or what stands for one; addresses of proxies. Out: headers, and
addresses that can hold credentials, as ``secrets`` reads them. Nothing is refused: what has
another shape than requests documents is passed over, for requests to judge.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Sequence, Tuple
from urllib.parse import quote, urlencode

Headers = List[Tuple[str, str]]


def read_carried(session: Any, proxies: Sequence[str]) -> Tuple[Headers, List[str]]:
    """Return headers as names and values, cookies among them, and addresses.

    Args:
        session: the caller's own, or None.
        proxies: their addresses, with or without a scheme.
    """
    addresses = [_userinfo(proxy) for proxy in proxies if "@" in proxy]
    if session is None:
        return [], addresses
    auth = getattr(session, "auth", None)
    headers = [*_headers(session), *_cookies(session), *_attributes(auth)]
    return headers, [*addresses, *_login(auth), *_parameters(session)]


def _userinfo(proxy: str) -> str:
    # To the last @, and quoted: a password may hold one, or a slash, though it should not.
    user = proxy.rpartition("://")[2].rpartition("@")[0]
    return f"//{quote(user, safe=':%')}@"


def _headers(session: Any) -> Iterator[Tuple[str, str]]:
    headers = getattr(session, "headers", None)
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if value is not None:
            yield _text(name), _text(value)


def _cookies(session: Any) -> Iterator[Tuple[str, str]]:
    cookies = getattr(session, "cookies", None) or ()
    if isinstance(cookies, dict):
        values = list(cookies.values())
    else:  # a cookie jar, which is a mapping too but need not be
        values = [getattr(one, "value", None) for one in cookies]
    for value in values:
        if isinstance(value, str):
            yield "Cookie", value


def _attributes(auth: Any) -> Iterator[Tuple[str, str]]:
    """Yield what an object that signs requests keeps, a token for one, by its names."""
    for name, value in getattr(auth, "__dict__", {}).items():
        if isinstance(value, (str, bytes)):
            yield name, _text(value)


def _login(auth: Any) -> Iterator[str]:
    if isinstance(auth, tuple) and len(auth) == 2:
        user, password = auth
    else:  # requests' Basic, Digest and proxy authentication
        user, password = getattr(auth, "username", None), getattr(auth, "password", None)
    if password is not None:
        yield f"//{quote(_text(user), safe='')}:{quote(_text(password), safe='')}@"


def _parameters(session: Any) -> Iterator[str]:
    params = getattr(session, "params", None)
    if isinstance(params, (str, bytes)):
        yield "?" + _text(params)
    elif isinstance(params, Mapping):
        yield "?" + urlencode(params, doseq=True)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
