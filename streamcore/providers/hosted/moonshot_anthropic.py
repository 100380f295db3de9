# SPDX-License-Identifier: MIT
"""The profile of Moonshot's (Kimi's) Anthropic endpoint."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import SWITCHED
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="moonshot-anthropic",
    base_url="https://api.moonshot.ai/anthropic",  # the Chinese platform: api.moonshot.cn
    base_url_env="MOONSHOT_ANTHROPIC_BASE_URL",
    key_env=("MOONSHOT_API_KEY",),
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(
        unsigned_thinking="send", reasoning_filler="", structured_output="none",
    ),
    limits=HOSTED_LIMITS,
    efforts=SWITCHED,
    key_header="Authorization",
    key_prefix="Bearer ",
    notes=(
        OptionNote(
            "the key travels as `Authorization: Bearer`",
            "the platform's pages set `ANTHROPIC_AUTH_TOKEN`",
            "platform.moonshot.ai/docs/guide/agent-support",
        ),
        OptionNote(
            "thinking goes back, signed or not, and an empty one if a call came without thinking",
            "the endpoint answers 400 if thinking is missing in a turn with tools",
            "farion1231/cc-switch PR 3377",
            ("unsigned_thinking", "reasoning_filler",),
        ),
        OptionNote(
            "a JSON schema is refused before it is sent",
            "no page of the endpoint names `output_config`",
            "platform.moonshot.ai/docs/guide/agent-support",
            ("structured_output",),
        ),
        OptionNote(
            "thinking is on or off; when it is on, it has a budget",
            "the endpoint takes the fields of Claude Code, but no efforts by name",
            "platform.moonshot.ai/docs/guide/agent-support",
        ),
    ),
)
