# SPDX-License-Identifier: MIT
"""The profile of Groq."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="groq",
    base_url="https://api.groq.com/openai/v1",
    base_url_env="GROQ_BASE_URL",
    key_env=("GROQ_API_KEY",),
    options=ChatCompletionsOptions(
        max_tokens_field="max_completion_tokens",
        reasoning_field="reasoning",
        reasoning_passback="never",
    ),
    limits=HOSTED_LIMITS,
    notes=(
        OptionNote(
            "the output cap is sent as `max_completion_tokens`",
            "`max_tokens` is deprecated",
            "groq/groq-python#175",
            ("max_tokens_field",),
        ),
        OptionNote(
            "reasoning is never sent back; set `reasoning_passback` for a model that takes it",
            "`reasoning_content` is a 400 with all models, `reasoning` with some models",
            "janhq/jan#8136, karthink/gptel#774",
            ("reasoning_passback", "reasoning_field"),
        ),
        OptionNote(
            "usage may come only as `x_groq.usage`",
            "it is read if there is no `usage`",
            "recorded: maruel-genai__groq__gpt-oss-20b-genstream-tools-squareroot-1.sse",
        ),
        OptionNote(
            "a failed tool call ends the stream as `event: error`",
            "the first error counts; its words decide its code",
            "recorded: pydantic-ai__groq__gpt-oss-120b-tool-use-failed-error-streaming.sse",
        ),
    ),
)
