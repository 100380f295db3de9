# SPDX-License-Identifier: MIT
"""The commands ``agent``, ``config`` and ``providers``: output, progress, exit codes, refusals.

All answers come from the loopback provider. What the built-in tools may read is in
``test_folder_tools``, what the loop does in ``test_agent``: here it is what a user sees of it.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from cli_support import Result, Tty, process, run

from streamcore import AssistantMessage, LoopbackServer, Session, TextBlock
from streamcore.agent import REASONS, AgentEvent, AgentLimits
from streamcore.cli import demo_agent, main
from streamcore.cli.agent_view import View
from streamcore.cli.terminal import Terminal
from streamcore.values.chunks import TextDelta
from streamcore.values.usage import TokenUsage

SECRET = "sk-very-secret-key-0123456789"
posix = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


def says(text: str, **more: Any) -> Dict[str, Any]:
    """Return an answer with a text."""
    return {"steps": [{"answer": {"text": text, **more}}]}


def asks(*calls: Tuple[str, Any], **more: Any) -> Dict[str, Any]:
    """Return an answer that calls tools."""
    made = [{"id": f"c{number}", "name": name, "arguments": json.dumps(arguments)}
            for number, (name, arguments) in enumerate(calls)]
    return {"steps": [{"answer": {"tool_calls": made, **more}}]}


READ = asks(("read_file", {"path": "notes.txt"}), text="Let me look.", usage={
    "prompt_tokens": 5, "completion_tokens": 7})
TWO_STEPS = [READ, says("It says hello.")]
BUSY = {"status": 503, "headers": {"retry-after": "0"}, "json": {"error": {"message": "busy"}}}
both = pytest.mark.parametrize("command", ["chat", "agent"])


@pytest.fixture(autouse=True)
def place(tmp_path: Path) -> Iterator[Path]:
    """The current folder of a test, with files and a module of tools."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "notes.txt").write_text("hello\n")
    (tmp_path / "outside.txt").write_text("out of bounds")
    (folder / "own_tools.py").write_text(
        "from streamcore.agent.tools import tool\n"
        "@tool\ndef shout(word: str) -> str:\n    'Say it loudly.'\n    return word.upper()\n"
        "@tool(mutating=True)\ndef wipe() -> str:\n    'Wipe it.'\n"
        "    open('wiped', 'w').close()\n    return 'wiped'\n"
        "@tool(isolate=True, timeout=20)\ndef apart(n: int) -> int:\n    return n + 1\n"
        "def plain(n: int) -> int:\n    'Plain.'\n    return n\n"
        "TOOLS = [shout, wipe]\nNUMBER = 5\n"
    )
    (folder / "broken_tools.py").write_text("raise RuntimeError('no luck')\n")
    before = os.getcwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)
    sys.modules.pop("own_tools", None)


@pytest.fixture
def script(tmp_path: Path) -> Any:
    """Write answers to a script file and return its name."""
    def write(answers: List[Any]) -> str:
        file = tmp_path / "script.json"
        file.write_text(json.dumps(answers), encoding="utf-8")
        return str(file)

    return write


class Scene:
    """The result of a run, and the requests that the provider got."""

    def __init__(self, result: Result, bodies: List[Any], headers: List[Any]) -> None:
        self.result, self.bodies, self.headers = result, bodies, headers

    def results(self, body: int = -1) -> List[str]:
        """The tools' results in a request."""
        return [m["content"] for m in self.bodies[body]["messages"] if m["role"] == "tool"]


def ask(command: str, answers: Any, *argv: str, **options: Any) -> Scene:
    """Run a command against a provider that plays ``answers``."""
    with LoopbackServer({"answers": answers, "after_last": "500"}) as server:
        result = run(command, "go", "--base-url", server.base_url, *argv, **options)
        sent = list(server.requests)
        return Scene(result, [one.json() for one in sent], [one.headers for one in sent])


def agent(answers: Any, *argv: str, **options: Any) -> Scene:
    """Run ``agent`` with a model."""
    return ask("agent", answers, "--model", "m", *argv, **options)


# -- where things go ----------------------------------------------------------------------


