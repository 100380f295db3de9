# SPDX-License-Identifier: MIT
"""``vendor``: copy the package into another package, with the wanted rooms and providers.

In: a destination; rooms and providers, which are added to those the copy already has. Out: a
copy with a manifest; with ``--check``, whether the copy is whole and up to date. Refused: to
overwrite files that were changed by hand without ``--force`` (exit code 1); a room or provider
that does not exist (``Usage``).
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any, Collection, List, Sequence, Set

from ..client import DEFAULT_PROVIDER
from ..providers import PROFILES, get_profile
from ..values.rooms import OPTIONAL, REQUIRED
from .arguments import named
from .carrying import (
    MANIFEST, SOURCE, Copy, compare, edited, make_copy, read_manifest, write,
)
from .exits import BEHIND, FAILED, PROVEN, Usage
from .terminal import Terminal


def add_parser(commands: Any) -> None:
    """Add the command's arguments."""
    rooms = ", ".join(OPTIONAL)
    parser = commands.add_parser(
        "vendor",
        help="copy the package into another one, and keep the copy up to date",
        description="Copy the package into another one: the core, and the rooms and providers\n"
        "that are named. Run again to update the copy to this version and to add more. The\n"
        f"manifest, {MANIFEST}, says what the copy has.",
    )
    parser.add_argument("dest", metavar="DEST", type=named,
                        help="the copy's folder, such as yourtool/_vendor/streamcore")
    parser.add_argument("--with", dest="add", default="", metavar="ROOMS",
                        help=f"rooms to add, separated by commas: {rooms}; or all")
    parser.add_argument("--providers", default="", metavar="NAMES",
                        help="providers to add, separated by commas; or all; "
                        f"{DEFAULT_PROVIDER} is always there")
    parser.add_argument("--without", dest="drop", default="", metavar="NAMES",
                        help="rooms and providers to remove from the copy, separated by commas")
    parser.add_argument("--force", action="store_true",
                        help="also overwrite and remove files that were changed by hand")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; the exit code is 0 for a whole copy, 1 if a file was "
                        "changed by hand, 3 if the copy is behind this version")
    parser.add_debug()
    parser.set_defaults(run=run)


def run(args: Namespace, terminal: Terminal) -> int:
    """Check, make or update the copy; return the exit code."""
    folder = Path(args.dest)
    try:
        _check_place(folder)
        old = read_manifest(folder)
        return _check(folder, old, args, terminal) if args.check else _update(
            folder, old, args, terminal
        )
    except ValueError as error:
        raise Usage(str(error)) from error
    except OSError as error:
        raise Usage(f"{error.filename or folder}: {error.strerror or error}") from error


def _check_place(folder: Path) -> None:
    place = folder.resolve()
    if place == SOURCE or SOURCE in place.parents or place in SOURCE.parents:
        raise Usage(f"{folder} is the package itself, inside it, or around it: name another folder")


def _check(folder: Path, old: Copy, args: Namespace, terminal: Terminal) -> int:
    if args.add or args.providers or args.drop or args.force:
        raise Usage("--check cannot be combined with --with, --providers, --without or --force")
    if not old.files:
        raise Usage(f"{folder} is not a copy: it has no {MANIFEST}")
    by_hand = edited(folder, old)
    for line in by_hand:
        terminal.line(line)
    if by_hand:
        return FAILED
    new, _ = make_copy(_known(old.rooms, OPTIONAL), _known(old.providers, PROFILES))
    if new != old:
        terminal.line(f"the copy is behind: it has version {old.version}, this is {new.version}"
                      if new.version != old.version else
                      f"the copy is behind: the files of this {new.version} differ")
        return BEHIND
    terminal.line(f"the copy is whole: {old.version}, {len(old.files)} files")
    return PROVEN


def _update(folder: Path, old: Copy, args: Namespace, terminal: Terminal) -> int:
    dropped = set(_names(args.drop))
    for name in dropped - set(OPTIONAL):
        _check_droppable(name)
    rooms = _wanted_rooms(args, old, dropped, terminal)
    providers = {DEFAULT_PROVIDER, *_known(old.providers, PROFILES), *_wanted_providers(args)}
    new, files = make_copy(sorted(rooms), sorted(providers - dropped))
    plan = compare(folder, old, files)
    if plan.changed and not args.force:
        terminal.note("changed by hand; --force overwrites:")
        for name in plan.changed:
            terminal.note(f"  {name}")
        return FAILED
    write(folder, new, files, plan)
    terminal.line(f"{folder}: streamcore {new.version}, {len(files)} files; "
                  f"{len(plan.to_write)} written, {len(plan.to_remove)} removed")
    terminal.line(f"rooms beside the core: {', '.join(new.rooms) or 'none'}")
    terminal.line(f"providers: {', '.join(new.providers)}")
    return PROVEN


def _names(text: str) -> List[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _known(names: Sequence[str], table: Collection[str]) -> List[str]:
    """Return the names that this version still has."""
    return [name for name in names if name in table]


def _check_droppable(name: str) -> None:
    if name in REQUIRED:
        raise Usage(f"--without {name}: every copy needs it")
    if get_profile(name).name == DEFAULT_PROVIDER:
        raise Usage(f"--without {name}: a client that names no provider uses it")


def _wanted_rooms(args: Namespace, old: Copy, dropped: Set[str], terminal: Terminal) -> Set[str]:
    """Return the rooms of the copy; say on stdout which rooms others need."""
    asked = _names(args.add)
    if asked == ["all"]:
        asked = list(OPTIONAL)
    for name in asked:
        if name not in OPTIONAL and name not in REQUIRED:
            raise Usage(f"--with {name}: there is no such room; there are {', '.join(OPTIONAL)}")
    rooms = (set(asked) | set(_known(old.rooms, OPTIONAL))) - dropped - set(REQUIRED)
    for room in sorted(rooms):
        for needed in sorted(set(OPTIONAL[room]) - rooms):
            if needed in dropped:
                raise Usage(f"--without {needed}: {room} needs it")
            terminal.line(f"{room} needs {needed}: added")
            rooms.add(needed)
    return rooms


def _wanted_providers(args: Namespace) -> List[str]:
    asked = _names(args.providers)
    return list(PROFILES) if asked == ["all"] else [get_profile(name).name for name in asked]
