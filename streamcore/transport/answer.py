# SPDX-License-Identifier: MIT
"""One answer as it arrives: status, headers, and the body's pieces.

In: the response that ``Transport.open`` got. Out: ``pieces`` of a good answer, then
``finish`` when its end is proven; ``read_error_body`` of a failed answer; ``close`` stops
it, from any thread. In every case the connection is either given back clean or closed
(DESIGN.md §7).
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator, List, Mapping, Optional, Tuple, Union

from ..values.clock import Deadline
from ..values.errors import LlmError
from . import faults
from .idle import kept_for
from .reading import PlainBody, SocketBody
from .sockets import SocketFile
from .watch import Watch

_ERROR_BODY_BYTES = 64 * 1024
_ERROR_BODY_SECONDS = 5.0
_FINISH_SECONDS = 0.05
_FINISH_BYTES = 1024 * 1024  # read at most this after a proven end; for more, close instead


class Answer:
    """The answer to one request; made by ``Transport.open``.

    ``status`` is the HTTP status, ``headers`` a case-insensitive mapping.
    With a custom adapter or a mocked response there is no socket to watch:
    cancel and clocks are then checked only between pieces.
    """

    def __init__(
        self, response: Any, watch: Watch, keeps: Callable[[], bool] = lambda: False
    ) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._watch = watch
        self._file: Optional[SocketFile] = None
        self._http: Any = None
        self._body: Union[SocketBody, PlainBody]
        if isinstance(watch.file, SocketFile):
            self._http, self._file = watch.response, watch.file
            watch.response = watch.file = None  # else a cycle would keep the socket alive
            self._body = SocketBody(self._http, self._file, watch)
        else:
            self._body = PlainBody(response, watch)
        watch.phase = "body"
        self._lock = threading.Lock()  # held while the body is read or the connection given up
        self._error: Optional[LlmError] = None  # why reading failed; raised at each later read
        self._over = False  # the connection was given back or closed
        self._ended = False  # the body's end was reached
        self._keeps = keeps  # whether the pool of this connection is still in use

    @property
    def received(self) -> int:
        """How many decoded body bytes ``pieces`` has yielded so far."""
        return self._watch.received

    @property
    def request_sent_at(self) -> Optional[float]:
        """When the request was written, by the call's clock; None if unknown."""
        return self._watch.request_sent_at

    @property
    def first_byte_at(self) -> Optional[float]:
        """When the first body byte came, by the call's clock; None until then."""
        return self._watch.first_byte_at

    def pieces(self) -> Iterator[bytes]:
        """Yield the decoded body as it arrives; each piece is whatever the socket had.

        Closing or dropping the iterator closes the connection: if the end is proven, call
        ``finish`` first. An empty body yields no piece. The bytes before a fault are
        yielded first. An answer that failed raises the same error at each call.

        Raises:
            LlmError: ``ABORTED``, ``TIMEOUT``, ``TRANSPORT``, ``STREAM_CLOSED`` (cut short
                of what its framing announced), ``MALFORMED_RESPONSE`` (too long, or
                content that cannot be decoded).
        """
        try:
            while self._error is None and not self._ended:
                with self._lock:
                    piece, self._error = self._read()
                if self._watch.closed:  # close() came while the lock was held
                    self.close()
                if piece:
                    yield piece
            if self._error is not None:
                raise self._error
        finally:
            self.close()

    def _read(self) -> Tuple[bytes, Optional[LlmError]]:
        """Return the next piece and None, or b"" and the failure; the lock is held."""
        failure: Optional[LlmError] = None
        try:
            if self._over:
                raise faults.aborted(self._watch)
            piece = self._body.read()
            if self._watch.stopped:
                raise faults.aborted(self._watch)
            if not piece:
                self._ended = True
                self._let_go()
            return piece, None
        except LlmError as error:
            failure = self._aborted_first(error)
        except Exception as error:
            failure = faults.translate(error, self._watch)
            if failure is None and self._watch.stopped:
                failure = faults.aborted(self._watch)  # a close under a reader raises any class
            failure = failure or faults.unforeseen(error, self._watch)
            if failure is None:
                self._drop()
                raise
        except BaseException:
            self._drop()
            raise
        self._drop()
        return b"", failure

    def _aborted_first(self, error: LlmError) -> LlmError:
        if self._watch.stopped and error.code != "ABORTED":
            error = faults.aborted(self._watch)
        return error.with_traceback(None)

    def read_error_body(self) -> bytes:
        """Return the start of a failed answer's body, whatever the network does.

        Reads at most 64 KiB and for at most 5 s, and returns what has arrived by then.
        Closes the connection.

        Raises:
            LlmError: ``ABORTED``, and nothing else.
        """
        self._watch.grace = Deadline(_ERROR_BODY_SECONDS, self._watch.clock)
        self._keeps = lambda: False
        parts: List[bytes] = []
        size = 0
        pieces = self.pieces()
        try:
            while size < _ERROR_BODY_BYTES:
                piece = next(pieces, b"")
                if not piece:
                    break
                parts.append(piece)
                size += len(piece)
        except LlmError as error:  # cut, slow, too long, not gzip: the status tells enough
            if error.code == "ABORTED":
                raise
        finally:
            self.close()
        return b"".join(parts)[:_ERROR_BODY_BYTES]

    def finish(self) -> None:
        """Give the connection back, once the answer's end is proven.

        Reads the rest of the body if it arrives within 50 ms; else closes the connection.
        A failure of the network is not raised.
        """
        if self._lock.acquire(blocking=False):
            try:
                if not self._over:
                    self._take_rest()
                    self._ended = True
            finally:
                self._drop()
                self._lock.release()

    def _take_rest(self) -> None:
        body = self._body
        if not isinstance(body, SocketBody) or not body.ends_itself or self._http.will_close:
            return
        most = self._watch.received + _FINISH_BYTES
        self._watch.grace = Deadline(_FINISH_SECONDS, self._watch.clock)
        try:
            while self._watch.received < most and body.read():
                pass
        except (LlmError, OSError):  # late, cut or broken: the message is whole all the same
            return
        self._let_go()

    def close(self) -> None:
        """Close the connection at once; may be called again, and from any thread.

        A read that is blocked in another thread ends with ABORTED within 0.25 s.
        """
        self._watch.closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._drop()
            finally:
                self._lock.release()

    def _let_go(self) -> None:
        """Give the connection back to its pool if it is clean, else close it."""
        body = self._body
        if self._over or self._file is None or not isinstance(body, SocketBody):
            return self._drop()
        if not self._keeps() or not body.reusable or self._http.will_close:
            return self._drop()
        self._over = True
        self._file.sock.rest(self._watch.clock(), kept_for(self.headers.get("Keep-Alive", "")))
        self._http.close()
        self._response.raw.release_conn()

    def _drop(self) -> None:
        if self._over:
            return
        self._over = True
        if self._file is not None:
            self._file.sock.drop()
        try:
            self._response.close()
        except Exception:  # a mock or a half-closed response may raise; it is given up anyway
            pass

    def __del__(self) -> None:
        if getattr(self, "_over", True) is False:
            self._drop()
