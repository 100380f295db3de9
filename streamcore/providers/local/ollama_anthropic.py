# SPDX-License-Identifier: MIT
"""The profile of Ollama's Anthropic endpoint."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ...wire.dialects.anthropic_messages.efforts import SWITCHED
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="ollama-anthropic",
    base_url="http://localhost:11434",
    base_url_env="OLLAMA_ANTHROPIC_BASE_URL",
    key_env=("OLLAMA_API_KEY",),
    key_required=False,
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(unsigned_thinking="send", structured_output="none"),
    limits=LOCAL_LIMITS,
    efforts=SWITCHED,
    key_header="Authorization",
    key_prefix="Bearer ",
    notes=(
        OptionNote(
            "the key travels as `Authorization: Bearer`",
            "the cloud does not take `x-api-key` alone; a local server takes anything",
            "docs.ollama.com/api/anthropic-compatibility",
        ),
        OptionNote(
            "thinking goes back without a signature",
            "the server does not sign thinking",
            "ollama/ollama anthropic/anthropic.go",
            ("unsigned_thinking",),
        ),
        OptionNote(
            "a JSON schema is refused before it is sent",
            "the endpoint has no output format",
            "docs.ollama.com/api/anthropic-compatibility",
            ("structured_output",),
        ),
        OptionNote(
            "thinking is on or off; when it is on, it has a budget",
            "the server accepts a budget but does not keep to it",
            "docs.ollama.com/api/anthropic-compatibility",
        ),
    ),
)
