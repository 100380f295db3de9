# SPDX-License-Identifier: MIT
"""What a provider's error means: one ``Failure`` with a code to route on.

In: a non-2xx answer (status, headers, body), or an error object inside a stream.
Out: ``errors.Failure``. Refused: nothing; whatever comes in, a failure comes out.
The rule (design.md §6): an exact provider code or type, then 401, then 402, then
words about a rate, about money, about context, about the key, then the status.
Pure: no I/O; the wall clock is an argument and only matters to Retry-After dates.
"""

from __future__ import annotations

import json
import math
import re
import time
from datetime import timezone
from http import HTTPStatus
from typing import Any, Dict, List, Mapping, Optional, Pattern, Sequence, Tuple

from .errors import Failure, is_retryable
from .redaction import redact

_MESSAGE_CHARACTERS = 500  # a person reads it in a log line
_TEXT_CHARACTERS = 8192  # no error sentence is longer; bounds the word tests
_NODES = 100  # values looked at, so levels too; error bodies hold a dozen

# Names written without case and punctuation (RateLimitReached = rate_limit_reached).
# Only names that mean one thing whatever the status; vague ones are in _STANDS_FOR.
_EXACT: Dict[str, str] = {
    name: code
    for code, names in {
        "CONTEXT_WINDOW_EXCEEDED": (
            "contextlengthexceeded contextwindowexceeded modelcontextwindowexceeded"  # OpenAI, …
            " modelmaxprompttokensexceeded"  # GitHub Copilot
            " exceedcontextsizeerror"  # llama.cpp
            " toomanyprompttokens"  # Perplexity
            " 1261"  # Zhipu: prompt over the maximal length
        ),
        "QUOTA": (
            "insufficientquota billinghardlimitreached billingnotactive"  # OpenAI
            " billingerror"  # Anthropic
            " exceededcurrentquotaerror"  # Moonshot
            " insufficientbalance insufficientcredits paymentrequired paymentmethodrequired"
            " arrearage allocationquotafreetieronly"  # DashScope
            " accountoverdueerror setlimitexceeded"  # Volcengine Ark
            " servicequotaexceededexception"  # Bedrock
            " insufficientuserquota preconsumetokenquotafailed"  # one-api gateways
            " budgetexceeded"  # LiteLLM
            " usagelimitreached"  # subscription windows of hours or weeks
            " 1113 1308 1309 1310"  # Zhipu: arrears; plan's hours, end, week used up
        ),
        "RATE_LIMIT": (
            "ratelimitexceeded ratelimiterror ratelimitreached ratelimitreachederror ratelimited"
            " modelratelimit"  # Together
            " tokenquotaexceeded requestquotaexceeded"  # Cerebras, per minute or day
            " throttling throttlingratequota throttlingburstrate throttlingallocationquota"
            " limitrequests limitburstrate"  # DashScope; its allocation quota is per minute
            " throttlingexception"  # Bedrock
            " requestlimitexceeded"  # Databricks
            " 1302 1303 1304"  # Zhipu: concurrency, frequency, calls of a day
        ),
        "AUTH": (
            "invalidapikey incorrectapikey incorrectapikeyerror wrongapikey apikeyinvalid"
            " authenticationerror invalidauthenticationerror invalidauthentication"
            " credentialsmissing accesstokenexpired"  # Google's reasons
        ),
        "CONTENT_FILTER": (
            "contentfilter contentpolicyviolation responsibleaipolicyviolation"  # OpenAI, Azure
            " datainspectionfailed"  # DashScope
            " sensitivewordsdetected 1301"  # one-api, Zhipu
        ),
    }.items()
    for name in names.split()
}

# What a vague name stands for where no number says it: an error inside a 200 stream.
_STANDS_FOR: Dict[str, int] = {
    name: status
    for status, names in {
        400: (
            "invalidrequesterror invalidrequest invalidargument badrequest badrequesterror"
            " failedprecondition outofrange validationerror invalidparameter"
            " invalidparametererror invalidprompt toolusefailed"
        ),
        401: "unauthenticated unauthorized",
        403: "permissiondenied permissionerror permissiondeniederror forbidden accessdenied",
        404: "notfound notfounderror modelnotfound resourcenotfounderror",
        408: "requesttimeout",
        409: "conflict conflicterror aborted",
        413: "requesttoolarge",
        422: "unprocessableentity unprocessableentityerror",
        429: "resourceexhausted toomanyrequests toomanyrequestserror",
    }.items()
    for name in names.split()
}

