# SPDX-License-Identifier: MIT
"""A scripted provider on 127.0.0.1, for tests and demos without a network.

In: a script of answers, as JSON-able values. Out: a server with real sockets that plays them,
every fault on the way included, and records what it received and when its peer left.
Refused: unknown keys and wrong types, with a ``ValueError`` that names the place.

::

    with LoopbackServer([{"steps": [{"text": "Hello"}, {"finish": "stop"}, {"done": True}]}]) as s:
        ...  # talk to s.base_url, then look at s.requests

A script is a list of answers, or ``{"answers": [...], "after_last": "repeat" | "500"}``
(``repeat``, the default, gives the last answer again). Answers are used in order, one for each
request, whatever connection it comes on. An answer with a ``when`` stands outside that line: it
is given to every request its ``when`` fits, the first such answer winning.

Keys of an answer, all optional
-------------------------------

Which request
  ``when``: ``{"path": "/v1/x", "contains": "text in the body"}``, one of them or both; the path
  with or without its query. Beware of texts that contain each other ("case 1", "case 12").

The head
  ``status`` (200), ``reason``; ``headers``: ``{name: value}``, added or in place of a default
  one; a list of values repeats the header, null removes it. ``raw_head``: a string sent in
  place of status line and headers, its blank line included. ``header_delay``: seconds before
  the head; ``header_drip``: seconds after each of its bytes.

The body: at most one of
  ``steps`` (below); ``body``: a string as it is; ``body_base64``; ``json``: a value, sent as
  JSON with its content type; ``body_repeat``: ``{"text": "…", "times": n}``, for floods.
  Statuses 204 and 304 have no body.

How events are written
  ``dialect``: ``"chat-completions"`` (default), or ``"anthropic-messages"``, in which blocks
  open and stop by themselves and ``message_start`` comes first; ``newline``: ``"\\n"``
  (default), ``"\\r\\n"`` or ``"\\r"``; ``envelope``: keys merged over
  ``id``, ``object``, ``created``, ``model`` of every chunk (over the message of Anthropic's
  ``message_start``); ``bom``: true for a leading BOM.

How the body travels
  ``framing``: ``"chunked"`` (default; one HTTP chunk for each write), ``"close"``,
  ``"content-length"`` or ``"http10"``. ``chunk_dripped``: one HTTP chunk announced for the whole
  body. Announced lengths count all steps: a ``close`` step before others cuts the body short.
  ``pieces``: null (one write for each step), n (n bytes a write) or a list of growing offsets;
  bytes of different steps share a write unless a pause is between them. ``every``: seconds
  between writes. ``gzip`` or ``deflate``: ``"flush"`` (after each step), ``"noflush"``, or
  ``"bad"`` (the first step is right, what follows does not decode).

The connection
  ``keep_alive``: false closes after the answer without having said so; ``announce_close``: true
  says so. ``close_idle_after``, ``reset_idle_after``: seconds a kept-alive connection may be
  idle after this answer. ``no_answer``: the request is read, then silence until the peer leaves.
  ``read_request``: false leaves the body of the request unread; without status and body nothing
  is answered either. Buffers of both sides take the first megabytes: a client that is to block
  must send more, 16 MB are enough. A client that closes then stays unseen behind its own unsent
  bytes; ``drain_after``: seconds until they are read and dropped. ``slam``: true closes a new
  connection as soon as it is accepted (and a kept-alive one when its request was read).

Steps: objects with one key each
--------------------------------

Events
  ``text`` · ``reasoning`` (with ``"field"`` beside it for another name than
  ``reasoning_content``) · ``tool_call``: ``{"index", "id", "type", "name", "arguments",
  "extra_content"}``, a fragment with the keys that are given · ``delta``: any delta ·
  ``finish``: a finish word · ``usage``: a chunk with no choices · ``payload``: a whole payload ·
  ``error``: ``{"error": …}`` · ``done``: true · ``comment``: text · ``event``: ``{"event", "id",
  "retry", "data"}`` (data: a string, or a value for JSON) · ``raw``: text as it is ·
  ``raw_base64``: bytes · ``json``: a value as JSON, in no event · ``ping``: true. In Anthropic
  Messages ``reasoning`` is thinking, ``finish`` a stop reason, ``usage`` stands in the event of
  the ``finish`` after it, ``done`` is ``message_stop``, ``delta`` one of the last block, and
  there are ``signature``: text, and ``block``: a whole content block.

Time
  ``sleep``: seconds · ``stall``: true, silence until the peer leaves · ``drip``: ``{"text": …}``
  or ``{"raw": …}`` or ``{"steps": […]}``, with ``"every"``: the same bytes as the step of that
  name, one by one · ``repeat``: ``{"times": n or null for ever, "every": seconds,
  "steps": […]}``.

Endings
  ``reset``: true, a RST · ``close``: true, a FIN whatever the framing owes ·
  ``shutdown_write``: true, a FIN, the server's socket staying open until the peer leaves ·
  ``chunk_size_bad``: true, ``ZZ`` where a chunk size should stand.

All in one
  ``answer``: ``{"text", "reasoning", "tool_calls": [{"id", "name", "arguments"}], "finish",
  "usage", "done", "words", "every"}``: word by word (``"words": false``: whole), calls
  interleaved (in Anthropic Messages one after the other), then finish, usage and the end marker.
  ``"signature"`` in Anthropic Messages.

``{last_user}`` in any string of a body is replaced by the text of the request's last user
message. A ``text`` of lone surrogate halves is written as JSON escapes.
"""

from __future__ import annotations

from .record import RequestRecord
from .script import Answer, Script, answer_bytes, load_script
from .server import LoopbackServer

__all__ = ["Answer", "LoopbackServer", "RequestRecord", "Script", "answer_bytes", "load_script"]
