# SPDX-License-Identifier: MIT
"""The profile of LM Studio's Anthropic endpoint."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="lmstudio-anthropic",
    base_url="http://localhost:1234",
    base_url_env="LMSTUDIO_ANTHROPIC_BASE_URL",
    key_env=("LMSTUDIO_API_KEY",),
    key_required=False,
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(unsigned_thinking="send", structured_output="none"),
    limits=LOCAL_LIMITS,
    efforts={},
    notes=(
        OptionNote(
            "thinking goes back without a signature",
            "the server does not sign thinking",
            "lmstudio.ai/docs/developer/anthropic-compat",
            ("unsigned_thinking",),
        ),
        OptionNote(
            "a JSON schema is refused before it is sent",
            "the endpoint has no output format",
            "lmstudio.ai/docs/developer/anthropic-compat",
            ("structured_output",),
        ),
        OptionNote(
            "no reasoning effort is taken",
            "the page of the endpoint names no field for it",
            "lmstudio.ai/docs/developer/anthropic-compat",
        ),
    ),
)
