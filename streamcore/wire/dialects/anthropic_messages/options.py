# SPDX-License-Identifier: MIT
"""The options of Anthropic Messages: how its servers differ from one another.

A plain frozen value. Each field is one habit of a server; profiles give the reason where
they set one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

from ....values.frozen import FrozenDict
from ....values.numbers import check_whole
from ..options import NOT_GIVEN, DialectOptions

RESERVED_FIELDS = ("model", "messages", "stream")
"""The body fields that neither ``extra_body`` nor an effort may set."""

DEFAULT_MAX_TOKENS = 8_192
"""The output cap that is sent where nobody gives one: the dialect requires a cap."""

UNSIGNED_THINKING = ("leave-out", "send", "require")
STRUCTURED_OUTPUT = ("output-config", "tool", "none")


@dataclass(frozen=True)
class AnthropicMessagesOptions(DialectOptions):
    """The options of one server; a field left out has its default.

    Args:
        default_max_tokens: the ``max_tokens`` sent where the caller, the model and the
            profile give none, 1 or more tokens.
        unsigned_thinking: what becomes of thinking that has no signature. ``leave-out``:
            it is not sent back, for the API refuses it. ``send``: it goes back. ``require``:
            an answer with tool calls goes back with a thinking block even where the model
            sent none.
        structured_output: how a JSON schema is asked for. ``output-config``: as
            ``output_config.format``. ``tool``: as a tool that the model must call.
            ``none``: a request with one is refused.
        The other arguments are those of ``DialectOptions``. The end marker is
        ``message_stop``; under ``optional`` a stop reason, all blocks stopped and a cleanly
        ended body prove the end too.
    Raises:
        ValueError, TypeError: for a value that cannot be.
    """

    default_max_tokens: int = NOT_GIVEN
    unsigned_thinking: str = NOT_GIVEN
    structured_output: str = NOT_GIVEN

    DEFAULTS: ClassVar[Mapping[str, Any]] = FrozenDict(
        DialectOptions.DEFAULTS,
        default_max_tokens=DEFAULT_MAX_TOKENS,
        unsigned_thinking="leave-out",
        structured_output="output-config",
    )
    WORDS: ClassVar[Mapping[str, Any]] = FrozenDict(
        DialectOptions.WORDS,
        unsigned_thinking=UNSIGNED_THINKING,
        structured_output=STRUCTURED_OUTPUT,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        cap = self.given().get("default_max_tokens")
        if cap is not None:
            check_whole("default_max_tokens", cap)
