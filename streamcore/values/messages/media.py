# SPDX-License-Identifier: MIT
"""The bytes inside a part: generated images, audio, files.

In: a part as a provider sent it, and its kind. Out: its media type and its data, if it
has them. The parts that are read are OpenAI's (chat and Responses), Anthropic's ``source``
and Gemini's ``inlineData``. A part of another kind gives neither: an encrypted ``data``
field, for example, is not an image.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Dict, Mapping, NamedTuple, Optional
from urllib.parse import unquote_to_bytes

_KINDS: Dict[str, str] = {
    **dict.fromkeys(("image", "image_url", "input_image", "output_image"), "image/"),
    "image_generation_call": "image/",
    **dict.fromkeys(("audio", "input_audio", "output_audio"), "audio/"),
    **dict.fromkeys(("file", "input_file", "document", "inlineData", "inline_data"), ""),
}
"""The kinds that carry data, and the start of the media type for a ``format`` such as ``wav``."""
_HOLDERS = ("image_url", "source", "input_audio", "audio", "file", "inlineData", "inline_data")
_DATA = ("data", "b64_json", "file_data", "result", "image_url", "url")
_TYPES = ("media_type", "mime_type", "mimeType")
_FORMATS = ("format", "output_format")

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""The first bytes of image files, and their media type."""


class Media(NamedTuple):
    """What a part carries: its media type, and its data as text."""

    type: Optional[str] = None
    text: Optional[str] = None
    is_base64: bool = True

    def decoded(self) -> Optional[bytes]:
        """Return the data; None if there is none.

        Raises:
            ValueError: for data that should be base64 but is not.
        """
        if self.text is None or not self.is_base64:
            return None if self.text is None else unquote_to_bytes(self.text)
        try:
            return base64.b64decode("".join(self.text.split()), validate=True)
        except binascii.Error as exc:
            raise ValueError(f"the data of this part is not base64: {exc}") from None


def read_media(kind: Optional[str], part: Mapping[str, Any]) -> Media:
    """Return the media type and the data of a part of this kind."""
    if kind not in _KINDS:
        return Media()
    held = next((part[name] for name in _HOLDERS if isinstance(part.get(name), Mapping)), part)
    text, told = _first(held, _DATA), _first(held, _TYPES)
    bare = _first(held, _FORMATS)
    if told is None and bare is not None:
        told = _KINDS[kind] + bare
    if text is not None and text.startswith("data:"):
        head, _, text = text[len("data:") :].partition(",")
        named = head.partition(";")[0]
        return Media(named or told, text, head.endswith(";base64"))
    if text is not None and "://" in text[:16]:  # an address, not data
        text = None
    return Media(told, text)


def image_type(data: bytes) -> Optional[str]:
    """Return the media type that the first bytes of an image tell; None for other data.

    It knows the four formats that every provider with images takes: PNG, JPEG, GIF and WebP.
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _IMAGES.items() if data.startswith(begin)), None)


def _first(held: Mapping[str, Any], names: Any) -> Optional[str]:
    return next((held[name] for name in names if isinstance(held.get(name), str)), None)
