# SPDX-License-Identifier: MIT
"""Headers of an answer: how long to wait, whether to try again, the request's id.

In: headers by name. Out: seconds, a yes or no, an id; None where nothing is said.
Refused: nothing; a value that makes no sense counts as not sent.
Written in: RFC 9110 §10.2.3 for Retry-After; the others in providers' own pages.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from typing import Dict, Mapping, Optional, Sequence

from .message import one_line

REQUEST_ID_HEADERS = (
    "x-request-id",  # OpenAI and most others
    "request-id",  # Anthropic
    "x-amzn-requestid",  # Bedrock
    "apim-request-id",  # Azure
    "x-ms-request-id",  # Azure
    "nvcf-reqid",  # NVIDIA
    "mistral-correlation-id",
)
"""Where the request's id is looked for, best first, unless a profile names its own headers."""


def lowered(headers: Mapping[str, str]) -> Dict[str, str]:
    """Return the headers under lower-case names: HTTP names have no case."""
    return {str(name).lower(): str(value) for name, value in headers.items()}


def should_retry(given: Mapping[str, str]) -> Optional[bool]:
    """Return the provider's word on another try, ``x-should-retry``, or None."""
    return {"true": True, "false": False}.get(given.get("x-should-retry", "").strip().lower())


def request_id(
    headers: Mapping[str, str],
    names: Sequence[str] = (),
    *,
    told: Optional[str] = None,
    secrets: Sequence[str] = (),
) -> Optional[str]:
    """Return the id under which the provider's support finds the request, or None.

    Args:
        headers: the answer's headers, in any case.
        names: the headers that may hold the id, best first; by default those of
            ``REQUEST_ID_HEADERS``.
        told: the id that the body named, used where no such header has one.
        secrets: texts that must not appear in the id.
    """
    given = lowered(headers)
    found = [given.get(name.lower(), "").strip() for name in names or REQUEST_ID_HEADERS]
    # Cloudflare's comes last: it names the edge's request, not the provider's.
    candidates = (*found, told, given.get("cf-ray"))
    return next((one_line(one, secrets) for one in candidates if one), None)


def retry_after_seconds(headers: Mapping[str, str], now: float) -> Optional[float]:
    """Read how long the provider asks to wait: 0 or more seconds, or None.

    ``retry-after-ms`` (OpenAI, Azure) is finer and wins, but for a 0 that contradicts
    ``Retry-After`` (RFC 9110 §10.2.3: seconds or a date; decimals occur). A date gone
    by is 0. What is negative, not finite or no number at all is None. Where neither header
    says anything, Anthropic's limits that are used up do: it tells when each is full again.

    Args:
        headers: the answer's headers, in any case.
        now: seconds since the epoch, which a date is counted from.
    """
    given = lowered(headers)
    fine = seconds(given.get("retry-after-ms", ""))
    text = given.get("retry-after", "").strip()
    coarse = seconds(text)
    if coarse is None:
        coarse = _seconds_until(text, now)
    if coarse is None and fine is None:
        return _until_reset(given, now)
    return fine / 1000 if fine or (fine is not None and coarse is None) else coarse


def seconds(text: str) -> Optional[float]:
    """Read a plain decimal, 0 or more, also as "20.5s"; None for signs, exponents and words."""
    found = re.fullmatch(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)s?", text.strip())
    value = float(found.group(1)) if found else math.inf
    return value if math.isfinite(value) else None


def _seconds_until(text: str, now: float) -> Optional[float]:
    if not text[:1].isalpha():  # a date begins with its weekday; the parser takes far more
        return None
    from email.utils import parsedate_to_datetime  # 10 ms to import, for a rare header

    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        left = date.timestamp() - now
    except (TypeError, ValueError, IndexError, OverflowError):  # no date: rubbish
        return None
    return max(0.0, left) if math.isfinite(left) else None


def _until_reset(given: Mapping[str, str], now: float) -> Optional[float]:
    """Return how long until the last of Anthropic's used up limits is full again."""
    waits = []
    for name, value in given.items():
        limit = re.fullmatch(r"anthropic-ratelimit-([a-z-]+)-remaining", name)
        if limit is None or value.strip() != "0":
            continue
        reset = given.get(f"anthropic-ratelimit-{limit.group(1)}-reset", "").strip()
        try:
            moment = datetime.fromisoformat(re.sub("[Zz]$", "+00:00", reset))
            if moment.tzinfo is not None:
                waits.append(max(0.0, moment.timestamp() - now))
        except (ValueError, OverflowError):  # no moment: rubbish
            continue
    return max(waits, default=None)
