# SPDX-License-Identifier: MIT
"""The profile of Moonshot (Kimi)."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import ModelInfo, OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="moonshot",
    base_url="https://api.moonshot.ai/v1",  # keys of the Chinese platform need api.moonshot.cn
    base_url_env="MOONSHOT_BASE_URL",
    key_env=("MOONSHOT_API_KEY",),
    options=ChatCompletionsOptions(
        max_tokens_field="max_completion_tokens",
        reasoning_filler=" ",
        blank_text=False,
        image_addresses=False,
    ),
    limits=HOSTED_LIMITS,
    models=(  # windows: promptfoo.dev/docs/providers/moonshot; efforts: agentscope's page on Kimi
        ModelInfo("kimi-k3", efforts=("low", "high", "max")),
        ModelInfo("kimi-k2.6", 262_144, efforts=("off", "on")),
        ModelInfo("kimi-k2.5", 262_144, efforts=("off", "on")),
        ModelInfo("moonshot-v1-8k", 8_192, efforts=()),
        ModelInfo("moonshot-v1-32k", 32_768, efforts=()),
        ModelInfo("moonshot-v1-128k", 131_072, efforts=()),
    ),
    efforts={
        "off": {"thinking": {"type": "disabled"}},
        "on": {"thinking": {"type": "enabled"}},
        "low": {"reasoning_effort": "low"},
        "high": {"reasoning_effort": "high"},
        "max": {"reasoning_effort": "max"},
    },
    notes=(
        OptionNote(
            "the output cap is sent as `max_completion_tokens`",
            "that is the documented name; `max_tokens` is the old name",
            "java.agentscope.io/v2/en/integration/model/kimi",
            ("max_tokens_field",),
        ),
        OptionNote(
            "older models take `thinking.type`, newer models take `reasoning_effort`",
            "neither takes the field of the other",
            "java.agentscope.io/v2/en/integration/model/kimi",
        ),
        OptionNote(
            "`reasoning_content` goes back on answers with tool calls",
            "without it, thinking models answer 400",
            "platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model",
        ),
        OptionNote(
            "a call without reasoning goes back with one space as `reasoning_content`",
            "thinking models refuse a call without the field; kimi-k2.5 and k2.6 refuse it empty",
            "theopenco/llmgateway#2093, QuantumNous/new-api#3121",
            ("reasoning_filler",),
        ),
        OptionNote(
            "empty or blank text is not sent",
            "an empty message is a 400 (`must not be empty`)",
            "AstrBotDevs/AstrBot#7200",
            ("blank_text",),
        ),
        OptionNote(
            "an image is sent as data; an image's address is refused before any I/O",
            "an address is a 400 (`unsupported image url`)",
            "platform.kimi.ai/docs/guide/use-kimi-vision-model, OpenHands/software-agent-sdk#3155",
            ("image_addresses",),
        ),
    ),
)
