# SPDX-License-Identifier: MIT
"""The rooms that a copy may leave out: each is deleted, alone and with all others.

What is left is imported, module by module, streams an answer from a server and parses one; a
name of the room that is gone, and a command that needs it, say how to get it.
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Dict, Iterator, List, Sequence

import pytest
from carried_support import BODY, NAME, NO_REQUESTS, PARSE, STREAM, copied, python, told

from streamcore import _HOMES
from streamcore.values.rooms import OPTIONAL

USED_BY = {
    "session": ["agent", "cli"], "agent": ["cli"], "config": ["cli"], "loopback": ["cli"],
    "cli": [],
}
"""Optional room → those that may import it, and so need not load without it."""
COMMANDS: Dict[str, List[str]] = {
    "session": ["agent", "session", "demo"], "agent": ["agent", "demo"],
    "config": ["chat", "agent", "config", "demo"], "loopback": ["chat", "agent", "demo"],
}
"""Optional room → the commands that need it."""
CUTS = [pytest.param([room], id=room) for room in OPTIONAL]
CUTS += [pytest.param(list(OPTIONAL), id="all")]

IMPORT_ALL = f"""
import importlib, pkgutil
skipped = set(sys.argv[2].split(","))
names = []
def walk(package):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if found.name.split(".")[1] in skipped or found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        names.append(found.name)
        if found.ispkg:
            walk(module)
walk({NAME})
print(json.dumps(names))
"""


class Answer(BaseHTTPRequestHandler):
    """Answers each request with the same short stream."""

    def do_POST(self) -> None:
        """Answer one request."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on stderr."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The base URL of a server on 127.0.0.1 that uses nothing of the package."""
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("rooms", CUTS)
def test_rest_streams_and_loads_without_a_room(
    rooms: Sequence[str], tmp_path: Path, address: str
) -> None:
    """Without the room a client streams an answer, and each module that is left is imported."""
    folder = copied(tmp_path, rooms)
    skipped = ",".join(user for room in rooms for user in USED_BY[room])
    names = told(folder, STREAM + IMPORT_ALL, address, skipped)
    assert f"{NAME}.client.client" in names
    assert not [name for name in names if name.split(".")[1] in rooms]


@pytest.mark.parametrize("rooms", CUTS)
def test_rest_parses_without_a_room_and_without_requests(
    rooms: Sequence[str], tmp_path: Path
) -> None:
    """A captured stream becomes its message where the room is deleted and requests is absent."""
    told(copied(tmp_path, rooms), NO_REQUESTS + PARSE)


@pytest.mark.parametrize("room", [room for room in OPTIONAL if room != "cli"])
def test_name_of_a_room_left_out_says_how_to_get_it(room: str, tmp_path: Path) -> None:
    """Each public name of the room raises an ImportError that names the room and the command."""
    names = [name for name, home in _HOMES.items() if home.partition(".")[0] == room]
    texts = told(
        copied(tmp_path, [room]),
        "texts = []\n"
        "for name in sys.argv[1].split(','):\n"
        f"    try: exec('from {NAME} import ' + name)\n"
        "    except ImportError as error: texts.append(str(error))\n"
        "print(json.dumps(texts))",
        ",".join(names),
    )
    assert len(texts) == len(names) > 0
    for name, text in zip(names, texts):
        assert text.startswith(f"{name} needs the room '{room}'")
        assert f"vendor DEST --with {room}" in text


def test_name_whose_room_lacks_another_names_the_one_that_is_missing(tmp_path: Path) -> None:
    """The agent without the session asks for the session, which is what is missing."""
    text = told(
        copied(tmp_path, ["session"]),
        f"try: {NAME}.Agent\nexcept ImportError as error: print(json.dumps(str(error)))",
    )
    assert text.startswith("Agent needs the room 'session'")


def test_module_that_is_missing_otherwise_stays_its_own_error(tmp_path: Path) -> None:
    """A missing module inside a room is a broken copy, not a room that is left out."""
    folder = copied(tmp_path)
    (folder / NAME / "loopback" / "ops.py").unlink()
    error = told(
        folder,
        f"try: {NAME}.LoopbackServer\n"
        "except ModuleNotFoundError as error: print(json.dumps(str(error)))",
    )
    assert error == f"No module named '{NAME}.loopback.ops'"


@pytest.mark.parametrize("room", COMMANDS)
def test_command_without_its_room_is_not_listed_and_says_why(room: str, tmp_path: Path) -> None:
    """The help lists the commands that work; another one is wrong usage, said in a sentence."""
    folder = copied(tmp_path, [room])
    page = python(folder, "-m", NAME, "--help")
    listed = {line.split()[0] for line in page.stdout.splitlines() if line.startswith("    ")}
    everything = {"chat", "agent", "replay", "config", "providers", "demo", "vendor"}
    assert everything & listed == everything - set(COMMANDS[room])
    for command in COMMANDS[room]:
        done = python(folder, "-m", NAME, command, "x")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{command} needs the room '{room}'" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_copy_without_the_command_line_says_so(tmp_path: Path) -> None:
    """``python -m`` on a copy without commands ends as wrong usage does, in one sentence."""
    done = python(copied(tmp_path, ["cli"]), "-m", NAME, "chat")
    assert done.returncode == 2
    assert done.stderr.startswith("The command line needs the room 'cli'")
    assert len(done.stderr.splitlines()) == 1
