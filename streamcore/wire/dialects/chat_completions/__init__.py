# SPDX-License-Identifier: MIT
"""The chat-completions dialect: ``decoder`` reads answers, ``request`` writes bodies."""

from __future__ import annotations

from .decoder import ChatCompletionsDecoder

__all__ = ["ChatCompletionsDecoder"]
