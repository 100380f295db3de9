# SPDX-License-Identifier: MIT
"""Writes images, documents and other parts in Anthropic's form.

In: an image's address or ``data:`` URL, or a content part as OpenAI or Anthropic writes it.
Out: the content block. Refused: parts that this dialect cannot express, such as audio
(``UNSUPPORTED_CONTENT``); an image that is neither an address nor base64 data
(``INVALID_REQUEST``).
"""

from __future__ import annotations

from typing import Any, Dict

from ....values.errors import LlmError
from ....values.given import invalid


def write_image(url: str) -> Dict[str, Any]:
    """Return the image block of an address or a ``data:`` URL.

    Raises:
        LlmError: ``INVALID_REQUEST`` for a URL that is neither.
    """
    return {"type": "image", "source": _source(url, "an image")}


def write_part(part: Dict[str, Any]) -> Dict[str, Any]:
    """Return a content part as a block; a part in Anthropic's own form stays unchanged.

    Raises:
        LlmError: ``UNSUPPORTED_CONTENT`` for a part that this dialect cannot express,
            ``INVALID_REQUEST`` for an image that is neither an address nor base64 data.
    """
    kind = part.get("type")
    if kind == "image_url":
        held = part.get("image_url")
        url = held.get("url") if isinstance(held, dict) else held
        if not isinstance(url, str):
            raise invalid("an image_url part has no url")
        return write_image(url)
    if kind == "file":
        return _document(part.get("file"))
    if kind in ("input_audio", "audio", "video_url", "refusal"):
        text = f"this dialect cannot send a part of the type {kind}"
        raise LlmError(text, "UNSUPPORTED_CONTENT", phase="prepare")
    if not isinstance(kind, str):
        raise invalid("a content part has no type")
    return part


def _document(file: Any) -> Dict[str, Any]:
    data = file.get("file_data") if isinstance(file, dict) else None
    if not isinstance(data, str):
        text = "this dialect sends a file as data: file_data must be a data: URL"
        raise LlmError(text, "UNSUPPORTED_CONTENT", phase="prepare")
    shown = {"type": "document", "source": _source(data, "a file")}
    if isinstance(file.get("filename"), str):
        shown["title"] = file["filename"]
    return shown


def _source(url: str, what: str) -> Dict[str, Any]:
    if not url.startswith("data:"):
        if "://" not in url:
            raise invalid(f"{what} must be an address or a data: URL")
        return {"type": "url", "url": url}
    head, comma, data = url[len("data:"):].partition(",")
    media_type, _, coding = head.partition(";")
    if not comma or not media_type or coding.rpartition(";")[2] != "base64":
        raise invalid(f"the data: URL of {what} must name its media type and be base64")
    return {"type": "base64", "media_type": media_type, "data": data}
