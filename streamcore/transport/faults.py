# SPDX-License-Identifier: MIT
"""What a failure of the network means: one table from exception to code.

In: an exception of requests, urllib3, ssl, socket, http.client or zlib, and
the ``Scene`` of the call it happened in. Out: the ``LlmError`` to raise, or
None for what is no failure of a call (it is to be raised unchanged).
The caller's cancel wins over everything that surfaces beside it.
Codes: DESIGN.md §6. Names are strings, so that nothing has to be imported.
"""

from __future__ import annotations

import threading
from typing import Dict, Iterator, List, Optional, Protocol, Sequence, Tuple

from ..values.errors import LlmError, aborted_error
from ..values.limits import ResolvedLimits
from ..values.redaction import redact

# What can be meant. CLOSED is the peer's silence where more had to come; NO_FAULT
# is a warning that a filter turned into an exception: not ours to translate.
NETWORK, CLOSED, CERTIFICATE, CLOCK, REQUEST, CONTENT, NO_FAULT = (
    "network", "closed", "certificate", "clock", "request", "content", "no-fault",
)  # fmt: skip


def _under(module: str, meaning: str, names: str) -> Dict[str, str]:
    return {f"{module}.{name}": meaning for name in names.split()}


TABLE: Dict[str, str] = {
    **_under("builtins", NETWORK, "OSError ConnectionError ConnectionResetError"),
    **_under("builtins", NETWORK, "ConnectionRefusedError ConnectionAbortedError BrokenPipeError"),
    **_under("builtins", CLOCK, "TimeoutError"),
    # certificate and key files that are not there; a header or host name no codec can write
    **_under("builtins", REQUEST, "FileNotFoundError NotADirectoryError IsADirectoryError"),
    **_under("builtins", REQUEST, "UnicodeError"),
    **_under("zlib", CONTENT, "error"),
    **_under("socket", NETWORK, "gaierror herror _GiveupOnSendfile"),
    **_under("socket", CLOCK, "timeout"),
    **_under("ssl", NETWORK, "SSLError SSLZeroReturnError SSLSyscallError SSLEOFError"),
    **_under("ssl", NETWORK, "SSLWantReadError SSLWantWriteError"),
    **_under("ssl", CERTIFICATE, "SSLCertVerificationError CertificateError"),
    **_under("http.client", NETWORK, "HTTPException NotConnected UnknownProtocol BadStatusLine"),
    **_under("http.client", NETWORK, "UnknownTransferEncoding UnimplementedFileMode LineTooLong"),
    **_under("http.client", NETWORK, "ImproperConnectionState CannotSendRequest ResponseNotReady"),
    **_under("http.client", NETWORK, "CannotSendHeader RemoteDisconnected"),
    **_under("http.client", REQUEST, "InvalidURL"),
    **_under("http.client", CLOSED, "IncompleteRead"),
    **_under("urllib3.exceptions", NETWORK, "HTTPError PoolError RequestError SSLError ProxyError"),
    **_under("urllib3.exceptions", NETWORK, "ProtocolError MaxRetryError HostChangedError"),
    **_under("urllib3.exceptions", NETWORK, "TimeoutStateError NewConnectionError EmptyPoolError"),
    **_under("urllib3.exceptions", NETWORK, "NameResolutionError FullPoolError ClosedPoolError"),
    **_under("urllib3.exceptions", NETWORK, "ResponseError ResponseNotChunked InvalidHeader"),
    **_under("urllib3.exceptions", NETWORK, "BodyNotHttplibCompatible InvalidChunkLength"),
    **_under("urllib3.exceptions", NETWORK, "HeaderParsingError UnrewindableBodyError"),
    **_under("urllib3.exceptions", CLOSED, "IncompleteRead"),
    **_under("urllib3.exceptions", CLOCK, "TimeoutError ReadTimeoutError ConnectTimeoutError"),
    **_under("urllib3.exceptions", CONTENT, "DecodeError"),
    **_under("urllib3.exceptions", REQUEST, "LocationValueError LocationParseError"),
    **_under("urllib3.exceptions", REQUEST, "URLSchemeUnknown ProxySchemeUnknown"),
    **_under("urllib3.exceptions", REQUEST, "ProxySchemeUnsupported"),
    **_under("urllib3.exceptions", NO_FAULT, "HTTPWarning SecurityWarning InsecureRequestWarning"),
    **_under("urllib3.exceptions", NO_FAULT, "SubjectAltNameWarning SystemTimeWarning"),
    **_under("urllib3.exceptions", NO_FAULT, "InsecurePlatformWarning SNIMissingWarning"),
    **_under("urllib3.exceptions", NO_FAULT, "DependencyWarning NotOpenSSLWarning"),
    **_under("urllib3.util.ssl_match_hostname", CERTIFICATE, "CertificateError"),
    **_under(
        "urllib3.packages.ssl_match_hostname._implementation", CERTIFICATE, "CertificateError"
    ),
    **_under("requests.exceptions", NETWORK, "RequestException HTTPError ConnectionError"),
    **_under("requests.exceptions", NETWORK, "ProxyError SSLError ChunkedEncodingError"),
    **_under("requests.exceptions", NETWORK, "TooManyRedirects StreamConsumedError RetryError"),
    **_under("requests.exceptions", NETWORK, "UnrewindableBodyError"),
    **_under("requests.exceptions", CLOCK, "Timeout ConnectTimeout ReadTimeout"),
    **_under("requests.exceptions", CONTENT, "ContentDecodingError InvalidJSONError"),
    **_under("requests.exceptions", CONTENT, "JSONDecodeError"),
    **_under("requests.exceptions", REQUEST, "URLRequired MissingSchema InvalidSchema InvalidURL"),
    **_under("requests.exceptions", REQUEST, "InvalidHeader InvalidProxyURL"),
    **_under("requests.exceptions", NO_FAULT, "RequestsWarning FileModeWarning"),
    **_under("requests.exceptions", NO_FAULT, "RequestsDependencyWarning"),
}
"""Every exception class of the five modules, by its full name, and what it means."""

