# SPDX-License-Identifier: MIT
"""The wire dialects: each is one value in one folder, and one table holds their names.

``find_dialect`` loads a dialect when it is first asked for. ``register_dialect`` adds a dialect
from outside the package. ``recognise`` says which dialect a body is in. An error message uses
it for a body that is not in the dialect that was asked for.
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

_FOLDERS = {  # name → the folder whose DIALECT is loaded
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
"""Dialects that can be recognised but not read, each with its test of a payload."""


def dialect_names() -> Tuple[str, ...]:
    """Return the names of all dialects that can be read and written."""
    return (*_FOLDERS, *_registered)


def find_dialect(name: Union[str, Dialect]) -> Dialect:
    """Return the dialect of a name; return a ``Dialect`` unchanged.

    Raises:
        ValueError: for a name that no dialect has.
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
    """Make a dialect from outside the package known by its name.

    Returns: a function that removes it again.
    Raises:
        ValueError: if another dialect has the name.
    """
    if dialect.name in dialect_names():
        raise ValueError(f"there is a dialect {dialect.name!r} already")
    _registered[dialect.name] = dialect

    def remove() -> None:
        _registered.pop(dialect.name, None)

    return remove


def recognise(payload: Mapping[str, Any]) -> Optional[str]:
    """Return the name of the dialect of a body's first payload, or None if it is not known."""
    for name in dialect_names():
        if find_dialect(name).recognises(payload):
            return name
    return next((name for name, recognises in _UNREAD.items() if recognises(payload)), None)
