# SPDX-License-Identifier: MIT
"""The table of dialects, their options, and a body in another dialect than was asked for."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Dict, List, Mapping

import pytest
from support import CHAT, CAPTURES, DONE, D, F

from streamcore.providers import get_profile
from streamcore.values.errors import LlmError
from streamcore.values.frozen import FrozenDict
from streamcore.wire.dialects import (
    DialectOptions, dialect_names, find_dialect, recognise, register_dialect,
)
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions
from streamcore.wire.dialects.options import NOT_GIVEN
from streamcore.wire.pipeline import parse_stream

FOREIGN = {
    "anthropic": "anthropic-messages", "responses": "openai-responses", "gemini": "gemini",
    "ollama": "ollama",
}
"""The folder of captures → the dialect of its streams."""


def streams(folder: str) -> List[Path]:
    """Return the recorded streams of a dialect; none where the captures are absent."""
    return sorted((CAPTURES / folder / "streams").glob("*"))


def refused(body: bytes) -> LlmError:
    """Return the error of a body read as chat completions."""
    with pytest.raises(LlmError) as caught:
        list(parse_stream([body]))
    return caught.value


@pytest.mark.parametrize("folder", FOREIGN)
def test_recorded_stream_of_another_dialect_is_named(folder: str) -> None:
    """It is refused with the dialect's name, and not retried."""
    if not streams(folder):
        pytest.skip("no recorded answers beside this checkout")
    for path in streams(folder):
        error = refused(path.read_bytes())
        assert (error.code, error.retryable) == ("MALFORMED_RESPONSE", False), path.name
        assert f"in the dialect {FOREIGN[folder]}, not chat-completions" in str(error), path.name


@pytest.mark.parametrize("payload, name", [
    ({"choices": []}, "chat-completions"), ({"type": "message_start"}, "anthropic-messages"),
    ({"type": "message", "role": "assistant"}, "anthropic-messages"),
    ({"type": "response.created"}, "openai-responses"),
    ({"object": "response"}, "openai-responses"),
    ({"candidates": []}, "gemini"), ({"promptFeedback": {}}, "gemini"),
    ({"model": "m", "message": {}, "done": False}, "ollama"),
    ({"type": "ping"}, None), ({"type": "message"}, None), ({"done": True}, None), ({}, None),
])
def test_payload_is_recognised(payload: Dict[str, Any], name: Any) -> None:
    """A field that every dialect's gateways use identifies no dialect."""
    assert recognise(payload) == name


def test_first_payload_tells_before_the_body_has_ended() -> None:
    """A long foreign stream is not read to its end in silence."""
    def pieces() -> Any:
        yield b'event: message_start\ndata: {"type":"message_start"}\n\n'
        raise AssertionError("read on")

    with pytest.raises(LlmError, match="anthropic-messages"):
        list(parse_stream(pieces()))


def test_odd_first_payload_is_no_foreign_dialect() -> None:
    """What gateways send first is passed over, and only the first payload is looked at."""
    odd = b'data: {"type":"ping"}\n\n' + b'data: {"type":"message_start"}\n\n'
    (*_, end) = parse_stream([odd + D({"content": "a"}) + F("stop") + DONE])
    assert end.type == "finish"


def test_dialect_that_is_read_here_is_offered_by_name() -> None:
    """The error says how to ask for the dialect that the body is in."""
    remove = register_dialect(replace(
        CHAT, name="toy", recognises=lambda payload: payload.get("toy") is True,
    ))
    try:
        assert "dialect='toy'" in str(refused(b'data: {"toy":true}\n\n'))
        assert find_dialect("toy").name == "toy" and "toy" in dialect_names()
        with pytest.raises(ValueError, match="already"):
            register_dialect(find_dialect("toy"))
    finally:
        remove()
    with pytest.raises(ValueError, match="a dialect is one of chat-completions, "):
        find_dialect("toy")


# Options.


@dataclass(frozen=True)
class OtherOptions(DialectOptions):
    """The options of another dialect."""

    other: bool = NOT_GIVEN
    DEFAULTS: ClassVar[Mapping[str, Any]] = FrozenDict(DialectOptions.DEFAULTS, other=False)


def test_only_the_fields_given_count_over_others() -> None:
    """A default that somebody gives is given; a field that nobody gives has its default."""
    profile = ChatCompletionsOptions(images=False, max_tokens_field="max_completion_tokens")
    given = ChatCompletionsOptions(images=True).over(profile)
    assert given.given() == {"images": True, "max_tokens_field": "max_completion_tokens"}
    resolved = given.resolved()
    assert resolved.given().keys() == ChatCompletionsOptions.DEFAULTS.keys()
    assert (resolved.images, resolved.stream_options) == (True, True)
    assert resolved.max_tokens_field == "max_completion_tokens"


def test_options_of_every_dialect_go_over_those_of_one() -> None:
    """A done marker can be given without knowing the dialect; the wider class is kept."""
    profile = ChatCompletionsOptions(think_tags=True)
    both = DialectOptions(done_marker="optional").over(profile)
    assert isinstance(both, ChatCompletionsOptions) and both.think_tags
    assert both.done_marker == "optional"
    assert profile.over(DialectOptions(done_marker="optional")) == both


def test_options_of_another_dialect_are_refused() -> None:
    """By the profile, and where a stream is parsed."""
    with pytest.raises(TypeError, match="OtherOptions do not fit"):
        OtherOptions(other=True).over(ChatCompletionsOptions())
    with pytest.raises(TypeError, match="OtherOptions do not fit"):
        replace(get_profile("openai"), options=OtherOptions(other=True))
    with pytest.raises(TypeError, match="OtherOptions do not fit"):
        parse_stream([], options=OtherOptions(other=True))


def test_option_that_is_of_another_class_is_refused_with_a_hint() -> None:
    """In 0.1 the options of chat completions were ``DialectOptions``."""
    with pytest.raises(TypeError, match="'think_tags'.*ChatCompletionsOptions"):
        DialectOptions(think_tags=True)
    made = ChatCompletionsOptions(think_tags=True)
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made


def test_parse_stream_takes_options() -> None:
    """The options win over the argument ``done_marker``."""
    body = [D({"content": "<think>a</think>b"}) + F("stop")]
    options = ChatCompletionsOptions(think_tags=True, done_marker="optional")
    types = [chunk.type for chunk in parse_stream(body, options=options)]
    assert "reasoning-delta" in types and types[-1] == "finish"
    types = [c.type for c in parse_stream(
        body, options=ChatCompletionsOptions(think_tags=True), done_marker="optional")]
    assert "reasoning-delta" in types and types[-1] == "finish"


def test_document_of_another_dialect_is_named() -> None:
    """A body that is JSON, lines of JSON, or a list of objects."""
    whole = {"type": "message", "role": "assistant", "content": []}
    line = {"model": "m", "message": {"content": "a"}, "done": False}
    for body, name in (
        (json.dumps(whole), "anthropic-messages"),
        (f"{json.dumps(line)}\n{json.dumps(line)}\n", "ollama"),
        (f"[{json.dumps({'candidates': []})}\n]", "gemini"),
    ):
        assert f"in the dialect {name}," in str(refused(body.encode()))
