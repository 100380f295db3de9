# SPDX-License-Identifier: MIT
"""``chat``: ask a model, show the answer as it comes.

In: a prompt from the arguments or stdin, and where to ask. Out: the answer's text on stdout,
or its chunks with ``--json``; reasoning, calls and notes on stderr. A key is read from an
environment variable only, never from an argument, where other users could see it.
``--script`` asks a scripted provider of our own on 127.0.0.1 instead of a network.
"""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import ExitStack
from typing import Any, Dict, List, Mapping, Optional

from ..client import DEFAULT_PROVIDER, Client, Stream
from ..errors import LlmError
from ..limits import NOT_GIVEN, Limits
from ..loopback import LoopbackServer, load_script
from ..providers import get_profile
from ..retry import RetryPolicy, RetryRecord
from .arguments import require_requests, seconds
from .exits import FAILED, PROVEN, Usage
from .printing import (
    JsonPrinter, Printer, TextPrinter, note_cut, note_failure, print_events, usage_words,
)
from .terminal import Terminal

_CLOCKS = {
    "connect_timeout": "until the connection stands",
    "first_byte_timeout": "from the request to the first byte of the answer",
    "idle_timeout": "without a byte",
    "total_timeout": "of waiting, all attempts together",
}
_NO_KEY = "none-needed"  # what the scripted provider gets: no real key is looked for


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "chat",
        help="ask a model, show the answer as it comes",
        description="Ask a model. The answer's text goes to stdout as it comes, and ends with a\n"
        "line feed; reasoning, tool calls and everything else go to stderr.",
    )
    parser.add_argument("prompt", nargs="?", metavar="PROMPT",
                        help="what to say; - or nothing reads it from stdin, as UTF-8")
    _add_provider(parser)
    _add_asking(parser)
    _add_bounds(parser)
    parser.add_argument("--json", action="store_true",
                        help="one chunk per line on stdout, as JSON, instead of the text")
    parser.add_argument("--raw", action="store_true",
                        help="show the provider's raw events on stderr, beside the rest")
    parser.add_debug()
    parser.set_defaults(run=run)


def _add_provider(parser: Any) -> None:
    group = parser.add_argument_group("where to ask")
    group.add_argument("--model", help="the model's name at the provider")
    group.add_argument("--provider", metavar="NAME",
                       help="a provider known by name: its address, its key's variable, its bends")
    group.add_argument("--base-url", metavar="URL", help="another address than the provider's")
    group.add_argument("--api-key-env", metavar="VARIABLE",
                       help="the environment variable that holds the key; there is no option "
                            "for the key itself")
    group.add_argument("--script", metavar="FILE",
                       help="ask a scripted provider on 127.0.0.1 that plays this JSON file")


def _add_asking(parser: Any) -> None:
    group = parser.add_argument_group("what to ask for")
    group.add_argument("--system", metavar="TEXT", help="a system prompt")
    group.add_argument("--tools", metavar="FILE",
                       help="a JSON file: a list of OpenAI-style tools; calls are shown, not run")
    group.add_argument("--max-tokens", type=int, metavar="N", help="cap of the output")
    group.add_argument("--temperature", type=float, metavar="T")
    group.add_argument("--reasoning-effort", metavar="WORD", help="as the provider spells it")


def _add_bounds(parser: Any) -> None:
    group = parser.add_argument_group("how long, how often")
    for name, words in _CLOCKS.items():
        options = ["--" + name.replace("_", "-")]
        if name == "total_timeout":
            options.append("--timeout")
        group.add_argument(*options, dest=name, type=seconds, metavar="SECONDS",
                           default=NOT_GIVEN, help=f"{words}; none for no clock")
    group.add_argument("--retries", type=int, default=0, metavar="N",
                       help="tries after a failed first one, before anything was shown; "
                            "default 0")


def run(args: Namespace, terminal: Terminal) -> int:
    """Ask and show the answer; return the exit code."""
    require_requests()
    prompt = _prompt(args.prompt, terminal)
    tools = _read_json(args.tools) if args.tools else ()
    try:
        with ExitStack() as held:
            stream = _ask(args, prompt, tools, terminal, held)
            held.enter_context(stream)
            return _show(stream, args, terminal)
    except LlmError as error:
        terminal.end_text()
        note_failure(terminal, error)
        return FAILED