_DOING = {
    "prepare": "preparing the request to",
    "dns": "looking up",
    "connect": "connecting to",
    "tls": "shaking hands with",
    "send": "sending the request to",
    "headers": "waiting for the headers of",
    "body": "reading the body from",
}
_STUMBLES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_ENTERED = frozenset(("requests", "urllib3", "http"))
_BENEATH = _ENTERED | {"ssl", "socket", "email", "encodings", "chardet", "charset_normalizer"}
_OURS = __name__.rpartition(".")[0] + "."
_DEPTH = 12  # exceptions wrap exceptions; more than this is a cycle


class Scene(Protocol):
    """What a message tells of a call; the ``Watch`` is one."""

    phase: str
    target: str
    received: int
    secrets: Sequence[str]
    cancel: Optional[threading.Event]
    limits: ResolvedLimits

    @property
    def stopped(self) -> bool:
        """Whether the caller wants no more of it."""
        ...

    def tightest(self) -> Tuple[str, Optional[float]]:
        """Name and value of the clock that runs out first."""
        ...


class TransportCause(Exception):
    """Stands in for a cause whose own text or fields could hold a secret."""


def aborted(watch: Scene) -> LlmError:
    """Return the error of a call that the caller stopped."""
    cancelled = watch.cancel is not None and watch.cancel.is_set()
    doing = f"while {_DOING[watch.phase]} {watch.target}; {_arrived(watch)}"
    return aborted_error(doing, closed=not cancelled, phase=watch.phase)


def transport_closed() -> LlmError:
    """Return the error of a call that came when its transport was closed, or just before."""
    text = "the client is closed: no request was sent"
    return LlmError(text, "TRANSPORT", False, phase="prepare")


