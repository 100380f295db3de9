# SPDX-License-Identifier: MIT
"""What providers' errors mean: answers, in-stream errors, Retry-After, messages."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from streamcore.values.errors import CODES, Failure
from streamcore.wire.failures import (
    failure_from_answer,
    failure_from_payload,
    find_error,
    may_be_error,
    request_id,
    retry_after_seconds,
)
from streamcore.wire.failures.codes import (
    CODE_BY_STATUS,
    MEANINGS,
    NAMES,
)

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"


def rows(path):
    return map(json.loads, path.read_text("utf-8").splitlines()) if path.exists() else ()


def answer(status, body=b"", headers=None, **more):
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    return failure_from_answer(status, headers or {}, body, **more)


def said(status, message, **error):
    return answer(status, {"error": {"message": message, **error}})


def assert_readable(message):
    assert message and len(message) <= 500
    assert "\n" not in message and message == message.strip()
    for tag in ("<html", "<!doctype", "<body", "</"):
        assert tag not in message.lower()
    message.encode("utf-8")


# Real answers, read in place.


# Recorded answers that no other try helps, though their status or code is usually worth one.
HOPELESS = (
    "rig__llamacpp__501__not-supported-error.json",
    "ruby-llm__openai__429__rate-limit-exceeded.json",  # Limit 200000, Requested 2500013
)


def recorded_answers():
    for folder in (CAPTURES, CAPTURES / "dialect-errors"):
        for row in rows(folder / "errors.jsonl"):
            yield pytest.param(folder / row["file"], row, id=row["file"][7:-5])


@pytest.mark.skipif(not CAPTURES.exists(), reason="the recorded answers are not here")
@pytest.mark.parametrize("path, row", list(recorded_answers()))
def test_code_recorded_answer(path, row):
    """Every recorded error answer of every dialect gets its code, its words and its facts."""
    recorded = json.loads(path.read_text("utf-8"))
    headers, body = recorded["headers"], recorded["body"]
    failure = answer(row["status"], body, headers, now=1.0)
    assert failure.code in row["codes"]
    assert failure.status == row["status"]
    assert failure.phase == "headers"
    assert_readable(failure.message)
    assert not failure.message.partition(": ")[2].startswith(('{"', "[{", '["'))
    given = {name.lower(): value for name, value in headers.items()}
    if "x-should-retry" in given:
        assert failure.retryable == (given["x-should-retry"] == "true")
    elif failure.code in CODES:
        assert failure.retryable == (CODES[failure.code] and path.name not in HOPELESS)
    if "retry-after" in given:
        assert failure.retry_after == float(given["retry-after"])
    try:
        told = json.loads(body)["request_id"]
    except (ValueError, KeyError, TypeError):
        told = None
    if told:
        assert failure.request_id == given.get("request-id", told)
    for word in (row.get("message") or "")[:40].split():
        assert word in failure.message


DIALECTS = ("", "anthropic", "responses", "gemini", "ollama")


def recorded_streams(bad):
    for dialect in DIALECTS:
        for row in rows(CAPTURES / dialect / "streams.jsonl"):
            if ("error" in row) == bad:
                path = CAPTURES / dialect / row["file"]
                yield pytest.param(path, row, id=f"{dialect}-{path.stem}")


def payloads(path):
    event = "message"
    for line in path.read_text("utf-8").split("\n"):
        line = line.rstrip("\r")
        if line.startswith("event:"):
            event = line[6:].strip()
        elif line[5:].strip() == "[DONE]":
            return
        elif line.startswith(("data:", "{")) and line[5:].strip():
            yield event, json.loads(line[5:] if line[0] == "d" else line)
        elif not line:
            event = "message"


@pytest.mark.skipif(not CAPTURES.exists(), reason="the recorded streams are not here")
@pytest.mark.parametrize("path, row", list(recorded_streams(True)))
def test_code_recorded_stream(path, row):
    """Every error in a recorded stream of any dialect gets one of the stream's codes."""
    found = []
    for event, payload in payloads(path):
        error = find_error(payload, event)
        if error is not None:
            found.append(failure_from_payload(error, payload))
    if found:
        assert found[0].code in row["error"]
        assert_readable(found[0].message)
    else:  # ends badly for another reason: no error object is in it
        assert "SERVER" not in row["error"] and "INVALID_REQUEST" not in row["error"]


@pytest.mark.skipif(not CAPTURES.exists(), reason="the recorded streams are not here")
def test_find_error_good_streams():
    """No payload of a recorded good answer of any dialect is taken for an error."""
    for param in recorded_streams(False):
        for event, payload in payloads(param.values[0]):
            if isinstance(payload, dict):
                assert find_error(payload, event) is None, param.id
                assert payload.get("choices") or not may_be_error(payload), param.id


# The tables.


def test_names_stand_once():
    """A name is written as it is looked up, and stands for one thing."""
    names = " ".join(line for lines in NAMES.values() for line in lines).split()
    assert sorted(names) == sorted(MEANINGS)
    for name in names:
        assert name.isascii() and name.isalnum() and name == name.lower()


def test_codes_are_known():
    """Every code the tables give is in the list of codes."""
    words = {meaning for meaning in NAMES if isinstance(meaning, str)}
    assert words | set(CODE_BY_STATUS.values()) <= set(CODES)


# The table of DESIGN.md §6.


