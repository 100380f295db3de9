# SPDX-License-Identifier: MIT
"""The profile of Cerebras."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="cerebras",
    base_url="https://api.cerebras.ai/v1",
    base_url_env="CEREBRAS_BASE_URL",
    key_env=("CEREBRAS_API_KEY",),
    options=ChatCompletionsOptions(
        done_marker="optional",
        max_tokens_field="max_completion_tokens",
        reasoning_field="reasoning",
    ),
    limits=HOSTED_LIMITS,
    notes=(
        OptionNote(
            "answers may end without `[DONE]`",
            "all answers did in 2025; answers of July 2026 have it, so the option may go some day",
            "recorded: maruel-genai__cerebras__qwen-3-32b-genstream-citations-text-markdown.sse",
        ),
        OptionNote(
            "the output cap is sent as `max_completion_tokens`",
            "that is the documented name",
            "inference-docs.cerebras.ai/api-reference/chat-completions",
            ("max_tokens_field",),
        ),
        OptionNote(
            "reasoning comes and goes back in the field `reasoning`",
            "`reasoning_content` in a message is a 400",
            "QwenLM/qwen-code#11045",
            ("reasoning_field",),
        ),
    ),
)
