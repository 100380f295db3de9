# SPDX-License-Identifier: MIT
"""Tools in processes of their own: what they return, and that no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List

import isolated_tools
import pytest
from agent_support import calls, is_alive, says, scene, statuses

from streamcore.agent.isolation import (
    ToolCancelled, ToolCrashed, ToolTimeout, run_isolated,
)
from streamcore.agent.processes import kill_tree
from streamcore.agent.tools import Tool, ToolError, tool

linux = sys.platform.startswith("linux")
posix = pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
PATIENCE = 10.0  # seconds for what is to happen soon on a busy machine


def ids_in(path: Path) -> List[int]:
    """Wait for a file of process ids, and return them."""
    wait_for(path.exists)
    return [int(word) for word in path.read_text(encoding="ascii").split()]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def check_gone(path: Path) -> None:
    """Check that all processes of the file are gone, where the system can tell."""
    for pid in ids_in(path):
        if linux or pid != ids_in(path)[-1]:  # the last one has left the session on purpose
            wait_for(lambda: not is_alive(pid))
        else:
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def later() -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Call a function in another thread, later."""
    threads: List[threading.Thread] = []

    def start(action: Callable[[], Any]) -> None:
        threads.append(threading.Thread(target=action))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


def test_isolated_tool_gets_its_arguments_and_returns_text() -> None:
    """In another process, hints are applied and the call id arrives."""
    words = run_isolated(isolated_tools.locate, {"point": {"x": 1}}, call_id="c7").split()
    assert words[:4] == ["Point", "1", "0", "c7"] and int(words[4]) != os.getpid()


@pytest.mark.parametrize("made", [
    Tool("p", "", {}, isolated_tools.plain, isolate=True),
    tool(isolate=True, name="q")(isolated_tools.add),
])
def test_plain_function_serves(made: Tool) -> None:
    """A tool made from another module's function runs under the function's own name."""
    assert run_isolated(made, {"a": 1}) in ('{"a": 1}', "2")


@pytest.mark.parametrize("how, error, words", [
    ("tool-error", ToolError, "try something else"),
    ("value-error", ToolCrashed, "ValueError: a bug"),
    ("exit", ToolCrashed, "SystemExit: 3"),
    ("die", ToolCrashed, "died without an answer"),
])
def test_failure_comes_back(how: str, error: Any, words: str) -> None:
    """A ToolError stays a ToolError; any other exception is a crash that names it."""
    with pytest.raises(error, match=words):
        run_isolated(isolated_tools.fail, {"how": how})


@pytest.mark.parametrize("how, text", [
    ("none", "(no output)"), ("print", "returned"), ("stdin", "''"),
    ("thread", "a thread stays"),
])
def test_odd_success_comes_back(how: str, text: str) -> None:
    """Output is not a result, input is empty, and a thread does not delay the answer."""
    assert run_isolated(isolated_tools.fail, {"how": how}) == text


def test_isolated_output_is_capped() -> None:
    """The output is cut in the tool's process."""
    shown = run_isolated(isolated_tools.fail, {"how": "big"}, max_bytes=1000)
    assert len(shown.encode("utf-8")) <= 1000 and "bytes left out]" in shown


@posix
def test_timeout_kills_the_tool_and_its_children(tmp_path: Path) -> None:
    """At its timeout the process and everything it started are killed."""
    path = tmp_path / "ids"
    began = time.monotonic()
    with pytest.raises(ToolTimeout, match="timeout of 1.5 s"):
        run_isolated(isolated_tools.hang_briefly, {"pid_file": str(path)})
    assert 1.4 < time.monotonic() - began < PATIENCE
    check_gone(path)


@posix
def test_cancel_kills_the_tool_and_its_children(
    tmp_path: Path, later: Callable[[Callable[[], Any]], None]
) -> None:
    """The caller's event ends the process and its children at once."""
    path, event = tmp_path / "ids", threading.Event()

    def cancel() -> None:
        wait_for(path.exists)
        event.set()

    later(cancel)
    with pytest.raises(ToolCancelled):
        run_isolated(isolated_tools.hang, {"pid_file": str(path)}, cancel=event)
    check_gone(path)


@posix
def test_children_left_behind_die_with_a_tool_that_returns(tmp_path: Path) -> None:
    """A process that a tool leaves running is killed when the call ends."""
    path = tmp_path / "ids"
    assert run_isolated(isolated_tools.leave, {"pid_file": str(path)}) == "left a child"
    wait_for(lambda: not is_alive(ids_in(path)[0]))


