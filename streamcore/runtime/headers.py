# SPDX-License-Identifier: MIT
"""The headers of a request, and the search for its key.

In: the layers of headers, weakest first; the places where a key may be. Out: one dict of
headers; the key. Refused before any I/O: a header that no server can read
(``INVALID_REQUEST``), and a key that no header can carry (``INVALID_CREDENTIAL``).
No message shows any part of a key.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from ..values.errors import LlmError
from ..values.headers import HEADER_NAME
from ..values.redaction import is_secret_header
from ..values.showing import shorten

# RFC 9110, section 5.5: no control character except the tab, and only what Latin-1 can encode
_HEADER_VALUE = re.compile("[\t -~\x80-\xff]+")
_SESSION = re.compile("(?i)session")  # names the id of a conversation: secret, but not a key
_KEY = re.compile(r"[!-~]+")  # visible ASCII without blanks: every server reads it in a header


def make_headers(layers: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
    """Return one set of headers; a later layer wins, whatever the case of its names.

    Raises:
        LlmError: for a name or value that no header can have. ``INVALID_CREDENTIAL`` for the
            value of a header that carries a credential, else ``INVALID_REQUEST``. None and
            "" are refused too.
    """
    headers: Dict[str, str] = {}
    names: Dict[str, str] = {}  # lower-case name → the name as first written
    for layer in layers:
        for name, value in layer.items():
            _check_header(name, value)
            headers[names.setdefault(name.lower(), name)] = value
    return headers


def has_header(headers: Mapping[str, str], name: str) -> bool:
    """Say whether ``headers`` has this name, whatever its case."""
    wanted = name.lower()
    return any(one.lower() == wanted for one in headers)


def _check_header(name: Any, value: Any) -> None:
    if not isinstance(name, str) or not HEADER_NAME.fullmatch(name):
        # The name is not shown: it may be a whole header line, with the key in it.
        raise LlmError(_wrong_name(name), "INVALID_REQUEST", phase="prepare")
    text = value if isinstance(value, str) else ""
    if not _HEADER_VALUE.fullmatch(text) or text != text.strip():
        credential = is_secret_header(name) and not _SESSION.search(name)
        code = "INVALID_CREDENTIAL" if credential else "INVALID_REQUEST"
        raise LlmError(
            f"the header {shorten(name, 80)} has a value that no header can carry",
            code, phase="prepare",
        )


def _wrong_name(name: Any) -> str:
    if not isinstance(name, str):
        return f"a header's name is a string, not {type(name).__name__}"
    begun = HEADER_NAME.match(name)
    odd = name[begun.end():] if begun else name
    return f"a header's name cannot hold {ascii(odd[0])}" if odd else "a header's name is empty"


def find_key(
    given: Any, environ: Optional[Mapping[str, str]], variables: Sequence[str]
) -> Tuple[Optional[str], str]:
    """Find the key: in the value, from the function, or in the environment.

    Args:
        given: the key; or a function that returns the key or None; or None.
        environ: where variables are looked up if ``given`` is None; None looks nothing up.
        variables: the names of the variables; the first one that is set wins.
    Returns: the key without blanks around it, or None; and the places that were searched.
    Raises:
        LlmError: ``INVALID_CREDENTIAL``; it names the place and shows no part of the key.
        Exception: what the function raises.
    """
    if callable(given):
        key = given()
        found = None if key is None else _checked_key(key, "what the api_key function returned")
        return found, "the api_key function"
    if given is not None:
        return _checked_key(given, "the api_key argument"), ""
    looked = ["the api_key argument"]
    for name in variables if environ is not None else ():
        looked.append(f"the environment variable {name}")
        value = environ.get(name, "") if environ is not None else ""
        if value.strip():
            return _checked_key(value, name), ""
    return None, ", ".join(looked)


def _checked_key(key: Any, entry: str) -> str:
    text = key.strip() if isinstance(key, str) else ""
    if not _KEY.fullmatch(text):
        raise LlmError(
            f"{entry} is not a key that a header can carry: visible ASCII, no blanks inside",
            "INVALID_CREDENTIAL",
            phase="prepare",
        )
    return text
