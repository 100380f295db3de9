# SPDX-License-Identifier: MIT
"""One POST through requests: settings merged, sent over watched pools.

In: URL, headers, body and the ``Watch`` of the call. Out: an ``Answer``.
The caller's session counts with its headers, cookies, proxies, verify, cert
and auth; its pools are left alone. A kept-alive connection that proves dead
before a byte of a response is replaced once, by a fresh one.
Importing this module imports requests: do it lazily.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Tuple

import requests
import requests.adapters
from requests.utils import get_auth_from_url, select_proxy

from ..values.errors import LlmError
from . import faults
from .answer import Answer
from .pools import WatchedAdapter, active
from .watch import LONGEST_WAIT, Watch


_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
# What requests and urllib.request read on this kind of system.
_ENVIRONMENT = (
    *_PROXIES, *(name.upper() for name in _PROXIES),
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUEST_METHOD",
)


Environment = Tuple[int, Dict[str, Optional[str]]]


def _environment(names: Iterable[str]) -> Environment:
    """Return the variables of these names, and how many there are at all."""
    return len(os.environ), {name: os.environ.get(name) for name in names}


def _counting_names() -> Iterable[str]:
    """Return the variables that count: urllib takes ``…_proxy`` in any case."""
    odd = [name for name in os.environ if name.lower().endswith("_proxy")]
    return dict.fromkeys((*_ENVIRONMENT, *odd))


class _NoAuth(requests.auth.AuthBase):
    """Leaves the headers as they are; without it requests asks ``~/.netrc``."""

    def __call__(self, request: Any) -> Any:
        return request


class _Prepared:
    """What requests makes of an address, headers and the environment; secrets are in it."""

    def __init__(
        self, request: Any, settings: Mapping[str, Any], target: str, watched: bool
    ) -> None:
        self.request = request
        self.settings = settings
        self.target = target  # for messages, with the proxy on the way
        self.watched = watched  # goes through our pools


class Sender:
    """Sends requests, and keeps the pools they go through.

    Args:
        session: the caller's own, or None.
        settings: ``proxies``, ``verify``, ``cert``; None where the session's count.
        trust_env: for a session of ours, whether the environment's proxies and CAs count.
        pool_size: connections kept per host.
    """

    def __init__(
        self,
        session: Optional[requests.Session],
        settings: Mapping[str, Any],
        trust_env: bool,
        pool_size: int,
    ) -> None:
        self._session = session or requests.Session()
        self._remembers = session is None and sys.platform not in ("darwin", "win32")
        # What the last call was asked with, the environment then, and what came of them.
        self._last: Optional[Tuple[Any, Environment, _Prepared]] = None
        if session is None:
            self._session.trust_env = trust_env
        self._settings = settings
        self._pool_size = pool_size
        self._closed = False
        self._adapters: Dict[int, WatchedAdapter] = {}  # by process: sockets survive no fork

    def _adapter(self) -> WatchedAdapter:
        pid = os.getpid()
        adapter = self._adapters.get(pid)
        if adapter is None:
            inherited = dict(self._adapters)
            # no lock: another thread may have held it when this process was forked
            adapter = self._adapters.setdefault(pid, WatchedAdapter(self._pool_size))
            for other, old in inherited.items():
                if self._adapters.pop(other, None) is not None:
                    old.close()  # this process' copies only: closed, never shut down
        return adapter

    def _keeper(self) -> Callable[[], bool]:
        """Return what says whether connections opened now may still be given back."""
        pid = os.getpid()
        return lambda: not self._closed and pid == os.getpid()

    def close(self) -> None:
        """Close the pools; connections in use are closed after their answer."""
        self._closed = True
        self._last = None
        for adapter in list(self._adapters.values()):
            adapter.close()

    def send(self, url: str, headers: Mapping[str, str], body: bytes, watch: Watch) -> Answer:
        """Send one POST and return its answer once status and headers are there.

        Raises:
            LlmError: as ``Transport.open``; what is no failure of a call comes out unchanged.
        """
        failure = self._attempt(url, headers, body, watch)
        if isinstance(failure, LlmError) and _is_stale(failure, watch):
            watch.fresh, watch.connected = True, False
            failure = self._attempt(url, headers, body, watch)
        if isinstance(failure, Answer):
            return failure
        try:
            raise failure
        finally:
            failure = None  # else error and frame would hold each other, and the request

    def _attempt(self, url: str, headers: Mapping[str, str], body: bytes, watch: Watch) -> Any:
        """Return an ``Answer``, or the ``LlmError`` that came of it."""
        try:
            answer = Answer(self._respond(url, headers, body, watch), watch, self._keeper())
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
        if self._remembers:
            prepared = self._remembered(url, headers, watch)
            request = prepared.request.copy()
            request.body = body
            request.prepare_content_length(body)
        else:
            prepared = self._prepare(url, headers, body, watch)
            request = prepared.request
        # Copies: what is remembered stays as it is.
        settings = {**prepared.settings, "proxies": dict(prepared.settings["proxies"])}
        watch.target = prepared.target
        if prepared.watched:
            with active(watch):
                return self._adapter().send(request, **settings)
        return self._through_session(request, settings, watch)

    def _remembered(self, url: str, headers: Mapping[str, str], watch: Watch) -> _Prepared:
        """Return what ``_prepare`` does without a body; the last one where nothing has changed.

        Preparing takes 140 of a small call's 800 µs, for requests looks through the whole
        environment twice; test_transport_connections holds calls in a row against each other.
        A caller's session may change under us and sign bodies, and other systems keep proxies
        elsewhere too: there nothing is remembered.
        """
        asked = (url, tuple(headers.items()))  # in their order, which is that on the wire
        if self._last is not None:
            before, environment, prepared = self._last
            if before == asked and environment == _environment(environment[1]):
                return prepared
        environment = _environment(_counting_names())
        prepared = self._prepare(url, dict(asked[1]), b"", watch)
        self._last = (asked, environment, prepared)
        return prepared

    def _prepare(
        self, url: str, headers: Mapping[str, str], body: bytes, watch: Watch
    ) -> _Prepared:
        _check_headers(headers)
        session = self._session
        request = session.prepare_request(
            requests.Request(
                "POST",
                url,
                headers={"Accept-Encoding": "identity", **headers},
                data=body,
                auth=self._auth(url, headers),
            )
        )
        settings = self._merged(request.url or url, watch)
        kind = type(session.get_adapter(request.url or url))
        watched = kind is requests.adapters.HTTPAdapter
        return _Prepared(request, settings, watch.target, watched)

    def _through_session(self, prepared: Any, settings: Dict[str, Any], watch: Watch) -> Any:
        # no socket of ours: plain time-outs, and a look at the watch before and after
        limits = watch.limits
        waits = (limits.first_byte_timeout, limits.idle_timeout, watch.budget.left())
        watch.foreign = min(wait for wait in waits if wait is not None)
        settings["timeout"] = (_seconds(limits.connect_timeout), _seconds(watch.foreign))
        watch.enter("headers")
        watch.begin()
        try:
            return self._session.send(prepared, allow_redirects=False, **settings)
        finally:
            watch.end()

    def _auth(self, url: str, headers: Mapping[str, str]) -> Any:
        if any(name.lower() == "authorization" for name in headers):
            return _NoAuth()
        if self._session.auth:
            return None  # the session's own is then used
        user, password = get_auth_from_url(url)
        return (user, password) if user or password else _NoAuth()

    def _merged(self, url: str, watch: Watch) -> Dict[str, Any]:
        """Merge what was given, what the session has and the environment, in this order.

        requests itself lets the environment win over a session's proxies and verify.
        """
        session, given = self._session, self._settings
        verify = session.verify if given["verify"] is None else given["verify"]
        proxies: Dict[str, Any] = {**session.proxies, **(given["proxies"] or {})}
        chosen = select_proxy(url, proxies)
        settings = session.merge_environment_settings(
            url, dict(proxies), True, verify, given["cert"]
        )
        if chosen:
            settings["proxies"] = proxies
        through = select_proxy(url, settings["proxies"])
        if through:
            watch.target = f"{watch.origin} (by proxy {_host_port(through)})"
        return dict(settings)


def _seconds(wait: Optional[float]) -> Optional[float]:
    """Return a time-out that a socket takes."""
    return None if wait is None or wait == math.inf else min(wait, LONGEST_WAIT)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        # requests 2.25 lets a line break at the end pass; the key is not quoted
        if any(mark in name + value for mark in "\r\n"):
            raise LlmError(
                "the request is refused: a header holds a line break",
                "INVALID_REQUEST", phase="prepare",
            )  # fmt: skip


def _host_port(proxy: str) -> str:
    return proxy.rpartition("://")[2].rpartition("@")[2].rstrip("/")


def _is_stale(failure: LlmError, watch: Watch) -> bool:
    """Say whether a kept-alive connection failed before anything of a response was seen."""
    reused = not watch.connected and not watch.fresh
    return failure.code == "TRANSPORT" and reused and not watch.answered and not watch.stopped
