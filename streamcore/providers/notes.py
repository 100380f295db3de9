# SPDX-License-Identifier: MIT
"""Values and notes that several profiles share: what stands behind many providers."""

from __future__ import annotations

from .facts import OptionNote

OPENAI_CALL_ID = r"(?s:.{1,40})"
"""The ids of calls that OpenAI's models take: up to forty characters."""

GATEWAY_CALL_ID = r"[A-Za-z0-9_-]{1,40}"
"""The ids of calls that Claude's and OpenAI's models both take, for gateways to both."""

OPENAI_IDS_NOTE = OptionNote(
    "the id of a call has at most 40 characters",
    "a longer one, made by another provider, is a 400 (`string_above_max_length`)",
    "microsoft/autogen#6377, BerriAI/litellm#11392",
    ("call_ids",),
)

GATEWAY_IDS_NOTE = OptionNote(
    "the id of a call is 40 letters, digits, `_` and `-` at most, and stands for one call",
    "Claude's models refuse other letters and an id that comes twice, OpenAI's longer ids",
    "langchain-ai/langchain#37756, BerriAI/litellm#23510, BerriAI/litellm#11392",
    ("call_ids", "unique_call_ids"),
)

BLANK_TEXT_NOTE = OptionNote(
    "no text is empty or blank",
    "Claude's models refuse one (`text content blocks must contain non-whitespace text`)",
    "anomalyco/opencode#31259, continuedev/continue#9605",
    ("blank_text",),
)

ANY_TOOL_NAME_NOTE = OptionNote(
    "a tool may have any name",
    "the server does not look at names; a model or proxy behind it may",
    "modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names",
    ("tool_names",),
)

DEVELOPER_NOTE = OptionNote(
    "the role `developer` is known",
    "it is OpenAI's; others get the same words as `system`",
    "platform.openai.com/docs/guides/text",
    ("developer_role",),
)

ONE_SYSTEM_NOTE = OptionNote(
    "there is one system message, at the front",
    "chat templates of Qwen's models refuse another (`System message must be at the beginning`)",
    "BerriAI/litellm#39852, can1357/oh-my-pi#958",
    ("one_system_message",),
)
