# SPDX-License-Identifier: MIT
"""What a provider's error means: one ``Failure`` with a code to route on.

In: a non-2xx answer (status, headers, body), or an error object inside a stream.
Out: ``errors.Failure``. Refused: nothing; whatever comes in, a failure comes out.
``finding``: the error in a payload. ``reading`` and ``body``: what it says, gathered in
``Signs``. ``codes`` with the tables of ``vocabulary``: the code (design.md §6).
``headers``: waits and ids. ``wording``: the sentence for people. Pure: no I/O; the wall
clock is an argument and only matters to Retry-After dates.
"""

from __future__ import annotations

import time
from typing import Any, Mapping, Optional, Sequence

from ...values.errors import Failure, is_retryable
from .body import read_body
from .codes import code_for
from .finding import find_error
from .headers import any_request_id, lowered, request_id, retry_after_seconds, should_retry
from .jsontext import shown
from .reading import read_error, read_names
from .signs import Signs
from .wording import one_line, redirection, status_line

__all__ = [
    "failure_from_answer", "failure_from_payload", "find_error", "request_id",
    "retry_after_seconds",
]

_NOTHING_SAID = "the provider sent an error that says nothing"


def failure_from_answer(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: Optional[float] = None,
    secrets: Sequence[str] = (),
) -> Failure:
    """Say what a non-2xx answer means.

    Args:
        status: the HTTP status, 300 or more.
        headers: the answer's headers, in any case.
        body: what was read of the body; it may be empty, cut, HTML or no text at all.
        now: seconds since the epoch, for Retry-After dates; by default the wall clock.
        secrets: texts that must not appear in the message.
    Returns: the failure, phase ``headers``. Rules: design.md §6, faults.md E1–E13.
    """
    given = lowered(headers)
    signs = Signs(secrets)
    if 300 <= status < 400:  # what a redirect's body says is not about the request
        code, words = f"HTTP_{status}", redirection(given.get("location", ""))
    else:
        excuse = read_body(body, signs)
        signs.add_name(given.get("x-amzn-errortype", ""))  # Bedrock's type is not in its body
        code = code_for(status, signs)
        words = signs.sentence() or excuse
    wait = retry_after_seconds(given, time.time() if now is None else now)
    return Failure(
        code,
        one_line(f"{status_line(status)}: {words}", secrets),
        should_retry(given, is_retryable(code)),
        status,
        signs.retry_after if wait is None else wait,
        any_request_id(given, signs.request_id, secrets),
        "headers",
    )


def failure_from_payload(
    error: Any,
    payload: Optional[Mapping[str, Any]] = None,
    *,
    request_id: Optional[str] = None,
    secrets: Sequence[str] = (),
) -> Failure:
    """Say what an error inside a stream means, as its HTTP status would have.

    Args:
        error: what ``find_error`` found: any JSON value.
        payload: the whole payload, for a code, status or request id beside the error.
        request_id: the answer's id, where its headers gave one.
        secrets: texts that must not appear in the message.
    Returns: the failure, phase ``body``. Never raises. Rules: design.md §6, §8.4.
    """
    signs = Signs(secrets)
    read_error(error, signs)
    if payload is not None and payload is not error:
        read_names(payload, signs)
    code = code_for(signs.status, signs)
    words = signs.sentence() or shown(error) or _NOTHING_SAID
    request_id = request_id or signs.request_id
    return Failure(
        code,
        one_line(words, secrets) or _NOTHING_SAID,  # a sentence of control characters only
        is_retryable(code),
        signs.status,
        signs.retry_after,
        request_id and one_line(request_id, secrets),
        "body",
    )
