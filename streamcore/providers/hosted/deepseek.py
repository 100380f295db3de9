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
        reasoning_passback="always", reasoning_filler="", images=False, text_parts=False
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
            "`reasoning_content` goes back on every answer, an empty one where there is none",
            "without it a tool turn is a 400, the text that ends the turn included; elsewhere it"
            " is ignored",
            "api-docs.deepseek.com/guides/thinking_mode, openclaw/openclaw#73417",
            ("reasoning_passback", "reasoning_filler"),
        ),
        OptionNote(
            "image parts are refused before they are sent",
            "its models are text only; one that is not can be given `images=True`",
            "api-docs.deepseek.com/quick_start/pricing",
            ("images",),
        ),
        OptionNote(
            "cached input is reported as `prompt_cache_hit_tokens`, part of `prompt_tokens`",
            "it is taken out of the input count",
            "recorded: maruel-genai__deepseek__deepseek-v4-pro-genstream-json.sse",
        ),
        OptionNote(
            "the parts of a text are joined",
            "a list of parts is a 400 (`invalid type: sequence, expected a string`)",
            "QwenLM/qwen-code#2318",
            ("text_parts",),
        ),
    ),
)
