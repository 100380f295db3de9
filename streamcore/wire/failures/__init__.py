# SPDX-License-Identifier: MIT
"""What a provider's error means: one ``Failure`` with a code to route on.

In: a non-2xx answer (status, headers, body), or an error object inside a stream.
Out: ``errors.Failure``. Refused: nothing; whatever comes in, a failure comes out.
``payload``: the error in a stream's payload. ``body``: an error answer's body.
``facts``: what both say. ``codes`` and ``words``: the code (DESIGN.md §6), and whether
another try can help. ``headers``: waits and ids. ``message``: the sentence for people.
The modules that judge an error are loaded when the first one comes: most streams have none.
Pure: no I/O; the wall clock is an argument and only matters to Retry-After dates.
"""

from __future__ import annotations

import time
from typing import Any, Mapping, Optional, Sequence

from ...values.errors import Failure
from ...values.frozen import freeze
from .headers import lowered, request_id, retry_after_seconds, should_retry
from .message import one_line, redirection, status_line
from .payload import find_error, may_be_error

__all__ = [
    "failure_from_answer", "failure_from_payload", "find_error", "may_be_error", "request_id",
    "retry_after_seconds",
]

_NOTHING_SAID = "the provider sent an error that says nothing"


def failure_from_answer(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    address: str = "",
    id_headers: Sequence[str] = (),
    now: Optional[float] = None,
    secrets: Sequence[str] = (),
) -> Failure:
    """Say what a non-2xx answer means.

    Args:
        status: the HTTP status, 300 or more.
        headers: the answer's headers, in any case.
        body: what was read of the body; it may be empty, cut, HTML or no text at all.
        address: where the request went; the message names it without user and query.
        id_headers: the headers that may hold the request's id, as ``request_id`` takes them.
        now: seconds since the epoch, for Retry-After dates; by default the wall clock.
        secrets: texts that must not appear in the message.
    Returns: the failure, phase ``headers``. Rules: DESIGN.md §6.
    """
    from .body import read_body
    from .codes import code_for, helps_to_retry
    from .facts import ErrorFacts

    given = lowered(headers)
    facts = ErrorFacts(secrets)
    if 300 <= status < 400:  # what a redirect's body says is not about the request
        code, words = f"HTTP_{status}", redirection(given.get("location", ""))
    else:
        excuse = read_body(body, given, facts)
        if "x-amzn-errortype" in given:  # Bedrock's type is not in its body
            facts.read_names({"type": given["x-amzn-errortype"]})
        code = code_for(status, facts)
        words = facts.sentence() or excuse
    asked = should_retry(given)
    wait = retry_after_seconds(given, time.time() if now is None else now)
    return Failure(
        code,
        one_line(f"{status_line(status, address, secrets)}: {words}", secrets),
        helps_to_retry(code, facts) if asked is None else asked,
        status,
        facts.retry_after if wait is None else wait,
        request_id(given, id_headers, told=facts.request_id, secrets=secrets),
        "headers",
        details=freeze(facts.details) or None,
    )


def failure_from_payload(
    error: Any,
    payload: Optional[Mapping[str, Any]] = None,
    *,
    secrets: Sequence[str] = (),
) -> Failure:
    """Say what an error inside a stream means, as its HTTP status would have.

    Args:
        error: what ``find_error`` found: any JSON value.
        payload: the whole payload, for a code, status or request id beside the error.
        secrets: texts that must not appear in the message.
    Returns: the failure, phase ``body``. Never raises. Rules: DESIGN.md §6, §8.4.
    """
    from .codes import code_for, helps_to_retry
    from .facts import ErrorFacts, shown

    facts = ErrorFacts(secrets)
    facts.read(error)
    if payload is not None and payload is not error:
        facts.read_names(payload)
    code = code_for(facts.status, facts)
    words = facts.sentence() or shown(error) or _NOTHING_SAID
    return Failure(
        code,
        one_line(words, secrets) or _NOTHING_SAID,  # a sentence of control characters only
        helps_to_retry(code, facts),
        facts.status,
        facts.retry_after,
        facts.request_id and one_line(facts.request_id, secrets),
        "body",
        details=freeze(facts.details) or None,
    )
