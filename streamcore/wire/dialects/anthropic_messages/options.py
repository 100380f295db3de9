# SPDX-License-Identifier: MIT
"""The options of Anthropic Messages: how its servers differ from one another.

A frozen value. Each field is one way in which a server differs. A profile that sets a field
gives the reason in a note.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

from ....values.frozen import FrozenDict
from ....values.numbers import check_whole
from ..options import NOT_GIVEN, DialectOptions

NAME = "anthropic-messages"
"""The dialect's name."""

RESERVED_FIELDS = ("model", "messages", "stream")
"""The body fields that neither ``extra_body`` nor an effort may set."""

DEFAULT_MAX_TOKENS = 8_192
"""The cap of the output, in tokens, if nobody gives one. The dialect requires a cap."""

BUDGET_MODELS = (
    r"(?:.*[/.])?claude-(?:3[.-]7-sonnet|(?:sonnet|opus)-4(?:[.-][015])?|haiku-4[.-]5)"
    r"(?:-(?:\d{6,}|latest))?(?:-v\d)?(?:[@:].*)?"
)
"""Anthropic's models that take a budget, with any prefix that a gateway adds to the name.
Newer models refuse a budget, and older models do not think."""

UNSIGNED_THINKING = ("leave-out", "send")
STRUCTURED_OUTPUT = ("output-config", "tool", "none")


@dataclass(frozen=True)
class AnthropicMessagesOptions(DialectOptions):
    """The options of one server; a field left out has its default.

    Args:
        default_max_tokens: the ``max_tokens`` that is sent if the caller, the model and the
            profile give none; 1 or more tokens.
        unsigned_thinking: what happens to thinking without a signature. ``leave-out``:
            it is not sent back, because Anthropic's API refuses it. ``send``: it is sent back.
        budget_models: a pattern of model names. These models take a budget of tokens for
            thinking; all others decide how long they think. The empty pattern is no model.
        structured_output: how a JSON schema is asked for. ``output-config``: as
            ``output_config.format``. ``tool``: as a tool that the model must call.
            ``none``: a request with a JSON schema is refused.
        The other arguments are those of ``DialectOptions``. The end marker is
        ``message_stop``. With ``done_marker="optional"``, three things together prove the
        end too: a stop reason, no open block, and a body that ends cleanly.
    Raises:
        ValueError, TypeError: for a value that is not allowed.
    """

    default_max_tokens: int = NOT_GIVEN
    unsigned_thinking: str = NOT_GIVEN
    budget_models: str = NOT_GIVEN
    structured_output: str = NOT_GIVEN

    DEFAULTS: ClassVar[Mapping[str, Any]] = FrozenDict(
        DialectOptions.DEFAULTS,
        default_max_tokens=DEFAULT_MAX_TOKENS,
        unsigned_thinking="leave-out",
        budget_models=BUDGET_MODELS,
        structured_output="output-config",
        # docs.claude.com/en/api/messages, and langchain-ai/langchain PR 37756 for the ids.
        call_ids=r"[a-zA-Z0-9_-]{1,64}",
        unique_call_ids=True,
        tool_names=r"[a-zA-Z0-9_-]{1,128}",
        blank_text=False,
        reasoning_passback="always",
    )
    WORDS: ClassVar[Mapping[str, Any]] = FrozenDict(
        DialectOptions.WORDS,
        unsigned_thinking=UNSIGNED_THINKING,
        structured_output=STRUCTURED_OUTPUT,
    )

    PATTERNS: ClassVar[Mapping[str, str]] = FrozenDict(
        DialectOptions.PATTERNS, budget_models="claude-sonnet-4-5"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("default_max_tokens", self.given().get("default_max_tokens", 1))
