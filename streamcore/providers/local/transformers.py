# SPDX-License-Identifier: MIT
"""The profile of the server in Hugging Face transformers."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..notes import ANY_TOOL_NAME_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="transformers",
    base_url="http://localhost:8000/v1",
    base_url_env="TRANSFORMERS_BASE_URL",
    key_env=("TRANSFORMERS_API_KEY",),
    key_required=False,
    options=ChatCompletionsOptions(
        done_marker="optional", stream_options=False, tool_names="", cut_as_complete=True,
    ),
    limits=LOCAL_LIMITS,
    efforts={},
    notes=(
        OptionNote(
            "answers end without `[DONE]`",
            "the server never sends the marker; the finish word comes last",
            "huggingface/transformers src/transformers/cli/serving/chat_completion.py",
        ),
        OptionNote(
            "`stream_options` is left out",
            "the server refuses the field; usage comes with the finish word anyway",
            "huggingface/transformers src/transformers/cli/serving/chat_completion.py",
            ("stream_options",),
        ),
        OptionNote(
            "an answer as long as the token cap was cut by it",
            "the server tells it as complete, with calls missing (seen with 5.24)",
            "huggingface/transformers src/transformers/cli/serving/chat_completion.py",
            ("cut_as_complete",),
        ),
        OptionNote(
            "no reasoning effort is taken",
            "the server refuses `reasoning_effort`",
            "huggingface/transformers src/transformers/cli/serving/chat_completion.py",
        ),
        ANY_TOOL_NAME_NOTE,
    ),
)
