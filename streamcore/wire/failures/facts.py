# SPDX-License-Identifier: MIT
"""The facts in one error: its names, sentences and numbers. ``codes`` judges them.

In: an error as a JSON value: an object, a list, a sentence or a number, nested in any way.
Out: its facts, in order, with secrets masked and bounded in length. Refused: nothing.
Unknown keys are skipped. At most ``_NODES`` values are read, however deep an error nests.
The keys are those that providers and gateways were seen to use.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ...values.redaction import redact
from .headers import seconds
from .message import one_line
from .payload import MESSAGE_KEYS, http_status

_NODES = 100  # values read of one error, which bounds its depth too; most hold a dozen
_ITEMS = 8  # items read of one list; the rest of a long list of faults says the same
_TEXT_CHARACTERS = 8192  # kept of a sentence; bounds the time of the word tests
_NAME_CHARACTERS = 200  # kept of a name; a type of AWS fits, with its namespace and URL
_SENTENCES = 3  # shown: the gateway's, its provider's, and one more

_CODE_KEYS = ("code", "error_code", "errorCode", "errorcode", "Code", "reason")
_TYPE_KEYS = ("type", "error_type", "__type", "status")
_NAME_KEYS = (
    *_CODE_KEYS, *_TYPE_KEYS, "status_code", "statusCode", "raw_status_code", "quotaId",
)
_NESTED_KEYS = (
    *("error", "errors", "detail", "details", "metadata", "raw", "innererror", "inner_error"),
    *("violations", "base_resp", "fault", "Error"),
)
_REQUEST_ID_KEYS = ("request_id", "requestId", "RequestId", "requestID")
_JSON_START = re.compile(r"[\[{]\s{0,20}[\[{\"]")


class ErrorFacts:
    """The facts of one error.

    Args:
        secrets: texts that must not appear in them.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self.secrets = secrets  # masked before a text is cut, because half a secret is not found
        self.messages: List[str] = []  # sentences, outermost first
        self.names: List[str] = []  # codes, types and reasons, which ``codes`` looks up
        self.details: Dict[str, Any] = {}  # the first type and code, as the provider wrote them
        self.status: Optional[int] = None  # the first number that is an HTTP error status
        self.param: str = ""  # the field of the request that the provider complains about
        self.request_id: Optional[str] = None
        self.retry_after: Optional[float] = None  # seconds, if the body asks for a wait
        self._nodes = 0  # values read so far

    def read(self, value: Any) -> None:
        """Add the facts of an error, and of the errors inside it."""
        self._nodes += 1
        if self._nodes > _NODES:
            return
        if isinstance(value, str):
            self._read_text(value)
        elif isinstance(value, (list, tuple)):
            for item in value[:_ITEMS]:
                self.read(item)
        elif isinstance(value, Mapping):
            self._read_object(value)
        else:
            self.add_name(value)

    def read_names(self, value: Mapping[str, Any]) -> None:
        """Add the names and numbers of one object, but not its sentence."""
        for key in _NAME_KEYS:
            kept = self.add_name(value.get(key))
            kind = "code" if key in _CODE_KEYS else "type" if key in _TYPE_KEYS else None
            if kept is not None and kept != "error" and kind:
                self.details.setdefault(kind, one_line(kept, self.secrets))
        for key in _REQUEST_ID_KEYS:
            if isinstance(value.get(key), str) and value[key].strip():
                self.request_id = self.request_id or value[key].strip()
        if isinstance(value.get("param"), str):
            self.param = self.param or redact(value["param"], self.secrets).strip()[:100]
        if isinstance(value.get("retryDelay"), str) and self.retry_after is None:
            self.retry_after = seconds(value["retryDelay"])  # google.rpc.RetryInfo, "20.5s"

    def add_name(self, value: Any) -> Optional[str]:
        """Keep a code, type or reason and return it; keep an HTTP status as ``status``."""
        number = http_status(value)
        if number is not None:
            self.status = self.status or number
        elif isinstance(value, str) and value.strip():
            self.names.append(redact(value, self.secrets).strip()[:_NAME_CHARACTERS])
            return self.names[-1]
        elif isinstance(value, int) and 1000 <= value < 10**9:  # Zhipu's and MiniMax's codes
            self.names.append(str(value))
            return self.names[-1]
        return None

    def add_message(self, text: str) -> None:
        """Keep a sentence, unless a kept sentence contains it."""
        text = redact(text, self.secrets).strip()[:_TEXT_CHARACTERS]
        if text and not any(text in message for message in self.messages):
            self.messages.append(text)

    def sentence(self) -> str:
        """Return the provider's sentences, or else its names, or else ""."""
        said = self.messages[:_SENTENCES]
        text = "; ".join([*(one.rstrip(" .:;") for one in said[:-1]), *said[-1:]])
        if not text:
            return ", ".join(dict.fromkeys(name for name in self.names if name != "error"))
        return f"{text} (param: {self.param})" if self.param and self.param not in text else text

    def _read_object(self, value: Mapping[str, Any]) -> None:
        self.read_names(value)
        said = next((value[key] for key in MESSAGE_KEYS if value.get(key)), None)
        if isinstance(said, str) and isinstance(value.get("loc"), (list, tuple)):
            said = f"{_path(value['loc'])}: {said}"  # FastAPI names the wrong field in ``loc``
        if said is not None:
            self.read(said)
        for key in _NESTED_KEYS:
            inner = value.get(key)
            if key == "error" and said is not None and isinstance(inner, str):
                self.add_name(inner)  # {"error": "Not Found", "message": "…"}: it is a name
            elif inner is not None:
                self.read(inner)

    def _read_text(self, text: str) -> None:
        """Read a sentence, and the error in JSON that it may quote, as gateways do."""
        start = _JSON_START.search(text)
        inner = parsed(text[start.start():]) if start else None
        quoted = ErrorFacts(self.secrets)  # separate: JSON without a sentence is not an error
        quoted._nodes = self._nodes
        quoted.read(inner)
        if start is None or not quoted.messages:
            self.add_message(text)
            return
        for message in (text[: start.start()].strip(" -:\t\r\n"), *quoted.messages):
            self.add_message(message)
        self.names += quoted.names
        self.details = {**quoted.details, **self.details}
        self.status = self.status or quoted.status
        self.retry_after = self.retry_after or quoted.retry_after
        self._nodes = quoted._nodes


def parsed(text: str) -> Any:
    """Return the value of the JSON document that a text begins with, or None."""
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):  # not JSON, or nested deeper than Python can read
        return None


def shown(value: Any) -> str:
    """Return a value as JSON, or "" if it is empty or cannot be shown."""
    if value is None or value in ({}, [], ""):
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):  # not a JSON value, or nested too deeply
        return ""


def _path(steps: Sequence[Any]) -> str:
    """["body", "n", 0] → body.n.0"""
    return ".".join(
        str(step) for step in steps[:_ITEMS]
        if isinstance(step, str) or (isinstance(step, int) and abs(step) < 10**9)
    )
