# SPDX-License-Identifier: MIT
"""The profile of Zhipu (GLM), the Chinese platform."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="zhipu",
    base_url="https://open.bigmodel.cn/api/paas/v4",
    base_url_env="ZHIPU_BASE_URL",
    key_env=("ZHIPUAI_API_KEY", "ZAI_API_KEY"),
    options=ChatCompletionsOptions(reasoning_filler=" "),
    limits=HOSTED_LIMITS,
    efforts={
        "off": {"thinking": {"type": "disabled"}},
        "on": {"thinking": {"type": "enabled"}},
    },
    notes=(
        OptionNote(
            "thinking is switched by `thinking.type`",
            "there is no effort to choose with most models",
            "docs.z.ai/guides/capabilities/thinking-mode",
        ),
        OptionNote(
            "`reasoning_content` goes back on steps with tool calls",
            "thinking between calls goes on from it",
            "docs.z.ai/guides/capabilities/thinking-mode",
        ),
        OptionNote(
            "the choice index may number the phases of one answer: 0, 1, 2, 3",
            "a choice index may grow, and only grow, within one answer",
            "recorded: crush__zai__glm-4.6-ls-tool-r1.sse",
        ),
        OptionNote(
            "a call without reasoning goes back with a blank as its `reasoning_content`",
            "with thinking on, a call without one is a 400",
            "QuantumNous/new-api#4408",
            ("reasoning_filler",),
        ),
    ),
)