def timed_out(watch: Scene, clock: str, value: Optional[float]) -> LlmError:
    """Return the error of the clock (``connect``, ``first-byte``, ``idle``, ``total``)."""
    setting = clock.replace("-", "_") + "_timeout"
    within = "in time" if value is None else f"within {value:g} s"
    what = {
        "connect": f"no connection to {watch.target}",
        "first-byte": f"no body byte from {watch.target}",
        "idle": f"no byte from {watch.target}",
        "total": f"no end of the waiting on {watch.target}",
    }[clock]
    if clock == "first-byte" and watch.received:  # a custom adapter has one time-out for all
        what = f"no byte from {watch.target}"
    if clock == "idle" and watch.phase == "send":
        what = f"no byte of the request taken by {watch.target}"
    text = f"{what} {within}: the {clock} clock ran out; {_arrived(watch)}; raise {setting}"
    return LlmError(text, "TIMEOUT", clock != "total", phase=watch.phase, clock=clock)


def closed_early(watch: Scene, how: str) -> LlmError:
    """Return the error of a body that ended before its framing said so."""
    text = f"the body from {watch.target} ended early: {how}; {_arrived(watch)}"
    return LlmError(text, "STREAM_CLOSED", phase="body")


def broken_framing(watch: Scene, how: str) -> LlmError:
    """Return the error of a head or body whose HTTP framing cannot be read."""
    text = f"broken HTTP framing from {watch.target} ({watch.phase}): {how}; {_arrived(watch)}"
    return LlmError(text, "TRANSPORT", phase=watch.phase)


def bad_content(watch: Scene, how: str) -> LlmError:
    """Return the error of a body that is too long or cannot be decoded."""
    text = f"the body from {watch.target} {how}; {_arrived(watch)}"
    return LlmError(text, "MALFORMED_RESPONSE", phase="body")


def translate(exc: BaseException, watch: Scene) -> Optional[LlmError]:
    """Return the ``LlmError`` that ``exc`` means in this call, its clean cause chained.

    Returns None where ``TABLE`` knows neither the exception nor one inside it.
    """
    if isinstance(exc, LlmError):
        return exc
    root, meaning = _innermost_known(exc)
    if meaning is None or meaning == NO_FAULT:
        return None
    if watch.stopped:
        error = aborted(watch)
    else:
        error = _error_for(meaning, root, watch)
    error.__cause__ = _clean(root, watch.secrets)
    return error


def unforeseen(exc: BaseException, watch: Scene) -> Optional[LlmError]:
    """Return the ``TRANSPORT`` error of an HTTP library that stumbled over what the peer did.

    They do: a header parameter without a value, a reset at the wrong moment. Only errors of
    the kinds such a stumble shows as count, only once there is a connection, and only those
    raised in a library's own code that we called: what our code or a caller's hook, mock or
    auth raised stays a bug, for the innermost frame is theirs. Returns None for all else.
    """
    if not isinstance(exc, _STUMBLES) or watch.phase == "prepare" or not _is_foreign(exc):
        return None
    if watch.stopped:
        error = aborted(watch)
    else:
        shown = _describe(exc, watch.secrets)
        text = (
            f"{_DOING[watch.phase]} {watch.target} failed ({watch.phase}):"
            f" the HTTP library broke off with {shown}; {_arrived(watch)}"
        )
        error = LlmError(text, "TRANSPORT", phase=watch.phase)
    error.__cause__ = TransportCause(_describe(exc, watch.secrets))
    return error


def _is_foreign(exc: BaseException) -> bool:
    """Say whether the code that raised is a library's, called by way of requests or urllib3."""
    modules: List[str] = []
    trace = exc.__traceback__
    while trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__", "")))
        trace = trace.tb_next
    below: List[str] = []
    for module in modules:  # what was called by our innermost frame
        below = [] if module.startswith(_OURS) else [*below, module.partition(".")[0]]
    return bool(below) and below[-1] in _BENEATH and not _ENTERED.isdisjoint(below)


