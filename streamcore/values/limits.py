# SPDX-License-Identifier: MIT
"""The clocks and sizes that limit one call.

In: numbers from the caller, the client and the provider profile.
Out: one ``ResolvedLimits`` with every field set (``resolve_limits``). Each field
comes from the first of these that gives it: the call, the client, the profile,
``DEFAULT_LIMITS``. Refused when made: a value that is not a number, not above 0,
or not finite.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, Optional, Union

from .numbers import check_seconds, check_whole


class NotGiven:
    """The mark of a field that nobody set. None is a value: it means "turned off"."""

    _only: Optional[NotGiven] = None

    def __new__(cls) -> NotGiven:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "NOT_GIVEN"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = NotGiven()

Seconds = Union[float, None, NotGiven]
Count = Union[int, NotGiven]

_CLOCKS = ("connect_timeout", "first_byte_timeout", "idle_timeout", "total_timeout")


@dataclass(frozen=True)
class Limits:
    """The limits of one call. A field that is not given comes from the next layer.

    Clocks are in seconds, above 0; None turns a clock off:
      connect_timeout     one deadline for all addresses, the proxy CONNECT and TLS together
      first_byte_timeout  from the end of the request to the first byte of the body
      idle_timeout        one wait for bytes of the body, or one blocked write
      total_timeout       all waiting for the provider, over all attempts
    Sizes are whole numbers of 1 or more:
      max_stream_bytes         bytes of the body after decoding
      max_event_bytes          bytes of one event, over all its lines
      max_document_bytes       bytes of a JSON document that came instead of a stream
      max_tool_calls           distinct tool calls in one answer
      max_tool_argument_bytes  UTF-8 bytes of one call's arguments
    Raises ValueError for a number out of range, TypeError for a value that is not a
    number.
    """

    connect_timeout: Seconds = NOT_GIVEN
    first_byte_timeout: Seconds = NOT_GIVEN
    idle_timeout: Seconds = NOT_GIVEN
    total_timeout: Seconds = NOT_GIVEN
    max_stream_bytes: Count = NOT_GIVEN
    max_event_bytes: Count = NOT_GIVEN
    max_tool_calls: Count = NOT_GIVEN
    max_tool_argument_bytes: Count = NOT_GIVEN
    max_document_bytes: Count = NOT_GIVEN

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, NotGiven):
                continue
            if field.name not in _CLOCKS:
                check_whole(field.name, value)
            elif value is not None:
                check_seconds(field.name, value)

    def over(self, lower: Limits) -> Limits:
        """Return these limits; a field that is not given here comes from ``lower``."""
        return Limits(**{**lower.given(), **self.given()})

    def given(self) -> Dict[str, Any]:
        """Return the fields that are given, by name."""
        return {name: value for name, value in vars(self).items() if value is not NOT_GIVEN}


DEFAULT_LIMITS = Limits(
    connect_timeout=10.0,
    idle_timeout=30.0,
    total_timeout=60.0,
    max_stream_bytes=100 * 1024 * 1024,
    max_event_bytes=256 * 1024,
    max_tool_calls=32,
    max_tool_argument_bytes=1024 * 1024,
    max_document_bytes=8 * 1024 * 1024,
)


@dataclass(frozen=True)
class ResolvedLimits:
    """``Limits`` after resolving: every field is set; None means the clock is off."""

    connect_timeout: Optional[float]
    first_byte_timeout: Optional[float]
    idle_timeout: Optional[float]
    total_timeout: Optional[float]
    max_stream_bytes: int
    max_event_bytes: int
    max_tool_calls: int
    max_tool_argument_bytes: int
    max_document_bytes: int


def resolve_limits(*layers: Optional[Limits]) -> ResolvedLimits:
    """Merge layers over ``DEFAULT_LIMITS``; the first layer is the strongest.

    If no layer gives the first-byte clock, it has the value of the idle clock.
    """
    merged = DEFAULT_LIMITS.given()
    for layer in reversed(layers):
        if layer is not None:
            merged.update(layer.given())
    merged.setdefault("first_byte_timeout", merged["idle_timeout"])
    return ResolvedLimits(**merged)
