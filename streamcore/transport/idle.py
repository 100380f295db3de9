# SPDX-License-Identifier: MIT
"""The idle connections of a pool, and how long one may be used again.

In: connections whose answer has ended, and the ``Watch`` of the request that asks for one.
Out: a connection that its server still keeps, as far as can be known, or None for a new one.
A POST that meets a server which has just left may be lost after it was written, and is then
not sent again: so a connection is given up before its server gives it up.
"""

from __future__ import annotations

import collections
import ipaddress
import math
import queue
import sys
from typing import Any, Deque, Optional

from .watch import Watch, current

# Seconds. Middleboxes forget a silent connection after 60 to 350; hosted providers keep theirs
# for a minute and more. Servers of one's own are shorter: uvicorn and Node close after 5.
MOST_IDLE = 60.0
MOST_IDLE_NEARBY = 4.0
_MARGIN = 1.0  # what a server announces, less the way there and back


class IdleQueue:
    """A pool's idle connections, the last one put in first: quiet when full.

    A queue.LifoQueue without its lock: nothing ever blocks here, and a lock that Ctrl-C
    leaves taken would hang every later call of the pool. One operation of a deque is one
    step for all threads.
    """

    def __init__(self, maxsize: int = 0) -> None:
        self._most = maxsize or sys.maxsize
        self._idle: Deque[Any] = collections.deque()

    def put(self, item: Any, block: bool = True, timeout: Optional[float] = None) -> None:
        """Keep a connection; close it where there are enough."""
        if len(self._idle) < self._most:
            self._idle.append(item)
        elif item is not None:  # more threads than the pool keeps: no use in a warning each time
            item.close()

    def get(self, block: bool = True, timeout: Optional[float] = None) -> Any:
        """Return a connection, or None for a new one; close one that may be stale.

        urllib3 drops what this returns where it is readable: its server has left, or sent
        what nobody asked for.
        """
        try:
            item = self._idle.pop()
        except IndexError:
            raise queue.Empty from None
        watch = current()
        if item is None or watch is None:
            return item
        if watch.fresh or _is_stale(item.sock, watch):
            item.close()
            return None
        watch.reused = True
        return item

    def qsize(self) -> int:
        """Return how many there are."""
        return len(self._idle)


def _is_stale(sock: Any, watch: Watch) -> bool:
    idle = watch.clock() - getattr(sock, "idle_since", -math.inf)
    if idle >= MOST_IDLE or idle >= getattr(sock, "kept_for", math.inf):
        return True
    return idle >= MOST_IDLE_NEARBY and is_nearby(watch.origin.rpartition(":")[0])


def kept_for(header: str) -> float:
    """Return the seconds a ``Keep-Alive`` header lets a connection idle, ``inf`` where it is mute.

    One second less than announced: the server counts from when it sent its answer.
    """
    for part in header.split(","):
        name, _, value = part.partition("=")
        if name.strip().lower() == "timeout" and value.strip().isdecimal():
            return float(value) - _MARGIN
    return math.inf


def is_nearby(host: str) -> bool:
    """Say whether a host is of this machine or its private network, by its name or address."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:  # a name
        return "." not in host or host.endswith((".local", ".localhost", ".lan", ".internal"))
