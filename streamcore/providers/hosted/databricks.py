# SPDX-License-Identifier: MIT
"""The profile of Databricks model serving."""

from __future__ import annotations

from ...wire.dialects.chat_completions import ChatCompletionsOptions
from ...wire.dialects.chat_completions.options import REASONING_MODELS
from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..notes import BLANK_TEXT_NOTE, GATEWAY_CALL_ID, GATEWAY_IDS_NOTE
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="databricks",
    base_url_env="DATABRICKS_HOST",
    key_env=("DATABRICKS_TOKEN",),
    options=ChatCompletionsOptions(
        done_marker="optional",
        max_completion_tokens_models=REASONING_MODELS,
        reasoning_passback="never",
        call_ids=GATEWAY_CALL_ID,
        unique_call_ids=True,
        blank_text=False,
    ),
    limits=HOSTED_LIMITS,
    base_path="/serving-endpoints",
    notes=(
        OptionNote(
            "every workspace has its own address; a bare host gets the path `/serving-endpoints`",
            "the name of the serving endpoint is given as the model",
            "docs.databricks.com/machine-learning/model-serving/score-foundation-models",
        ),
        OptionNote(
            "answers of OpenAI models end without `[DONE]`",
            "a finish word and a clean end prove the end; Databricks' own models send the marker",
            "recorded: pydantic-ai__databricks__gpt-5.2-2025-12-11-testdatabricks"
            ".test-databricks-stream-databricks-gpt.sse",
        ),
        OptionNote(
            "reasoning comes as a content part and is never sent back",
            "a request has no field for it",
            "recorded: pydantic-ai__databricks__gpt-oss-120b-080525-testdatabricks"
            ".test-databricks-stream-databricks-gpt.sse",
            ("reasoning_passback",),
        ),
        OptionNote(
            "GPT-5 and the o models get the output cap as `max_completion_tokens`",
            "these models refuse `max_tokens`; the other models take it",
            "diegosouzapw/OmniRoute#1540",
            ("max_completion_tokens_models",),
        ),
        GATEWAY_IDS_NOTE,
        BLANK_TEXT_NOTE,
    ),
)
