# SPDX-License-Identifier: MIT
"""Single facts about a provider: a note on an option, and a model.

In: plain values. Out: frozen values, checked when made. Refused: wrong types (``TypeError``)
and wrong values (``ValueError``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from ..values.errors import LlmError
from .checks import check_string, check_strings, check_tokens


@dataclass(frozen=True)
class OptionNote:
    """Why a profile sets an option, or what is special about its provider; one line each.

    Args:
        text: what the provider does, or what streamcore does because of it.
        reason: why that is right.
        source: the provider's page, a public report, or a recorded stream.
        options: the names of the dialect's options that the note explains.
    Raises:
        ValueError: for an empty text or one of several lines.
        TypeError: for options that are not a tuple of names.
    """

    text: str
    reason: str
    source: str
    options: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("text", "reason", "source"):
            value = check_string(name, getattr(self, name))
            if len(value.splitlines()) != 1 or value != value.strip():
                raise ValueError(f"{name} of a note is one line: {value!r}")
        object.__setattr__(self, "options", check_strings("options", self.options))


@dataclass(frozen=True)
class ModelInfo:
    """What is known about a model; for a None the profile's value counts.

    Args:
        name: the model's name at the provider.
        context_window: tokens, 1 or more.
        default_max_tokens: output cap sent when the caller gives none, 1 or more.
        efforts: the reasoning efforts that the model takes; () if it takes no effort.
        default_effort: the effort sent when the caller gives none; one of ``efforts``.
        images: whether the model takes image parts.
    Raises:
        TypeError, ValueError: for wrong types and wrong values.
    """

    name: str
    context_window: Optional[int] = None
    default_max_tokens: Optional[int] = None
    efforts: Optional[Tuple[str, ...]] = None
    default_effort: Optional[str] = None
    images: Optional[bool] = None

    def __post_init__(self) -> None:
        check_string("the name of a model", self.name)
        check_tokens(self.context_window, self.default_max_tokens)
        if self.efforts is not None:
            object.__setattr__(self, "efforts", check_strings("efforts", self.efforts))
            if self.default_effort is not None and self.default_effort not in self.efforts:
                raise ValueError(
                    f"default_effort {self.default_effort!r} of {self.name} is not one of "
                    f"its efforts: {', '.join(self.efforts) or 'none'}"
                )
        if self.default_effort is not None:
            check_string("default_effort", self.default_effort)
        if not isinstance(self.images, (bool, type(None))):
            raise TypeError("images is True, False or None")

    def check_effort(self, effort: Optional[str]) -> None:
        """Refuse an effort that the model does not take; None is always allowed.

        Raises:
            LlmError: ``UNSUPPORTED_REASONING_EFFORT``; an effort is never replaced by a near one.
        """
        if effort is not None and self.efforts is not None and effort not in self.efforts:
            raise unsupported_effort(self.name, effort, self.efforts)


def unsupported_effort(name: str, effort: str, offered: Sequence[str]) -> LlmError:
    """Return the error of a reasoning effort that a model or provider does not take."""
    there = ", ".join(offered) or "none"
    return LlmError(
        f"{name} takes no reasoning effort {ascii(effort)[:80]} (there are: {there})",
        "UNSUPPORTED_REASONING_EFFORT",
        phase="prepare",
    )