def test_agent_reads_a_file_and_answers() -> None:
    """Two steps: the file's text is the call's result, the last answer is all of stdout."""
    scene = agent(TWO_STEPS)
    assert scene.result == Result(0, "It says hello.\n", "")
    assert scene.results() == ["hello"]
    names = [tool["function"]["name"] for tool in scene.bodies[0]["tools"]]
    assert names == ["read_file", "list_files", "search_text"]
    assert "material" in scene.bodies[0]["messages"][0]["content"]


def test_agent_on_a_terminal_shows_text_and_progress() -> None:
    """A person sees each text as it comes, and on stderr state, calls, speed and time."""
    slow = asks(("read_file", {"path": "notes.txt"}), text="a b c d e", every=0.05,
                usage={"prompt_tokens": 5, "completion_tokens": 7})
    scene = agent([slow, says("It says hello.", every=0.06)], stream=Tty,
                  environ={"NO_COLOR": "1"})
    assert scene.result.code == 0
    assert scene.result.out.startswith("a b c d e") and "It says hello.\n" in scene.result.out
    err = scene.result.err
    for line in (
        r"^\[step 1\] asking m at openai-compatible$",
        r"^\[step 1\] tool-calls after \d+\.\d s, \d+\.\d tokens/s \(7 by the provider's count\)$",
        r'^\[tool\] read_file \{"path": "notes.txt"\} \(id c0\)$',
        r"^\[tool\] read_file: ok after \d+\.\d s, 5 bytes$",
        r"^\[step 2\] stop after \d+\.\d s, \d+\.\d pieces/s \(tokens were not counted\)$",
        r"^\[stop; 2 steps, 1 tool calls; tokens: 5 input, 7 output; all in \d+\.\d s\]$",
    ):
        assert re.search(line, err, re.M), (line, err)


def view_of(out_tty: bool, err_tty: bool) -> Tuple[View, List[io.TextIOWrapper], List[float]]:
    """Return a view on streams of its own, those, and the clock it reads."""
    now = [0.0]
    streams = [(Tty if tty else io.TextIOWrapper)(io.BytesIO(), encoding="utf-8", newline="\n")
               for tty in (out_tty, err_tty)]
    terminal = Terminal(None, *streams, environ={"NO_COLOR": "1"})
    return View(terminal, "m", clock=lambda: now[0]), streams, now


@pytest.mark.parametrize("out_tty, err_tty, out, watched", [
    (False, False, "Done.\n", False),
    (False, True, "Done.\n", True),
    (True, False, "Look.\nDone.\n", False),
])
def test_each_stream_gets_what_its_reader_wants(
    out_tty: bool, err_tty: bool, out: str, watched: bool
) -> None:
    """A captured stdout has only the last answer; a stderr on a terminal has the progress."""
    view, streams, now = view_of(out_tty, err_tty)
    for step, (text, finish) in enumerate([("Look.", "tool-calls"), ("Done.", "stop")], 1):
        view.event(AgentEvent("step-start", step))
        if view.on_chunk is not None:
            view.on_chunk(TextDelta(0, text))
        now[0] += 2.0
        usage = TokenUsage(output_tokens=6)
        message = AssistantMessage(content=(TextBlock(text),), finish=finish, usage=usage)
        view.event(AgentEvent("message", step, message=message))
    shown = [one.buffer.getvalue().decode() for one in streams]
    assert shown[0] == out
    assert ("[step 1] tool-calls after 2.0 s, 3.0 tokens/s" in shown[1]) is watched
    assert ("[text] Look." in shown[1]) is (watched and not out_tty)
    assert watched or shown[1] == ""
    for one in streams:
        one.close()


@pytest.mark.parametrize("ends, out", [
    (["paused", "paused", "stop"], "ab c\n"),
    (["paused", "tool-calls", "stop"], " c\n"),
    (["paused", "paused", "paused"], ""),
])
def test_captured_answer_has_its_paused_parts(ends: List[str], out: str) -> None:
    """The text before a pause belongs to the answer, and is not shown before the answer's end."""
    view, streams, _ = view_of(False, False)
    for step, (text, finish) in enumerate(zip(["a", "b", " c"], ends), 1):
        view.event(AgentEvent("step-start", step))
        message = AssistantMessage(content=(TextBlock(text),), finish=finish)
        view.event(AgentEvent("message", step, message=message))
    assert streams[0].buffer.getvalue().decode() == out