_BY_STATUS: Dict[int, str] = {
    400: "INVALID_REQUEST",
    401: "AUTH",
    402: "QUOTA",
    403: "AUTH",
    408: "TIMEOUT",
    413: "INVALID_REQUEST",  # too many bytes; too many tokens only where the words say so
    422: "INVALID_REQUEST",
    429: "RATE_LIMIT",
}


def _words(*patterns: str) -> Pattern[str]:
    # Every repeat in the patterns is bounded: a hostile text costs no more than its length.
    return re.compile("|".join(patterns), re.IGNORECASE)


_RATE_WORDS = _words(
    r"\bper[ -]?(?:sec|min|hour|day)|(?-i:Per(?:Second|Minute|Hour|Day))",
    r"(?:requests?|tokens?|queries|calls)/(?:s|m|h|d|sec|min|minute|hour|day)\b",
    r"(?-i:\b(?:[RQ]P[SMHD]|[IO]?TP[SMHD])\b)",
    r"rate[ _-]?limit|too[ _]?many[ _]?requests|requests? (?:are |is )?too (?:frequent|fast)",
    r"\bconcurren\w{1,4}[^.]{0,40}(?:limit|exceed|reached|reduce)|\bthrottl(?:ed|ing)",
    r"请求过于频繁|频率|并发|限流|速率",
)
_MONEY_WORDS = _words(
    r"(?:insufficient|not enough|run out of|\bout of|no (?:remaining|more|available)"
    r"|requires more|purchase(?: more)?|add(?: more)?|have (?:any|enough|sufficient)"
    r"|used (?:up )?all(?: \w{1,20})?)"
    r"[ _-](?:\w{1,20}[ _])?(?:balance|credits?|quota|funds)",
    r"balance (?:is |was )?(?:too low|insufficient|not enough|exhausted|negative|\$?0\b)",
    r"exceeded (?:your|the|its) (?:\w{1,20} ){0,3}(?:quota|credits|balance|budget)",
    r"(?:quota|budget|credits?)[ _]?(?:has been |have been |is |are )?"
    r"(?:exceeded|exhausted|reached|used up|not enough|insufficient)",
    r"(?:spend(?:ing)?|billing|usage|budget|credit|monthly|weekly|\bkey)[ _](?:hard )?(?:limit|cap)"
    r"[^.]{0,30}(?:reached|exceeded|exhausted)",
    r"(?:reach(?:ed|es)|exceed(?:s|ed|ing)?|hit)[^.]{0,40}"
    r"(?:spend(?:ing)?|billing|usage|budget|credit|monthly|weekly)[ _](?:limit|cap|budget|credits)",
    r"check your (?:plan and )?billing|can only afford|free (?:tier|quota)[^.]{0,40}exhausted",
    r"payment (?:method )?(?:is )?required|overdue (?:balance|payment)|arrear|unpaid|past invoices",
    r"\brecharge\b|\btop[ -]?up\b|in good standing",
    r"余额|欠费|充值|(?:额度|配额)[^。]{0,8}(?:不足|用尽|耗尽|用完|超)",
)
_CONTEXT_WORDS = _words(
    r"context[ _-]?(?:length|window|size|limit)[ _-]?(?:is |was |has been )?exceed",
    r"exceed[^.]{0,60}\bcontext[ _-]?(?:length|window|size|limit)|exceed_context|context overflow",
    r"\bmax(?:imum)?(?: supported| allowed)? context|n_keep[^.]{0,30}n_ctx",
    r"(?:longer|larger|greater|more) than [^.]{0,60}\bcontext[ _-]?(?:length|window|size)",
    r"context (?:length|window|size) (?:is|of) (?:only )?\d",
    r"\b(?:prompt|input|conversation)(?: tokens?| length| text| sequence| is| are| was){0,3}"
    r" too (?:long|large)",
    r"\b(?:prompt|input)s? exceeds? (?:the )?max(?:imum)? (?:allowed )?(?:length|tokens?)",
    r"\b(?:prompt|input|sequence) length[^.]{0,40} exceed|range of input length should be",
    r"\b(?:prompt|input)s?[^.,;]{0,30}(?<![a-z_])tokens?[^.,;]{0,40}"
    r"(?:exceed|(?:greater|more|larger|longer) than)",
    r"tokens in (?:the |your )?(?:request|prompt|input)[^.]{0,40}(?:exceed|more than)",
    r"max(?:imum)?(?: allowed)? (?:prompt|input|model|sequence) (?:length|len|tokens)\b",
    r"\+ ?`?max_\w{0,12}tokens|must have less than \d+ tokens|max_tokens must be at least 1, got -",
    r"exceed(?:s|ed|ing)? (?:the )?(?:model|input|prompt)(?:'s)? token limit",
    r"input token count is \d+ but",
    r"exceed(?:s|ed|ing)?[^.]{0,40}max(?:imum)? (?:number of )?tokens? ?(?:limit|allowed)",
    r"too[ _]many[ _](?:input[ _]|prompt[ _])?tokens(?!,? (?:please |wait|per|processed))",
    r"reduce the (?:length|size) of (?:the |your )?(?:messages|prompt|input|conversation|context)",
    r"上下文[^。]{0,12}(?:超|过长)|(?:超出|超过)[^。]{0,20}(?:上下文|最大长度|长度限制)",
    r"(?:输入|提示词?)[^。]{0,8}(?:过长|超长|超限)",
)
_KEY_WORDS = _words(
    r"(?:invalid|incorrect|wrong|missing|expired|malformed|revoked|no|provide an) api[ _-]?key",
    r"api[ _-]?key[^.]{0,30}(?:not valid|invalid|incorrect|missing|expired|revoked|not found"
    r"|(?:is|was) required|not provided)",
    r"unable to authenticate|authentication (?:fail|error|required)|authorization token missing",
    r"(?:invalid|missing|expired) (?:authentication|credentials?|access token|bearer)",
    r"^\W*unauthori[sz]ed|unauthenticated|no (?:\w{1,20} )?auth credentials|login fail",
    r"认证失败|鉴权失败|无效的令牌",
)

