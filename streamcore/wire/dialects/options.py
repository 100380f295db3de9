# SPDX-License-Identifier: MIT
"""What a provider profile tells a dialect about its bends of the format.

A plain frozen value with the defaults of a well-behaved provider. Each field
is one bend; profiles give the reason where they set one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ...values.numbers import check_whole

DONE_MARKERS = ("required", "optional")
REASONING_PASSBACK = ("tool-calls", "always", "never")


@dataclass(frozen=True)
class DialectOptions:
    """The bends of one provider.

    Args:
        done_marker: ``required``: only ``[DONE]`` proves the end; ``optional``: a
            finish word and a cleanly ended body, or an unterminated final
            ``[DONE]``, prove it too.
        stream_options: ask for usage with ``stream_options.include_usage``.
        max_tokens_field: the name the provider takes the output cap under.
        reasoning_field: the name reasoning goes back under.
        reasoning_passback: when it goes back: on ``tool-calls`` steps, ``always``, ``never``.
        images: whether image parts can be sent.
        think_tags: turn ``<think>…</think>`` in content into reasoning.
        context_window: tokens; lets an empty answer be told from an overflow.
        alternate: the provider refuses two user messages in a row, and one after tool
            results; such a history, left by a turn that failed, is sent so that it fits.
    Raises:
        ValueError, TypeError: for a word outside the lists above, or a value that cannot be.
    """

    done_marker: str = "required"
    stream_options: bool = True
    max_tokens_field: str = "max_tokens"
    reasoning_field: str = "reasoning_content"
    reasoning_passback: str = "tool-calls"
    images: bool = True
    think_tags: bool = False
    context_window: Optional[int] = None
    alternate: bool = False

    def __post_init__(self) -> None:
        for name in ("stream_options", "images", "think_tags", "alternate"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} is True or False, not {getattr(self, name)!r}")
        for name in ("max_tokens_field", "reasoning_field"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise ValueError(f"{name} is the name of a field, not {value!r}")
        if self.context_window is not None:
            check_whole("context_window", self.context_window)
        if self.done_marker not in DONE_MARKERS:
            raise ValueError(f"done_marker is one of {DONE_MARKERS}, not {self.done_marker!r}")
        if self.reasoning_passback not in REASONING_PASSBACK:
            words, given = REASONING_PASSBACK, self.reasoning_passback
            raise ValueError(f"reasoning_passback is one of {words}, not {given!r}")
