# SPDX-License-Identifier: MIT
"""``demo``: what the package does, shown in a few seconds without a key or a network.

In: nothing. Out, on stdout: an answer with tool calls as it arrives from a scripted provider on
127.0.0.1, the message made of it, and the error when the same answer is cut in the middle. Then
``demo_agent`` shows a turn of the agent and resumes its session. The exit code is 0 only if
every result was the expected one.
"""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from typing import Any, Dict, List, Optional

from ..client import Client, Stream
from ..config.values import read_seconds
from ..loopback import LoopbackServer
from ..values.chunks import StreamChunk
from ..values.errors import LlmError
from ..values.messages import AssistantMessage
from .arguments import require_requests
from .demo_agent import show_agent
from .exits import FAILED, PROVEN
from .printing import TextPrinter, call_line, usage_words
from .terminal import Terminal

_PAUSE = 0.04  # seconds: slow enough to watch
_QUESTION = "What is in this folder, and what does the README say?"
_REASONING = "The question has two halves. Neither needs the other, so I ask for both at once."
_TEXT = "I will list the folder and read the README at the same time."
_CALLS = (
    ("call_1", "list_files", '{"folder": ".", "hidden": false}'),
    ("call_2", "read_file", '{"path": "README.md", "limit": 4096}'),
)
_USAGE = {"prompt_tokens": 212, "completion_tokens": 61, "total_tokens": 273,
          "completion_tokens_details": {"reasoning_tokens": 19}}


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "demo",
        help="see it at work: no key, no network, a few seconds",
        description="Show an answer as it arrives from a scripted provider on 127.0.0.1, the\n"
        "message made of it, and the error when the same answer is cut in the middle. Then\n"
        "show an agent that reads a file with a tool, and resume its session file.",
    )
    parser.add_argument("--pause", type=_pause, default=_PAUSE, metavar="TIME",
                        help="time between two pieces of an answer, at most 60s; default 40ms")
    parser.add_debug()
    parser.set_defaults(run=run)


def run(args: Namespace, terminal: Terminal) -> int:
    """Show the demo; return 0 only if every result was the expected one."""
    require_requests()
    shown = terminal.merged()
    whole = _answer(args.pause)
    cut = {**whole, "steps": [*whole["steps"][: _middle(whole["steps"])], {"close": True}]}
    with LoopbackServer([whole, cut]) as server, Client(
        "demo-model",
        base_url=server.base_url,
        proxies={"no_proxy": "127.0.0.1"},  # no proxy of the environment
    ) as client:
        shown.line(f"A scripted provider listens on {server.host_port}: no key, no network.")
        faults = _show_whole(client, shown) + _show_cut(client, shown)
    faults += show_agent(shown, args.pause)
    shown.line()
    for fault in faults:
        shown.line(f"NOT AS EXPECTED: {fault}")
    if not faults:
        shown.line("Every result is as expected.")
    return FAILED if faults else PROVEN


def _pause(text: str) -> float:
    try:
        value = read_seconds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    if not 0 <= value <= 60:
        raise ArgumentTypeError(f"0s to 60s is wanted, not {text}")
    return value


def _answer(pause: float) -> Dict[str, Any]:
    steps: List[Dict[str, Any]] = [{"reasoning": word} for word in _words(_REASONING)]
    steps += [{"text": word} for word in _words(_TEXT)]
    steps += _interleaved()
    steps += [{"finish": "tool_calls"}, {"usage": _USAGE}, {"done": True}]
    return {"every": pause, "steps": steps}


def _words(text: str) -> List[str]:
    first, *rest = text.split(" ")
    return [first, *(" " + word for word in rest)]


def _interleaved() -> List[Dict[str, Any]]:
    """Return the fragments of both calls in turns; the cuts ignore the JSON's structure."""
    steps: List[Dict[str, Any]] = [
        {"tool_call": {"index": n, "id": id, "name": name, "arguments": ""}}
        for n, (id, name, _) in enumerate(_CALLS)
    ]
    for at in range(0, max(len(arguments) for *_, arguments in _CALLS), 13):
        steps += [
            {"tool_call": {"index": n, "arguments": arguments[at:at + 13]}}
            for n, (*_, arguments) in enumerate(_CALLS) if at < len(arguments)
        ]
    return steps


def _middle(steps: List[Dict[str, Any]]) -> int:
    """Return a step at which both calls have begun and neither is whole."""
    first = next(n for n, step in enumerate(steps) if "tool_call" in step)
    return first + 2 * len(_CALLS)


def _show_whole(client: Client, shown: Terminal) -> List[str]:
    shown.line(f"You ask: {_QUESTION}\n")
    shown.line("1. The answer as it arrives. The fragments of two tool calls interleave; an\n"
               "   unfinished call is only text, and must not be run.\n")
    try:
        message = _stream(client.stream(_QUESTION), shown).message
    except LlmError as error:
        shown.end_text()
        return [f"the whole answer failed: {error}"]
    shown.line("\n2. The message. Every call was parsed once, strictly, after [DONE] proved that\n"
               "   the answer is whole.\n")
    shown.line(f"   reasoning   {message.reasoning}")
    shown.line(f"   text        {message.text}")
    for call in message.tool_calls:
        shown.line(f"   call        {call_line(call)}")
    shown.line(f"   usage       {usage_words(message.usage)}")
    shown.line(f"   finish      {message.finish}")
    return _faults(message)


def _faults(message: AssistantMessage) -> List[str]:
    calls = tuple((call.id, call.name, call.arguments) for call in message.tool_calls)
    pairs = {
        "reasoning": (message.reasoning, _REASONING),
        "text": (message.text, _TEXT),
        "calls": (calls, _CALLS),
        "finish": (message.finish, "tool-calls"),
    }
    return [f"the {name} should be {want!r}, not {got!r}"
            for name, (got, want) in pairs.items() if got != want]


def _show_cut(client: Client, shown: Terminal) -> List[str]:
    shown.line("\n3. The same answer, but the connection breaks while the calls form.\n")
    stream = client.stream(_QUESTION)
    error: Optional[LlmError] = None
    try:
        _stream(stream, shown)
    except LlmError as caught:
        error = caught
    shown.end_text()
    if error is None:
        return ["the cut answer was accepted as a whole one"]
    partial = error.partial
    shown.line(f"\n   refused     {error}")
    shown.line(f"   retryable   {'yes' if error.retryable else 'no'}")
    shown.line(f"   to show     text and reasoning so far ({len(partial.text)} and "
               f"{len(partial.reasoning)} characters), and no tool call")
    faults = [] if partial.text == _TEXT else [f"the text so far was {partial.text!r}"]
    if error.code != "STREAM_CLOSED":
        faults.append(f"the code should be STREAM_CLOSED, not {error.code}")
    return faults


def _stream(stream: Stream, shown: Terminal) -> Stream:
    """Show a stream while it comes, and return it at its end."""
    printer = TextPrinter(shown)
    with stream:
        chunk: StreamChunk
        for chunk in stream:
            if chunk.type != "block-end":  # the whole calls are shown with the message
                printer.push(chunk)
    printer.end()
    return stream
