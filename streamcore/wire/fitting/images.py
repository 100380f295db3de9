# SPDX-License-Identifier: MIT
"""Images of a history, checked before anything is sent.

In: messages, and what the receiver takes. Refused: any image where there are none
(``UNSUPPORTED_CONTENT``), an address where only data is taken (the same), and an image that
is neither an address nor data of a named type (``INVALID_REQUEST``).
"""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping, Optional, Sequence

from ...values.errors import LlmError
from ...values.given import invalid
from ...values.messages import AssistantMessage, ImageBlock, Message, OpaqueBlock
from ..dialects.options import DialectOptions

_ADDRESS = re.compile(r"(?!data:|file:)[A-Za-z][A-Za-z0-9+.-]*://.", re.DOTALL)
_WEB = re.compile("https?://", re.IGNORECASE)
_DATA = re.compile(r"data:[a-z]+/[a-z0-9.+-]+(?:;[^,;]*)*;base64,.", re.IGNORECASE | re.DOTALL)
_RIGHT = "it is an https: address or a data: URL; ImageBlock.from_file(path) makes one of a file"


def check_images(messages: Sequence[Message], options: DialectOptions) -> None:
    """Refuse what the receiver cannot take.

    Raises:
        LlmError: ``UNSUPPORTED_CONTENT`` or ``INVALID_REQUEST``, naming the message.
    """
    for position, message in enumerate(messages):
        for part in _parts(message):
            if _is_image(part):
                _check(part, options, f"messages[{position}]")


def _parts(message: Message) -> Iterator[Any]:
    for block in message.content:
        # What an answer brought goes back to its maker, and to nobody else.
        if not (isinstance(block, OpaqueBlock) and isinstance(message, AssistantMessage)):
            yield block
    for result in message.tool_results:
        if isinstance(result.content, list):
            yield from result.content


def _is_image(part: Any) -> bool:
    raw = part.part if isinstance(part, OpaqueBlock) else part
    kind = raw.get("type") if isinstance(raw, dict) else getattr(raw, "type", None)
    return isinstance(kind, str) and "image" in kind


def _check(part: Any, options: DialectOptions, where: str) -> None:
    if not options.images:
        raise _unsupported(f"{where}: this provider takes no images")
    url = _url(part)
    if url is None:
        return
    if not options.image_addresses and _WEB.match(url):
        raise _unsupported(f"{where}: this provider takes an image as data, not as an address")
    if url[:15].lower().startswith("data:image/jpg;"):
        raise invalid(f"{where}: the media type of the image is image/jpeg, not image/jpg")
    if not _ADDRESS.match(url) and not _DATA.match(url):
        raise invalid(f"{where}: the image cannot be sent: {_RIGHT}")


def _url(part: Any) -> Optional[str]:
    """Return the URL of an image whose form is known; other forms are the provider's own."""
    if isinstance(part, ImageBlock):
        return part.url
    held = part.get("image_url") if isinstance(part, dict) else None
    url = held.get("url") if isinstance(held, Mapping) else None
    return url if isinstance(url, str) else None


def _unsupported(text: str) -> LlmError:
    return LlmError(text, "UNSUPPORTED_CONTENT", phase="prepare")
