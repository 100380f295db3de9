# SPDX-License-Identifier: MIT
"""Signs: what was found in one error, before anybody judges it.

In: the names, numbers and sentences that ``reading`` and ``body`` come across.
Out: the same in order, secrets masked, bounded in length; one sentence for people.
Refused: nothing; what is no name, number or sentence is passed over.
"""

from __future__ import annotations

import re
from typing import Any, List, Optional, Sequence

from ...values.redaction import redact

_TEXT_CHARACTERS = 8192  # no error sentence is longer; bounds the word tests
_NAME_CHARACTERS = 200  # a type of AWS fits, with its namespace and URL
_SENTENCES = 3  # what a gateway says, what its provider said, and one more


class Signs:
    """What was found in one error."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self.secrets = secrets  # masked before anything is cut: half a secret is not recognised
        self.messages: List[str] = []  # sentences, outermost first
        self.names: List[str] = []  # codes, types, reasons: what a table can know
        self.status: Optional[int] = None  # the first number that is an HTTP error status
        self.param: str = ""  # the request's field the provider complains about
        self.request_id: Optional[str] = None
        self.retry_after: Optional[float] = None  # seconds, where the body asks for a wait
        self.nodes = 0  # values looked at so far

    def add_name(self, value: Any) -> None:
        """Keep a code, type or reason; a number that can be one is the HTTP status."""
        number = _http_status(value)
        if number is not None:
            self.status = self.status or number
        elif isinstance(value, str) and value.strip():
            self.names.append(redact(value, self.secrets).strip()[:_NAME_CHARACTERS])
        elif isinstance(value, int) and 1000 <= value < 10**9:  # Zhipu's and MiniMax's codes
            self.names.append(str(value))

    def add_message(self, text: str) -> None:
        """Keep a sentence, unless one already kept says it too."""
        text = redact(text, self.secrets).strip()[:_TEXT_CHARACTERS]
        if text and not any(text in message for message in self.messages):
            self.messages.append(text)

    def sentence(self) -> str:
        """Return the provider's words; its names where it said no more; else nothing."""
        said = self.messages[:_SENTENCES]
        text = "; ".join([*(one.rstrip(" .:;") for one in said[:-1]), *said[-1:]])
        if not text:
            return ", ".join(dict.fromkeys(name for name in self.names if name != "error"))
        return f"{text} (param: {self.param})" if self.param and self.param not in text else text


def _http_status(value: Any) -> Optional[int]:
    """Read a number that can be an HTTP error status, however it is written."""
    if isinstance(value, str) and re.fullmatch(r"\s*[45][0-9]{2}\s*", value):
        return int(value)
    if isinstance(value, (int, float)) and 400 <= value <= 599 and value == int(value):
        return int(value)
    return None
