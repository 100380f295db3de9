# SPDX-License-Identifier: MIT
"""The tokens of an answer, in one form for all providers.

In: the counts that a dialect read from the provider's last usage report.
Out: ``TokenUsage``. An unknown count is None; it is never zero and never guessed.
The sum of two usages keeps the counts that are known. ``raw`` is the report itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, Mapping, Optional

from .frozen import freeze, thaw

_INPUT = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
_COUNTS = (*_INPUT, "output_tokens", "reasoning_tokens")


@dataclass(frozen=True)
class TokenUsage:
    """The tokens of one answer. Every count is 0 or more, or None if it is unknown.

    ``input_tokens`` counts uncached input only; ``billed_input_tokens`` counts all input.
    ``output_tokens`` includes reasoning. ``raw`` is the provider's last report as it came,
    with its cost and other counts. ``raw`` does not affect equality.
    """

    input_tokens: Optional[int] = None
    output_tokens: Optional[int] = None
    cache_read_tokens: Optional[int] = None
    cache_write_tokens: Optional[int] = None
    reasoning_tokens: Optional[int] = None
    raw: Optional[Mapping[str, Any]] = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.raw is not None:
            object.__setattr__(self, "raw", freeze(dict(self.raw)))

    @property
    def billed_input_tokens(self) -> Optional[int]:
        """The sum of the input counts that are known; None if all three are unknown."""
        return self._sum(*_INPUT)

    @property
    def total_tokens(self) -> Optional[int]:
        """The sum of the input and output counts that are known; None if all are unknown."""
        return self._sum(*_INPUT, "output_tokens")

    def _sum(self, *names: str) -> Optional[int]:
        known = [getattr(self, name) for name in names if getattr(self, name) is not None]
        return sum(known) if known else None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Sum two usages. A count that is unknown in both stays unknown. The sum has no ``raw``."""
        if not isinstance(other, TokenUsage):
            return NotImplemented
        sums: Dict[str, Optional[int]] = {}
        for name in _COUNTS:
            mine, theirs = getattr(self, name), getattr(other, name)
            sums[name] = theirs if mine is None else mine + (theirs or 0)
        return TokenUsage(**sums)  # type: ignore[arg-type]

    def to_dict(self) -> Dict[str, Any]:
        """Return the known counts, and ``raw`` if it is set."""
        shown = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: thaw(value) for name, value in shown.items() if value is not None}

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> TokenUsage:
        """Read what ``to_dict`` wrote; unknown names are ignored."""
        return cls(**{f.name: counts[f.name] for f in fields(cls) if f.name in counts})
