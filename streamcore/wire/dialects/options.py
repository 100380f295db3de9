# SPDX-License-Identifier: MIT
"""What a provider profile, or a caller, tells a dialect about its provider's habits.

In: some of the fields; the others are "not given". Out of ``over``: one set of options whose
fields are taken from a stronger set where it gives them. Out of ``resolved``: every field is
a value, the default of a well-behaved provider where nobody gave one. Refused when made:
a value that no field can have (``ValueError``, ``TypeError``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Dict, Mapping, Optional, TypeVar

from ...values.frozen import FrozenDict
from ...values.limits import NOT_GIVEN as _NOT_GIVEN
from ...values.numbers import check_whole

NOT_GIVEN: Any = _NOT_GIVEN  # so that a field can have the type of its values
DONE_MARKERS = ("required", "optional")

Options = TypeVar("Options", bound="DialectOptions")


@dataclass(frozen=True)
class DialectOptions:
    """The options that every dialect has; a dialect's own class adds to them.

    Args:
        done_marker: ``required``: only the dialect's own end marker proves the end of an
            answer; ``optional``: a finish word and a cleanly ended body prove it too.
        images: whether image parts can be sent.
        context_window: tokens, 1 or more; lets an empty answer be told from an overflow.
    Raises:
        ValueError, TypeError: for a value that cannot be.
    """

    done_marker: str = NOT_GIVEN
    images: bool = NOT_GIVEN
    context_window: Optional[int] = NOT_GIVEN

    DEFAULTS: ClassVar[Mapping[str, Any]] = FrozenDict(
        done_marker="required", images=True, context_window=None
    )
    WORDS: ClassVar[Mapping[str, Any]] = FrozenDict(done_marker=DONE_MARKERS)
    """The fields that have one of a few words, and those words."""

    def __post_init__(self) -> None:
        for name, value in self.given().items():
            default = self.DEFAULTS[name]
            if name in self.WORDS:
                if value not in self.WORDS[name]:
                    raise ValueError(f"{name} is one of {self.WORDS[name]}, not {value!r}")
            elif isinstance(default, bool):
                if not isinstance(value, bool):
                    raise TypeError(f"{name} is True or False, not {value!r}")
            elif isinstance(default, str):
                if not isinstance(value, str) or not value:
                    raise ValueError(f"{name} is the name of a field, not {value!r}")
        window = self.given().get("context_window")
        if window is not None:
            check_whole("context_window", window)

    def given(self) -> Dict[str, Any]:
        """Return the fields that are given, by name."""
        return {name: value for name, value in vars(self).items() if value is not NOT_GIVEN}

    def over(self: Options, lower: DialectOptions) -> Options:
        """Return these options, with the fields not given here taken from ``lower``.

        Raises:
            TypeError: where the two are options of different dialects.
        """
        if not isinstance(lower, type(self)) and not isinstance(self, type(lower)):
            raise TypeError(f"{type(self).__name__} do not fit a dialect of {type(lower).__name__}")
        wider = self if isinstance(self, type(lower)) else lower
        made: Any = replace(wider, **{**lower.given(), **self.given()})
        return made  # type: ignore[no-any-return]

    def resolved(self: Options, **facts: Any) -> Options:
        """Return the options with every field given, ``facts`` over what these give."""
        return type(self)(**{**self.DEFAULTS, **self.given(), **facts})
