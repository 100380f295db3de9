# SPDX-License-Identifier: MIT
"""The profile of the Anthropic endpoint of llama.cpp's server."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import SWITCHED
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="llama.cpp-anthropic",
    base_url="http://localhost:8080",
    base_url_env="LLAMA_CPP_ANTHROPIC_BASE_URL",
    key_env=("LLAMA_API_KEY",),
    key_required=False,
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(unsigned_thinking="send", structured_output="none"),
    limits=LOCAL_LIMITS,
    efforts=SWITCHED,
    notes=(
        OptionNote(
            "thinking goes back without a signature",
            "the server sends an empty signature",
            "recorded: llama-server__llama-server__think2-ant-rthink2.sse",
            ("unsigned_thinking",),
        ),
        OptionNote(
            "a JSON schema is refused before it is sent",
            "the endpoint has no output format",
            "ggml-org/llama.cpp tools/server/README.md",
            ("structured_output",),
        ),
        OptionNote(
            "thinking is on or off; when it is on, it has a budget",
            "the server takes `thinking.budget_tokens`",
            "recorded: llama-server__llama-server__think2-ant-rthink2.sse",
        ),
    ),
)
