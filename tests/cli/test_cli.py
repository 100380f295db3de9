# SPDX-License-Identifier: MIT
"""The command line: what goes to stdout and what to stderr, the exit codes, and how it ends.

Most tests call ``main`` with streams and an environment of their own; signals, closed pipes
and what an interpreter prints at its exit are shown on a real process. All answers come from
the loopback provider.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Dict, List

import pytest
from cli_support import Result, Tty, process, run
from support import DONE, D, F, call

from streamcore import (
    LlmError, LoopbackServer, ToolCall, __version__, assemble, chunk_from_dict, list_profiles,
)
from streamcore.cli import agent, config, demo, main, providers, replay, session
from streamcore.cli import chat as chat_command
from streamcore.cli.arguments import Parser
from streamcore.cli.printing import failure_line
from streamcore.cli.terminal import fitting, visible
from streamcore.values.messages import AssistantMessage

ROOT = Path(__file__).resolve().parents[2]
posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")

FULL: Dict[str, Any] = {"steps": [
    {"reasoning": "Let me see."},
    {"text": "Two "}, {"text": "words"},
    {"tool_call": {"index": 0, "id": "c0", "name": "look", "arguments": '{"at":'}},
    {"tool_call": {"index": 1, "id": "c1", "name": "read", "arguments": '{"n'}},
    {"tool_call": {"index": 0, "arguments": ' "x"}'}},
    {"tool_call": {"index": 1, "arguments": '": 1}'}},
    {"finish": "tool_calls"},
    {"usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    {"done": True},
]}
CUT: Dict[str, Any] = {"steps": [*FULL["steps"][:5], {"close": True}]}
SILENT: Dict[str, Any] = {"steps": [{"text": "first line\n"}, {"stall": True}]}
GOOD = D({"content": "hi"}) + F("stop") + DONE
PROVIDER_ENDS = {
    one.name: 0 if one.options.done_marker == "optional" else 1 for one in list_profiles()
}
SECRET = "sk-very-secret-key-0123456789"


def says(text: str, **answer: Any) -> Dict[str, Any]:
    """Return an answer that has one text."""
    return {"steps": [{"text": text}, {"finish": "stop"}, {"done": True}], **answer}


def chat(script: Any, *argv: str, **options: Any) -> Result:
    """Ask a loopback server that plays ``script``."""
    with LoopbackServer(script) as server:
        return run("chat", "hello", "--model", "m", "--base-url", server.base_url, *argv, **options)


# -- chat: where things go ----------------------------------------------------------------


def test_chat_writes_text_to_stdout_and_the_rest_to_stderr() -> None:
    """Stdout has the text and a line feed; reasoning, forming and whole calls are on stderr."""
    result = chat([FULL])
    assert (result.code, result.out) == (0, "Two words\n")
    assert "[reasoning] Let me see." in result.err
    assert '[forming look, block 2] {"at":\n[forming read, block 3] {"n\n' in result.err
    assert '[tool call] look {"at": "x"} (id c0)\n[tool call] read {"n": 1} (id c1)' in result.err


def test_chat_text_that_ends_its_line_gets_no_second_line_feed() -> None:
    """A line feed is added only if the text does not end with one."""
    assert chat([says("a\n")]).out == "a\n"


def test_chat_json_writes_the_chunks() -> None:
    """Each line of ``--json`` is a chunk's dict; together they make the message."""
    result = chat([FULL], "--json")
    message = assemble(chunk_from_dict(json.loads(line)) for line in result.out.splitlines())
    assert (result.code, message.text, message.finish) == (0, "Two words", "tool-calls")
    assert [c.arguments for c in message.tool_calls] == ['{"at": "x"}', '{"n": 1}']
    assert result.err == ""


@pytest.mark.parametrize("answer, code", [
    (CUT, "STREAM_CLOSED"),
    ({"status": 401, "json": {"error": {"message": "no"}}}, "AUTH"),
    ({"status": 200, "body": ""}, "EMPTY_RESPONSE"),
    ({"status": 200, "body": "<html>hello</html>"}, "MALFORMED_RESPONSE"),
    ({"steps": [{"text": "a"}, {"finish": "content_filter"}, {"done": True}]}, "CONTENT_FILTER"),
    ({"steps": [{"text": "a"}, {"reset": True}]}, "TRANSPORT"),
])
def test_chat_failure_is_one_line_with_its_code(answer: Dict[str, Any], code: str) -> None:
    """A failed answer exits with 1 and its ``CODE: message`` is the last line of stderr."""
    result = chat([answer])
    assert result.code == 1
    assert result.err.splitlines()[-1].startswith(f"{code}: ")
    assert "Traceback" not in result.err and "[tool call]" not in result.err


def test_chat_json_of_a_cut_stream_has_no_finish() -> None:
    """An unproven answer is not printed like a proven answer."""
    result = chat([CUT], "--json")
    assert result.code == 1
    assert '"finish"' not in result.out and '"block-end"' not in result.out
    assert result.err.startswith("STREAM_CLOSED: ")


def test_chat_cut_at_the_output_limit_says_so_and_succeeds() -> None:
    """max-tokens is a proven end: the exit code is 0, and stderr says that the answer was cut."""
    steps = [*FULL["steps"][:5], {"finish": "length"}, {"done": True}]
    result = chat([{"steps": steps}])
    assert (result.code, result.out) == (0, "Two words\n")
    assert re.search(r"^max-tokens: .*2 unfinished", result.err, re.M)


