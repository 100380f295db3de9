# SPDX-License-Identifier: MIT
"""The profile of Fireworks."""

from __future__ import annotations

from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="fireworks",
    base_url="https://api.fireworks.ai/inference/v1",
    base_url_env="FIREWORKS_BASE_URL",
    key_env=("FIREWORKS_API_KEY",),
    limits=HOSTED_LIMITS,
    session_header="x-session-affinity",
    notes=(
        OptionNote(
            "the session id travels as `x-session-affinity`",
            "requests of one conversation reach the replica that has its cache",
            "reference.langchain.com/python/langchain-fireworks/middleware",
        ),
    ),
)
