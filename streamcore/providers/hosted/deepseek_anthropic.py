# SPDX-License-Identifier: MIT
"""The profile of DeepSeek's Anthropic endpoint."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import effort_fields
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="deepseek-anthropic",
    base_url="https://api.deepseek.com/anthropic",
    base_url_env="DEEPSEEK_ANTHROPIC_BASE_URL",
    key_env=("DEEPSEEK_API_KEY",),
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(
        images=False, unsigned_thinking="send", reasoning_filler="", structured_output="tool",
    ),
    limits=HOSTED_LIMITS,
    efforts={word: effort_fields(word) for word in ("off", "high", "max")},
    request_id_headers=("x-ds-trace-id", "x-request-id"),
    notes=(
        OptionNote(
            "thinking goes back, signed or not, and an empty one if a call came without thinking",
            "the endpoint answers 400 if thinking is missing in a turn with tools",
            "NousResearch/hermes-agent#22313, QwenLM/qwen-code PR 3788",
            ("unsigned_thinking", "reasoning_filler",),
        ),
        OptionNote(
            "image parts are refused before they are sent",
            "the endpoint does not support images and documents",
            "api-docs.deepseek.com/guides/anthropic_api",
            ("images",),
        ),
        OptionNote(
            "a JSON schema is asked for as a tool that the model must call",
            "the endpoint supports only `effort` in `output_config`",
            "api-docs.deepseek.com/guides/anthropic_api",
            ("structured_output",),
        ),
        OptionNote(
            "efforts are off, high and max",
            "the models take no others",
            "api-docs.deepseek.com/guides/thinking_mode",
        ),
    ),
)
