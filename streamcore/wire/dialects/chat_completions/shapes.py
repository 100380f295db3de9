# SPDX-License-Identifier: MIT
"""Checks the types of values in a provider's JSON.

In: a value of a payload. Out: the same value, with its type checked. Refused: a wrong type,
as ``MALFORMED_RESPONSE``. Callers do not pass null, because null means absent.
"""

from __future__ import annotations

from typing import Any

from ...payload import malformed, shown

__all__ = ["malformed", "shown", "string"]


def string(value: Any, what: str) -> str:
    """Return a value that must be a string; ``what`` names it in the error.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` if it is not a string.
    """
    if type(value) is not str:
        raise malformed(f"{what} is a {type(value).__name__}")
    return value
