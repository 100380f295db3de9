# SPDX-License-Identifier: MIT
"""The profile of Azure AI Foundry."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ...wire.dialects.chat_completions.options import REASONING_MODELS
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..notes import GATEWAY_CALL_ID, GATEWAY_IDS_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="azure-ai-foundry",
    base_url_env="AZURE_INFERENCE_ENDPOINT",
    key_env=("AZURE_INFERENCE_CREDENTIAL", "AZURE_AI_API_KEY"),
    key_header="api-key",
    key_prefix="",
    options=ChatCompletionsOptions(
        done_marker="optional",
        max_completion_tokens_models=REASONING_MODELS,
        call_ids=GATEWAY_CALL_ID,
        unique_call_ids=True,
    ),
    limits=HOSTED_LIMITS,
    base_path="/openai/v1",
    notes=(
        OptionNote(
            "the key is sent in `api-key`, without `Bearer`",
            "a bearer token here is an Entra ID token, not a key",
            "learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
        ),
        OptionNote(
            "every resource has its own address; a bare host gets the path `/openai/v1`",
            "an address of `/models` with `?api-version=` works unchanged",
            "learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
        ),
        OptionNote(
            "the last line, `data: [DONE]`, may lack its line end",
            "it proves the end all the same; newer recordings have the line end",
            "transitive-bullshit/agentic#352",
        ),
        OptionNote(
            "GPT-5 and the o models get the output cap as `max_completion_tokens`",
            "these models refuse `max_tokens`; the other models take it",
            "microsoft/vscode-copilot-release#11584",
            ("max_completion_tokens_models",),
        ),
        GATEWAY_IDS_NOTE,
    ),
)
