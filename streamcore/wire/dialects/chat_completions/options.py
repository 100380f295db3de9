# SPDX-License-Identifier: MIT
"""The options of chat completions: how its providers differ from one another.

A plain frozen value. Each field is one habit of a provider; profiles give the reason where
they set one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

from ....values.frozen import FrozenDict
from ..options import NOT_GIVEN, DialectOptions

RESERVED_FIELDS = ("model", "messages", "stream", "n")
"""The body fields that neither ``extra_body`` nor an effort may set."""

ANSWER_FACTS = frozenset((
    "logprobs", "annotations", "executed_tools", "provider_metadata",
    "citations", "search_results", "images", "videos", "related_questions",
    "cost", "copilot_usage", "provider", "service_tier", "stop_reason", "matched_stop",
))
"""Extras that tell of an answer. They are kept and never go back: providers refuse them."""

REASONING_PASSBACK = ("tool-calls", "always", "never")


@dataclass(frozen=True)
class ChatCompletionsOptions(DialectOptions):
    """The options of one provider; a field left out has its default.

    Args:
        stream_options: ask for usage with ``stream_options.include_usage``.
        max_tokens_field: the name the provider takes the output cap under.
        reasoning_field: the name reasoning goes back under.
        reasoning_passback: when it goes back: on ``tool-calls`` steps, ``always``, ``never``.
        think_tags: turn ``<think>…</think>`` in content into reasoning.
        alternate: the provider refuses two user messages in a row, and one after tool
            results; such a history, left by a turn that failed, is sent so that it fits.
        The other arguments are those of ``DialectOptions``. Its end marker is ``[DONE]``;
        under ``optional`` an unterminated final ``[DONE]`` proves the end too.
    Raises:
        ValueError, TypeError: for a value that cannot be.
    """

    stream_options: bool = NOT_GIVEN
    max_tokens_field: str = NOT_GIVEN
    reasoning_field: str = NOT_GIVEN
    reasoning_passback: str = NOT_GIVEN
    think_tags: bool = NOT_GIVEN
    alternate: bool = NOT_GIVEN

    DEFAULTS: ClassVar[Mapping[str, Any]] = FrozenDict(
        DialectOptions.DEFAULTS,
        stream_options=True,
        max_tokens_field="max_tokens",
        reasoning_field="reasoning_content",
        reasoning_passback="tool-calls",
        think_tags=False,
        alternate=False,
    )
    WORDS: ClassVar[Mapping[str, Any]] = FrozenDict(
        DialectOptions.WORDS, reasoning_passback=REASONING_PASSBACK
    )
