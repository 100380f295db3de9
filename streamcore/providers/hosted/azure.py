# SPDX-License-Identifier: MIT
"""The profile of Azure OpenAI."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..notes import DEVELOPER_NOTE, OPENAI_CALL_ID, OPENAI_IDS_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="azure",
    base_url_env="AZURE_OPENAI_ENDPOINT",
    key_env=("AZURE_OPENAI_API_KEY",),
    key_header="api-key",
    key_prefix="",
    options=ChatCompletionsOptions(
        max_tokens_field="max_completion_tokens",
        reasoning_passback="never",
        call_ids=OPENAI_CALL_ID,
        developer_role=True,
    ),
    limits=HOSTED_LIMITS,
    base_path="/openai/v1",
    notes=(
        OptionNote(
            "the key is sent in `api-key`, without `Bearer`",
            "a bearer token here is an Entra ID token, not a key",
            "learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
        ),
        OptionNote(
            "every resource has its own address; a bare host gets the path `/openai/v1`",
            "a deployment's address with `?api-version=` works unchanged; a version before"
            " 2024-10-21 needs `stream_options=False`",
            "learn.microsoft.com/azure/foundry/openai/api-version-lifecycle,"
            " griptape-ai/griptape#1640",
        ),
        OptionNote(
            "the output cap is sent as `max_completion_tokens`",
            "reasoning models refuse `max_tokens`",
            "tailcallhq/forgecode#1081",
            ("max_tokens_field",),
        ),
        OptionNote(
            "reasoning is never sent back",
            "OpenAI's chat completions has no field for it",
            "openai/openai-python#2192",
            ("reasoning_passback",),
        ),
        OptionNote(
            "the first payload has no choices, but `prompt_filter_results`",
            "a payload without choices is skipped",
            "recorded: fantasy__azure-openai__o4-mini-2025-04-16-tool-streaming.sse",
        ),
        OPENAI_IDS_NOTE,
        DEVELOPER_NOTE,
    ),
)
