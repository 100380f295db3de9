# SPDX-License-Identifier: MIT
"""Images, audio and parts of unknown kinds: opaque blocks of the message."""

from __future__ import annotations

import base64
import time
from typing import Any, Dict, List

import pytest

from streamcore.values.limits import Limits
from streamcore.values.messages import OpaqueBlock

from support import DONE, D, F, Outcome, J, call, run

PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG pixels").decode()
IMAGE = {"type": "image_url", "image_url": {"url": PNG}, "index": 0}


def opaque(outcome: Outcome) -> List[OpaqueBlock]:
    return [block for block in outcome.message.content if isinstance(block, OpaqueBlock)]


def test_answer_of_an_image_only_is_a_message() -> None:
    """The image is an opaque block, with its bytes to read, and kept as it came."""
    outcome = run(D({"content": "", "images": [IMAGE]}) + F("stop") + DONE)
    (block,) = opaque(outcome)
    assert (block.kind, block.media_type, block.data()) == (
        "image", "image/png", b"\x89PNG pixels")
    assert block.part == IMAGE and outcome.message.finish == "stop" and not outcome.diagnostics


def test_image_of_megabytes_is_read_where_the_limits_let_it() -> None:
    """An image comes whole in one event, so the event limit must allow it."""
    url = "data:image/png;base64," + "A" * 2_000_000
    body = D({"images": [{"image_url": {"url": url}}]}) + F("stop") + DONE
    assert run(body).code == "MALFORMED_RESPONSE"
    (block,) = opaque(run(body, limits=Limits(max_event_bytes=32 << 20)))
    assert block.data() == b"\0" * 1_500_000


def test_images_and_text_keep_their_order() -> None:
    """Blocks stand in the order they began in, and an image cut at the cap stays."""
    body = (
        D({"content": "a"}) + D({"images": [IMAGE]}) + D({"content": "b"})
        + D({"images": [{**IMAGE, "image_url": {"url": "data:image/png;base64,AA=="}}]})
    )
    for word, finish in (("stop", "stop"), ("length", "max-tokens")):
        message = run(body + F(word) + DONE).message
        assert [block.type for block in message.content] == ["text", "opaque", "opaque"]
        assert (message.text, message.finish) == ("ab", finish)


def test_image_that_is_told_again_is_one_block() -> None:
    """An image may come again in a later delta and in the message that closes the stream."""
    body = D({"images": [IMAGE]}) + D({"images": [None, {}, IMAGE]})
    choice = {"index": 0, "message": {"images": [IMAGE]}, "finish_reason": "stop"}
    closing = J({"choices": [choice]})
    outcome = run(body + closing + DONE)
    assert len(opaque(outcome)) == 1 and outcome.diagnostics["image_repeated"] == 1


@pytest.mark.parametrize("message", [{"images": [IMAGE]}, {"audio": {"id": "a", "data": "AA=="}}])
def test_media_told_only_by_the_closing_message_are_kept(message: Dict[str, Any]) -> None:
    """Media that only the closing message holds are kept, because they were paid for."""
    closing = J({"choices": [{"index": 0, "message": {"content": "x", **message},
                              "finish_reason": "stop"}]})
    outcome = run(D({"content": "x"}) + closing + DONE)
    assert len(opaque(outcome)) == 1 and outcome.message.text == "x"


@pytest.mark.parametrize("images, data", [
    ([PNG], b"\x89PNG pixels"), (PNG, b"\x89PNG pixels"), (IMAGE, b"\x89PNG pixels"),
    ([{"b64_json": "AAEC"}], b"\0\1\2"), ([{"type": "image", "data": "AAEC"}], b"\0\1\2"),
    ([{"image_url": {"url": "https://x/y.png"}}], None),
])
def test_image_is_read_in_each_form(images: Any, data: Any) -> None:
    """A bare text, one object without a list, data under another name, an address."""
    (block,) = opaque(run(D({"images": images}) + F("stop") + DONE))
    assert block.kind == "image" and block.data() == data


@pytest.mark.parametrize("delta", [
    {"images": [1]}, {"images": 5}, {"audio": "x"}, {"audio": {"expires_at": 5}}, {"audio": [1]},
])
def test_odd_media_are_counted_and_passed_over(delta: Dict[str, Any]) -> None:
    """Media of wrong types are counted and skipped, and do not fail the answer."""
    assert run(D(delta) + F("stop") + DONE).code == "EMPTY_RESPONSE"
    outcome = run(D({"content": "x", **delta}) + F("stop") + DONE)
    assert outcome.message.text == "x" and outcome.diagnostics == {"delta_field_unknown": 1}


