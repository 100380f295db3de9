# SPDX-License-Identifier: MIT
"""Makes the address of a request from a base URL as people write it.

In: ``https://h/v1``, with or without a last slash, with or without the endpoint's path, with a
query, or only a host. Out: the address to post to. Refused before any I/O, as
``INVALID_REQUEST``: no scheme, another scheme than http and https, no host, a bad port,
characters that a URL cannot have. The message never shows a user, a password, a query or a
fragment.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from ..values.errors import LlmError

_ODD = re.compile(r"[^!-~]|[\"<>\\^`{|}]")  # characters that no URL has (RFC 3986)
_HOST = re.compile(r"(?!.{254})(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]+(?:%25[A-Za-z0-9._~-]+)?")
_VERSION = re.compile("/v[0-9]+(?=/)")
_TAIL = re.compile("[?#]")  # begins a query or a fragment, which may hold a key
_SHOWN = 200  # characters of a base URL in a message


def join_address(base_url: str, path: str, base_path: str = "") -> str:
    """Return the address of an endpoint.

    Args:
        base_url: as a person writes it; blanks around it are ignored.
        path: the endpoint's path below the base URL, such as ``/chat/completions``. It is not
            added if the base URL ends with it already. A version at its beginning is not added
            if the base URL ends with that version.
        base_path: the path to use if the base URL is only a host, such as ``/v1``.
    Raises:
        LlmError: ``INVALID_REQUEST``; the message says what is wrong with the base URL.
    """
    if not isinstance(base_url, str):
        raise invalid(f"a base URL is a string, not {type(base_url).__name__}")
    base = base_url.strip()
    _check_text(base)
    try:
        parts = urlsplit(base)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # brackets that do not close, a port that is not a number
        # The message does not show the bad port, because it may be a pasted key.
        raise invalid("the host or port of the base URL cannot be read") from None
    if parts.scheme.lower() not in ("http", "https"):
        raise _refuse(base, "its scheme is not http or https")
    if not host:
        raise _refuse(base, "it has no host")
    if port == 0 or not (_IPV6 if ":" in host else _HOST).fullmatch(host):
        raise invalid("the host or port of the base URL is not valid")
    if parts.fragment:
        raise _refuse(base, "it has a #, and the text after a # is never sent")
    whole = parts.path.rstrip("/") or base_path
    version = _VERSION.match(path)
    if version and not whole.endswith(path) and whole.endswith(version.group()):
        whole = whole[: -len(version.group())]  # /v1 and /v1/messages
    if not whole.endswith(path):
        whole += path
    return urlunsplit((parts.scheme, parts.netloc, whole, parts.query, ""))


def path_of(base_url: str) -> str:
    """Return the path of a base URL without its last slash."""
    return urlsplit(base_url.strip()).path.rstrip("/")


def invalid(text: str) -> LlmError:
    """Return the error of a request refused before any I/O."""
    return LlmError(text, "INVALID_REQUEST", phase="prepare")


def _check_text(base: str) -> None:
    if not base:
        raise invalid("the base URL is empty")
    if "://" not in base:
        raise _refuse(base, "it has no scheme; write http:// or https:// before it")
    odd = _ODD.search(base)
    if odd:
        raise _refuse(base, f"a URL cannot hold {ascii(odd.group())}")


def _refuse(base: str, reason: str) -> LlmError:
    return invalid(f"the base URL {_shown(base)} cannot be used: {reason}")


def _shown(base: str) -> str:
    """Return a broken URL without the parts that may be secret.

    In a broken URL, nobody knows where the user and password end. So if the URL has an @,
    only the scheme is shown.
    """
    scheme, found, rest = base.partition("://")
    start = scheme[:20] + found if found else ""
    if "@" in base:
        return ascii(start + "***") if "@" not in scheme else "'***'"
    whole = rest if found else base
    shown = _TAIL.split(whole, 1)[0]
    hidden = f"{whole[len(shown)]}***" if len(shown) < len(whole) else ""
    return ascii((start + shown)[:_SHOWN] + hidden)
