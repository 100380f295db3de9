# SPDX-License-Identifier: MIT
"""The profile of Baseten."""

from __future__ import annotations

from ..clocks import HOSTED_LIMITS
from ..facts import OptionNote
from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="baseten",
    base_url="https://inference.baseten.co/v1",
    base_url_env="BASETEN_BASE_URL",
    key_env=("BASETEN_API_KEY",),
    limits=HOSTED_LIMITS,
    notes=(
        OptionNote(
            "every fragment of a call may have another id",
            "a new id with an empty name continues the call",
            "recorded: maruel-genai__baseten__minimax-m2.5-genstream-tools-squareroot-1.sse",
        ),
        OptionNote(
            "usage comes in many payloads, each a running total",
            "the last report counts; nothing is added up",
            "recorded: maruel-genai__baseten__minimax-m2.5-genstream-tools-squareroot-1.sse",
        ),
    ),
)
