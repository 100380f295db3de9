# SPDX-License-Identifier: MIT
"""One entry of a session's log, and all entries as a sequence.

In: a log, and a function that reads one of its events. Out: events, by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Sized, Union, overload

from ..values.frozen import FrozenDict, thaw


@dataclass(frozen=True)
class Event:
    """One entry of the log.

    Args:
        seq: its number in the session, from 0 without gaps.
        time: seconds since the epoch, by the session's clock.
        type: what happened, such as ``user/message``.
        data: the facts, frozen.
    """

    seq: int
    time: float
    type: str
    data: FrozenDict

    def to_dict(self) -> Dict[str, Any]:
        """Return the event as the dict that its line holds."""
        return {"seq": self.seq, "time": self.time, "type": self.type, "data": thaw(self.data)}


class Events(Sequence[Event]):
    """All events of a session; each is read from the log when it is asked for."""

    def __init__(self, log: Sized, read: Callable[[int], Event]) -> None:
        self._log, self._read = log, read

    def __len__(self) -> int:
        return len(self._log)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> List[Event]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Event, List[Event]]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._read(number) for number in numbers]
        return self._read(numbers)
