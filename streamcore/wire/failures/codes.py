# SPDX-License-Identifier: MIT
"""Which code an error has, and whether another try can help.

In: the HTTP status, if there is one, and the ``ErrorFacts``. Out: a code of ``errors.CODES``
or ``HTTP_<n>``, and whether another try can help. Refused: nothing. The order (DESIGN.md §6):
an exact provider code or type, then 401 and 402, then words about a rate per time, money, any
rate, the content, the context and the key, then the status. To add an error, add its name with
its provider here. If only its words identify it, extend a pattern in ``words``. Add a row to
the tests, too.
"""

from __future__ import annotations

import re
from typing import Dict, Optional, Tuple, Union

from ...values.errors import is_retryable
from . import words
from .facts import ErrorFacts

# Names are in lower case without punctuation (RateLimitReached = rate_limit_reached). Under a
# code are names that mean that code with any status. Under a status are vaguer names. They mean
# that status only if the error has no status itself, as an error inside a 200 stream.
NAMES: Dict[Union[str, int], Tuple[str, ...]] = {
    "CONTEXT_WINDOW_EXCEEDED": (
        "contextlengthexceeded contextwindowexceeded modelcontextwindowexceeded",  # OpenAI, …
        "modelmaxprompttokensexceeded",  # GitHub Copilot
        "exceedcontextsizeerror",  # llama.cpp
        "toomanyprompttokens",  # Perplexity
        "1261",  # Zhipu: prompt over the maximal length
    ),
    "QUOTA": (
        "insufficientquota billinghardlimitreached billingnotactive",  # OpenAI
        "billingerror",  # Anthropic
        "exceededcurrentquotaerror",  # Moonshot
        "insufficientbalance insufficientcredits paymentrequired paymentmethodrequired",
        "arrearage allocationquotafreetieronly",  # DashScope
        "accountoverdueerror accountquotaexceeded setlimitexceeded",  # Volcengine Ark
        "servicequotaexceededexception",  # Bedrock
        "insufficientuserquota preconsumetokenquotafailed",  # one-api gateways
        "budgetexceeded",  # LiteLLM
        "usagelimitreached usagelimitexceeded",  # subscription windows of hours or weeks
        "1113 1308 1309 1310",  # Zhipu: arrears; plan's hours, end, week used up
    ),
    "RATE_LIMIT": (
        "ratelimitexceeded ratelimitreached ratelimitreachederror",
        "tokenquotaexceeded requestquotaexceeded",  # Cerebras, per minute or day
        "throttling throttlingratequota throttlingburstrate throttlingallocationquota",  # DashScope
        "limitrequests limitburstrate",  # DashScope; its allocation quota is per minute
        "throttlingexception",  # Bedrock
        "requestlimitexceeded",  # Databricks
        "1302 1303 1304",  # Zhipu: concurrency, frequency, calls of a day
    ),
    "AUTH": (
        "invalidapikey incorrectapikey incorrectapikeyerror wrongapikey apikeyinvalid",
        "authenticationerror invalidauthenticationerror invalidauthentication",
        "credentialsmissing accesstokenexpired",  # Google's reasons
    ),
    "CONTENT_FILTER": (
        "contentfilter contentpolicyviolation responsibleaipolicyviolation",  # OpenAI, Azure
        "invalidprompt",  # OpenAI: the prompt was flagged
        "datainspectionfailed",  # DashScope
        "sensitivewordsdetected 1301",  # one-api, Zhipu
    ),
    400: (
        "invalidrequesterror invalidrequest invalidargument badrequest badrequesterror",
        "failedprecondition outofrange validationerror invalidparameter",
        "invalidparametererror toolusefailed",
    ),
    401: ("unauthenticated unauthorized",),
    403: ("permissiondenied permissionerror permissiondeniederror forbidden accessdenied",),
    404: ("notfound notfounderror modelnotfound resourcenotfounderror",),
    408: ("requesttimeout",),
    409: ("conflict conflicterror aborted",),
    413: ("requesttoolarge",),
    422: ("unprocessableentity unprocessableentityerror",),
    429: ("resourceexhausted toomanyrequests toomanyrequestserror ratelimiterror",),
}
MEANINGS: Dict[str, Union[str, int]] = {
    name: meaning for meaning, lines in NAMES.items() for line in lines for name in line.split()
}
"""The code or the HTTP status that a provider's own code, type or reason means."""

