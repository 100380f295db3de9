# SPDX-License-Identifier: MIT
"""The profile of GitHub Copilot."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..notes import BLANK_TEXT_NOTE, GATEWAY_CALL_ID, GATEWAY_IDS_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="github-copilot",
    base_url="https://api.githubcopilot.com",
    base_url_env="GITHUB_COPILOT_BASE_URL",
    key_env=("GITHUB_COPILOT_TOKEN",),
    options=ChatCompletionsOptions(
        done_marker="optional",
        max_tokens_field="max_completion_tokens",
        reasoning_field="reasoning_text",
        call_ids=GATEWAY_CALL_ID,
        unique_call_ids=True,
        blank_text=False,
    ),
    limits=HOSTED_LIMITS,
    headers={"Editor-Version": "streamcore/1"},
    notes=(
        OptionNote(
            "the last line, `data: [DONE]`, may lack its line end",
            "it depends on the model: gpt-5 left it out; gpt-4o and claude have it",
            "recorded: rust-genai__github-copilot__gpt-5-2025-08-07-tool-stream.sse",
        ),
        OptionNote(
            "reasoning comes and goes back in `reasoning_text`, with its `reasoning_opaque`",
            "these are the service's names of the text and of its signature",
            "BerriAI/litellm#35021",
            ("reasoning_field",),
        ),
        OptionNote(
            "the header `Editor-Version` is sent; replace its value with your own",
            "without it, requests with the token of an editor were a 400",
            "BerriAI/litellm#13256, alvinunreal/tmuxai#144",
        ),
        OptionNote(
            "the first call of an answer may have the index 1",
            "any whole number can be an index",
            "recorded: aibridge__github-copilot__claude-haiku-4.5-streaming-injected-tool"
            "-nonzero-index-r1.sse",
        ),
        OptionNote(
            "the output cap is sent as `max_completion_tokens`",
            "GPT-5 and the o models refuse `max_tokens`; the other models take both",
            "pssah4/vault-operator#28",
            ("max_tokens_field",),
        ),
        GATEWAY_IDS_NOTE,
        BLANK_TEXT_NOTE,
    ),
)
