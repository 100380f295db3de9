# SPDX-License-Identifier: MIT
"""The options of chat completions: how its providers differ from one another.

A plain frozen value. Each field is one way in which a provider differs. A profile that sets a
field gives the reason.
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
"""Extras that tell facts of a text. They are kept but never sent: providers refuse them."""

ANSWER_FACTS = frozenset((
    *TEXT_FACTS, "executed_tools", "provider_metadata", "citations", "search_results", "images",
    "videos", "related_questions", "cost", "copilot_usage", "provider", "service_tier",
    "stop_reason", "matched_stop",
))
"""Extras that tell facts of a whole answer. They are kept but never sent, too."""

REASONING_MODELS = r"(?:.*[/-])?(?:gpt-5|o[134])(?:[.-].*)?"
"""The names of OpenAI's models that refuse ``max_tokens``, with any prefix of a gateway."""


@dataclass(frozen=True)
class ChatCompletionsOptions(DialectOptions):
    """The options of one provider; a field left out has its default.

    Args:
        stream_options: whether requests ask for usage with ``stream_options.include_usage``.
        max_tokens_field: the body field for the output cap.
        max_completion_tokens_models: the pattern of the names of models whose output cap is
            sent as ``max_completion_tokens`` instead. The empty pattern matches no model.
        reasoning_field: the message field that reasoning goes back in.
        think_tags: whether ``<think>…</think>`` in content becomes reasoning.
        The other arguments are those of ``DialectOptions``. The end marker is ``[DONE]``. Under
        ``optional`` a final ``[DONE]`` without its blank line proves the end too.
    Raises:
        ValueError, TypeError: for a value that its field cannot have.
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
        # From platform.openai.com/docs/api-reference/chat, which other providers follow.
        tool_names=r"[A-Za-z0-9_-]{1,64}",
    )
    PATTERNS: ClassVar[Mapping[str, str]] = FrozenDict(
        DialectOptions.PATTERNS, max_completion_tokens_models="gpt-5"
    )