def test_void_answer_is_told_where_it_was_shown() -> None:
    """A terminal says that the text shown is void; a file gets only the good answer."""
    broken = {"steps": [
        {"text": "I look."},
        {"tool_call": {"index": 0, "id": "a", "name": "read_file", "arguments": "{"}},
        {"finish": "tool_calls"}, {"done": True}]}
    quick = ("--set", "retry.initial_delay=1ms")
    shown = agent([broken, says("It says hello.")], *quick, stream=Tty).result
    assert shown.code == 0
    assert shown.out.startswith("I look.") and shown.out.endswith("It says hello.\n")
    assert "[step 1] the text shown so far is void" in shown.err
    assert agent([broken, says("hello")], *quick).result == Result(0, "hello\n", "")


def test_dry_run_and_config_tell_the_retries_of_a_command() -> None:
    """Without a setting the two retries of ``RetryPolicy()`` are shown, as they will be made."""
    assert re.search(r"^retry\.max_retries +2 +default$", run("config").out, re.M)
    assert re.search(r"^  retry\.max_retries +2 +default$", agent([], "--dry-run").result.out, re.M)


def test_agent_cut_at_the_output_limit_says_so_and_succeeds() -> None:
    """max-tokens is a proven end; stderr says that the answer was cut."""
    scene = agent([says("half", finish="length")])
    assert (scene.result.code, scene.result.out) == (0, "half\n")
    assert scene.result.err.startswith("max-tokens: ")


# -- keys stay out of its reach ------------------------------------------------------------


def test_model_reads_neither_the_configuration_nor_the_session(place: Path) -> None:
    """The configuration and the session file are in the folder, and may hold a key."""
    (place / "k.ini").write_text(f"[streamcore]\nmodel = m\napi_key = {SECRET}\n")
    (place / "k.ini").chmod(0o600)
    first = asks(("read_file", {"path": "k.ini"}), ("read_file", {"path": "s.jsonl"}),
                 ("search_text", {"text": "api_key"}))
    for options in (["--config", "k.ini"], []):
        scene = ask("agent", [first, says("x")], *options, "--session", "s.jsonl",
                    environ={} if options else {"STREAMCORE_CONFIG": "k.ini"})
        assert scene.result.code == 0
        assert scene.headers[0]["authorization"] == f"Bearer {SECRET}"
        config, session, search = scene.results()[-3:]
        assert "withheld" in config and "withheld" in session
        assert SECRET not in search + (place / "s.jsonl").read_text()


@pytest.mark.parametrize("text", [
    f"export KEY={SECRET}\n", f"{'x' * 230}{SECRET}needle{SECRET}{'y' * 230}\n",
    f"{'z' * 100}{SECRET} {'w' * 100} needle {'v' * 98} {SECRET}\n",
])
def test_key_in_a_file_of_the_folder_is_masked(place: Path, text: str) -> None:
    """A copy of the key reaches neither the model, nor the session, nor a terminal."""
    (place / ".env").write_text(text)
    first = asks(("read_file", {"path": ".env"}),
                 ("search_text", {"text": "needle", "hidden": True}),
                 ("search_text", {"text": "KEY", "hidden": True}))
    scene = agent([first, says("x")], "--api-key-env", "K", "--session", "s.jsonl",
                  environ={"K": SECRET})
    assert scene.headers[0]["authorization"] == f"Bearer {SECRET}"
    shown = json.dumps(scene.bodies) + (place / "s.jsonl").read_text() + scene.result.err
    assert "***" in scene.results()[0]
    for part in (SECRET[:9], SECRET[-9:]):
        assert part not in shown


@posix
def test_signal_while_a_tool_runs_ends_the_program(place: Path) -> None:
    """SIGTERM during a tool is not a failure of the tool."""
    (place / "term.py").write_text(
        "import os, signal, time\n"
        "def hang() -> str:\n    'Hang.'\n    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(20)\n    return 'never'\n"
    )
    with LoopbackServer([asks(("hang", {})), says("never")]) as server:
        argv = ["agent", "go", "--model", "m", "--base-url", server.base_url,
                "--tools", "term:hang", "--no-folder"]
        with process(*argv, cwd=str(place)) as child:
            out, err = child.communicate(timeout=20)
        assert (child.returncode, out) == (143, b"") and b"ended by SIGTERM" in err
        assert len(server.requests) == 1