CODE_BY_STATUS: Dict[Optional[int], str] = {
    **dict.fromkeys((400, 422), "INVALID_REQUEST"), **dict.fromkeys((401, 403), "AUTH"),
    402: "QUOTA", 408: "TIMEOUT", 429: "RATE_LIMIT", None: "SERVER",
    413: "INVALID_REQUEST",  # too many bytes; it means too many tokens only if words say so
}  # fmt: skip
"""The code of a status below 500 if nothing else tells; any other is ``HTTP_<n>``."""

# After these no other try helps, even if a gateway sends 429 or 503 with them.
_HOPELESS_NAMES = frozenset((
    *("modelnotfound", "modelnotsupported", "modelnotexist", "nosuchmodel", "invalidmodel"),
    *("deploymentnotfound", "notsupportederror", "unsupportedmodel", "unknownmodel"),
))  # fmt: skip

# With these statuses, words about context do not mean a full context window: 401 and 403 are
# about the caller, and 429 is about time, because long prompts use up a rate.
_NEVER_CONTEXT = (401, 403, 429)
_MAYBE_KEY = (400, None)  # Google and Cloudflare send 400 for a wrong key


def code_for(status: Optional[int], facts: ErrorFacts) -> str:
    """Return the code of an error.

    Args:
        status: the HTTP status, 400 or more; None for an error in a stream without one.
        facts: the facts of the error.
    """
    meanings = [MEANINGS.get(_plain(name)) for name in facts.names]
    codes = [meaning for meaning in meanings if isinstance(meaning, str)]
    if status is None:
        status = next((meaning for meaning in meanings if isinstance(meaning, int)), None)
    if codes:  # another code goes first: gateways name every 429 a rate limit
        code = min(codes, key="RATE_LIMIT".__eq__)
    elif status in (401, 402):
        code = CODE_BY_STATUS[status]
    else:
        code = _code_by_words(status, _text(facts)) or _code_by_status(status)
    if code == "CONTEXT_WINDOW_EXCEEDED" and words.only_the_cap_is_too_big(_text(facts)):
        return "INVALID_REQUEST"
    return code


def helps_to_retry(code: str, facts: ErrorFacts) -> bool:
    """Say whether another try can help: the code allows it, and no name or word excludes it."""
    if not is_retryable(code) or _HOPELESS_NAMES.intersection(map(_plain, facts.names)):
        return False
    text = _text(facts)
    return not (words.HOPELESS.search(text) or words.asks_for_more_than_a_limit(text))


def _code_by_words(status: Optional[int], text: str) -> Optional[str]:
    for pattern, code, applies in (
        (words.RATE_PER_TIME, "RATE_LIMIT", True),
        (words.MONEY, "QUOTA", True),
        (words.RATE, "RATE_LIMIT", True),
        (words.CONTENT, "CONTENT_FILTER", True),
        (words.CONTEXT, "CONTEXT_WINDOW_EXCEEDED", status not in _NEVER_CONTEXT),
        (words.KEY, "AUTH", status in _MAYBE_KEY),
    ):
        if applies and pattern.search(text):
            return code
    return None


def _code_by_status(status: Optional[int]) -> str:
    usual = "SERVER" if status is not None and 500 <= status < 600 else f"HTTP_{status}"
    return CODE_BY_STATUS.get(status, usual)


def _plain(name: str) -> str:
    """RateLimit_Reached → ratelimitreached; of AWS's ``namespace#Type:url`` only the type."""
    name = name.split("#")[-1].split(":")[0]
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _text(facts: ErrorFacts) -> str:
    """Return the sentences, and the names split into words: MonthlyLimit → Monthly Limit."""
    names = re.sub(r"(?<=[a-z])(?=[A-Z])|[_.-]+", " ", "\n".join(facts.names))
    text = "\n".join((*facts.messages, names))
    return re.sub(r"https?://\S+", " ", text)  # a link to a page on rate limits proves nothing
