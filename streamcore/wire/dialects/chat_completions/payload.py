# SPDX-License-Identifier: MIT
"""What only chat completions needs for reading payloads; ``wire.payload`` has the rest.

In: a payload. Out: a JSON object, or whether a completion is whole. Refused as
``MALFORMED_RESPONSE``: a payload that is not a JSON object.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from ... import failures
from ...payload import (
    check_unique, malformed, named_error, provider_error, reader, shown, strictly,
)

__all__ = [
    "JsonLoads", "check_unique", "is_whole", "named_error", "provider_error", "reader", "strictly",
    "unwrapped",
]

JsonLoads = Callable[[str], Any]


def unwrapped(payload: Any, text: str) -> Dict[str, Any]:
    """Return the error object that Gemini sends in a list.

    Raises:
        LlmError: ``MALFORMED_RESPONSE`` for any other payload that is not an object.
    """
    if type(payload) is list and len(payload) == 1 and type(payload[0]) is dict:
        if failures.find_error(payload[0]) is not None:
            return payload[0]
    raise malformed(f"a payload is not a JSON object: {shown(text)}")


def is_whole(choices: List[Any]) -> bool:
    """Say whether each choice has a message and a finish word; a frame of a stream has not."""
    return all(
        isinstance(choice, dict) and choice.get("message") and choice.get("finish_reason")
        for choice in choices
    )
