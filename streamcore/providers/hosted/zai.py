# SPDX-License-Identifier: MIT
"""The profile of Z.ai (GLM), the international platform."""

from __future__ import annotations

from dataclasses import replace

from .zhipu import PROFILE as ZHIPU

PROFILE = replace(
    ZHIPU,
    name="zai",
    base_url="https://api.z.ai/api/paas/v4",
    base_url_env="ZAI_BASE_URL",
    key_env=("ZAI_API_KEY",),
)
