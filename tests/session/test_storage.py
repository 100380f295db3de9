# SPDX-License-Identifier: MIT
"""The file under a session: a BOM before its first line, and changes by somebody else."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from streamcore.session import Session
from streamcore.values.chunks import TextDelta
from streamcore.values.errors import LlmError
from streamcore.values.messages import Message

BOM = b"\xef\xbb\xbf"
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="open files stay where they are")


def error_of(action: Callable[[], Any]) -> str:
    """Return the message of the ``SESSION`` error that an action raises."""
    with pytest.raises(LlmError) as caught:
        action()
    assert caught.value.code == "SESSION"
    return caught.value.failure.message


def hello(path: Path) -> bytes:
    """Write a log with one message; return its bytes."""
    with Session(path) as log:
        log.user_message(Message("user", "hi"))
    return path.read_bytes()


# A BOM.


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_bom_is_read_past(tmp_path: Path, end: bytes) -> None:
    """A log that an editor saved with a BOM and other line ends opens and goes on."""
    path = tmp_path / "log"
    path.write_bytes(BOM + hello(path).replace(b"\n", end))
    for size in (2, 3):
        with Session.open(path) as log:
            assert log.recovered is None and len(log) == size
            assert [event.seq for event in log] == list(range(size))
            assert log.derive_messages() == [Message("user", "hi")]
            log.turn_start()
    assert path.read_bytes().startswith(BOM + b'{"seq":0')


def test_torn_line_after_a_bom_is_cut_and_the_bom_stays(tmp_path: Path) -> None:
    """The count of dropped bytes leaves out the BOM."""
    path = tmp_path / "log"
    whole = BOM + hello(path)
    path.write_bytes(whole + b'{"seq":2,')
    with Session.open(path) as log:
        assert log.recovered is not None and log.recovered.bytes_dropped == 9
    assert path.read_bytes() == whole


def test_file_with_a_bom_that_is_no_session_is_left_alone(tmp_path: Path) -> None:
    """Another kind of file with a BOM keeps every byte."""
    (tmp_path / "notes").write_bytes(BOM + b"dear diary")
    error_of(lambda: Session.open(tmp_path / "notes"))
    assert (tmp_path / "notes").read_bytes() == BOM + b"dear diary"


# The file is removed, replaced, changed.


def _replace(path: Path) -> None:
    (path.parent / "other").write_bytes(path.read_bytes())
    os.replace(path.parent / "other", path)


def _other_session(path: Path) -> None:
    path.unlink()
    Session(path).close()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DEEDS = {
    "removed": lambda path: path.unlink(),
    "moved": lambda path: path.rename(path.parent / "elsewhere"),
    "replaced by an editor": _replace,
    "another session in its place": _other_session,
    "a folder in its place": _folder,
    "emptied": lambda path: path.write_bytes(b""),
    "added to": lambda path: path.write_bytes(path.read_bytes() + b"note\n"),
}
GONE = [name for name in DEEDS if name not in ("emptied", "added to")]
deeds = pytest.mark.parametrize("deed", DEEDS)


@posix_only
@deeds
@pytest.mark.parametrize("durability, act", [
    ("turn", lambda s: s.turn_end("stop")),
    ("turn", lambda s: s.request_header({"model": "m"})),
    ("event", lambda s: s.chunk(TextDelta(0, "x"))),
    ("event", lambda s: s.user_message(Message("user", "x"))),
], ids=["turn-end", "request", "chunk", "message"])
def test_file_that_is_not_ours_any_more_is_noticed_at_the_next_sync(
    tmp_path: Path, deed: str, durability: str, act: Callable[[Session], Any]
) -> None:
    """The event is refused, nothing is written, and the error says what to do."""
    path = tmp_path / "log"
    log = Session(path, durability=durability)
    log.user_message(Message("user", "hi"))
    DEEDS[deed](path)
    message = error_of(lambda: act(log))
    assert str(path) in message and "save_as" in message
    assert len(log) == 2 and log.derive_messages() == [Message("user", "hi")]
    error_of(log.turn_start)
    error_of(log.close)
    log.close()


@posix_only
@deeds
@pytest.mark.parametrize("durability", ["os", "turn", "event"])
def test_file_that_is_not_ours_any_more_is_noticed_at_closing(
    tmp_path: Path, deed: str, durability: str
) -> None:
    """Closing raises at every durability; then the session accepts nothing more."""
    log = Session(tmp_path / "log", durability=durability)
    log.chunk(TextDelta(0, "x"))
    DEEDS[deed](tmp_path / "log")
    error_of(log.close)
    error_of(log.turn_start)
    log.close()
    assert "closed" in error_of(lambda: log.events[0])


@posix_only
@pytest.mark.parametrize("deed", GONE)
def test_events_of_a_lost_file_can_be_written_elsewhere(tmp_path: Path, deed: str) -> None:
    """After the ``with`` has raised, the events can be saved, and a session continues them."""
    log = Session(tmp_path / "log")
    with pytest.raises(LlmError), log:
        log.user_message(Message("user", "hi"))
        DEEDS[deed](tmp_path / "log")
    log.save_as(tmp_path / "new")
    log.close()
    with Session.open(tmp_path / "new") as again:
        assert again.derive_messages() == [Message("user", "hi")]
        again.turn_start()


@posix_only
def test_lost_file_that_was_saved_closes_in_silence(tmp_path: Path) -> None:
    """Once the events are saved elsewhere, closing raises nothing."""
    with Session(tmp_path / "log") as log:
        (tmp_path / "log").unlink()
        error_of(lambda: log.turn_end("stop"))
        log.save_as(tmp_path / "new")
    assert (tmp_path / "new").read_bytes().count(b"\n") == 1


@posix_only
def test_file_put_in_anothers_place_is_never_written(tmp_path: Path) -> None:
    """A second session at the path is not disturbed by the first."""
    path = tmp_path / "log"
    first = Session(path)
    path.unlink()
    with Session(path) as second:
        error_of(lambda: first.turn_end("stop"))
        second.turn_end("stop")
        error_of(first.close)
        first.close()
        assert "another" in error_of(lambda: Session(path))
    with Session.open(path) as log:
        assert len(log) == 2


@posix_only
def test_relative_path_is_looked_for_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that changes its folder keeps its session."""
    monkeypatch.chdir(tmp_path)
    with Session("log") as log:
        os.chdir("/")
        log.turn_end("stop")
    assert (tmp_path / "log").read_bytes().count(b"\n") == 2


