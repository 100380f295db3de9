# SPDX-License-Identifier: MIT
"""The profile of the Hugging Face router."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="huggingface",
    base_url="https://router.huggingface.co/v1",
    base_url_env="HF_BASE_URL",
    key_env=("HF_TOKEN",),
    options=ChatCompletionsOptions(reasoning_passback="never"),
    limits=HOSTED_LIMITS,
    notes=(
        OptionNote(
            "reasoning is never sent back",
            "backends name the field differently; Groq and Cerebras answer another name with 400",
            "janhq/jan#8136, QwenLM/qwen-code#11045",
            ("reasoning_passback",),
        ),
        OptionNote(
            "a call may have the index -1",
            "any whole number can be an index",
            "recorded: maruel-genai__huggingface__qwen3-coder-480b-a35b-instruct-genstream-tools"
            "-squareroot-1-any.sse",
        ),
    ),
)