@pytest.mark.parametrize(
    "status, code, retryable",
    [
        (400, "INVALID_REQUEST", False),
        (401, "AUTH", False),
        (402, "QUOTA", False),
        (403, "AUTH", False),
        (404, "HTTP_404", False),
        (405, "HTTP_405", False),
        (408, "TIMEOUT", True),
        (409, "HTTP_409", True),
        (410, "HTTP_410", False),
        (413, "INVALID_REQUEST", False),
        (418, "HTTP_418", False),
        (422, "INVALID_REQUEST", False),
        (429, "RATE_LIMIT", True),
        (500, "SERVER", True),
        (501, "SERVER", True),
        (502, "SERVER", True),
        (503, "SERVER", True),
        (504, "SERVER", True),
        *((status, "SERVER", True) for status in range(520, 530)),
        (301, "HTTP_301", False),
        (304, "HTTP_304", False),
        (307, "HTTP_307", False),
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><head><title>rate limit: insufficient quota</title></head></html>",
        b"\x1f\x8b\x08\x00\x00\xff\xfe\x01\x02",
        b"{}",
        b'{"error":null}',
        b'{"error":{"message":"no"}}',
    ],
)
def test_code_by_status(status, code, retryable, body):
    """The status decides if the body has no message, whatever the body is."""
    failure = answer(status, body)
    assert (failure.code, failure.retryable, failure.status) == (code, retryable, status)
    assert_readable(failure.message)
    assert str(status) in failure.message


@pytest.mark.parametrize(
    "status, error, code",
    [
        (429, {"code": "insufficient_quota", "message": "requests per minute"}, "QUOTA"),
        (429, {"type": "insufficient_quota", "message": "x"}, "QUOTA"),
        (401, {"code": "insufficient_quota", "message": "x"}, "QUOTA"),
        (403, {"code": "insufficient_quota", "message": "x"}, "QUOTA"),
        (400, {"code": "rate_limit_exceeded", "message": "insufficient balance"}, "RATE_LIMIT"),
        (401, {"message": "Insufficient Balance"}, "AUTH"),
        (401, {"message": "Invalid API key or 3 requests per minute"}, "AUTH"),
        (402, {"message": "3 requests per minute"}, "QUOTA"),
        (429, {"message": "exceeded your current quota of 3 requests per minute"}, "RATE_LIMIT"),
        (400, {"message": "Insufficient Balance for maximum context length"}, "QUOTA"),
        (429, {"message": "maximum context length is 8192 tokens"}, "RATE_LIMIT"),
        (401, {"message": "maximum context length is 8192 tokens"}, "AUTH"),
        (403, {"message": "maximum context length is 8192 tokens"}, "AUTH"),
        (413, {"message": "maximum context length is 8192 tokens"}, "CONTEXT_WINDOW_EXCEEDED"),
        (422, {"message": "maximum context length is 8192 tokens"}, "CONTEXT_WINDOW_EXCEEDED"),
        (500, {"message": "Context size has been exceeded."}, "CONTEXT_WINDOW_EXCEEDED"),
        (413, {"message": "Request exceeds the maximum size", "type": "x"}, "INVALID_REQUEST"),
        (404, {"code": "model_not_found", "message": "or you do not have access"}, "HTTP_404"),
        (400, {"code": "model_not_found", "message": "does not exist"}, "INVALID_REQUEST"),
        (429, {"code": "1113", "message": "x"}, "QUOTA"),
        (429, {"code": 1113, "message": "x"}, "QUOTA"),
        (429, {"code": "1302", "message": "x"}, "RATE_LIMIT"),
        (429, {"code": "AccountQuotaExceeded", "type": "TooManyRequests"}, "QUOTA"),
        (429, {"code": "MonthlyUsageQuotaExceeded", "type": "TooManyRequests"}, "QUOTA"),
        (429, {"code": "usage-limit-exceeded"}, "QUOTA"),
        (429, {"code": "rate_limit_exceeded", "error": {"code": "insufficient_quota"}}, "QUOTA"),
        (429, {"code": "too_many_requests", "message": "slow down"}, "RATE_LIMIT"),
        (400, {"type": "rate_limit_error", "message": "slow down"}, "RATE_LIMIT"),
        (400, {"code": "invalid_prompt", "message": "x"}, "CONTENT_FILTER"),
        (400, {"code": "Arrearage", "message": "Access denied"}, "QUOTA"),
        (403, {"code": "AllocationQuota.FreeTierOnly", "message": "x"}, "QUOTA"),
        (403, {"code": "AccountOverdueError", "message": "x"}, "QUOTA"),
        (429, {"type": "exceeded_current_quota_error", "message": "x"}, "QUOTA"),
        (429, {"type": "engine_overloaded_error", "message": "overloaded"}, "RATE_LIMIT"),
        (400, {"code": "content_filter", "message": "filtered"}, "CONTENT_FILTER"),
        (
            400,
            {"code": "x", "message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
            "CONTENT_FILTER",
        ),
        (400, {"type": "exceed_context_size_error", "message": "x"}, "CONTEXT_WINDOW_EXCEEDED"),
    ],
)
def test_code_when_signs_disagree(status, error, code):
    """Exact names win, then 401, 402, rate, money and context words, then the status."""
    assert answer(status, {"error": error}).code == code


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000",
        "tokens in request more than max tokens allowed",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Your input exceeds the context window of this model.",
        "Input is too long for requested model.",
        "prompt token count of 150000 exceeds the limit of 128000",
        "The number of tokens to keep from the initial prompt is greater than the context length",
        "invalid params, context window exceeds limit (2013)",
        "Your request exceeded model token limit: 262144",
        "Input token length too long",
        "prompt too long; exceeded max context length by 4 tokens",
        "litellm.ContextWindowExceededError: no",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        "`inputs` must have less than 1024 tokens. Given: 1245",
        "Input token count + max_tokens parameter must be less than the context length",
        "Input length (32769 tokens) exceeds the maximum allowed length (32763 tokens).",
        "The input (18493 tokens) is longer than the model's context length (8192 tokens).",
        "The decoder prompt (length 13000) is longer than the maximum model length of 4096.",
        "max_tokens must be at least 1, got -186.",
        "However, the model's context length is only 1024 tokens, resulting in a maximum",
        "Range of input length should be [1, 30720]",
        "Prompt exceeds max length",
        "User input tokens exceeds 200000 tokens.",
        "too many tokens: size limit exceeded by 25836 tokens.",
        "input length and `max_tokens` exceed context limit: 199759 + 64000 > 200000",
        "Input tokens exceed the configured limit of 272000 tokens.",
        "The estimated number of tokens (5000) exceeded this model context window limit (4096).",
        "the number of input tokens 5000 cannot exceed the total tokens limit 4096",
        "Please reduce the length of the messages or completion.",
        "the input token count is 2000000 but model only supports up to 1048576.",
        "n_keep: 9800 >= n_ctx: 8192",
        "request too large for model context",
        "context-window-overflowed",
        "context_window_full",
        "The prompt does not fit in the model's context.",
        "input length and `max_tokens` exceed context limit: 201000 + 4000 > 200000",
        "maximum context length is 8192 tokens. However, you requested 9192 tokens"
        " (8100 in the messages, 1092 in the completion).",
        "Model context window is 128k tokens, you requested 256k tokens",
        "request (2009 tokens) exceeds the available context size (512 tokens)",
        "输入内容过长",
    ],
)
def test_code_context_words(message):
    """A prompt over the window is recognised in every wording seen (E4)."""
    assert said(400, message).code == "CONTEXT_WINDOW_EXCEEDED"
    assert failure_from_payload(message).code == "CONTEXT_WINDOW_EXCEEDED"


