# SPDX-License-Identifier: MIT
"""The profile of OpenAI."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import ModelInfo, OptionNote
from ..notes import DEVELOPER_NOTE, OPENAI_CALL_ID, OPENAI_IDS_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="openai",
    base_url="https://api.openai.com/v1",
    base_url_env="OPENAI_BASE_URL",
    key_env=("OPENAI_API_KEY",),
    options=ChatCompletionsOptions(
        max_tokens_field="max_completion_tokens",
        reasoning_passback="never",
        call_ids=OPENAI_CALL_ID,
        developer_role=True,
    ),
    limits=HOSTED_LIMITS,
    models=(  # windows and efforts: platform.openai.com/docs/models
        ModelInfo("gpt-4o", 128_000, efforts=()),
        ModelInfo("gpt-4o-mini", 128_000, efforts=()),
        ModelInfo("gpt-4.1", 1_047_576, efforts=()),
        ModelInfo("gpt-4.1-mini", 1_047_576, efforts=()),
        ModelInfo("o4-mini", 200_000, efforts=("low", "medium", "high")),
        ModelInfo("gpt-5", 400_000, efforts=("minimal", "low", "medium", "high")),
        ModelInfo("gpt-5-mini", 400_000, efforts=("minimal", "low", "medium", "high")),
    ),
    notes=(
        OptionNote(
            "the output cap is sent as `max_completion_tokens`",
            "reasoning models refuse `max_tokens`",
            "tailcallhq/forgecode#1081",
            ("max_tokens_field",),
        ),
        OptionNote(
            "reasoning is never sent back",
            "chat completions has no field for it; a history has only other providers' reasoning",
            "openai/openai-python#2192",
            ("reasoning_passback",),
        ),
        OPENAI_IDS_NOTE,
        DEVELOPER_NOTE,
    ),
)