def test_chat_sends_what_the_arguments_say(tmp_path: Path) -> None:
    """Prompt, system prompt, tools and sampling reach the provider."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([tool]), encoding="utf-8")
    with LoopbackServer([says("ok")]) as server:
        result = run(
            "chat", "hello", "--model", "m1", "--base-url", server.base_url, "--system", "brief",
            "--tools", str(tools), "--max-tokens", "7", "--temperature", "0.5",
            "--reasoning-effort", "low",
        )
        body = server.requests[0].json()
    assert result.code == 0
    assert [m["content"] for m in body["messages"]] == ["brief", "hello"]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m1", 7, 0.5)
    assert body["reasoning_effort"] == "low"
    assert body["tools"][0]["function"]["name"] == "f"


@pytest.mark.parametrize("argv", [("-",), ()])
def test_chat_reads_the_prompt_from_stdin(argv: List[str]) -> None:
    """``-`` and an absent PROMPT both read stdin, as UTF-8, without its last line end."""
    with LoopbackServer([says("you said {last_user}")]) as server:
        result = run("chat", *argv, "--model", "m", "--base-url", server.base_url,
                     stdin="先说\nthen\n".encode())
    assert result.out == "you said 先说\nthen\n"


def test_chat_script_needs_no_model_key_or_network(tmp_path: Path) -> None:
    """``--script`` plays a file; no key of the environment is sent, and no proxy is used."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps([says("scripted {last_user}")]), encoding="utf-8")
    proxy = {"http_proxy": "http://127.0.0.1:9"}
    with process("chat", "hi", "--provider", "openai", "--script", str(script),
                 variables=proxy) as child:
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (0, b"scripted hi\n", b"")


def test_chat_shows_raw_events_beside_the_rest() -> None:
    """``--raw`` puts the provider's own events, numbered, on stderr."""
    result = chat([says("a")], "--raw")
    assert result.out == "a\n"
    assert re.search(r'^\[event 1\] \{.*"content": ?"a"', result.err, re.M)


# -- chat: keys, clocks, retries ----------------------------------------------------------


def test_chat_key_comes_from_the_variable_named() -> None:
    """--api-key-env names the variable of the key; the key is sent, and shown nowhere."""
    denied = {"status": 401, "json": {"error": {"message": f"bad key {SECRET}"}}}
    with LoopbackServer([denied]) as server:
        result = run("chat", "x", "--model", "m", "--base-url", server.base_url, "--debug",
                     "--api-key-env", "MY_KEY", environ={"MY_KEY": SECRET + "\n"})
        sent = server.requests[0].headers["authorization"]
    assert sent == f"Bearer {SECRET}"
    assert result.code == 1 and SECRET not in result.out + result.err
    assert "sent: POST" in result.err and "Traceback" in result.err


@pytest.mark.parametrize("named, sent", [
    (["--provider", "ollama"], "Bearer from-ollama"),
    (["--provider", "ollama", "--api-key-env", "MINE"], "Bearer from-mine"),
    (["--provider", "openai-compatible"], "Bearer from-compatible"),
    (["--api-key-env", "MINE"], "Bearer from-mine"),
    ([], None),
])
def test_chat_looks_for_a_key_only_where_it_was_told(named: List[str], sent: str) -> None:
    """A key is read from the environment only if a provider or a variable is named."""
    environ = {"OLLAMA_API_KEY": "from-ollama", "MINE": "from-mine",
               "OPENAI_COMPATIBLE_API_KEY": "from-compatible", "OPENAI_API_KEY": "never"}
    with LoopbackServer([says("a")]) as server:
        result = run("chat", "x", "--model", "m", "--base-url", server.base_url, *named,
                     environ=environ)
        assert server.requests[0].headers.get("authorization") == sent
    assert result.code == 0


@pytest.mark.parametrize("argv, code", [
    (["--api-key-env", "NOT_SET"], "MISSING_CREDENTIAL"),
    (["--api-key-env", "EMPTY"], "MISSING_CREDENTIAL"),
    (["--provider", "openai"], "MISSING_CREDENTIAL"),
    (["--api-key-env", "ODD"], "INVALID_CREDENTIAL"),
    (["--temperature", "nan"], "INVALID_REQUEST"),
])
def test_chat_refuses_locally_with_a_code(argv: List[str], code: str) -> None:
    """An error before any I/O has its code and names the variable; no request is sent."""
    with LoopbackServer([says("a")]) as server:
        result = run("chat", "x", "--model", "m", "--base-url", server.base_url, *argv,
                     environ={"EMPTY": " ", "ODD": "two words"})
        assert server.connection_count == 0
    assert result.code == 1 and result.err.startswith(f"{code}: ")
    assert "two words" not in result.err
    if "CREDENTIAL" in code and argv[0] == "--api-key-env":
        assert argv[1] in result.err


