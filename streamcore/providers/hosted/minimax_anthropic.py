# SPDX-License-Identifier: MIT
"""The profile of MiniMax's Anthropic endpoint."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import ADAPTIVE_OR_OFF
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="minimax-anthropic",
    base_url="https://api.minimax.io/anthropic",  # the Chinese platform: api.minimaxi.com
    base_url_env="MINIMAX_ANTHROPIC_BASE_URL",
    key_env=("MINIMAX_API_KEY",),
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(unsigned_thinking="send", structured_output="none"),
    limits=HOSTED_LIMITS,
    efforts=ADAPTIVE_OR_OFF,
    notes=(
        OptionNote(
            "thinking goes back, signed or not",
            "in a turn with tools, the whole content must be sent back",
            "platform.minimax.io/docs/api-reference/text-anthropic-api",
            ("unsigned_thinking",),
        ),
        OptionNote(
            "a JSON schema is refused before it is sent",
            "the page of the endpoint does not name `output_config`",
            "platform.minimax.io/docs/api-reference/text-anthropic-api",
            ("structured_output",),
        ),
        OptionNote(
            "thinking is adaptive or off",
            "the endpoint refuses a budget",
            "earendil-works/pi#6658",
        ),
        OptionNote(
            "a ping with the cost may follow `message_stop`",
            "events after `message_stop` are ignored",
            "recorded: rust-genai__minimax__minimax-m2.7-minimax-stream-response-000.sse",
        ),
    ),
)