@pytest.mark.parametrize(
    "message",
    [
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`"
        " is less than the `context_window` for this model",
        "Model context window too small (minimum is 128k tokens)",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Invalid 'tools[0].function.description': string too long. Expected a maximum of 1024",
        "Invalid 'tools': array too long. Expected an array with maximum length 128",
        "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
        "Could not finish the message because max_tokens or model output limit was reached.",
        "The long context beta is not yet available for this subscription.",
        "Invalid token at position 3",
        "The model `x` does not exist or you do not have access to it.",
        "The reasoning_content in the thinking mode must be passed back to the API.",
        "Unrecognized request argument supplied: stream_options",
        "credits must be an object",
        "The request was rejected because of an unsupported content type",
        "response_format: content_filter is no known field",
    ],
)
def test_code_plain_bad_request(message):
    """A bad request that speaks of tokens, lengths or access stays a bad request."""
    assert said(400, message).code == "INVALID_REQUEST"


@pytest.mark.parametrize("code", ["context_length_exceeded", None])
@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9192 tokens"
        " (600 in the messages, 400 in the functions, and 8,192 in the completion).",
        "This endpoint's maximum context length is 131,072 tokens. However, you requested about"
        " 140000 tokens (10000 of text input, 130000 in the output).",
        "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and"
        " your request has 20 input tokens (5000 > 4096 - 20).",
        "input length and `max_tokens` exceed context limit: 19759 + 190000 > 200000",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 500 `inputs` tokens and 4000"
        " `max_new_tokens`",
        "the model's maximum context length of 32768 tokens. You requested a total of 33000 tokens:"
        " 1000 tokens from the input messages and 32000 tokens for the completion.",
        "maximum context length is 8192 tokens, but you requested 9000 tokens (4000 prompt tokens"
        " + 5000 completion tokens)",
    ],
)
def test_code_output_cap_too_big(message, code):
    """A cap too big for a prompt that fits is a bad request: a shorter prompt is no cure."""
    assert said(400, message, code=code).code == "INVALID_REQUEST"


@pytest.mark.parametrize("status", [400, 403, 422, 500])
@pytest.mark.parametrize(
    "message",
    [
        "Content Exists Risk",
        "Output blocked by content filtering policy",
        "Your request was rejected as a result of our safety system.",
        "The response was filtered due to the prompt triggering the content management policy.",
        "Input data may contain inappropriate content.",
        "Your prompt was flagged as potentially violating our usage policy.",
        "系统检测到输入或生成内容可能包含不安全或敏感内容",
    ],
)
def test_code_content_words(message, status):
    """Content that a provider refuses is CONTENT_FILTER in every wording seen."""
    for failure in (said(status, message), failure_from_payload({"message": message})):
        assert (failure.code, failure.retryable) == ("CONTENT_FILTER", False)


@pytest.mark.parametrize("status", [400, 403, 429])
@pytest.mark.parametrize(
    "message",
    [
        "Insufficient Balance",
        "You exceeded your current quota, please check your plan and billing details. For more"
        " information on this error, head to: https://ai.example/docs/rate-limits.",
        "Your credit balance is too low to access the API. Please go to Plans & Billing.",
        "Billing hard limit has been reached",
        "Your team has either used all available credits or reached its monthly spending limit.",
        "This request requires more credits, or fewer max_tokens. You can only afford 100",
        "Key limit exceeded (total limit). Manage it using https://router.example/settings/keys",
        "You have reached your specified API usage limits.",
        "The free tier of the model has been exhausted.",
        "Your account is in arrears, please recharge and try again",
        "Account x is suspended, possibly due to failure to pay past invoices",
        "Your newly created team doesn't have any credits or licenses yet.",
        "Sorry, your account balance is insufficient",
        "user quota is not enough",
        "余额不足",
        "You have exceeded the 5-hour usage quota. It will reset at 15:00.",
        "monthly usage quota exceeded",
        "You have reached your weekly usage quota",
        "Your 5-hour limit has been reached",
        "account balance depleted",
        "Your prepayment credits are depleted.",
        "Too many requests: the monthly token quota has been used up",
        "Extra usage is required for long context requests.",
        "You're out of extra usage",
    ],
)
def test_code_money_words(message, status):
    """Money, credit and quota words are QUOTA on every status but 401, whatever the type."""
    for kind in ("invalid_request_error", "TooManyRequests", "rate_limit_error", None):
        failure = said(status, message, type=kind)
        assert (failure.code, failure.retryable) == ("QUOTA", False)


@pytest.mark.parametrize("status", [400, 403, 429, 503])
@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached on tokens per day (TPD): Limit 1. Upgrade at x.example/billing",
        "Quota exceeded for metric x, limit: 15 per minute",
        "Tokens per minute limit exceeded - too many tokens processed.",
        "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 requests",
        "Too many tokens per day, please wait before trying again.",
        "Concurrency limit reached for requests",
        "QPS limit exceeded",
        "您的账户已达到速率限制",
    ],
)
def test_code_rate_words(message, status):
    """Words about a rate are RATE_LIMIT, before words about quota."""
    failure = said(status, message)
    assert (failure.code, failure.retryable) == ("RATE_LIMIT", True)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "API key not valid. Please pass a valid API key."},
        {"message": "Incorrect API key provided: sk***."},
        {"message": "Unable to authenticate request"},
        {"message": "You didn't provide an API key."},
        {"message": "invalid access token or token expired"},
        {"message": "x", "code": "invalid_api_key"},
        {"message": "x", "details": [{"reason": "API_KEY_INVALID"}]},
    ],
)
def test_code_wrong_key_on_400(error):
    """A 400 whose code or words say the key is wrong is AUTH."""
    assert answer(400, {"error": error}).code == "AUTH"
    assert answer(404, {"error": {"message": error["message"]}}).code == "HTTP_404"


@pytest.mark.parametrize(
    "body, code, words",
    [
        ([{"error": {"code": 400, "message": "API key not valid"}}], "AUTH", "API key not valid"),
        ({"error": "prompt is too long"}, "CONTEXT_WINDOW_EXCEEDED", "prompt is too long"),
        ({"error": ["Error in a", "Error in b"]}, "INVALID_REQUEST", "Error in a; Error in b"),
        ({"detail": [{"loc": ["body", "n", 0], "msg": "bad"}]}, "INVALID_REQUEST", "body.n.0: bad"),
        ({"message": {"detail": [{"loc": ["x"], "msg": "bad"}]}}, "INVALID_REQUEST", "x: bad"),
        ({"code": "Bad", "error": "Insufficient balance"}, "QUOTA", "Insufficient balance"),
        ({"error": "Bad Request", "message": "no tools"}, "INVALID_REQUEST", "no tools"),
        ({"success": False, "errors": [{"code": 7000, "message": "No route"}]}, None, "No route"),
        ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "QUOTA", None),
        ({"error_type": "TOO_MANY_TOKENS", "message": "m"}, "CONTEXT_WINDOW_EXCEEDED", "m"),
        ({"error": {"code": "some_code"}}, "INVALID_REQUEST", "some_code"),
        ({"error": {"message": "Bad", "param": "tools"}}, "INVALID_REQUEST", "(param: tools)"),
        ("plain words", "INVALID_REQUEST", "plain words"),
        ('"a JSON string"', "INVALID_REQUEST", "a JSON string"),
        ('event: error\ndata: {"error":{"message":"m","code":"invalid_api_key"}}\n\n', "AUTH", "m"),
        ('\ufeff{"error":{"message":"with a BOM"}}', "INVALID_REQUEST", "with a BOM"),
        ('{"error":{"code":"insufficient_quota","message":"cut of', "QUOTA", "cut of"),
        ('{"error":{"message":"say \\"hi\\" \\u00e9","code":"invalid_api_key","x', "AUTH", 'hi" é'),
        ('{"error":{"code":"insufficient_quota","mess', "QUOTA", "insufficient_quota"),
        ('{"a":' + "[" * 50000, "INVALID_REQUEST", "broken JSON"),
    ],
)
def test_answer_shapes(body, code, words):
    """The sentence is found in every shape that bodies have, cut and broken ones too."""
    failure = answer(400, body)
    assert failure.code == (code or "INVALID_REQUEST")
    assert (words or "") in failure.message
    assert_readable(failure.message)


def test_answer_nested_json_words():
    """What a gateway quotes from its provider, as JSON in a string, counts and is shown plain."""
    raw = json.dumps({"error": {"message": "no money", "code": "insufficient_quota"}})
    routed = said(429, "Provider returned error", code=429, metadata={"raw": raw})
    assert routed.code == "QUOTA"
    assert routed.message.endswith("Provider returned error; no money")
    quoted = said(400, f"litellm.BadRequestError: ProviderException - {raw}. Group=x")
    assert quoted.code == "QUOTA"
    assert "no money" in quoted.message and "{" not in quoted.message
    assert said(400, 'no such field in {"a": 1}').message.endswith('no such field in {"a": 1}')


def test_answer_google_details():
    """Google's quota ids tell a minute's limit from a spent quota; RetryInfo is a retry-after."""
    details = [
        {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProject-FreeTier"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "26.5s"},
    ]
    failure = said(429, "You exceeded your current quota", details=details)
    assert (failure.code, failure.retry_after) == ("RATE_LIMIT", 26.5)
    assert said(429, "You exceeded your current quota").code == "QUOTA"


def test_answer_bedrock_type_header():
    """Bedrock's type is read from a header."""
    headers = {"X-Amzn-ErrorType": "ServiceQuotaExceededException:http://amazon.example/"}
    assert answer(400, {"message": "no"}, headers).code == "QUOTA"


@pytest.mark.parametrize(
    "error, details",
    [
        ({"message": "m", "type": "t", "code": "c"}, {"code": "c", "type": "t"}),
        ({"message": "m", "type": "t", "code": None}, {"type": "t"}),
        ({"message": "m", "code": 400, "status": "INVALID_ARGUMENT"}, {"type": "INVALID_ARGUMENT"}),
        ({"message": "m", "code": 1113}, {"code": "1113"}),
        ({"message": 'x - {"error":{"message":"m","code":"c"}}', "type": "t"},
         {"code": "c", "type": "t"}),
        ({"message": "m", "code": "key sk-secret-1 \ud83d"}, {"code": "key *** \ufffd"}),
        ({"message": "m", "code": 400}, None),
    ],
)
def test_details_are_the_providers_own(error, details):
    """The first type and code that the provider wrote are kept, without a secret in them."""
    body = {"type": "error", "error": error}
    told = answer(400, json.dumps(body), secrets=["sk-secret-1"])
    streamed = failure_from_payload(error, body, secrets=["sk-secret-1"])
    assert told.details == streamed.details == details
    assert Failure.from_dict(told.to_dict()) == told


# Whether another try can help.

PER_MINUTE = "Rate limit reached on tokens per minute (TPM): "


@pytest.mark.parametrize(
    "status, error, retryable",
    [
        (429, {"message": PER_MINUTE + "Limit 6000, Used 5447, Requested 783."}, True),
        (429, {"message": PER_MINUTE + "Limit 6000, Requested 12328."}, False),
        (413, {"message": PER_MINUTE + "Limit 6000, Requested 5000."}, True),
        (413, {"message": PER_MINUTE + "Limit: 30,000, Requested: 45,000."}, False),
        (429, {"message": "limit is 30,000 tokens per minute, requested 45,000"}, False),
        (429, {"message": "requested 12328 tokens, limit 6000 per minute"}, False),
        (429, {"message": "Request too large for x on tokens per min"}, False),
        (429, {"message": "Quota exceeded for requests per day, limit: 0, model: x"}, False),
        (429, {"message": "requests per minute limit '0'"}, False),
        (429, {"message": "limit of 60 requests per minute. You requested 500 tokens"}, True),
        (429, {"message": "requests per minute, limit: 0.5"}, True),
        (429, {"message": "requests per minute, limit: 10"}, True),
        (429, {"message": "Extra usage is required", "type": "rate_limit_error"}, False),
        (503, {"message": "No available channel", "code": "model_not_found"}, False),
        (503, {"message": "no", "code": "ModelNotFound"}, False),
        (503, {"message": "The model `x` does not exist"}, False),
        (503, {"message": "The model is overloaded"}, True),
        (501, {"message": "no", "type": "not_supported_error"}, False),
        (529, {"message": "Overloaded", "type": "overloaded_error"}, True),
        (404, {"message": "no", "code": "model_not_found"}, False),
    ],
)
def test_retryable_means_that_another_try_can_help(status, error, retryable):
    """An error that a wait cannot change is not retryable, with any status, in streams too."""
    assert answer(status, {"error": error}).retryable is retryable
    assert failure_from_payload(error, {"status": status}).retryable is retryable
    assert answer(status, {"error": error}, {"x-should-retry": "true"}).retryable is True


# Headers.


@pytest.mark.parametrize(
    "code, word, retryable",
    [(400, "true", True), (529, "false", False), (429, "False", False), (400, "maybe", False)],
)
def test_should_retry_header(code, word, retryable):
    """The provider's x-should-retry decides, where it says true or false."""
    assert answer(code, headers={"X-Should-Retry": word}).retryable is retryable


def test_quota_with_retry_after():
    """A spent quota is not retried even with Retry-After (E1)."""
    failure = answer(429, {"error": {"code": "insufficient_quota"}}, {"Retry-After": "5"})
    assert (failure.code, failure.retryable, failure.retry_after) == ("QUOTA", False, 5.0)


@pytest.mark.parametrize(
    "headers, body, request_id",
    [
        ({"X-Request-ID": "a", "cf-ray": "z"}, b"", "a"),
        ({"request-id": "b"}, b"", "b"),
        ({"x-amzn-RequestId": "c"}, b"", "c"),
        ({"apim-request-id": "d"}, b"", "d"),
        ({"CF-RAY": "z"}, b"", "z"),
        ({"cf-ray": "z"}, b'{"request_id":"e"}', "e"),
        ({}, b'{"error":{"message":"m","request_id":"f"}}', "f"),
        ({"x-request-id": " "}, b'{"request_id":null}', None),
        ({"x-request-id": "g"}, b"<html>", "g"),
    ],
)
def test_request_id_sources(headers, body, request_id):
    """The request id comes from the provider's header, its body, or the edge, in this order."""
    assert answer(500, body, headers).request_id == request_id


@pytest.mark.parametrize(
    "headers, found",
    [
        ({"X-DS-Trace-Id": "a", "x-request-id": "b"}, "a"),
        ({"x-other": "c", "x-request-id": "b"}, "c"),
        ({"x-request-id": "b", "cf-ray": "z"}, "z"),
    ],
)
def test_request_id_headers_named(headers, found):
    """Headers that a profile names are looked at in place of the usual ones."""
    names = ("x-ds-trace-id", "X-Other")
    assert request_id(headers, names) == found
    assert answer(500, headers=headers, id_headers=names).request_id == found


@pytest.mark.parametrize(
    "headers, found",
    [
        ({"X-Request-ID": " a ", "cf-ray": "z"}, "a"),
        ({"Mistral-Correlation-Id": "b"}, "b"),
        ({"CF-RAY": "z"}, "z"),
        ({"x-request-id": "x" * 900}, "x" * 499 + "…"),
        ({"content-type": "text/event-stream"}, None),
    ],
)
def test_request_id_headers_alone(headers, found):
    """Before a body is read, the headers alone give the id, short enough for a log."""
    assert request_id(headers) == found


NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"Retry-After": "5"}, 5.0),
        ({"RETRY-AFTER": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "5s"}, 5.0),
        ({"retry-after": "1209600"}, 1209600.0),
        ({"retry-after": "9999999999"}, 9999999999.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "abc"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "١٢"}, None),
        ({"retry-after": "5 apples"}, None),
        ({"retry-after": "5 s"}, None),
        ({"retry-after": "2 weeks"}, None),
        ({}, None),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10.0),
        ({"retry-after": "Tuesday, 14-Nov-23 22:13:30 GMT"}, 10.0),
        ({"retry-after": "Tue Nov 14 22:13:30 2023"}, 10.0),
        ({"retry-after": "Tue, 14 Nov 2023 21:13:30 GMT"}, 0.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 253402300799.0 - NOW),
        ({"retry-after": "Fri, 99 Foo 9999 99:99:99 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -9959"}, None),
        ({"retry-after-ms": "300"}, 0.3),
        ({"retry-after-ms": "300", "retry-after": "1"}, 0.3),
        ({"retry-after-ms": "x", "retry-after": "1"}, 1.0),
        ({"retry-after-ms": "0", "retry-after": "1"}, 1.0),
        ({"retry-after-ms": "0"}, 0.0),
        ({"retry-after-ms": "-1"}, None),
    ],
)
def test_retry_after_forms(headers, seconds):
    """Every form of Retry-After is finite seconds of 0 or more, or nothing (E6)."""
    assert retry_after_seconds(headers, NOW) == seconds


RESETS = {
    "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": "2023-11-14T22:13:30Z",
    "anthropic-ratelimit-input-tokens-remaining": "0",
    "anthropic-ratelimit-input-tokens-reset": "2023-11-14T22:13:50+00:00",
    "anthropic-ratelimit-output-tokens-remaining": "8000",
    "anthropic-ratelimit-output-tokens-reset": "2023-11-14T23:00:00Z",
}


@pytest.mark.parametrize("changes, seconds", [
    ({}, 30.0), ({"retry-after": "7"}, 7.0),
    ({"anthropic-ratelimit-input-tokens-remaining": "5"}, 10.0),
    ({"anthropic-ratelimit-input-tokens-reset": "2023-11-14T22:00:00Z"}, 10.0),
    ({"anthropic-ratelimit-input-tokens-reset": "soon"}, 10.0),
    ({"anthropic-ratelimit-input-tokens-reset": "0001-01-01T00:00:00+23:59"}, 10.0),
    ({"anthropic-ratelimit-input-tokens-reset": "2023-11-14T22:13:50"}, 10.0),
    (dict.fromkeys(RESETS, ""), None),
])
def test_wait_until_anthropics_limits_are_full_again(changes, seconds):
    """The last of the used up limits counts, where no header says how long to wait."""
    assert retry_after_seconds({**RESETS, **changes}, 1_700_000_000.0) == seconds


def test_retry_after_default_clock():
    """Without a time given, a Retry-After date counts from the wall clock."""
    assert answer(503, headers={"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}).retry_after > 1e11
    assert answer(503, headers={"Retry-After": "Sat, 01 Jan 2000 00:00:00 GMT"}).retry_after == 0


@pytest.mark.parametrize(
    "location, shown",
    [
        ("https://u:p4ss@login.example:8443/x?key=SECRET#f", "login.example:8443"),
        ("//other.example/x?key=SECRET", "other.example"),
        ("/other?key=SECRET", "same host"),
        ("http://[broken?key=SECRET", "redirected"),
        ("", "redirected"),
    ],
)
def test_redirect_names_host(location, shown):
    """A redirect's message names the new host: no query, no user, no path (T12)."""
    body = b'{"error":{"code":"insufficient_quota"}}'
    failure = answer(307, body, {"Location": location})
    assert failure.code == "HTTP_307" and not failure.retryable
    assert shown in failure.message
    assert "SECRET" not in failure.message and "p4ss" not in failure.message


# Messages.


@pytest.mark.parametrize(
    "body, words",
    [
        ("<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head>"
         "<body><center><h1>400 Bad Request</h1></center></body></html>",
         "400 The plain HTTP request was sent to HTTPS port"),
        ("<html><head><title>400 No required SSL certificate was sent</title></head></html>",
         "400 No required SSL certificate was sent"),
        ('<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title>',
         "Just a moment..."),
        ("<!DOCTYPE HTML><html><head><title>400 Bad Request</title></head><body>"
         "<h1>Bad Request</h1><p>Reason: You&#39;re speaking plain HTTP<br />\n to an SSL port."
         "</p>",
         "400 Bad Request; Reason: You're speaking plain HTTP to an SSL port."),
        ("<html><title lang='x'>\n Sorry &lt;html&gt; </title><p>Sorry</p></html>", "Sorry"),
        ("<?xml version='1.0'?><Error><Message>Request has expired</Message></Error>",
         "XML: Request has expired"),
    ],
)
def test_message_page_title(body, words):
    """The title of a web page and its first paragraph are told, cleaned."""
    failure = answer(400, body)
    assert words in failure.message and failure.code == "INVALID_REQUEST"
    assert_readable(failure.message)


def test_message_page_hides_secret():
    """A secret in a page's title is masked, also where the message is cut."""
    for before in (0, 400, 440, 460):
        page = f"<html><title>{'x' * before} sk-q7q7q7q7q7q7q7q7</title></html>"
        failure = answer(403, page, secrets=["sk-q7q7q7q7q7q7q7q7"])
        assert "q7" not in failure.message


@pytest.mark.parametrize(
    "headers, words",
    [
        ({}, "the body is empty"),
        ({"Content-Encoding": "gzip"}, "the body could not be decoded"),
        ({"content-encoding": "br"}, "the body could not be decoded"),
        ({"content-encoding": "gzip", "content-length": "0"}, "the body is empty"),
        ({"content-encoding": "identity"}, "the body is empty"),
    ],
)
def test_message_of_a_body_that_is_not_there(headers, words):
    """The message does not call a compressed body empty if nothing of it was read."""
    assert answer(502, b"", headers).message == f"HTTP 502 Bad Gateway: {words}"


@pytest.mark.parametrize(
    "address, shown",
    [
        ("https://api.example/v1/chat/completions", "https://api.example/v1/chat/completions"),
        ("https://u:p4ss@api.example:8443/v1?key=SECRET#f", "https://api.example:8443/v1"),
        ("http://p4ss@[::1]:80?key=SECRET", "http://[::1]:80"),
        ("https://api.example/sk-SECRET/v1", "https://api.example/***/v1"),
    ],
)
def test_message_names_the_address(address, shown):
    """An error answer says where it came from, without user, query and secrets."""
    for status in (307, 404, 599):
        message = answer(status, address=address, secrets=["sk-SECRET"]).message
        assert f" from {shown}: " in message
        assert "SECRET" not in message and "p4ss" not in message
    long = answer(404, {"error": {"message": "why"}}, address=f"http://h/{'x' * 900}").message
    assert long.endswith(": why")


def test_message_html_in_json():
    """A web page quoted in a message is not shown."""
    failure = said(502, "upstream said <html><body><h1>502</h1></body></html>")
    assert_readable(failure.message)
    assert "upstream said" in failure.message


def test_message_is_one_short_line():
    """Line breaks, control characters and length are taken out of a message."""
    failure = said(400, "a\r\nb\x00\x1b[31m\u2028c " + "x" * 5000)
    assert_readable(failure.message)
    assert failure.message.endswith("…") and "\x1b" not in failure.message
    assert "a b" in failure.message


@pytest.mark.parametrize("length", [8, 200])
@pytest.mark.parametrize("before", [0, 440, 490, 499, 8180, 8190])
def test_message_hides_secret(length, before):
    """No piece of a secret that a body quotes is shown, wherever the message is cut (E12)."""
    key = "sk-" + "q7" * length
    texts = (" " * before + key, "x" * before + key, "<p>" * (before // 3) + key)
    for text in texts:
        for body in ({"error": {"message": text}}, {"error": {"code": text}}, text, {"odd": text}):
            failure = answer(401, body, {"x-request-id": key}, secrets=[key])
            assert "q7" not in failure.message and "q7" not in failure.request_id
        failure = failure_from_payload({"message": text, "param": text}, secrets=[key])
        assert "q7" not in failure.message


# Errors inside a stream.


@pytest.mark.parametrize(
    "payload, event, error",
    [
        ({"error": {"message": "m"}}, "message", {"message": "m"}),
        ({"error": "m"}, "message", "m"),
        ({"error": {}}, "message", {}),
        ({"error": 0}, "message", 0),
        ({"error": True}, "message", True),
        ({"error": {"code": 502}, "choices": [{"delta": {}}]}, "message", {"code": 502}),
        ({"choices": [{"error": "x", "delta": {}}]}, "message", "x"),
        ({"choices": [{"error": {"code": 1}}], "error": None}, "message", {"code": 1}),
        ({"message": "m"}, "error", {"message": "m"}),
        ({"error": {"message": "m"}}, "error", {"message": "m"}),
        ({"error": None, "choices": []}, " Error ", {"error": None, "choices": []}),
        ({"detail": "m"}, "message", "m"),
        ({"detail": "m", "choices": []}, "message", "m"),
        ({"object": "error", "message": "m"}, "message", {"object": "error", "message": "m"}),
        ({"type": "error", "x": 1}, "message", {"type": "error", "x": 1}),
        ({"success": False, "errors": []}, "message", {"success": False, "errors": []}),
        ({"errors": [{"message": "m"}]}, "message", {"errors": [{"message": "m"}]}),
        ({"code": "Bad", "message": "m"}, "message", {"code": "Bad", "message": "m"}),
        ({"code": 500, "msg": "m"}, "message", {"code": 500, "msg": "m"}),
        ({"code": "E", "msg": "m"}, "message", {"code": "E", "msg": "m"}),
        ({"status": 500, "message": "m"}, "message", {"status": 500, "message": "m"}),
        ({"status": "503", "message": "m"}, "message", {"status": "503", "message": "m"}),
        ({"status": 404, "title": "m"}, "message", {"status": 404, "title": "m"}),
        ({"statusCode": 503, "message": "m"}, "message", {"statusCode": 503, "message": "m"}),
        ({"errorCode": "E", "errorMessage": "m"}, "message",
         {"errorCode": "E", "errorMessage": "m"}),
        ({"fault": {"faultstring": "m"}}, "message", {"faultstring": "m"}),
        ({"Error": {"Code": "c", "Message": "m"}}, "message", {"Code": "c", "Message": "m"}),
        ({"choices": [{"delta": {"error": "m"}}]}, "message", "m"),
        ({"choices": [{"delta": {"content": "x", "error": {}}}]}, "message", {}),
        ({"type": "response.failed", "response": {"error": {"code": "c"}}}, "message",
         {"code": "c"}),
        ({"base_resp": {"status_code": 1008}}, "message", {"status_code": 1008}),
    ],
)
def test_find_error_shapes(payload, event, error):
    """Every shape of DESIGN.md §8.4 is an error, with choices beside it too."""
    found = find_error(payload, event)
    assert found == error and found is not None


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"error": None},
        {"error": False},
        {"error": ""},
        {"choices": []},
        {"choices": None},
        {"choices": [{"error": None, "delta": {"content": "error"}}]},
        {"choices": [{"delta": {}}], "detail": "m"},
        {"choices": [{"delta": {}}], "success": False},
        {"choices": [None]},
        {"choices": "x"},
        {"detail": None, "errors": None, "success": True},
        {"type": "ping"},
        {"object": "chat.completion.chunk", "choices": [], "usage": {}},
        {"choices": [{"delta": {"error": None}}]},
        {"code": 0, "msg": "ok"},
        {"code": 200, "message": "success"},
        {"type": "response.failed", "response": {"error": None}},
        {"title": "A new chat"},
        {"choices": [{"delta": {}}], "base_resp": {"status_code": 0, "status_msg": ""}},
        {"message": "hello"},
    ],
)
def test_find_error_none(payload):
    """Null, false and empty errors, and payloads of other kinds, hold none."""
    assert find_error(payload) is None


@pytest.mark.parametrize(
    "payload, doubtful",
    [
        ({"message": "m"}, True),
        ({"status": "error", "msg": "m"}, True),
        ({"message": ""}, False),
        ({"message": {"role": "assistant"}}, False),
        ({"title": "A new chat"}, False),
        ({"code": 0, "msg": "ok"}, False),
        ({"code": 10**5000, "msg": "m"}, True),
    ],
    ids=range(7),
)
def test_may_be_error(payload, doubtful):
    """A sentence under a usual name makes a payload doubtful, unless its code says all is well."""
    assert may_be_error(payload) is doubtful


@pytest.mark.parametrize(
    "error, code",
    [
        ({"message": "Internal", "type": "server_error", "code": 500}, "SERVER"),
        ({"message": "Provider disconnected", "code": 502}, "SERVER"),
        ({"message": "m", "code": "502"}, "SERVER"),
        ({"message": "m", "code": 400, "type": "exceed_context_size_error"}, None),
        ({"message": "m", "code": 400, "type": "BadRequestError"}, "INVALID_REQUEST"),
        ({"message": "m", "status_code": 400, "code": "tool_use_failed"}, "INVALID_REQUEST"),
        ({"message": "m", "type": "invalid_request_error", "code": None}, "INVALID_REQUEST"),
        ({"message": "m", "type": "overloaded_error"}, "SERVER"),
        ({"message": "m", "type": "engine_overloaded_error"}, "SERVER"),
        ({"message": "m", "type": "authentication_error"}, "AUTH"),
        ({"message": "m", "type": "permission_error"}, "AUTH"),
        ({"message": "m", "type": "rate_limit_error"}, "RATE_LIMIT"),
        ({"message": "m", "status": "RESOURCE_EXHAUSTED", "code": 429}, "RATE_LIMIT"),
        ({"message": "m", "status": "UNAVAILABLE"}, "SERVER"),
        ({"message": "m", "code": 401}, "AUTH"),
        ({"message": "m", "code": 402}, "QUOTA"),
        ({"message": "m", "code": 403}, "AUTH"),
        ({"message": "m", "code": 404}, "HTTP_404"),
        ({"message": "m", "code": 408}, "TIMEOUT"),
        ({"message": "m", "code": 409}, "HTTP_409"),
        ({"message": "m", "code": 413}, "INVALID_REQUEST"),
        ({"message": "m", "code": 429.0}, "RATE_LIMIT"),
        ({"message": "m", "code": 529}, "SERVER"),
        ({"message": "m", "code": 1305}, "SERVER"),
        ({"message": "m", "code": 20}, "SERVER"),
        ("Insufficient Balance", "QUOTA"),
        ("[object Object]", "SERVER"),
        ("429 Too Many Requests", "RATE_LIMIT"),
        ({}, "SERVER"),
        (429, "RATE_LIMIT"),
    ],
)
def test_payload_codes(error, code):
    """An error in a stream has the code that its HTTP status would have given (E17, P1, P2)."""
    failure = failure_from_payload(error, {"error": error})
    assert failure.code == (code or "CONTEXT_WINDOW_EXCEEDED")
    assert failure.phase == "body"
    assert_readable(failure.message)


def test_payload_facts_beside_error():
    """A status, code and request id beside the error count."""
    payload = {"error": "no", "status": 402, "request_id": "r1"}
    failure = failure_from_payload("no", payload)
    assert (failure.code, failure.status, failure.request_id) == ("QUOTA", 402, "r1")
    assert failure.message == "no"


def nest(depth):
    value = {"message": "deep"}
    for _ in range(depth):
        value = {"error": [value]}
    return value


ODD = [
    0, -1, 10**5000, 1.5, float("nan"), float("inf"), True, None, "", " ", [], {}, [[[]]],
    "\ud83d", "x\udc00y", {"message": "\ud83d", "code": "\udfff"}, b"bytes", object(), {1, 2},
    {"message": 5}, {"message": None, "code": None}, {"message": ["a", {"b": "c"}]},
    {"code": 10**5000, "status": 10**400, "type": 1e400}, {"code": True, "status": [500]},
    {"code": {"a": 1}, "type": [], "param": 3, "request_id": 7, "loc": 1, "msg": "m"},
    {"msg": "m", "loc": [10**5000, {"a": 1}, None]}, {1: 2, None: 3}, {"details": [1, "x", None]},
    {"retryDelay": "xs"}, {"retryDelay": 5}, {"message": "[" * 5000}, {"message": '{"a":' * 5000},
    {"message": '{"message": ' + "9" * 5000 + "}"}, nest(3), nest(2000), [nest(1)] * 5000,
    {"message": "x" * 10**6}, {"message": {"message": {"message": "in"}}}, '{"message":"in"}',
]  # fmt: skip


@pytest.mark.parametrize("error", ODD, ids=range(len(ODD)))
def test_payload_never_raises(error):
    """Any value in the place of an error gives a readable failure."""
    for payload in (None, {"error": error}, {"error": "x", "code": error, "request_id": error}):
        failure = failure_from_payload(error, payload, secrets=["sk-secret"])
        assert failure.code in CODES or failure.code.startswith("HTTP_")
        assert_readable(failure.message)
        json.dumps(failure.to_dict(), ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "input " * 40000,
        "exceed " * 40000,
        "exceed" * 40000,
        "add_" * 60000,
        "exceeded your " * 20000,
        "no prompt tokens in request " * 9000,
        "://" + "a:" * 100000,
        "=http://x/?" + "key" * 60000,
        "{[" * 100000,
        '{"' * 100000,
        "<p" * 100000,
        "prompt tokens " * 20000,
        " " * 250000,
        "requested 1 limit 1 " * 12000,
        "1 + 1 > " * 30000,
        "9" * 250000,
        "blocked by " * 20000,
        "too large for a a a " * 12000,
        "contains model " * 16000,
        "<title" * 40000,
        "<html><p>" * 25000,
        "<html><title>" + "&amp;" * 50000,
    ],
    ids=range(22),
)
def test_reading_hostile_text_stays_cheap(text):
    """A quarter of a megabyte of anything is read in linear time."""
    start = time.process_time()
    failure_from_payload({"message": text}, secrets=["sk-secret"])
    answer(400, text[:65536])
    answer(400, '{"error":{"message":"' + text[:65536])
    assert time.process_time() - start < 5.0
