# SPDX-License-Identifier: MIT
"""``chat``: ask a model, show the answer as it comes.

In: a prompt from the arguments or stdin; settings from a file, the environment and the options
(``config`` shows them). Out: the answer's text on stdout, or its chunks with ``--json``;
reasoning, calls and notes on stderr. A paused answer is sent back, so that the provider goes on.
Refused with ``Usage``: wrong settings, a ``--tools`` file that holds no list of tools.
"""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack
from typing import Any, List, Sequence

from ..client import Client, Stream
from ..values.agent_limits import MAX_PAUSES, PAUSED_TOO_OFTEN
from ..values.errors import LlmError
from ..values.messages import Message, TextBlock
from .arguments import named, read_json, require_requests
from .asking import (
    add_asking, add_prompt, asked_for, make_client, read_prompt, wrong_values_are_usage,
)
from .config import add_config_options, load_config
from .exits import FAILED, PROVEN, Usage
from .printing import (
    JsonPrinter, Printer, TextPrinter, note_cut, note_failure, note_retry, print_events,
    usage_words,
)
from .terminal import Terminal


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "chat",
        help="ask a model, show the answer as it comes",
        description="Ask a model. The answer's text goes to stdout as it comes, and ends with a\n"
        "line feed. Reasoning, tool calls and notes go to stderr.",
    )
    add_prompt(parser)
    parser.add_argument("--json", action="store_true",
                        help="instead of the text, write each chunk to stdout as one line of JSON")
    parser.add_argument("--raw", action="store_true",
                        help="also show the provider's raw events on stderr")
    add_config_options(parser)
    group = add_asking(parser, "a system prompt")
    group.add_argument("--tools", metavar="FILE", type=named,
                       help="a JSON file, a list of OpenAI-style tools; calls are shown, not run")
    parser.add_debug()
    parser.set_defaults(run=run)


def run(args: Namespace, terminal: Terminal) -> int:
    """Ask and show the answer; return the exit code."""
    config = load_config(args, terminal)
    require_requests()
    prompt = read_prompt(args.prompt, terminal)
    tools = _read_tools(args.tools) if args.tools else ()
    try:
        with ExitStack() as held:
            client = make_client(args, config, held, lambda record: note_retry(terminal, record))
            converse(client, args, prompt, tools, terminal)
            return PROVEN
    except LlmError as error:
        terminal.end_text()
        note_failure(terminal, error, provider=config.provider)
        return FAILED


def converse(
    client: Client, args: Namespace, prompt: str, tools: Any, terminal: Terminal
) -> None:
    """Ask and show the answer; send a paused answer back, at most 6 times in a row.

    Raises:
        Usage: when the client refuses the values of the request.
        LlmError: when the answer failed; ``AGENT_LIMIT`` for the 7th paused answer in a row.
    """
    messages = [Message("user", (TextBlock(prompt),))]
    for _ in range(1 + MAX_PAUSES):
        with _ask(client, args, messages, tools) as stream:
            _show(stream, args, terminal)
        if stream.finish != "paused":
            return
        messages.append(stream.message)
    raise LlmError.from_failure(PAUSED_TOO_OFTEN)


def _ask(client: Client, args: Namespace, messages: Sequence[Message], tools: Any) -> Stream:
    with wrong_values_are_usage():
        return client.stream(
            messages, system=args.system, tools=tools, raw=args.raw, **asked_for(args)
        )


def _read_tools(path: str) -> Any:
    tools = read_json("--tools", path)
    if not isinstance(tools, list):
        raise Usage(f"--tools {path}: a list of tools is wanted, not {type(tools).__name__}")
    return tools


def _show(stream: Stream, args: Namespace, terminal: Terminal) -> None:
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


def _print_new(stream: Stream, shown: int, terminal: Terminal) -> int:
    events: List[Any] = stream.raw or []
    print_events(terminal, enumerate(events[shown:], shown + 1))
    return len(events)


def _summary(stream: Stream) -> str:
    first = stream.time_to_first_token or 0.0
    return (f"[{stream.message.finish}; {usage_words(stream.usage)}; "
            f"first chunk after {first:.1f} s, all in {stream.duration:.1f} s]")
