# SPDX-License-Identifier: MIT
"""What strict providers answer 400 to, one checker for each family of rules.

In: the body of a request, as it goes out. Out: what the provider would say against it; nothing
for a body that it takes. Each rule names its source and the providers that hold it. The
checkers share no code with the package, and know nothing of its options.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

Body = Dict[str, Any]
Faults = Iterator[str]


class Rule(NamedTuple):
    """A rule: where it is written, who holds it (None: all), and its checker."""

    source: str
    providers: Optional[Tuple[str, ...]]
    check: Callable[[Body], Faults]


def faults(provider: str, body: Body) -> List[str]:
    """Return what a provider would say against a body."""
    return [
        f"{name}: {fault}"
        for name, rule in RULES.items()
        if rule.providers is None or provider in rule.providers
        for fault in rule.check(body)
    ]


def texts_of(message: Dict[str, Any]) -> List[str]:
    """Return the texts of a message's content."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if part.get("type") == "text"]


def calls_of(body: Body) -> Iterator[Tuple[int, Dict[str, Any]]]:
    """Yield each call with the position of its message."""
    for position, message in enumerate(body["messages"]):
        for call in message.get("tool_calls", ()):
            yield position, call


# Families of rules


def pairs(body: Body) -> Faults:
    """Each call has exactly one result, directly after it; arguments are JSON."""
    owed: List[str] = []
    for position, message in enumerate([*body["messages"], {"role": "end"}]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in owed:
                yield f"messages[{position}]: no call {message['tool_call_id']!r} waits"
            else:
                owed.remove(message["tool_call_id"])
            continue
        if owed:
            yield f"messages[{position}]: {owed} have no result"
        owed = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(owed)) < len(owed):
            yield f"messages[{position}]: an id twice in one message"
    for position, call in calls_of(body):
        try:
            json.loads(call["function"]["arguments"])
        except ValueError:
            yield f"messages[{position}]: arguments that do not parse"


def content_there(body: Body) -> Faults:
    """No null and no missing content; an answer has text or calls; a result is not empty."""
    for position, message in enumerate(body["messages"]):
        content, role = message.get("content"), message["role"]
        if not isinstance(content, (str, list)) or content == []:
            yield f"messages[{position}]: content {content!r}"
        if content == "" and role == "assistant" and not message.get("tool_calls"):
            yield f"messages[{position}]: an assistant message with neither text nor calls"
        if content == "" and role == "tool":
            yield f"messages[{position}]: an empty result"


def ids_like(pattern: str) -> Callable[[Body], Faults]:
    def check(body: Body) -> Faults:
        for position, call in calls_of(body):
            if not re.fullmatch(pattern, call["id"], re.DOTALL):
                yield f"messages[{position}]: the id {call['id']!r}"

    return check


def ids_once(body: Body) -> Faults:
    seen = set()
    for position, call in calls_of(body):
        if call["id"] in seen:
            yield f"messages[{position}]: tool_use ids must be unique: {call['id']!r}"
        seen.add(call["id"])


def names_like(pattern: str) -> Callable[[Body], Faults]:
    def check(body: Body) -> Faults:
        offered = [tool["function"]["name"] for tool in body.get("tools", ())]
        for name in [*offered, *(call["function"]["name"] for _, call in calls_of(body))]:
            if not re.fullmatch(pattern, name):
                yield f"the name {name!r}"

    return check


def turns(body: Body) -> Faults:
    """After one system message: user, assistant (with its tools), user, … the user first."""
    before = "system"
    for position, message in enumerate(body["messages"]):
        role = message["role"]
        follows = {
            "system": () if position else ("system",), "user": ("system", "assistant"),
            "assistant": ("user", "tool"), "tool": ("assistant", "tool"),
        }[role]
        if before not in follows:
            yield f"messages[{position}]: {role} after {before}"
        before = role


def system_first(body: Body) -> Faults:
    for position, message in enumerate(body["messages"]):
        if position and message["role"] in ("system", "developer"):
            yield f"messages[{position}]: System message must be at the beginning"


def no_developer(body: Body) -> Faults:
    for position, message in enumerate(body["messages"]):
        if message["role"] not in ("system", "user", "assistant", "tool"):
            yield f"messages[{position}]: the role {message['role']}"


def no_blank_text(body: Body) -> Faults:
    for position, message in enumerate(body["messages"]):
        if message.get("content") == "" and message.get("tool_calls"):
            continue  # no text block is made of it
        if not all(text.strip() for text in texts_of(message)):
            yield f"messages[{position}]: text must contain non-whitespace text"


def content_is_text(body: Body) -> Faults:
    for position, message in enumerate(body["messages"]):
        if not isinstance(message.get("content"), str):
            yield f"messages[{position}]: invalid type: sequence, expected a string"


def fields_known(*more: str) -> Callable[[Body], Faults]:
    known = {"role", "content", "name", "tool_calls", "tool_call_id", *more}

    def check(body: Body) -> Faults:
        for position, message in enumerate(body["messages"]):
            if set(message) - known:
                yield f"messages[{position}]: fields {sorted(set(message) - known)}"

    return check


def reasoning_on_calls(body: Body) -> Faults:
    for position, message in enumerate(body["messages"]):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            yield f"messages[{position}]: reasoning_content is missing in a tool call message"


def reasoning_everywhere(body: Body) -> Faults:
    for position, message in enumerate(body["messages"]):
        if message["role"] == "assistant" and "reasoning_content" not in message:
            yield f"messages[{position}]: reasoning_content must be passed back"


def images_as_data(body: Body) -> Faults:
    for position, message in enumerate(body["messages"]):
        content = message["content"] if isinstance(message["content"], list) else ()
        for part in content:
            if part.get("type") == "image_url" and part["image_url"]["url"].startswith("http"):
                yield f"messages[{position}]: unsupported image url"


