# SPDX-License-Identifier: MIT
"""The profile of LM Studio."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..notes import ANY_TOOL_NAME_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="lmstudio",
    base_url="http://localhost:1234/v1",
    base_url_env="LMSTUDIO_BASE_URL",
    key_env=("LMSTUDIO_API_KEY",),
    key_required=False,
    options=ChatCompletionsOptions(alternate=True, tool_names=""),
    limits=LOCAL_LIMITS,
    notes=(
        OptionNote(
            "user and assistant messages must alternate",
            "many chat templates refuse another order; a failed turn can leave one",
            "anomalyco/opencode#19840",
            ("alternate",),
        ),
        ANY_TOOL_NAME_NOTE,
    ),
)
