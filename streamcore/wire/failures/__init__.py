# SPDX-License-Identifier: MIT
"""What a provider's error means: one ``Failure`` with a code for programs.

In: a non-2xx answer (status, headers, body), or an error object inside a stream.
Out: ``errors.Failure``. Refused: nothing; every input gives a failure.

    payload        finds the error in a payload of a stream
    body           reads the body of an error answer
    facts          the names, sentences and numbers that an error holds
    codes, words   the code (DESIGN.md §6), and whether another try can help
    headers        waits and request ids
    message        the sentence for people

Most streams have no error, so the modules that read one are loaded when the first comes.
Pure: no I/O. The wall clock is an argument; only a date in Retry-After needs it.
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

_NOTHING_SAID = "the provider sent an error without a message"


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
    """Return the failure that a non-2xx answer means.

    Args:
        status: the HTTP status, 300 or more.
        headers: the answer's headers, in any case.
        body: the part of the body that was read. It may be empty, cut off, HTML or not text.
        address: where the request went. The message names it without user and query.
        id_headers: the headers that may hold the request's id, best first; by default
            ``REQUEST_ID_HEADERS``.
        now: seconds since the epoch, for dates in Retry-After; by default the wall clock.
        secrets: texts that must not appear in the message.
    Returns: the failure, with the phase ``headers``. The rules are in DESIGN.md §6.
    """
    from .body import read_body
    from .codes import code_for, helps_to_retry
    from .facts import ErrorFacts

    given = lowered(headers)
    facts = ErrorFacts(secrets)
    if 300 <= status < 400:  # the body of a redirect is not about the request
        code, words = f"HTTP_{status}", redirection(given.get("location", ""))
    else:
        excuse = read_body(body, given, facts)
        if "x-amzn-errortype" in given:  # Bedrock sends the type in a header, not in the body
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
    """Return the failure that an error inside a stream means.

    The error gets the same code as an error answer of its status.

    Args:
        error: the error that ``find_error`` found: any JSON value.
        payload: the whole payload. A code, status or request id may be beside the error.
        secrets: texts that must not appear in the message.
    Returns: the failure, with the phase ``body``. The rules are in DESIGN.md §6 and §8.4.
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
        one_line(words, secrets) or _NOTHING_SAID,  # the words may be control characters only
        helps_to_retry(code, facts),
        facts.status,
        facts.retry_after,
        facts.request_id and one_line(facts.request_id, secrets),
        "body",
        details=freeze(facts.details) or None,
    )
