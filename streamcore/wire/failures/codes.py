# SPDX-License-Identifier: MIT
"""Which code an error has, when its signs agree and when they do not.

In: the HTTP status, where there is one, and the ``Signs`` of the error.
Out: a code of ``errors.CODES``, or ``HTTP_<n>``. Refused: nothing.
The rule (design.md §6): an exact provider code or type, then 401, then 402, then
words about a rate, about money, about context, about the key, then the status.
"""

from __future__ import annotations

import re
from typing import Optional

from .signs import Signs
from .vocabulary import (
    CODE_BY_NAME,
    CODE_BY_STATUS,
    CONTEXT_WORDS,
    KEY_WORDS,
    MONEY_WORDS,
    RATE_WORDS,
    STATUS_BY_NAME,
)

# Wrong on these: 401 and 403 are about the caller, 429 about time (long prompts use up rates).
_NEVER_CONTEXT = (401, 403, 429)
_MAYBE_KEY = (400, None)  # Google and Cloudflare send 400 for a wrong key


def code_for(status: Optional[int], signs: Signs) -> str:
    """Return the code of an error.

    Args:
        status: the HTTP status, 400 or more; None for an error in a stream that names none.
        signs: what was found in the error.
    """
    names = [_plain(name) for name in signs.names]
    for name in names:
        if name in CODE_BY_NAME:
            return CODE_BY_NAME[name]
    if status is None:
        status = next((STATUS_BY_NAME[name] for name in names if name in STATUS_BY_NAME), None)
    if status in (401, 402):
        return CODE_BY_STATUS[status]
    return _code_by_words(status, signs) or _code_by_status(status)


def _code_by_words(status: Optional[int], signs: Signs) -> Optional[str]:
    text = "\n".join(signs.messages + signs.names)
    text = re.sub(r"https?://\S+", " ", text)  # the address of a page on rate limits says nothing
    for words, code, applies in (
        (RATE_WORDS, "RATE_LIMIT", True),
        (MONEY_WORDS, "QUOTA", True),
        (CONTEXT_WORDS, "CONTEXT_WINDOW_EXCEEDED", status not in _NEVER_CONTEXT),
        (KEY_WORDS, "AUTH", status in _MAYBE_KEY),
    ):
        if applies and words.search(text):
            return code
    return None


def _code_by_status(status: Optional[int]) -> str:
    if status is None or 500 <= status < 600:
        return "SERVER"
    return CODE_BY_STATUS.get(status, f"HTTP_{status}")


def _plain(name: str) -> str:
    """RateLimit_Reached → ratelimitreached; the type out of AWS's ``ns#Type:url``."""
    name = name.split("#")[-1].split(":")[0]
    return re.sub(r"[^a-z0-9]", "", name.lower())