# Wrong on these: 401 and 403 are about the caller, 429 about time (long prompts use up rates).
_NEVER_CONTEXT = (401, 403, 429)

_REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-ms-request-id",
    "nvcf-reqid",
    "mistral-correlation-id",
)
_REQUEST_ID_KEYS = ("request_id", "requestId", "RequestId", "requestID")


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
    given = _lower(headers)
    signs = _Signs(secrets)
    if 300 <= status < 400:
        code, words = f"HTTP_{status}", _redirect(given.get("location", ""))
    else:
        excuse = _read_body(body, signs)
        signs.name(given.get("x-amzn-errortype", ""))  # Bedrock's type is not in its body
        code = _code(status, signs)
        words = signs.sentence() or excuse
    wait = retry_after_seconds(given, time.time() if now is None else now)
    should_retry = given.get("x-should-retry", "").strip().lower()
    return Failure(
        code,
        _message(f"{_status_line(status)}: {words}", secrets),
        is_retryable(code) if should_retry not in ("true", "false") else should_retry == "true",
        status,
        signs.retry_after if wait is None else wait,
        _request_id(given, signs, secrets),
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
    signs = _Signs(secrets)
    _read(error, signs)
    if payload is not None and payload is not error:
        _read_names(payload, signs)
    code = _code(signs.status, signs)
    words = signs.sentence() or _dump(error) or "the provider sent an error that says nothing"
    request_id = request_id or signs.request_id
    return Failure(
        code,
        _message(words, secrets) or "the provider sent an error that says nothing",
        is_retryable(code),
        signs.status,
        signs.retry_after,
        request_id and _message(request_id, secrets),
        "body",
    )


def find_error(payload: Mapping[str, Any], event_name: str = "message") -> Any:
    """Return the error that a stream's payload holds, or None (design.md §8.4).

    An ``error`` counts unless it is null, false or ``""``: ``{}`` and 0 do, for an
    answer that carries one cannot be trusted. So compare the result with None.
    """
    if _says_something(payload.get("error")):
        return payload["error"]
    choices = payload.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        if _says_something(choices[0].get("error")):
            return choices[0]["error"]
    if event_name.strip().lower() == "error" or "error" in (
        payload.get("object"),
        payload.get("type"),
    ):
        return payload
    base = payload.get("base_resp")  # MiniMax: in every frame, status_code 0 when all is well
    if isinstance(base, Mapping) and base.get("status_code") not in (None, 0, "0", ""):
        return base
    return None if choices else _find_without_choices(payload)


def _find_without_choices(payload: Mapping[str, Any]) -> Any:
    if _says_something(payload.get("detail")):
        return payload["detail"]  # FastAPI
    errors = payload.get("errors")
    if payload.get("success") is False or (isinstance(errors, list) and errors):
        return payload  # Cloudflare
    named = any(payload.get(key) for key in ("code", "error_code", "error_type", "__type"))
    if named and isinstance(payload.get("message"), str) and payload["message"]:
        return payload  # Cerebras, DashScope, Databricks and Cohere have no wrapper
    return None


def request_id(headers: Mapping[str, str]) -> Optional[str]:
    """Return the id under which the provider's support finds the request, or None."""
    return _request_id(_lower(headers), None, ())


def retry_after_seconds(headers: Mapping[str, str], now: float) -> Optional[float]:
    """Read how long the provider asks to wait: 0 or more seconds, or None.

    ``retry-after-ms`` (OpenAI, Azure) is finer and wins, but for a 0 that contradicts
    ``Retry-After`` (RFC 9110 §10.2.3: seconds or a date; decimals occur). A date gone
    by is 0. What is negative, not finite or no number at all is None.
    """
    given = _lower(headers)
    fine = _number(given.get("retry-after-ms", ""))
    fine = fine if fine is None else fine / 1000
    text = given.get("retry-after", "").strip()
    coarse = _number(text)
    if coarse is None:
        coarse = _seconds_until(text, now)
    return fine or (fine if coarse is None else coarse)


def _number(text: str) -> Optional[float]:
    if not re.fullmatch(r"\+?(?:[0-9]+\.?[0-9]*|\.[0-9]+)", text.strip()):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


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


# Reading: what an error says, wherever it says it.


class _Signs:
    """What was found in one error."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self.secrets = secrets  # masked before anything is cut: half a secret is not recognised
        self.messages: List[str] = []  # sentences, outermost first
        self.names: List[str] = []  # codes, types, reasons: what a table can know
        self.status: Optional[int] = None  # the first number that is an HTTP error status
        self.param: str = ""  # the request's field the provider complains about
        self.request_id: Optional[str] = None
        self.retry_after: Optional[float] = None
        self.nodes = 0  # values looked at so far

    def name(self, value: Any) -> None:
        number = _status_number(value)
        if number is not None:
            self.status = self.status or number
        elif isinstance(value, str) and value.strip():
            self.names.append(redact(value, self.secrets).strip()[:200])
        elif isinstance(value, int) and 1000 <= value < 10**9:
            self.names.append(str(value))

    def say(self, text: str) -> None:
        text = redact(text, self.secrets).strip()[:_TEXT_CHARACTERS]
        if text and not any(text in message for message in self.messages):
            self.messages.append(text)

    def sentence(self) -> str:
        """The provider's words; its code where it said no more."""
        said = self.messages[:3]
        text = "; ".join([*(one.rstrip(" .:;") for one in said[:-1]), *said[-1:]])
        if not text:
            return ", ".join(dict.fromkeys(name for name in self.names if name != "error"))
        return f"{text} (param: {self.param})" if self.param and self.param not in text else text


_MESSAGE_KEYS = ("message", "msg", "error_message", "error_msg", "errorMessage", "status_msg")
_NAME_KEYS = (
    *("code", "error_code", "errorCode", "type", "error_type", "__type"),
    *("status", "status_code", "statusCode", "raw_status_code", "reason", "quotaId"),
)
_JSON_START = re.compile(r"[\[{]\s{0,20}[\[{\"]")
_NESTED_KEYS = (
    *("error", "errors", "detail", "details", "metadata", "raw", "innererror", "inner_error"),
    *("violations", "base_resp"),
)


def _read(value: Any, signs: _Signs) -> None:
    signs.nodes += 1
    if signs.nodes > _NODES:
        return
    if isinstance(value, str):
        _read_text(value, signs)
    elif isinstance(value, (list, tuple)):
        for item in value[:8]:
            _read(item, signs)
    elif isinstance(value, Mapping):
        _read_mapping(value, signs)
    else:
        signs.name(value)


def _read_mapping(value: Mapping[str, Any], signs: _Signs) -> None:
    _read_names(value, signs)
    said = next((value[key] for key in _MESSAGE_KEYS if value.get(key)), None)
    if isinstance(said, str) and isinstance(value.get("loc"), (list, tuple)):
        said = ".".join(str(step) for step in value["loc"][:8] if _is_step(step)) + f": {said}"
    if said is not None:
        _read(said, signs)
    for key in _NESTED_KEYS:
        inner = value.get(key)
        if key == "error" and said is not None and isinstance(inner, str):
            signs.name(inner)  # {"error": "Not Found", "message": "…"}: a name, not a sentence
        elif inner is not None:
            _read(inner, signs)


def _read_names(value: Mapping[str, Any], signs: _Signs) -> None:
    for key in _NAME_KEYS:
        signs.name(value.get(key))
    for key in _REQUEST_ID_KEYS:
        if isinstance(value.get(key), str) and value[key].strip():
            signs.request_id = signs.request_id or value[key].strip()
    if isinstance(value.get("param"), str):
        signs.param = signs.param or redact(value["param"], signs.secrets).strip()[:100]
    delay = value.get("retryDelay")  # google.rpc.RetryInfo, "20.5s"
    if isinstance(delay, str) and delay.endswith("s") and signs.retry_after is None:
        signs.retry_after = _number(delay[:-1])


def _read_text(text: str, signs: _Signs) -> None:
    """Read a sentence, or one that quotes JSON: gateways hand on what they were told."""
    start = _JSON_START.search(text)
    head, tail = (text[: start.start()], text[start.start():]) if start else (text, "")
    inner = _parse(tail, whole=False) if start else None
    quoted = _Signs(signs.secrets)
    quoted.nodes = signs.nodes
    if inner is not None:
        _read(inner, quoted)
    if not quoted.messages:
        signs.say(text)
        return
    signs.say(head.strip(" -:\t\r\n"))
    for message in quoted.messages:
        signs.say(message)
    signs.names += quoted.names
    signs.status = signs.status or quoted.status
    signs.retry_after = signs.retry_after or quoted.retry_after
    signs.nodes = quoted.nodes


def _read_body(body: bytes, signs: _Signs) -> str:
    """Read an answer's body; return what to say where it says nothing itself."""
    text = body.decode("utf-8-sig", "replace").strip()
    if not text:
        return "the body is empty"
    if text.startswith("<"):
        return "the body is a web page, not JSON" if "<html" in text.lower() else "the body is XML"
    if 10 * len(re.findall(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]", text)) > len(text):
        return "the body is not text"
    if text.startswith(("data:", "event:", ":")):  # an error told as a stream
        text = next((li[5:] for li in text.splitlines() if li.startswith("data:")), text).strip()
    if text[0] not in '{["':
        signs.say(text)
        return "the body says nothing"
    value = _parse(text)
    if value is None:
        _salvage(text, signs)
        return "the body is broken JSON"
    _read(value, signs)
    return _dump(value) or "the body says nothing"


def _salvage(text: str, signs: _Signs) -> None:
    """Find the message and the names in JSON that was cut off or is broken."""
    for keys in ("message|msg|error_message", "code|error_code", "type|error_type", "detail|error"):
        found = re.search(rf'"(?:{keys})"\s*:\s*(?:"((?:[^"\\]|\\.)*)|(\d{{1,9}})\b)', text, re.S)
        if found is None:
            continue
        value = found.group(1) or found.group(2) or ""
        plain = _parse(f'"{value}"') or value
        if "code" in keys or "type" in keys:
            signs.name(plain)
        elif not signs.messages:
            signs.say(plain)


def _parse(text: str, whole: bool = True) -> Any:
    try:
        return json.loads(text) if whole else json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):  # no JSON, or more than Python takes
        return None


def _dump(value: Any) -> str:
    """A value as JSON, where no sentence is in it; empty where there is nothing to show."""
    if value is None or value in ({}, [], ""):
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):  # no JSON value, or too deep to show
        return ""


