# SPDX-License-Identifier: MIT
"""The profile of any other server that speaks chat completions."""

from __future__ import annotations

from ..profile import ProviderProfile

PROFILE = ProviderProfile(
    name="openai-compatible",
    base_url_env="OPENAI_COMPATIBLE_BASE_URL",
    key_env=("OPENAI_COMPATIBLE_API_KEY",),
    key_required=False,
)
