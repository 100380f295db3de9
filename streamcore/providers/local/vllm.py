# SPDX-License-Identifier: MIT
"""The profile of vLLM."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..notes import ANY_TOOL_NAME_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="vllm",
    base_url="http://localhost:8000/v1",
    base_url_env="VLLM_BASE_URL",
    key_env=("VLLM_API_KEY",),
    key_required=False,
    options=ChatCompletionsOptions(
        reasoning_field="reasoning", alternate=True, tool_names="", cut_as_complete=True,
    ),
    limits=LOCAL_LIMITS,
    notes=(
        OptionNote(
            "user and assistant messages must alternate",
            "many chat templates refuse another order; a failed turn can leave one",
            "vllm-project/vllm#6862",
            ("alternate",),
        ),
        OptionNote(
            "reasoning goes back in the field `reasoning`",
            "newer servers no longer take `reasoning_content`",
            "vllm-project/vllm#27755, vllm-project/router#115",
            ("reasoning_field",),
        ),
        OptionNote(
            "an answer as long as the token cap was cut by it",
            "streamed calls that the cap cut are told as complete, with `{}` for arguments",
            "vllm-project/vllm#46303, #47963, #58228",
            ("cut_as_complete",),
        ),
        ANY_TOOL_NAME_NOTE,
    ),
)
