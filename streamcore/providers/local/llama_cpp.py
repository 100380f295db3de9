# SPDX-License-Identifier: MIT
"""The profile of llama.cpp's server."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..notes import ANY_TOOL_NAME_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="llama.cpp",
    base_url="http://localhost:8080/v1",
    base_url_env="LLAMA_CPP_BASE_URL",
    key_env=("LLAMA_API_KEY",),
    key_required=False,
    options=ChatCompletionsOptions(alternate=True, cut_as_complete=True, tool_names=""),
    limits=LOCAL_LIMITS,
    notes=(
        OptionNote(
            "user and assistant messages must alternate",
            "many chat templates refuse another order; a failed turn can leave one",
            "anomalyco/opencode#19840",
            ("alternate",),
        ),
        OptionNote(
            "an answer as long as the token cap was cut by it",
            "the server can report an answer that the cap cut as complete",
            "seen with the server's Responses endpoint",
            ("cut_as_complete",),
        ),
        OptionNote(
            "a full context is an error of the type `exceed_context_size_error`",
            "its code is CONTEXT_WINDOW_EXCEEDED, not that of other bad requests",
            "recorded: rig__llamacpp__400__exceed-context-size-error.json",
        ),
        ANY_TOOL_NAME_NOTE,
    ),
)
