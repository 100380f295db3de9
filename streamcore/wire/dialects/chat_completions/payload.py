# SPDX-License-Identifier: MIT
"""The text of one event as a payload, or as the error it brings.

In: text. Out: the JSON object it must be, or an ``LlmError`` to raise. Refused as
``MALFORMED_RESPONSE``: what is not exactly one JSON document (RFC 8259).
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ....values import strictjson
from ....values.errors import LlmError
from ... import failures
from .shapes import malformed, shown

JsonLoads = Callable[[str], Any]


def reader(json_loads: Optional[JsonLoads]) -> Callable[[str, int], Tuple[Any, int]]:
    """Return what reads the value at a place of a text, and gives where it ends.

    It may refuse anything with ``ValueError``, ``RecursionError`` or ``StopIteration``, and
    stop early: ``strictly`` says then what is wrong. The default skips the look of
    ``json.loads`` for an encoding and for blanks, 0.9 µs of 1.9 an event.
    """
    if json_loads is None:
        return strictjson.read_value
    return lambda text, _: (json_loads(text), len(text))


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


def strictly(text: str) -> Any:
    """Return the value of a payload that is exactly one JSON document.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` where it is not.
    """
    try:
        return strictjson.loads(text)
    except ValueError as bad:
        raise malformed(f"a payload is not JSON ({bad}): {shown(text)}") from None


def unwrapped(payload: Any, text: str) -> Dict[str, Any]:
    """Return the error object that Gemini sends in a list; refuse all else that is no object."""
    if type(payload) is list and len(payload) == 1 and type(payload[0]) is dict:
        if failures.find_error(payload[0]) is not None:
            return payload[0]
    raise malformed(f"a payload is no JSON object: {shown(text)}")


def is_whole(choices: List[Any]) -> bool:
    """Say whether each choice holds a message that ended: one line of a stream does not."""
    return all(
        isinstance(choice, dict) and choice.get("message") and choice.get("finish_reason")
        for choice in choices
    )
