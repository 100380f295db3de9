# SPDX-License-Identifier: MIT
"""Records the requests that the server received, and chooses their answers.

In: requests, from the threads of their connections. Out: records in order of arrival, and an
answer for each: the first whose ``when`` fits, else the next in order.
Nothing is refused: a request without an answer in the script gets status 500.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Dict, List, Optional

from .script import Answer, Script, parse_answer

_EXHAUSTED = {"status": 500, "json": {"error": {
    "message": "the script has no further answer", "type": "server_error"}}}


class RequestRecord:
    """One request as the server received it, and how its connection ended.

    ``method``, ``path`` (with its query), ``headers`` (lower-case names), ``body`` (bytes),
    ``connection`` (0-based number of its TCP connection), ``answer`` (index of the script's
    answer, None when the script had none left), ``received_at`` (``time.monotonic()`` when
    the request was whole), ``bytes_sent`` (bytes of the response written, head and framing
    included, before TLS), ``peer_left_at`` (monotonic time, or None).
    """

    def __init__(self, method: str, path: str, headers: Dict[str, str], connection: int) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = b""
        self.connection = connection
        self.answer: Optional[int] = None
        self.received_at = 0.0
        self.bytes_sent = 0
        self.peer_left_at: Optional[float] = None
        self._over = threading.Event()

    def __repr__(self) -> str:
        return f"<{self.method} {self.path} on connection {self.connection}: {self.answer}>"

    def json(self) -> Any:
        """Return the body read as JSON; raises ``ValueError`` if it is not JSON."""
        return json.loads(self.body)

    def last_user(self) -> str:
        """Return the text of the last user message, or "" without one."""
        try:
            messages = self.json()["messages"]
            said = [m["content"] for m in messages if m.get("role") == "user"]
            content = [one for one in said if not _only_results(one)][-1]
            if isinstance(content, str):
                return content
            return "".join(part.get("text", "") for part in content)
        except (ValueError, LookupError, TypeError, AttributeError):
            # The body has another shape, or no user message; any request is accepted.
            return ""

    def wait_peer_left(self, timeout: float = 5.0) -> bool:
        """Wait until the client closed or reset its side of the connection.

        ``timeout``: seconds. Returns False after this time, and at once when the server
        closed the connection first.
        """
        self._over.wait(timeout)
        return self.peer_left_at is not None

    def end(self, left_at: Optional[float]) -> None:
        """Note that the connection is over; ``left_at``: when the client left, or None."""
        self.peer_left_at = left_at
        self._over.set()


def _only_results(content: Any) -> bool:
    """Say whether a user message holds tool results alone, as Anthropic's messages may."""
    if not isinstance(content, list):
        return False
    return bool(content) and all(part.get("type") == "tool_result" for part in content)


class ScriptRun:
    """The script, its answers used so far, and the records; all connections share it."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._in_line = [answer for answer in script.answers if not answer.when]
        self._picked = [answer for answer in script.answers if answer.when]
        self._exhausted = parse_answer(_EXHAUSTED, "answer")
        self._turn = 0  # how many of the answers in order were used
        self._records: List[RequestRecord] = []
        self._changed = threading.Condition()

    def records(self) -> List[RequestRecord]:
        """Return the records so far, in order of arrival."""
        with self._changed:
            return list(self._records)

    def wait_for(self, number: int, timeout: float) -> List[RequestRecord]:
        """Return the records once there are ``number``; raises ``TimeoutError``."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._records) >= number, timeout):
                raise TimeoutError(f"{len(self._records)} of {number} requests arrived")
            return list(self._records)

    def take_slam(self) -> bool:
        """Use up the next answer in order if it has ``slam``; return whether it has."""
        with self._changed:
            slam = self._next_in_line().slam
            self._turn += slam
            return slam

    def answer(self, record: RequestRecord, whole: bool) -> Optional[Answer]:
        """Record a request and return its answer.

        If ``whole`` is False, the body is not read yet. Then only an answer that leaves the
        body unread is returned. Else the result is None, and nothing is recorded or used up.
        """
        with self._changed:
            fitting = [a for a in self._picked if a.fits(record.path, record.body)]
            answer = fitting[0] if fitting else self._next_in_line()
            if not whole and answer.read_request:
                return None
            self._turn += not fitting
            record.answer = answer.index
            record.received_at = time.monotonic()
            self._records.append(record)
            self._changed.notify_all()
            return answer

    def _next_in_line(self) -> Answer:
        if self._turn < len(self._in_line):
            return self._in_line[self._turn]
        if self._in_line and self._script.after_last == "repeat":
            return self._in_line[-1]
        return self._exhausted
