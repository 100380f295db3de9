# SPDX-License-Identifier: MIT
"""One POST through requests: settings merged, sent over watched pools.

In: URL, headers, body and the ``Watch`` of the call. Out: an ``Answer``.
The headers, cookies, proxies, verify, cert and auth of the caller's session are used; its
pools are not. If a kept-alive connection did not take the whole request, the request is sent
once more, on a new connection. A request that was written whole is never sent again.
Importing this module imports requests: do it lazily.
"""

from __future__ import annotations

import math
import os
from typing import Any, Callable, Dict, Mapping, Optional
from urllib.request import getproxies

import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_auth_from_url, select_proxy, should_bypass_proxies

from ..values.errors import LlmError
from . import faults
from .answer import Answer
from .pools import WatchedAdapter
from .watch import LONGEST_WAIT, Watch, active


_CA_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class _NoAuth(requests.auth.AuthBase):
    """Changes no header; without an auth object, requests would read ``~/.netrc``."""

    def __call__(self, request: Any) -> Any:
        return request


class Sender:
    """Sends requests, and holds their connection pools.

    Args:
        session: the caller's own, or None.
        settings: ``proxies``, ``verify``, ``cert``; None means the session's value.
        trust_env: without a session, whether to use the environment's proxies and CAs.
        pool_size: how many idle connections to keep per host.
    """

    def __init__(
        self,
        session: Optional[requests.Session],
        settings: Mapping[str, Any],
        trust_env: bool,
        pool_size: int,
    ) -> None:
        self._session = session
        self._trust_env = trust_env
        self._settings = settings
        self._pool_size = pool_size
        self._closed = False
        self._adapters: Dict[int, WatchedAdapter] = {}  # by pid: a fork must not share sockets

    def _adapter(self) -> WatchedAdapter:
        pid = os.getpid()
        adapter = self._adapters.get(pid)
        if adapter is None:
            inherited = dict(self._adapters)
            # no lock: another thread may have held it when this process was forked
            adapter = self._adapters.setdefault(pid, WatchedAdapter(self._pool_size))
            for other, old in inherited.items():
                if self._adapters.pop(other, None) is not None:
                    old.close()  # closes only this process's copies; the parent's stay usable
        return adapter

    def _may_keep(self) -> Callable[[], bool]:
        """Return a function: may a connection that is opened now go back to its pool?"""
        pid = os.getpid()
        return lambda: not self._closed and pid == os.getpid()

    def close(self) -> None:
        """Close the pools; a connection in use is closed after its answer."""
        self._closed = True
        for adapter in list(self._adapters.values()):
            adapter.close()

    def send(self, url: str, headers: Mapping[str, str], body: bytes, watch: Watch) -> Answer:
        """Send one POST and return its answer once status and headers are there.

        Raises:
            LlmError: as ``Transport.open``. An exception that is not a failure of the call is
                raised unchanged.
        """
        result = self._attempt(url, headers, body, watch)
        if isinstance(result, LlmError) and _may_go_again(result, watch):
            watch.begin_again()
            result = self._attempt(url, headers, body, watch)
        if isinstance(result, Answer):
            return result
        try:
            raise self._with_request_sent(result, watch)
        finally:
            result = None  # else error and frame form a cycle that keeps the request alive

    def _with_request_sent(self, failure: LlmError, watch: Watch) -> LlmError:
        """Add ``request_sent`` to the failure of a call that got no answer."""
        if self._closed and watch.phase == "prepare" and failure.code == "TRANSPORT":
            return faults.transport_closed()
        if watch.sent is not None and failure.code in ("TRANSPORT", "TIMEOUT"):
            failure.with_facts(details={"request_sent": watch.sent})
        return failure

    def _attempt(self, url: str, headers: Mapping[str, str], body: bytes, watch: Watch) -> Any:
        """Send the request once; return the ``Answer``, or the ``LlmError`` of its failure."""
        try:
            answer = Answer(self._respond(url, headers, body, watch), watch, self._may_keep())
        except LlmError as error:
            return error.with_traceback(None)
        except Exception as error:
            failure = faults.translate(error, watch) or faults.unforeseen(error, watch)
            if failure is None:
                raise
            return failure
        if watch.stopped:
            answer.close()
            return faults.aborted(watch)
        return answer

    def _respond(self, url: str, headers: Mapping[str, str], body: bytes, watch: Watch) -> Any:
        session = self._session
        request = self._prepare(url, headers, body)
        url = request.url or url
        settings = self._merged(url, watch)
        if session is not None and type(session.get_adapter(url)) is not HTTPAdapter:
            return _through_session(session, request, settings, watch)
        watch.sent = False
        with active(watch):
            return self._adapter().send(request, **settings)

    def _prepare(self, url: str, headers: Mapping[str, str], body: bytes) -> Any:
        _check_headers(headers)
        session = self._session
        own = {} if session is not None else {"Connection": "keep-alive"}
        made = requests.Request(
            "POST", url, headers={"Accept-Encoding": "identity", **own, **headers}, data=body,
            auth=_auth(session, url, headers),
        )  # fmt: skip
        request = made.prepare() if session is None else session.prepare_request(made)
        if "Transfer-Encoding" in request.headers:  # a session or an auth may set it too
            raise _refused("the caller cannot set Transfer-Encoding")
        return request

    def _merged(self, url: str, watch: Watch) -> Dict[str, Any]:
        """Merge the settings: those given, then the session's, then the environment's.

        requests itself prefers the environment to a session's proxies and verify.
        """
        session, settings = self._session, {"stream": True, **self._settings}
        proxies: Dict[str, Any] = dict(settings["proxies"] or {})
        trust_env = self._trust_env
        if session is not None:
            trust_env = session.trust_env
            proxies = {**session.proxies, **proxies}
            settings["verify"] = _first(settings["verify"], session.verify)
            settings["cert"] = _first(settings["cert"], session.cert)
        through = proxies and select_proxy(url, proxies)
        if trust_env and not through:
            proxies = {**_environment_proxies(url, proxies.get("no_proxy")), **proxies}
            through = proxies and select_proxy(url, proxies)
        if settings["verify"] is None or settings["verify"] is True:
            bundle = [os.environ.get(name) for name in _CA_BUNDLES if trust_env]
            settings["verify"] = next(filter(None, bundle), True)
        if through:
            watch.target = f"{watch.origin} (by proxy {_host_port(through)})"
        settings["proxies"] = proxies
        return settings


