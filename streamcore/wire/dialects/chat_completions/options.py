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

NAME = "chat-completions"
"""The dialect's name."""

RESERVED_FIELDS = ("model", "messages", "stream", "n")
"""The body fields that neither ``extra_body`` nor an effort may set."""

TEXT_FACTS = ("logprobs", "annotations")
"""Extras of a text that tell of it. They are kept and never go back: providers refuse them."""

ANSWER_FACTS = frozenset((
    *TEXT_FACTS, "executed_tools", "provider_metadata", "citations", "search_results", "images",
    "videos", "related_questions", "cost", "copilot_usage", "provider", "service_tier",
    "stop_reason", "matched_stop",
))
"""The same of a whole answer."""

REASONING_MODELS = r"(?:.*[/-])?(?:gpt-5|o[134])(?:[.-].*)?"
"""OpenAI's models that refuse ``max_tokens``, however a gateway prefixes their names."""


@dataclass(frozen=True)
class ChatCompletionsOptions(DialectOptions):
    """The options of one provider; a field left out has its default.

    Args:
        stream_options: ask for usage with ``stream_options.include_usage``.
        max_tokens_field: the name the provider takes the output cap under.
        max_completion_tokens_models: the pattern of the names of the models that take it
            under ``max_completion_tokens`` all the same; the empty pattern is no model.
        reasoning_field: the name reasoning goes back under.
        think_tags: turn ``<think>…</think>`` in content into reasoning.
        The other arguments are those of ``DialectOptions``. Its end marker is ``[DONE]``;
        under ``optional`` an unterminated final ``[DONE]`` proves the end too.
    Raises:
        ValueError, TypeError: for a value that cannot be.
    """

    stream_options: bool = NOT_GIVEN
    max_tokens_field: str = NOT_GIVEN
    max_completion_tokens_models: str = NOT_GIVEN
    reasoning_field: str = NOT_GIVEN
    think_tags: bool = NOT_GIVEN

    DEFAULTS: ClassVar[Mapping[str, Any]] = FrozenDict(
        DialectOptions.DEFAULTS,
        stream_options=True,
        max_tokens_field="max_tokens",
        max_completion_tokens_models="",
        reasoning_field="reasoning_content",
        think_tags=False,
        # platform.openai.com/docs/api-reference/chat: the reference that others follow.
        tool_names=r"[A-Za-z0-9_-]{1,64}",
    )
    PATTERNS: ClassVar[Mapping[str, str]] = FrozenDict(
        DialectOptions.PATTERNS, max_completion_tokens_models="gpt-5"
    )
