# SPDX-License-Identifier: MIT
"""Finds the error in a payload of a stream.

In: a payload and the name of its event. Out: the error as it is in the payload, or None.
Refused: nothing. The rule is DESIGN.md §8.4: an error fails the stream wherever it is, even
beside choices. A payload that only looks like an error is one only if it has no choices.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional

MESSAGE_KEYS = (
    *("message", "msg", "error_message", "error_msg", "errorMessage", "errorMsg"),
    *("status_msg", "faultstring", "Message"),
)
"""The keys that may hold the sentence of an error."""

_CODE_KEYS = ("code", "error_code", "error_type", "errorCode", "__type")
_STATUS_KEYS = ("status", "status_code", "statusCode", "code")
# Codes that say that all is well. They belong to an envelope around something else.
_ALL_IS_WELL = (0, 200, "0", "200", "ok", "OK", "success", "Success", "SUCCESS")


def find_error(payload: Mapping[str, Any], event_name: str = "message") -> Any:
    """Return the error that a stream's payload holds, or None (DESIGN.md §8.4).

    An ``error`` counts unless it is null, false or ``""``. Even ``{}`` and 0 count, because an
    answer with an error cannot be trusted. So compare the result with None.
    """
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    delta = first.get("delta") if isinstance(first, Mapping) else None
    for place in (payload, first, delta):
        if isinstance(place, Mapping) and _says_something(place.get("error")):
            return place["error"]
    if event_name.strip().lower() == "error" or "error" in (
        payload.get("object"),
        payload.get("type"),
    ):
        return payload
    # Groq has an error in x_groq if it stopped early, OpenAI in the response that failed.
    for place in (payload.get("x_groq"), payload.get("response")):
        if isinstance(place, Mapping) and _says_something(place.get("error")):
            return place["error"]
    base = payload.get("base_resp")  # MiniMax: in every frame, status_code 0 when all is well
    if isinstance(base, Mapping) and base.get("status_code") not in (None, 0, "0", ""):
        return base
    return None if choices else _find_without_choices(payload)


def may_be_error(payload: Mapping[str, Any]) -> bool:
    """Say whether a payload without choices may be an error of an unknown shape.

    A sentence under a usual key is enough. A note about progress looks the same, so such a
    payload counts as an error only if the stream then ends without a finish word.
    """
    if any(payload.get(key) in _ALL_IS_WELL for key in _CODE_KEYS):
        return False
    return any(payload.get(key) and isinstance(payload[key], str) for key in MESSAGE_KEYS)


def http_status(value: Any) -> Optional[int]:
    """Return a number or numeric text from 400 to 599 as an HTTP error status, or None."""
    if isinstance(value, str) and re.fullmatch(r"\s*[45][0-9]{2}\s*", value):
        return int(value)
    if isinstance(value, (int, float)) and 400 <= value <= 599 and value == int(value):
        return int(value)
    return None


def _find_without_choices(payload: Mapping[str, Any]) -> Any:
    """Return an error that counts only in a payload without choices, or None."""
    for key in ("detail", "fault", "Error"):  # FastAPI; Apigee; AWS
        if _says_something(payload.get(key)):
            return payload[key]
    errors = payload.get("errors")
    if payload.get("success") is False or (isinstance(errors, list) and errors):
        return payload  # Cloudflare
    bad_status = any(http_status(payload.get(key)) for key in _STATUS_KEYS)
    if bad_status and payload.get("title"):
        return payload  # RFC 9457 problem details, as NVIDIA sends them
    named = bad_status or any(payload.get(key) for key in _CODE_KEYS)
    # Cerebras, DashScope, Databricks and Cohere send the fields of an error without a wrapper.
    return payload if named and may_be_error(payload) else None


def _says_something(value: Any) -> bool:
    return not (value is None or value is False or value == "")
