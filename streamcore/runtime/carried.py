# SPDX-License-Identifier: MIT
"""The credentials that a caller's HTTP session and proxies add to a request.

In: a ``requests.Session``, or an object used as one; addresses of proxies. Out: headers and
addresses that may hold credentials, in the form that ``secrets`` reads. Nothing is refused:
a value of a shape that requests does not document is skipped, and requests will judge it.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Sequence, Tuple
from urllib.parse import quote, urlencode

Headers = List[Tuple[str, str]]


def read_carried(session: Any, proxies: Sequence[str]) -> Tuple[Headers, List[str]]:
    """Return the headers, cookies among them, as names and values; and the addresses.

    Args:
        session: the caller's own HTTP session, or None.
        proxies: the addresses of proxies, with or without a scheme.
    """
    addresses = [_userinfo(proxy) for proxy in proxies if "@" in proxy]
    if session is None:
        return [], addresses
    auth = getattr(session, "auth", None)
    headers = [*_headers(session), *_cookies(session), *_attributes(auth)]
    return headers, [*addresses, *_login(auth), *_parameters(session)]


def _userinfo(proxy: str) -> str:
    # A password may hold an unquoted @ or slash: so this splits at the last @, and quotes.
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
    else:  # a cookie jar; not every jar is a mapping
        values = [getattr(one, "value", None) for one in cookies]
    for value in values:
        if isinstance(value, str):
            yield "Cookie", value


def _attributes(auth: Any) -> Iterator[Tuple[str, str]]:
    """Yield the text attributes of an object that signs requests, such as a token."""
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
