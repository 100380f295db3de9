# SPDX-License-Identifier: MIT
"""Values and notes that several profiles share."""

from __future__ import annotations

from .facts import OptionNote

OPENAI_CALL_ID = r"(?s:.{1,40})"
"""The call ids that OpenAI's models take: up to 40 characters."""

GATEWAY_CALL_ID = r"[A-Za-z0-9_-]{1,40}"
"""The call ids that both Claude's and OpenAI's models take, for gateways to both."""

OPENAI_IDS_NOTE = OptionNote(
    "the id of a call has at most 40 characters",
    "a longer id, made by another provider, is a 400 (`string_above_max_length`)",
    "microsoft/autogen#6377, BerriAI/litellm#11392",
    ("call_ids",),
)

GATEWAY_IDS_NOTE = OptionNote(
    "the id of a call has at most 40 letters, digits, `_` and `-`, and no other call has it",
    "Claude's models refuse other characters and repeated ids, OpenAI's refuse longer ids",
    "langchain-ai/langchain#37756, BerriAI/litellm#23510, BerriAI/litellm#11392",
    ("call_ids", "unique_call_ids"),
)

BLANK_TEXT_NOTE = OptionNote(
    "empty or blank text is not sent",
    "Claude's models refuse it (`text content blocks must contain non-whitespace text`)",
    "anomalyco/opencode#31259, continuedev/continue#9605",
    ("blank_text",),
)

ANY_TOOL_NAME_NOTE = OptionNote(
    "a tool may have any name",
    "the server does not check names; a model or a proxy behind it may check them",
    "modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names",
    ("tool_names",),
)

DEVELOPER_NOTE = OptionNote(
    "messages of the role `developer` are sent with it",
    "it is a role of OpenAI; other providers get these messages as `system`",
    "platform.openai.com/docs/guides/text",
    ("developer_role",),
)

ONE_SYSTEM_NOTE = OptionNote(
    "there is one system message, the first message",
    "templates of Qwen's models refuse others (`System message must be at the beginning`)",
    "BerriAI/litellm#39852, can1357/oh-my-pi#958",
    ("one_system_message",),
)