@pytest.mark.parametrize("option, time", [
    ("--idle-timeout", "300ms"), ("--timeout", "0.3s"), ("--total-timeout", "0.3"),
    ("--set", "limits.idle_timeout=0.005m"),
])
def test_chat_clock_fires(option: str, time: str) -> None:
    """A clock given as an option ends a silent answer with TIMEOUT; what came stays shown."""
    result = chat([SILENT], option, time)
    assert (result.code, result.out) == (1, "first line\n")
    assert result.err.startswith("TIMEOUT: ") and "0.3 s" in result.err


def test_chat_retries_before_anything_was_shown() -> None:
    """By default it tries again twice and says so; --retries changes the number."""
    busy = {"status": 503, "json": {"error": {"message": "busy"}}}
    quick = ("--set", "retry.initial_delay=1ms", "--idle-timeout", "none")
    once = chat([busy, says("a")], "--retries", "0")
    assert once.code == 1 and once.err.startswith("SERVER: ")
    again = chat([busy, busy, says("a")], *quick)
    assert (again.code, again.out) == (0, "a\n")
    assert "attempt 1 failed" in again.err and "attempt 2 failed" in again.err
    assert "SERVER" in again.err
    assert chat([busy, busy, busy, says("a")], *quick).code == 1


def test_chat_retries_without_any_setting() -> None:
    """Without a setting for retries, the policy is RetryPolicy()."""
    busy = {"status": 503, "json": {"error": {"message": "busy"}}}
    assert chat([busy, says("a")]).out == "a\n"


# -- wrong usage --------------------------------------------------------------------------


@pytest.mark.parametrize("argv, word", [
    ([], "a command is missing"),
    (["sing"], "invalid choice"),
    (["chat", "x"], "--model is missing"),
    (["chat", "x", "--model", "m", "--provider", "opnai"], "--provider: no provider is named"),
    (["chat", "x"], "--base-url URL"),
    (["chat", "x", "--model", "m"], "--provider NAME is missing"),
    (["chat", "x", "--model", "m"], "--base-url URL"),
    (["chat", "x", "--model", "m", "--mod", "n"], "unrecognized arguments: --mod\n"),
    (["chat", "x", "--model", "m", "--mod", "n"], "\nusage: streamcore chat "),
    (["chat", "x", "two", "--model", "m"], "unrecognized arguments: two\n"),
    (["replay", "x", "--mod", "n"], "\nusage: streamcore replay "),
    (["replay", "x", "--provider", "opnai"], "did you mean openai"),
    (["replay", "x", "--provider", "mine"], "there are openai"),  # and nothing near
    (["chat", "x", "--model", "m", "--idle-timeout", "-1"], "--idle-timeout: idle_timeout"),
    (["chat", "x", "--model", "m", "--idle-timeout", "soon"], "--idle-timeout: a time such as"),
    (["chat", "x", "--model", "m", "--timeout", "1d"], "--timeout: a time such as"),
    (["chat", "x", "--model", "m", "--retries", "-1"], "--retries: max_retries"),
    (["chat", "x", "--model", "m", "--base-url", "localhost/v1"], "--base-url: the base URL"),
    (["chat", "x", "--model", "m", "--api-key-env", "no-name"], "--api-key-env: names of"),
    (["chat", "x", "--set", "api_key=k"], "--api-key-env"),
    (["demo", "--pause", "soon"], "--pause: a time such as"),
    (["demo", "--pause", "2h"], "--pause: 0s to 60s"),
    (["chat", "x", "--model", "m", "--tools", "/no/such"], "/no/such"),
    (["chat", "x", "--script", "/no/such"], "/no/such"),
    (["chat", "--model", "m"], "the prompt is empty"),
    (["chat", " \n", "--model", "m"], "the prompt is empty"),
    (["replay"], "FILE"),
    (["replay", "x", "--json", "--report"], "not allowed"),
    (["replay", "x", "--done-marker", "never"], "--done-marker"),
])
def test_wrong_usage_exits_with_two(argv: List[str], word: str) -> None:
    """Wrong arguments exit with 2 and say on stderr what is wrong."""
    result = run(*argv)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("streamcore: ") and word in result.err


@pytest.mark.parametrize("text", ["{", '{"a": 1}', "[" * 100000, "[1]", "\udcff"])
def test_chat_refuses_a_bad_tools_or_script_file(text: str, tmp_path: Path) -> None:
    """A file without a list of tools or a script is wrong usage; the message names the file."""
    file = tmp_path / "bad.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    for argv in (["--tools", str(file), "--base-url", "http://127.0.0.1:9"],
                 ["--script", str(file)]):
        result = run("chat", "x", "--model", "m", *argv)
        assert result.code in (1, 2) and "a bug" not in result.err
        assert "bad.json" in result.err or result.err.startswith("INVALID_REQUEST: ")


@pytest.mark.parametrize("option", ["--tools", "--script"])
def test_chat_names_a_missing_file_once(option: str) -> None:
    """The message has the option, the file and the reason."""
    result = run("chat", "x", "--model", "m", option, "gone.json",
                 *(["--base-url", "http://127.0.0.1:9"] if option == "--tools" else []))
    assert result.code == 2 and result.err.count("gone.json") == 1
    assert f"{option} gone.json: No such file" in result.err


def test_chat_refuses_a_prompt_that_is_not_utf8() -> None:
    """Bytes that are not UTF-8 are reported, not guessed."""
    result = run("chat", "--model", "m", stdin=b"a\xff")
    assert result.code == 2 and "UTF-8" in result.err


