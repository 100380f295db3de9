# SPDX-License-Identifier: MIT
"""Serves one connection: reads requests and writes answers until one side ends it.

In: an accepted connection, and the run of the script, which records requests and chooses
answers. Out: the bytes of each answer, at the times it asks for. At the end each record of
the connection learns when the client left. Refused with status 400: bytes that are not an
HTTP/1.x request. Framing: RFC 9112.
"""

from __future__ import annotations

import ssl
import time
from typing import Dict, List, Optional

from .body import build_reply
from .ops import CLOSE, PAUSE, RESET, SHUTDOWN_WRITE, WIRE, Op
from .record import RequestRecord, ScriptRun
from .script import Answer
from .wire import PeerLeft, Stopped, Wire

_HEAD_LIMIT = 256 * 1024
_LINGER = 1.0  # seconds to wait for the client to close too, after the server ended
_REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class _BadRequest(Exception):
    """The bytes are not an HTTP/1.x request."""


class Connection:
    """Serves the requests of one accepted connection, one after the other."""

    def __init__(self, wire: Wire, number: int, run: ScriptRun) -> None:
        self._wire = wire
        self._number = number
        self._run = run
        self._records: List[RequestRecord] = []
        self._last: Optional[Answer] = None  # the previous answer, which sets the idle time

    def serve(self, tls: Optional[ssl.SSLContext]) -> None:
        """Serve until the client leaves, an answer ends the connection, or the server stops."""
        left_at = None
        try:
            if tls is not None:
                self._wire.start_tls(tls)
            while self._serve_one():
                pass
        except PeerLeft:
            left_at = time.monotonic()
        except Stopped:
            pass  # the server is being closed
        finally:
            self._wire.close()
            for record in self._records:
                record.end(left_at)

    def _serve_one(self) -> bool:
        """Read one request and answer it; return whether the connection goes on."""
        try:
            record = self._read_head()
            if record is None:
                return False
            answer = self._run.answer(record, whole=False)
            if answer is None:
                record.body = self._read_body(record.headers)
                answer = self._run.answer(record, whole=True)
        except _BadRequest:
            self._wire.send(_REFUSAL)
            return False
        assert answer is not None  # every whole request gets one
        self._records.append(record)
        self._wire.deaf = not answer.read_request
        self._last = answer
        return self._answer(record, answer)

    def _read_head(self) -> Optional[RequestRecord]:
        inbox = self._wire.inbox
        if not inbox and not self._await_request():
            return None
        while b"\r\n\r\n" not in inbox:
            if len(inbox) > _HEAD_LIMIT:
                raise _BadRequest
            self._wire.receive()
        end = inbox.index(b"\r\n\r\n")
        lines = bytes(inbox[:end]).decode("latin-1").split("\r\n")
        del inbox[:end + 4]
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise _BadRequest
        headers: Dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            key = name.strip().lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
        if words[2] == "HTTP/1.0":
            headers.setdefault("connection", "close")
        return RequestRecord(words[0], words[1], headers, self._number)

    def _await_request(self) -> bool:
        """Wait for the first byte of a request, no longer than the previous answer allows."""
        last = self._last or Answer()
        if last.reset_idle_after is not None:
            if not self._wire.receive(last.reset_idle_after):
                self._wire.reset()
                return False
            return True
        return self._wire.receive(last.close_idle_after)

    def _read_body(self, headers: Dict[str, str]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._read_chunks()
        try:
            return self._read_exactly(int(headers.get("content-length", "0")))
        except ValueError:
            raise _BadRequest from None

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            try:
                size = int(self._read_line().split(b";")[0], 16)
            except ValueError:
                raise _BadRequest from None
            body += self._read_exactly(size)
            if self._read_line():
                raise _BadRequest
            if not size:
                return bytes(body)

    def _read_line(self) -> bytes:
        while b"\r\n" not in self._wire.inbox:
            self._wire.receive()
        line = self._read_exactly(self._wire.inbox.index(b"\r\n") + 2)
        return line[:-2]

    def _read_exactly(self, size: int) -> bytes:
        inbox = self._wire.inbox
        while len(inbox) < size:
            self._wire.receive()
        data = bytes(inbox[:size])
        del inbox[:size]
        return data

    def _answer(self, record: RequestRecord, answer: Answer) -> bool:
        if answer.slam:
            return False
        if answer.no_answer:
            self._stay_silent(answer)
        reply = build_reply(answer, record.last_user())
        self._wire.wait(answer.header_delay)
        self._send_head(record, reply.head, answer.header_drip)
        for op in reply.ops:
            if op.kind == WIRE:
                record.bytes_sent += self._wire.send(op.data)
            elif op.kind == PAUSE:
                self._wire.wait(op.seconds)
            else:
                self._end_early(op)
                return False
        ends = answer.framing in ("close", "http10") or answer.announce_close
        if ends or self._wire.deaf or record.headers.get("connection", "").lower() == "close":
            self._part(answer)
            return False
        return answer.keep_alive

    def _send_head(self, record: RequestRecord, head: bytes, drip: float) -> None:
        size = 1 if drip else max(1, len(head))
        for at in range(0, len(head), size):
            record.bytes_sent += self._wire.send(head[at:at + size])
            self._wire.wait(drip)

    def _end_early(self, op: Op) -> None:
        if op.kind == RESET:
            self._wire.reset()
        elif op.kind == CLOSE:
            self._wire.shutdown_write(politely=False)
            self._wire.linger(_LINGER)
        else:
            if op.kind == SHUTDOWN_WRITE:
                self._wire.shutdown_write(politely=False)
            self._wire.linger()

    def _stay_silent(self, answer: Answer) -> None:
        """Wait for the client to leave; after ``drain_after``, read and drop what it sends."""
        if answer.drain_after is not None:
            self._wire.wait(answer.drain_after)
            self._wire.deaf = False
        self._wire.linger()

    def _part(self, answer: Answer) -> None:
        """End the connection after an answer that ends it, and wait for the client to close."""
        self._wire.shutdown_write(politely=True)
        if self._wire.deaf:
            self._wire.linger(answer.drain_after or 0.0)
            self._wire.deaf = False
        self._wire.linger(_LINGER)
