# SPDX-License-Identifier: MIT
"""The profile of Alibaba DashScope (Qwen)."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..notes import ONE_SYSTEM_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="dashscope",
    # Keys of the Chinese region need dashscope.aliyuncs.com.
    base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    base_url_env="DASHSCOPE_BASE_URL",
    key_env=("DASHSCOPE_API_KEY",),
    options=ChatCompletionsOptions(one_system_message=True),
    limits=HOSTED_LIMITS,
    efforts={"off": {"enable_thinking": False}, "on": {"enable_thinking": True}},
    notes=(
        OptionNote(
            "`enable_thinking` turns thinking on and off",
            "most models take no `reasoning_effort`",
            "help.aliyun.com/en/model-studio/deep-thinking",
        ),
        OptionNote(
            "later fragments of a call have an empty id",
            "an empty id is ignored; the first id counts",
            "recorded: maruel-genai__alibaba__qwen3.8-max-genstream-tools-squareroot-1-any.sse",
        ),
        ONE_SYSTEM_NOTE,
    ),
)
