# SPDX-License-Identifier: MIT
"""Headers of an answer: how long to wait, whether to try again, the request's id.

In: headers by name. Out: seconds, a yes or no, an id; None if no header tells it.
Refused: nothing; a value that makes no sense counts as not sent.
Source: RFC 9110 §10.2.3 for Retry-After, and the providers' own pages for the others.
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
"""The headers that may hold the request's id, best first. A profile may name its own."""


def lowered(headers: Mapping[str, str]) -> Dict[str, str]:
    """Return the headers under lower-case names, because HTTP ignores the case of names."""
    return {str(name).lower(): str(value) for name, value in headers.items()}


def should_retry(given: Mapping[str, str]) -> Optional[bool]:
    """Return whether the provider wants another try (``x-should-retry``), or None."""
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
        told: the id in the body; it is used if none of these headers has one.
        secrets: texts that must not appear in the id.
    """
    given = lowered(headers)
    found = [given.get(name.lower(), "").strip() for name in names or REQUEST_ID_HEADERS]
    # Cloudflare's id comes last: it names a request to Cloudflare, not to the provider.
    candidates = (*found, told, given.get("cf-ray"))
    return next((one_line(one, secrets) for one in candidates if one), None)


def retry_after_seconds(headers: Mapping[str, str], now: float) -> Optional[float]:
    """Return how long the provider asks to wait: 0 or more seconds, or None.

    ``Retry-After`` holds seconds or a date (RFC 9110 §10.2.3); decimals occur. A past date is
    0. ``retry-after-ms`` (OpenAI, Azure) is finer and wins, unless it is 0 and ``Retry-After``
    is not. A value that is negative, not finite or not a number counts as not sent. If neither
    header helps, the headers of Anthropic's used-up limits count: they tell when each limit is
    full again.

    Args:
        headers: the answer's headers, in any case.
        now: the present time, in seconds since the epoch, to count a date from.
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
    """Read a decimal of 0 or more, such as "20.5" or "20.5s"; None for anything else."""
    found = re.fullmatch(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)s?", text.strip())
    value = float(found.group(1)) if found else math.inf
    return value if math.isfinite(value) else None


def _seconds_until(text: str, now: float) -> Optional[float]:
    if not text[:1].isalpha():  # a date begins with its weekday; the parser accepts much more
        return None
    from email.utils import parsedate_to_datetime  # 10 ms to import, for a rare header

    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        left = date.timestamp() - now
    except (TypeError, ValueError, IndexError, OverflowError):  # not a date
        return None
    return max(0.0, left) if math.isfinite(left) else None


def _until_reset(given: Mapping[str, str], now: float) -> Optional[float]:
    """Return the seconds until the last of Anthropic's used-up limits is full again, or None."""
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
        except (ValueError, OverflowError):  # not a date and time
            continue
    return max(waits, default=None)
