# SPDX-License-Identifier: MIT
"""Providers: what is known about each provider, found by name.

In: a name or a profile, and the caller's own profiles by name. Out: ``ProviderProfile``.
Refused: an unknown name; the error has similar names. ``hosted`` and ``local`` hold the data,
one module for each provider, and ``profiles`` finds it. A profile is plain frozen data: make a
``ProviderProfile`` of your own, or change one with ``dataclasses.replace``.
"""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import Mapping, Tuple, Union

from ..values.showing import show
from .facts import ModelInfo, OptionNote
from .profile import ProviderProfile
from .profiles import MODULES, PROFILES

__all__ = [
    "PROFILES", "ModelInfo", "OptionNote", "ProviderProfile", "get_profile", "list_profiles",
]

_NO_EXTRA: Mapping[str, ProviderProfile] = MappingProxyType({})


def get_profile(
    name: Union[str, ProviderProfile], extra: Mapping[str, ProviderProfile] = _NO_EXTRA
) -> ProviderProfile:
    """Return a profile by its name.

    Args:
        name: a profile's name; a profile is returned as it is.
        extra: the caller's own profiles by name; they are looked up first.
    Raises:
        ValueError: for an unknown name, with similar names; for a provider that this copy of
            the package leaves out, with the command that adds it.
        TypeError: for a value that is neither a name nor a profile.
    """
    if isinstance(name, ProviderProfile):
        return name
    if not isinstance(name, str):
        raise TypeError(f"a provider is a name or a profile, not {type(name).__name__}")
    if name in extra:
        return extra[name]
    if name in PROFILES:
        return PROFILES[name]
    if name in MODULES:
        raise ValueError(
            f"this copy of streamcore leaves the provider {name} out; to add it, run "
            f"python -m streamcore vendor DEST --providers {name}"
        )
    known = [*extra, *PROFILES]
    near = get_close_matches(name.strip().lower(), known, n=3, cutoff=0.7)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
    raise ValueError(f"no provider is named {show(name)}: {hint}")


def list_profiles() -> Tuple[ProviderProfile, ...]:
    """Return every profile of the package, hosted providers first."""
    return tuple(PROFILES.values())
