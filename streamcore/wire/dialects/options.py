# SPDX-License-Identifier: MIT
"""What a provider profile, or a caller, tells a dialect about its provider's habits.

In: some of the fields; the others are "not given". Out of ``over``: one set of options whose
fields are taken from a stronger set where it gives them. Out of ``resolved``: every field is
a value, the default of a well-behaved provider where nobody gave one. Refused when made:
a value that no field can have (``ValueError``, ``TypeError``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Dict, Mapping, Optional, Tuple, TypeVar

from ...values.frozen import FrozenDict
from ...values.limits import NOT_GIVEN as _NOT_GIVEN
from ...values.numbers import check_whole

NOT_GIVEN: Any = _NOT_GIVEN  # so that a field can have the type of its values
DONE_MARKERS = ("required", "optional")
REASONING_PASSBACK = ("tool-calls", "always", "never")
MADE_CALL_ID = "aZ09bY18c"
"""What the ids look like that ``wire.fitting`` makes: nine letters and digits."""
MADE_TOOL_NAME = "f_0123abcd"
"""What the tool names look like that ``wire.fitting`` makes."""

Options = TypeVar("Options", bound="DialectOptions")


@dataclass(frozen=True)
class DialectOptions:
    """The options that every dialect has; a dialect's own class adds to them.

    All fields but the first three say what the provider takes; a history of messages is fitted
    to them (``wire.fitting``). Patterns are regular expressions for the whole text; the empty
    pattern takes any text.

    Args:
        done_marker: ``required``: only the dialect's own end marker proves the end of an
            answer; ``optional``: a finish word and a cleanly ended body prove it too.
        context_window: tokens, 1 or more; lets an empty answer be told from an overflow.
        cut_as_complete: the provider tells an answer that its token cap cut as complete, so
            one with as many output tokens as the cap allows is ``max-tokens``.
        images: whether image parts can be sent.
        image_addresses: whether an image can be an ``https:`` address; else only its data.
        call_ids: the pattern of the ids of tool calls; nine letters and digits must fit it.
        unique_call_ids: whether an id may stand for one call of the whole history only.
        tool_names: the pattern of the names of tools.
        developer_role: whether there is a role ``developer``; else it is sent as ``system``.
        alternate: user and assistant must take turns, the user first, after one system
            message; a user message may not follow tool results.
        one_system_message: all system messages are one, at the front; ``alternate`` implies it.
        text_parts: whether text can be a list of parts; else the parts are joined.
        blank_text: whether a text may be empty or blank.
        reasoning_passback: on which answers their reasoning goes back: on those with
            ``tool-calls``, ``always``, ``never``.
        reasoning_filler: sent as the reasoning of such answers that have none, where the
            provider refuses them without one; None sends none.
        schema_without: the keywords that a tool's schema may not have.
    Raises:
        ValueError, TypeError: for a value that cannot be.
    """

    done_marker: str = NOT_GIVEN
    context_window: Optional[int] = NOT_GIVEN
    cut_as_complete: bool = NOT_GIVEN
    images: bool = NOT_GIVEN
    image_addresses: bool = NOT_GIVEN
    call_ids: str = NOT_GIVEN
    unique_call_ids: bool = NOT_GIVEN
    tool_names: str = NOT_GIVEN
    developer_role: bool = NOT_GIVEN
    alternate: bool = NOT_GIVEN
    one_system_message: bool = NOT_GIVEN
    text_parts: bool = NOT_GIVEN
    blank_text: bool = NOT_GIVEN
    reasoning_passback: str = NOT_GIVEN
    reasoning_filler: Optional[str] = NOT_GIVEN
    schema_without: Tuple[str, ...] = NOT_GIVEN

    DEFAULTS: ClassVar[Mapping[str, Any]] = FrozenDict(
        done_marker="required",
        context_window=None,
        cut_as_complete=False,
        images=True,
        image_addresses=True,
        call_ids="",
        unique_call_ids=False,
        tool_names="",
        developer_role=False,
        alternate=False,
        one_system_message=False,
        text_parts=True,
        blank_text=True,
        reasoning_passback="tool-calls",
        reasoning_filler=None,
        schema_without=(),
    )
    WORDS: ClassVar[Mapping[str, Any]] = FrozenDict(
        done_marker=DONE_MARKERS, reasoning_passback=REASONING_PASSBACK
    )
    """The fields that have one of a few words, and those words."""
    PATTERNS: ClassVar[Mapping[str, str]] = FrozenDict(
        call_ids=MADE_CALL_ID, tool_names=MADE_TOOL_NAME
    )
    """The fields that are patterns, and a text that must fit each."""

    def __post_init__(self) -> None:
        for name, value in self.given().items():
            default = self.DEFAULTS[name]
            if name in self.WORDS:
                if value not in self.WORDS[name]:
                    raise ValueError(f"{name} is one of {self.WORDS[name]}, not {value!r}")
            elif name in self.PATTERNS:
                _check_pattern(name, value, self.PATTERNS[name])
            elif isinstance(default, bool):
                if not isinstance(value, bool):
                    raise TypeError(f"{name} is True or False, not {value!r}")
            elif isinstance(default, str):
                if not isinstance(value, str) or not value:
                    raise ValueError(f"{name} is the name of a field, not {value!r}")
        given = self.given()
        if given.get("context_window") is not None:
            check_whole("context_window", given["context_window"])
        if not isinstance(given.get("reasoning_filler"), (str, type(None))):
            raise TypeError("reasoning_filler is a string, or None")
        if "schema_without" in given:
            object.__setattr__(self, "schema_without", _read_words(given["schema_without"]))

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


def _check_pattern(name: str, value: Any, sample: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a pattern, not {value!r}")
    try:
        fits = not value or re.compile(value).fullmatch(sample)
    except re.error as exc:
        raise ValueError(f"{name} is no pattern: {exc}") from None
    if not fits:
        raise ValueError(f"{name} must take texts such as {sample!r}: {value!r} does not")


def _read_words(value: Any) -> Tuple[str, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"schema_without is a tuple of keywords, not {value!r}")
    return tuple(value)
