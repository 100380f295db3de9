# SPDX-License-Identifier: MIT
"""The profile of OpenRouter's Anthropic endpoint."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import EFFORTS
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="openrouter-anthropic",
    base_url="https://openrouter.ai/api",
    base_url_env="OPENROUTER_ANTHROPIC_BASE_URL",
    key_env=("OPENROUTER_API_KEY",),
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(),
    limits=HOSTED_LIMITS,
    efforts=EFFORTS,
    key_header="Authorization",
    key_prefix="Bearer ",
    notes=(
        OptionNote(
            "the key travels as `Authorization: Bearer`",
            "the router takes its keys in this header",
            "openrouter.ai/docs/api/api-reference/anthropic-messages/create-messages",
        ),
        OptionNote(
            "an effort goes as with Anthropic, by name or as a budget",
            "the router passes the fields on",
            "openrouter.ai/docs/api/api-reference/anthropic-messages/create-messages",
        ),
        OptionNote(
            "`[DONE]` follows `message_stop`",
            "events after `message_stop` are ignored",
            "recorded: rig__openrouter__claude-haiku-4.5-gateway-message-delta-metadata.sse",
        ),
    ),
)
