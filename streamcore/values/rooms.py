# SPDX-License-Identifier: MIT
"""The rooms of the package: those that it needs, and those that a copy may leave out.

In: an import that failed. Out: the sentence that says which room is missing and how to get
it, or nothing where something else is missing.
"""

from __future__ import annotations

from typing import Mapping, Tuple

REQUIRED = ("values", "wire", "transport", "providers", "runtime", "client")
"""Each copy has these."""

OPTIONAL: Mapping[str, Tuple[str, ...]] = {
    "session": (),
    "agent": ("session",),
    "config": (),
    "loopback": (),
    "cli": ("config", "loopback"),
}
"""A room that a copy may leave out → the optional rooms that come along with it."""


def left_out(what: str, error: ModuleNotFoundError, package: str) -> str:
    """Return the sentence for a room that this copy leaves out; "" for any other module.

    Args:
        what: what was asked for, as the sentence begins.
        error: what the import raised.
        package: the package's name, whatever name it is carried under.
    """
    above, _, room = (error.name or "").rpartition(".")
    if above != package or room not in OPTIONAL:
        return ""
    return (
        f"{what} needs the room {room!r}, which this copy of streamcore leaves out; to add it, "
        f"run python -m streamcore vendor DEST --with {room}"
    )
