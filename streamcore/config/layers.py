# SPDX-License-Identifier: MIT
"""A file, variables and overrides as layers of checked values, each with its origin.

In: an ``IniFile``, a mapping of variables, a mapping of overrides. Out: one ``Layer`` each.
Refused with ``INVALID_CONFIG``: unknown names (the error suggests similar names), values that
are not valid, an API key beside the name of its variable, and a secret in a file that others
may read. An error names the place and the setting, and shows no part of a secret.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ..providers import PROFILES
from ..values.errors import LlmError
from ..values.limits import NOT_GIVEN
from ..values.redaction import is_secret_header, redact
from .ini import Entry, IniFile, refused
from .settings import MAIN, PROVIDER, SETTINGS, Setting
from .values import read_clock, shown

FILE, ENVIRONMENT, OVERRIDE = "file", "environment", "override"
PREFIX = "STREAMCORE_"
CONFIG_VARIABLE = PREFIX + "CONFIG"

Place = Tuple[str, str]  # section and key; the section of a provider is "provider NAME"

_NOT_A_LETTER = re.compile(r"[^A-Za-z0-9]+")


class Given(NamedTuple):
    """A value, and where it was given."""

    value: Any
    origin: str


class Layer(NamedTuple):
    """All values of one kind of source: ``file``, ``environment`` or ``override``."""

    kind: str
    values: Dict[Place, Given]


def provider_section(name: str) -> str:
    """Return the name of one provider's section."""
    return f"{PROVIDER} {name}"


def setting_name(section: str, key: str) -> str:
    """Return the name that an override uses for a setting: ``model``, ``limits.idle_timeout``."""
    return key if section == MAIN else f"{section.replace(' ', '.', 1)}.{key}"


def file_layer(file: IniFile) -> Layer:
    """Return the values that a file gives.

    Raises:
        LlmError: ``INVALID_CONFIG`` with file, line and key.
    """
    for section, line in file.sections.items():
        _known_section(section, f"{file.name}:{line}")
    values: Dict[Place, Given] = {}
    for entry in file.entries:
        origin = f"{file.name}:{entry.line}"
        where = f"{origin}: [{entry.section}] {entry.key}"
        setting = _known_key(entry.section, entry.key, where)
        value = _checked(setting, entry.value, where)
        if not file.private and _is_secret(entry.key, value):
            raise refused(
                f"{where}: others may read this file, and a secret is in it; chmod 600 it, or "
                "name a variable for the key in api_key_env"
            )
        values[entry.section, entry.key] = Given(value, origin)
    _check_one_key(values, file.entries, file.name)
    return Layer(FILE, values)


def environment_layer(environ: Mapping[str, str], providers: Iterable[str]) -> Layer:
    """Return the values that the variables give.

    Args:
        environ: only variables that begin with ``STREAMCORE_`` are read here.
        providers: the providers whose settings may have variables.
    Raises:
        LlmError: ``INVALID_CONFIG`` with the variable.
    """
    known = {_variable(*place): place for place in _places(providers)}
    values: Dict[Place, Given] = {}
    for name in sorted(name for name in environ if name.startswith(PREFIX)):
        text = environ[name]
        if name == CONFIG_VARIABLE or not text.strip():
            continue
        where = f"the environment variable {shown(name)[1:-1]}"
        if name not in known:
            raise refused(f"{where}: there is no such setting{_near(name, known)}")
        section, key = known[name]
        value = _checked(_known_key(section, key, where), text, where)
        values[section, key] = Given(value, f"environment {name}")
    _check_one_key(values, (), "the environment")
    return Layer(ENVIRONMENT, values)


