# SPDX-License-Identifier: MIT
"""Print how many code lines the package has, and how many of them are loaded.

    python3 scripts/size.py                         each room, the total, and the loaded lines
    python3 scripts/size.py --without agent,cli     without these optional rooms
    python3 scripts/size.py --with agent            with only these optional rooms

A code line is a line that is not blank, a comment or part of a docstring. The loaded lines are
counted in a separate process, after one success and one failure: of ``parse_stream`` and
``assemble``, and of ``Client(provider="openai")`` against a server in another process. Without
requests, the number of the client is left out.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import subprocess
import sys
import tokenize
from argparse import ArgumentParser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Dict, Iterator, List, Set, Tuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "streamcore"

sys.path.insert(0, str(ROOT))

from streamcore.values.rooms import OPTIONAL, REQUIRED  # noqa: E402

GOOD = ('data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":'
        '{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}\n\n'
        "data: [DONE]\n\n").encode()
BAD = b'data: {"error":{"message":"the model is overloaded","code":"overloaded"}}\n\n'

SHOW = ("\nprint(json.dumps([m.__file__ for n, m in sys.modules.items()"
        " if n.split('.')[0] == 'streamcore']))\n")
PARSING = f"""
import json, sys
sys.path.insert(0, {str(ROOT)!r})
from streamcore import LlmError, assemble, parse_stream
assert assemble(parse_stream([{GOOD!r}])).tool_calls
try:
    assemble(parse_stream([{BAD!r}]))
except LlmError as error:
    assert error.code == "SERVER", error
""" + SHOW
CLIENT = f"""
import json, sys
sys.path.insert(0, {str(ROOT)!r})
from streamcore import Client, LlmError
with Client("gpt-5", provider="openai", api_key="sk-size", base_url=sys.argv[1],
            proxies={{"no_proxy": "127.0.0.1"}}) as client:
    assert client.complete("hi").tool_calls
    try:
        client.complete("hi again")
    except LlmError as error:
        assert error.code == "SERVER", error
""" + SHOW


def code_lines(source: str) -> int:
    """Return the number of code lines of a source."""
    said = {line for node in ast.walk(ast.parse(source)) if is_docstring(node)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
               tokenize.DEDENT, tokenize.ENDMARKER)
    lines: Set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - said)


def is_docstring(node: ast.AST) -> bool:
    """Return whether a node is a bare string, such as a docstring."""
    value = getattr(node, "value", None)
    return isinstance(node, ast.Expr) and isinstance(getattr(value, "value", None), str)


def sizes(package: Path = PACKAGE) -> Dict[str, int]:
    """Return the code lines of each file, by its path in the package."""
    return {path.relative_to(package).as_posix(): code_lines(path.read_text(encoding="utf-8"))
            for path in sorted(package.rglob("*.py"))}


def by_room(files: Dict[str, int]) -> Dict[str, int]:
    """Return the code lines of each room; the key "" has those of the top files."""
    rooms: Dict[str, int] = {}
    for path, lines in files.items():
        room = path.partition("/")[0] if "/" in path else ""
        rooms[room] = rooms.get(room, 0) + lines
    return rooms


def loaded(code: str, *args: str) -> Dict[str, int]:
    """Run ``code`` in a separate process; return the code lines of each file it loads."""
    done = subprocess.run([sys.executable, "-c", code, *args], stdout=subprocess.PIPE,
                          check=True, timeout=60)
    paths = [Path(name).resolve().relative_to(PACKAGE).as_posix()
             for name in json.loads(done.stdout)]
    files = sizes()
    return {path: files[path] for path in paths}


class Provider(BaseHTTPRequestHandler):
    """Answers the first request with a good stream, and later requests with an error."""

    asked = 0

    def do_POST(self) -> None:
        """Answer one request."""
        self.rfile.read(int(self.headers["Content-Length"]))
        Provider.asked += 1
        status, kind, body = (
            (200, "text/event-stream", GOOD) if Provider.asked == 1
            else (503, "application/json", b'{"error":{"message":"overloaded"}}')
        )
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on stderr."""


def loaded_by_client() -> Dict[str, int]:
    """Return what a client loads in another process; its server runs in this process."""
    Provider.asked = 0
    with HTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            return loaded(CLIENT, f"http://127.0.0.1:{server.server_port}/v1")
        finally:
            server.shutdown()
            thread.join()


def loads() -> Iterator[Tuple[str, Dict[str, int]]]:
    """Yield the name of each way of use, and the files it loads with their code lines."""
    yield "parse_stream and assemble", loaded(PARSING)
    if importlib.util.find_spec("requests") is not None:
        yield 'Client(provider="openai")', loaded_by_client()


def chosen(only: str, without: str) -> List[str]:
    """Return the optional rooms to count. Raises: ``SystemExit`` for an unknown room."""
    named = {name: [word for word in text.split(",") if word]
             for name, text in (("--with", only), ("--without", without))}
    for option, words in named.items():
        for word in words:
            if word not in OPTIONAL:
                sys.exit(f"{option} {word}: the rooms are {', '.join(OPTIONAL)}")
    kept = named["--with"] or list(OPTIONAL)
    return [room for room in kept if room not in named["--without"]]


def main(args: List[str]) -> int:
    """Print the numbers; return the exit status."""
    parser = ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--with", dest="only", default="", metavar="ROOMS")
    parser.add_argument("--without", default="", metavar="ROOMS")
    parser.add_argument("--files", action="store_true", help="also print each loaded file")
    given = parser.parse_args(args)
    rooms = by_room(sizes())
    kept = ["", *REQUIRED, *chosen(given.only, given.without)]
    print("code lines")
    for room in kept:
        print(f"{rooms.get(room, 0):8,}  {room or '(top)'}")
    print(f"{sum(rooms.get(room, 0) for room in kept):8,}  together")
    for name, files in loads():
        print(f"{sum(files.values()):8,}  loaded by {name}")
        lines = sorted(files.items(), key=lambda one: -one[1]) if given.files else []
        for path, count in lines or sorted(by_room(files).items(), key=lambda one: -one[1]):
            print(f"{count:16,}  {path or '(top)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