# -- terminals ----------------------------------------------------------------------------

TRICKS = "a\x1b[2Jb\rc\x9bd\x07e\r\nf\tg\x7f"


def test_control_characters_reach_a_terminal_as_escapes() -> None:
    """A model cannot control the terminal with text, reasoning, a call or an error."""
    evil = {"steps": [
        {"reasoning": TRICKS}, {"text": TRICKS},
        {"tool_call": {"index": 0, "id": "i" + TRICKS, "name": "n" + TRICKS, "arguments": "{}"}},
        {"error": {"error": {"message": "m" + TRICKS}}},
    ]}
    result = chat([evil], stream=Tty, environ={"NO_COLOR": "1"})
    assert "a\\x1b[2Jb\\rc\\x9bd\\x07e\nf\tg\\x7f" in result.out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", result.out + result.err)


def test_call_cannot_look_like_lines_of_ours() -> None:
    """A name or an id with line ends in it stays on its own line."""
    forged = {"index": 0, "id": "i\n[tool call] a", "name": "n\n[tool call] b", "arguments": "{}"}
    steps = [{"tool_call": forged}, {"finish": "tool_calls"}, {"done": True}]
    err = chat([{"steps": steps}]).err
    assert len(re.findall(r"^\[tool call\]", err, re.M)) == 1 and len(err.splitlines()) == 2


def test_text_is_unchanged_where_stdout_is_no_terminal() -> None:
    """A file or a pipe gets the model's text unchanged."""
    assert chat([says(TRICKS)]).out == TRICKS + "\n"


def test_asides_are_dim_on_a_terminal() -> None:
    """On a terminal reasoning is dim, and each write ends the dimming; NO_COLOR and TERM=dumb
    turn it off."""
    dim = chat([FULL], stream=Tty).err
    if os.name == "posix":
        assert "\x1b[2mLet me see.\x1b[0m" in dim
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in chat([FULL], stream=Tty, environ=plain).err


def test_terminal_gets_a_summary() -> None:
    """A terminal shows the finish and the usage; a file or a pipe does not get them."""
    assert "[stop; " in chat([says("a")], stream=Tty).err
    assert chat([says("a")]).err == ""


@pytest.mark.parametrize("encoding, shown", [
    ("ascii", "na?ve ? ?"), ("cp1252", "naïve ? €"), ("utf-8", "naïve 先 €"),
])
def test_characters_the_output_cannot_show_are_replaced(encoding: str, shown: str) -> None:
    """No answer and no error crashes an output of another encoding."""
    text = "naïve 先 €"
    answer = {"steps": [{"reasoning": text}, {"text": text}, {"error": {"error": text}}]}
    result = chat([answer], encoding=encoding)
    assert (result.code, result.out) == (1, shown + "\n")
    assert f"[reasoning] {shown}" in result.err


def test_json_lines_are_ascii_whatever_the_output() -> None:
    """An output that cannot show a chunk loses nothing of it, and the chunk cannot control it."""
    text = "先 \x1b \x7f \x9b"
    result = chat([says(text)], "--json", encoding="ascii", stream=Tty)
    assert assemble(chunk_from_dict(json.loads(x)) for x in result.out.splitlines()).text == text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", result.out)


@pytest.mark.parametrize("text, shown", [
    ("a\tb\nc", "a\tb\nc"), ("a\r\nb", "a\nb"), ("\r", "\\r"), ("\x1b", "\\x1b"),
    ("\x85", "\\x85"), ("é先", "é先"),
])
def test_visible(text: str, shown: str) -> None:
    """Tab, line feed and every printable character stay; the controls are escaped."""
    assert visible(text) == shown


def test_fitting_replaces_lone_surrogates() -> None:
    """A Python string that even UTF-8 cannot carry is shown."""
    assert fitting("a\ud800", "utf-8") == "a?"
    assert fitting("a\ud800", None) == "a?"


# -- replay -------------------------------------------------------------------------------


@pytest.fixture
def good(tmp_path: Path) -> str:
    """Return the name of a file with a whole stream."""
    return saved(tmp_path, "good.sse", GOOD)


def saved(folder: Path, name: str, body: bytes) -> str:
    """Write a file and return its name."""
    file = folder / name
    file.write_bytes(body)
    return str(file)


def test_replay_shows_the_text(good: str) -> None:
    """A file with a proven answer gives its text and the exit code 0."""
    assert run("replay", good) == Result(0, "hi\n", "")


def test_replay_json_writes_the_chunks(good: str) -> None:
    """``--json`` gives the chunks, one a line, from stdin too."""
    result = run("replay", "-", "--json", stdin=GOOD)
    types = [json.loads(line)["type"] for line in result.out.splitlines()]
    assert types == ["block-start", "text-delta", "block-end", "finish"]
    assert result == run("replay", good, "--json")


def test_replay_raw_shows_each_event_before_its_chunks(good: str) -> None:
    """``--raw`` numbers all events, also those without chunks."""
    result = run("replay", good, "--raw")
    numbers = re.findall(r"^\[event (\d+)\]", result.err, re.M)
    assert numbers == ["1", "2", "3"] and "[event 3] [DONE]" in result.err


