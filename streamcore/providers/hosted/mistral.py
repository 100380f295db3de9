# SPDX-License-Identifier: MIT
"""The profile of Mistral."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="mistral",
    base_url="https://api.mistral.ai/v1",
    base_url_env="MISTRAL_BASE_URL",
    key_env=("MISTRAL_API_KEY",),
    options=ChatCompletionsOptions(
        stream_options=False,
        reasoning_passback="never",
        alternate=True,
        call_ids=r"[A-Za-z0-9]{9}",
    ),
    limits=HOSTED_LIMITS,
    notes=(
        OptionNote(
            "user and assistant messages must alternate",
            "a user message after tool results is a 400; a failed turn can leave that order",
            "zed-industries/zed#37021",
            ("alternate",),
        ),
        OptionNote(
            "`stream_options` is left out",
            "it was a 422; usage comes with the finish word anyway",
            "openai/openai-agents-python#442",
            ("stream_options",),
        ),
        OptionNote(
            "reasoning is never sent back",
            "an assistant message with `reasoning_content` is a 422",
            "charmbracelet/crush#1590",
            ("reasoning_passback",),
        ),
        OptionNote(
            "content may be a list of `thinking` and `text` parts",
            "thinking parts are read as reasoning",
            "recorded: pydantic-ai__mistral__magistral-medium-latest-mistral-model-thinking"
            "-part-iter.sse",
        ),
        OptionNote(
            "the id of a call has exactly nine letters and digits",
            "another id is a 400 (`Tool call id was … but must be a-z, A-Z, 0-9, with a"
            " length of 9`)",
            "anomalyco/opencode#1680, karthink/gptel#1203",
            ("call_ids",),
        ),
    ),
)