def _through_session(
    session: requests.Session, request: Any, settings: Dict[str, Any], watch: Watch
) -> Any:
    # there is no WatchedSocket: use plain time-outs, and check the watch before the wait
    limits = watch.limits
    waits = (limits.first_byte_timeout, limits.idle_timeout, watch.budget.left())
    watch.adapter_timeout = min(wait for wait in waits if wait is not None)
    settings["timeout"] = (_seconds(limits.connect_timeout), _seconds(watch.adapter_timeout))
    watch.enter("headers")
    watch.begin()
    try:
        return session.send(request, allow_redirects=False, **settings)
    finally:
        watch.end()


def _auth(session: Optional[requests.Session], url: str, headers: Mapping[str, str]) -> Any:
    if any(name.lower() == "authorization" for name in headers):
        return _NoAuth()
    if session is not None and session.auth:
        return None  # then requests uses the session's own auth
    user, password = get_auth_from_url(url)
    return (user, password) if user or password else _NoAuth()


def _environment_proxies(url: str, no_proxy: Optional[str]) -> Dict[str, str]:
    """Return the system's proxies; none if the address is reached without a proxy."""
    found = getproxies()  # slow, as is should_bypass_proxies: both read the whole environment
    return {} if not found or should_bypass_proxies(url, no_proxy) else found


def _first(value: Any, other: Any) -> Any:
    return other if value is None else value


def _seconds(wait: Optional[float]) -> Optional[float]:
    """Return a time-out in seconds that a socket accepts; None means no limit."""
    return None if wait is None or wait == math.inf else min(wait, LONGEST_WAIT)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        # requests 2.25 accepts a line break at the end. The message quotes no key.
        if any(mark in name + value for mark in "\r\n"):
            raise _refused("a header holds a line break")


def _refused(why: str) -> LlmError:
    return LlmError(f"the request is refused: {why}", "INVALID_REQUEST", phase="prepare")


def _host_port(proxy: str) -> str:
    return proxy.rpartition("://")[2].rpartition("@")[2].rstrip("/")


def _may_go_again(failure: LlmError, watch: Watch) -> bool:
    """Say whether a kept-alive connection failed before it had taken the whole request.

    A server that got the whole request may be working on it, and may bill it.
    """
    cut_short = watch.reused and watch.sent is False and not watch.answered
    return failure.code == "TRANSPORT" and cut_short and not watch.stopped
