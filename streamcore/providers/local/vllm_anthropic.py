# SPDX-License-Identifier: MIT
"""The profile of vLLM's Anthropic endpoint."""

from __future__ import annotations

from ...wire.dialects.anthropic_messages import AnthropicMessagesOptions
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="vllm-anthropic",
    base_url="http://localhost:8000",
    base_url_env="VLLM_ANTHROPIC_BASE_URL",
    key_env=("VLLM_API_KEY",),
    key_required=False,
    dialect="anthropic-messages",
    options=AnthropicMessagesOptions(unsigned_thinking="send", structured_output="none"),
    limits=LOCAL_LIMITS,
    efforts={},
    key_header="Authorization",
    key_prefix="Bearer ",
    notes=(
        OptionNote(
            "the key travels as `Authorization: Bearer`",
            "the server checks only that header",
            "vllm-project/vllm vllm/entrypoints/openai/api_server.py",
        ),
        OptionNote(
            "thinking goes back without a signature",
            "the server does not sign thinking",
            "vllm-project/vllm vllm/entrypoints/anthropic/serving.py",
            ("unsigned_thinking",),
        ),
        OptionNote(
            "a JSON schema is refused before it is sent",
            "the endpoint has no output format",
            "vllm-project/vllm vllm/entrypoints/anthropic/protocol.py",
            ("structured_output",),
        ),
        OptionNote(
            "no reasoning effort is taken",
            "the endpoint has no field for it",
            "vllm-project/vllm vllm/entrypoints/anthropic/protocol.py",
        ),
    ),
)
