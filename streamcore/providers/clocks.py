# SPDX-License-Identifier: MIT
"""The clocks that profiles share (DESIGN.md §7)."""

from __future__ import annotations

from ..values.limits import Limits

HOSTED_LIMITS = Limits(idle_timeout=300.0, total_timeout=None)
"""A queue or a long thought is silent for minutes; the whole answer takes what it takes."""

LOCAL_LIMITS = Limits(first_byte_timeout=600.0, idle_timeout=300.0, total_timeout=None)
"""A local server reads a long prompt for minutes before it sends the first byte."""
