# SPDX-License-Identifier: MIT
"""The only way to the network: one POST, and its answer as pieces of bytes.

In: URL, headers, body bytes, limits, a cancel event. Out: an ``Answer`` that gives the
pieces as they arrive. Every wait can be stopped and is bounded by the clocks of DESIGN.md
§7. Every failure of the network is an LlmError. requests is imported at the first ``open``.
Redirects are not followed, cookies are not kept, ``~/.netrc`` is not read. A request that
was written whole is never sent again.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import urlsplit

from ..values.clock import WaitBudget
from ..values.errors import LlmError
from ..values.limits import ResolvedLimits
from ..values.numbers import check_whole
from ..values.renamed import renamed
from .answer import Answer
from .faults import transport_closed
from .watch import Watch

__all__ = ["Answer", "Transport"]

_PORTS = {"http": 80, "https": 443}
_PROXY_VARIABLES = tuple(
    name for one in ("http_proxy", "https_proxy", "all_proxy") for name in (one, one.upper())
)


class Transport:
    """Sends requests; safe to share between threads, usable after a fork.

    Args:
        http_session: the caller's own ``requests.Session``. Its headers, cookies, auth,
            proxies, verify and cert are used. Its pools are not used, and it is never
            closed here. If its adapter for the URL is not requests' own (a subclass, a
            mock), the session itself sends the request. Cancel and clocks are then checked
            only between pieces. Each read may last as long as the shortest of the
            first-byte, idle and total clocks, and a TIMEOUT names that clock.
        proxies, verify, cert: as requests takes them; None means the session's.
        trust_env: whether to use the environment's proxies and CA bundles if no session
            is given.
        pool_size: how many idle connections to keep per host, 1 or more.
    Raises:
        ValueError: for a pool size below 1.
    Nothing is imported or opened before the first ``open``.
    """

    @renamed(session="http_session")
    def __init__(
        self,
        *,
        http_session: Any = None,
        proxies: Optional[Mapping[str, str]] = None,
        verify: Union[bool, str, None] = None,
        cert: Union[str, Tuple[str, str], None] = None,
        trust_env: bool = True,
        pool_size: int = 10,
    ) -> None:
        check_whole("pool_size", pool_size)
        self._session = http_session
        copied = None if proxies is None else dict(proxies)
        self._settings: Dict[str, Any] = {"proxies": copied, "verify": verify, "cert": cert}
        self._trust_env = trust_env
        self._pool_size = pool_size
        self._made: Dict[str, Any] = {}  # the sender, once it is made; see _ready_sender
        self._closed = False

    def open(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        limits: ResolvedLimits,
        cancel: Optional[threading.Event] = None,
        budget: Optional[WaitBudget] = None,
        secrets: Sequence[str] = (),
        on_resend: Optional[Callable[[], None]] = None,
    ) -> Answer:
        """POST ``body`` and return the answer once its status and headers are there.

        Args:
            url, headers, body: sent as they are; ``Accept-Encoding: identity`` is added.
            limits: the clocks in seconds and the size limit in bytes.
            cancel: the event is checked at least every 0.1 s; once set, the call is ABORTED.
            budget: the total clock, shared by several attempts; by default a new one of
                ``limits.total_timeout`` seconds.
            secrets: texts that no message may show.
            on_resend: called before the request is sent a second time. This happens when a
                kept-alive connection broke before it had taken the whole request.
        Raises:
            ModuleNotFoundError: if requests is not installed.
            LlmError: ``ABORTED``, ``TIMEOUT`` (``clock`` says which), ``TRANSPORT`` (``phase``
                says where; not retryable after ``close``), ``INVALID_REQUEST`` (a URL, header
                or certificate file that cannot be used). ``details["request_sent"]`` of a TIMEOUT
                or TRANSPORT says whether the whole request was written; if so, the provider may
                be working on it. It is absent if an adapter of the caller's sent the request.
        """
        sender = self._ready_sender()
        if budget is None:
            budget = WaitBudget(limits.total_timeout)
        watch = Watch(_target_of(url), limits, cancel, budget, secrets, on_resend)
        watch.begin()  # raises if the call is cancelled already: then no connection is made
        answer: Answer = sender.send(url, headers, body, watch)
        return answer

    def check(self) -> None:
        """Check that a request could be sent; send nothing.

        Raises:
            ModuleNotFoundError: if requests is not installed.
            LlmError: ``TRANSPORT``, not retryable, after ``close``.
        """
        self._ready_sender()

    def _ready_sender(self) -> Any:
        """Return the sender that all threads share; it is made at the first call.

        There is no lock: if the process forked while another thread held one, the child could
        never take it. ``dict.setdefault`` is atomic: if two threads make a sender at once, it
        keeps one of them. The other sender has opened nothing.
        """
        if self._closed:
            raise transport_closed()
        sender = self._made.get("sender")
        if sender is None:
            try:
                from .sending import Sender  # imports requests: only when a call is made
            except ModuleNotFoundError as missing:
                if missing.name != "requests":
                    raise
                raise ModuleNotFoundError(
                    "streamcore calls providers through requests, which is not installed:"
                    " pip install requests", name="requests",
                ) from None
            made = Sender(self._session, self._settings, self._trust_env, self._pool_size)
            sender = self._made.setdefault("sender", made)
        return sender

    def carried(self) -> Tuple[Any, List[str]]:
        """Return the places where requests finds credentials, so that they can be masked.

        Returns:
            the caller's session, or None; the addresses of all proxies that may be used.
        """
        session, proxies = self._session, [self._settings["proxies"] or {}]
        proxies.append(getattr(session, "proxies", None) or {})
        if getattr(session, "trust_env", self._trust_env):
            proxies.append({name: os.environ.get(name) for name in _PROXY_VARIABLES})
        return session, [url for one in proxies for url in one.values() if isinstance(url, str)]

    def close(self) -> None:
        """Close the idle connections; a later ``open`` is refused."""
        self._closed = True
        for sender in list(self._made.values()):
            sender.close()


def _target_of(url: str) -> str:
    """Return host and port of a URL for messages, without its user and password."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError as error:  # a port that is not a number, a broken IPv6 address
        reason = str(error)
    else:
        host = parts.hostname or "?"
        return f"{host}:{port}" if port else host
    raise LlmError(f"the URL cannot be used: {reason}", "INVALID_REQUEST", phase="prepare")
