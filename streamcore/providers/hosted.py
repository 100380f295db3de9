# SPDX-License-Identifier: MIT
"""The profiles of hosted providers: data, each bend with its reason and source.

Clocks follow design.md §7: idle 300 s and no total. ``done_marker="optional"`` costs
safety (text after the finish word can be lost unseen), so it stands only where a provider
was seen to end every answer of some model without a whole ``[DONE]``. Sources: a page of
the provider, a public report (``owner/repository#number``), or a recorded stream.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Tuple

from ..values.limits import Limits
from ..wire.dialects.options import DialectOptions
from .facts import ModelInfo, Quirk
from .profile import ProviderProfile

HOSTED_LIMITS = Limits(idle_timeout=300.0, total_timeout=None)
"""A queue or a long thought is silent for minutes; the whole answer takes what it takes."""

_NO_REASONING_BACK = DialectOptions(reasoning_passback="never")

OPENAI = ProviderProfile(
    name="openai",
    base_url="https://api.openai.com/v1",
    base_url_env="OPENAI_BASE_URL",
    key_env=("OPENAI_API_KEY",),
    options=DialectOptions(max_tokens_field="max_completion_tokens", reasoning_passback="never"),
    limits=HOSTED_LIMITS,
    models=(  # windows and efforts: platform.openai.com/docs/models
        ModelInfo("gpt-4o", 128_000, efforts=()),
        ModelInfo("gpt-4o-mini", 128_000, efforts=()),
        ModelInfo("gpt-4.1", 1_047_576, efforts=()),
        ModelInfo("gpt-4.1-mini", 1_047_576, efforts=()),
        ModelInfo("o4-mini", 200_000, efforts=("low", "medium", "high")),
        ModelInfo("gpt-5", 400_000, efforts=("minimal", "low", "medium", "high")),
        ModelInfo("gpt-5-mini", 400_000, efforts=("minimal", "low", "medium", "high")),
    ),
    quirks=(
        Quirk(
            "the output cap travels as `max_completion_tokens`",
            "reasoning models refuse `max_tokens`",
            "tailcallhq/forgecode#1081",
        ),
        Quirk(
            "reasoning is never sent back",
            "chat completions has no field for it; only other providers' reasoning could be there",
            "openai/openai-python#2192",
        ),
    ),
)

DEEPSEEK = ProviderProfile(
    name="deepseek",
    base_url="https://api.deepseek.com",
    base_url_env="DEEPSEEK_BASE_URL",
    key_env=("DEEPSEEK_API_KEY",),
    options=DialectOptions(
        reasoning_field="reasoning_content", reasoning_passback="tool-calls", images=False
    ),
    limits=HOSTED_LIMITS,
    models=(
        ModelInfo("deepseek-flash"), ModelInfo("deepseek-v4-flash"), ModelInfo("deepseek-v4-pro"),
    ),
    efforts={
        "off": {"thinking": {"type": "disabled"}},
        "high": {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        "max": {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
    },
    default_effort="high",
    default_max_tokens=256_000,
    context_window=1_000_000,
    request_id_headers=("x-ds-trace-id", "x-request-id"),
    quirks=(
        Quirk(
            "thinking is switched by `thinking.type`, its effort by `reasoning_effort` beside it",
            "off sends no effort; high is the provider's own default",
            "api-docs.deepseek.com/guides/thinking_mode",
        ),
        Quirk(
            "`reasoning_content` goes back on steps with tool calls",
            "the provider answers 400 where it is missing",
            "continuedev/continue#9940",
        ),
        Quirk(
            "image parts are refused before they are sent",
            "its models are text only; one that is not can be given `images=True`",
            "api-docs.deepseek.com/quick_start/pricing",
        ),
        Quirk(
            "cached input is reported as `prompt_cache_hit_tokens`, part of `prompt_tokens`",
            "it is taken out of the input count",
            "recorded: maruel-genai__deepseek__deepseek-v4-pro-genstream-json.sse",
        ),
    ),
)

OPENROUTER = ProviderProfile(
    name="openrouter",
    base_url="https://openrouter.ai/api/v1",
    base_url_env="OPENROUTER_BASE_URL",
    key_env=("OPENROUTER_API_KEY",),
    options=DialectOptions(reasoning_field="reasoning"),
    limits=HOSTED_LIMITS,
    efforts={
        word: {"reasoning": {"effort": word}}
        for word in ("none", "minimal", "low", "medium", "high", "xhigh")
    },
    quirks=(
        Quirk(
            "the effort travels as `reasoning.effort`",
            "one object steers every vendor behind the router",
            "openrouter.ai/docs/use-cases/reasoning-tokens",
        ),
        Quirk(
            "reasoning goes back as `reasoning`, with its `reasoning_details` untouched",
            "signed and encrypted details are refused or useless when changed",
            "openrouter.ai/docs/use-cases/reasoning-tokens",
        ),
        Quirk(
            "several calls of one answer may all carry index 0",
            "a new id with a name is another call",
            "recorded: crush__openrouter__kimi-k2-0905-glob-tool-r1.sse",
        ),
        Quirk(
            "usage comes after the finish word, in a frame that has choices",
            "the last report wins wherever it sits",
            "recorded: activeagent__openrouter__mistral-nemo-agent-streaming.sse",
        ),
    ),
)

GROQ = ProviderProfile(
    name="groq",
    base_url="https://api.groq.com/openai/v1",
    base_url_env="GROQ_BASE_URL",
    key_env=("GROQ_API_KEY",),
    options=DialectOptions(
        max_tokens_field="max_completion_tokens",
        reasoning_field="reasoning",
        reasoning_passback="never",
    ),
    limits=HOSTED_LIMITS,
    quirks=(
        Quirk(
            "the output cap travels as `max_completion_tokens`",
            "`max_tokens` is deprecated",
            "groq/groq-python#175",
        ),
        Quirk(
            "reasoning is never sent back; set `reasoning_passback` where the model takes it",
            "`reasoning_content` is a 400 everywhere, `reasoning` with some models",
            "janhq/jan#8136, karthink/gptel#774",
        ),
        Quirk(
            "usage may come only as `x_groq.usage`",
            "it is read where there is no `usage`",
            "recorded: maruel-genai__groq__gpt-oss-20b-genstream-tools-squareroot-1.sse",
        ),
        Quirk(
            "a failed tool call ends the stream as `event: error`",
            "the first error counts, and has the code its words map to",
            "recorded: pydantic-ai__groq__gpt-oss-120b-tool-use-failed-error-streaming.sse",
        ),
    ),
)

MISTRAL = ProviderProfile(
    name="mistral",
    base_url="https://api.mistral.ai/v1",
    base_url_env="MISTRAL_BASE_URL",
    key_env=("MISTRAL_API_KEY",),
    options=DialectOptions(stream_options=False, reasoning_passback="never", alternate=True),
    limits=HOSTED_LIMITS,
    quirks=(
        Quirk(
            "user and assistant must alternate",
            "a user message after tool results is a 400, as after a turn that failed",
            "zed-industries/zed#37021",
        ),
        Quirk(
            "`stream_options` is left out",
            "it was answered with 422; usage comes unasked with the finish word",
            "openai/openai-agents-python#442",
        ),
        Quirk(
            "reasoning is never sent back",
            "an assistant message with `reasoning_content` is a 422",
            "charmbracelet/crush#1590",
        ),
        Quirk(
            "content may be a list of `thinking` and `text` parts",
            "thinking parts are reasoning",
            "recorded: pydantic-ai__mistral__magistral-medium-latest-mistral-model-thinking"
            "-part-iter.sse",
        ),
    ),
)

GEMINI = ProviderProfile(
    name="gemini",
    base_url="https://generativelanguage.googleapis.com/v1beta/openai",
    base_url_env="GEMINI_BASE_URL",
    key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    options=_NO_REASONING_BACK,
    limits=HOSTED_LIMITS,
    models=(  # the window: recorded error ruby-llm__gemini__400__invalid-argument
        ModelInfo("gemini-2.5-flash", 1_048_576),
        ModelInfo("gemini-2.5-pro", 1_048_576),
    ),
    quirks=(
        Quirk(
            "reasoning is never sent back",
            "a field the endpoint does not know is a 400 (`Unknown name`)",
            "SuzumiyaAkizuki/ComfyUI-NewBie-LLM-Formatter#3",
        ),
        Quirk(
            "a call carries `extra_content.google.thought_signature`, which goes back with it",
            "the next step is a 400 without it",
            "securo-finance/securo#884",
        ),
    ),
)

XAI = ProviderProfile(
    name="xai",
    base_url="https://api.x.ai/v1",
    base_url_env="XAI_BASE_URL",
    key_env=("XAI_API_KEY",),
    options=DialectOptions(max_tokens_field="max_completion_tokens"),
    limits=HOSTED_LIMITS,
    session_header="x-grok-conv-id",
    quirks=(
        Quirk(
            "the output cap travels as `max_completion_tokens`",
            "`max_tokens` is deprecated",
            "docs.x.ai/docs/api-reference",
        ),
        Quirk(
            "the session id travels as `x-grok-conv-id`",
            "requests of one conversation reach the server that has its cache",
            "docs.x.ai/developers/advanced-api-usage/prompt-caching/maximizing-cache-hits",
        ),
        Quirk(
            'an error is `{"code": sentence, "error": sentence}`',
            "both are read for words",
            "recorded: ruby-llm__xai__400__this-model-s-maximum-prompt-length-is-13.json",
        ),
    ),
)

MOONSHOT = ProviderProfile(
    name="moonshot",
    base_url="https://api.moonshot.ai/v1",  # keys of the Chinese platform: api.moonshot.cn
    base_url_env="MOONSHOT_BASE_URL",
    key_env=("MOONSHOT_API_KEY",),
    options=DialectOptions(max_tokens_field="max_completion_tokens"),
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
    quirks=(
        Quirk(
            "the output cap travels as `max_completion_tokens`",
            "that is the documented name; `max_tokens` is the old one",
            "java.agentscope.io/v2/en/integration/model/kimi",
        ),
        Quirk(
            "older models switch thinking by `thinking.type`, newer ones take `reasoning_effort`",
            "neither kind takes the other's field",
            "java.agentscope.io/v2/en/integration/model/kimi",
        ),
        Quirk(
            "`reasoning_content` goes back on steps with tool calls",
            "thinking models answer 400 where it is missing",
            "platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model",
        ),
    ),
)

_GLM_QUIRKS = (
    Quirk(
        "thinking is switched by `thinking.type`",
        "there is no effort to choose with most models",
        "docs.z.ai/guides/capabilities/thinking-mode",
    ),
    Quirk(
        "`reasoning_content` goes back on steps with tool calls",
        "thinking between calls goes on from it",
        "docs.z.ai/guides/capabilities/thinking-mode",
    ),
    Quirk(
        "the choice index may number the phases of one answer: 0, 1, 2, 3",
        "a choice index may grow, and only grow, within one answer",
        "recorded: crush__zai__glm-4.6-ls-tool-r1.sse",
    ),
)

ZHIPU = ProviderProfile(
    name="zhipu",
    base_url="https://open.bigmodel.cn/api/paas/v4",
    base_url_env="ZHIPU_BASE_URL",
    key_env=("ZHIPUAI_API_KEY", "ZAI_API_KEY"),
    limits=HOSTED_LIMITS,
    efforts={
        "off": {"thinking": {"type": "disabled"}},
        "on": {"thinking": {"type": "enabled"}},
    },
    quirks=_GLM_QUIRKS,
)

ZAI = replace(
    ZHIPU,
    name="zai",
    base_url="https://api.z.ai/api/paas/v4",
    base_url_env="ZAI_BASE_URL",
    key_env=("ZAI_API_KEY",),
)

DASHSCOPE = ProviderProfile(
    name="dashscope",
    # Keys of the Chinese region: dashscope.aliyuncs.com.
    base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    base_url_env="DASHSCOPE_BASE_URL",
    key_env=("DASHSCOPE_API_KEY",),
    limits=HOSTED_LIMITS,
    efforts={"off": {"enable_thinking": False}, "on": {"enable_thinking": True}},
    quirks=(
        Quirk(
            "thinking is switched by `enable_thinking`",
            "there is no `reasoning_effort` with most models",
            "help.aliyun.com/en/model-studio/deep-thinking",
        ),
        Quirk(
            "later fragments of a call carry an empty id",
            "an empty id says nothing; the first one stays",
            "recorded: maruel-genai__alibaba__qwen3.8-max-genstream-tools-squareroot-1-any.sse",
        ),
    ),
)

TOGETHER = ProviderProfile(
    name="together",
    base_url="https://api.together.xyz/v1",
    base_url_env="TOGETHER_BASE_URL",
    key_env=("TOGETHER_API_KEY",),
    options=DialectOptions(reasoning_field="reasoning"),
    limits=HOSTED_LIMITS,
    quirks=(
        Quirk(
            "reasoning comes and goes back as `reasoning`",
            "the message schema names it so",
            "togethercomputer/openapi#132",
        ),
        Quirk(
            "text is told a second time in `choices[0].text`",
            "only the delta is read",
            "recorded: maruel-genai__together__gpt-oss-120b-genstream-tools-squareroot-1-any.sse",
        ),
        Quirk(
            "`tool_calls` may be followed by a second finish word, `stop`",
            "the most cautious word wins, and calls make it tool-calls",
            "recorded: maruel-genai__together__gpt-oss-120b-genstream-tools-squareroot-1-any.sse",
        ),
    ),
)

FIREWORKS = ProviderProfile(
    name="fireworks",
    base_url="https://api.fireworks.ai/inference/v1",
    base_url_env="FIREWORKS_BASE_URL",
    key_env=("FIREWORKS_API_KEY",),
    limits=HOSTED_LIMITS,
    session_header="x-session-affinity",
    quirks=(
        Quirk(
            "the session id travels as `x-session-affinity`",
            "requests of one conversation reach the replica that has its cache",
            "reference.langchain.com/python/langchain-fireworks/middleware",
        ),
    ),
)

AZURE = ProviderProfile(
    name="azure",
    base_url_env="AZURE_OPENAI_ENDPOINT",
    key_env=("AZURE_OPENAI_API_KEY",),
    key_header="api-key",
    key_prefix="",
    options=DialectOptions(max_tokens_field="max_completion_tokens", reasoning_passback="never"),
    limits=HOSTED_LIMITS,
    base_path="/openai/v1",
    quirks=(
        Quirk(
            "the key travels bare in `api-key`",
            "a bearer token here is an Entra ID token, not a key",
            "learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
        ),
        Quirk(
            "every resource has its own address; a bare host means its `/openai/v1`",
            "a deployment's address with `?api-version=` works as it is written; a version"
            " before 2024-10-21 wants `stream_options=False`",
            "learn.microsoft.com/azure/foundry/openai/api-version-lifecycle,"
            " griptape-ai/griptape#1640",
        ),
        Quirk(
            "the output cap travels as `max_completion_tokens`",
            "reasoning models refuse `max_tokens`",
            "tailcallhq/forgecode#1081",
        ),
        Quirk(
            "reasoning is never sent back",
            "it is OpenAI's chat completions, which has no field for it",
            "openai/openai-python#2192",
        ),
        Quirk(
            "the first frame has no choices but `prompt_filter_results`",
            "a frame without choices is passed over",
            "recorded: fantasy__azure-openai__o4-mini-2025-04-16-tool-streaming.sse",
        ),
    ),
)

AZURE_AI_FOUNDRY = ProviderProfile(
    name="azure-ai-foundry",
    base_url_env="AZURE_INFERENCE_ENDPOINT",
    key_env=("AZURE_INFERENCE_CREDENTIAL", "AZURE_AI_API_KEY"),
    key_header="api-key",
    key_prefix="",
    options=DialectOptions(done_marker="optional"),
    limits=HOSTED_LIMITS,
    base_path="/openai/v1",
    quirks=(
        Quirk(
            "the key travels bare in `api-key`",
            "a bearer token here is an Entra ID token, not a key",
            "learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
        ),
        Quirk(
            "every resource has its own address; a bare host means its `/openai/v1`",
            "`/models` with `?api-version=` works as it is written",
            "learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
        ),
        Quirk(
            "the last line, `data: [DONE]`, may lack its end",
            "it is taken for the end all the same; newer recordings end it",
            "transitive-bullshit/agentic#352",
        ),
    ),
)

PERPLEXITY = ProviderProfile(
    name="perplexity",
    base_url="https://api.perplexity.ai",
    base_url_env="PERPLEXITY_BASE_URL",
    key_env=("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
    options=DialectOptions(done_marker="optional", reasoning_passback="never", alternate=True),
    limits=HOSTED_LIMITS,
    quirks=(
        Quirk(
            "user and assistant must alternate",
            "two user messages in a row are a 400, as after a turn that failed",
            "perplexityai/api-discussion#265",
        ),
        Quirk(
            "answers end without `[DONE]`",
            "a finish word and a clean end are the proof; every recorded answer ends so",
            "perplexityai/api-discussion#209",
        ),
        Quirk(
            "reasoning is never sent back",
            "it comes as text between think tags; there is no field for it",
            "recorded: maruel-genai__perplexity__sonar-reasoning-maxtokens.sse",
        ),
        Quirk(
            "each frame repeats the whole answer so far as `message` beside its delta",
            "a message never counts beside a delta",
            "recorded: maruel-genai__perplexity__sonar-reasoning-maxtokens.sse",
        ),
    ),
)

CEREBRAS = ProviderProfile(
    name="cerebras",
    base_url="https://api.cerebras.ai/v1",
    base_url_env="CEREBRAS_BASE_URL",
    key_env=("CEREBRAS_API_KEY",),
    options=DialectOptions(
        done_marker="optional",
        max_tokens_field="max_completion_tokens",
        reasoning_field="reasoning",
    ),
    limits=HOSTED_LIMITS,
    quirks=(
        Quirk(
            "answers may end without `[DONE]`",
            "all did in 2025; those of July 2026 have it, so this can go once none is left",
            "recorded: maruel-genai__cerebras__qwen-3-32b-genstream-citations-text-markdown.sse",
        ),
        Quirk(
            "the output cap travels as `max_completion_tokens`",
            "that is the documented name",
            "inference-docs.cerebras.ai/api-reference/chat-completions",
        ),
        Quirk(
            "reasoning comes and goes back as `reasoning`",
            "`reasoning_content` in a message is a 400",
            "QwenLM/qwen-code#11045",
        ),
    ),
)

HUGGINGFACE = ProviderProfile(
    name="huggingface",
    base_url="https://router.huggingface.co/v1",
    base_url_env="HF_BASE_URL",
    key_env=("HF_TOKEN",),
    options=_NO_REASONING_BACK,
    limits=HOSTED_LIMITS,
    quirks=(
        Quirk(
            "reasoning is never sent back",
            "backends differ in its name, and some (Groq, Cerebras) answer the other with 400",
            "janhq/jan#8136, QwenLM/qwen-code#11045",
        ),
        Quirk(
            "a call may be numbered -1",
            "any whole number is an index",
            "recorded: maruel-genai__huggingface__qwen3-coder-480b-a35b-instruct-genstream-tools"
            "-squareroot-1-any.sse",
        ),
    ),
)

GITHUB_COPILOT = ProviderProfile(
    name="github-copilot",
    base_url="https://api.githubcopilot.com",
    base_url_env="GITHUB_COPILOT_BASE_URL",
    key_env=("GITHUB_COPILOT_TOKEN",),
    options=DialectOptions(done_marker="optional", reasoning_field="reasoning_text"),
    limits=HOSTED_LIMITS,
    headers={"Editor-Version": "streamcore/1"},
    quirks=(
        Quirk(
            "the last line, `data: [DONE]`, may lack its end",
            "it depends on the model behind: gpt-5 was seen so, gpt-4o and claude end it",
            "recorded: rust-genai__github-copilot__gpt-5-2025-08-07-tool-stream.sse",
        ),
        Quirk(
            "reasoning comes and goes back as `reasoning_text`, with its `reasoning_opaque`",
            "that is the name and the signature the service uses",
            "BerriAI/litellm#35021",
        ),
        Quirk(
            "an `Editor-Version` is sent; replace it with your own",
            "tokens made for editors were answered with 400 without one",
            "BerriAI/litellm#13256, alvinunreal/tmuxai#144",
        ),
        Quirk(
            "the first call of an answer may be numbered 1",
            "any whole number is an index",
            "recorded: aibridge__github-copilot__claude-haiku-4.5-streaming-injected-tool"
            "-nonzero-index-r1.sse",
        ),
    ),
)

BASETEN = ProviderProfile(
    name="baseten",
    base_url="https://inference.baseten.co/v1",
    base_url_env="BASETEN_BASE_URL",
    key_env=("BASETEN_API_KEY",),
    limits=HOSTED_LIMITS,
    quirks=(
        Quirk(
            "every fragment of a call may have an id of its own",
            "a new id with an empty name continues the call",
            "recorded: maruel-genai__baseten__minimax-m2.5-genstream-tools-squareroot-1.sse",
        ),
        Quirk(
            "usage comes in many frames, each a running total",
            "the last report wins; nothing is summed",
            "recorded: maruel-genai__baseten__minimax-m2.5-genstream-tools-squareroot-1.sse",
        ),
    ),
)

DATABRICKS = ProviderProfile(
    name="databricks",
    base_url_env="DATABRICKS_HOST",
    key_env=("DATABRICKS_TOKEN",),
    options=DialectOptions(done_marker="optional", reasoning_passback="never"),
    limits=HOSTED_LIMITS,
    base_path="/serving-endpoints",
    quirks=(
        Quirk(
            "every workspace has its own address; a bare host means its `/serving-endpoints`",
            "the model is the name of the serving endpoint",
            "docs.databricks.com/machine-learning/model-serving/score-foundation-models",
        ),
        Quirk(
            "answers of OpenAI models end without `[DONE]`",
            "a finish word and a clean end are the proof; its own models send the marker",
            "recorded: pydantic-ai__databricks__gpt-5.2-2025-12-11-testdatabricks"
            ".test-databricks-stream-databricks-gpt.sse",
        ),
        Quirk(
            "reasoning comes as a content part and is never sent back",
            "there is no field for it",
            "recorded: pydantic-ai__databricks__gpt-oss-120b-080525-testdatabricks"
            ".test-databricks-stream-databricks-gpt.sse",
        ),
    ),
)

HOSTED_PROFILES: Tuple[ProviderProfile, ...] = (
    OPENAI, DEEPSEEK, OPENROUTER, GROQ, MISTRAL, GEMINI, XAI, MOONSHOT, ZHIPU, ZAI, DASHSCOPE,
    TOGETHER, FIREWORKS, AZURE, AZURE_AI_FOUNDRY, PERPLEXITY, CEREBRAS, HUGGINGFACE,
    GITHUB_COPILOT, BASETEN, DATABRICKS,
)
