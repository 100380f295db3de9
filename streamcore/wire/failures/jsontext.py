# SPDX-License-Identifier: MIT
"""JSON in errors: read where it can be read, shown where no sentence is in it.

In: text that may be JSON; a value. Out: the value, or None; its text, or nothing.
Refused: nothing. Laxer than ``strictjson``, for an error is to be understood, not trusted.
"""

from __future__ import annotations

import json
from typing import Any


def parsed(text: str) -> Any:
    """Return the value of a JSON document, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or more than Python takes
        return None


def parsed_start(text: str) -> Any:
    """Return the value of the JSON document that a text begins with, or None."""
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):  # no JSON, or more than Python takes
        return None


def shown(value: Any) -> str:
    """Return a value as JSON; empty where there is nothing to show."""
    if value is None or value in ({}, [], ""):
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):  # no JSON value, or too deep to show
        return ""