def _ask(
    args: Namespace, prompt: str, tools: Any, terminal: Terminal, held: ExitStack
) -> Stream:
    """Start the call; what it holds open is closed with ``held``."""
    try:
        client = held.enter_context(_client(args, terminal, held))
        return client.stream(
            prompt,
            system=args.system,
            tools=tools,
            max_tokens=args.max_tokens,
            temperature=args.temperature,
            reasoning_effort=args.reasoning_effort,
            raw=args.raw,
        )
    except (ValueError, TypeError) as error:  # wrong values, checked before any I/O
        raise Usage(str(error)) from error


def _client(args: Namespace, terminal: Terminal, held: ExitStack) -> Client:
    if not args.model and not args.script:
        raise Usage("--model is missing")
    settings: Dict[str, Any] = {"base_url": args.base_url}
    if args.script:
        server = held.enter_context(_server(args.script))
        # a proxy of the environment would be asked for 127.0.0.1 too
        settings = {"base_url": server.base_url, "api_key": _NO_KEY,
                    "proxies": {"no_proxy": "127.0.0.1"}}
    client = Client(
        args.model or "scripted",
        # a profile, not its name: the default provider too is named when it was written out
        provider=get_profile(args.provider) if args.provider else DEFAULT_PROVIDER,
        limits=Limits(**{name: getattr(args, name) for name in _CLOCKS}),
        retry=RetryPolicy(max_retries=args.retries),
        on_retry=lambda record: _note_retry(record, terminal),
        **settings,
    )
    if not args.script:
        _let_look(client, args, terminal.environ)
    return client


def _let_look(client: Client, args: Namespace, environ: Mapping[str, str]) -> None:
    """Let the client look for key and address in the environment, as far as was asked for.

    A provider that is named may be looked up; a variable that is named is the only one
    its key may be in.
    """
    seen = dict(environ) if args.provider else {}
    name = args.api_key_env
    if name is not None:
        if not environ.get(name, "").strip():
            raise LlmError(
                f"the environment variable {name} is not set, or empty",
                "MISSING_CREDENTIAL", phase="prepare",
            )
        seen[name] = environ[name]
        client.adapter.configure(api_key_env=(name,))
    client.adapter.configure(environ=seen)


def _server(path: str) -> LoopbackServer:
    try:
        return LoopbackServer(load_script(path))
    except (OSError, ValueError, RecursionError) as error:
        raise Usage(f"--script {path}: {error}") from error


def _read_json(path: str) -> Any:
    try:
        with open(path, encoding="utf-8-sig") as file:
            tools = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise Usage(f"--tools {path}: {error}") from error
    if not isinstance(tools, list):
        raise Usage(f"--tools {path}: a list of tools is wanted, not {type(tools).__name__}")
    return tools


def _prompt(given: Optional[str], terminal: Terminal) -> str:
    if given is not None and given != "-":
        prompt = given
    else:
        if given is None and terminal.stdin is not None and terminal.stdin.isatty():
            raise Usage("a PROMPT is missing; - reads it from this terminal")
        try:
            prompt = terminal.stdin_bytes().read().decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as bad:
            raise Usage(f"the prompt on stdin is not UTF-8 (byte {bad.start})") from bad
        except OSError as error:
            raise Usage(f"stdin cannot be read: {error}") from error
    if not prompt.strip():
        raise Usage("the prompt is empty")
    return prompt


def _show(stream: Stream, args: Namespace, terminal: Terminal) -> int:
    printer: Printer = JsonPrinter(terminal) if args.json else TextPrinter(terminal)
    shown = 0
    for chunk in stream:
        if args.raw:
            shown = _print_new(stream, shown, terminal)
        printer.push(chunk)
    printer.end()
    note_cut(terminal, stream.message.finish, stream.diagnostics)
    if terminal.watched and not args.json:
        terminal.note(_summary(stream))
    return PROVEN


def _print_new(stream: Stream, shown: int, terminal: Terminal) -> int:
    events: List[Any] = stream.raw or []
    print_events(terminal, enumerate(events[shown:], shown + 1))
    return len(events)


def _summary(stream: Stream) -> str:
    first = stream.time_to_first_token or 0.0
    return (f"[{stream.message.finish}; {usage_words(stream.usage)}; "
            f"first chunk after {first:.1f} s, all in {stream.duration:.1f} s]")


def _note_retry(record: RetryRecord, terminal: Terminal) -> None:
    terminal.note(f"attempt {record.attempt} failed, the next one in {record.delay:.1f} s: "
                  f"{record.failure.code}: {record.failure.message}")
