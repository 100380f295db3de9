# SPDX-License-Identifier: MIT
"""The only way to the network: one POST, its answer as byte pieces.

In: URL, headers, body bytes, limits, a cancel event. Out: an ``Answer`` whose
``pieces`` come as they arrive. Every wait in it can be stopped and is bounded
by the clocks of DESIGN.md §7; every failure of the network is an LlmError.
requests is imported at the first ``open``, not before. Redirects are not
followed, cookies not kept, ``~/.netrc`` not asked. A request that was written whole is
sent once.
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
        http_session: the caller's own ``requests.Session``. Its headers, cookies,
            proxies, verify, cert count; its pools are left alone and it is
            never closed here. Where its adapter for the URL is not requests'
            own (a subclass, a mock), the request goes through the session as
            it is, and cancel and clocks are looked at between pieces only: each of
            its reads may last as long as the shortest of the first-byte, idle and total
            clock allows, and a TIMEOUT names that one.
        proxies, verify, cert: as requests has them; None: the session's.
        trust_env: whether the environment's proxies and CA bundles count
            where no session is given.
        pool_size: idle connections kept per host, 1 or more.
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
        self._made: Dict[str, Any] = {}  # the sender once there is one; see _sender
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
            cancel: looked at at least every 0.1 s; once set, the result is ABORTED.
            budget: the total clock over several attempts; by default one of
                ``limits.total_timeout`` for this one.
            secrets: what no message may show.
            on_resend: called where the request goes out once more: a kept-alive connection
                had broken before it had taken all of it. A request that was written whole is
                never sent again.
        Raises:
            ModuleNotFoundError: where requests is not installed.
            LlmError: ``ABORTED``, ``TIMEOUT`` (``clock`` says which), ``TRANSPORT`` (``phase``
                says where; not retryable after ``close``), ``INVALID_REQUEST`` (a URL, header
                or certificate file that cannot be used). ``details["request_sent"]`` of a TIMEOUT
                or TRANSPORT says whether the whole request was written: the provider may then
                be at work on it. It is absent where the request went through an adapter of
                the caller's.
        """
        sender = self._ready_sender()
        if budget is None:
            budget = WaitBudget(limits.total_timeout)
        watch = Watch(_target_of(url), limits, cancel, budget, secrets, on_resend)
        watch.begin()  # cancelled before the call: no connection is made
        answer: Answer = sender.send(url, headers, body, watch)
        return answer

    def check(self) -> None:
        """Refuse to begin what could not be sent; nothing is sent.

        Raises:
            ModuleNotFoundError: where requests is not installed.
            LlmError: ``TRANSPORT``, not retryable, after ``close``.
        """
        self._ready_sender()

    def _ready_sender(self) -> Any:
        """Return the one sender of all threads, made at the first call.

        There is no lock: a child forked while another thread holds it could never take it.
        ``dict.setdefault`` is atomic, so of two senders made at once one is kept; the other
        has opened nothing.
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
        """Return where requests takes credentials from, so that no message shows them.

        Returns:
            the caller's session, or None; the addresses of all proxies that may be asked.
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
    """Return host and port for messages; user and password of a URL are not shown."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError as error:  # a port that is no number, a broken IPv6 address
        reason = str(error)
    else:
        host = parts.hostname or "?"
        return f"{host}:{port}" if port else host
    raise LlmError(f"the URL cannot be used: {reason}", "INVALID_REQUEST", phase="prepare")
