# SPDX-License-Identifier: MIT
"""``providers``: the providers known by name.

In: nothing, or names. Out, on stdout: one line for each provider. With names: address,
variables, limits, models, options and their reasons. With ``--json``: JSON. Refused with
``Usage``: an unknown name; the error has similar names.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields
from typing import Any, Dict, Iterator, List, Tuple

from ..providers import ModelInfo, ProviderProfile, get_profile, list_profiles
from ..values.frozen import thaw
from ..values.limits import NOT_GIVEN, Limits
from ..wire.dialects import find_dialect
from .exits import PROVEN, Usage
from .terminal import Terminal


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "providers",
        help="list the providers known by name",
        description="List the providers known by name, with their address and the variable of\n"
        "the key. With names, show everything that is known about these providers.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a provider")
    parser.add_argument("--json", action="store_true",
                        help="write each provider as one line of JSON")
    parser.add_debug()
    parser.set_defaults(run=run)


def run(args: Namespace, terminal: Terminal) -> int:
    """Show the providers; return the exit code."""
    try:
        profiles = [get_profile(name) for name in args.names] or list(list_profiles())
    except ValueError as error:
        raise Usage(str(error)) from error
    if args.json:
        for profile in profiles:
            terminal.json_line(_as_dict(profile))
    elif args.names:
        for profile in profiles:
            terminal.line(profile.name)
            for word, text in _details(profile):
                terminal.line(f"  {word:<10} {text}")
    else:
        _write_table(profiles, terminal)
    return PROVEN


def _write_table(profiles: List[ProviderProfile], terminal: Terminal) -> None:
    rows = [(one.name, one.base_url or "(your own address)", _key(one)) for one in profiles]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, address, key in rows:
        terminal.line(f"{name:<{widths[0]}}  {address:<{widths[1]}}  {key}")


def _key(profile: ProviderProfile) -> str:
    names = " or ".join(profile.key_env)
    return names if profile.key_required else f"no key needed ({names})"


def _details(profile: ProviderProfile) -> Iterator[Tuple[str, str]]:
    variable = f" ({profile.base_url_env})" if profile.base_url_env else ""
    yield "address", f"{profile.base_url or 'yours'}{variable}"
    yield "key", f"{_key(profile)}, sent in {profile.key_header}"
    yield "limits", _limits(profile) or "the usual ones"
    if profile.efforts is None:
        yield "efforts", "any word, passed through"
    else:
        yield "efforts", ", ".join(profile.efforts) or "none taken"
    options = profile.options.resolved()
    yield "done", f"{find_dialect(profile.dialect).end_marker} is {options.done_marker}"
    for model in profile.models:
        yield "model", _model(model)
    for note in profile.notes:
        yield "option", f"{note.text}: {note.reason} ({note.source})"


def _limits(profile: ProviderProfile) -> str:
    given = {name: value for name, value in _given_limits(profile.limits).items()}
    return ", ".join(f"{name} {'none' if value is None else f'{value:g}'}"
                     for name, value in given.items())


def _given_limits(limits: Limits) -> Dict[str, Any]:
    values = {field.name: getattr(limits, field.name) for field in fields(limits)}
    return {name: value for name, value in values.items() if value is not NOT_GIVEN}


def _model(model: ModelInfo) -> str:
    window = f", {model.context_window} tokens" if model.context_window else ""
    efforts = f", efforts {', '.join(model.efforts) or 'none'}" if model.efforts is not None else ""
    return f"{model.name}{window}{efforts}"


def _as_dict(profile: ProviderProfile) -> Dict[str, Any]:
    return {
        "name": profile.name,
        "base_url": profile.base_url,
        "base_url_env": profile.base_url_env,
        "key_env": list(profile.key_env),
        "key_required": profile.key_required,
        "dialect": profile.dialect,
        "done_marker": profile.options.resolved().done_marker,
        "limits": _given_limits(profile.limits),
        "efforts": None if profile.efforts is None else thaw(profile.efforts),
        "models": [model.name for model in profile.models],
        "notes": [note.text for note in profile.notes],
    }
