# SPDX-License-Identifier: MIT
"""The profile of Z.ai's (GLM's) Anthropic endpoint."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import SWITCHED
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="zai-anthropic",
    base_url="https://api.z.ai/api/anthropic",  # the Chinese platform: open.bigmodel.cn
    base_url_env="ZAI_ANTHROPIC_BASE_URL",
    key_env=("ZAI_API_KEY",),
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(unsigned_thinking="send", structured_output="none"),
    limits=HOSTED_LIMITS,
    efforts=SWITCHED,
    key_header="Authorization",
    key_prefix="Bearer ",
    notes=(
        OptionNote(
            "the key travels as `Authorization: Bearer`",
            "the platform's pages set `ANTHROPIC_AUTH_TOKEN`",
            "docs.z.ai/devpack/tool/claude",
        ),
        OptionNote(
            "thinking goes back, signed or not",
            "the models are designed to see their earlier thinking between calls",
            "docs.z.ai/guides/capabilities/thinking-mode",
            ("unsigned_thinking",),
        ),
        OptionNote(
            "a JSON schema is refused before it is sent",
            "no page of the endpoint names `output_config`",
            "docs.z.ai/devpack/tool/claude",
            ("structured_output",),
        ),
        OptionNote(
            "thinking is on or off; when it is on, it has a budget",
            "the models take no efforts by name",
            "docs.z.ai/guides/capabilities/thinking-mode",
        ),
        OptionNote(
            "usage at the start of an answer is 0; at the end it is right",
            "the last value of each field counts",
            "zai-org/GLM-5#139",
        ),
    ),
)
