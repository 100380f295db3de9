# SPDX-License-Identifier: MIT
"""A request body as bytes.

In: plain JSON values. Out: compact UTF-8 JSON. Refused with ``INVALID_REQUEST``:
surrogate halves, NaN, Infinity, circular values and values of types that JSON does not
have (RFC 8259, DESIGN.md §6). The error names the place and quotes none of the text.
"""

from __future__ import annotations

import json
import math
from typing import Any, Mapping, Optional

from ..values.given import invalid

_DEEPEST = 200  # no request nests deeper; without a bound, a circular value would never end


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Return ``body`` as compact UTF-8 JSON.

    Raises:
        LlmError: ``INVALID_REQUEST`` naming the place, for surrogate halves, NaN,
            Infinity, circular values and values of types that JSON does not have.
    """
    try:
        plain = dict(body)
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as exc:
        # The exception may quote the whole body, so only the place and the reason are told.
        fault = _find_fault(body, "", 0) or f"the body: {type(exc).__name__}"
    raise invalid(fault)


def _find_fault(value: Any, path: str, depth: int) -> Optional[str]:
    """Say where and why JSON refuses the value; None when the place is not found."""
    where = _place(path)
    if depth > _DEEPEST:
        return f"{where[:80]}...: nested too deeply, or circular"
    if isinstance(value, str):
        return None if _encodable(value) else f"{where}: a lone surrogate half"
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{where}: {value} is not JSON"
    if isinstance(value, (list, tuple)):
        found = (_find_fault(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value))
    elif isinstance(value, dict):
        found = (_find_fault_at(k, v, path, depth + 1) for k, v in value.items())
    elif value is None or isinstance(value, int):
        return None
    else:
        return f"{where}: a value of type {type(value).__name__} is not JSON"
    return next((fault for fault in found if fault is not None), None)


def _find_fault_at(key: Any, value: Any, path: str, depth: int) -> Optional[str]:
    if not isinstance(key, (str, int, float, type(None))):
        return f"{_place(path)}: a key is a string, not {type(key).__name__}"
    # Only strings are shown: Python may refuse to write a huge number or a caller's own type.
    place = f"{path}.{ascii(key)[1:-1][:40] if type(key) is str else '(key)'}"
    if isinstance(key, str) and not _encodable(key):
        return f"{_place(place)}: a lone surrogate half in the key"
    return _find_fault(value, place, depth)


def _place(path: str) -> str:
    return f"the body at {path.lstrip('.')}" if path else "the body"


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a surrogate half that stands alone
        return False
    return True
