# SPDX-License-Identifier: MIT
"""One request, sent once, and its answer as chunks.

In: URL, headers, body bytes, limits, the secrets among them. Out: chunks; for an
answer that is none, the ``LlmError`` it means. Nothing that leaves here shows a
secret. The wire trace (this module's logger at DEBUG) shows both directions, masked;
urllib3's own logger at DEBUG writes the path and query of each request as they are, so a
key that travels in a query is safe only where that logger is left off.
"""

from __future__ import annotations

import logging
from functools import partial
from itertools import chain
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence

from ..transport import Answer, Transport
from ..values.calls import CallContext
from ..values.chunks import StreamChunk
from ..values.errors import CODES, Failure, LlmError
from ..values.limits import ResolvedLimits
from ..values.redaction import redact_headers
from ..wire.dialects import make_decoder
from ..wire.dialects.options import DialectOptions
from ..wire.failures import failure_from_answer, request_id
from ..wire.pipeline import iter_chunks
from .carried import read_carried
from .secrets import begun_secret, drop_telling_causes, mask, with_carried

log = logging.getLogger(__name__)


class Attempt:
    """One dispatch of one request: all it needs, taken when it was made."""

    def __init__(
        self,
        dialect: str,
        url: str,
        headers: Dict[str, str],
        data: bytes,
        limits: ResolvedLimits,
        secrets: Sequence[str],
        options: DialectOptions,
        json_loads: Optional[Callable[[str], Any]] = None,
    ) -> None:
        self.dialect = dialect
        self.url = url
        self.headers = headers
        self.data = data
        self.limits = limits
        self.secrets = secrets
        self.options = options
        self.json_loads = json_loads

    def run(self, transport: Transport, context: CallContext) -> Iterator[StreamChunk]:
        """Yield the chunks of the answer. Raises LlmError; no secret is in it."""
        answer: Optional[Answer] = None
        # Read now, as requests does: a session's headers may have changed since stream().
        self.secrets = with_carried(self.secrets, *read_carried(*transport.carried()))
        decoder = make_decoder(
            self.dialect, self.options, self.limits, context.diagnostics, self.json_loads
        )
        tracing = log.isEnabledFor(logging.DEBUG)
        if tracing:
            self._trace("sent: POST %s %s %s", self.url, self.headers, self.data)
        try:
            answer = self._open(transport, context)
            if tracing:
                self._trace("received: HTTP %s %s", answer.status, answer.headers)
            if not 200 <= answer.status < 300:
                raise self._refused(answer)
            # chain() has no close(): a body that was read to its proven end is finished
            # below, and its connection kept, rather than dropped with the generator.
            pieces = chain(self._traced(answer.pieces()) if tracing else answer.pieces())
            yield from iter_chunks(
                pieces,
                decoder,
                self.limits,
                origin=partial(self._origin, answer),
                raw_events=context.raw_events,
            )
        except LlmError as error:
            raise self._scrub(error, context, answer, tracing)
        finally:
            context.connected(None)
            if answer is not None:
                if decoder.done:
                    answer.finish()
                else:
                    answer.close()

    def _open(self, transport: Transport, context: CallContext) -> Answer:
        answer = transport.open(
            self.url,
            self.headers,
            self.data,
            limits=self.limits,
            cancel=context.stop,
            budget=context.budget,
            secrets=self.secrets,
            on_resend=context.count_resend,
        )
        context.connected(answer.close)
        context.status = answer.status
        found = request_id(answer.headers)
        context.request_id = found and mask(found, self.secrets)
        return answer

    def _refused(self, answer: Answer) -> LlmError:
        body = answer.read_error_body()
        failure = failure_from_answer(
            answer.status, answer.headers, body, secrets=self.secrets
        )
        return LlmError.from_failure(failure)

    def _origin(self, answer: Answer) -> str:
        kind = answer.headers.get("content-type") or "none"
        shown = mask(self.url, self.secrets)
        return (
            f" (HTTP {answer.status}, content type {kind[:80]!r}, from {shown};"
            " is the base URL right?)"
        )

    def _traced(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        held = b""  # the start of a secret, perhaps: shown, or masked, with what follows
        for piece in pieces:
            held += piece
            begun = begun_secret(held, self.secrets)
            shown, held = held[: len(held) - begun], held[len(held) - begun:]
            if shown:
                self._trace("received: %s", shown)
            yield piece

    def _trace(self, form: str, *shown: Any) -> None:
        masked = [
            dict(redact_headers(item)) if isinstance(item, Mapping) else
            item.decode("utf-8", "replace") if isinstance(item, bytes) else item
            for item in shown
        ]
        log.debug("%s", mask(form % tuple(masked), self.secrets))

    def _scrub(
        self, error: LlmError, context: CallContext, answer: Optional[Answer], tracing: bool
    ) -> LlmError:
        failure: Failure = error.failure
        found = failure.request_id or context.request_id
        facts: Dict[str, Any] = {
            "message": mask(failure.message, self.secrets),
            "request_id": found and mask(found, self.secrets),
        }
        if failure.status is None and answer is not None:
            facts["status"] = answer.status  # a provider's own, in the stream, is kept
        if self._is_telling(failure.code):
            facts.update(code="SERVER", retryable=CODES["SERVER"])
        error.with_facts(**facts)
        drop_telling_causes(error, self.secrets)
        if tracing:
            self._trace("failed: %s", error)
        return error

    def _is_telling(self, code: str) -> bool:
        """Say whether a code, a finish word in upper case, has a secret in it."""
        if code in CODES:
            return False
        return mask(code, [secret.upper() for secret in self.secrets]) != code
