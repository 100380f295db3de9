# SPDX-License-Identifier: MIT
"""Patterns that tell what the sentence of an error is about.

In: the words of an error, in English or Chinese. Out: whether they are about a rate, money,
the content, the context or the key, and whether another try cannot help. Refused: nothing.
``codes`` holds the order in which the patterns are tried.
"""

from __future__ import annotations

import re
from typing import List, Pattern


def _words(*patterns: str) -> Pattern[str]:
    # Every repeat in the patterns is bounded, so a search takes time in proportion to the text.
    return re.compile("|".join(patterns), re.IGNORECASE)


RATE_PER_TIME = _words(
    # An amount per time. Abbreviations like RPM count only in upper case.
    r"\bper[ -]?(?:sec|min|hour|day)",
    r"(?:requests?|tokens?|queries|calls)/(?:s|m|h|d|sec|min|minute|hour|day)\b",
    r"(?-i:\b(?:[RQ]P[SMHD]|[IO]?TP[SMHD])\b)",
    # Too fast, or too many at once.
    r"requests? (?:are |is )?too (?:frequent|fast)|\bthrottl(?:ed|ing)",
    r"\bconcurren\w{1,4}[^.]{0,40}(?:limit|exceed|reached|reduce)",
    # Requests too frequent; frequency; concurrency; flow limit; rate.
    r"请求过于频繁|频率|并发|限流|速率",
)
"""A limit per second, minute or day: waiting helps."""

RATE = _words(r"rate[ _-]?limit|too[ _]?many[ _]?requests")
"""A limit of some kind. Gateways use these words for spent money too, so MONEY goes first."""

MONEY = _words(
    # There is nothing left, or more must be bought.
    r"(?:insufficient|not enough|run out of|\bout of|no (?:remaining|more|available)"
    r"|requires more|purchase(?: more)?|add(?: more)?|have (?:any|enough|sufficient)"
    r"|used (?:up )?all(?: \w{1,20})?)"
    r"[ _-](?:\w{1,20}[ _])?(?:balance|credits?|quota|funds)",
    r"balance (?:is |was |has been )?"
    r"(?:too low|insufficient|not enough|exhausted|depleted|used up|negative|\$?0\b)",
    # A quota, a budget or a cap on spending is used up, in either word order.
    r"(?:exceeded|reached|exhausted|depleted|used up) (?:your|the|its) (?:[\w-]{1,20} ){0,3}"
    r"(?:quota|credits|balance|budget)",
    r"(?:quota|budget|credits?)[ _]?(?:has been |have been |is |are )?"
    r"(?:exceeded|exhausted|depleted|reached|used up|not enough|insufficient)",
    r"(?:spend(?:ing)?|billing|usage|budget|credit|monthly|weekly|\bkey)[ _](?:hard )?(?:limit|cap)"
    r"[^.]{0,30}(?:reached|exceeded|exhausted)",
    r"(?:reach(?:ed|es)|exceed(?:s|ed|ing)?|hit)[^.]{0,40}"
    r"(?:spend(?:ing)?|billing|usage|budget|credit|monthly|weekly)[ _](?:limit|cap|budget|credits)",
    # Subscriptions: windows of hours, and usage beyond them.
    r"\d[ -]hours?(?: usage)? (?:limit|quota)[^.]{0,30}(?:reached|exceeded|exhausted|used up)",
    r"(?:reached|exceeded|hit) [^.]{0,30}\d[ -]hours?(?: usage)? (?:limit|quota)",
    r"\bextra usage\b|check your (?:plan and )?billing|can only afford",
    r"free (?:tier|quota)[^.]{0,40}exhausted",
    # Bills.
    r"payment (?:method )?(?:is )?required|overdue (?:balance|payment)|arrear|unpaid|past invoices",
    r"\brecharge\b|\btop[ -]?up\b|in good standing",
    # Balance; in arrears; recharge; an allowance or quota that is short or used up.
    r"余额|欠费|充值|(?:额度|配额)[^。]{0,8}(?:不足|用尽|耗尽|用完|超)",
)
"""Money, credit or a quota is used up: waiting does not help."""

CONTENT = _words(
    r"content exists risk",  # DeepSeek
    r"(?:block|filter|reject|refus|flag)\w{1,3} (?:by|due to|because of|as|for)[^.]{0,40}"
    r"(?:content[ -](?:filter|polic|management|moderation)|safety|moderation|sensitive"
    r"|inappropriate|harmful|unsafe|violat)",
    r"contains? [^.]{0,20}(?:inappropriate|prohibited|sensitive|harmful|unsafe) (?:content|words)",
    r"violat\w{1,4}[^.]{0,40}(?:content|usage|safety) (?:management )?polic",
    r"content (?:management|filter(?:ing)?|safety) polic",
    r"(?:content|prompt)s? (?:was|were|is) flagged",
    # Sensitive or unlawful words; a review of the content that failed.
    r"敏感(?:词|内容|信息)|违规|内容(?:安全|审核)[^。]{0,12}(?:拦截|不通过|未通过|不合规|失败)",
)
"""The content is refused. The same request would be refused again."""

