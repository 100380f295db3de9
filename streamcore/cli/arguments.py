# SPDX-License-Identifier: MIT
"""The parser of arguments: argparse that raises and prints nothing itself.

In: the strings of a command line. Out: a namespace. Refused with ``Usage``: what argparse
refuses. ``Shown`` carries a help page or the version. Options are never abbreviated, so that
a new one cannot change what an old command line means.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from typing import Any, NoReturn, Optional, Sequence, Union

from ..values.redaction import is_secret_header
from .exits import TABLE, Shown, Usage

_MOST_BYTES = 16 * 1024 * 1024  # of a file with a script or tools

_KEY_OPTIONS = ("--api-key", "--apikey", "--api_key", "--key")  # what people try
_NO_KEY = ("a key on the command line can be seen by other users; name its variable with "
           "--api-key-env")


class _Show(argparse.Action):
    """An option that shows a text and ends: ``const``, or the help page."""

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
    """An option for a key, which there is not; what was given is not repeated."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Union[str, Sequence[Any], None],
        option_string: Optional[str] = None,
    ) -> None:
        parser.error(f"there is no {option_string}: {_NO_KEY}")


def named(text: str) -> str:
    """Return the name of a file or folder; an empty one is no name, and not "not given"."""
    if not text:
        raise argparse.ArgumentTypeError("a name is wanted, not nothing")
    return text


def _read_bounded(path: str) -> str:
    """Return the text of a file that a person wrote; a device, say, has no end.

    Raises:
        ValueError: for more than 16 MiB, or text that is not UTF-8; OSError for the file.
    """
    with open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError("larger than 16 MiB")
    return data.decode("utf-8-sig")


def read_json(option: str, path: str) -> Any:
    """Return what a JSON file holds; ``Usage`` names the option it was given by."""
    try:
        return json.loads(_read_bounded(path))
    except OSError as error:
        raise Usage(f"{option} {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise Usage(f"{option} {path}: {error}") from error


class Parser(argparse.ArgumentParser):
    """An argument parser whose every way out is an exception.

    The page of a command says where the exit codes are told: on that of the program.
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
        """Return what the commands are added to."""
        self._commands = self.add_subparsers(metavar="COMMAND", title="commands", dest="command")
        return self._commands

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the arguments of the program and of the command among them.

        Raises:
            Usage: for arguments that cannot be, with the usage of the command they were for.
            Shown: for a page.
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
            help="show what is sent and received, secrets masked, and tracebacks, on stderr",
        )

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments. Raises: ``Usage``."""
        raise Usage(f"{message}\n{self.format_usage().strip()}")


def _unrecognized(left: Sequence[str]) -> str:
    """Return the words for arguments nobody takes; the value of an option is not shown."""
    names = [word.partition("=")[0] for word in left if word.startswith("-")]
    hint = f"; {_NO_KEY}" if any(map(is_secret_header, names)) else ""
    return f"unrecognized arguments: {' '.join(names or left)}{hint}"


def require_requests() -> None:
    """Check that requests is there. Raises: ``Usage`` where it is not."""
    if importlib.util.find_spec("requests") is None:
        raise Usage("requests is not installed: pip install requests (replay works without it)")
