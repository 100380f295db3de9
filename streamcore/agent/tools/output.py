# SPDX-License-Identifier: MIT
"""Makes text of bounded size from the value that a tool returned.

In: any value. Out: text that can be sent. A string stays as it is, None becomes
``NO_OUTPUT``, bytes are decoded as UTF-8, and anything else becomes JSON. A note replaces
binary data, and a value that cannot be shown, such as a number of too many digits.
Surrogate halves are mended. Text over the cap is cut between two characters, and a mark
says how many bytes are missing. Nothing is refused.
"""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

from ...values.messages.blocks import NO_OUTPUT
from ...values.strictjson import mend_text
from .raised import error_text


def render_output(value: Any, max_bytes: int = 16 * 1024) -> str:
    """Return a tool's value as text.

    Args:
        value: what the tool returned.
        max_bytes: cap of the text in UTF-8 bytes, including the mark of a cut; 256 or
            more, as ``AgentLimits`` checks.
    """
    return cut_text(mend_text(_as_text(value)), max_bytes)


def cut_text(text: str, max_bytes: int) -> str:
    """Return ``text``, or its beginning and a mark that says how many bytes were cut."""
    if len(text) <= max_bytes // 4:  # no character has more than four bytes
        return text
    data = text.encode("utf-8")
    if len(data) <= max_bytes:
        return text
    room = max(0, max_bytes - len(_mark(len(data), len(data)).encode("utf-8")))
    kept = data[:room].decode("utf-8", "ignore")  # drops the half character at the cut
    return kept + _mark(len(data) - len(kept.encode("utf-8")), len(data))


def _mark(cut: int, whole: int) -> str:
    return f"\n[output cut: {cut} of {whole} bytes left out]"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return str(value) if not isinstance(value, Enum) else str(value.value)
    if value is None:
        return NO_OUTPUT
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_as_text(bytes(value))
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except Exception:  # odd keys, a value that contains itself, or what its own code raises
        return _shown(value)


def _shown(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return "(output that cannot be shown: it is nested too deeply)"
    except Exception as error:  # "Exceeds the limit (4300 digits)…", or what its own code raises
        return f"(output that cannot be shown: {error_text(error)})"


def _bytes_as_text(data: bytes) -> str:
    if b"\0" in data:  # text has no NUL; an image or a program has one near its start
        return f"(binary output, {len(data)} bytes)"
    return data.decode("utf-8", "replace")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_as_text(bytes(value))
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return str(value)
