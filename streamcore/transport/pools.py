# SPDX-License-Identifier: MIT
"""urllib3's pools and requests' adapter, with watched sockets in them.

In: a prepared request and the ``Watch`` that is active in this thread.
Out: a ``requests.Response``. If it came over a ``WatchedSocket``, the watch holds the
http.client response and its file, and the body is read from that file.
The hooks are urllib3's public ones: ``pool_classes_by_scheme``, ``ConnectionCls``,
``QueueCls``, ``response_class``. Two private hooks make waits shorter; without them every
wait is still bounded. Importing this module imports requests: do it lazily.
"""

from __future__ import annotations

import errno
import http.client
import ssl
from typing import Any, Dict, Type

import requests.adapters
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError
from urllib3.util.ssltransport import SSLTransport
from urllib3.util.wait import wait_for_read

from . import faults
from .dialling import connect_to
from .idle import IdleQueue
from .sockets import NestedSocket, SocketFile, WatchedSocket, probe_when_silent
from .watch import current

_MOST_INTERIM = 16  # interim heads (1xx) before the answer's own head

# While it sends, urllib3 ignores these errors, because an answer may be waiting. It also connects
# while it sends: for a connection that failed, it would then read an answer without a socket.
_IGNORED_BY_URLLIB3 = (errno.ECONNRESET, errno.EPIPE, errno.ESHUTDOWN, errno.EPROTOTYPE)


class WatchedResponse(http.client.HTTPResponse):
    """An http.client response that tells the watch where its body begins."""

    fp: SocketFile  # type: ignore[assignment]

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        watch = current()
        connecting = not _is_ready(sock)  # the answer to a proxy's CONNECT
        if not isinstance(sock, WatchedSocket):
            sock = WatchedSocket(sock, watch, owned=False)
        super().__init__(sock, *args, **kwargs)
        self._connecting = watch if connecting else None
        if watch is not None and not connecting:
            watch.response, watch.file = self, self.fp

    def begin(self) -> None:
        """Read the head."""
        super().begin()
        if self.msg is not None:
            # Else urllib3 logs a warning about an odd head, with the whole URL and its query.
            self.msg.defects = []
            self.msg.set_payload("")

    def _read_status(self) -> Any:
        """Read the status line; skip interim heads, as http.client skips 100.

        http.client calls this for each status line, also for a proxy's answer to CONNECT.
        """
        for _ in range(_MOST_INTERIM + 1):
            line = super()._read_status()  # type: ignore[misc]
            if not 100 <= line[1] < 200 or line[1] == 101:
                return line
            while not self.fp.blank:
                self.fp.readline()
        watch = current()
        if watch is None:
            raise http.client.BadStatusLine("more than 16 interim heads")
        raise faults.broken_framing(watch, f"more than {_MOST_INTERIM} interim heads")

    def close(self) -> None:
        """Close the file. After a whole answer to CONNECT, the phase becomes ``tls``."""
        watch, self._connecting = getattr(self, "_connecting", None), None
        if watch is not None and self.fp is not None and self.fp.blank:
            watch.phase = "tls"
        super().close()


def _is_ready(sock: Any) -> bool:
    """Say whether the proxy's CONNECT and the TLS handshake are over."""
    return isinstance(sock, WatchedSocket) and sock.owned