def override_layer(overrides: Mapping[str, Any], providers: Iterable[str]) -> Layer:
    """Return the values that the caller gives over all others.

    Args:
        overrides: values by name (``setting_name``). NOT_GIVEN and None mean not
            given, except that None turns a clock off.
        providers: the providers whose settings may be overridden.
    Raises:
        LlmError: ``INVALID_CONFIG`` with the override.
    """
    known = {setting_name(*place): place for place in _places(providers)}
    values: Dict[Place, Given] = {}
    for name, given in overrides.items():
        where = f"the override {shown(name)[1:-1]}"
        if name not in known:
            raise refused(f"{where}: there is no such setting{_near(str(name), known)}")
        section, key = known[name]
        setting = _known_key(section, key, where)
        if given is NOT_GIVEN or (given is None and setting.read is not read_clock):
            continue
        values[section, key] = Given(_checked(setting, given, where), OVERRIDE)
    _check_one_key(values, (), "the overrides")
    return Layer(OVERRIDE, values)


def own_providers(layers: Iterable[Layer]) -> Dict[str, Given]:
    """Return the providers that have no profile, each with one of its values."""
    found: Dict[str, Given] = {}
    for layer in layers:
        for (section, _), given in layer.values.items():
            kind, _, name = section.partition(" ")
            if kind == PROVIDER and name not in PROFILES:
                found.setdefault(name, given)
    return found


def _places(providers: Iterable[str]) -> Iterator[Place]:
    for section, settings in SETTINGS.items():
        names: List[str] = [section]
        if section == PROVIDER:
            names = [provider_section(name) for name in providers]
        for name in names:
            for key in settings:
                yield name, key


def _variable(section: str, key: str) -> str:
    words = key if section == MAIN else f"{section}_{key}"
    return PREFIX + _NOT_A_LETTER.sub("_", words).upper()


def _known_section(section: str, where: str) -> None:
    kind, _, name = section.partition(" ")
    if kind == PROVIDER and " " not in name:
        if not name:
            raise refused(f"{where}: [{PROVIDER} NAME] needs the provider's name")
    elif section not in SETTINGS:
        known = [one for one in SETTINGS if one != PROVIDER]
        there = ", ".join(f"[{one}]" for one in (*known, f"{PROVIDER} NAME"))
        raise refused(f"{where}: there is no section [{shown(section)[1:-1]}], only {there}")


def _known_key(section: str, key: str, where: str) -> Setting:
    kind = section.partition(" ")[0]
    setting = SETTINGS[kind].get(key)
    if setting is not None:
        return setting
    elsewhere = [name for name, settings in SETTINGS.items() if key in settings]
    if elsewhere:
        raise refused(f"{where}: this setting belongs to [{elsewhere[0]}]")
    raise refused(f"{where}: there is no such setting{_near(key, SETTINGS[kind])}")


def _near(name: str, known: Iterable[str]) -> str:
    known = list(known)
    plain = name.replace("-", "_")
    plain = plain if plain.isupper() else plain.lower()
    near = get_close_matches(plain, known, n=3, cutoff=0.6)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; there are {', '.join(known)}" if len(known) < 20 else ""


def _checked(setting: Setting, given: Any, where: str) -> Any:
    try:
        value = setting.read(given)
        setting.check(value)
    except (ValueError, TypeError, OverflowError) as error:
        message = str(error)
    except LlmError as error:
        message = error.failure.message
    else:
        return value
    raise refused(f"{where}: {message}")  # not in the except: its cause may quote a secret


def _is_secret(key: str, value: Any) -> bool:
    if key == "headers":
        return any(map(is_secret_header, value))
    return key == "api_key" or (key in ("base_url", "proxy") and redact(value) != value)


def _check_one_key(
    values: Mapping[Place, Given], entries: Iterable[Entry], where: str
) -> None:
    """Refuse an API key beside the name of its variable: one of the two is a mistake."""
    for section, key in values:
        if key == "api_key" and (section, "api_key_env") in values:
            line: Optional[int] = next(
                (one.line for one in entries if (one.section, one.key) == (section, key)), None
            )
            place = f"{where}:{line}: [{section}] {key}" if line else f"{where}: {key}"
            raise refused(f"{place}: api_key_env is given too; only one of them may be")
