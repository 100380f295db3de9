# SPDX-License-Identifier: MIT
"""The profile of Perplexity."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="perplexity",
    base_url="https://api.perplexity.ai",
    base_url_env="PERPLEXITY_BASE_URL",
    key_env=("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
    options=ChatCompletionsOptions(
        done_marker="optional", reasoning_passback="never", alternate=True,
    ),
    limits=HOSTED_LIMITS,
    notes=(
        OptionNote(
            "user and assistant messages must alternate",
            "two user messages in a row are a 400; a failed turn can leave them",
            "perplexityai/api-discussion#265",
            ("alternate",),
        ),
        OptionNote(
            "answers end without `[DONE]`",
            "a finish word and a clean end prove the end; all recorded answers have both",
            "perplexityai/api-discussion#209",
        ),
        OptionNote(
            "reasoning is never sent back",
            "it comes as text between think tags; a request has no field for it",
            "recorded: maruel-genai__perplexity__sonar-reasoning-maxtokens.sse",
            ("reasoning_passback",),
        ),
        OptionNote(
            "each payload repeats the whole answer so far as `message` beside its delta",
            "a message beside a delta is ignored",
            "recorded: maruel-genai__perplexity__sonar-reasoning-maxtokens.sse",
        ),
    ),
)
