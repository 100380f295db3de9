# SPDX-License-Identifier: MIT
"""The classes that scripts use: ``Client`` sends requests, ``Stream`` is one answer."""

from __future__ import annotations

from .client import DEFAULT_PROVIDER, Client
from .stream import Stream

__all__ = ["Client", "DEFAULT_PROVIDER", "Stream"]
