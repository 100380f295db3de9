# SPDX-License-Identifier: MIT
"""From a host name to a connected TCP socket, under one deadline.

In: host, port and the ``Watch`` of the request. Out: a connected socket, ready for a
proxy's CONNECT or a TLS handshake. Its time-out is what the connect clock has left. Cancel
and clocks are checked every 0.1 s, but the system looks up the name, and nothing here can
stop that. Raises LlmError, OSError.
"""

from __future__ import annotations

import errno
import math
import os
import selectors
import socket
from typing import Any, Iterable, Optional, Sequence, Tuple

from ..values.clock import Deadline
from .watch import SLICE, Watch


def connect_to(
    host: str,
    port: int,
    watch: Watch,
    source: Optional[Tuple[str, int]] = None,
    options: Iterable[Tuple[Any, ...]] = (),
) -> socket.socket:
    """Connect to the first address of ``host`` that answers, all under one deadline.

    Args:
        host, port: where to connect; nothing here can stop the look-up of the name.
        watch: the request; its ``check`` is called every 0.1 s.
        source: local address to connect from.
        options: ``setsockopt`` arguments.
    Returns:
        A socket whose time-out is what the connect clock has left.
    Raises:
        LlmError: ``ABORTED``, ``TIMEOUT``.
        OSError: the one raised for the last address.
    """
    watch.phase = "dns"
    addresses = socket.getaddrinfo(host.strip("[]"), port, 0, socket.SOCK_STREAM)
    watch.phase = "connect"
    return connect_first(addresses, host, watch, source, options)


def connect_first(
    addresses: Sequence[Tuple[Any, ...]],
    host: str,
    watch: Watch,
    source: Optional[Tuple[str, int]] = None,
    options: Iterable[Tuple[Any, ...]] = (),
) -> socket.socket:
    """Connect to the first of ``addresses`` (as ``getaddrinfo`` returns them) that answers.

    Returns and raises the same as ``connect_to``.
    """
    failure = OSError(f"no address for {host}")
    for number, (family, kind, protocol, _name, address) in enumerate(addresses):
        # an address that never answers must leave time for those after it
        share = watch.check() / (len(addresses) - number)
        try:
            return _connected(socket.socket(family, kind, protocol), address, watch, share,
                              source, options)  # fmt: skip
        except OSError as error:
            failure = error
    raise failure


def _connected(
    sock: socket.socket,
    address: Any,
    watch: Watch,
    share: float,
    source: Optional[Tuple[str, int]],
    options: Iterable[Tuple[Any, ...]],
) -> socket.socket:
    try:
        for option in options:
            sock.setsockopt(*option)
        if source:
            sock.bind(source)
        _connect(sock, address, watch, Deadline(None if share == math.inf else share, watch.clock))
        sock.settimeout(watch.timeout())
        return sock
    except BaseException:
        sock.close()
        raise


def _connect(sock: socket.socket, address: Any, watch: Watch, share: Deadline) -> None:
    sock.setblocking(False)
    try:
        sock.connect(address)
        return
    except (BlockingIOError, InterruptedError):  # still connecting; it ends when writable
        pass
    selector_class = getattr(selectors, "PollSelector", selectors.SelectSelector)
    with selector_class() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        while not selector.select(min(SLICE, watch.check(), share.left())):
            if share.passed:
                watch.check()  # the last address has all the time left: its end is a TIMEOUT
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))