@posix
def test_exception_in_the_caller_kills_the_tool_too(
    tmp_path: Path, later: Callable[[Callable[[], Any]], None]
) -> None:
    """Ctrl-C while a tool runs leaves no process behind."""
    path = tmp_path / "ids"

    def interrupt() -> None:
        wait_for(path.exists)
        os.kill(os.getpid(), signal.SIGINT)

    later(interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_isolated(isolated_tools.hang, {"pid_file": str(path)})
    check_gone(path)


@posix
def test_agent_stops_as_polluted_at_a_timeout(tmp_path: Path) -> None:
    """A timeout stops the loop, later calls are not executed, and the agent can go on."""
    arguments = f'{{"pid_file": "{tmp_path / "ids"}"}}'
    answer = calls(("hang_briefly", arguments), ("add", '{"a": 1}'))
    tools = [isolated_tools.hang_briefly, isolated_tools.add]
    with scene([answer, says("on")], tools) as at:
        result = at.run()
        assert result.reason == "tool-failure"
        assert statuses(result.tool_calls) == ["timeout", "not-executed"]
        assert result.failure is not None and "timeout of 1.5 s" in result.failure.message
        assert result.failure.message.count("effects are unknown") == 1
        assert at.run().text == "on"


@posix
def test_agent_cancels_an_isolated_tool(
    tmp_path: Path, later: Callable[[Callable[[], Any]], None]
) -> None:
    """Cancel kills the running tool, and each call has its one result."""
    path, event = tmp_path / "ids", threading.Event()

    def cancel() -> None:
        wait_for(path.exists)
        event.set()

    answer = calls(("hang", f'{{"pid_file": "{path}"}}'), ("add", '{"a": 1}'))
    tools = [isolated_tools.hang, isolated_tools.add]
    with scene([answer, says("on")], tools, cancel=event) as at:
        later(cancel)
        result = at.run()
        assert result.reason == "cancelled"
        assert [o.content for o in result.tool_calls] == [
            "error: cancelled while it ran; its effects are unknown",
            "error: cancelled before it ran",
        ]
        check_gone(path)
        event.clear()
        assert at.run().text == "on"


def test_agent_runs_isolated_tools() -> None:
    """Success, an argument error and a crash look the same as without isolation."""
    answer = calls(
        ("locate", '{"point": {"x": 1}}'), ("locate", '{"point": {}}'),
        ("fail", '{"how": "tool-error"}'), ("fail", '{"how": "value-error"}'),
    )
    with scene([answer], [isolated_tools.locate, isolated_tools.fail]) as at:
        result = at.run()
        assert statuses(result.tool_calls) == ["ok", "invalid-arguments", "error", "failed"]
        assert result.reason == "tool-failure"


@pytest.mark.parametrize("name, value", [
    ("frozen", True), ("executable", ""), ("executable", None),
])
def test_isolated_tool_is_refused_where_there_is_no_python(
    monkeypatch: pytest.MonkeyPatch, name: str, value: Any
) -> None:
    """A bundled program is refused when the tool is made, not when the model calls it."""
    monkeypatch.setattr(sys, name, value, raising=False)
    with pytest.raises(ValueError, match="isolate needs a Python interpreter"):
        Tool("p", "", {}, isolated_tools.plain, isolate=True)
    with pytest.raises(ValueError, match="isolate needs a Python interpreter"):
        tool(isolate=True)(isolated_tools.add)
    assert tool(isolated_tools.add).isolate is False


@pytest.mark.parametrize("how", ["interpreter", "folder", "module"])
def test_tool_that_did_not_run_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    """The result does not speak of effects, and dependent changes do not run."""
    if how == "interpreter":
        monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    elif how == "folder":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    else:
        monkeypatch.setattr(isolated_tools.change.run, "__module__", "gone_module")
    answer = calls(("change", "{}"), ("change", "{}"))
    with scene([answer, says("on")], [isolated_tools.change], allow_mutating=True,
               on_tool_error="report") as at:
        first, second = at.run().tool_calls
        assert first.status == "failed" and first.content.endswith("; the tool did not run")
        assert "unknown" not in first.content
        assert second.content == "error: not run: an earlier call failed"
    with scene([answer], [isolated_tools.change], allow_mutating=True) as at:
        result = at.run()
        assert result.reason == "tool-failure" and result.failure is not None
        assert result.failure.message.endswith("; the tool did not run")


@pytest.mark.skipif(not linux, reason="only Linux lets a process adopt what lost its parent")
def test_child_in_a_session_of_its_own_dies_with_a_tool_that_returns(tmp_path: Path) -> None:
    """A process that left the group and lost its parent is killed too."""
    assert run_isolated(isolated_tools.leave_far, {"pid_file": str(tmp_path / "pids")}) == "left"
    check_gone(tmp_path / "pids")


@posix
def test_second_interrupt_does_not_stop_the_killing(tmp_path: Path) -> None:
    """A second Ctrl-C while a tool is being killed is raised after the killing."""
    process = subprocess.Popen(isolated_tools.SLEEPER, start_new_session=True)
    came: List[int] = []

    class Slow:
        """A process that Ctrl-C interrupts the first times it is waited for."""

        pid, returncode = process.pid, None

        def poll(self) -> Any:
            return process.poll()

        def wait(self) -> int:
            if len(came) < 3:
                came.append(1)
                raise KeyboardInterrupt(len(came))
            return process.wait()

    with pytest.raises(KeyboardInterrupt) as caught:
        kill_tree(Slow())  # type: ignore[arg-type]
    assert caught.value.args == (1,) and len(came) == 3
    assert process.returncode == -signal.SIGKILL


PARENT = """
import sys
import isolated_tools
from streamcore.agent.isolation import run_isolated
run_isolated(isolated_tools.hang_alone, {"pid_file": sys.argv[1]})
"""


@pytest.mark.skipif(not linux, reason="only Linux tells a process of its parent's death")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_tool_dies_with_the_process_that_started_it(tmp_path: Path, how: int) -> None:
    """When the caller's process dies, the system kills the tool."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    command = [sys.executable, "-c", PARENT, str(tmp_path / "pids")]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}) as parent:
        pids = ids_in(tmp_path / "pids")
        parent.send_signal(how)
        parent.wait(30)
    wait_for(lambda: not any(map(is_alive, pids)))


@posix
def test_process_ends_itself_a_little_after_its_timeout(tmp_path: Path) -> None:
    """The tool's process ends itself even if its parent is dead."""
    code = "import sys, time; from streamcore.agent import child; " \
           "child._LATE = 0.1; child._end_at(0.1); time.sleep(60)"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path},
        start_new_session=True, timeout=30,
    )
    assert done.returncode == -signal.SIGKILL
