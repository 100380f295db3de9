# SPDX-License-Identifier: MIT
"""A dialect from outside the package can do all that the package's own dialects can."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
import toy_dialect
from support import bytewise, merge
from toy_dialect import TOY, ToyOptions

from streamcore import (
    Agent, Client, LlmError, LoopbackServer, ProviderProfile, Session, assemble, parse_stream,
    register_dialect,
)
from streamcore.agent.tools import tool
from streamcore.values.grammar import check_grammar
from streamcore.wire.dialects import recognise

CALL = [{"text": "Let me "}, {"text": "see."},
        {"call": {"n": 0, "id": "a", "name": "double", "args": '{"n": '}},
        {"call": {"n": 0, "args": "21}"}}, {"end": "tool-calls"}]
PAUSED = [{"think": "hm"}, {"text": "It "}, {"thing": {"type": "search", "q": 1}},
          {"text": "is "}, {"end": "paused"}]
LAST = [{"text": "42."}, {"end": "stop"}]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The dialect, known by its name during one test."""
    remove = register_dialect(TOY)
    yield
    remove()


def body(*frames: Dict[str, Any]) -> bytes:
    """Return the body bytes of these frames."""
    return b"".join(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames)


@contextmanager
def provider(*answers: List[Dict[str, Any]], **options: Any) -> Iterator[Any]:
    """A server that gives these answers in the dialect, and a client of it."""
    script = [{"body": body(*frames).decode()} for frames in answers]
    profile = ProviderProfile("toys", dialect="toy", key_required=False)
    with LoopbackServer(script) as server:
        with Client("m", provider=profile, base_url=server.base_url, **options) as client:
            yield client, server


def test_dialect_takes_less_than_a_hundred_lines() -> None:
    """A new dialect needs fewer than a hundred lines of code, without blank lines."""
    lines = Path(toy_dialect.__file__).read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) < 100


def test_nothing_of_the_package_knows_it() -> None:
    """No module of the package names the dialect."""
    package = Path(__file__).resolve().parents[2] / "streamcore"
    known = re.compile(r"\btoy\b")
    assert not [p for p in package.rglob("*.py") if known.search(p.read_text(encoding="utf-8"))]


def test_answer_is_read_whole_and_byte_by_byte() -> None:
    """Both ways give the same chunks, in the grammar, and one message."""
    frames = body(*PAUSED)
    whole = list(check_grammar(parse_stream([frames], dialect="toy")))
    assert merge(whole) == merge(parse_stream(bytewise(frames), dialect="toy"))
    message = assemble(whole)
    assert [block.type for block in message.content] == ["reasoning", "text", "opaque", "text"]
    assert (message.text, message.finish, message.content[2].kind) == ("It is ", "paused", "search")


def test_cut_answer_is_never_a_message() -> None:
    """An answer cut at any byte before the proof of its end fails, and gives no call."""
    frames = body(*CALL)
    for at in range(len(frames) - 1):
        with pytest.raises(LlmError) as caught:
            list(parse_stream([frames[:at]], dialect="toy"))
        assert caught.value.code in ("STREAM_CLOSED", "EMPTY_RESPONSE", "MALFORMED_RESPONSE")


def test_frames_that_are_none_fail_the_answer() -> None:
    """A frame that the dialect does not know is an error with a code."""
    for frame in ({"end": "odd"}, {"what": 1}, {}, {"text": "a", "think": "b"}, {"thing": 5}):
        with pytest.raises(LlmError) as caught:
            list(parse_stream([body(frame)], dialect="toy"))
        assert caught.value.code == "MALFORMED_RESPONSE"


def test_name_is_taken_once_and_given_back() -> None:
    """A second dialect of that name is refused; after it is removed nobody knows it."""
    with pytest.raises(ValueError, match="a dialect 'toy' already"):
        register_dialect(TOY)
    assert recognise({"text": "a"}) == "toy"
    with pytest.raises(LlmError, match="reads it with dialect='toy'"):
        list(parse_stream([body(*LAST)]))


def test_client_asks_in_it_and_its_session_tells_all_again(tmp_path: Path) -> None:
    """The stream, its replay from the file, and the body that was sent agree."""
    with Session.open(tmp_path / "log") as session:
        with provider(PAUSED, session=session, options=ToyOptions(polite=True)) as (client, server):
            stream = client.stream("hi", system="be brief")
            chunks = list(stream)
            sent = server.requests[0]
            message = stream.message
            assert sent.path.endswith("/toy") and json.loads(sent.body)["please"] is True
    with Session.open(tmp_path / "log") as session:
        answer = next(e.seq for e in session if e.type == "assistant/message")
        assert list(session.replay(answer)) == chunks
        assert session.rebuild_request(answer) == sent.body
        assert session.derive_messages()[-1] == message


def test_agent_takes_a_turn_in_it() -> None:
    """A call is run, a paused answer goes back as the last message, and the turn ends."""

    @tool
    def double(n: int) -> int:
        """Double it."""
        return 2 * n

    with provider(CALL, PAUSED, LAST) as (client, server):
        result = Agent(client, [double], reasoning_effort="high").run("How much?")
        assert (result.reason, result.text, result.steps) == ("stop", "42.", 3)
        assert [one.content for one in result.tool_calls] == ["42"]
        said = json.loads(server.requests[2].body)["said"]
        assert [one["role"] for one in said] == ["user", "assistant", "tool", "assistant"]
        assert said[-1]["content"] == json.loads(json.dumps([
            block.to_dict() for block in result.messages[3].content]))
        assert json.loads(server.requests[2].body)["effort"] == "high"
