# SPDX-License-Identifier: MIT
"""The facade that scripts use: ``Client`` asks, ``Stream`` is the answer on its way."""

from __future__ import annotations

from .client import DEFAULT_PROVIDER, Client
from .stream import Stream

__all__ = ["Client", "DEFAULT_PROVIDER", "Stream"]
