# SPDX-License-Identifier: MIT
"""The idle connections of a pool, and how long one may be used again.

In: connections whose answer has ended, and the ``Watch`` of the request that needs one.
Out: a connection that its server probably still keeps; or None, and a new one is made.
If the server has just closed a connection, a POST over it may be lost after it was written,
and is then not sent again. So a connection is closed here before its server closes it.
"""

from __future__ import annotations

import collections
import ipaddress
import math
import queue
import sys
from typing import Any, Deque, Optional

from .watch import Watch, current

# Seconds. Middleboxes forget a silent connection after 60 to 350. Hosted providers keep one for
# a minute or more. Local servers keep one for less: uvicorn and Node close it after 5.
MOST_IDLE = 60.0
MOST_IDLE_NEARBY = 4.0
_MARGIN = 1.0  # seconds; taken off the time a server announces, for the way there and back


class IdleQueue:
    """A pool's idle connections; the one put in last comes out first.

    This is a queue.LifoQueue without its lock. Nothing blocks here, and a lock that Ctrl-C
    left locked would hang every later call of the pool. The operations of a deque are atomic.
    When the queue is full, it closes a connection and urllib3 logs no warning.
    """

    def __init__(self, maxsize: int = 0) -> None:
        self._most = maxsize or sys.maxsize
        self._idle: Deque[Any] = collections.deque()

    def put(self, item: Any, block: bool = True, timeout: Optional[float] = None) -> None:
        """Keep a connection; close it if the queue is full."""
        if len(self._idle) < self._most:
            self._idle.append(item)
        elif item is not None:  # more threads than pool_size: normal, so there is no warning
            item.close()

    def get(self, block: bool = True, timeout: Optional[float] = None) -> Any:
        """Return a connection, or None for a new one; close a connection that may be stale.

        urllib3 closes the returned connection if it is readable: its server has closed it, or
        has sent data that nobody asked for.
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
        """Return how many idle connections there are."""
        return len(self._idle)


def _is_stale(sock: Any, watch: Watch) -> bool:
    idle = watch.clock() - getattr(sock, "idle_since", -math.inf)
    if idle >= MOST_IDLE or idle >= getattr(sock, "kept_for", math.inf):
        return True
    return idle >= MOST_IDLE_NEARBY and is_nearby(watch.origin.rpartition(":")[0])


def kept_for(header: str) -> float:
    """Return the seconds that a ``Keep-Alive`` header allows; ``inf`` if it names no time.

    This is one second less than announced, because the server counts from its own sending.
    """
    for part in header.split(","):
        name, _, value = part.partition("=")
        if name.strip().lower() == "timeout" and value.strip().isdecimal():
            return float(value) - _MARGIN
    return math.inf


def is_nearby(host: str) -> bool:
    """Say whether a host is this machine or in a private network, by its name or address."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:  # a name
        return "." not in host or host.endswith((".local", ".localhost", ".lan", ".internal"))