def _error_for(meaning: str, root: BaseException, watch: Scene) -> LlmError:
    if isinstance(root, OSError) and meaning == CLOCK and root.errno is not None:
        meaning = NETWORK  # the system gave up on the peer (ETIMEDOUT): no clock of ours
    # a plain OSError before any connection is requests missing a certificate file
    if meaning == REQUEST or (type(root) is OSError and watch.phase == "prepare"):
        text = f"the request to {watch.target} is refused: {_describe(root, watch.secrets)}"
        return LlmError(text, "INVALID_REQUEST", phase="prepare")
    if meaning == CLOCK:
        if type(root).__name__ in ("ConnectTimeout", "ConnectTimeoutError"):
            return timed_out(watch, "connect", watch.limits.connect_timeout)
        return timed_out(watch, *watch.tightest())
    if meaning == CONTENT:
        return bad_content(watch, f"cannot be decoded: {_describe(root, watch.secrets)}")
    if watch.phase == "body" and (meaning == CLOSED or _is_empty_chunk_size(root)):
        return closed_early(watch, _describe(root, watch.secrets))
    phase = _phase_of(root, watch)
    text = (
        f"{_DOING[phase]} {watch.target} failed ({phase}): {_describe(root, watch.secrets)};"
        f" {_arrived(watch)}"
    )
    return LlmError(text, "TRANSPORT", meaning != CERTIFICATE, phase=phase)


def _phase_of(root: BaseException, watch: Scene) -> str:
    if type(root).__name__ in ("gaierror", "NameResolutionError"):
        return "dns"
    # http.client's words for a proxy that says no to CONNECT; the handshake had not begun
    if "Tunnel connection failed" in str(root):
        return "connect"
    refused = type(root).__name__ in ("ConnectionRefusedError", "NewConnectionError")
    return "connect" if refused else watch.phase


def _arrived(watch: Scene) -> str:
    return f"{watch.received} body bytes had arrived"


def _innermost_known(exc: BaseException) -> Tuple[BaseException, Optional[str]]:
    """Return the innermost wrapped exception that the table names, and its meaning.

    Only what a library wrapped on purpose is followed; ``__context__`` can lead
    to whatever the caller was handling when it made the call.
    """
    known: List[Tuple[BaseException, str]] = []
    for link in _links(exc, _DEPTH):
        meaning = meaning_of(type(link))
        if meaning is not None:
            known.append((link, meaning))
    return known[-1] if known else (exc, None)


def _links(exc: BaseException, depth: int) -> Iterator[BaseException]:
    yield exc
    inner = [getattr(exc, "reason", None), getattr(exc, "original_error", None)]
    inner += [*exc.args, exc.__cause__]
    for link in inner:
        if isinstance(link, BaseException) and link is not exc and depth > 0:
            yield from _links(link, depth - 1)
            return


def meaning_of(kind: type) -> Optional[str]:
    """Return what the table says of an exception class or its nearest named base."""
    for base in kind.__mro__:
        meaning = TABLE.get(f"{base.__module__}.{base.__qualname__}")
        if meaning is not None:
            return meaning
    return None


def _is_empty_chunk_size(root: BaseException) -> bool:
    """Say whether urllib3 met the end of the body where a chunk size had to be."""
    return type(root).__name__ == "InvalidChunkLength" and getattr(root, "length", None) == b""


def _describe(root: BaseException, secrets: Sequence[str]) -> str:
    kind = type(root).__name__
    if isinstance(root, UnicodeError):
        return kind  # its text quotes the header, which is the key as like as not
    text = " ".join(redact(str(root), secrets).split())
    return f"{kind}: {text[:300]}" if text else kind


def _clean(root: BaseException, secrets: Sequence[str]) -> BaseException:
    """Return ``root`` without what leads to the request, or a stand-in that has none of it."""
    shown = f"{root!s} {root.args!r}"
    if (
        isinstance(root, UnicodeError)
        or hasattr(root, "request")
        or hasattr(root, "pool")
        or shown != redact(shown, secrets)
    ):
        return TransportCause(_describe(root, secrets))
    root.__cause__ = root.__context__ = None
    return root.with_traceback(None)
