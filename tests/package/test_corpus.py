# SPDX-License-Identifier: MIT
"""Files that streamcore 0.1 wrote are read today as they were read then.

``tests/corpus/0.1`` has session logs, loopback scripts and configuration files, made by the
code of 0.1. Beside each stands what that code read out of it (``NAME.expected.json``). A
reader of today may know more (a new field, a new setting), and must say all that is there.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Dict, List

import pytest

from streamcore.config import Config
from streamcore.loopback import load_script
from streamcore.session import Session
from streamcore.values.frozen import thaw

CORPUS = Path(__file__).resolve().parent.parent / "corpus" / "0.1"


def files(folder: str, ending: str) -> List[Any]:
    """Return the files of a folder as test parameters, expectations left out."""
    found = sorted((CORPUS / folder).glob(f"*{ending}"))
    found = [path for path in found if ".expected" not in path.name]
    return [pytest.param(path, id=path.stem) for path in found]


def expected(path: Path) -> Any:
    """Return what 0.1 read out of a file."""
    return json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))


def plain(value: Any) -> Any:
    """Return a value as JSON has it: tuples are lists, sets are sorted."""
    return json.loads(json.dumps(thaw(value), default=sorted))


def holds(found: Any, wanted: Any) -> bool:
    """Say whether ``found`` says all that ``wanted`` says; more keys may stand in its dicts."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and holds(found[key], item) for key, item in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(
            map(holds, found, wanted)
        )
    return bool(found == wanted)


@pytest.fixture(params=files("sessions", ".jsonl"))
def log(request: Any, tmp_path: Path) -> Any:
    """A session file of 0.1, opened from a copy, and what 0.1 read out of it."""
    path = tmp_path / request.param.name
    shutil.copy(request.param, path)
    with Session.open(path) as session:
        yield session, expected(request.param)


def message_facts(message: Any) -> Dict[str, Any]:
    """Return all that a message says, under the names of the expectations."""
    record = {item.name: getattr(message, item.name) for item in fields(message)}
    record["content"] = [block.to_dict() for block in message.content]
    usage = record.pop("usage", None)
    return {
        "class": type(message).__name__, "record": plain(record), "openai": message.to_dict(),
        "text": message.text, "reasoning": message.reasoning,
        "usage": None if usage is None else usage.to_dict(),
    }


def test_messages_of_a_session(log: Any) -> None:
    """The conversation is the same: each block, each fact of an answer, OpenAI's form of it."""
    session, wanted = log
    found = [message_facts(message) for message in session.derive_messages()]
    assert len(found) == len(wanted["messages"]) > 0
    for one, other in zip(found, wanted["messages"]):
        assert holds(one, other)


def test_chunks_of_a_session(log: Any) -> None:
    """Each recorded answer replays to the same chunks, no more and no less in each."""
    session, wanted = log
    for seq, chunks in wanted["answers"].items():
        assert [plain(chunk.to_dict()) for chunk in session.replay(int(seq))] == chunks


def test_requests_of_a_session(log: Any) -> None:
    """Each recorded request is the same, down to the bytes of its body."""
    session, wanted = log
    assert wanted["requests"]
    for seq, told in wanted["requests"].items():
        sent = session.request_at(int(seq))
        assert plain(sent.config) == told["config"]
        assert plain(sent.adapter_defaults) == told["defaults"]
        assert (sent.system, plain(sent.tools)) == (told["system"], told["tools"])
        assert plain(sent.facts) == told["facts"]
        assert [message.to_dict() for message in sent.messages] == told["openai"]
        if told["body"] is not None:
            assert session.rebuild_request(int(seq)).decode("utf-8") == told["body"]


def test_a_torn_session(log: Any) -> None:
    """An unfinished last line is dropped and told of as it was."""
    session, wanted = log
    found = None if session.recovered is None else asdict(session.recovered)
    assert found == wanted["recovered"]


def test_the_corpus_of_sessions_is_complete() -> None:
    """Every event type and every chunk type of 0.1 stands in a session file."""
    events = [
        json.loads(line)
        for path in (CORPUS / "sessions").glob("*.jsonl") if path.stem != "torn"
        for line in path.read_text(encoding="ascii").splitlines()
    ]
    assert {event["type"] for event in events} == {
        "session/start", "turn/start", "turn/end", "user/message", "request/header",
        "request/context", "assistant/chunk", "assistant/message", "tool/start", "tool/result",
        "retry/scheduled", "retry/started",
    }
    chunks = {event["data"]["type"] for event in events if event["type"] == "assistant/chunk"}
    assert chunks == {
        "block-start", "text-delta", "reasoning-delta", "tool-call-delta", "block-end", "usage",
        "finish",
    }


@pytest.mark.parametrize("path", files("scripts", ".json"))
def test_loopback_scripts(path: Path) -> None:
    """A script has the same answers: their keys, and every byte and pause of their bodies."""
    script, wanted = load_script(path), expected(path)
    assert script.after_last == wanted["after_last"]
    assert len(script.answers) == len(wanted["answers"])
    for answer, told in zip(script.answers, wanted["answers"]):
        keys = {item.name: getattr(answer, item.name) for item in fields(answer)}
        del keys["steps"]
        assert holds(plain(keys), told["fields"])
        ops = [[op.kind, op.data.decode("latin-1"), op.seconds] for op in answer.ops("you")]
        assert ops == told["ops"]
        asked = answer.fits("/v1/chat/completions", b'{"content": "case 1 caf\\u00e9"}')
        assert asked == told["fits"]


@pytest.mark.parametrize("path", files("configs", ".ini"))
def test_configuration_files(path: Path, tmp_path: Path) -> None:
    """A configuration file says the same of each setting, and makes the same values of it."""
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    copy.chmod(0o600)  # a key stands in it
    config, wanted = Config.load(copy, env={}), expected(path)
    rows = [[row.setting, row.value, row.origin.replace(str(copy), path.name)]
            for row in config.explain()]
    for row in wanted["rows"]:
        assert row in rows
    assert (config.model, config.provider) == (wanted["model"], wanted["provider"])
    assert config.base_url == wanted["base_url"]
    assert holds(vars(config.limits()), wanted["limits"])
    assert holds(vars(config.agent_limits()), wanted["agent"])
    retry = config.retry()
    assert holds(retry and plain({**vars(retry)}), wanted["retry"])
    profile = config.profile()
    for name, value in wanted["profile"].items():
        assert plain(getattr(profile, name)) == value
    assert holds(vars(profile.options), wanted["options"])
