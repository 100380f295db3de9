# SPDX-License-Identifier: MIT
"""The files of a copy of the package, and how a copy is compared, written and updated.

In: the package's own folder, a destination, and the wanted rooms and providers. Out: the files
of the copy, and a manifest beside them. Line ends are those of Unix, even if a checkout of the
sources has others. Only files that the manifest names are ever removed.
"""

from __future__ import annotations

import ast
import json
import os
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from .. import __version__
from ..providers.profiles import MODULES
from ..values.rooms import OPTIONAL, REQUIRED

SOURCE = Path(__file__).resolve().parents[1]
"""The folder of the running package; it holds the licence and ``py.typed``."""
MANIFEST = "streamcore-vendor.json"

_TOP = ("__init__.py", "__main__.py", "py.typed", "LICENSE", "DESIGN.md")
_KINDS = ("*.py", "README.md")
_FORMAT = 1

Files = Dict[str, bytes]  # path in the copy, with forward slashes → content of the file


class Copy(NamedTuple):
    """What a manifest says: the version, the rooms, the providers, and the hash of each file."""

    version: str
    rooms: Tuple[str, ...]
    providers: Tuple[str, ...]
    files: Mapping[str, str]

    def as_text(self) -> str:
        """Return the manifest's text; equal copies have equal texts."""
        return json.dumps({
            "format": _FORMAT, "version": self.version, "rooms": list(self.rooms),
            "providers": list(self.providers), "files": dict(sorted(self.files.items())),
        }, indent=2) + "\n"


class Comparison(NamedTuple):
    """How a folder differs from the wanted copy: three sorted lists of paths."""

    changed: List[str]
    """Files changed by hand; to write or remove them would lose that change."""
    to_write: List[str]
    to_remove: List[str]


def read_manifest(folder: Path) -> Copy:
    """Return what a copy's manifest says; without a manifest, a ``Copy`` with nothing in it.

    Raises:
        ValueError: for a manifest that cannot be parsed, or a path in it that leaves the folder.
    """
    path = folder / MANIFEST
    if not path.exists():
        return Copy("", (), (), {})
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if read["format"] != _FORMAT:
            raise ValueError(f"its format is {read['format']!r}, not {_FORMAT}")
        found = Copy(str(read["version"]), _names(read["rooms"]), _names(read["providers"]),
                     {str(name): str(digest) for name, digest in read["files"].items()})
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a manifest of a copy: {error}") from error
    for name in found.files:
        if "\\" in name or ":" in name or name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise ValueError(f"{path} names a file outside of its folder: {name!r}")
    return found


def make_copy(rooms: Sequence[str], providers: Sequence[str]) -> Tuple[Copy, Files]:
    """Return the manifest and the files of a copy, in the order of the package's own tables.

    Raises:
        ValueError: for a room that the running package does not have.
    """
    for room in rooms:
        if not (SOURCE / room).is_dir():
            raise ValueError(f"{SOURCE} does not have the room {room}: run a whole streamcore")
    files = {path.relative_to(SOURCE).as_posix(): _read(path) for path in _paths(rooms, providers)}
    hashes = {name: _hash(data) for name, data in files.items()}
    chosen = tuple(room for room in OPTIONAL if room in rooms)
    named = tuple(name for name in MODULES if name in providers)
    return Copy(__version__, chosen, named, hashes), files


def compare(folder: Path, old: Copy, files: Files) -> Comparison:
    """Return how the folder differs from ``files``; ``old`` tells what was changed by hand."""
    changed, to_write, to_remove = [], [], []
    for name in sorted({*old.files, *files}):
        path = folder / name
        there = _read(path) if path.is_file() else None
        if there is not None and there == files.get(name):
            continue
        if name in files:
            to_write.append(name)
        elif there is not None:
            to_remove.append(name)
        if there is not None and _hash(there) != old.files.get(name):
            changed.append(name)
    return Comparison(changed, to_write, to_remove)


def edited(folder: Path, copy: Copy) -> List[str]:
    """Return, in words, which files of a copy were changed or removed, and which modules added."""
    found = []
    for name, digest in copy.files.items():
        path = folder / name
        if not path.is_file():
            found.append(f"{name} was removed")
        elif _hash(_read(path)) != digest:
            found.append(f"{name} was changed")
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}
    return sorted([*found, *(f"{name} was added" for name in there - set(copy.files))])


def write(folder: Path, copy: Copy, files: Files, plan: Comparison) -> None:
    """Remove and write the files that ``plan`` names, then write the manifest."""
    for name in plan.to_remove:
        _remove(folder, folder / name)
    for name in plan.to_write:
        _replace(folder / name, files[name])
    text = copy.as_text().encode("utf-8")
    if not (folder / MANIFEST).is_file() or _read(folder / MANIFEST) != text:
        _replace(folder / MANIFEST, text)


def _names(value: Any) -> Tuple[str, ...]:
    return tuple(str(name) for name in value)


def _paths(rooms: Sequence[str], providers: Sequence[str]) -> Iterator[Path]:
    yield from (SOURCE / name for name in _TOP)
    for room in (*REQUIRED, *rooms):
        top = SOURCE / room
        for kind in _KINDS:
            yield from top.glob(kind) if room == "providers" else top.rglob(kind)
    for folder in {module.partition(".")[0] for module in MODULES.values()}:
        yield SOURCE / "providers" / folder / "__init__.py"
    for name in providers:
        yield from _profile(SOURCE / "providers" / f"{MODULES[name].replace('.', '/')}.py")


def _profile(path: Path) -> Iterator[Path]:
    """Yield a profile's module, and the modules beside it that it imports."""
    yield path
    for node in ast.parse(_read(path)).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            yield from _profile(path.with_name(f"{node.module}.py"))


def _read(path: Path) -> bytes:
    return path.read_bytes().replace(b"\r\n", b"\n")


def _hash(data: bytes) -> str:
    return "sha256:" + sha256(data).hexdigest()


def _replace(path: Path, data: bytes) -> None:
    """Write a file under another name and rename it, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(data)
    os.replace(beside, path)


def _remove(top: Path, path: Path) -> None:
    """Remove a file and the folders it leaves empty: Python could import an empty folder."""
    path.unlink()
    folder = path.parent
    while folder != top and not [one for one in folder.iterdir() if one.name != "__pycache__"]:
        for cached in folder.glob("__pycache__/*"):
            cached.unlink()
        for inner in (folder / "__pycache__", folder):
            if inner.is_dir():
                inner.rmdir()
        folder = folder.parent
