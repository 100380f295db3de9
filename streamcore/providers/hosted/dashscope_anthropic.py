# SPDX-License-Identifier: MIT
"""The profile of the Anthropic endpoint of Alibaba DashScope (Qwen)."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import SWITCHED
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="dashscope-anthropic",
    # The Chinese region: dashscope.aliyuncs.com.
    base_url="https://dashscope-intl.aliyuncs.com/apps/anthropic",
    base_url_env="DASHSCOPE_ANTHROPIC_BASE_URL",
    key_env=("DASHSCOPE_API_KEY",),
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(unsigned_thinking="send", structured_output="none"),
    limits=HOSTED_LIMITS,
    efforts=SWITCHED,
    notes=(
        OptionNote(
            "thinking goes back, signed or not",
            "some answers come without a signature",
            "QuantumNous/new-api#4763",
            ("unsigned_thinking",),
        ),
        OptionNote(
            "a JSON schema is refused before it is sent",
            "the page of the endpoint does not name `output_config`",
            "alibabacloud.com/help/en/model-studio/anthropic-api-messages",
            ("structured_output",),
        ),
        OptionNote(
            "thinking is on or off; when it is on, it has a budget",
            "the page of the endpoint shows `thinking.type` and `budget_tokens`",
            "alibabacloud.com/help/en/model-studio/anthropic-api-messages",
        ),
        OptionNote(
            "usage at the start of an answer counts cached input as fresh; at the end it is right",
            "the last value of each field counts",
            "maximhq/bifrost PR 5355",
        ),
    ),
)