class _Watching:
    """Mixed into urllib3's connection classes: the watch bounds every wait."""

    sock: Any
    timeout: Any
    response_class = WatchedResponse
    dialled: Any = None  # the TCP socket, until ``connect`` has ended

    def connect(self) -> None:
        watch = current()
        if watch is None:
            raise OSError("connecting outside of a request")
        watch.enter("connect")
        watch.reused = False
        watch.begin()  # one wait for all steps: name, addresses, CONNECT, TLS
        self.timeout = watch.timeout()
        try:
            super().connect()  # type: ignore[misc]
        except BaseException as error:
            if self.dialled is not None:
                self.dialled.close()  # urllib3 1.26 leaves it open if the handshake cannot begin
            if isinstance(error, OSError) and error.errno in _IGNORED_BY_URLLIB3:
                raise NewConnectionError(self, str(error)) from error  # type: ignore[arg-type]
            raise
        finally:
            self.dialled = None
            watch.end()
        nested = isinstance(self.sock, SSLTransport)
        probe_when_silent(self.sock.socket if nested else self.sock)
        self.sock = NestedSocket(self.sock, watch) if nested else WatchedSocket(self.sock, watch)
        watch.enter("send")

    def send(self, data: Any) -> Any:
        sock = self.sock
        if sock is None or _is_ready(sock):
            return self._send_on(data)
        watch = current()
        if watch is not None:
            watch.phase = "connect"
        if not isinstance(sock, WatchedSocket):
            sock = WatchedSocket(sock, watch, owned=False)
        sock.sendall(data)  # a proxy's CONNECT
        return None

    def putrequest(self, *args: Any, **kwargs: Any) -> Any:
        watch = current()
        if watch is not None:
            watch.enter("send")
            if isinstance(self.sock, WatchedSocket):
                self.sock.watch = watch
        return super().putrequest(*args, **kwargs)  # type: ignore[misc]

    def _send_on(self, data: Any) -> Any:
        watch = current()
        if watch is not None and watch.reused and self.sock and wait_for_read(self.sock, 0):
            # The request is not whole on the wire yet, so it can safely be sent again.
            raise ConnectionAbortedError(errno.ECONNABORTED, "the server closed the connection")
        try:
            return super().send(data)  # type: ignore[misc]
        except OSError as error:
            # The server may have sent an answer that says why. urllib3 reads it after a broken
            # pipe. Old versions do not read it after a reset, and none reads it over TLS.
            if error.errno in _IGNORED_BY_URLLIB3 or isinstance(error, ssl.SSLEOFError):
                raise BrokenPipeError(errno.EPIPE, str(error)) from error
            raise

    def request(self, *args: Any, **kwargs: Any) -> Any:
        super().request(*args, **kwargs)  # type: ignore[misc]
        watch = current()
        if watch is not None:
            watch.sent = True

    def getresponse(self) -> Any:
        watch = current()
        if watch is not None:
            watch.enter("headers")
            if not watch.sent:
                watch.phase = "send"  # sending failed; an early answer may still be there
        return super().getresponse()  # type: ignore[misc]


class _Dialling:
    """Mixed in with ``_Watching`` if the connection opens TCP itself (not over SOCKS)."""

    host: str
    port: int
    source_address: Any
    socket_options: Any
    dialled: Any

    def _new_conn(self) -> Any:
        # urllib3's hook for opening TCP; its SOCKS support overrides it too. If a later
        # version stops calling it, the time-out set in connect() still bounds the wait.
        watch = current()
        if watch is None:
            raise OSError("connecting outside of a request")
        options = self.socket_options or ()
        sock = connect_to(self.host, self.port, watch, self.source_address, options)
        if isinstance(self, HTTPSConnection):
            watch.phase = "tls"
        self.dialled = sock
        return sock

    def _connect_tls_proxy(self, *args: Any, **kwargs: Any) -> Any:
        # urllib3's hook for TLS to a proxy before TLS to the host. Without it, each read of
        # the inner handshake would have the whole time-out of ``connect``.
        sock = super()._connect_tls_proxy(*args, **kwargs)  # type: ignore[misc]
        self.dialled = sock
        return WatchedSocket(sock, current(), owned=False)


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
    members = {"ConnectionCls": watched, "QueueCls": IdleQueue}
    return type("Watched" + pool_class.__name__, (pool_class,), members)


def _watch_pools(manager: Any) -> None:
    classes: Dict[str, Type[Any]] = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {
        scheme: _watched_pool(pool_class) for scheme, pool_class in classes.items()
    }


class WatchedAdapter(requests.adapters.HTTPAdapter):
    """requests' own adapter with watched pools; urllib3 does not retry."""

    def __init__(self, pool_size: int) -> None:
        self._seen: Dict[int, Any] = {}  # proxy managers that have watched pools, by id
        super().__init__(pool_connections=max(10, pool_size), pool_maxsize=pool_size)

    def build_response(self, req: Any, resp: Any) -> Any:
        """Make the response, although requests fails on a charset without a value."""
        try:
            return super().build_response(req, resp)
        except AttributeError:
            kind = resp.headers.get("Content-Type", "")
            if "charset" not in kind.lower():
                raise
        del resp.headers["Content-Type"]
        response = super().build_response(req, resp)
        response.headers["Content-Type"] = kind
        return response

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pool manager, with watched pools."""
        super().init_poolmanager(*args, **kwargs)
        _watch_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: Any, **kwargs: Any) -> Any:
        """Make the pool manager of a proxy, with watched pools."""
        manager = super().proxy_manager_for(proxy, **kwargs)
        if id(manager) not in self._seen:
            self._seen[id(manager)] = manager
            _watch_pools(manager)
        return manager

    def close(self) -> None:
        """Close the idle connections now.

        urllib3 2 closes them when a pool is garbage-collected, but a kept answer keeps its pool.
        """
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in list(manager.pools.keys()):
                pool = manager.pools.get(key)
                if pool is not None:
                    pool.close()
        super().close()