def _is_step(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 10**9)


def _says_something(value: Any) -> bool:
    return not (value is None or value is False or value == "")


def _status_number(value: Any) -> Optional[int]:
    """Read a number that can be an HTTP error status, however it is written."""
    if isinstance(value, str) and re.fullmatch(r"\s*[45][0-9]{2}\s*", value):
        return int(value)
    if isinstance(value, (int, float)) and 400 <= value <= 599 and value == int(value):
        return int(value)
    return None


# Judging: which code it is.


def _code(status: Optional[int], signs: _Signs) -> str:
    names = [_plain(name) for name in signs.names]
    for name in names:
        if name in _EXACT:
            return _EXACT[name]
    if status is None:
        status = next((_STANDS_FOR[name] for name in names if name in _STANDS_FOR), None)
    if status in (401, 402):
        return _BY_STATUS[status]
    text = re.sub(r"https?://\S+", " ", "\n".join(signs.messages + signs.names))
    for words, code, applies in (
        (_RATE_WORDS, "RATE_LIMIT", True),
        (_MONEY_WORDS, "QUOTA", True),
        (_CONTEXT_WORDS, "CONTEXT_WINDOW_EXCEEDED", status not in _NEVER_CONTEXT),
        (_KEY_WORDS, "AUTH", status in (400, None)),
    ):
        if applies and words.search(text):
            return code
    if status is None or status >= 500:
        return "SERVER"
    return _BY_STATUS.get(status, f"HTTP_{status}")


