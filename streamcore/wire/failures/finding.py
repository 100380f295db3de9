# SPDX-License-Identifier: MIT
"""Where in a stream's payload an error is, if one is.

In: a payload and the name of its event. Out: the error as it stands there, or None.
Refused: nothing. The rule is design.md §8.4: an error fails the stream wherever it
sits, choices beside it included; what only looks like one counts without choices only.
"""

from __future__ import annotations

from typing import Any, Mapping

_CODE_KEYS = ("code", "error_code", "error_type", "__type")


def find_error(payload: Mapping[str, Any], event_name: str = "message") -> Any:
    """Return the error that a stream's payload holds, or None (design.md §8.4).

    An ``error`` counts unless it is null, false or ``""``: ``{}`` and 0 do, for an
    answer that carries one cannot be trusted. So compare the result with None.
    """
    if _says_something(payload.get("error")):
        return payload["error"]
    choices = payload.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        if _says_something(choices[0].get("error")):
            return choices[0]["error"]
    if event_name.strip().lower() == "error" or "error" in (
        payload.get("object"),
        payload.get("type"),
    ):
        return payload
    groq = payload.get("x_groq")  # why a stream was stopped early, beside a frame like any other
    if isinstance(groq, Mapping) and _says_something(groq.get("error")):
        return groq["error"]
    base = payload.get("base_resp")  # MiniMax: in every frame, status_code 0 when all is well
    if isinstance(base, Mapping) and base.get("status_code") not in (None, 0, "0", ""):
        return base
    return None if choices else _find_without_choices(payload)


def _find_without_choices(payload: Mapping[str, Any]) -> Any:
    """Find what is an error only because no answer is beside it."""
    if _says_something(payload.get("detail")):
        return payload["detail"]  # FastAPI
    errors = payload.get("errors")
    if payload.get("success") is False or (isinstance(errors, list) and errors):
        return payload  # Cloudflare
    status = payload.get("status")
    if isinstance(status, int) and status >= 400 and payload.get("title"):
        return payload  # RFC 9457 problem details, as NVIDIA sends them
    named = any(payload.get(key) for key in _CODE_KEYS)
    if named and isinstance(payload.get("message"), str) and payload["message"]:
        return payload  # Cerebras, DashScope, Databricks and Cohere have no wrapper
    return None


def _says_something(value: Any) -> bool:
    return not (value is None or value is False or value == "")
