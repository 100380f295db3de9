# SPDX-License-Identifier: MIT
"""The profile of DeepSeek."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import ModelInfo, OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="deepseek",
    base_url="https://api.deepseek.com",
    base_url_env="DEEPSEEK_BASE_URL",
    key_env=("DEEPSEEK_API_KEY",),
    options=ChatCompletionsOptions(
        reasoning_field="reasoning_content", reasoning_passback="tool-calls", images=False
    ),
    limits=HOSTED_LIMITS,
    models=(
        ModelInfo("deepseek-flash"), ModelInfo("deepseek-v4-flash"), ModelInfo("deepseek-v4-pro"),
    ),
    efforts={
        "off": {"thinking": {"type": "disabled"}},
        "high": {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        "max": {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
    },
    default_effort="high",
    default_max_tokens=256_000,
    context_window=1_000_000,
    request_id_headers=("x-ds-trace-id", "x-request-id"),
    notes=(
        OptionNote(
            "thinking is switched by `thinking.type`, its effort by `reasoning_effort` beside it",
            "off sends no effort; high is the provider's own default",
            "api-docs.deepseek.com/guides/thinking_mode",
        ),
        OptionNote(
            "`reasoning_content` goes back on steps with tool calls",
            "the provider answers 400 where it is missing",
            "continuedev/continue#9940",
        ),
        OptionNote(
            "image parts are refused before they are sent",
            "its models are text only; one that is not can be given `images=True`",
            "api-docs.deepseek.com/quick_start/pricing",
        ),
        OptionNote(
            "cached input is reported as `prompt_cache_hit_tokens`, part of `prompt_tokens`",
            "it is taken out of the input count",
            "recorded: maruel-genai__deepseek__deepseek-v4-pro-genstream-json.sse",
        ),
    ),
)
