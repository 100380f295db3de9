# SPDX-License-Identifier: MIT
"""The profile of OpenRouter."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import IMAGE_LIMITS
from ..facts import OptionNote
from ..notes import BLANK_TEXT_NOTE, GATEWAY_CALL_ID, GATEWAY_IDS_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="openrouter",
    base_url="https://openrouter.ai/api/v1",
    base_url_env="OPENROUTER_BASE_URL",
    key_env=("OPENROUTER_API_KEY",),
    options=ChatCompletionsOptions(
        reasoning_field="reasoning",
        call_ids=GATEWAY_CALL_ID,
        unique_call_ids=True,
        blank_text=False,
    ),
    limits=IMAGE_LIMITS,
    efforts={
        word: {"reasoning": {"effort": word}}
        for word in ("none", "minimal", "low", "medium", "high", "xhigh")
    },
    notes=(
        OptionNote(
            "the effort is sent as `reasoning.effort`",
            "the router translates it for every vendor",
            "openrouter.ai/docs/use-cases/reasoning-tokens",
        ),
        OptionNote(
            "reasoning goes back in `reasoning`, with unchanged `reasoning_details`",
            "signed or encrypted details that are changed are refused, or have no effect",
            "openrouter.ai/docs/use-cases/reasoning-tokens",
            ("reasoning_field",),
        ),
        OptionNote(
            "several calls of one answer may all have the index 0",
            "a new id with a name opens another call",
            "recorded: crush__openrouter__kimi-k2-0905-glob-tool-r1.sse",
        ),
        OptionNote(
            "usage comes after the finish word, in a payload with choices",
            "the last report counts, wherever it stands",
            "recorded: activeagent__openrouter__mistral-nemo-agent-streaming.sse",
        ),
        GATEWAY_IDS_NOTE,
        BLANK_TEXT_NOTE,
    ),
)
