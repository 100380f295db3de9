# SPDX-License-Identifier: MIT
"""The profile of any other server with a chat-completions endpoint."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..notes import ANY_TOOL_NAME_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="openai-compatible",
    base_url_env="OPENAI_COMPATIBLE_BASE_URL",
    key_env=("OPENAI_COMPATIBLE_API_KEY",),
    key_required=False,
    options=ChatCompletionsOptions(tool_names=""),
    notes=(ANY_TOOL_NAME_NOTE,),
)