# -- how it ends --------------------------------------------------------------------------


@pytest.mark.parametrize("answers, code, reason", [
    ([{"steps": [{"text": "half an ans"}, {"close": True}]}], "STREAM_CLOSED", ""),
    ([READ, {"status": 401, "json": {"error": {"message": "no"}}}], "AUTH", ""),
    ([READ, {"status": 200, "body": ""}], "EMPTY_RESPONSE", "empty-response"),
    ([says("a", finish="content_filter")], "CONTENT_FILTER", "content-filter"),
    ([READ] * 6, "AGENT_LIMIT", "repeated-call"),
])
def test_turn_that_fails_exits_with_one(answers: List[Any], code: str, reason: str) -> None:
    """Stdout has no unproven text; the last line of stderr has the code and the reason."""
    result = agent(answers, "--retries", "0").result
    assert (result.code, result.out) == (1, "")
    last = result.err.splitlines()[-1]
    assert last.startswith(f"{code}: ") and f"the turn ended: {reason}" in last
    assert "Traceback" not in result.err


@pytest.mark.parametrize("argv, setting", [
    (["--max-calls-per-step", "1"], "max_calls_per_step=1"),
    (["--max-calls", "1"], "max_calls=1"),
    (["--max-steps", "1"], "max_steps=1"),
    (["--max-context-bytes", "1KiB"], "max_context_bytes=1024"),
])
def test_caps_are_options(argv: List[str], setting: str) -> None:
    """A cap that is passed ends the turn, and names the setting and its value."""
    both = asks(("list_files", {}), ("read_file", {"path": "notes.txt"}))
    result = agent([both, says("x")], *argv).result
    assert result.code == 1 and result.err.startswith("AGENT_LIMIT: ")
    assert setting in result.err


def test_output_cap_holds_for_the_tools(place: Path) -> None:
    """--max-output-bytes bounds a result, and the result says how to continue."""
    (place / "notes.txt").write_text("0123456789\n" * 500)
    scene = agent(TWO_STEPS, "--max-output-bytes", "512")
    assert len(scene.results()[0]) <= 512 and "continue with first_line=" in scene.results()[0]


def test_clock_of_an_option_fires() -> None:
    """Clocks are read with their units."""
    result = agent([{"steps": [{"text": "a"}, {"stall": True}]}], "--idle-timeout", "300ms",
                   "--retries", "0").result
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("TIMEOUT: ")


def test_retries_even_after_text_that_nobody_saw() -> None:
    """If no text is shown before its proof, the agent asks again after a broken answer."""
    cut = {"steps": [{"text": "half"}, {"close": True}]}
    again = agent([cut, says("whole")], "--set", "retry.initial_delay=1ms")
    assert again.result == Result(0, "whole\n", "")


def test_retry_is_told_where_a_person_watches() -> None:
    """A busy provider is asked again, and the wait is explained on a terminal only."""
    scene = agent([BUSY, says("ok")], "--retries", "1", stream=Tty)
    assert scene.result.code == 0 and "attempt 1 failed" in scene.result.err
    assert "SERVER: " in scene.result.err
    assert agent([BUSY, says("ok")], "--retries", "1").result == Result(0, "ok\n", "")


