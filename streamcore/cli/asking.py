# SPDX-License-Identifier: MIT
"""What ``chat`` and ``agent`` share: the prompt, the options of a request, and the client.

In: arguments, and the configuration made of them. Out: a prompt, a call's settings, a client of
the provider or, with ``--script``, of a scripted provider on 127.0.0.1. Refused with ``Usage``:
no prompt, no model, wrong values. A key comes from the configuration, never from an argument,
because other users can see arguments.
"""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, Optional

from ..client import DEFAULT_PROVIDER, Client
from ..config import Config
from ..loopback import LoopbackServer, Script
from ..values.retry import RetryRecord
from .arguments import named, read_json
from .config import retry_policy
from .exits import Usage
from .terminal import Terminal

_NO_KEY = "none-needed"  # for the scripted provider, so that no real key is looked up


def add_prompt(parser: Any) -> None:
    """Add the prompt, and ``--script``, a script that is played instead of a provider."""
    parser.add_argument("prompt", nargs="?", metavar="PROMPT",
                        help="what to ask; without it, or with -, it is read from stdin as UTF-8")
    parser.add_argument("--script", metavar="FILE", type=named,
                        help="ask a scripted provider on 127.0.0.1, which plays this JSON file")


def add_asking(parser: Any, system: str) -> Any:
    """Add the options of a request; return their group. ``system`` is the help of ``--system``."""
    group = parser.add_argument_group("what to ask for")
    group.add_argument("--system", metavar="TEXT", help=system)
    group.add_argument("--max-tokens", type=int, metavar="N", help="most tokens of one answer")
    group.add_argument("--temperature", type=float, metavar="T",
                       help="how freely words are chosen, 0 or more; default: the provider's")
    group.add_argument("--reasoning-effort", metavar="WORD",
                       help="how much the model reasons, as the provider spells it: low, say")
    return group


def asked_for(args: Namespace) -> Dict[str, Any]:
    """Return what ``add_asking`` read, by the argument names of a call, without ``system``."""
    return {name: getattr(args, name)
            for name in ("max_tokens", "temperature", "reasoning_effort")}


def read_prompt(given: Optional[str], terminal: Terminal) -> str:
    """Return the prompt: the argument, or all of stdin without its last line end.

    Raises:
        Usage: when there is no prompt, or stdin is not UTF-8 or cannot be read.
    """
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


def make_client(
    args: Namespace, config: Config, held: ExitStack,
    on_retry: Optional[Callable[[RetryRecord], None]],
) -> Client:
    """Return a client with these settings; ``held`` closes it and the scripted provider.

    Raises:
        Usage: when no model is named, a script cannot be read, or values contradict each other.
        LlmError: when the client refuses the settings before any I/O.
    """
    settings: Dict[str, Any] = {"on_retry": on_retry, "retry": retry_policy(config)}
    if args.script:
        server = held.enter_context(_server(args.script))
        # without it, a proxy named in the environment would get the requests for 127.0.0.1
        settings.update(model=config.model or "scripted", base_url=server.base_url,
                        api_key=_NO_KEY, proxies={"no_proxy": "127.0.0.1"})
    else:
        _check_whole(config)
    with wrong_values_are_usage():
        return held.enter_context(config.client(**settings))


def _check_whole(config: Config) -> None:
    missing = []
    if config.model is None:
        missing.append(f"no model is named for {config.provider}: --model is missing, and so are "
                       "STREAMCORE_MODEL and model in a configuration file")
    if config.base_url is None:
        named = config.provider != DEFAULT_PROVIDER
        missing.append(f"{config.provider} has no address of its own: --base-url URL is missing"
                       if named else "nothing says whom to ask: --provider NAME is missing (the "
                       "command providers lists the names), or --base-url URL")
    if missing:
        raise Usage("; ".join(missing))


@contextmanager
def wrong_values_are_usage() -> Iterator[None]:
    """Turn a ``ValueError`` or ``TypeError``, raised before any I/O, into ``Usage``."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise Usage(str(error)) from error


def _server(path: str) -> LoopbackServer:
    script = read_json("--script", path)
    try:
        return LoopbackServer(Script.parse(script))
    except (ValueError, RecursionError) as error:
        raise Usage(f"--script {path}: {error}") from error
