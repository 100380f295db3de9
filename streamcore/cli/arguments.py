# SPDX-License-Identifier: MIT
"""The parser of arguments: an argparse that raises where argparse would print and exit.

In: the strings of a command line. Out: a namespace. Refused with ``Usage``: what argparse
refuses. ``Shown`` carries a help page or the version. Options cannot be abbreviated, so that
a new option never changes what an old command line means.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from typing import Any, NoReturn, Optional, Sequence, Union

from ..values.redaction import is_secret_header
from .exits import TABLE, Shown, Usage

_MOST_BYTES = 16 * 1024 * 1024  # largest file with a script or tools

_KEY_OPTIONS = ("--api-key", "--apikey", "--api_key", "--key")  # what people try
_NO_KEY = ("a key on the command line can be seen by other users; name its variable with "
           "--api-key-env")


class _Show(argparse.Action):
    """An option that raises ``Shown`` with ``const``, or with the help page."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **rest)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Union[str, Sequence[Any], None],
        option_string: Optional[str] = None,
    ) -> None:
        raise Shown(self.const or parser.format_help())


class _NoKey(argparse.Action):
    """Refuses an option for a key. The error does not repeat the value, which may be a key."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Union[str, Sequence[Any], None],
        option_string: Optional[str] = None,
    ) -> None:
        parser.error(f"there is no {option_string}: {_NO_KEY}")


def named(text: str) -> str:
    """Return the name of a file or folder; refuse the empty name."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def _read_bounded(path: str) -> str:
    """Return the text of a file of at most 16 MiB; a device may have no end.

    Raises:
        ValueError: for more than 16 MiB, or text that is not UTF-8.
        OSError: when the file cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError("larger than 16 MiB")
    return data.decode("utf-8-sig")


def read_json(option: str, path: str) -> Any:
    """Return what a JSON file holds. Raises: ``Usage``, which names ``option`` and the file."""
    try:
        return json.loads(_read_bounded(path))
    except OSError as error:
        raise Usage(f"{option} {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise Usage(f"{option} {path}: {error}") from error


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of leaving the process.

    The help page of the program lists the exit codes; the pages of the commands point to it.
    """

    def __init__(self, **rest: Any) -> None:
        super().__init__(
            add_help=False,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **rest,
        )
        program, _, command = self.prog.rpartition(" ")
        if TABLE not in (self.epilog or ""):
            pointer = f"exit codes: {program} --help"
            self.epilog = f"{self.epilog}\n\n{pointer}" if self.epilog else pointer
        self.add_argument("-h", "--help", action=_Show, help="show this page")
        self.add_argument(*_KEY_OPTIONS, nargs="?", action=_NoKey, help=argparse.SUPPRESS)

    def add_commands(self) -> Any:
        """Return the object that each command's ``add_parser`` takes."""
        self._commands = self.add_subparsers(metavar="COMMAND", title="commands", dest="command")
        return self._commands

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the arguments of the program and of the command among them.

        Raises:
            Usage: for wrong arguments, with the usage line of their command.
            Shown: for ``--help`` and ``--version``.
        """
        args, left = self.parse_known_args(argv)
        if args.command is None:
            self.error(f"a command is missing: {', '.join(self._commands.choices)}")
        if left:
            self._commands.choices[args.command].error(_unrecognized(left))
        return args

    def add_version(self, version: str) -> None:
        """Add ``--version``, which shows ``version``."""
        self.add_argument("--version", action=_Show, const=version, help="show the version")

    def add_debug(self) -> None:
        """Add ``--debug`` and its short form."""
        self.add_argument(
            "-v", "--debug", action="store_true",
            help="on stderr, show tracebacks, and what is sent and received with secrets masked",
        )

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments. Raises: ``Usage``."""
        raise Usage(f"{message}\n{self.format_usage().strip()}")


def _unrecognized(left: Sequence[str]) -> str:
    """Return the message for unknown arguments, without the values of options."""
    names = [word.partition("=")[0] for word in left if word.startswith("-")]
    hint = f"; {_NO_KEY}" if any(map(is_secret_header, names)) else ""
    return f"unrecognized arguments: {' '.join(names or left)}{hint}"


def require_requests() -> None:
    """Check that requests is installed. Raises: ``Usage`` if it is not."""
    if importlib.util.find_spec("requests") is None:
        raise Usage("requests is not installed: pip install requests (replay works without it)")
