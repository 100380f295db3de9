# SPDX-License-Identifier: MIT
"""Vocabulary: the names, numbers and words of providers' errors, as tables.

In: nothing. Out: which code or status a name stands for, which code a status has, and
patterns for what sentences are about. To teach a new error: add its name, with whose it
is, or, where only its words tell, a branch of a pattern; and a row in the tests.
``codes`` holds the order in which the tables are asked.
"""

from __future__ import annotations

import re
from typing import Dict, Mapping, Pattern, Tuple, TypeVar

Meaning = TypeVar("Meaning", str, int)


def _by_name(table: Mapping[Meaning, Tuple[str, ...]]) -> Dict[str, Meaning]:
    return {name: key for key, lines in table.items() for line in lines for name in line.split()}


# Names are written without case and punctuation (RateLimitReached = rate_limit_reached).

# Only names that mean one thing whatever the status; vague ones are in NAMES_OF_STATUS.
NAMES_OF_CODE: Dict[str, Tuple[str, ...]] = {
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
        "accountoverdueerror setlimitexceeded",  # Volcengine Ark
        "servicequotaexceededexception",  # Bedrock
        "insufficientuserquota preconsumetokenquotafailed",  # one-api gateways
        "budgetexceeded",  # LiteLLM
        "usagelimitreached",  # subscription windows of hours or weeks
        "1113 1308 1309 1310",  # Zhipu: arrears; plan's hours, end, week used up
    ),
    "RATE_LIMIT": (
        "ratelimitexceeded ratelimiterror ratelimitreached ratelimitreachederror ratelimited",
        "modelratelimit",  # Together
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
        "datainspectionfailed",  # DashScope
        "sensitivewordsdetected 1301",  # one-api, Zhipu
    ),
}
CODE_BY_NAME: Dict[str, str] = _by_name(NAMES_OF_CODE)
"""The code of a provider's own code, type or reason."""

# What a vague name stands for where no number says it: an error inside a 200 stream.
NAMES_OF_STATUS: Dict[int, Tuple[str, ...]] = {
    400: (
        "invalidrequesterror invalidrequest invalidargument badrequest badrequesterror",
        "failedprecondition outofrange validationerror invalidparameter",
        "invalidparametererror invalidprompt toolusefailed",
    ),
    401: ("unauthenticated unauthorized",),
    403: ("permissiondenied permissionerror permissiondeniederror forbidden accessdenied",),
    404: ("notfound notfounderror modelnotfound resourcenotfounderror",),
    408: ("requesttimeout",),
    409: ("conflict conflicterror aborted",),
    413: ("requesttoolarge",),
    422: ("unprocessableentity unprocessableentityerror",),
    429: ("resourceexhausted toomanyrequests toomanyrequestserror",),
}
STATUS_BY_NAME: Dict[str, int] = _by_name(NAMES_OF_STATUS)
"""The HTTP status that a provider's vague name stands for."""

CODE_BY_STATUS: Dict[int, str] = {
    400: "INVALID_REQUEST",
    401: "AUTH",
    402: "QUOTA",
    403: "AUTH",
    408: "TIMEOUT",
    413: "INVALID_REQUEST",  # too many bytes; too many tokens only where the words say so
    422: "INVALID_REQUEST",
    429: "RATE_LIMIT",
}
"""The code of a status below 500 where nothing else tells; any other is ``HTTP_<n>``."""


def _words(*patterns: str) -> Pattern[str]:
    # Every repeat in the patterns is bounded: a hostile text costs no more than its length.
    return re.compile("|".join(patterns), re.IGNORECASE)


RATE_WORDS = _words(
    # A limit of so much in so much time. Names like GenerateRequestsPerMinute, and
    # abbreviations like RPM, count in their own case only ("supersecret" is about no second).
    r"\bper[ -]?(?:sec|min|hour|day)|(?-i:Per(?:Second|Minute|Hour|Day))",
    r"(?:requests?|tokens?|queries|calls)/(?:s|m|h|d|sec|min|minute|hour|day)\b",
    r"(?-i:\b(?:[RQ]P[SMHD]|[IO]?TP[SMHD])\b)",
    # Too fast, or too many at once.
    r"rate[ _-]?limit|too[ _]?many[ _]?requests|requests? (?:are |is )?too (?:frequent|fast)",
    r"\bconcurren\w{1,4}[^.]{0,40}(?:limit|exceed|reached|reduce)|\bthrottl(?:ed|ing)",
    # Requests too frequent; frequency; concurrency; flow limit; rate.
    r"请求过于频繁|频率|并发|限流|速率",
)
"""A limit per second, minute or day: waiting helps."""

