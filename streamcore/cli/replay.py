# SPDX-License-Identifier: MIT
"""``replay``: captured streams through the same pipeline, without a network.

In: files that hold an answer's body, or ``-`` for stdin, and the provider of the answers. A file
is checked as strictly as an answer from the network. Out: what ``chat`` would have shown, chunks
with ``--json``, or a report. If a file has no proven message, stderr has the error and the place
in the file.
"""

from __future__ import annotations

from argparse import Namespace
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO, Iterator

from ..client import DEFAULT_PROVIDER
from ..providers import ProviderProfile, get_profile
from ..values.errors import LlmError
from ..values.limits import resolve_limits
from ..wire.dialects import DialectOptions, find_dialect
from ..wire.dialects.options import DONE_MARKERS
from ..wire.pipeline import iter_chunks
from .exits import FAILED, PROVEN, USAGE, Usage
from .printing import (
    JsonPrinter, NoPrinter, Printer, TextPrinter, note_cut, note_failure, print_events,
)
from .report import Outcome, write_report
from .tape import Tape
from .terminal import Terminal


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "replay",
        help="read captured streams through the same pipeline",
        description="Read captured bodies of answers: event streams (.sse) or JSON documents.\n"
        "requests need not be installed.",
        epilog="All files are read. The exit code is 2 if a file cannot be read, else 1 if a\n"
        "file has no proven message, else 0.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file, or - for stdin")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write each chunk as one line of JSON")
    form.add_argument("--report", action="store_true",
                      help="show, instead of the text, counts of events and blocks, calls, usage, "
                           "finish, diagnostics, or the error and its place")
    parser.add_argument("--provider", metavar="NAME", default=DEFAULT_PROVIDER,
                        help="the provider of the answers, a name that the command providers "
                             "lists; its options and limits apply; default %(default)s")
    parser.add_argument("--done-marker", choices=DONE_MARKERS,
                        help="optional: a finish word proves the end too, for answers without "
                             "[DONE]; default: the provider's")
    parser.add_argument("--raw", action="store_true",
                        help="also show the raw events on stderr")
    parser.add_debug()
    parser.set_defaults(run=run)


def run(args: Namespace, terminal: Terminal) -> int:
    """Read every file; return the highest exit code of them."""
    try:
        profile = get_profile(args.provider)
    except ValueError as error:
        raise Usage(f"--provider: {error}") from error
    if args.done_marker:
        options = DialectOptions(done_marker=args.done_marker).over(profile.options)
        profile = replace(profile, options=options)
    return max(_replay(name, profile, args, terminal) for name in args.files)


def _replay(name: str, profile: ProviderProfile, args: Namespace, terminal: Terminal) -> int:
    shown = "stdin" if name == "-" else name
    if len(args.files) > 1 and not args.report:
        terminal.note(f"==> {shown} <==")
    try:
        with _opened(name, terminal) as file:
            outcome = _read(shown, Tape(file), profile, args, terminal)
    except OSError as error:
        terminal.end_text()
        terminal.note(f"{shown}: cannot be read: {error.strerror or error}")
        return USAGE
    if args.report:
        write_report(outcome, terminal)
    elif outcome.error is not None:
        note_failure(terminal, outcome.error, f"{shown}: {outcome.tape.place()}")
    else:
        note_cut(terminal, outcome.message.finish, outcome.diagnostics)
    return PROVEN if outcome.error is None else FAILED


@contextmanager
def _opened(name: str, terminal: Terminal) -> Iterator[BinaryIO]:
    if name == "-":
        yield terminal.stdin_bytes()
        return
    with open(name, "rb") as file:
        yield file


def _read(
    name: str, tape: Tape, profile: ProviderProfile, args: Namespace, terminal: Terminal
) -> Outcome:
    printer: Printer = NoPrinter()
    if not args.report:
        printer = JsonPrinter(terminal) if args.json else TextPrinter(terminal)
    outcome = Outcome(name, tape)
    limits = resolve_limits(profile.limits)
    dialect = find_dialect(profile.dialect)
    decoder = dialect.make_decoder(
        profile.options.resolved(), limits, outcome.diagnostics, None
    )
    try:
        for chunk in iter_chunks(tape, dialect, decoder, limits, raw_events=tape.raw):
            _print_events(tape, args, terminal)
            outcome.push(chunk)
            printer.push(chunk)
    except LlmError as error:
        outcome.error = error
    _print_events(tape, args, terminal)
    printer.end()
    return outcome


def _print_events(tape: Tape, args: Namespace, terminal: Terminal) -> None:
    events = tape.take()  # always taken, so that they do not fill the memory
    if args.raw:
        print_events(terminal, events)
