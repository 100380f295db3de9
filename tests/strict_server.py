# SPDX-License-Identifier: MIT
"""A provider that takes nothing but a valid history, for the agent's tests.

In: scripted answers, as ``streamcore.loopback`` reads them. Out: those answers; or 400 with
the reason, when in a request a call lacks its one result, a result's id is unknown, arguments
do not parse, a message is empty, or a tool is odd. ``refused`` keeps the reasons.
It shares no code with the library's own check.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any, Dict, List

from streamcore.loopback import answer_bytes


def faults(body: Dict[str, Any]) -> List[str]:
    """Return what a strict provider would say against a request body."""
    found: List[str] = []
    owed: List[str] = []
    for position, message in enumerate(body.get("messages", [])):
        where = f"messages[{position}]"
        role = message.get("role")
        if role == "tool":
            call_id = message.get("tool_call_id")
            if call_id not in owed:
                found.append(f"{where}: no call waits for a result with the id {call_id!r}")
            else:
                owed.remove(call_id)
            if not isinstance(message.get("content"), str) or not message["content"]:
                found.append(f"{where}: a result without text")
            continue
        found += [f"{where}: no result for {call_id!r} before it" for call_id in owed]
        owed = []
        calls = message.get("tool_calls")
        if role == "assistant":
            if calls is not None and not calls:
                found.append(f"{where}: an empty tool_calls")
            if not calls and not isinstance(message.get("content"), str):
                found.append(f"{where}: an assistant message with neither text nor calls")
            found += [f"{where}: {fault}" for call in calls or [] for fault in _call_faults(call)]
            owed = [call["id"] for call in calls or []]
            if len(set(owed)) != len(owed):
                found.append(f"{where}: an id twice")
        elif role not in ("system", "user") or not message.get("content"):
            found.append(f"{where}: an odd {role} message")
    found += [f"no result for {call_id!r} at the end" for call_id in owed]
    if not body.get("messages") or body["messages"][-1]["role"] not in ("user", "tool"):
        found.append("the last word is not the user's or a tool's")
    return found


def _call_faults(call: Dict[str, Any]) -> List[str]:
    try:
        json.loads(call["function"]["arguments"])
    except ValueError:
        return [f"the arguments of {call['id']!r} do not parse"]
    if call.get("type") != "function" or not call["function"]["name"] or not call["id"]:
        return [f"an odd call {call!r}"]
    return []


class _Http(ThreadingMixIn, HTTPServer):
    daemon_threads = False  # closing joins them
    strict: "StrictServer"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that cancels breaks the pipe; that is no error of a test."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_POST(self) -> None:
        strict = self.server.strict
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reasons = faults(body)
        answer = strict.take(body, reasons)
        if reasons:
            answer = {"status": 400, "json": {"error": {"message": "; ".join(reasons)}}}
        self.send_response(answer.get("status", 200))
        kind = "application/json" if "json" in answer else "text/event-stream"
        self.send_header("Content-Type", kind)
        self.end_headers()
        steps = list(answer.get("steps", []))
        stalls = {"stall": True} in steps
        shown = {**answer, "steps": [s for s in steps if s != {"stall": True}]}
        self.wfile.write(answer_bytes(shown if "steps" in answer else answer))
        if stalls:
            self.wfile.flush()
            strict.stalled.set()
            self.connection.settimeout(20)
            self.connection.recv(1)  # until the client has gone

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class StrictServer:
    """A strict provider on 127.0.0.1, a context manager.

    Args:
        answers: given in order; the last one again and again.
    ``requests`` are the bodies received, ``refused`` the reasons of the 400s, ``stalled``
    is set when an answer with the step ``stall`` has come to it.
    """

    def __init__(self, answers: List[Dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.requests: List[Dict[str, Any]] = []
        self.refused: List[str] = []
        self.stalled = threading.Event()
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.strict = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def base_url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def take(self, body: Dict[str, Any], reasons: List[str]) -> Dict[str, Any]:
        """Keep a request, and return the answer it gets when nothing is against it."""
        with self._lock:
            self.requests.append(body)
            self.refused += reasons
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def __enter__(self) -> "StrictServer":
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
