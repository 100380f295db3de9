# SPDX-License-Identifier: MIT
"""The text of one event as a payload, or as the error it brings; every dialect reads so.

In: text. Out: a JSON value, or an ``LlmError`` to raise. Refused as ``MALFORMED_RESPONSE``:
what is not exactly one JSON document (RFC 8259).
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
    """Return what reads the value at a place of a text, and gives where it ends.

    It may refuse anything with ``ValueError``, ``RecursionError`` or ``StopIteration``, and
    stop early: ``strictly`` then says what is wrong. The default skips the look of
    ``json.loads`` for an encoding and for blanks, half of the time of a short payload.
    """
    if json_loads is None:
        return strictjson.read_value
    loads = json_loads
    return lambda text, _: (loads(text), len(text))


def strictly(text: str) -> Any:
    """Return the value of a payload that is exactly one JSON document.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` where it is not.
    """
    try:
        return strictjson.loads(text)
    except ValueError as bad:
        raise malformed(f"a payload is not JSON ({bad}): {shown(text)}") from None


def named_error(data: str) -> LlmError:
    """Return the error that an event named ``error`` brings: an object, a value, or words."""
    try:
        error: Any = strictjson.loads(data)
    except ValueError:
        error = data
    if not isinstance(error, dict):
        return provider_error(data if error is None else error, None)
    found = failures.find_error(error, "error")
    return provider_error(data if found is None else found, error)


def provider_error(error: Any, payload: Optional[Mapping[str, Any]]) -> LlmError:
    """Return the error that a provider sent, with the payload it stands in."""
    return LlmError.from_failure(failures.failure_from_payload(error, payload))


def shown(text: str) -> str:
    """Return the start of a payload as it can stand in a message."""
    return repr(mend_text(text[:_SHOWN]))


def malformed(reason: str) -> LlmError:
    """Return the error for what is not as it must be."""
    return LlmError(reason, "MALFORMED_RESPONSE", phase="body")
