# SPDX-License-Identifier: MIT
"""urllib3's pools and requests' adapter, with watched sockets in them.

In: a prepared request and the ``Watch`` that is active in this thread.
Out: a ``requests.Response``; when it came over a socket of ours, the watch
holds the http.client response and its file, and the body is read from there.
Only public hooks: ``pool_classes_by_scheme``, ``ConnectionCls``, ``QueueCls``,
``response_class``. Importing this module imports requests: do it lazily.
"""

from __future__ import annotations

import http.client
import queue
import threading
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional, Type

import requests.adapters
from urllib3.connection import HTTPConnection, HTTPSConnection

from .dialling import connect_to
from .sockets import WatchedSocket
from .watch import Watch

_active = threading.local()


@contextmanager
def active(watch: Watch) -> Iterator[None]:
    """Make ``watch`` the one that connections used by this thread obey."""
    before = getattr(_active, "watch", None)  # a signal handler may call in the middle of a call
    _active.watch = watch
    try:
        yield
    finally:
        _active.watch = before


def _current() -> Optional[Watch]:
    watch: Optional[Watch] = getattr(_active, "watch", None)
    return watch


class WatchedResponse(http.client.HTTPResponse):
    """An http.client response that tells the watch where its body begins."""

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        watch = _current()
        connecting = not isinstance(sock, WatchedSocket)  # the answer to a proxy's CONNECT
        if connecting:
            sock = WatchedSocket(sock, watch, owned=False)
        super().__init__(sock, *args, **kwargs)
        self._connecting = watch if connecting else None
        if watch is not None and not connecting:
            watch.response, watch.file = self, self.fp

    def begin(self) -> None:
        """Read the head; an interim one (102, 103) is passed over, as http.client does 100."""
        super().begin()
        while 101 < self.status < 200:
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        if self.msg is not None:
            # urllib3 logs a head it finds odd as a warning, with the whole URL, its query too.
            self.msg.defects = []
            self.msg.set_payload("")

    def close(self) -> None:
        """Close the file; after a CONNECT the handshake follows."""
        watch, self._connecting = getattr(self, "_connecting", None), None
        if watch is not None:
            watch.phase = "tls"
        super().close()


class _Watching:
    """Mixed into urllib3's connection classes: every wait asks the watch."""

    sock: Any
    timeout: Any
    response_class = WatchedResponse
    dialled: Any = None  # the TCP socket, until somebody owns it

    def connect(self) -> None:
        watch = _current()
        if watch is None:
            raise OSError("connecting outside of a request")
        watch.enter("connect")
        watch.connected = True
        watch.begin()  # the whole of it is one wait: name, addresses, CONNECT, TLS
        self.timeout = watch.timeout()
        try:
            super().connect()  # type: ignore[misc]
        except BaseException:
            if self.dialled is not None:
                self.dialled.close()  # urllib3 1.26 forgets it when the handshake cannot begin
            raise
        finally:
            self.dialled = None
            watch.end()
        self.sock = WatchedSocket(self.sock, watch)
        watch.enter("send")

    def send(self, data: Any) -> Any:
        if self.sock is None or isinstance(self.sock, WatchedSocket):
            return super().send(data)  # type: ignore[misc]
        watch = _current()
        if watch is not None:
            watch.phase = "connect"
        WatchedSocket(self.sock, watch, owned=False).sendall(data)  # a proxy's CONNECT
        return None

    def putrequest(self, *args: Any, **kwargs: Any) -> Any:
        watch = _current()
        if watch is not None:
            watch.enter("send")
            if isinstance(self.sock, WatchedSocket):
                self.sock.watch = watch
        return super().putrequest(*args, **kwargs)  # type: ignore[misc]

    def getresponse(self) -> Any:
        watch = _current()
        if watch is not None:
            watch.enter("headers")
        return super().getresponse()  # type: ignore[misc]


class _Dialling:
    """Mixed in beside ``_Watching`` where the connection dials TCP itself (not over SOCKS)."""

    host: str
    port: int
    source_address: Any
    socket_options: Any
    dialled: Any

    def _new_conn(self) -> Any:
        # urllib3's hook for dialling, overridden by its own SOCKS support too; if a
        # later version stops calling it, the time-out set in connect() still holds
        watch = _current()
        if watch is None:
            raise OSError("connecting outside of a request")
        options = self.socket_options or ()
        sock = connect_to(self.host, self.port, watch, self.source_address, options)
        if isinstance(self, HTTPSConnection):
            watch.phase = "tls"
        self.dialled = sock
        return sock


class PoolQueue(queue.LifoQueue):  # type: ignore[type-arg]
    """A pool's idle connections: quiet when full, passed over when one has failed."""

    def put(self, item: Any, block: bool = True, timeout: Optional[float] = None) -> None:
        try:
            super().put(item, block, timeout)
        except queue.Full:  # more threads than the pool keeps: no use in a warning each time
            if item is not None:
                item.close()

    def get(self, block: bool = True, timeout: Optional[float] = None) -> Any:
        item = super().get(block, timeout)
        watch = _current()
        if item is not None and watch is not None and watch.fresh:
            item.close()
            return None
        return item


_pools: Dict[Type[Any], Type[Any]] = {}  # made once for each of urllib3's pool classes


def _watched_pool(pool_class: Type[Any]) -> Type[Any]:
    if pool_class not in _pools:
        _pools[pool_class] = _new_watched_pool(pool_class)
    return _pools[pool_class]


def _new_watched_pool(pool_class: Type[Any]) -> Type[Any]:
    connection = pool_class.ConnectionCls
    dials = connection in (HTTPConnection, HTTPSConnection)
    bases = (_Watching, _Dialling, connection) if dials else (_Watching, connection)
    watched = type("Watched" + connection.__name__, bases, {})
    members = {"ConnectionCls": watched, "QueueCls": PoolQueue}
    return type("Watched" + pool_class.__name__, (pool_class,), members)


def _watch_pools(manager: Any) -> None:
    classes: Dict[str, Type[Any]] = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {
        scheme: _watched_pool(pool_class) for scheme, pool_class in classes.items()
    }


class WatchedAdapter(requests.adapters.HTTPAdapter):
    """requests' own adapter over watched pools; urllib3 retries nothing."""

    def __init__(self, pool_size: int) -> None:
        self._seen: Dict[int, Any] = {}  # proxy managers done, by id
        super().__init__(pool_connections=max(10, pool_size), pool_maxsize=pool_size)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools, watched."""
        super().init_poolmanager(*args, **kwargs)
        _watch_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: Any, **kwargs: Any) -> Any:
        """Make the pools of a proxy, watched."""
        manager = super().proxy_manager_for(proxy, **kwargs)
        if id(manager) not in self._seen:
            self._seen[id(manager)] = manager
            _watch_pools(manager)
        return manager
