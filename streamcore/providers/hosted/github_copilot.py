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
            "the last line, `data: [DONE]`, may lack its end",
            "it depends on the model behind: gpt-5 was seen so, gpt-4o and claude end it",
            "recorded: rust-genai__github-copilot__gpt-5-2025-08-07-tool-stream.sse",
        ),
        OptionNote(
            "reasoning comes and goes back as `reasoning_text`, with its `reasoning_opaque`",
            "that is the name and the signature the service uses",
            "BerriAI/litellm#35021",
            ("reasoning_field",),
        ),
        OptionNote(
            "an `Editor-Version` is sent; replace it with your own",
            "tokens made for editors were answered with 400 without one",
            "BerriAI/litellm#13256, alvinunreal/tmuxai#144",
        ),
        OptionNote(
            "the first call of an answer may be numbered 1",
            "any whole number is an index",
            "recorded: aibridge__github-copilot__claude-haiku-4.5-streaming-injected-tool"
            "-nonzero-index-r1.sse",
        ),
        OptionNote(
            "the output cap travels as `max_completion_tokens`",
            "GPT-5 and the o models refuse `max_tokens`; the others take both",
            "pssah4/vault-operator#28",
            ("max_tokens_field",),
        ),
        GATEWAY_IDS_NOTE,
        BLANK_TEXT_NOTE,
    ),
)