def test_notes_have_no_control_characters_even_in_a_file() -> None:
    """A file gets notes with escaped controls too, because a terminal may show the file."""
    body = 'data: {"odd": "\x9b2J \x7f"}\n\n'.encode() + GOOD
    result = run("replay", "-", "--raw", stdin=body)
    assert result.code == 0 and '"\\x9b2J \\x7f"' in result.err


def test_replay_tells_the_place_of_a_failure(tmp_path: Path) -> None:
    """The line on stderr has the code, the file, the event and the byte."""
    head = D({"content": "hi"})
    bad = b": a comment\r\ndata: {nope}\r\n\r\n"
    name = saved(tmp_path, "bad.sse", head + bad + DONE)
    result = run("replay", name)
    assert (result.code, result.out) == (1, "hi\n")
    assert result.err.startswith("MALFORMED_RESPONSE: ")
    assert f"({name}: in event 2, which ends at byte {len(head + bad)})" in result.err


def test_replay_cut_stream_fails_at_its_end(tmp_path: Path) -> None:
    """A truncated file gives no message; the place is the end of the file."""
    body = D({"content": "hi"}) + F("stop")
    result = run("replay", saved(tmp_path, "cut.sse", body))
    assert result.code == 1
    assert result.err.startswith("STREAM_CLOSED: ")
    assert f"at the end, byte {len(body)}, after event 2" in result.err
    assert run("replay", "-", "--done-marker", "optional", stdin=body) == Result(0, "hi\n", "")


def test_replay_report_of_a_proven_message() -> None:
    """The report counts events and blocks, and tells calls, usage, finish and diagnostics."""
    body = (
        D({"reasoning_content": "hm"}, model="m9") + D({"content": "hello"})
        + D(call(0, "c0", "look", '{"at": "x"}')) + D(call(1, "", "read", "{}"))
        + D({}, "tool_calls", usage={"prompt_tokens": 3, "completion_tokens": 4})
        + b'data: {"odd": 1}\n\n' + DONE
    )
    result = run("replay", "-", "--report", stdin=body)
    assert result.code == 0 and result.err == ""
    assert result.out.splitlines() == [
        "stdin",
        "  message      proven",
        f"  read         {len(body)} bytes, 7 events",
        "  blocks       reasoning (2 characters), text (5 characters), tool-call, tool-call",
        '  call         look {"at": "x"} (id c0)',
        "  call         read {} (id call_1)",
        "  usage        tokens: 3 input, 4 output",
        "  finish       tool-calls (the provider's word: 'tool_calls')",
        "  model        m9",
        "  response id  c1",
        "  diagnostics  payload_without_choices 1, tool_call_id_made 1",
    ]


def test_replay_report_shows_media_extras_and_cost() -> None:
    """What came beside the text is told with its size, and the cost as it was told."""
    image = {"image_url": {"url": "data:image/png;base64,AAEC"}}
    address = {"image_url": {"url": "https://x/y.png"}}
    body = (
        D({"content": "hi", "images": [image, address], "annotations": [{"type": "x"}]},
          citations=["a", "b"], weather="fine")
        + D({"audio": {"id": "a", "data": "?"}})
        + D({}, "stop", usage={"completion_tokens": 4, "cost": 0.25, "cost_details": {"x": 1}})
        + DONE
    )
    lines = run("replay", "-", "--report", stdin=body).out.splitlines()
    assert lines[3:8] == [
        "  blocks       text (2 characters), image (image/png, 3 bytes), "
        "image (41 characters of JSON), audio (24 characters of JSON)",
        "  extras       text annotations (1), message citations (2)",
        "  usage        tokens: 4 output",
        "  cost         cost 0.25",
        '  cost         cost_details {"x": 1}',
    ]
    assert lines[-1] == "  diagnostics  frame_field_unknown 1"


def test_replay_report_of_a_failure() -> None:
    """The report has the error, its place and what had arrived; no call is shown as whole."""
    body = D({"content": "hello"}) + D(call(0, "c0", "look", '{"at": "secret'))
    result = run("replay", "-", "--report", stdin=body)
    assert result.code == 1
    assert "  error        STREAM_CLOSED: " in result.out
    assert f"  where        at the end, byte {len(body)}, after event 2" in result.out
    assert "  retryable    yes" in result.out
    assert "  call         look: begun, not whole; do not run it" in result.out


def test_replay_of_many_files_is_0_only_when_all_are_proven(good: str, tmp_path: Path) -> None:
    """Every file is read; the highest exit code counts; stderr names each file."""
    cut = saved(tmp_path, "cut.sse", GOOD[:-20])
    missing = str(tmp_path / "missing.sse")
    assert run("replay", good, good).code == 0
    result = run("replay", cut, good)
    assert (result.code, result.out) == (1, "hi\nhi\n")
    assert f"==> {cut} <==\nSTREAM_CLOSED: " in result.err and f"==> {good} <==" in result.err
    result = run("replay", missing, str(tmp_path), good)
    assert (result.code, result.out) == (2, "hi\n")
    assert f"{missing}: cannot be read: No such file" in result.err


