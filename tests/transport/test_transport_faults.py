# SPDX-License-Identifier: MIT
"""The table from foreign exceptions to codes is complete, and looks inside wrapped ones.

The table is compared with the modules themselves, so that a class that a new version adds is
noticed. The mapping is tried on exceptions as requests and urllib3 wrap them.
"""

from __future__ import annotations

import http.client
import pickle
import socket
import ssl
import threading
import zlib
from typing import Any, Iterator, Optional

import pytest
import requests.exceptions
import urllib3.exceptions
from rawserver import limits

from streamcore.transport import faults
from streamcore.transport.watch import Watch
from streamcore.values.clock import WaitBudget
from streamcore.values.errors import LlmError, error_chain


def watch(phase: str = "body", cancel: Optional[threading.Event] = None, **given: Any) -> Watch:
    made = Watch("host:1", limits(**given), cancel, WaitBudget(None), ["S3CRET"])
    for step in ("connect", "send", "headers"):
        made.enter(step)
        if step == phase:
            break
    made.phase = phase
    return made


def classes() -> Iterator[Any]:
    for module in (requests.exceptions, urllib3.exceptions, ssl, socket, http.client, zlib):
        for name in sorted(vars(module)):
            value = getattr(module, name)
            if not (isinstance(value, type) and issubclass(value, Exception)):
                continue
            own = value.__module__ in (module.__name__, "socket", "builtins", "zlib")
            if own and (value.__module__ != "builtins" or issubclass(value, OSError)):
                yield pytest.param(value, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("kind", list(classes()))
def test_table_names_every_exception_class(kind: type) -> None:
    """Each class of the six modules has a line of its own, not just a base with one."""
    assert f"{kind.__module__}.{kind.__qualname__}" in faults.TABLE


def wrapped(root: BaseException) -> BaseException:
    """Wrap as requests does: ConnectionError(MaxRetryError(reason=…))."""
    pool: Any = None
    return requests.exceptions.ConnectionError(
        urllib3.exceptions.MaxRetryError(pool, "/v1?key=S3CRET", root))  # type: ignore[arg-type]


def protocol(root: BaseException) -> BaseException:
    return requests.exceptions.ChunkedEncodingError(
        urllib3.exceptions.ProtocolError("Connection broken", root))


def chunk_length(length: bytes) -> BaseException:
    class Response:
        length_remaining = None

        def tell(self) -> int:
            return 0

    fake: Any = Response()
    return urllib3.exceptions.InvalidChunkLength(fake, length)  # type: ignore[arg-type]


NO_POOL: Any = None


@pytest.mark.parametrize("phase, exc, code, retryable", [
    ("connect", wrapped(ConnectionRefusedError(111, "refused")), "TRANSPORT", True),
    ("connect", wrapped(socket.gaierror(-2, "unknown")), "TRANSPORT", True),
    ("tls", wrapped(ssl.SSLCertVerificationError(1, "bad certificate")), "TRANSPORT", False),
    ("tls", requests.exceptions.SSLError(urllib3.exceptions.SSLError(ssl.SSLError(1, "x"))),
     "TRANSPORT", True),
    ("tls", socket.timeout("handshake"), "TIMEOUT", True),
    ("connect", TimeoutError(110, "the system gave up"), "TRANSPORT", True),
    ("connect", urllib3.exceptions.ProxyError("Cannot connect", OSError("no tunnel")),
     "TRANSPORT", True),
    ("headers", requests.exceptions.ReadTimeout(), "TIMEOUT", True),
    ("headers", requests.exceptions.ConnectTimeout(), "TIMEOUT", True),
    ("headers", protocol(http.client.RemoteDisconnected("gone")), "TRANSPORT", True),
    ("headers", http.client.IncompleteRead(b""), "TRANSPORT", True),
    ("body", requests.exceptions.ConnectionError(
        urllib3.exceptions.ReadTimeoutError(NO_POOL, "/", "Read timed out.")), "TIMEOUT", True),
    ("body", protocol(http.client.IncompleteRead(b"")), "STREAM_CLOSED", True),
    ("body", protocol(chunk_length(b"")), "STREAM_CLOSED", True),
    ("body", protocol(chunk_length(b"ZZ")), "TRANSPORT", True),
    ("body", protocol(ConnectionResetError(104, "reset")), "TRANSPORT", True),
    ("body", zlib.error("incorrect header"), "MALFORMED_RESPONSE", False),
    ("body", requests.exceptions.ContentDecodingError(urllib3.exceptions.DecodeError("x")),
     "MALFORMED_RESPONSE", False),
    ("prepare", requests.exceptions.MissingSchema("no scheme"), "INVALID_REQUEST", False),
    ("prepare", requests.exceptions.InvalidHeader("Bearer S3CRET"), "INVALID_REQUEST", False),
    ("prepare", OSError("no CA bundle"), "INVALID_REQUEST", False),
    ("send", UnicodeEncodeError("latin-1", "Bearer S3CRET", 0, 1, "x"), "INVALID_REQUEST", False),
])
def test_exception_becomes_its_code(
    phase: str, exc: BaseException, code: str, retryable: bool
) -> None:
    """The wrapped exception and the phase decide; no secret is in the chain."""
    error = faults.translate(exc, watch(phase))
    assert error is not None
    assert (error.code, error.retryable) == (code, retryable)
    link: Any = error
    while link is not None:
        assert "S3CRET" not in f"{link} {link!r} {link.args!r} {vars(link)!r}"
        link = link.__cause__
    assert "S3CRET" not in error_chain(error)
    assert error.__cause__ is not None and error.__cause__.__traceback__ is None
    assert pickle.loads(pickle.dumps(error)).failure == error.failure


@pytest.mark.parametrize("exc, phase, clock", [
    (requests.exceptions.ConnectTimeout(), "headers", "connect"),
    (requests.exceptions.ReadTimeout(), "headers", "first-byte"),
    (ConnectionRefusedError(111, "refused"), "connect", None),
    (socket.gaierror(-2, "unknown"), "dns", None),
])
def test_exception_without_a_watched_socket_still_tells_where(
    exc: Exception, phase: str, clock: Any
) -> None:
    """With a custom adapter the exception's own type gives the phase."""
    error = faults.translate(exc, watch("headers"))
    assert error is not None and (error.failure.phase, error.failure.clock) == (phase, clock)


def test_cancel_outranks_every_exception() -> None:
    """If the event is set, the error is ABORTED, whatever was raised."""
    cancel = threading.Event()
    cancel.set()
    error = faults.translate(protocol(ConnectionResetError()), watch(cancel=cancel))
    assert error is not None and error.code == "ABORTED"


@pytest.mark.parametrize("exc", [
    ZeroDivisionError(), KeyError("x"), ValueError("x"), RuntimeError(),
    urllib3.exceptions.InsecureRequestWarning("x"),
])
def test_exception_that_is_no_fault_of_the_network_is_not_translated(exc: Exception) -> None:
    """A bug, or a warning that the caller turned into an exception, is raised unchanged."""
    assert faults.translate(exc, watch()) is None


def test_what_the_caller_was_handling_is_not_taken_for_the_cause() -> None:
    """``__context__`` may come from outside the call, so it is not followed."""
    try:
        try:
            raise socket.timeout("the caller's own")
        except OSError:
            raise ConnectionRefusedError(111, "refused")
    except ConnectionRefusedError as exc:
        error = faults.translate(exc, watch("connect"))
    assert error is not None and error.code == "TRANSPORT"
    assert error.__cause__ is not None and error.__cause__.__context__ is None


def test_llm_error_passes_as_it_is() -> None:
    """An LlmError of a wait is not wrapped again."""
    mine = LlmError("x", "ABORTED")
    assert faults.translate(mine, watch()) is mine


def test_cycle_of_causes_ends() -> None:
    """Exceptions that wrap each other do not hang the mapping."""
    first, second = OSError("a"), OSError("b")
    first.__cause__, second.__cause__ = second, first
    error = faults.translate(first, watch("headers"))
    assert error is not None and error.code == "TRANSPORT"
