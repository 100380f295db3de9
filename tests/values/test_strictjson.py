# SPDX-License-Identifier: MIT
"""Strict JSON: exactly one document, or a ValueError with the reason."""

from __future__ import annotations

import pytest

from streamcore.values import strictjson


@pytest.mark.parametrize(
    "text, value",
    [
        ("{}", {}),
        (' \t\r\n{"a": [1, 2.5, true, null, "x"]}\n', {"a": [1, 2.5, True, None, "x"]}),
        ('"\\ud83d\\ude00"', "😀"),
        ("5", 5),
        ("null", None),
        ('{"a":1,"a":2}', {"a": 2}),
        ('"\u2028\u0085"', "\u2028\u0085"),
    ],
)
def test_loads_one_document(text: str, value: object) -> None:
    """A whole document gives its value; white space of JSON around it does not count."""
    assert strictjson.loads(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", '{"a":1,}', "{'a':1}", '{"a":"x\ny"}', "{}{}", "{} x", "x {}", "\ufeff{}",
        "NaN", "[Infinity]", '{"a":-Infinity}', "\u00a0{}", "01", "+1", ".5", "[1 2]", '"\\x"',
        "{}\x00", "nul", "True",
    ],
)
def test_loads_no_document(text: str) -> None:
    """A text that is not exactly one JSON document is a ValueError; nothing is repaired."""
    with pytest.raises(ValueError):
        strictjson.loads(text)
    with pytest.raises(ValueError):
        strictjson.loads_unique(text)


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', '[{"b":{"c":1,"d":2,"c":1}}]', '{"a":1,"\\u0061":1}']
)
def test_loads_unique_duplicate_key(text: str) -> None:
    """An object with a key twice is refused at any depth, however the key is spelt."""
    with pytest.raises(ValueError, match="comes twice"):
        strictjson.loads_unique(text)


def test_loads_unique_same_key_in_two_objects() -> None:
    """Two objects may have the same key."""
    assert strictjson.loads_unique('[{"a":1},{"a":{"a":2}}]') == [{"a": 1}, {"a": {"a": 2}}]


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
@pytest.mark.parametrize("depth", [500, 1_000, 5_000, 100_000])
def test_loads_too_deep(opening: str, closing: str, depth: int) -> None:
    """Nesting that Python could not walk afterwards is a ValueError, never a RecursionError."""
    for read in (strictjson.loads, strictjson.loads_unique):
        with pytest.raises(ValueError, match="nested too deeply"):
            read(opening * depth + "1" + closing * depth)


@pytest.mark.parametrize("inside", ["", "1", '"[[["', '{"a":1}', '{"a":"[[["}'])
def test_loads_depth_limit(inside: str) -> None:
    """The nesting limit is the same on every Python, and a document exactly at it is read."""
    room = strictjson.MAX_DEPTH - (1 if inside.startswith("{") else 0)
    strictjson.loads("[" * room + inside + "]" * room)
    with pytest.raises(ValueError, match="nested too deeply"):
        strictjson.loads("[" * (room + 1) + inside + "]" * (room + 1))


def test_loads_brackets_in_strings_and_breadth() -> None:
    """Brackets side by side or inside a string do not count as nesting."""
    text = '{"a":"' + "[{" * 5_000 + '","b":[' + ",".join(["{}"] * 5_000) + "]}"
    assert len(strictjson.loads(text)["b"]) == 5_000


def test_loads_huge_number() -> None:
    """A number that Python refuses is a ValueError; an older Python reads it whole."""
    text = "1" * 10_000
    try:
        assert strictjson.loads(text) == (10**10_000 - 1) // 9
    except ValueError:
        pass


@pytest.mark.parametrize(
    "text, mended",
    [
        ("", ""),
        ("plain", "plain"),
        ("é😀", "é😀"),
        ("\ud83d\ude00", "😀"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00b", "\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("\ud83d é \ude00", "\ufffd é \ufffd"),
    ],
)
def test_mend_text_halves(text: str, mended: str) -> None:
    """Two surrogate halves become one character, a lone half becomes U+FFFD, the rest stays."""
    assert strictjson.mend_text(text) == mended
    mended.encode("utf-8")


def test_mend_surrogates_everywhere() -> None:
    """Keys and strings are mended at every depth; other values stay."""
    value = {"\ud83d": ["\ude00", {"k": "\ud83d\ude00"}, 1, None, 1.5, True]}
    assert strictjson.mend_surrogates(value) == {
        "\ufffd": ["\ufffd", {"k": "😀"}, 1, None, 1.5, True]
    }