def audio(*pieces: Dict[str, Any]) -> OpaqueBlock:
    body = b"".join(D({"audio": piece}) for piece in pieces)
    (block,) = opaque(run(body + F("stop") + DONE))
    return block


def test_audio_in_pieces_is_one_block() -> None:
    """The data and the transcript grow; other fields keep their last value."""
    block = audio(
        {"id": "a1", "transcript": "Can"}, {"transcript": "ada"}, {"data": "AAEC"},
        {"data": "AwQF"}, {"id": "a1", "expires_at": 7},
    )
    assert block.kind == "audio" and block.data() == b"\0\1\2\3\4\5"
    assert block.part == {
        "id": "a1", "transcript": "Canada", "data": "AAECAwQF", "expires_at": 7}


def test_pieces_of_audio_that_are_padded_each_are_joined_as_bytes() -> None:
    """Padded pieces are joined as bytes, because base64 may be padded only at its end."""
    assert audio({"id": "a", "data": "AA=="}, {"data": "AQI="}, {"data": "Aw=="}).data() == (
        b"\0\1\2\3")
    assert audio({"id": "a", "data": "A="}, {"data": "?"}).part["data"] == "A=?"


def test_another_id_is_another_piece_of_audio() -> None:
    """A new id opens a second block of audio."""
    body = D({"audio": {"id": "a", "data": "AAEC"}}) + D({"audio": {"id": "b", "data": "AwQF"}})
    blocks = opaque(run(body + F("stop") + DONE))
    assert [(block.part["id"], block.data()) for block in blocks] == [
        ("a", b"\0\1\2"), ("b", b"\3\4\5")]


def test_halves_of_characters_in_a_transcript_are_joined() -> None:
    """Halves are mended, so that the message can be written to a file."""
    body = D({"audio": {"id": "a", "transcript": "HALF"}}) + D({"audio": {"transcript": "REST"}})
    body = body.replace(b"HALF", b"\\ud83d").replace(b"REST", b"\\ude00\\ud83d")
    (block,) = opaque(run(body + F("stop") + DONE))
    assert block.part["transcript"] == "\U0001f600\ufffd"


def test_content_part_of_another_kind_is_an_opaque_block() -> None:
    """It is kept whole under its own kind, counted, and shown at its place."""
    parts = [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]},
             {"type": "image_url", "image_url": {"url": PNG}}, {"no": "type"}]
    outcome = run(D({"content": parts}) + F("stop") + DONE)
    assert [(block.kind, block.part) for block in opaque(outcome)] == [
        ("reference", parts[1]), ("image_url", parts[2]), ("unknown", parts[3])]
    assert opaque(outcome)[1].data() == b"\x89PNG pixels"
    assert outcome.diagnostics == {"content_part_unknown": 3}


def test_call_beside_an_image_is_a_call() -> None:
    """A call beside an opaque block is still a call."""
    outcome = run(D({"images": [IMAGE]}) + D(call(0, "c", "f", "{}")) + F("stop") + DONE)
    assert outcome.message.finish == "tool-calls" and outcome.calls() == [("c", "f", "{}")]


def test_parts_are_bounded_and_their_data_is_not_counted() -> None:
    """Many small parts pass max_document_bytes; the data of images is text, as is all text."""
    limits = Limits(max_document_bytes=20_000)
    many = run(D({"content": [{"type": "x", "n": n} for n in range(50)]}) + F("stop") + DONE,
               limits=limits)
    assert many.code == "MALFORMED_RESPONSE" and "max_document_bytes" in str(many.error)
    images = [{"image_url": {"url": PNG + "A" * 20_000 + str(n)}} for n in range(3)]
    assert len(opaque(run(D({"images": images}) + F("stop") + DONE, limits=limits))) == 3
    pieces = b"".join(D({"audio": {"id": "a", "data": "AAAA" * 100}}) for _ in range(100))
    assert len(opaque(run(pieces + F("stop") + DONE, limits=limits))) == 1


def test_reading_media_is_linear() -> None:
    """Four times the pieces take about four times as long."""
    def seconds(count: int) -> float:
        body = b"".join(D({"audio": {"id": "a", "data": "AAAA"}}) for _ in range(count))
        began = time.process_time()
        run(body + F("stop") + DONE)
        return time.process_time() - began

    few = min(seconds(1000) for _ in range(3))
    assert min(seconds(4000) for _ in range(3)) < 12 * few
