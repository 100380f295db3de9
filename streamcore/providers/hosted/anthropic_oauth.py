# SPDX-License-Identifier: MIT
"""The profile of Anthropic for OAuth bearer tokens instead of API keys."""

from __future__ import annotations

from dataclasses import replace

from ..facts import OptionNote
from .anthropic import PROFILE as ANTHROPIC

PROFILE = replace(
    ANTHROPIC,
    name="anthropic-oauth",
    key_env=("ANTHROPIC_AUTH_TOKEN",),
    key_header="Authorization",
    key_prefix="Bearer ",
    headers={"anthropic-beta": "oauth-2025-04-20"},
    notes=(
        OptionNote(
            "the token travels as `Authorization: Bearer`, with the beta header of OAuth",
            "the API refuses OAuth tokens in `x-api-key`, and tokens without the beta header",
            "anthropics/anthropic-sdk-typescript src/client.ts",
        ),
        *ANTHROPIC.notes,
    ),
)
