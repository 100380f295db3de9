# SPDX-License-Identifier: MIT
"""What is saved of a damaged session file, and what is reported of the rest.

The bytes of a real log are damaged in the ways that were seen: blocks of NULs, records joined to
halves of others, lines removed, files joined.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, Callable, List, Tuple

import pytest

from streamcore.session import Session
from streamcore.values.chunks import Finish, FinishReason, TextDelta
from streamcore.values.errors import LlmError
from streamcore.values.messages import AssistantMessage, Message, TextBlock

NUL = b"\x00" * 64


def make(path: Path) -> List[bytes]:
    """Write a log of two turns; return its lines.

    0 start · 1 turn · 2 user · 3 header · 4 context · 5, 6 chunks · 7 answer · 8 end ·
    9 user · 10 context · 11 answer.
    """
    with Session(path, durability="os", clock=lambda: 1.5, about={"app": "a"}) as log:
        log.turn_start()
        log.user_message(Message("user", "one"))
        log.request_header({"model": "m"})
        log.request_context(facts={"dialect": "chat-completions", "options": {}})
        seqs = [log.chunk(TextDelta(0, "x")), log.chunk(Finish(FinishReason("stop")))]
        log.assistant_message(AssistantMessage(content=(TextBlock("x"),)), source_seqs=seqs)
        log.turn_end("stop")
        log.user_message(Message("user", "two"))
        log.request_context(facts={"dialect": "chat-completions", "options": {}})
        log.assistant_message(AssistantMessage(content=(TextBlock("y"),)))
    return path.read_bytes().splitlines(keepends=True)


def texts(log: Session) -> List[str]:
    """The texts of the history."""
    return [message.text for message in log.derive_messages()]


def error_of(action: Callable[[], Any]) -> str:
    """Return the message of the ``SESSION`` error that an action raises."""
    with pytest.raises(LlmError) as caught:
        action()
    assert caught.value.code == "SESSION"
    return caught.value.failure.message


def test_whole_log_is_copied_to_the_byte(tmp_path: Path) -> None:
    """The copy of an undamaged file equals it, and nothing is left out."""
    path = tmp_path / "log"
    lines = make(path)
    saved = Session.salvage(path)
    assert (saved.path, saved.records, saved.lost, saved.left_out) == (
        f"{path}.salvaged", 12, 0, ())
    assert Path(saved.path).read_bytes() == b"".join(lines)


Damage = Callable[[List[bytes]], List[bytes]]
DAMAGES: List[Tuple[str, Damage, List[int], int, List[str]]] = [
    ("NULs before a record", lambda s: [*s[:3], NUL + s[3], *s[4:]], [], 1, ["one", "x", "two"]),
    ("NULs for a record", lambda s: [*s[:9], NUL, *s[10:]], [9], 1, ["one", "x"]),
    ("half a record glued before", lambda s: [*s[:2], s[2][:30] + s[2], *s[3:]], [], 1,
     ["one", "x", "two"]),
    ("a record cut into the next", lambda s: [*s[:8], s[8][:20], *s[9:]], [8], 1,
     ["one", "x", "two"]),
    ("two records on one line", lambda s: [*s[:2], s[2].rstrip() + s[3], *s[4:]], [], 0,
     ["one", "x", "two"]),
    ("a line removed", lambda s: [*s[:2], *s[3:]], [2], 0, ["x", "two"]),
    ("a blank line", lambda s: [*s[:2], b"\n", *s[2:]], [], 0, ["one", "x", "two"]),
    ("no start", lambda s: s[1:], [0], 0, ["one", "x", "two"]),
    ("a torn end", lambda s: [*s, b'{"seq":12,"ti'], [], 1, ["one", "x", "two"]),
    ("an older copy before it", lambda s: [*s[:7], *s], [], 7, ["one", "x", "two"]),
    ("a BOM and CRLF", lambda s: [b"\xef\xbb\xbf", *(p.replace(b"\n", b"\r\n") for p in s)],
     [], 0, ["one", "x", "two"]),
    ("a wrong number", lambda s: [*s[:5], s[5].replace(b'"seq":5', b'"seq":95'), *s[6:]], [5], 1,
     ["one", "x", "two"]),
    ("a wrong shape", lambda s: [*s[:2], s[2].replace(b'"message"', b'"massage"'), *s[3:]], [2], 1,
     ["x", "two"]),
]


@pytest.mark.parametrize("spoil, lost, pieces, history", [d[1:] for d in DAMAGES],
                         ids=[d[0] for d in DAMAGES])
def test_every_whole_record_is_in_the_new_file(
    tmp_path: Path, spoil: Damage, lost: List[int], pieces: int, history: List[str]
) -> None:
    """Whole records keep their numbers, lost ones are marked, and other bytes are reported."""
    path = tmp_path / "log"
    lines = make(path)
    damaged = b"".join(spoil(lines))
    path.write_bytes(damaged)
    saved = Session.salvage(path, tmp_path / "new")
    assert path.read_bytes() == damaged
    assert len(saved.left_out) == pieces and saved.lost == len(lost)
    new = (tmp_path / "new").read_bytes().splitlines(keepends=True)
    assert [seq for seq, line in enumerate(new) if line != lines[seq]] == lost
    with Session.open(tmp_path / "new") as log:
        assert log.recovered is None
        marks = [event.seq for event in log if event.type == "session/lost"]
        assert marks == [seq for seq in lost if seq]
        assert texts(log) == [*history, "y"]
        log.turn_start()


def test_left_out_pieces_are_told_with_their_place(tmp_path: Path) -> None:
    """Line, offset and length of each piece lead to its bytes."""
    path = tmp_path / "log"
    lines = make(path)
    path.write_bytes(b"".join([*lines[:3], NUL + lines[3], b"junk\n", *lines[4:]]))
    first, second = Session.salvage(path).left_out
    at = len(b"".join(lines[:3]))
    assert (first.line, first.offset, first.bytes) == (4, at, 64)
    assert (second.line, second.offset, second.bytes) == (5, at + 64 + len(lines[3]), 4)
    assert "no whole record" in first.reason and "no whole record" in second.reason


def test_request_that_may_be_made_of_a_lost_event_is_not_rebuilt(tmp_path: Path) -> None:
    """Only requests before the loss and after the salvage are rebuilt."""
    path = tmp_path / "log"
    lines = make(path)
    path.write_bytes(b"".join([*lines[:9], NUL + b"\n", *lines[10:]]))
    with Session.open(Session.salvage(path).path) as log:
        assert [message.text for message in log.request_at(4).messages] == ["one"]
        for seq in (9, 10, 11):
            with pytest.raises(ValueError, match="event 9 is lost"):
                log.request_at(seq)
        seq = log.request_context()
        assert [message.text for message in log.request_at(seq).messages] == ["one", "x", "y"]


def test_answer_with_a_lost_chunk_is_not_replayed(tmp_path: Path) -> None:
    """Replaying names the event that is lost."""
    path = tmp_path / "log"
    lines = make(path)
    path.write_bytes(b"".join([*lines[:5], *lines[6:]]))
    with Session.open(Session.salvage(path).path) as log:
        with pytest.raises(ValueError, match="event 5 is a session/lost"):
            list(log.replay(7))


@pytest.mark.parametrize("content", [b"", b"dear diary\n", b"\x00" * 99, b'{"a": 1}\n',
                                     b'{"seq":5,"time":1,"type":5,"data":{}}\n'])
def test_file_without_a_record_gives_no_file(tmp_path: Path, content: bytes) -> None:
    """A file that is not a session is refused, and no file is made."""
    (tmp_path / "notes").write_bytes(content)
    assert "no whole record" in error_of(lambda: Session.salvage(tmp_path / "notes"))
    assert os.listdir(tmp_path) == ["notes"]


def test_number_far_beyond_the_file_is_left_out(tmp_path: Path) -> None:
    """One damaged number does not fill the disk with marks for records that never existed."""
    path = tmp_path / "log"
    lines = make(path)
    path.write_bytes(b"".join(lines) + lines[2].replace(b'"seq":2', b'"seq":99999999999'))
    saved = Session.salvage(path)
    assert saved.records == 12 and saved.left_out[0].reason == "event 99999999999 is out of place"


def test_log_of_another_format_is_refused(tmp_path: Path) -> None:
    """A file of a later format is refused."""
    line = b'{"seq":0,"time":1,"type":"session/start","data":{"format":2}}\n'
    (tmp_path / "log").write_bytes(line)
    assert "format 2" in error_of(lambda: Session.salvage(tmp_path / "log"))


def test_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    """The new file must be new, also when it is the damaged one."""
    make(tmp_path / "log")
    (tmp_path / "new").write_text("mine")
    for target in ("new", "log"):
        assert "exists" in error_of(lambda: Session.salvage(tmp_path / "log", tmp_path / target))
    assert (tmp_path / "new").read_text() == "mine"


@pytest.mark.parametrize("make_path", [
    lambda p: p / "missing", lambda p: p, lambda p: str(p / "a\0b"),
])
def test_path_that_cannot_be_read_is_refused(
    tmp_path: Path, make_path: Callable[[Path], Any]
) -> None:
    """A missing file, a folder, and a path no system has are ``SESSION``."""
    error_of(lambda: Session.salvage(make_path(tmp_path), tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_any_damage_leaves_a_log_that_opens(tmp_path: Path) -> None:
    """After any bytes are changed, removed or added, the salvaged log opens and goes on."""
    path, new = tmp_path / "log", tmp_path / "new"
    whole = b"".join(make(path))
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(300):
        raw = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at, size = chance.randrange(len(raw)), chance.choice([1, 5, 60])
            junk = chance.choice([b"", b"\x00" * size, chance.randbytes(size)
                                  if hasattr(chance, "randbytes") else NUL, b"\n", whole[:size]])
            raw[at : at + chance.choice([0, size])] = junk
        path.write_bytes(raw)
        try:
            saved = Session.salvage(path, new)
        except LlmError as error:
            assert "format" in error.failure.message
            continue
        with Session.open(new, durability="os") as log:
            assert log.recovered is None and len(log) == saved.records + saved.lost
            log.derive_messages()
        new.unlink()
