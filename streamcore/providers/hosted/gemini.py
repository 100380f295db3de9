# SPDX-License-Identifier: MIT
"""The profile of Google Gemini's OpenAI-compatible endpoint."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import ModelInfo, OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="gemini",
    base_url="https://generativelanguage.googleapis.com/v1beta/openai",
    base_url_env="GEMINI_BASE_URL",
    key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    options=ChatCompletionsOptions(
        reasoning_passback="never",
        tool_names=r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}",
        schema_without=("$schema", "additionalProperties", "examples", "propertyNames"),
    ),
    limits=HOSTED_LIMITS,
    models=(  # source of the window: recorded error ruby-llm__gemini__400__invalid-argument
        ModelInfo("gemini-2.5-flash", 1_048_576),
        ModelInfo("gemini-2.5-pro", 1_048_576),
    ),
    notes=(
        OptionNote(
            "reasoning is never sent back",
            "an unknown field is a 400 (`Unknown name`)",
            "SuzumiyaAkizuki/ComfyUI-NewBie-LLM-Formatter#3",
            ("reasoning_passback",),
        ),
        OptionNote(
            "a call has `extra_content.google.thought_signature`, which goes back with the call",
            "without it the next step is a 400",
            "securo-finance/securo#884",
        ),
        OptionNote(
            "a tool's name begins with a letter or `_`, and may have dots and colons",
            "other names are a 400 (`Invalid function name`)",
            "cline/cline#7339",
            ("tool_names",),
        ),
        OptionNote(
            "tool schemas are sent without `$schema`, `additionalProperties`, `examples`,"
            " `propertyNames`",
            "an unknown keyword is a 400 (`Unknown name`)",
            "openswarm-ai/openswarm#24, AstrBotDevs/AstrBot#7572",
            ("schema_without",),
        ),
    ),
)
