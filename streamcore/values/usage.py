# SPDX-License-Identifier: MIT
"""What an answer cost in tokens, in one provider-neutral value.

In: the counts a dialect read out of a provider's last usage report.
Out: ``TokenUsage``, where an unknown count is None: never zero, never
invented. Summing two usages keeps what is known.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Dict, Mapping, Optional


@dataclass(frozen=True)
class TokenUsage:
    """The tokens of one answer; every count is 0 or more, or None when unknown.

    ``input_tokens`` counts uncached input only and ``output_tokens`` includes
    reasoning; billed input is ``billed_input_tokens``.
    """

    input_tokens: Optional[int] = None
    output_tokens: Optional[int] = None
    cache_read_tokens: Optional[int] = None
    cache_write_tokens: Optional[int] = None
    reasoning_tokens: Optional[int] = None

    @property
    def billed_input_tokens(self) -> Optional[int]:
        """The sum of the three input counts; None when none of them is known."""
        known = [
            count
            for count in (self.input_tokens, self.cache_read_tokens, self.cache_write_tokens)
            if count is not None
        ]
        return sum(known) if known else None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Sum two usages; a count unknown in both stays unknown."""
        if not isinstance(other, TokenUsage):
            return NotImplemented
        sums: Dict[str, Optional[int]] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            sums[field.name] = theirs if mine is None else mine + (theirs or 0)
        return TokenUsage(**sums)

    def to_dict(self) -> Dict[str, int]:
        """Return the known counts only."""
        return {name: count for name, count in asdict(self).items() if count is not None}

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> TokenUsage:
        """Read what ``to_dict`` wrote; unknown names are passed over."""
        return cls(**{f.name: counts[f.name] for f in fields(cls) if f.name in counts})
