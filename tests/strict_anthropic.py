# SPDX-License-Identifier: MIT
"""A test provider that accepts only valid requests of Anthropic Messages.

In: a request's body. Out: the reasons for which the API would refuse it; none if it is valid.
The rules are from docs.claude.com and from public reports of 400s. The module uses neither the
package's reader nor its writer of the dialect. ``StrictAnthropic`` is a server on 127.0.0.1
that applies the rules.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any, Dict, List, Set

from streamcore.loopback import answer_bytes

THOUGHTS = ("thinking", "redacted_thinking")
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
ID = re.compile(r"[a-zA-Z0-9_-]+")


def faults(body: Dict[str, Any]) -> List[str]:
    """Return the reasons for which the API would refuse a request; [] for a valid one."""
    found: List[str] = []
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    if type(body.get("max_tokens")) is not int or body["max_tokens"] < 1:
        found.append("max_tokens: field required")
    found += _roles(messages)
    for place, message in enumerate(messages):
        found += _content(message, f"messages.{place}")
    found += _server_tools(messages)
    found += _results(messages)
    found += _thinking(body)
    found += _tools(body)
    if json.dumps(body).count('"cache_control"') > 4:
        found.append("a maximum of 4 blocks with cache_control may be provided")
    return found


def _roles(messages: List[Dict[str, Any]]) -> List[str]:
    roles = [message.get("role") for message in messages]
    found = [f"messages.{at}: unexpected role {role}" for at, role in enumerate(roles)
             if role not in ("user", "assistant")]
    if roles[0] != "user":
        found.append("messages: first message must use the user role")
    found += [f"messages.{at}: roles must alternate" for at in range(1, len(roles))
              if roles[at] == roles[at - 1]]
    return found


def _content(message: Dict[str, Any], where: str) -> List[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [] if content.strip() else [f"{where}: text must be non-empty"]
    if not isinstance(content, list) or not content:
        return [f"{where}: all messages must have non-empty content"]
    found: List[str] = []
    for at, block in enumerate(content):
        found += _block(block, f"{where}.content.{at}", message["role"])
    if message["role"] == "assistant" and content[-1].get("type") in THOUGHTS:
        found.append(f"{where}: the final block cannot be thinking")
    return found


def _server_tools(messages: List[Dict[str, Any]]) -> List[str]:
    """Find server tools without a result; the last answer may have one if only results follow."""
    blocks = [m["content"] if isinstance(m["content"], list) else [] for m in messages]
    answered = {block.get("tool_use_id") for content in blocks for block in content}
    last = max(at for at, m in enumerate(messages) if m["role"] == "assistant" or at == 0)
    after = [block for content in blocks[last + 1:] for block in content]
    open_turn = all(block.get("type") == "tool_result" for block in after)
    return [
        f"messages.{at}: {block['type']} without its result"
        for at, content in enumerate(blocks) for block in content
        if block.get("type") in SERVER_CALLS and block.get("id") not in answered
        and not (at == last and open_turn)
    ]


def _block(block: Any, where: str, role: str) -> List[str]:
    kind = block.get("type")
    if kind == "text" and not str(block.get("text", "")).strip():
        return [f"{where}: text content blocks must contain non-whitespace text"]
    if kind == "thinking" and not block.get("signature"):
        return [f"{where}: signature: field required"]
    if kind == "redacted_thinking" and not block.get("data"):
        return [f"{where}: data: field required"]
    if kind in (*THOUGHTS, "tool_use") and role != "assistant":
        return [f"{where}: {kind} blocks can only be in assistant messages"]
    if kind in THOUGHTS and "cache_control" in block:
        return [f"{where}: cache_control cannot be set on thinking"]
    if kind == "tool_use":
        found = [] if ID.fullmatch(str(block.get("id"))) else [f"{where}: id: pattern"]
        if not isinstance(block.get("input"), dict):
            found.append(f"{where}: input should be a valid dictionary")
        return found
    if kind == "tool_result" and role != "user":
        return [f"{where}: tool_result blocks can only be in user messages"]
    return [] if isinstance(kind, str) else [f"{where}: type: field required"]


def _results(messages: List[Dict[str, Any]]) -> List[str]:
    found: List[str] = []
    seen: Set[str] = set()
    for at, message in enumerate(messages):
        blocks = message["content"] if isinstance(message["content"], list) else []
        calls = [b["id"] for b in blocks if b.get("type") == "tool_use"]
        found += [f"messages.{at}: tool_use ids must be unique: {one}" for one in calls
                  if one in seen or calls.count(one) > 1]
        seen.update(calls)
        after = messages[at + 1]["content"] if at + 1 < len(messages) else []
        after = after if isinstance(after, list) else []
        results = [b.get("tool_use_id") for b in after if b.get("type") == "tool_result"]
        first = [b.get("type") for b in after[: len(results)]]
        if message["role"] == "assistant":
            if sorted(map(str, results)) != sorted(calls):
                found.append(f"messages.{at}: tool_use ids were found without tool_result blocks"
                             f" immediately after: {calls}, {results}")
            if any(kind != "tool_result" for kind in first):
                found.append(f"messages.{at + 1}: tool_result blocks must come first")
    return found


def _thinking(body: Dict[str, Any]) -> List[str]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") not in ("enabled", "adaptive"):
        return []
    found: List[str] = []
    if body.get("temperature", 1) != 1:
        found.append("temperature may only be set to 1 when thinking is enabled")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        found.append("thinking may not be enabled when tool_choice forces tool use")
    if thinking["type"] == "adaptive":
        return found
    budget = thinking.get("budget_tokens", 0)
    if not 1024 <= budget < body.get("max_tokens", 0):
        found.append("thinking.budget_tokens must be 1024 or more and less than max_tokens")
    return found + _open_turn(body["messages"])


def _open_turn(messages: List[Dict[str, Any]]) -> List[str]:
    """Find a turn under way that does not begin with thinking, as a budget requires."""
    kinds = [[b.get("type") for b in m["content"]] if isinstance(m["content"], list) else ["text"]
             for m in messages]
    if kinds[-1] and set(kinds[-1]) != {"tool_result"}:
        return []
    begun = len(messages) - 1
    while begun > 0 and (messages[begun]["role"] == "assistant"
                         or set(kinds[begun]) == {"tool_result"}):
        begun -= 1
    first = kinds[begun + 1][0]
    if first in THOUGHTS:
        return []
    return [f"messages.{begun + 1}: expected thinking or redacted_thinking, but found {first}"]


def _tools(body: Dict[str, Any]) -> List[str]:
    found: List[str] = []
    for at, tool in enumerate(body.get("tools", [])):
        if "type" not in tool and not isinstance(tool.get("input_schema"), dict):
            found.append(f"tools.{at}.input_schema: field required")
    names = [tool.get("name") for tool in body.get("tools", [])]
    if len(set(names)) < len(names):
        found.append("tools: tool names must be unique")
    if "tools" in body and not body["tools"]:
        found.append("tools: empty")
    if "tool_choice" in body and "tools" not in body:
        found.append("tool_choice may only be specified while providing tools")
    return found


class _Http(ThreadingMixIn, HTTPServer):
    daemon_threads = False  # closing the server waits for its threads
    strict: "StrictAnthropic"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the broken pipe that a client leaves when it cancels."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_POST(self) -> None:
        strict = self.server.strict
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reasons = faults(body)
        if self.headers.get("anthropic-version") is None:
            reasons.append("anthropic-version: header is required")
        answer = strict.take(body, reasons)
        if reasons:
            error = {"type": "invalid_request_error", "message": "; ".join(reasons)}
            answer = {"status": 400, "json": {"type": "error", "error": error}}
        self.send_response(answer.get("status", 200))
        kind = "application/json" if "json" in answer else "text/event-stream"
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(answer_bytes(answer))
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class StrictAnthropic:
    """A strict provider on 127.0.0.1, as a context manager.

    Args:
        answers: scripted answers as ``streamcore.loopback`` reads them, sent in order. The
            last one is repeated.
    ``requests`` holds the bodies received, ``refused`` the reasons of all 400s.
    """

    def __init__(self, answers: List[Dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.requests: List[Dict[str, Any]] = []
        self.refused: List[str] = []
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.strict = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def base_url(self) -> str:
        """The server's address, without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def take(self, body: Dict[str, Any], reasons: List[str]) -> Dict[str, Any]:
        """Keep a request and its reasons; return the next scripted answer."""
        with self._lock:
            self.requests.append(body)
            self.refused += reasons
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def __enter__(self) -> "StrictAnthropic":
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
