# SPDX-License-Identifier: MIT
"""The profile of Fireworks."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..notes import ONE_SYSTEM_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="fireworks",
    base_url="https://api.fireworks.ai/inference/v1",
    base_url_env="FIREWORKS_BASE_URL",
    key_env=("FIREWORKS_API_KEY",),
    options=ChatCompletionsOptions(one_system_message=True),
    limits=HOSTED_LIMITS,
    session_header="x-session-affinity",
    notes=(
        OptionNote(
            "the session id is sent in the header `x-session-affinity`",
            "so the requests of a conversation reach the replica with its cache",
            "reference.langchain.com/python/langchain-fireworks/middleware",
        ),
        ONE_SYSTEM_NOTE,
    ),
)
