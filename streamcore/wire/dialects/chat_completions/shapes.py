# SPDX-License-Identifier: MIT
"""Shapes a provider's JSON must have, and the one error for those it has not.

In: values of a payload. Out: the same values, known to be what they must be.
Refused: a wrong type, as ``MALFORMED_RESPONSE``. Null is never refused here: it
means absent, and the caller has dealt with it.
"""

from __future__ import annotations

from typing import Any

from ....values.errors import LlmError
from ....values.strictjson import mend_text

_SHOWN = 120  # characters of a payload that a message shows


def string(value: Any, what: str) -> str:
    """Return a value that must be a string.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` when it is none.
    """
    if type(value) is not str:
        raise malformed(f"{what} is a {type(value).__name__}")
    return value


def shown(text: str) -> str:
    """Return the start of a payload as it can stand in a message."""
    return repr(mend_text(text[:_SHOWN]))


def malformed(reason: str) -> LlmError:
    """Return the error for what is not as it must be."""
    return LlmError(reason, "MALFORMED_RESPONSE", phase="body")
