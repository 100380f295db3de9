# SPDX-License-Identifier: MIT
"""Reading: what an error says, wherever in it the error says it.

In: an error as JSON has it: an object, a list, a sentence, a number, nested in any way.
Out: its names, sentences and facts, added to ``Signs``. Refused: nothing; what is
unknown is passed over, and a bound on the values looked at ends what does not end.
The keys are those that providers and gateways were seen to use.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from ...values.redaction import redact
from .headers import number
from .jsontext import parsed_start
from .signs import Signs

_NODES = 100  # values looked at, so levels too; error bodies hold a dozen
_ITEMS = 8  # of one list; the rest of a long list of faults says the same

_MESSAGE_KEYS = ("message", "msg", "error_message", "error_msg", "errorMessage", "status_msg")
_NAME_KEYS = (
    *("code", "error_code", "errorCode", "type", "error_type", "__type"),
    *("status", "status_code", "statusCode", "raw_status_code", "reason", "quotaId"),
)
_NESTED_KEYS = (
    *("error", "errors", "detail", "details", "metadata", "raw", "innererror", "inner_error"),
    *("violations", "base_resp"),
)
_REQUEST_ID_KEYS = ("request_id", "requestId", "RequestId", "requestID")
_JSON_START = re.compile(r"[\[{]\s{0,20}[\[{\"]")


def read_error(value: Any, signs: Signs) -> None:
    """Add to ``signs`` what an error says, and what the errors inside it say."""
    signs.nodes += 1
    if signs.nodes > _NODES:
        return
    if isinstance(value, str):
        _read_text(value, signs)
    elif isinstance(value, (list, tuple)):
        for item in value[:_ITEMS]:
            read_error(item, signs)
    elif isinstance(value, Mapping):
        _read_mapping(value, signs)
    else:
        signs.add_name(value)


def read_names(value: Mapping[str, Any], signs: Signs) -> None:
    """Add to ``signs`` the names and facts of one object, and no sentence."""
    for key in _NAME_KEYS:
        signs.add_name(value.get(key))
    for key in _REQUEST_ID_KEYS:
        if isinstance(value.get(key), str) and value[key].strip():
            signs.request_id = signs.request_id or value[key].strip()
    if isinstance(value.get("param"), str):
        signs.param = signs.param or redact(value["param"], signs.secrets).strip()[:100]
    delay = value.get("retryDelay")  # google.rpc.RetryInfo, "20.5s"
    if isinstance(delay, str) and delay.endswith("s") and signs.retry_after is None:
        signs.retry_after = number(delay[:-1])


def _read_mapping(value: Mapping[str, Any], signs: Signs) -> None:
    read_names(value, signs)
    said = next((value[key] for key in _MESSAGE_KEYS if value.get(key)), None)
    if isinstance(said, str) and isinstance(value.get("loc"), (list, tuple)):
        said = f"{_path(value['loc'])}: {said}"  # FastAPI says apart which field is wrong
    if said is not None:
        read_error(said, signs)
    for key in _NESTED_KEYS:
        inner = value.get(key)
        if key == "error" and said is not None and isinstance(inner, str):
            signs.add_name(inner)  # {"error": "Not Found", "message": "…"}: a name, no sentence
        elif inner is not None:
            read_error(inner, signs)


def _path(steps: Any) -> str:
    """["body", "n", 0] → body.n.0"""
    return ".".join(str(step) for step in steps[:_ITEMS] if _is_step(step))


def _is_step(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 10**9)


def _read_text(text: str, signs: Signs) -> None:
    """Read a sentence, or one that quotes JSON: gateways hand on what they were told."""
    start = _JSON_START.search(text)
    head, tail = (text[: start.start()], text[start.start():]) if start else (text, "")
    inner = parsed_start(tail) if start else None
    quoted = Signs(signs.secrets)  # apart: JSON without a sentence in it was no quoted error
    quoted.nodes = signs.nodes
    if inner is not None:
        read_error(inner, quoted)
    if not quoted.messages:
        signs.add_message(text)
        return
    signs.add_message(head.strip(" -:\t\r\n"))
    for message in quoted.messages:
        signs.add_message(message)
    signs.names += quoted.names
    signs.status = signs.status or quoted.status
    signs.retry_after = signs.retry_after or quoted.retry_after
    signs.nodes = quoted.nodes
