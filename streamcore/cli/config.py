# SPDX-License-Identifier: MIT
"""``config``: every setting, its value, and where the value came from; secrets are masked.

In: a configuration file, the ``STREAMCORE_`` variables, options. Out, on stdout: one line for
each setting, or JSON. Refused with ``Usage``: what the configuration refuses, and a key among
the options, because other users can see options. ``chat`` and ``agent`` share the options.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any, Dict, List, Mapping

from ..config import Config, Explained
from ..config.layers import OVERRIDE
from ..values.errors import LlmError
from ..values.redaction import is_secret_header
from ..values.retry import RetryPolicy
from .exits import PROVEN, Usage
from .terminal import Terminal

CONFIG_OPTIONS: Dict[str, str] = {
    "model": "--model",
    "provider": "--provider",
    "base_url": "--base-url",
    "api_key_env": "--api-key-env",
    "limits.connect_timeout": "--connect-timeout",
    "limits.first_byte_timeout": "--first-byte-timeout",
    "limits.idle_timeout": "--idle-timeout",
    "limits.total_timeout": "--timeout",
    "retry.max_retries": "--retries",
}
"""The options that ``chat``, ``agent`` and ``config`` share, by the name of their setting."""


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "config",
        help="show every setting and where it came from",
        description="Show each setting, its value, and where the value came from: default, file,\n"
        "environment or option. The later of these wins. Keys are never shown.",
    )
    add_config_options(parser)
    parser.add_argument("--json", action="store_true",
                        help="write each setting as one line of JSON")
    parser.add_debug()
    parser.set_defaults(run=run)


def run(args: Namespace, terminal: Terminal) -> int:
    """Show the settings; return the exit code."""
    rows = told_rows(load_config(args, terminal), args)
    if args.json:
        for row in rows:
            terminal.json_line(row._asdict())
        return PROVEN
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for row in rows:
        terminal.line(f"{row.setting:<{widths[0]}}  {row.value:<{widths[1]}}  {row.origin}")
    return PROVEN


def add_config_options(parser: Any) -> None:
    """Add ``--config``, ``--set``, and an option for each of the most usual settings."""
    group = parser.add_argument_group("settings")
    group.add_argument("--config", metavar="FILE",
                       help="a configuration file; default: the file that STREAMCORE_CONFIG names. "
                            "STREAMCORE_ variables win over the file, options win over both")
    group.add_argument("--model", metavar="NAME", help="the model's name at the provider")
    group.add_argument("--provider", metavar="NAME",
                       help="a provider known by name, or a section of the file")
    group.add_argument("--base-url", metavar="URL",
                       help="an address to ask instead of the provider's")
    group.add_argument("--api-key-env", metavar="VARIABLE",
                       help="the environment variable that holds the key; there is no option "
                            "for the key itself")
    group.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                       help="any other setting, such as limits.idle_timeout=2m; may be repeated")
    _add_bounds(parser)


def _add_bounds(parser: Any) -> None:
    group = parser.add_argument_group(
        "how long, how often", "A TIME is 90, 30s, 1500ms or 2m; the word none turns a clock off."
    )
    group.add_argument("--connect-timeout", metavar="TIME",
                       help="longest wait for the connection")
    group.add_argument("--first-byte-timeout", metavar="TIME",
                       help="longest wait from the request to the first byte of the answer")
    group.add_argument("--idle-timeout", metavar="TIME",
                       help="longest time without a byte")
    group.add_argument("--timeout", "--total-timeout", dest="timeout", metavar="TIME",
                       help="longest wait for one answer, all attempts together")
    group.add_argument("--retries", metavar="N",
                       help="more tries after a failed one, if nothing was shown yet; default 2")


def load_config(
    args: Namespace, terminal: Terminal, options: Mapping[str, str] = CONFIG_OPTIONS
) -> Config:
    """Return the configuration, read from the arguments, the environment and the file.

    Args:
        args: the arguments; a given option of ``options`` overrides its setting.
        terminal: holds the environment.
        options: the options by the name of their setting.
    Raises:
        Usage: when the configuration refuses a setting.
    """
    overrides: Dict[str, Any] = {}
    for text in args.set:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Usage("--set takes NAME=VALUE, such as limits.idle_timeout=2m")
        overrides[name.strip()] = value
    for name in overrides:
        _check_public(name, overrides[name])
    for name, option in options.items():
        given = _given(args, option)
        if given is not None:
            overrides[name] = given
    try:
        return Config.load(args.config, terminal.environ, overrides)
    except LlmError as error:
        message = error.failure.message
    for name, option in options.items():
        for words in ("the override ", "override: "):
            message = message.replace(f"{words}{name}: ", f"{option}: ")
    raise Usage(f"INVALID_CONFIG: {message.replace('the override ', '--set ')}")


def retry_policy(config: Config) -> RetryPolicy:
    """Return the retry policy: the configured one, else the profile's, else the default."""
    return config.retry() or config.profile().retry or RetryPolicy()


def told_rows(
    config: Config, args: Namespace, options: Mapping[str, str] = CONFIG_OPTIONS
) -> List[Explained]:
    """Return the rows of a configuration, as a command uses it.

    The origin of an override is the option that gave it.
    """
    given = {name: option for name, option in options.items() if _given(args, option) is not None}
    given["api_key"] = given.get("api_key_env", "--set")
    rows = [
        row._replace(origin=given.get(row.setting, "--set") + row.origin[len(OVERRIDE):])
        if row.origin.startswith(OVERRIDE) else row
        for row in config.explain()
    ]
    if config.retry() is None:
        retries = str(retry_policy(config).max_retries)
        rows = [row._replace(value=retries) if row.setting == "retry.max_retries" else row
                for row in rows]
    return rows


def _given(args: Namespace, option: str) -> Any:
    return getattr(args, option[2:].replace("-", "_"))


def _check_public(name: str, value: str) -> None:
    """Refuse a secret in ``--set``, because other users can see the command line."""
    key = name.rpartition(".")[2]
    names = [line.partition(":")[0] for line in value.split("\n")]
    if key == "api_key" or (key == "headers" and any(map(is_secret_header, names))):
        raise Usage(f"--set {name}: a key on the command line can be seen by other users; name "
                    "its variable with --api-key-env")
