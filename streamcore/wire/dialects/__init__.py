# SPDX-License-Identifier: MIT
"""The wire dialects: one value and one folder each, found by name in one table.

``find_dialect`` loads a dialect when it is first asked for; ``register_dialect`` adds one from
outside the package. ``recognise`` says in which dialect a body is, for the message of a body
in another dialect than was asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

from .dialect import Asked, Decoder, Dialect, JsonLoads
from .options import DialectOptions

__all__ = [
    "Asked", "Decoder", "Dialect", "DialectOptions", "JsonLoads", "dialect_names", "find_dialect",
    "recognise", "register_dialect",
]

_FOLDERS = {  # name → folder, whose DIALECT is loaded
    "chat-completions": "chat_completions",
    "anthropic-messages": "anthropic_messages",
}
_registered: Dict[str, Dialect] = {}

_UNREAD: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "openai-responses": lambda payload: (
        str(payload.get("type")).startswith("response.") or payload.get("object") == "response"
    ),
    "gemini": lambda payload: "candidates" in payload or "promptFeedback" in payload,
    "ollama": lambda payload: (
        type(payload.get("done")) is bool and ("message" in payload or "response" in payload)
    ),
}
"""Dialects that are recognised but not read."""


def dialect_names() -> Tuple[str, ...]:
    """Return the names of all dialects that can be read and written."""
    return (*_FOLDERS, *_registered)


def find_dialect(name: Union[str, Dialect]) -> Dialect:
    """Return a dialect by its name; a dialect is returned as it is.

    Raises:
        ValueError: for a dialect that does not exist.
    """
    if isinstance(name, Dialect):
        return name
    if name in _FOLDERS:
        found: Dialect = import_module("." + _FOLDERS[name], __name__).DIALECT
        return found
    if name in _registered:
        return _registered[name]
    raise ValueError(f"a dialect is one of {', '.join(dialect_names())}, not {name!r}")


def register_dialect(dialect: Dialect) -> Callable[[], None]:
    """Let a dialect from outside the package be found by its name; return what undoes it.

    Raises:
        ValueError: where a dialect has that name already.
    """
    if dialect.name in dialect_names():
        raise ValueError(f"there is a dialect {dialect.name!r} already")
    _registered[dialect.name] = dialect

    def remove() -> None:
        _registered.pop(dialect.name, None)

    return remove


def recognise(payload: Mapping[str, Any]) -> Optional[str]:
    """Return the name of the dialect that a body's first payload is in; None for no known one."""
    for name in dialect_names():
        if find_dialect(name).recognises(payload):
            return name
    return next((name for name, recognises in _UNREAD.items() if recognises(payload)), None)
