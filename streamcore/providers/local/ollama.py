# SPDX-License-Identifier: MIT
"""The profile of Ollama."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ..clocks import LOCAL_LIMITS
from ..facts import OptionNote
from ..notes import ANY_TOOL_NAME_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="ollama",
    base_url="http://localhost:11434/v1",
    base_url_env="OLLAMA_BASE_URL",
    key_env=("OLLAMA_API_KEY",),
    key_required=False,
    options=ChatCompletionsOptions(
        reasoning_field="reasoning", image_addresses=False, tool_names=""
    ),
    limits=LOCAL_LIMITS,
    efforts={word: {"reasoning_effort": word} for word in ("none", "low", "medium", "high")},
    notes=(
        OptionNote(
            "reasoning comes and goes back in the field `reasoning`",
            "that is its name at the OpenAI-compatible endpoint",
            "recorded: ruby-llm__ollama__qwen3-chat-function-calling-ollama-qwen3-can-use-tools"
            "-wit.sse",
            ("reasoning_field",),
        ),
        OptionNote(
            "the efforts are none, low, medium and high",
            "models that can think do think unless the effort is none",
            "ollama/ollama#14820",
        ),
        OptionNote(
            "an image is sent as data; an image's address is refused before any I/O",
            "the server does not fetch images",
            "docs.ollama.com/api/openai-compatibility",
            ("image_addresses",),
        ),
        ANY_TOOL_NAME_NOTE,
    ),
)
