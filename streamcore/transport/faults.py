# SPDX-License-Identifier: MIT
"""What a failure of the network means: one table from exception to code.

In: an exception of requests, urllib3, ssl, socket, http.client or zlib, and the ``Scene``
of the call. Out: the ``LlmError`` to raise, or None if the exception is not a failure of the
call; the caller then raises it unchanged. If the call was cancelled, the error is ABORTED,
whatever the exception. Codes: DESIGN.md §6. The table names the classes as strings, so that
no library has to be imported.
"""

from __future__ import annotations

import re
import threading
from typing import Dict, Iterator, List, Optional, Protocol, Sequence, Tuple

from ..values.errors import LlmError, aborted_error
from ..values.limits import ResolvedLimits
from ..values.redaction import redact

# The meanings. CLOSED: the peer ended the body too early. NO_FAULT: a warning that a filter
# turned into an exception; it is not translated.
NETWORK, CLOSED, CERTIFICATE, CLOCK, REQUEST, CONTENT, NO_FAULT = (
    "network", "closed", "certificate", "clock", "request", "content", "no-fault",
)  # fmt: skip


def _under(module: str, meaning: str, names: str) -> Dict[str, str]:
    return {f"{module}.{name}": meaning for name in names.split()}


TABLE: Dict[str, str] = {
    **_under("builtins", NETWORK, "OSError ConnectionError ConnectionResetError"),
    **_under("builtins", NETWORK, "ConnectionRefusedError ConnectionAbortedError BrokenPipeError"),
    **_under("builtins", CLOCK, "TimeoutError"),
    # certificate and key files that do not exist; a header or host name that cannot be encoded
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
"""Every exception class of these modules, by its full name, and its meaning."""

_DOING = {
    "prepare": "preparing the request to",
    "dns": "looking up",
    "connect": "connecting to",
    "tls": "shaking hands with",
    "send": "sending the request to",
    "headers": "waiting for the headers of",
    "body": "reading the body from",
}
_LIBRARY_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_HTTP = frozenset(("requests", "urllib3", "http"))
_LIBRARIES = _HTTP | {"ssl", "socket", "email", "encodings", "chardet", "charset_normalizer"}
_OURS = __name__.rpartition(".")[0] + "."
# The sentence of http.client when a proxy refuses CONNECT: a login is missing, or the host is not
# allowed. A later try is refused too, but for 408, 425 and 429, which are about time.
_TUNNEL_FORBIDDEN = re.compile("Tunnel connection failed: 4(?!08|25|29)[0-9]{2}")
_DEPTH = 12  # exceptions wrapped in exceptions; more than this is a cycle


class Scene(Protocol):
    """The facts of a call that a message may show; ``Watch`` has them."""

    phase: str
    target: str
    received: int
    secrets: Sequence[str]
    cancel: Optional[threading.Event]
    limits: ResolvedLimits

    @property
    def stopped(self) -> bool:
        """Whether the call was cancelled or closed."""
        ...

    def tightest(self) -> Tuple[str, Optional[float]]:
        """Return the name and value of the clock that runs out first."""
        ...


class TransportCause(Exception):
    """Replaces a cause whose own text or fields could hold a secret."""


def aborted(watch: Scene) -> LlmError:
    """Return the error of a call that the caller stopped."""
    cancelled = watch.cancel is not None and watch.cancel.is_set()
    doing = f"while {_DOING[watch.phase]} {watch.target}; {_arrived(watch)}"
    return aborted_error(doing, closed=not cancelled, phase=watch.phase)


def transport_closed() -> LlmError:
    """Return the error of a call whose transport is closed."""
    text = "the client is closed: no request was sent"
    return LlmError(text, "TRANSPORT", False, phase="prepare")


def timed_out(watch: Scene, clock: str, value: Optional[float]) -> LlmError:
    """Return the error of a clock that ran out.

    Args:
        clock: ``connect``, ``first-byte``, ``idle`` or ``total``.
        value: what the clock was set to, in seconds; None if unknown.
    """
    setting = clock.replace("-", "_") + "_timeout"
    within = "in time" if value is None else f"within {value:g} s"
    what = {
        "connect": f"no connection to {watch.target}",
        "first-byte": f"no body byte from {watch.target}",
        "idle": f"no byte from {watch.target}",
        "total": f"no complete answer from {watch.target}",
    }[clock]
    if clock == "first-byte" and watch.received:  # a custom adapter has one time-out for all
        what = f"no byte from {watch.target}"
    if clock == "idle" and watch.phase == "send":
        what = f"{watch.target} took no byte of the request"
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
    """Return the ``LlmError`` for an exception, with a cause that shows no secret.

    Returns None if the exception is not a failure of the call: ``TABLE`` has neither it nor
    an exception inside it, or says ``NO_FAULT``.
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
    """Return the ``TRANSPORT`` error of an HTTP library that failed on what the peer sent.

    A header parameter without a value, or a reset at the wrong moment, can raise a TypeError
    or the like in a library. Such an exception counts only if it is of one of these kinds,
    there is a connection, and a library's own code raised it. An exception raised by our code,
    or by a caller's hook, mock or auth, is a bug. Returns None for these.
    """
    if not isinstance(exc, _LIBRARY_ERRORS) or watch.phase == "prepare" or not _from_library(exc):
        return None
    if watch.stopped:
        error = aborted(watch)
    else:
        shown = _describe(exc, watch.secrets)
        text = (
            f"{_DOING[watch.phase]} {watch.target} failed ({watch.phase}):"
            f" the HTTP library raised {shown}; {_arrived(watch)}"
        )
        error = LlmError(text, "TRANSPORT", phase=watch.phase)
    error.__cause__ = TransportCause(_describe(exc, watch.secrets))
    return error


def _from_library(exc: BaseException) -> bool:
    """Say whether a library raised ``exc``, called through requests, urllib3 or http.client."""
    modules: List[str] = []
    trace = exc.__traceback__
    while trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__", "")))
        trace = trace.tb_next
    below: List[str] = []
    for module in modules:  # in the end: the modules called below our innermost frame
        below = [] if module.startswith(_OURS) else [*below, module.partition(".")[0]]
    return bool(below) and below[-1] in _LIBRARIES and not _HTTP.isdisjoint(below)


def _error_for(meaning: str, root: BaseException, watch: Scene) -> LlmError:
    if isinstance(root, OSError) and meaning == CLOCK and root.errno is not None:
        meaning = NETWORK  # the system gave up on the peer (ETIMEDOUT), not one of our clocks
    # requests raises a plain OSError before any connection if a certificate file is missing
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
    retryable = meaning != CERTIFICATE and not _TUNNEL_FORBIDDEN.search(str(root))
    return LlmError(text, "TRANSPORT", retryable, phase=phase)


def _phase_of(root: BaseException, watch: Scene) -> str:
    if type(root).__name__ in ("gaierror", "NameResolutionError"):
        return "dns"
    # http.client says this when a proxy refuses CONNECT; the handshake had not begun
    if "Tunnel connection failed" in str(root):
        return "connect"
    refused = type(root).__name__ in ("ConnectionRefusedError", "NewConnectionError")
    return "connect" if refused else watch.phase


def _arrived(watch: Scene) -> str:
    return f"{watch.received} body bytes had arrived"


def _innermost_known(exc: BaseException) -> Tuple[BaseException, Optional[str]]:
    """Return the innermost wrapped exception that the table names, and its meaning.

    Follows only exceptions that a library wrapped on purpose. ``__context__`` may be an
    exception that the caller was handling when it made the call.
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
    """Return the table's meaning of a class, or of its nearest base in the table; or None."""
    for base in kind.__mro__:
        meaning = TABLE.get(f"{base.__module__}.{base.__qualname__}")
        if meaning is not None:
            return meaning
    return None


def _is_empty_chunk_size(root: BaseException) -> bool:
    """Say whether urllib3 found the end of the body in the place of a chunk size."""
    return type(root).__name__ == "InvalidChunkLength" and getattr(root, "length", None) == b""


def _describe(root: BaseException, secrets: Sequence[str]) -> str:
    kind = type(root).__name__
    if isinstance(root, UnicodeError):
        return kind  # its text quotes the header, and that may hold the key
    text = " ".join(redact(str(root), secrets).split())
    return f"{kind}: {text[:300]}" if text else kind


def _clean(root: BaseException, secrets: Sequence[str]) -> BaseException:
    """Return ``root`` without its causes and traceback.

    If it could still show the request or a secret, return a ``TransportCause`` instead.
    """
    if meaning_of(type(root)) == REQUEST:  # its text may quote a part of a proxy's password
        return TransportCause(type(root).__name__)
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
