# SPDX-License-Identifier: MIT
"""Checks the images of a history before anything is sent.

In: messages, and what the receiver accepts. Refused with ``UNSUPPORTED_CONTENT``: an image for
a receiver without images, and an address for a receiver that accepts only data. Refused with
``INVALID_REQUEST``: an image that is neither an address nor data of a named type.
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
_RIGHT = "give an https: address or a data: URL; ImageBlock.from_file(path) makes one of a file"


def check_images(messages: Sequence[Message], options: DialectOptions) -> None:
    """Refuse images that the receiver cannot accept.

    Raises:
        LlmError: ``UNSUPPORTED_CONTENT`` or ``INVALID_REQUEST``, naming the message.
    """
    for position, message in enumerate(messages):
        for part in _parts(message):
            if _is_image(part):
                _check(part, options, f"messages[{position}]")


def _parts(message: Message) -> Iterator[Any]:
    for block in message.content:
        # An opaque block of an answer goes back only to its maker, so it needs no check.
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
        raise invalid(f"{where}: the media type of an image must be image/jpeg, not image/jpg")
    if not _ADDRESS.match(url) and not _DATA.match(url):
        raise invalid(f"{where}: the image cannot be sent: {_RIGHT}")


def _url(part: Any) -> Optional[str]:
    """Return the URL of an image, or None for an image in a provider's own form."""
    if isinstance(part, ImageBlock):
        return part.url
    held = part.get("image_url") if isinstance(part, dict) else None
    url = held.get("url") if isinstance(held, Mapping) else None
    return url if isinstance(url, str) else None


def _unsupported(text: str) -> LlmError:
    return LlmError(text, "UNSUPPORTED_CONTENT", phase="prepare")
