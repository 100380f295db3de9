# SPDX-License-Identifier: MIT
"""Shapes a provider's JSON must have, and the one error for those it has not.

In: values of a payload. Out: the same values, known to be what they must be.
Refused: a wrong type, as ``MALFORMED_RESPONSE``. Null is never refused here: it
means absent, and the caller has dealt with it.
"""

from __future__ import annotations

from typing import Any

from ...payload import malformed, shown

__all__ = ["malformed", "shown", "string"]


def string(value: Any, what: str) -> str:
    """Return a value that must be a string.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` when it is none.
    """
    if type(value) is not str:
        raise malformed(f"{what} is a {type(value).__name__}")
    return value
