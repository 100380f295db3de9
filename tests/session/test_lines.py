# SPDX-License-Identifier: MIT
"""Nesting in a line: whatever is recorded can be read again, on any caller's stack."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from streamcore.session import Session
from streamcore.values.chunks import Finish, FinishReason
from streamcore.values.errors import LlmError
from streamcore.values.frozen import freeze
from streamcore.values.messages import AssistantMessage, Message, TextBlock


def nested(levels: int) -> Any:
    """Return a list in a list, so many levels deep."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def error_of(action: Callable[[], Any]) -> LlmError:
    """Return the error an action raises."""
    with pytest.raises(LlmError) as caught:
        action()
    return caught.value


def below(frames: int, action: Callable[[], Any]) -> Any:
    """Call an action on a stack that has room for only so many frames."""
    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1  # type: ignore[assignment]

    def down(left: int) -> Any:
        return action() if left <= 0 else down(left - 1)

    return down(sys.getrecursionlimit() - used - frames)


@pytest.mark.parametrize("levels", [221, 400, 5000])
def test_line_nested_too_deeply_is_damage_that_names_the_line(tmp_path: Path, levels: int) -> None:
    """Such a line, also as the last one, gives ``SESSION`` and no RecursionError."""
    path = tmp_path / "log"
    Session(path).close()
    deep = "[" * levels + "]" * levels
    with path.open("a") as file:
        file.write(f'{{"seq":1,"time":1.0,"type":"some/thing","data":{{"a":{deep}}}}}\n')
    whole = path.read_bytes()
    error = error_of(lambda: Session.open(path))
    assert path.read_bytes() == whole
    assert error.code == "SESSION"
    assert "line 2" in error.failure.message and "nested too deeply" in error.failure.message


def test_line_too_deep_for_the_callers_stack_names_the_line(tmp_path: Path) -> None:
    """A good log is refused when the stack is nearly full, with the line in the message."""
    path = tmp_path / "log"
    with Session(path) as log:
        log.user_message(Message("user", "x", extras=freeze({"a": nested(190)})))
    error = error_of(lambda: below(150, lambda: Session.open(path)))
    assert error.code == "SESSION" and "line 2" in error.failure.message
    with Session.open(path) as log:
        assert len(log) == 2


@pytest.mark.parametrize("record, code", [
    (lambda s, v: s.user_message(Message("user", "x", extras=freeze({"a": v}))),
     "INVALID_REQUEST"),
    (lambda s, v: s.request_header({"a": v}), "INVALID_REQUEST"),
    (lambda s, v: s.request_context(facts={"a": v}), "INVALID_REQUEST"),
    (lambda s, v: s.chunk(Finish(FinishReason("stop"), extras=freeze({"a": v}))), "SESSION"),
    (lambda s, v: s.assistant_message(
        AssistantMessage(content=(TextBlock("x"),), extras=freeze({"a": v}))), "SESSION"),
], ids=["user", "header", "context", "chunk", "answer"])
def test_what_could_not_be_read_again_is_not_recorded(
    tmp_path: Path, record: Callable[[Session, Any], int], code: str
) -> None:
    """Allowed nesting is recorded, deeper nesting is refused, and the log still opens."""
    path = tmp_path / "log"
    with Session(path) as log:
        record(log, nested(198))
        assert error_of(lambda: record(log, nested(230))).code == code
    with Session.open(path) as log:
        assert len(log) == 2 and len(list(log)) == 2


@pytest.mark.parametrize("record", [
    lambda s, v: s.request_header({"a": v}), lambda s, v: s.request_context(facts={"a": v}),
    lambda s, v: s.tool_result("c", v),
], ids=["header", "context", "result"])
def test_settings_deeper_than_any_stack_are_refused(record: Callable[[Session, Any], int]) -> None:
    """A caller's value that nests too deeply gives ``INVALID_REQUEST``."""
    log = Session()
    assert error_of(lambda: record(log, nested(5000))).code == "INVALID_REQUEST"
    assert len(log) == 1


def test_recording_on_a_full_stack_is_an_error_with_a_code() -> None:
    """The result is neither a RecursionError nor half an event."""
    log = Session()
    deep = AssistantMessage(content=(TextBlock("x"),), extras=freeze({"a": nested(190)}))
    error = error_of(lambda: below(150, lambda: log.assistant_message(deep)))
    assert error.code == "SESSION" and len(log) == 1