@posix
def test_interrupt_ends_with_130_and_a_session_that_goes_on(place: Path, script: Any) -> None:
    """Ctrl-C in the middle of an answer: no traceback, and the conversation can go on."""
    slow = {"steps": [{"text": "a"}, {"stall": True}]}
    argv = ["agent", "go", "--script", script([READ, slow]), "--session", "s.jsonl"]
    log = place / "s.jsonl"
    with process(*argv, cwd=place) as child:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            written = log.read_bytes() if log.exists() else b""
            if b'"text-delta"' in written.partition(b'"tool/result"')[2]:
                break
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, b"")
    assert err.splitlines()[-1] == b"interrupted"
    scene = agent([says("on")], "--session", "s.jsonl")
    assert scene.result.code == 0
    roles = [message["role"] for message in scene.bodies[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


# -- tools --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "a/../../outside.txt"])
def test_model_cannot_leave_the_folder(path: str) -> None:
    """The call gets a refusal as its result, and the turn goes on."""
    scene = agent([asks(("read_file", {"path": path})), says("ok")])
    assert scene.result.code == 0
    assert scene.results()[0].startswith("error: ") and "refused" in scene.results()[0]
    assert "out of bounds" not in json.dumps(scene.bodies)


def test_another_folder_can_be_given(tmp_path: Path) -> None:
    """--folder names the folder; --no-folder removes the tools and the system prompt."""
    scene = agent([asks(("read_file", {"path": "outside.txt"})), says("ok")],
                  "--folder", str(tmp_path))
    assert scene.results() == ["out of bounds"]
    bare = agent([says("ok")], "--no-folder")
    assert "tools" not in bare.bodies[0]
    assert [m["role"] for m in bare.bodies[0]["messages"]] == ["user"]


def test_own_tools_are_found_in_the_current_folder() -> None:
    """--tools takes a tool, a function or a list of them, beside the built-in ones."""
    calls = asks(("shout", {"word": "hi"}), ("plain", {"n": 4}), ("apart", {"n": 1}))
    scene = agent([calls, says("ok")], "--tools", "own_tools:TOOLS", "--tools",
                  "own_tools:plain", "--tools", "own_tools:apart")
    assert scene.results() == ["HI", "4", "2"]
    assert len(scene.bodies[0]["tools"]) == 7


def test_mutating_tool_needs_yes(place: Path) -> None:
    """Without --yes it is refused and the user is told; with it, it runs."""
    answers = [asks(("wipe", {})), says("ok")]
    without = agent(answers, "--tools", "own_tools:wipe")
    assert without.result.code == 0 and not (place / "wiped").exists()
    assert "refused" in without.results()[0]
    assert without.result.err == "refused, since it changes things: wipe; --yes allows it\n"
    assert agent(answers, "--tools", "own_tools:wipe", "--yes").results() == ["wiped"]
    assert (place / "wiped").exists()


# -- session ------------------------------------------------------------------------------


def test_session_is_kept_and_resumed() -> None:
    """A second run with the same file sends the whole conversation."""
    agent(TWO_STEPS, "--session", "s.jsonl")
    scene = agent([says("again")], "--session", "s.jsonl", stream=Tty)
    roles = [message["role"] for message in scene.bodies[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "[session] s.jsonl: 4 messages so far" in scene.result.err
    with Session.open("s.jsonl") as session:
        assert len(session.derive_messages()) == 6


def test_session_that_lost_its_last_line_says_so(place: Path) -> None:
    """An unfinished last line of a killed process is dropped and reported."""
    agent(TWO_STEPS, "--session", "s.jsonl")
    with open(place / "s.jsonl", "ab") as file:
        file.write(b'{"seq":')
    result = agent([says("again")], "--session", "s.jsonl").result
    assert result.code == 0 and "unfinished last line of 7 bytes" in result.err


def test_session_that_cannot_be_one_is_refused() -> None:
    """A file that is not a session is not changed, and no request is sent."""
    scene = agent([says("x")], "--session", "notes.txt")
    assert scene.result.code == 1 and scene.result.err.startswith("SESSION: ")
    assert scene.bodies == [] and Path("notes.txt").read_text() == "hello\n"


# -- settings -----------------------------------------------------------------------------


@both
def test_file_serves_every_command(command: str, place: Path) -> None:
    """Provider, model, key's variable, header, retries and clocks of a file count."""
    (place / "c.ini").write_text(
        "[streamcore]\nprovider = ollama\nmodel = q\n[provider ollama]\napi_key_env = MINE\n"
        "headers = X-Title: t\n[retry]\nmax_retries = 1\n[limits]\nmax_event_bytes = 2KiB\n")
    long = {"steps": [{"text": "x" * 3000}]}
    for argv, environ in ((["--config", "c.ini"], {}), ([], {"STREAMCORE_CONFIG": "c.ini"})):
        scene = ask(command, [BUSY, long], *argv, environ={"MINE": SECRET, **environ})
        assert scene.result.code == 1 and "MALFORMED_RESPONSE: " in scene.result.err
        assert [body["model"] for body in scene.bodies] == ["q", "q"]
        assert scene.headers[1]["authorization"] == f"Bearer {SECRET}"
        assert scene.headers[1]["x-title"] == "t"


@both
def test_option_wins_over_variable_and_variable_over_file(command: str, place: Path) -> None:
    """The model is the option's, the header the variable's, the key's variable the file's."""
    (place / "c.ini").write_text("[streamcore]\nmodel = file\nheaders = X-Title: file\n"
                                 "api_key_env = MINE\n")
    variables = {"MINE": SECRET, "STREAMCORE_MODEL": "variable",
                 "STREAMCORE_HEADERS": "X-Title: variable"}
    scene = ask(command, [says("ok")], "--config", "c.ini", "--model", "option",
                environ=variables)
    assert scene.result == Result(0, "ok\n", "")
    assert scene.bodies[0]["model"] == "option"
    assert scene.headers[0]["x-title"] == "variable"
    assert scene.headers[0]["authorization"] == f"Bearer {SECRET}"


@both
def test_variables_are_enough(command: str) -> None:
    """Address, model, key and clock may all come from the environment."""
    with LoopbackServer([{"steps": [{"text": "a"}, {"stall": True}]}]) as server:
        result = run(command, "go", environ={
            "STREAMCORE_BASE_URL": server.base_url, "STREAMCORE_MODEL": "m",
            "STREAMCORE_API_KEY": SECRET, "STREAMCORE_LIMITS_IDLE_TIMEOUT": "300ms"})
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert result.code == 1 and "TIMEOUT: " in result.err


@pytest.mark.parametrize("named", [{}, {"STREAMCORE_PROVIDER": "openai-compatible"}])
def test_key_of_a_provider_nobody_named_is_left_alone(named: Dict[str, str]) -> None:
    """A provider's variables are read when it is named, and ``config`` shows the same."""
    environ = {"OPENAI_COMPATIBLE_API_KEY": SECRET, "OPENAI_COMPATIBLE_BASE_URL": "http://no.test",
               "STREAMCORE_MODEL": "m", **named}
    for command in ("chat", "agent"):
        headers = ask(command, [says("ok")], environ=environ).headers[0]
        assert ("authorization" in headers) is bool(named)
    shown = run("config", environ=environ).out
    row = r"\*\*\* +environment OPENAI_COMPATIBLE_API_KEY" if named else r"\(not set\) +default"
    assert re.search(f"^api_key +{row}$", shown, re.M)
    assert ("http://no.test" in shown) is bool(named)


@both
def test_script_wins_over_the_address_of_the_settings(command: str, script: Any) -> None:
    """--script asks nobody else, and needs no model."""
    result = run(command, "hi", "--script", script([says("ok")]),
                 environ={"STREAMCORE_BASE_URL": "http://127.0.0.1:9", "STREAMCORE_PROXY":
                          "http://127.0.0.1:9"})
    assert result == Result(0, "ok\n", "")


def test_option_wins_over_the_cap_of_a_file(place: Path) -> None:
    """A cap of a file ends the turn, unless an option allows more."""
    (place / "c.ini").write_text("[agent]\nmax_steps = 1\n")
    assert agent(TWO_STEPS, "--config", "c.ini").result.err.startswith("AGENT_LIMIT: ")
    more = agent(TWO_STEPS, "--config", "c.ini", "--max-steps", "5").result
    assert more == Result(0, "It says hello.\n", "")


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": SECRET}])
def test_script_needs_no_key(script: Any, environ: Dict[str, str]) -> None:
    """--script plays a file, whichever provider is named and whatever key is there."""
    result = run("agent", "hi", "--provider", "openai", "--script",
                 script([says("you said {last_user}")]), environ=environ)
    assert result == Result(0, "you said hi\n", "")


def test_script_asks_no_proxy(script: Any, place: Path) -> None:
    """A proxy of the environment is not used for this machine."""
    proxy = {"http_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    with process("agent", "hi", "--script", script([says("ok")]), cwd=place,
                 variables=proxy) as child:
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (0, b"ok\n", b"")


def test_sampling_options_are_sent() -> None:
    """The options of a request are in the body."""
    scene = agent([says("x")], "--system", "brief", "--max-tokens", "9", "--temperature", "0.5",
                  "--reasoning-effort", "low")
    body = scene.bodies[0]
    assert (body["max_tokens"], body["temperature"], body["reasoning_effort"]) == (9, 0.5, "low")
    assert body["messages"][0]["content"] == "brief"


def test_dry_run_shows_the_plan_and_asks_nobody() -> None:
    """System prompt, tools with their marks, limits with their origins; no prompt is needed."""
    result = run("agent", "--dry-run", "--tools", "own_tools:TOOLS", "--tools", "own_tools:apart",
                 "--max-steps", "3", "--session", "s.jsonl", environ={"STREAMCORE_MODEL": "m9"})
    assert (result.code, result.err) == (0, "")
    for words in (
        "model: m9 at openai-compatible", "session: s.jsonl, to be made", "You answer questions",
        "read_file(path, [first_line])", "wipe()  [changes things: refused]",
        "apart(n)  [in a process of its own, 20 s]", "Say it loudly.",
    ):
        assert words in result.out
    assert re.search(r"agent\.max_steps +3 +--max-steps\n", result.out)
    assert not Path("s.jsonl").exists()


@pytest.mark.parametrize("argv, words", [
    (["agent", "x"], "no model is named"),
    (["agent", "--model", "m"], "the prompt is empty"),
    (["agent", "x", "--model", "m", "--folder", "/no/such"], "--folder /no/such"),
    (["agent", "x", "--model", "m", "--folder", "notes.txt"], "not a folder"),
    (["agent", "x", "--tools", "own_tools"], "MODULE:NAME"),
    (["agent", "x", "--tools", "no_such_module:x"], "no_such_module"),
    (["agent", "x", "--tools", "own_tools:nothing"], "nothing"),
    (["agent", "x", "--tools", "own_tools:NUMBER"], "own_tools:NUMBER"),
    (["agent", "x", "--tools", "own_tools:shout", "--tools", "own_tools:shout"], "two tools"),
    (["agent", "x", "--tools", "broken_tools:x"], "no luck"),
    (["agent", "x", "--script", "/no/such"], "/no/such"),
    (["agent", "x", "--model", "m", "--provider", "azure"], "azure has no address of its own"),
    (["agent", "x", "--mod", "m"], "usage: streamcore agent"),
    (["config", "--api-key", SECRET], "--api-key-env"),
    (["agent", "x", "--max-steps", "none"], "--max-steps: a whole number"),
    (["agent", "x", "--max-output-bytes", "10"], "--max-output-bytes: "),
    (["agent", "x", "--idle-timeout", "soon"], "--idle-timeout: a time"),
    (["agent", "x", "--provider", "opnai"], "did you mean openai"),
    (["agent", "x", "--config", "/no/such"], "/no/such cannot be read"),
    (["agent", "x", "--set", "limits.idle_timout=3"], "did you mean limits.idle_timeout"),
    (["agent", "x", "--set", "novalue"], "NAME=VALUE"),
    (["config", "--set", f"api_key={SECRET}"], "--api-key-env"),
    (["config", "--set", f"headers=X-Api-Key: {SECRET}"], "--api-key-env"),
    (["providers", "opnai"], "did you mean openai"),
])
def test_wrong_usage_exits_with_two(argv: List[str], words: str) -> None:
    """Wrong arguments and settings exit with 2 and say what is wrong, never a key."""
    result = run(*argv)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("streamcore: ") and words in result.err
    assert SECRET not in result.err and "Traceback" not in result.err


def test_wrong_variable_exits_with_two() -> None:
    """A variable with a meaningless value exits with 2 too."""
    result = run("agent", "x", environ={"STREAMCORE_MODLE": "m"})
    assert result.code == 2 and "did you mean STREAMCORE_MODEL" in result.err


def test_help_tells_exit_codes_reasons_and_caps() -> None:
    """The help has the reasons for an end, the caps, and where the exit codes are."""
    out = run("agent", "--help").out
    assert "\nexit codes: streamcore --help\n" in out and "SIGTERM" not in out
    assert all(f"  {word} " in out for word in REASONS)
    assert "largest result of one tool call; default 16KiB" in out and "default 200KiB" in out
    assert all("--" + name.replace("_", "-") in out for name in AgentLimits.__dataclass_fields__)
    listed = run("--help").out
    assert all(word in listed for word in ("agent", "config", "providers"))


# -- config and providers -----------------------------------------------------------------


@pytest.fixture
def config_file(place: Path) -> Iterator[str]:
    """A configuration file with a key, which only its owner can read."""
    file = place / "c.ini"
    file.write_text(f"[streamcore]\nmodel = m\nprovider = openai\napi_key = {SECRET}\n")
    file.chmod(0o600)
    yield "c.ini"


def test_config_calls_an_option_by_its_name(config_file: str) -> None:
    """A value of the command line has the name of its option, as it is typed."""
    result = run("config", "--config", config_file, "--model", "n", "--timeout", "9",
                 "--retries", "1", "--api-key-env", "NO_SUCH", "--set", "app=me/1",
                 "--set", "headers=X-A: 1", "--set", "provider.openai.images=no")
    for line in (
        r"^model +n +--model$", r"^limits\.total_timeout +9s +--timeout$",
        r"^retry\.max_retries +1 +--retries$", r"^app +me/1 +--set$", r"^headers\.X-A +1 +--set$",
        r"^api_key +\(not set\) +--api-key-env, not set$",
        r"^provider\.openai\.images +no +--set$",
    ):
        assert re.search(line, result.out, re.M), line
    assert "override" not in result.out


def test_config_shows_values_and_origins(config_file: str) -> None:
    """Each setting, its value and where it came from; the key is masked."""
    result = run("config", "--config", config_file, "--set", "limits.idle_timeout=2m",
                 environ={"STREAMCORE_RETRY_MAX_RETRIES": "4"})
    assert (result.code, result.err) == (0, "")
    for line in (
        r"^model +m +c\.ini:2$", r"^api_key +\*\*\* +c\.ini:4$",
        r"^limits\.idle_timeout +120s +--set$",
        r"^limits\.total_timeout +none +provider openai$",
        r"^retry\.max_retries +4 +environment STREAMCORE_RETRY_MAX_RETRIES$",
        r"^agent\.max_steps +20 +default$",
    ):
        assert re.search(line, result.out, re.M), line
    assert SECRET not in result.out


def test_config_as_json(config_file: str) -> None:
    """One object a line, for programs."""
    rows = [json.loads(line) for line in
            run("config", "--json", environ={"STREAMCORE_CONFIG": config_file}).out.splitlines()]
    assert {"setting": "model", "value": "m", "origin": "c.ini:2"} in rows
    assert SECRET not in json.dumps(rows)


def test_providers_lists_all_and_tells_one() -> None:
    """A line for each; with a name, its models and options; as JSON for programs."""
    listed = run("providers").out
    assert re.search(r"^openai +https://api.openai.com/v1 +OPENAI_API_KEY$", listed, re.M)
    assert re.search(r"^ollama .*no key needed \(OLLAMA_API_KEY\)$", listed, re.M)
    one = run("providers", "deepseek").out
    assert "efforts    off, high, max" in one and "option " in one and "idle_timeout 300" in one
    rows = [json.loads(line) for line in run("providers", "--json").out.splitlines()]
    assert len(rows) == len(listed.splitlines())
    assert rows[0]["key_env"] == ["OPENAI_API_KEY"]


# -- demo ---------------------------------------------------------------------------------


def test_demo_runs_an_agent_and_resumes_its_session() -> None:
    """The tool really reads setup.cfg, and the reopened session sends the conversation."""
    with io.TextIOWrapper(io.BytesIO(), encoding="utf-8") as out:
        assert demo_agent.show_agent(Terminal(None, out, out, {}), 0.0) == []
        shown = out.buffer.getvalue().decode("utf-8")
    assert 'call        read_file {"path": "setup.cfg"}' in shown
    assert re.search(r"resumed     \d+ events, 4 messages", shown)


def test_demo_notices_a_result_that_is_not_the_file() -> None:
    """The demo reports a fault if the model gets another text than the file's."""
    said: Dict[str, Any] = {"role": "user", "content": demo_agent._FIRST}
    wrong = {"messages": [said, {"role": "tool", "content": "else"}]}
    assert len(demo_agent._request_faults([wrong, wrong, wrong], "text\n")) == 2
    assert len(demo_agent._request_faults([wrong], "text\n")) == 1


def test_path_of_modules_is_left_as_it_was() -> None:
    """A run leaves ``sys.path`` as it was."""
    before = list(sys.path)
    assert main(["agent", "--dry-run"], stdout=io.TextIOWrapper(io.BytesIO()), environ={}) == 0
    assert sys.path == before
