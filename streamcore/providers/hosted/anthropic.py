# SPDX-License-Identifier: MIT
"""The profile of Anthropic."""

from __future__ import annotations

from ...values.limits import Limits
from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import EFFORTS
from ..clocks import HOSTED_LIMITS
from ..facts import ModelInfo, OptionNote
from ..profile import ProviderProfile

_BEFORE_MAX = ("off", "low", "medium", "high")
_UP_TO_MAX = (*_BEFORE_MAX, "max")

PROFILE = ProviderProfile(
    name="anthropic",
    base_url="https://api.anthropic.com",
    base_url_env="ANTHROPIC_BASE_URL",
    key_env=("ANTHROPIC_API_KEY",),
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(),
    limits=Limits(
        idle_timeout=HOSTED_LIMITS.idle_timeout, total_timeout=HOSTED_LIMITS.total_timeout,
        max_event_bytes=32 * 1024 * 1024,
    ),
    models=(  # caps and efforts: docs.claude.com/en/docs/about-claude/models/overview
        ModelInfo("claude-opus-4-6", efforts=_UP_TO_MAX),
        ModelInfo("claude-sonnet-4-6", efforts=_UP_TO_MAX),
        ModelInfo("claude-3-5-haiku-20241022", 200_000, efforts=()),
        ModelInfo("claude-3-opus-20240229", 200_000, 4_096, efforts=()),
        ModelInfo("claude-3-haiku-20240307", 200_000, 4_096, efforts=()),
    ),
    efforts=EFFORTS,
    notes=(
        OptionNote(
            "an effort goes by name with adaptive thinking; models before Claude 4.6 get a budget",
            "new models refuse a budget, and older ones refuse adaptive thinking",
            "docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html",
        ),
        OptionNote(
            "one event may have up to 32 MiB",
            "the result of a server tool comes in one event, even a fetched document",
            "docs.claude.com/en/docs/agents-and-tools/tool-use/web-fetch-tool",
        ),
    ),
)
