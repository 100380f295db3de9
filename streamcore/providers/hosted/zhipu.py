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
            "`thinking.type` turns thinking on and off",
            "most models have no efforts",
            "docs.z.ai/guides/capabilities/thinking-mode",
        ),
        OptionNote(
            "`reasoning_content` goes back on answers with tool calls",
            "the model continues its thinking from it",
            "docs.z.ai/guides/capabilities/thinking-mode",
        ),
        OptionNote(
            "the choice index may grow within one answer, one phase after another: 0, 1, 2, 3",
            "an index that grows continues the answer; an index that falls is refused",
            "recorded: crush__zai__glm-4.6-ls-tool-r1.sse",
        ),
        OptionNote(
            "a call without reasoning goes back with one space as `reasoning_content`",
            "with thinking on, a call without the field is a 400",
            "QuantumNous/new-api#4408",
            ("reasoning_filler",),
        ),
    ),
)
