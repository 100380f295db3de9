# SPDX-License-Identifier: MIT
"""The profile of Together."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="together",
    base_url="https://api.together.xyz/v1",
    base_url_env="TOGETHER_BASE_URL",
    key_env=("TOGETHER_API_KEY",),
    options=ChatCompletionsOptions(reasoning_field="reasoning"),
    limits=HOSTED_LIMITS,
    notes=(
        OptionNote(
            "reasoning comes and goes back in the field `reasoning`",
            "that is its name in the schema of messages",
            "togethercomputer/openapi#132",
            ("reasoning_field",),
        ),
        OptionNote(
            "text comes a second time in `choices[0].text`",
            "only the delta is read",
            "recorded: maruel-genai__together__gpt-oss-120b-genstream-tools-squareroot-1-any.sse",
        ),
        OptionNote(
            "`tool_calls` may be followed by a second finish word, `stop`",
            "the most cautious word counts, which is `tool_calls`",
            "recorded: maruel-genai__together__gpt-oss-120b-genstream-tools-squareroot-1-any.sse",
        ),
    ),
)
