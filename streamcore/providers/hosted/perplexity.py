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
            "user and assistant must alternate",
            "two user messages in a row are a 400, as after a turn that failed",
            "perplexityai/api-discussion#265",
            ("alternate",),
        ),
        OptionNote(
            "answers end without `[DONE]`",
            "a finish word and a clean end are the proof; every recorded answer ends so",
            "perplexityai/api-discussion#209",
        ),
        OptionNote(
            "reasoning is never sent back",
            "it comes as text between think tags; there is no field for it",
            "recorded: maruel-genai__perplexity__sonar-reasoning-maxtokens.sse",
            ("reasoning_passback",),
        ),
        OptionNote(
            "each frame repeats the whole answer so far as `message` beside its delta",
            "a message never counts beside a delta",
            "recorded: maruel-genai__perplexity__sonar-reasoning-maxtokens.sse",
        ),
    ),
)
