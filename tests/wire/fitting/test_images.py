# SPDX-License-Identifier: MIT
"""Images that no provider could read are refused with a sentence that helps."""

from __future__ import annotations

from typing import Any

import pytest

from streamcore.values.errors import LlmError
from streamcore.values.messages import ImageBlock, Message, TextBlock, ToolCall
from fitting_support import answer, fitted, result, user

DATA = "data:image/png;base64,iVBORw0KGgo="


def refused(messages: Any, **options: Any) -> str:
    """Return code and message of the refusal."""
    with pytest.raises(LlmError) as caught:
        fitted(messages, **options)
    assert caught.value.failure.phase == "prepare" and not caught.value.retryable
    return str(caught.value)


@pytest.mark.parametrize("url, words", [
    ("iVBORw0KGgoAAAANSUhEUg==", "ImageBlock.from_file"), ("/tmp/cat.png", "ImageBlock.from_file"),
    ("cat.png", "ImageBlock.from_file"), ("C:\\cat.png", "ImageBlock.from_file"),
    ("file:///tmp/cat.png", "ImageBlock.from_file"), ("", "ImageBlock.from_file"),
    ("data:image/jpg;base64,/9j/", "image/jpeg"), ("DATA:IMAGE/JPG;base64,/9j/", "image/jpeg"),
    ("data:image/png,abc", "ImageBlock.from_file"), ("data:;base64,AA", "ImageBlock.from_file"),
    ("data:image/png;base64,", "ImageBlock.from_file"),
])
def test_image_that_cannot_be_sent(url: str, words: str) -> None:
    """Bare base64, a path and a wrong media type are INVALID_REQUEST, naming the message."""
    text = refused([user(), Message("user", (ImageBlock(url),))])
    assert text.startswith("INVALID_REQUEST: messages[1]: ") and words in text
    part = {"type": "image_url", "image_url": {"url": url}}
    history = [user(), answer(ToolCall("c", "f")), result("c", [part])]
    assert "messages[2]" in refused(history)


@pytest.mark.parametrize("url", [
    "https://h/i.png", "http://h/i", DATA, "data:image/jpeg;base64,/9j/", "gs://b/i.png",
    "ms://file-1", "data:image/svg+xml;charset=utf-8;base64,AA",
])
def test_image_that_can_be_sent(url: str) -> None:
    """An address, one of a provider's own store, and data go out as they are."""
    message = Message("user", (TextBlock("see"), ImageBlock(url)))
    assert fitted([message]) == [message]


@pytest.mark.parametrize("url, taken", [
    ("https://h/i.png", False), ("HTTP://h/i.png", False), (DATA, True), ("ms://file-1", True),
])
def test_address_where_only_data_is_taken(url: str, taken: bool) -> None:
    """It is UNSUPPORTED_CONTENT before any I/O."""
    message = Message("user", (ImageBlock(url),))
    if taken:
        assert fitted([message], image_addresses=False) == [message]
    else:
        assert "UNSUPPORTED_CONTENT" in refused([message], image_addresses=False)


def test_no_images_at_all() -> None:
    """A text-only provider refuses each form of an image."""
    text = refused([Message("user", (ImageBlock(DATA),))], images=False)
    assert text.startswith("UNSUPPORTED_CONTENT: messages[0]: this provider takes no images")
