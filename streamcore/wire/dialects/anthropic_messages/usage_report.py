# SPDX-License-Identifier: MIT
"""The usage of one answer, merged from the reports at its start and end.

In: ``usage`` objects as sent. Out: ``TokenUsage``. Reports are cumulative: for each field the
last value that is not null counts, and nothing is added up. Values that make no sense are
ignored. A field that no report has stays None. Never raises.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ....values.strictjson import mend_surrogates
from ....values.usage import TokenUsage


class UsageReport:
    """Merges the reports of one answer."""

    def __init__(self) -> None:
        self._told: Dict[str, Any] = {}

    def note(self, report: Any) -> bool:
        """Take one report; return whether it is an object or None."""
        if isinstance(report, dict):
            self._told.update((k, v) for k, v in report.items() if v is not None)
        return report is None or isinstance(report, dict)

    def read(self) -> Optional[TokenUsage]:
        """Return the counts so far; None if none is known.

        The provider's ``input_tokens`` leave out cached tokens, and its ``output_tokens``
        include thinking.
        """
        told = self._told
        details = told.get("output_tokens_details")
        thinking = details.get("thinking_tokens") if isinstance(details, dict) else None
        usage = TokenUsage(
            _whole(told.get("input_tokens")),
            _whole(told.get("output_tokens")),
            _whole(told.get("cache_read_input_tokens")),
            _whole(told.get("cache_creation_input_tokens")),
            _whole(thinking),
            mend_surrogates(told),
        )
        return None if usage == TokenUsage() else usage


def _whole(value: Any) -> Optional[int]:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None
