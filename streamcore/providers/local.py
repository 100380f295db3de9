# SPDX-License-Identifier: MIT
"""The profiles of server programs one runs oneself, and the one for everything else.

Clocks follow design.md §7: local servers read a long prompt for minutes before the first
byte, so first byte 600 s, idle 300 s, no total; ``openai-compatible`` has the defaults of
the table. None needs a key; one that is given or set is sent.
"""

from __future__ import annotations

from typing import Tuple

from ..values.limits import Limits
from ..wire.dialects.options import DialectOptions
from .facts import Quirk
from .profile import ProviderProfile

LOCAL_LIMITS = Limits(first_byte_timeout=600.0, idle_timeout=300.0, total_timeout=None)

OLLAMA = ProviderProfile(
    name="ollama",
    base_url="http://localhost:11434/v1",
    base_url_env="OLLAMA_BASE_URL",
    key_env=("OLLAMA_API_KEY",),
    key_required=False,
    options=DialectOptions(reasoning_field="reasoning"),
    limits=LOCAL_LIMITS,
    efforts={word: {"reasoning_effort": word} for word in ("none", "low", "medium", "high")},
    quirks=(
        Quirk(
            "reasoning comes and goes back as `reasoning`",
            "that is the name its compatible endpoint uses",
            "recorded: ruby-llm__ollama__qwen3-chat-function-calling-ollama-qwen3-can-use-tools"
            "-wit.sse",
        ),
        Quirk(
            "efforts are none, low, medium and high",
            "models that can think do so unless told none",
            "ollama/ollama#14820",
        ),
    ),
)

LLAMA_CPP = ProviderProfile(
    name="llama.cpp",
    base_url="http://localhost:8080/v1",
    base_url_env="LLAMA_CPP_BASE_URL",
    key_env=("LLAMA_API_KEY",),
    key_required=False,
    options=DialectOptions(alternate=True),
    limits=LOCAL_LIMITS,
    quirks=(
        Quirk(
            "user and assistant must alternate",
            "many chat templates refuse another order, as after a turn that failed",
            "anomalyco/opencode#19840",
        ),
        Quirk(
            "a full context is an error of type `exceed_context_size_error`",
            "it is told apart from other bad requests: CONTEXT_WINDOW_EXCEEDED",
            "recorded: rig__llamacpp__400__exceed-context-size-error.json",
        ),
    ),
)

VLLM = ProviderProfile(
    name="vllm",
    base_url="http://localhost:8000/v1",
    base_url_env="VLLM_BASE_URL",
    key_env=("VLLM_API_KEY",),
    key_required=False,
    options=DialectOptions(reasoning_field="reasoning", alternate=True),
    limits=LOCAL_LIMITS,
    quirks=(
        Quirk(
            "user and assistant must alternate",
            "many chat templates refuse another order, as after a turn that failed",
            "vllm-project/vllm#6862",
        ),
        Quirk(
            "reasoning goes back as `reasoning`",
            "newer servers dropped `reasoning_content` for it",
            "vllm-project/vllm#27755, vllm-project/router#115",
        ),
    ),
)

LMSTUDIO = ProviderProfile(
    name="lmstudio",
    base_url="http://localhost:1234/v1",
    base_url_env="LMSTUDIO_BASE_URL",
    key_env=("LMSTUDIO_API_KEY",),
    key_required=False,
    options=DialectOptions(alternate=True),
    limits=LOCAL_LIMITS,
    quirks=(
        Quirk(
            "user and assistant must alternate",
            "many chat templates refuse another order, as after a turn that failed",
            "anomalyco/opencode#19840",
        ),
    ),
)

TRANSFORMERS = ProviderProfile(
    name="transformers",
    base_url="http://localhost:8000/v1",
    base_url_env="TRANSFORMERS_BASE_URL",
    key_env=("TRANSFORMERS_API_KEY",),
    key_required=False,
    options=DialectOptions(done_marker="optional", stream_options=False),
    limits=LOCAL_LIMITS,
    efforts={},
    quirks=(
        Quirk(
            "answers end without `[DONE]`",
            "the server never writes the marker; the finish word comes last",
            "huggingface/transformers src/transformers/cli/serving/chat_completion.py",
        ),
        Quirk(
            "`stream_options` is left out",
            "the server refuses the field; usage comes unasked with the finish word",
            "huggingface/transformers src/transformers/cli/serving/chat_completion.py",
        ),
        Quirk(
            "no reasoning effort is taken",
            "the server refuses `reasoning_effort`",
            "huggingface/transformers src/transformers/cli/serving/chat_completion.py",
        ),
    ),
)

OPENAI_COMPATIBLE = ProviderProfile(
    name="openai-compatible",
    base_url_env="OPENAI_COMPATIBLE_BASE_URL",
    key_env=("OPENAI_COMPATIBLE_API_KEY",),
    key_required=False,
)

LOCAL_PROFILES: Tuple[ProviderProfile, ...] = (
    OLLAMA, LLAMA_CPP, VLLM, LMSTUDIO, TRANSFORMERS, OPENAI_COMPATIBLE,
)
