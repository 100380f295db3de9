# SPDX-License-Identifier: MIT
"""The clocks that profiles share (DESIGN.md §7)."""

from __future__ import annotations

from ..values.limits import Limits

HOSTED_LIMITS = Limits(idle_timeout=300.0, total_timeout=None)
"""In a queue, or while a model thinks, minutes pass without a byte. No total clock."""

LOCAL_LIMITS = Limits(first_byte_timeout=600.0, idle_timeout=300.0, total_timeout=None)
"""A local server may read a long prompt for minutes before it sends the first byte."""
