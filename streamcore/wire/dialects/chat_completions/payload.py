# SPDX-License-Identifier: MIT
"""What chat completions adds to the reading of payloads that all dialects share.

In: a payload. Out: the JSON object it must be, or whether it is whole. Refused as
``MALFORMED_RESPONSE``: what is no JSON object.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from ... import failures
from ...payload import malformed, named_error, provider_error, reader, shown, strictly

__all__ = [
    "JsonLoads", "is_whole", "named_error", "provider_error", "reader", "strictly", "unwrapped",
]

JsonLoads = Callable[[str], Any]


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