def schemas_whole(body: Body) -> Faults:
    for tool in body.get("tools", ()):
        schema = tool["function"].get("parameters", {"type": "object", "properties": {}})
        if schema.get("type") != "object" or "properties" not in schema:
            yield f"{tool['function']['name']}: object schema missing properties"
        yield from _arrays_without_items(schema, tool["function"]["name"])


def _arrays_without_items(schema: Any, where: str) -> Faults:
    if isinstance(schema, dict):
        if schema.get("type") == "array" and "items" not in schema:
            yield f"{where}: array schema missing items"
        for key, value in schema.items():
            yield from _arrays_without_items(value, f"{where}.{key}")
    elif isinstance(schema, list):
        for value in schema:
            yield from _arrays_without_items(value, where)


def schemas_without(*keywords: str) -> Callable[[Body], Faults]:
    def check(body: Body) -> Faults:
        for tool in body.get("tools", ()):
            text = json.dumps(tool)
            for keyword in keywords:
                if f'"{keyword}":' in text:
                    yield f"{tool['function']['name']}: Unknown name {keyword}"

    return check


def choice_has_tools(body: Body) -> Faults:
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in body and not body.get("tools"):
            yield f"{name} is only allowed when tools are specified"


def cap_is_completion(body: Body) -> Faults:
    if "max_tokens" in body and re.search(r"(^|[/-])(gpt-5|o\d)\b", body["model"]):
        yield "max_tokens is not supported with this model"


TEMPLATES = ("llama.cpp", "vllm", "lmstudio")  # a chat template in front of the model
OPENAI = ("openai", "azure")
CLAUDE = ("github-copilot", "openrouter", "databricks")  # gateways to Claude's models, too
ANY_NAME = (*TEMPLATES, "ollama", "transformers", "openai-compatible")
HOSTED = (
    "openai", "azure", "azure-ai-foundry", "deepseek", "groq", "github-copilot", "databricks",
)

RULES: Dict[str, Rule] = {
    "pairs": Rule("platform.openai.com/docs/guides/function-calling", None, pairs),
    "content": Rule("AstrBotDevs/AstrBot#7200, BerriAI/litellm#13355", None, content_there),
    "choice": Rule("openai/swarm#30, camel-ai/camel#3706", None, choice_has_tools),
    "mistral ids": Rule("anomalyco/opencode#1680", ("mistral",), ids_like("[A-Za-z0-9]{9}")),
    "openai ids": Rule("BerriAI/litellm#11392, microsoft/autogen#6377",
                       (*OPENAI, *CLAUDE, "azure-ai-foundry"), ids_like(".{1,40}")),
    "claude ids": Rule("langchain-ai/langchain#37756", (*CLAUDE, "azure-ai-foundry"),
                       ids_like("[a-zA-Z0-9_-]+")),
    "ids once": Rule("BerriAI/litellm#23510, NVIDIA-NeMo/Switchyard#502",
                     (*CLAUDE, "azure-ai-foundry"), ids_once),
    "names": Rule("langgenius/dify#22867, zed-industries/zed#57531, github/copilot-sdk#743",
                  HOSTED, names_like("[a-zA-Z0-9_-]{1,64}")),
    "google names": Rule("cline/cline#7339", ("gemini",),
                         names_like("[A-Za-z_][A-Za-z0-9_.:-]{0,63}")),
    "turns": Rule("zed-industries/zed#37021, perplexityai/api-discussion#265,"
                  " microsoft/autogen#3597", ("mistral", "perplexity", *TEMPLATES), turns),
    "system": Rule("vllm-project/vllm#41114, BerriAI/litellm#39852",
                   (*TEMPLATES, "fireworks", "dashscope"), system_first),
    "developer": Rule("earendil-works/pi#1048, eclipse-theia/theia#15144",
                      ("deepseek", "mistral", "moonshot", "groq", "gemini", *TEMPLATES),
                      no_developer),
    "blank text": Rule("anomalyco/opencode#31259, continuedev/continue#9605",
                       (*CLAUDE, "moonshot"), no_blank_text),
    "parts": Rule("QwenLM/qwen-code#2318, BerriAI/litellm#6642", ("deepseek",), content_is_text),
    "fields": Rule("openai/openai-python#2192, charmbracelet/crush#1590",
                   (*OPENAI, "mistral", "gemini", "groq"), fields_known("refusal", "audio")),
    "cerebras fields": Rule("QwenLM/qwen-code#11045", ("cerebras",), fields_known("reasoning")),
    "reasoning of a call": Rule("theopenco/llmgateway#2093, QuantumNous/new-api#4408",
                                ("moonshot", "zhipu", "zai"), reasoning_on_calls),
    "reasoning": Rule("api-docs.deepseek.com/guides/thinking_mode, openclaw/openclaw#73417",
                      ("deepseek",), reasoning_everywhere),
    "images": Rule("OpenHands/software-agent-sdk#3155", ("moonshot", "ollama"), images_as_data),
    "schemas": Rule("spring-projects/spring-ai#4776, digitalocean-labs/mcp-digitalocean#265",
                    (*OPENAI, "github-copilot", "azure-ai-foundry", "openrouter"), schemas_whole),
    "google schemas": Rule("openswarm-ai/openswarm#24, AstrBotDevs/AstrBot#7572", ("gemini",),
                           schemas_without("$schema", "additionalProperties", "propertyNames")),
    "cap": Rule("pssah4/vault-operator#28, diegosouzapw/OmniRoute#1540",
                (*OPENAI, "github-copilot", "azure-ai-foundry", "databricks"), cap_is_completion),
}
