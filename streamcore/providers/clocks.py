# SPDX-License-Identifier: MIT
"""The limits that profiles share (DESIGN.md §7)."""

from __future__ import annotations

from ..values.limits import Limits

HOSTED_LIMITS = Limits(idle_timeout=300.0, total_timeout=None)
"""In a queue, or while a model thinks, minutes pass without a byte. No total clock."""

IMAGE_LIMITS = Limits(max_event_bytes=32 << 20, max_document_bytes=32 << 20).over(HOSTED_LIMITS)
"""Those of a hosted provider whose models make images: each comes whole, in one event."""

LOCAL_LIMITS = Limits(first_byte_timeout=600.0, idle_timeout=300.0, total_timeout=None)
"""A local server may read a long prompt for minutes before it sends the first byte."""
