# SPDX-License-Identifier: MIT
"""The rooms of the package: the required ones, and those that a copy may leave out.

In: an import that failed. Out: a sentence that says which room is missing and how to add
it; "" if something else is missing.
"""

from __future__ import annotations

from typing import Mapping, Tuple

REQUIRED = ("values", "wire", "transport", "providers", "runtime", "client")
"""Every copy has these rooms."""

OPTIONAL: Mapping[str, Tuple[str, ...]] = {
    "session": (),
    "agent": ("session",),
    "config": (),
    "loopback": (),
    "cli": ("config", "loopback"),
}
"""A room that a copy may leave out → the optional rooms that are copied with it."""


def left_out(what: str, error: ModuleNotFoundError, package: str) -> str:
    """Return a sentence about a room that this copy leaves out; "" for any other module.

    Args:
        what: what was asked for; the sentence begins with it.
        error: the error of the import.
        package: the package's name, which a vendored copy may have changed.
    """
    above, _, room = (error.name or "").rpartition(".")
    if above != package or room not in OPTIONAL:
        return ""
    return (
        f"{what} needs the room {room!r}, which this copy of streamcore leaves out; to add it, "
        f"run python -m streamcore vendor DEST --with {room}"
    )
