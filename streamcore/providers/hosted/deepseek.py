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
            "`thinking.type` turns thinking on and off, `reasoning_effort` sets the effort",
            "the effort off sends no `reasoning_effort`; high is the provider's own default",
            "api-docs.deepseek.com/guides/thinking_mode",
        ),
        OptionNote(
            "`reasoning_content` goes back on every answer, empty if there was no reasoning",
            "in a turn with tools, an answer without it is a 400, the last answer included;"
            " in other turns it is ignored",
            "api-docs.deepseek.com/guides/thinking_mode, openclaw/openclaw#73417",
            ("reasoning_passback", "reasoning_filler"),
        ),
        OptionNote(
            "image parts are refused before they are sent",
            "its models take only text; set `images=True` for a model that takes images",
            "api-docs.deepseek.com/quick_start/pricing",
            ("images",),
        ),
        OptionNote(
            "cached input is reported as `prompt_cache_hit_tokens`, part of `prompt_tokens`",
            "it is subtracted from the input count",
            "recorded: maruel-genai__deepseek__deepseek-v4-pro-genstream-json.sse",
        ),
        OptionNote(
            "the parts of a text are joined to one string",
            "a list of parts is a 400 (`invalid type: sequence, expected a string`)",
            "QwenLM/qwen-code#2318",
            ("text_parts",),
        ),
    ),
)
