# SPDX-License-Identifier: MIT
"""The profile of xAI."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="xai",
    base_url="https://api.x.ai/v1",
    base_url_env="XAI_BASE_URL",
    key_env=("XAI_API_KEY",),
    options=ChatCompletionsOptions(max_tokens_field="max_completion_tokens"),
    limits=HOSTED_LIMITS,
    session_header="x-grok-conv-id",
    notes=(
        OptionNote(
            "the output cap is sent as `max_completion_tokens`",
            "`max_tokens` is deprecated",
            "docs.x.ai/docs/api-reference",
            ("max_tokens_field",),
        ),
        OptionNote(
            "the session id is sent in the header `x-grok-conv-id`",
            "so the requests of a conversation reach the server with its cache",
            "docs.x.ai/developers/advanced-api-usage/prompt-caching/maximizing-cache-hits",
        ),
        OptionNote(
            'an error is `{"code": sentence, "error": sentence}`',
            "the words of both decide the code",
            "recorded: ruby-llm__xai__400__this-model-s-maximum-prompt-length-is-13.json",
        ),
    ),
)