def _plain(name: str) -> str:
    """RateLimit_Reached → ratelimitreached; the type out of AWS's ``ns#Type:url``."""
    name = name.split("#")[-1].split(":")[0]
    return re.sub(r"[^a-z0-9]", "", name.lower())


# Telling: one line, no markup, no secret.

_PAGE = re.compile(r"<(?:!doctype|html)\b.*", re.IGNORECASE | re.DOTALL)
_TAGS = re.compile(r"</?(?:p|br|b|i|a|em|strong|div|span|h[1-6]|pre|hr)\b[^<>]{0,300}>", re.I)


def _message(text: str, secrets: Sequence[str]) -> str:
    text = _TAGS.sub(" ", _PAGE.sub("(a web page)", text))
    text = redact(text, secrets)  # before it is cut
    text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)  # a lone half cannot be written anywhere
    text = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text).split())
    cut = _MESSAGE_CHARACTERS - 1
    return text if len(text) <= _MESSAGE_CHARACTERS else text[:cut].rstrip() + "…"


def _status_line(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:  # Cloudflare's 52x, Anthropic's 529
        return f"HTTP {status}"


def _redirect(location: str) -> str:
    from urllib.parse import urlsplit  # as rare, and as dear, as the date above

    try:
        parts = urlsplit(location.strip())
        host = parts.netloc.rpartition("@")[2]  # never the query, never the user
    except ValueError:  # a broken address
        host = ""
    where = f"to {host[:255]}" if host else "to another path of the same host"
    return f"redirected {where}; redirects are not followed, the base URL may be wrong"


def _request_id(
    headers: Mapping[str, str], signs: Optional[_Signs], secrets: Sequence[str]
) -> Optional[str]:
    candidates: Tuple[Optional[str], ...] = (
        *(headers.get(name, "").strip() for name in _REQUEST_ID_HEADERS),
        None if signs is None else signs.request_id,
        headers.get("cf-ray"),  # names the edge's request, not the provider's
    )
    return next((_message(one, secrets) for one in candidates if one), None)


def _lower(headers: Mapping[str, str]) -> Dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}
