# SPDX-License-Identifier: MIT
"""A scripted provider on 127.0.0.1, for tests and demos without a network.

In: a script of answers, as values that JSON can carry. Out: a server with real sockets that
sends them with their faults, and records the requests it received and when a client left.
Refused: unknown keys and wrong types, with a ``ValueError`` that names the place.

::

    with LoopbackServer([{"steps": [{"text": "Hello"}, {"finish": "stop"}, {"done": True}]}]) as s:
        ...  # talk to s.base_url, then look at s.requests

A script is a list of answers, or ``{"answers": [...], "after_last": "repeat" | "500"}``
(``repeat``, the default, gives the last answer again). Answers are used in order, one for each
request, over all connections. An answer with a ``when`` is not in this order: every request
that fits its ``when`` gets it. If several such answers fit, the first is used.

Keys of an answer, all optional
-------------------------------

Which request
  ``when``: ``{"path": "/v1/x", "contains": "text in the body"}``, one of them or both; the path
  with or without its query. "case 1" also fits a body with "case 12".

The head
  ``status`` (200), ``reason``; ``headers``: ``{name: value}``, which add a header or replace a
  default header; a list of values repeats the header, null removes it. ``raw_head``: a string
  sent in place of status line, headers and blank line. ``header_delay``: seconds before the
  head; ``header_drip``: seconds after each byte of the head.

The body: at most one of
  ``steps`` (below); ``body``: a string, sent as it is; ``body_base64``: bytes; ``json``: a
  value, sent as JSON with its content type; ``body_repeat``: ``{"text": "…", "times": n}``, for
  very large bodies. Statuses 204 and 304 have no body.

How events are written
  ``dialect``: ``"chat-completions"`` (default) or ``"anthropic-messages"``; in the second,
  blocks open and stop by themselves, and ``message_start`` comes first; ``newline``: ``"\\n"``
  (default), ``"\\r\\n"`` or ``"\\r"``; ``envelope``: keys that every chunk gets, over the default
  ``id``, ``object``, ``created`` and ``model`` (in Anthropic Messages: keys of the message in
  ``message_start``); ``bom``: true for a leading BOM.

How the body travels
  ``framing``: ``"chunked"`` (default; one HTTP chunk for each write), ``"close"``,
  ``"content-length"`` or ``"http10"``. ``chunk_dripped``: true announces one HTTP chunk for the
  whole body. An announced length counts all steps, so a ``close`` step before others cuts the
  body short. ``pieces``: null (one write for each step), n (n bytes a write) or a list of growing
  offsets at which to cut; with n or a list, steps without a pause between them may share a
  write. ``every``: seconds between writes. ``gzip`` or ``deflate``: ``"flush"`` (after each
  step), ``"noflush"``, or ``"bad"`` (the first step decodes, the bytes after it do not).

The connection
  ``keep_alive``: false closes the connection after the answer, unannounced; ``announce_close``:
  true announces the close in a header. ``close_idle_after``, ``reset_idle_after``: seconds that
  a kept-alive connection may be idle after this answer before it is closed or reset.
  ``no_answer``: true reads the request and sends nothing until the client leaves.
  ``read_request``: false leaves the body of the request unread; if the answer has no status and
  no body, nothing is sent either. The buffers of both sides hold the first megabytes, so a
  client blocks only with a larger request; 16 MB are enough. If such a client closes, the
  server cannot see it, because unread bytes come first; ``drain_after``: seconds until they are
  read and dropped. ``slam``: true closes a new connection as soon as it is accepted, and a
  kept-alive connection when its request was read.

Steps: objects with one key each
--------------------------------

Events
  ``text`` · ``reasoning`` (a second key ``"field"`` gives another name than
  ``reasoning_content``) · ``tool_call``: ``{"index", "id", "type", "name", "arguments",
  "extra_content"}``, a fragment with the keys that are given · ``delta``: any delta ·
  ``finish``: a finish word · ``usage``: the usage, in a chunk with no choices · ``payload``: a
  whole payload · ``error``: the value of ``{"error": …}`` · ``done``: true sends ``[DONE]`` ·
  ``comment``: text · ``event``: ``{"event", "id", "retry", "data"}`` (a value that is not a
  string is sent as JSON) · ``raw``: text as it is · ``raw_base64``: bytes · ``json``: a value as
  JSON, outside of any event · ``ping``: true. In Anthropic Messages ``reasoning`` is thinking,
  ``finish`` is a stop reason, ``usage`` is sent in the event of the ``finish`` after it,
  ``done`` is ``message_stop``, and ``delta`` is a delta of the last block. Anthropic Messages
  also has ``signature``: text, and ``block``: a whole content block.

Time
  ``sleep``: seconds · ``stall``: true sends nothing more until the client leaves · ``drip``:
  ``{"text": …}`` or ``{"raw": …}`` or ``{"steps": […]}``, with ``"every"``: the bytes of these
  steps one by one, with so many seconds between them · ``repeat``: ``{"times": n,
  "every": seconds, "steps": […]}``; null as ``times`` repeats for ever.

Endings
  ``reset``: true sends a RST · ``close``: true sends a FIN, even if the framing promised more
  bytes · ``shutdown_write``: true sends a FIN and keeps the server's socket open until the client
  leaves · ``chunk_size_bad``: true sends ``ZZ`` in place of a chunk size.

All in one
  ``answer``: ``{"text", "reasoning", "tool_calls": [{"id", "name", "arguments"}], "finish",
  "usage", "done", "words", "every"}``: texts word by word (whole with ``"words": false``), calls
  interleaved (in Anthropic Messages one after the other), then finish, usage and the end marker,
  with ``every`` seconds between steps. ``"signature"`` is for Anthropic Messages.

``{last_user}`` in any string of a body is replaced by the text of the request's last user
message. A ``text`` with lone surrogate halves is written with JSON escapes.
"""

from __future__ import annotations

from .record import RequestRecord
from .script import Answer, Script, answer_bytes, load_script
from .server import LoopbackServer

__all__ = ["Answer", "LoopbackServer", "RequestRecord", "Script", "answer_bytes", "load_script"]
