# SPDX-License-Identifier: MIT
"""Reads the text of one event as a payload or as an error; every dialect uses it.

In: text. Out: a JSON value, or an ``LlmError`` to raise. Refused as ``MALFORMED_RESPONSE``:
text that is not exactly one JSON document (RFC 8259).
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Tuple

from ..values import strictjson
from ..values.errors import LlmError
from ..values.strictjson import mend_text
from . import failures

_SHOWN = 120  # characters of a payload that a message shows


def reader(
    json_loads: Optional[Callable[[str], Any]]
) -> Callable[[str, int], Tuple[Any, int]]:
    """Return a function that reads one JSON value from a text.

    The function takes the text and a position. It returns the value and the position where
    the value ends. It may raise ``ValueError``, ``RecursionError`` or ``StopIteration``, or
    stop before the end of the text; ``strictly`` then finds out what is wrong.

    Args:
        json_loads: the caller's own parser; None for a default. The default does not look
            for an encoding or blanks as ``json.loads`` does. That look takes half of the
            time for a short payload.
    """
    if json_loads is None:
        return strictjson.read_value
    loads = json_loads
    return lambda text, _: (loads(text), len(text))


def strictly(text: str) -> Any:
    """Return the value of a payload that is exactly one JSON document.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` if the payload is anything else.
    """
    try:
        return strictjson.loads(text)
    except ValueError as bad:
        raise malformed(f"a payload is not JSON ({bad}): {shown(text)}") from None


def check_unique(text: str) -> None:
    """Refuse a payload that holds a call's arguments as an object, if a key in it comes twice.

    Readers keep the last value of such a key, so nobody could say what the arguments are.

    Raises:
        LlmError: ``MALFORMED_TOOL_CALL``.
    """
    try:
        strictjson.loads_unique(text.strip())
    except ValueError as bad:
        said = f"tool calls: arguments as an object in a payload where {bad}"
        raise LlmError(said, "MALFORMED_TOOL_CALL", phase="body") from None


def named_error(data: str) -> LlmError:
    """Return the error in an event named ``error``; its data is JSON or plain words."""
    try:
        error: Any = strictjson.loads(data)
    except ValueError:
        error = data
    if not isinstance(error, dict):
        return provider_error(data if error is None else error, None)
    found = failures.find_error(error, "error")
    return provider_error(data if found is None else found, error)


def provider_error(error: Any, payload: Optional[Mapping[str, Any]]) -> LlmError:
    """Return the exception for an error that a provider sent; ``payload`` is its container."""
    return LlmError.from_failure(failures.failure_from_payload(error, payload))


def shown(text: str) -> str:
    """Return the start of a payload in a form that fits into an error message."""
    return repr(mend_text(text[:_SHOWN]))


def malformed(reason: str) -> LlmError:
    """Return the error for an answer that breaks a rule of the dialect."""
    return LlmError(reason, "MALFORMED_RESPONSE", phase="body")