CONTEXT = _words(
    # The window by its name.
    r"context[ _-]?(?:length|window|size|limit)[ _-]?(?:is |was |has been )?"
    r"(?:exceed|overflow|full)",
    r"(?:exceed\w{0,3}|too (?:large|long|big) for|not fit(?: in| into)?)"
    r" (?:[\w']{1,20} ){0,4}context\b",
    r"exceed[^.]{0,60}\bcontext[ _-]?(?:length|window|size|limit)|exceed_context|context overflow",
    r"\bmax(?:imum)?(?: supported| allowed)? context|n_keep[^.]{0,30}n_ctx",
    r"(?:longer|larger|greater|more) than [^.]{0,60}\bcontext[ _-]?(?:length|window|size)",
    r"context (?:length|window|size) (?:is|of) (?:only )?\d",
    # SiliconFlow; Volcengine; GitHub Models.
    r"max_seq_len|exceed[^.]{0,30}\bmax message tokens|tokens[_ ]limit[_ ]reached",
    # A prompt or an input is too long. The word "input" or "prompt" must be there, because a
    # tool's description, an image or max_tokens can be too long in a request that fits.
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
    # A limit of tokens. Tokens per minute are a rate instead.
    r"exceed(?:s|ed|ing)? (?:the )?(?:model|input|prompt)(?:'s)? token limit",
    r"input token count is \d+ but",
    r"exceed(?:s|ed|ing)?[^.]{0,40}max(?:imum)? (?:number of )?tokens? ?(?:limit|allowed)",
    r"too[ _]many[ _](?:input[ _]|prompt[ _])?tokens(?!,? (?:please |wait|per|processed))",
    r"reduce the (?:length|size) of (?:the |your )?(?:messages|prompt|input|conversation|context)",
    # Context exceeded or too long; over the context or the maximal length; input too long.
    r"上下文[^。]{0,12}(?:超|过长)|(?:超出|超过)[^。]{0,20}(?:上下文|最大长度|长度限制)",
    r"(?:输入|提示词?)[^。]{0,8}(?:过长|超长|超限)",
)
"""The prompt does not fit the model's window; a shorter one would (E4)."""

KEY = _words(
    # The key by its name.
    r"(?:invalid|incorrect|wrong|missing|expired|malformed|revoked|no|provide an) api[ _-]?key",
    r"api[ _-]?key[^.]{0,30}(?:not valid|invalid|incorrect|missing|expired|revoked|not found"
    r"|(?:is|was) required|not provided)",
    # Authentication failed, or its data is wrong.
    r"unable to authenticate|authentication (?:fail|error|required)|authorization token missing",
    r"(?:invalid|missing|expired) (?:authentication|credentials?|access token|bearer)",
    r"^\W*unauthori[sz]ed|unauthenticated|no (?:\w{1,20} )?auth credentials|login fail",
    # Authentication failed, in two wordings; an invalid token.
    r"认证失败|鉴权失败|无效的令牌",
)
"""The key is missing or wrong, in an error with another status than 401."""

HOPELESS = _words(
    r"request too large|extra usage is required",
    r"\blimit(?: is| of|:|=)? ?['\"]?0\b(?![.,]?\d)",  # nothing at all is granted
    r"\bmodel\b[^.]{0,80}\bdoes(?: not|n't) exist",
)
"""Another try cannot help, whatever the status and the code."""

_NUMBER = r"([0-9][0-9,]{0,15})"
_LIMIT, _REQUESTED = rf"\blimit(?: is| of|:)? {_NUMBER}", rf"\brequested:? {_NUMBER}"
_BOTH = re.compile(rf"{_LIMIT}[^.]{{0,60}}{_REQUESTED}|{_REQUESTED}[^.]{{0,60}}{_LIMIT}", re.I)
_WINDOW = re.compile(
    rf"context (?:length|window|size)(?: is| of|:) (?:only )?{_NUMBER}|<= {_NUMBER}"
    rf"|{_NUMBER} \+ {_NUMBER} > {_NUMBER}",
    re.IGNORECASE,
)
_PROMPT = re.compile(
    rf"{_NUMBER} (?:tokens )?(?:in|of|from) (?:the )?(?:messages|functions|prompt|tool input"
    rf"|text input|input)|{_NUMBER} `?(?:prompt|inputs?)`? tokens|{_NUMBER} \+ {_NUMBER} > ",
    re.IGNORECASE,
)
_CAP = re.compile(r"completion|output|max_\w{0,12}tokens|\bmax tokens", re.IGNORECASE)
_ROOM = 0.9  # a prompt that fills more of the window leaves no room for an answer


def asks_for_more_than_a_limit(text: str) -> bool:
    """Say whether one request asks for more than a limit, as in "Limit 6000, Requested 12328"."""
    found = _BOTH.search(text)
    if found is None:
        return False
    first, second = _numbers(found)
    return second > first if found.group(1) else first > second


def only_the_cap_is_too_big(text: str) -> bool:
    """Say whether the prompt alone fits the window with room for an answer.

    Then the output cap is what makes the request too big.
    """
    window, parts = _WINDOW.search(text), list(_PROMPT.finditer(text))
    if window is None or not parts or not _CAP.search(text):
        return False
    return sum(_numbers(part)[0] for part in parts) <= _ROOM * _numbers(window)[-1]


def _numbers(found: "re.Match[str]") -> List[int]:
    return [int(group.replace(",", "")) for group in found.groups() if group]
