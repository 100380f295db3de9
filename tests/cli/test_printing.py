# SPDX-License-Identifier: MIT
"""What a terminal shows of an answer besides its text."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any, List, Tuple

import pytest

from streamcore.cli.printing import TextPrinter, note_cut, usage_words
from streamcore.cli.report import Outcome, write_report
from streamcore.cli.terminal import Terminal
from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, StreamChunk, TextDelta,
)
from streamcore.values.frozen import FrozenDict
from streamcore.values.messages import OpaqueBlock, TextBlock
from streamcore.values.usage import TokenUsage

SEARCH = OpaqueBlock(FrozenDict(type="web_search_call"))
CHUNKS: List[StreamChunk] = [
    BlockStart(0, "text"), TextDelta(0, "one"), BlockStart(1, "opaque", "web_search_call"),
    BlockStart(2, "text"), TextDelta(2, "two, "), TextDelta(2, "more"),
    BlockEnd(0, TextBlock("one")), BlockEnd(1, SEARCH), BlockEnd(2, TextBlock("two, more")),
    Finish(FinishReason("stop")),
]


@pytest.fixture
def screen() -> Tuple[Terminal, Any, Any]:
    """A terminal, and what it writes to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    return Terminal(None, out, err, {}), out, err


def test_opaque_block_is_noted_where_it_begins(screen: Any) -> None:
    """A part that only the provider can read is named on stderr; its content is not shown."""
    terminal, out, err = screen
    printer = TextPrinter(terminal)
    for chunk in CHUNKS:
        printer.push(chunk)
    assert "[web_search_call]\n" in err.getvalue()
    assert "web_search_call" not in out.getvalue()


@pytest.mark.parametrize("finish, said", [
    ("paused", "paused: the answer is whole; send it back unchanged"),
    ("awaits-client", "awaits-client: an opaque block of the answer waits"),
    ("max-tokens", "max-tokens: the answer was cut"),
    ("stop", ""), ("tool-calls", ""),
])
def test_an_answer_that_is_not_the_last_word_is_noted(
    screen: Any, finish: str, said: str
) -> None:
    """Stderr says that the turn goes on after a paused answer."""
    terminal, _, err = screen
    note_cut(terminal, finish, {})
    assert err.getvalue().startswith(said) and bool(err.getvalue()) == bool(said)


def test_usage_words_leave_the_raw_report_out() -> None:
    """The report has only the counts of the texts."""
    assert usage_words(TokenUsage(3, 2, raw={"cost": 1})) == "tokens: 3 input, 2 output"


def test_report_tells_each_block(screen: Any) -> None:
    """Several texts have a size each, and an opaque block has its kind."""
    terminal, out, _ = screen
    outcome = Outcome("x", SimpleNamespace(events=1, size=2))  # type: ignore[arg-type]
    for chunk in CHUNKS:
        outcome.push(chunk)
    write_report(outcome, terminal)
    blocks = "text (3 characters), web_search_call (27 characters of JSON), text (9 characters)"
    assert blocks in out.getvalue()
