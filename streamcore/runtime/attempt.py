# SPDX-License-Identifier: MIT
"""One request, sent once, and its answer as chunks.

In: the transport, the request as it is sent, a decoder. Out: chunks. A failed answer is raised
as an ``LlmError``. No chunk, error or log of this module shows a secret. The wire trace (this
module's logger at DEBUG) shows both directions, masked. urllib3's own logger at DEBUG writes
the path and query of each request unmasked: keep it off if a key travels in the query.
"""

from __future__ import annotations

import logging
from itertools import chain
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Sequence

from ..transport import Answer, Transport
from ..values.calls import CallContext
from ..values.chunks import StreamChunk
from ..values.errors import CODES, LlmError
from ..values.limits import ResolvedLimits
from ..values.redaction import redact_headers
from ..wire.dialects import Decoder, Dialect
from ..wire.failures import failure_from_answer, request_id
from ..wire.pipeline import iter_chunks
from .carried import read_carried
from .secrets import begun_secret, drop_causes_with_secrets, mask, with_carried

log = logging.getLogger(__name__)


class Post(NamedTuple):
    """One request as it is sent.

    ``secrets`` are the texts in it that no message and no log may show. ``id_headers`` are
    the answer's headers that may hold the id of the request.
    """

    url: str
    headers: Dict[str, str]
    data: bytes
    limits: ResolvedLimits
    secrets: Sequence[str]
    id_headers: Sequence[str]


def read_answer(
    transport: Transport, post: Post, dialect: Dialect, decoder: Decoder, context: CallContext
) -> Iterator[StreamChunk]:
    """Send the request and yield the chunks of its answer.

    Raises:
        LlmError: while iterating, when the answer failed. The error shows no secret.
    """
    # requests reads the HTTP session's headers now; they may have changed since stream().
    secrets = with_carried(post.secrets, *read_carried(*transport.carried()))
    context.secrets = secrets
    trace = _Trace(secrets) if log.isEnabledFor(logging.DEBUG) else None
    answer: Optional[Answer] = None
    try:
        if trace is not None:
            trace.show("sent: POST %s %s %s", post.url, post.headers, post.data)
        answer = _open(transport, post, secrets, context)
        pieces = answer.pieces()
        if trace is not None:
            trace.show("received: HTTP %s %s", answer.status, answer.headers)
            pieces = trace.pass_on(pieces)
        if not 200 <= answer.status < 300:
            body = answer.read_error_body()
            raise LlmError.from_failure(failure_from_answer(
                answer.status, answer.headers, body,
                address=post.url, id_headers=post.id_headers, secrets=secrets,
            ))
        # chain() has no close(), so the end of iter_chunks does not close the pieces. After a
        # proven end, finish() below keeps the connection; closing the pieces would drop it.
        yield from iter_chunks(
            chain(pieces),
            dialect,
            decoder,
            post.limits,
            origin=lambda: _origin(answer, post.url, secrets),
            raw_events=context.raw_events,
        )
    except LlmError as error:
        _scrub(error, context, answer, secrets)
        if trace is not None:
            trace.show("failed: %s", error)
        raise
    finally:
        context.connected(None)
        if answer is not None:
            if decoder.done:
                answer.finish()
            else:
                answer.close()


def _open(
    transport: Transport, post: Post, secrets: Sequence[str], context: CallContext
) -> Answer:
    answer = transport.open(
        post.url,
        post.headers,
        post.data,
        limits=post.limits,
        cancel=context.stop,
        budget=context.budget,
        secrets=secrets,
        on_resend=context.count_resend,
    )
    context.connected(answer.close)
    context.status = answer.status
    found = request_id(answer.headers, post.id_headers)
    context.request_id = found and mask(found, secrets)
    return answer


def _origin(answer: Optional[Answer], url: str, secrets: Sequence[str]) -> str:
    assert answer is not None
    kind = answer.headers.get("content-type") or "none"
    return (
        f" (HTTP {answer.status}, content type {kind[:80]!r}, from {mask(url, secrets)};"
        " is the base URL right?)"
    )


def _scrub(
    error: LlmError, context: CallContext, answer: Optional[Answer], secrets: Sequence[str]
) -> None:
    """Mask the secrets in an error; add the status and request id of the answer."""
    failure = error.failure
    found = failure.request_id or context.request_id
    facts: Dict[str, Any] = {
        "message": mask(failure.message, secrets), "request_id": found and mask(found, secrets),
    }
    if failure.details:
        facts["details"] = {
            name: mask(value, secrets) if isinstance(value, str) else value
            for name, value in failure.details.items()
        }
    if failure.status is None and answer is not None:
        facts["status"] = answer.status  # but a status given in the stream is kept
    if _shows_secret(failure.code, secrets):
        facts.update(code="SERVER", retryable=CODES["SERVER"])
    error.with_facts(**facts)
    drop_causes_with_secrets(error, secrets)


def _shows_secret(code: str, secrets: Sequence[str]) -> bool:
    """Say whether a code holds a secret. A code may be a provider's word in upper case."""
    return code not in CODES and mask(code, [secret.upper() for secret in secrets]) != code


class _Trace:
    """Logs what is sent and received, with secrets masked."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets

    def show(self, form: str, *shown: Any) -> None:
        masked = [
            dict(redact_headers(item)) if isinstance(item, Mapping) else
            item.decode("utf-8", "replace") if isinstance(item, bytes) else item
            for item in shown
        ]
        log.debug("%s", mask(form % tuple(masked), self._secrets))

    def pass_on(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        held = b""  # these bytes may begin a secret, so they are logged with the next piece
        for piece in pieces:
            held += piece
            begun = begun_secret(held, self._secrets)
            shown, held = held[: len(held) - begun], held[len(held) - begun:]
            if shown:
                self.show("received: %s", shown)
            yield piece