@posix_only
def test_symbolic_link_to_the_file_is_as_good_as_its_name(tmp_path: Path) -> None:
    """A session opened through a link to its file works."""
    (tmp_path / "link").symlink_to(tmp_path / "log")
    with Session(tmp_path / "link") as log:
        log.turn_end("stop")
    assert len((tmp_path / "log").read_bytes().splitlines()) == 2


# Writing the events elsewhere.


@pytest.mark.parametrize("where", ["memory", "file"])
def test_save_as_copies_the_log_and_leaves_it_open(tmp_path: Path, where: str) -> None:
    """The copy is another session; this session goes on in its own file."""
    with Session(None if where == "memory" else tmp_path / "log") as log:
        log.user_message(Message("user", "hi"))
        log.save_as(tmp_path / "new")
        assert log.turn_start() == 2
        with Session.open(tmp_path / "new") as copy:
            assert list(copy) == list(log)[:2]
            assert copy.turn_end("stop") == 2


def test_save_as_never_writes_over_a_file(tmp_path: Path) -> None:
    """An existing file keeps its content, also the session's own file."""
    (tmp_path / "new").write_text("mine")
    with Session(tmp_path / "log") as log:
        for name in ("new", "log", "missing/new"):
            assert "cannot be written" in error_of(lambda: log.save_as(tmp_path / name))
        log.turn_start()
    assert (tmp_path / "new").read_text() == "mine"


def test_save_as_that_fails_leaves_no_file(tmp_path: Path) -> None:
    """A closed session cannot be read, so no half copy of it is left."""
    log = Session(tmp_path / "log")
    log.close()
    assert "closed" in error_of(lambda: log.save_as(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@posix_only
@pytest.mark.parametrize("write_over", [
    lambda raw: b"dear diary\n" * 100, lambda raw: raw.replace(b'"seq":1', b'"seq":7') + b"\n",
], ids=["notes", "a log with other numbers"])
def test_events_that_were_written_over_are_not_copied(
    tmp_path: Path, write_over: Callable[[bytes], bytes]
) -> None:
    """A file whose bytes somebody else changed gives an error, not a damaged copy."""
    log = Session(tmp_path / "log")
    log.user_message(Message("user", "hi"))
    (tmp_path / "log").write_bytes(write_over((tmp_path / "log").read_bytes()))
    error_of(log.close)
    assert "cannot be read" in error_of(lambda: log.save_as(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    log.close()
