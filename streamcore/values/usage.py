# SPDX-License-Identifier: MIT
"""What an answer cost in tokens, in one provider-neutral value.

In: the counts a dialect read out of a provider's last usage report.
Out: ``TokenUsage``, where an unknown count is None: never zero, never
invented. Summing two usages keeps what is known. ``raw`` keeps the report itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Dict, Mapping, Optional

from .frozen import freeze, thaw

_INPUT = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
_COUNTS = (*_INPUT, "output_tokens", "reasoning_tokens")


@dataclass(frozen=True)
class TokenUsage:
    """The tokens of one answer; every count is 0 or more, or None when unknown.

    ``input_tokens`` counts uncached input only and ``output_tokens`` includes
    reasoning; billed input is ``billed_input_tokens``. ``raw`` is the provider's last
    report as it came, for its cost and other counts. Two usages with the same counts
    are equal, whatever their ``raw``.
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
        """The sum of the three input counts; None when none of them is known."""
        return self._sum(*_INPUT)

    @property
    def total_tokens(self) -> Optional[int]:
        """The sum of input and output, as far as known; None when neither is."""
        return self._sum(*_INPUT, "output_tokens")

    def _sum(self, *names: str) -> Optional[int]:
        known = [getattr(self, name) for name in names if getattr(self, name) is not None]
        return sum(known) if known else None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Sum two usages; a count unknown in both stays unknown. The sum has no ``raw``."""
        if not isinstance(other, TokenUsage):
            return NotImplemented
        sums: Dict[str, Optional[int]] = {}
        for name in _COUNTS:
            mine, theirs = getattr(self, name), getattr(other, name)
            sums[name] = theirs if mine is None else mine + (theirs or 0)
        return TokenUsage(**sums)  # type: ignore[arg-type]

    def to_dict(self) -> Dict[str, Any]:
        """Return the known counts, and ``raw`` where there is one."""
        shown = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: thaw(value) for name, value in shown.items() if value is not None}

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> TokenUsage:
        """Read what ``to_dict`` wrote; unknown names are passed over."""
        return cls(**{f.name: counts[f.name] for f in fields(cls) if f.name in counts})
