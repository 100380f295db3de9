# SPDX-License-Identifier: MIT
"""The parser of arguments: argparse that raises and prints nothing itself.

In: the strings of a command line. Out: a namespace. Refused with ``Usage``: what argparse
refuses. ``Shown`` carries a help page or the version. Options are never abbreviated, so that
a new one cannot change what an old command line means.
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any, NoReturn, Optional, Sequence, Union

from .exits import TABLE, Shown, Usage


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


class Parser(argparse.ArgumentParser):
    """An argument parser whose every way out is an exception."""

    def __init__(self, **rest: Any) -> None:
        rest.setdefault("epilog", TABLE)
        super().__init__(
            add_help=False,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **rest,
        )
        self.add_argument("-h", "--help", action=_Show, help="show this page")

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


def require_requests() -> None:
    """Check that requests is there. Raises: ``Usage`` where it is not."""
    if importlib.util.find_spec("requests") is None:
        raise Usage("requests is not installed: pip install requests (replay works without it)")
