# SPDX-License-Identifier: MIT
"""Headers of an answer: how long to wait, whether to try again, the request's id.

In: headers by name. Out: seconds, a yes or no, an id; None where nothing is said.
Refused: nothing; a value that makes no sense counts as not sent.
Written in: RFC 9110 §10.2.3 for Retry-After; the others in providers' own pages.
"""

from __future__ import annotations

import math
import re
from datetime import timezone
from typing import Dict, Mapping, Optional, Sequence, Tuple

from .wording import one_line

_REQUEST_ID_HEADERS = (
    "x-request-id",  # OpenAI and most others
    "request-id",  # Anthropic
    "x-amzn-requestid",  # Bedrock
    "apim-request-id",  # Azure
    "x-ms-request-id",  # Azure
    "nvcf-reqid",  # NVIDIA
    "mistral-correlation-id",
)


def lowered(headers: Mapping[str, str]) -> Dict[str, str]:
    """Return the headers under lower-case names: HTTP names have no case."""
    return {str(name).lower(): str(value) for name, value in headers.items()}


def should_retry(given: Mapping[str, str], usual: bool) -> bool:
    """Say whether another try can help: the provider's ``x-should-retry``, else ``usual``."""
    word = given.get("x-should-retry", "").strip().lower()
    return word == "true" if word in ("true", "false") else usual


def request_id(headers: Mapping[str, str]) -> Optional[str]:
    """Return the id under which the provider's support finds the request, or None."""
    return any_request_id(lowered(headers), None, ())


def any_request_id(
    given: Mapping[str, str], told: Optional[str], secrets: Sequence[str]
) -> Optional[str]:
    """Return the request's id from lower-case headers, or the one its body ``told``, or None."""
    candidates: Tuple[Optional[str], ...] = (
        *(given.get(name, "").strip() for name in _REQUEST_ID_HEADERS),
        told,
        given.get("cf-ray"),  # last: it names the edge's request, not the provider's
    )
    return next((one_line(one, secrets) for one in candidates if one), None)


def retry_after_seconds(headers: Mapping[str, str], now: float) -> Optional[float]:
    """Read how long the provider asks to wait: 0 or more seconds, or None.

    ``retry-after-ms`` (OpenAI, Azure) is finer and wins, but for a 0 that contradicts
    ``Retry-After`` (RFC 9110 §10.2.3: seconds or a date; decimals occur). A date gone
    by is 0. What is negative, not finite or no number at all is None.

    Args:
        headers: the answer's headers, in any case.
        now: seconds since the epoch, which a date is counted from.
    """
    given = lowered(headers)
    fine = number(given.get("retry-after-ms", ""))
    fine = fine if fine is None else fine / 1000
    text = given.get("retry-after", "").strip()
    coarse = number(text)
    if coarse is None:
        coarse = _seconds_until(text, now)
    return fine or (fine if coarse is None else coarse)


def number(text: str) -> Optional[float]:
    """Read a plain decimal, 0 or more; None for signs, exponents and words (float takes them)."""
    if not re.fullmatch(r"\+?(?:[0-9]+\.?[0-9]*|\.[0-9]+)", text.strip()):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _seconds_until(text: str, now: float) -> Optional[float]:
    if not text[:1].isalpha():  # a date begins with its weekday; the parser takes far more
        return None
    from email.utils import parsedate_to_datetime  # 10 ms to import, for a rare header

    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        seconds = date.timestamp() - now
    except (TypeError, ValueError, IndexError, OverflowError):  # no date: rubbish
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