def test_replay_reads_a_json_document() -> None:
    """A body that is a whole completion is an answer too; its error object is an error."""
    whole = {"object": "chat.completion", "choices": [
        {"index": 0, "message": {"content": "doc"}, "finish_reason": "stop"}]}
    assert run("replay", "-", stdin=json.dumps(whole).encode()) == Result(0, "doc\n", "")
    result = run("replay", "-", stdin=b'{"error": {"message": "slow down", "code": 429}}')
    assert result.code == 1 and result.err.startswith("RATE_LIMIT: ")


@pytest.mark.parametrize("body", [b"", b"\0" * 300_000, b"<html>", b"data: " + b"x" * 300_000,
                                  b"\xff\xfe", b"{", b"\n" * 100_000])
def test_replay_trusts_no_file(body: bytes) -> None:
    """Any file ends with a code, not with a crash."""
    for form in ("--report", "--json", "--raw"):
        result = run("replay", "-", form, stdin=body)
        assert result.code == 1 and "a bug" not in result.err


def test_replay_comes_as_it_arrives() -> None:
    """The part of a pipe that has arrived is shown while the pipe is open."""
    with process("replay", "-", stdin=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(D({"content": "early\n"}))
        child.stdin.flush()
        assert child.stdout.readline() == b"early\n"
        child.stdin.write(F("stop") + DONE)
        child.stdin.close()
        assert child.wait(20) == 0


# -- demo, help, trace --------------------------------------------------------------------


def test_demo_shows_all_three_parts() -> None:
    """The demo streams an answer, shows its message, and shows that a cut answer is refused."""
    result = run("demo", "--pause", "0")
    assert (result.code, result.err) == (0, "")
    whole, message, cut = re.split(r"^\d\. ", result.out, flags=re.M)[1:4]
    assert "[reasoning] " in whole and whole.count("[forming list_files") > 2
    assert re.search(r'call +list_files \{"folder": ".", "hidden": false\} \(id call_1\)', message)
    assert "STREAM_CLOSED: " in cut and "call_1" not in cut


def test_demo_notices_a_wrong_message() -> None:
    """A message that differs from the script is a fault, so the exit code would be 1."""
    assert len(demo._faults(AssistantMessage())) == 4
    right = AssistantMessage(content=tuple(ToolCall(*c) for c in demo._CALLS), finish="tool-calls")
    assert len(demo._faults(right)) == 2


def test_help_tells_the_exit_codes_and_commands() -> None:
    """--help of the program explains the exit codes; --help of a command points to it."""
    whole = run("--help")
    assert whole.code == 0 and whole.err == ""
    assert "exit codes:\n" in whole.out and "130" in whole.out
    for command in ("chat", "agent", "replay", "session", "config", "providers", "demo"):
        result = run(command, "--help")
        assert result.code == 0 and result.err == ""
        assert "\nexit codes: streamcore --help\n" in result.out and "130" not in result.out
    assert all(word in run("-h").out for word in ("chat", "replay", "demo"))
    assert run("--version").out == f"streamcore {__version__}\n"


@pytest.mark.parametrize("command", [
    "chat", "agent", "replay", "session", "config", "providers", "demo",
])
def test_help_explains_every_option(command: str) -> None:
    """Every option has a help text."""
    commands = Parser(prog="p").add_commands()
    for module in (agent, chat_command, config, demo, providers, replay, session):
        module.add_parser(commands)
    for action in commands.choices[command]._actions:
        assert action.help, action.option_strings
    assert "apikey" not in run(command, "--help").out


@pytest.mark.parametrize("argv", [
    ["chat", "hi", "--api-key", SECRET], ["chat", "--api-key", SECRET, "hi"],
    ["chat", "hi", f"--api-key={SECRET}"], ["--api-key", SECRET, "chat", "hi"],
    ["chat", "hi", "--apikey", SECRET], ["agent", "hi", "--key", SECRET],
    ["chat", "hi", "--token", SECRET], ["chat", "hi", f"--openai-key={SECRET}"],
])
def test_key_as_an_option_is_not_repeated(argv: List[str]) -> None:
    """A key on the command line is refused with a hint, and is not repeated."""
    result = run(*argv, "--model", "m")
    assert result.code == 2 and "--api-key-env" in result.err
    assert SECRET not in result.err and "usage: streamcore" in result.err


def test_missing_key_names_what_the_command_line_has() -> None:
    """There is no api_key argument here; the variable, and the option that names another, are."""
    result = run("chat", "hi", "--model", "m", "--provider", "openai")
    assert result.code == 1
    assert result.err == ("MISSING_CREDENTIAL: no key for openai: looked in the environment "
                          "variable OPENAI_API_KEY; --api-key-env names another variable\n")
    error = LlmError("no key for p: looked in the api_key argument", "MISSING_CREDENTIAL")
    assert failure_line(error).startswith("MISSING_CREDENTIAL: no key for p; --api-key-env ")


def test_cause_the_line_tells_already_is_not_told_twice() -> None:
    """A cause is shown only if it adds something."""
    error = LlmError("connecting failed: OSError: no route", "TRANSPORT")
    error.__cause__ = OSError("no route")
    assert failure_line(error) == "TRANSPORT: connecting failed: OSError: no route"
    error.__cause__ = OSError("cable is out")
    assert failure_line(error).endswith("no route ← OSError: cable is out")
    result = run("chat", "hi", "--model", "m", "--base-url", "http://127.0.0.1:9/v1",
                 "--retries", "0")
    assert result.code == 1 and result.err.count("onnection refused") == 1


def test_missing_done_is_told_with_the_option_for_it() -> None:
    """The hint after a finish word without [DONE] is an option that can be typed."""
    body = D({"content": "hi"}) + F("stop")
    result = run("replay", "-", stdin=body)
    assert "--done-marker optional" in result.err and "done_marker" not in result.err
    assert "--done-marker optional" in run("replay", "--report", "-", stdin=body).out
    unended = {"steps": [{"text": "a"}, {"finish": "stop"}]}
    option = "--set provider.openai-compatible.done_marker=optional"
    assert option in chat([unended]).err
    assert chat([unended], *option.split()).code == 0


def test_replay_reads_as_the_provider_answers() -> None:
    """A profile's options and its done marker count; --done-marker wins over the marker."""
    body = D({"content": "hi"}) + F("stop")
    assert run("replay", "-", stdin=body).code == 1
    for name, code in PROVIDER_ENDS.items():
        assert run("replay", "-", "--provider", name, stdin=body).code == code, name
    lax = next(name for name, code in PROVIDER_ENDS.items() if code == 0)
    strict = run("replay", "-", "--provider", lax, "--done-marker", "required", stdin=body)
    assert strict.code == 1


def test_replay_exit_code_of_several_files(tmp_path: Path, good: str) -> None:
    """The highest code counts, as the help says; files after a bad file are read too."""
    cut = saved(tmp_path, "cut.sse", D({"content": "hi"}))
    assert run("replay", good, cut).code == 1 and run("replay", cut, good).code == 1
    result = run("replay", "/no/such", cut, good)
    assert result.code == 2 and result.out.endswith("hi\n")
    assert "The exit code is 2 if a file cannot be read" in run("replay", "--help").out


def test_usage_of_a_carried_copy_is_what_was_typed(tmp_path: Path) -> None:
    """In a vendored copy, the usage shows how that copy is started."""
    copy = tmp_path / "host" / "_vendor" / "streamcore"
    shutil.copytree(ROOT / "streamcore", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for words, shown in (
        (["chat", "--mod"], "usage: python -m host._vendor.streamcore chat "),
        (["chat", "--help"], "exit codes: python -m host._vendor.streamcore --help"),
        (["--help"], "usage: python -m host._vendor.streamcore [-h]"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "host._vendor.streamcore", *words], cwd=str(tmp_path),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
        )
        assert shown in done.stdout


def test_help_and_replay_load_no_requests(good: str) -> None:
    """Only a command that sends a request imports requests."""
    code = (
        "import sys; from streamcore.cli import main\n"
        f"assert main(['--help']) == 0 and main(['replay', {good!r}]) == 0\n"
        "print('requests' in sys.modules, 'urllib3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE,
                          timeout=60, check=True)
    assert done.stdout.splitlines()[-1].split() == [b"False", b"False"]


def test_debug_shows_the_wire_and_leaves_logging_as_it_was() -> None:
    """--debug traces what is sent and received on stderr, for this run only."""
    logger = logging.getLogger("streamcore")
    result = chat([says("traced")], "-v")
    assert (result.code, result.out) == (0, "traced\n")
    assert "sent: POST http://127.0.0.1" in result.err and "received: HTTP 200" in result.err
    assert (logger.level, logger.propagate, logger.handlers) == (logging.NOTSET, True, [])


class Broken(Dict[str, str]):
    """An environment that cannot be read, as an example of a bug."""

    def get(self, *args: Any) -> Any:
        raise RuntimeError("something\nunforeseen")


def test_bug_is_one_line_without_a_traceback() -> None:
    """A bug has its own exit code; --debug shows the place."""
    argv = ["chat", "x", "--model", "m", "--api-key-env", "K", "--base-url", "http://h/v1"]
    result = run(*argv, environ=Broken(a=""))
    assert result.code == 70
    assert result.err == ("streamcore: a bug: RuntimeError: something unforeseen "
                          "(--debug shows where)\n")
    assert "Traceback" in run(*argv, "--debug", environ=Broken(a="")).err


def test_main_runs_in_another_thread_and_leaves_signals_alone() -> None:
    """A host may call main from any thread; its handlers are as they were afterwards."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    results: List[Result] = []
    thread = threading.Thread(target=lambda: results.append(chat([says("a")])))
    thread.start()
    thread.join(20)
    assert results[0].code == chat([says("a")]).code == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


# -- signals and pipes, on a process ------------------------------------------------------


@posix
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_a_silent_answer_and_closes_its_socket(number: int, code: int) -> None:
    """Ctrl-C and SIGTERM end at once with their codes; the provider sees the peer leave."""
    with LoopbackServer([SILENT]) as server:
        with process("chat", "x", "--model", "m", "--base-url", server.base_url) as child:
            assert child.stdout is not None and child.stderr is not None
            assert child.stdout.readline() == b"first line\n"  # before the end: it is flushed
            record = server.wait_for_requests(1)[0]
            began = time.monotonic()
            child.send_signal(number)
            assert child.wait(20) == code
            assert time.monotonic() - began < 5
            assert record.wait_peer_left()
            err = child.stderr.read()
    assert b"Traceback" not in err and len(err.splitlines()) == 1


def test_interrupt_while_the_program_loads_is_quiet() -> None:
    """Ctrl-C while the modules load shows no traceback, and the exit code is 130."""
    code = (
        "import runpy, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'streamcore.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "runpy.run_module('streamcore', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"interrupted\n")


@posix
def test_signal_before_the_first_byte_of_the_answer() -> None:
    """Ctrl-C while the provider thinks ends the same way."""
    with LoopbackServer([{"no_answer": True}]) as server:
        with process("chat", "x", "--model", "m", "--base-url", server.base_url) as child:
            record = server.wait_for_requests(1, 20)[0]
            child.send_signal(signal.SIGINT)
            assert child.wait(20) == 130
            assert record.wait_peer_left()


@posix
def test_closed_pipe_is_quiet_and_ends_the_call() -> None:
    """A reader that goes away (head -1) ends the call: 141, nothing on stderr, socket closed."""
    endless = {"steps": [
        {"repeat": {"times": None, "every": 0.01, "steps": [{"text": "line\n"}]}}]}
    with LoopbackServer([endless]) as server:
        with process("chat", "x", "--model", "m", "--base-url", server.base_url) as child:
            assert child.stdout is not None and child.stderr is not None
            assert child.stdout.readline() == b"line\n"
            child.stdout.close()
            assert child.wait(20) == 141
            assert child.stderr.read() == b""
            assert server.requests[0].wait_peer_left()


@posix
def test_closed_pipe_is_quiet_for_help() -> None:
    """If nobody reads stdout, any command ends without an error message."""
    read, write = os.pipe()
    os.close(read)
    try:
        with process("--help", stdout=write) as child:
            _, err = child.communicate(timeout=20)
    finally:
        os.close(write)
    assert (child.returncode, err) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_full_disk_is_told(good: str) -> None:
    """Output that cannot be written gives one line on stderr and its own exit code."""
    with open("/dev/full", "wb") as full, process("replay", good, stdout=full) as child:
        _, err = child.communicate(timeout=20)
    assert child.returncode == 74
    assert err.startswith(b"streamcore: stdout cannot be written: ")
    assert len(err.splitlines()) == 1


@posix
@pytest.mark.parametrize("command", ["chat", "agent"])
def test_missing_stdout_is_told_before_anything_is_asked(command: str) -> None:
    """If the output cannot be written, no request is sent."""
    with LoopbackServer([{"steps": [{"answer": {"text": "lost"}}]}]) as server:
        shell = f'exec "{sys.executable}" -m streamcore "$@" >&-'
        arguments = [command, "hi", "--model", "m", "--base-url", server.base_url]
        done = subprocess.run(
            ["sh", "-c", shell, "sh", *arguments], stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=30,
        )
        assert done.returncode == 74
        assert done.stderr == b"streamcore: there is no stdout to write to\n"
        assert server.requests == []


@pytest.mark.parametrize("argv, code", [
    (["providers"], 74), (["--help"], 74), (["chat", "--no-such-option"], 2),
])
def test_missing_or_closed_stdout_of_other_commands(argv: List[str], code: int) -> None:
    """Without a stdout, wrong usage keeps its code, and a command with output does not succeed."""
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    for stdout in (None, closed):
        err = io.TextIOWrapper(io.BytesIO())
        given: Any = {"stdin": io.StringIO(), "stdout": stdout, "stderr": err, "environ": {}}
        with redirect_stdout(stdout):
            assert main(argv, **given) == code


@posix
def test_closed_standard_streams_are_survived(good: str) -> None:
    """A process without stdin, stdout or stderr still runs and has its exit code."""
    for closed, name, code in (
        ("<&- 2>&- >/dev/null", good, 0), ("<&- 2>&- >/dev/null", good + ".missing", 2),
        ("<&- 2>&- >&-", good, 74),
    ):
        command = f'exec "{sys.executable}" -m streamcore replay "$0" {closed}'
        assert subprocess.run(["sh", "-c", command, name], cwd=ROOT, timeout=60).returncode == code


@pytest.mark.parametrize("variables", [
    {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
])
def test_answer_is_shown_under_a_poor_locale(variables: Dict[str, str], tmp_path: Path) -> None:
    """LANG=C and PYTHONIOENCODING=ascii replace what they cannot show."""
    name = saved(tmp_path, "s.sse", D({"content": "naïve 先"}) + F("stop") + DONE)
    with process("replay", name, variables=variables) as child:
        out, err = child.communicate(timeout=20)
    assert (child.returncode, err) == (0, b"")
    assert re.fullmatch(rb"na\?+ve \?+\n", out)


@pytest.mark.parametrize("argv", [
    ["chat", "hi", "--script", ""], ["agent", "hi", "--session", ""],
    ["agent", "hi", "--folder", ""], ["chat", "hi", "--tools", ""],
    ["chat", "hi", "--script", "/dev/zero"], ["chat", "hi", "--tools", "/dev/zero"],
])
def test_file_that_is_none_is_wrong_usage(argv: List[str]) -> None:
    """An empty name is refused, and an endless device is not read for ever."""
    done = run(*argv)
    assert done.code == 2 and argv[2] in done.err
    assert "/dev/zero" not in argv or "larger than 16 MiB" in done.err
