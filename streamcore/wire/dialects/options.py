# SPDX-License-Identifier: MIT
"""The options of a dialect: what a provider accepts and how it behaves.

A provider profile or a caller gives some of the fields; the others are "not given". ``over``
joins two sets of options, and the first set wins. ``resolved`` gives each field that is not
given its default, which suits a provider that follows the dialect. Refused when made: a value
that its field cannot have (``ValueError``, ``TypeError``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Dict, Mapping, Optional, Tuple, Type, TypeVar

from ...values.frozen import FrozenDict
from ...values.limits import NOT_GIVEN as _NOT_GIVEN
from ...values.numbers import check_whole

NOT_GIVEN: Any = _NOT_GIVEN  # of type Any, so that each field can have the type of its values
DONE_MARKERS = ("required", "optional")
REASONING_PASSBACK = ("tool-calls", "always", "never")
MADE_CALL_ID = "aZ09bY18c"
"""A sample of the ids that ``wire.fitting`` makes: nine letters and digits."""
MADE_TOOL_NAME = "f_0123abcd"
"""A sample of the shortest tool names that ``wire.fitting`` makes."""

Options = TypeVar("Options", bound="DialectOptions")


@dataclass(frozen=True)
class DialectOptions:
    """The options that every dialect has; a dialect's own class adds to them.

    All fields after the first three say what the provider accepts. ``wire.fitting`` fits each
    history to them. A pattern is a regular expression that must match the whole text. The empty
    pattern matches any text.

    Args:
        done_marker: ``required``: only the dialect's own end marker proves the end of an
            answer. ``optional``: a finish word and a cleanly ended body prove it too.
        context_window: the model's window in tokens, 1 or more, or None. It shows whether an
            empty answer is a prompt that fills the window.
        cut_as_complete: whether the provider reports an answer that the token cap cut off as
            complete. If so, an answer with exactly as many output tokens as the cap is
            ``max-tokens``.
        images: whether image parts can be sent.
        image_addresses: whether an image can be an ``https:`` address. If not, only its data
            can be sent.
        call_ids: the pattern of tool-call ids. It must match nine letters and digits.
        unique_call_ids: whether each id may belong to only one call in the whole history.
        tool_names: the pattern of tool names.
        developer_role: whether the provider has the role ``developer``. If not, such messages
            are sent as ``system``.
        alternate: whether user and assistant must take turns, the user first, after at most
            one system message. A user message may then not follow tool results.
        one_system_message: whether all system messages must be one message at the front.
            ``alternate`` implies it.
        text_parts: whether text can be a list of parts. If not, the parts are joined.
        blank_text: whether a text may be empty or blank.
        reasoning_passback: which answers go back with their reasoning. ``tool-calls``: only
            answers with tool calls. ``always``: all answers. ``never``: no answer.
        reasoning_filler: the reasoning that is sent when such an answer has none, for a
            provider that refuses the answer without reasoning. None adds nothing.
        schema_without: keywords that a tool's schema may not have; they are left out.
    Raises:
        ValueError, TypeError: for a value that its field cannot have.
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
    """The words that a field may have, by the field's name."""
    PATTERNS: ClassVar[Mapping[str, str]] = FrozenDict(
        call_ids=MADE_CALL_ID, tool_names=MADE_TOOL_NAME
    )
    """A text that the pattern in a field must match, by the field's name."""

    def __new__(cls: Type[Options], *_args: Any, **given: Any) -> Options:
        """Refuse a name that is not one of this dialect's options."""
        for name in given.keys() - cls.DEFAULTS.keys():
            raise TypeError(
                f"{cls.__name__} has no option {name!r}; each dialect has options of its own, "
                "such as ChatCompletionsOptions"
            )
        return super().__new__(cls)

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
        """Return the given fields by name."""
        return {name: value for name, value in vars(self).items() if value is not NOT_GIVEN}

    def over(self: Options, lower: DialectOptions) -> Options:
        """Return these options; the fields that are not given are taken from ``lower``.

        Raises:
            TypeError: if the two are options of different dialects.
        """
        if not isinstance(lower, type(self)) and not isinstance(self, type(lower)):
            raise TypeError(f"{type(self).__name__} do not fit a dialect of {type(lower).__name__}")
        wider = self if isinstance(self, type(lower)) else lower
        made: Any = replace(wider, **{**lower.given(), **self.given()})
        return made  # type: ignore[no-any-return]

    def resolved(self: Options, **facts: Any) -> Options:
        """Return the options with a value in every field; ``facts`` replace fields by name."""
        return type(self)(**{**self.DEFAULTS, **self.given(), **facts})


def _check_pattern(name: str, value: Any, sample: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a pattern, not {value!r}")
    try:
        fits = not value or re.compile(value).fullmatch(sample)
    except re.error as exc:
        raise ValueError(f"{name} is not a regular expression: {exc}") from None
    if not fits:
        raise ValueError(f"{name} must match a text such as {sample!r}; {value!r} does not")


def _read_words(value: Any) -> Tuple[str, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"schema_without is a tuple of keywords, not {value!r}")
    return tuple(value)