MONEY_WORDS = _words(
    # Nothing left, or more to be bought.
    r"(?:insufficient|not enough|run out of|\bout of|no (?:remaining|more|available)"
    r"|requires more|purchase(?: more)?|add(?: more)?|have (?:any|enough|sufficient)"
    r"|used (?:up )?all(?: \w{1,20})?)"
    r"[ _-](?:\w{1,20}[ _])?(?:balance|credits?|quota|funds)",
    r"balance (?:is |was )?(?:too low|insufficient|not enough|exhausted|negative|\$?0\b)",
    # A quota, a budget, a cap on spending is used up, said either way round.
    r"exceeded (?:your|the|its) (?:\w{1,20} ){0,3}(?:quota|credits|balance|budget)",
    r"(?:quota|budget|credits?)[ _]?(?:has been |have been |is |are )?"
    r"(?:exceeded|exhausted|reached|used up|not enough|insufficient)",
    r"(?:spend(?:ing)?|billing|usage|budget|credit|monthly|weekly|\bkey)[ _](?:hard )?(?:limit|cap)"
    r"[^.]{0,30}(?:reached|exceeded|exhausted)",
    r"(?:reach(?:ed|es)|exceed(?:s|ed|ing)?|hit)[^.]{0,40}"
    r"(?:spend(?:ing)?|billing|usage|budget|credit|monthly|weekly)[ _](?:limit|cap|budget|credits)",
    r"check your (?:plan and )?billing|can only afford|free (?:tier|quota)[^.]{0,40}exhausted",
    # Bills.
    r"payment (?:method )?(?:is )?required|overdue (?:balance|payment)|arrear|unpaid|past invoices",
    r"\brecharge\b|\btop[ -]?up\b|in good standing",
    # Balance; in arrears; recharge; an allowance or quota that is short or used up.
    r"余额|欠费|充值|(?:额度|配额)[^。]{0,8}(?:不足|用尽|耗尽|用完|超)",
)
"""Money, credit or a quota is used up: waiting does not help."""

CONTEXT_WORDS = _words(
    # The window by its name.
    r"context[ _-]?(?:length|window|size|limit)[ _-]?(?:is |was |has been )?exceed",
    r"exceed[^.]{0,60}\bcontext[ _-]?(?:length|window|size|limit)|exceed_context|context overflow",
    r"\bmax(?:imum)?(?: supported| allowed)? context|n_keep[^.]{0,30}n_ctx",
    r"(?:longer|larger|greater|more) than [^.]{0,60}\bcontext[ _-]?(?:length|window|size)",
    r"context (?:length|window|size) (?:is|of) (?:only )?\d",
    # SiliconFlow; Volcengine; GitHub Models.
    r"max_seq_len|exceed[^.]{0,30}\bmax message tokens|tokens_limit_reached",
    # A prompt or an input that is too long. "input" and "prompt" must be there: a tool's
    # description, an image or max_tokens can be too long in a request that fits.
    r"\b(?:prompt|input|conversation)(?: tokens?| length| text| sequence| is| are| was){0,3}"
    r" too (?:long|large)",
    r"\b(?:prompt|input)s? exceeds? (?:the )?max(?:imum)? (?:allowed )?(?:length|tokens?)",
    r"\b(?:prompt|input|sequence) length[^.]{0,40} exceed|range of input length should be",
    r"\b(?:prompt|input)s?[^.,;]{0,30}(?<![a-z_])tokens?[^.,;]{0,40}"
    r"(?:exceed|(?:greater|more|larger|longer) than)",
    r"tokens in (?:the |your )?(?:request|prompt|input)[^.]{0,40}(?:exceed|more than)",
    r"max(?:imum)?(?: allowed)? (?:prompt|input|model|sequence) (?:length|len|tokens)\b",
    # Input and output together: nothing is left to answer in.
    r"\+ ?`?max_\w{0,12}tokens|must have less than \d+ tokens|max_tokens must be at least 1, got -",
    # A limit of tokens; but tokens per minute, to wait for, are a rate.
    r"exceed(?:s|ed|ing)? (?:the )?(?:model|input|prompt)(?:'s)? token limit",
    r"input token count is \d+ but",
    r"exceed(?:s|ed|ing)?[^.]{0,40}max(?:imum)? (?:number of )?tokens? ?(?:limit|allowed)",
    r"too[ _]many[ _](?:input[ _]|prompt[ _])?tokens(?!,? (?:please |wait|per|processed))",
    r"reduce the (?:length|size) of (?:the |your )?(?:messages|prompt|input|conversation|context)",
    # Context over or too long; over the context or the maximal length; input or prompt too long.
    r"上下文[^。]{0,12}(?:超|过长)|(?:超出|超过)[^。]{0,20}(?:上下文|最大长度|长度限制)",
    r"(?:输入|提示词?)[^。]{0,8}(?:过长|超长|超限)",
)
"""The prompt does not fit the model's window: a shorter one would (E4)."""

KEY_WORDS = _words(
    # The key by its name.
    r"(?:invalid|incorrect|wrong|missing|expired|malformed|revoked|no|provide an) api[ _-]?key",
    r"api[ _-]?key[^.]{0,30}(?:not valid|invalid|incorrect|missing|expired|revoked|not found"
    r"|(?:is|was) required|not provided)",
    # What the key was for.
    r"unable to authenticate|authentication (?:fail|error|required)|authorization token missing",
    r"(?:invalid|missing|expired) (?:authentication|credentials?|access token|bearer)",
    r"^\W*unauthori[sz]ed|unauthenticated|no (?:\w{1,20} )?auth credentials|login fail",
    # Authentication failed, said in two ways; an invalid token.
    r"认证失败|鉴权失败|无效的令牌",
)
"""The key is missing or wrong, said with another status than 401."""
