# SPDX-License-Identifier: MIT
"""The values that count for the chosen provider.

In: layers, the weakest first, and the environment. Out: the strongest value of each setting; the
provider's profile with the options from the layers; its address, key and headers. Refused with
``INVALID_CONFIG``: an unknown provider, and a provider of the user's own without an address.

A model, address, key or header of ``[streamcore]`` belongs to the provider that the same layer or
a weaker layer names. If a stronger layer chooses another provider, the value is not used. So a
key never goes to an address it was not meant for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ..client import DEFAULT_PROVIDER
from ..providers import PROFILES, ProviderProfile, get_profile
from .ini import refused
from .layers import FILE, Given, Layer, own_providers, provider_section, setting_name
from .settings import BOUND, MAIN, OPTION_KEYS, PROVIDER, SETTINGS

DEFAULT = "default"


class Key(NamedTuple):
    """Where the API key comes from: the key itself, or the variables that may hold it."""

    literal: Optional[str]
    variables: Tuple[str, ...]
    named: bool  # the user named the variables: only they count, and one must be set
    origin: str


@dataclass(frozen=True)
class Choice:
    """The layers, weakest first, and the values that count for the chosen provider.

    Args:
        layers: of a file, of variables, of overrides.
        environ: where variables are looked up; None means nowhere.
    """

    layers: Tuple[Layer, ...] = field(repr=False)  # both may hold API keys
    environ: Optional[Mapping[str, str]] = field(repr=False)

    def check(self) -> None:
        """Refuse unknown providers, and settings that do not fit together.

        Raises:
            LlmError: ``INVALID_CONFIG``.
        """
        for name, first in own_providers(self.layers).items():
            if self.given(provider_section(name), "base_url") is None:
                raise refused(f"{first.origin}: {_unknown(name)}; your own provider needs base_url")
        for layer in self.layers:
            for (section, key), given in layer.values.items():
                if key == "like" and section.partition(" ")[2] in PROFILES:
                    raise refused(f"{given.origin}: [{section}] has a profile; like is refused")
                if key == "like" and given.value not in PROFILES:
                    raise refused(f"{given.origin}: like: {_unknown(given.value)}")
        chosen = self.provider
        if chosen.value not in PROFILES and chosen.value not in own_providers(self.layers):
            raise refused(f"{chosen.origin}: provider: {_unknown(chosen.value)}")
        self.profile()

    def given(self, section: str, key: str) -> Optional[Given]:
        """Return the strongest value of a setting, or None."""
        for layer in self.layers[::-1]:
            if (section, key) in layer.values:
                return layer.values[section, key]
        return None

    @property
    def provider(self) -> Given:
        """The chosen provider's name."""
        return self.given(MAIN, "provider") or Given(DEFAULT_PROVIDER, DEFAULT)

    def bound(self, key: str) -> List[Tuple[str, Given]]:
        """Return every value of a setting that counts for the provider, strongest first.

        Each value comes with the kind of its layer. Within a layer, the provider's own
        section wins over ``[streamcore]``.
        """
        return [(layer.kind, layer.values[section, key]) for layer, section in self._places()
                if (section, key) in layer.values]

    def left_behind(self) -> Iterator[Tuple[str, Given]]:
        """Yield the settings that belong to a provider other than the chosen one."""
        for number, layer in enumerate(self.layers):
            owner = self._provider_at(number)
            for key in BOUND:
                if (MAIN, key) in layer.values and owner not in (None, self.provider.value):
                    origin = layer.values[MAIN, key].origin
                    yield setting_name(MAIN, key), Given(owner, origin)

    def profile(self) -> ProviderProfile:
        """Return the chosen provider's profile with the options from the layers.

        Raises:
            LlmError: ``INVALID_CONFIG`` for options that do not go together.
        """
        name = self.provider.value
        section = provider_section(name)
        base = _base(name, self.given(section, "like"))
        if self.given(MAIN, "provider") is None:  # only a named provider's variables are read
            base = replace(base, key_env=(), base_url_env=None)
        changes = {key: given.value for key, given in self._options(section)}
        try:
            return _with_options(base, changes)
        except (ValueError, TypeError) as error:
            raise refused(f"[{section}]: {error}") from error

    def options(self) -> Iterator[Tuple[str, Any, str]]:
        """Yield the options of the dialect: setting, value, origin."""
        profile = self.profile()
        section = provider_section(profile.name)
        given = dict(self._options(section))
        for key, value in profile.options.resolved().given().items():
            origin = given[key].origin if key in given else f"{PROVIDER} {profile.name}"
            yield setting_name(section, key), value, origin

    def base_url(self) -> Given:
        """Return the provider's address; its value is None if no source gives one."""
        own = self.profile()
        found = self.bound("base_url")
        variable = own.base_url_env
        if variable and self._variable(variable) and (not found or found[0][0] == FILE):
            return Given(self._variable(variable), f"environment {variable}")
        if found:
            return found[0][1]
        return Given(own.base_url, f"{PROVIDER} {own.name}" if own.base_url else DEFAULT)

    def key(self) -> Key:
        """Return where the API key comes from; a missing key is not refused here."""
        own = self.profile()
        found = self._first_key()
        usual = next((name for name in own.key_env if self._variable(name)), None)
        if found is not None and found[0] == "api_key_env":
            names = found[2].value
            first_set = next((name for name in names if self._variable(name)), None)
            origin = f"environment {first_set}" if first_set else f"{found[2].origin}, not set"
            return Key(None, names, True, origin)
        if found is not None and (found[1] != FILE or usual is None):
            return Key(found[2].value, (), False, found[2].origin)
        where = f"environment {usual}" if usual else DEFAULT
        return Key(None, own.key_env, False, where)

    def headers(self) -> Dict[str, Given]:
        """Return the headers by name, each with its origin; a stronger layer's value wins."""
        merged: Dict[str, Tuple[str, Given]] = {}
        for _, given in reversed(self.bound("headers")):
            for name, value in given.value.items():
                merged[name.lower()] = (name, Given(value, given.origin))
        return dict(merged.values())

    def fields(self, section: str) -> Dict[str, Given]:
        """Return the settings of a section that have a value, by key."""
        found = {key: self.given(section, key) for key in SETTINGS[section]}
        return {key: given for key, given in found.items() if given is not None}

    def _options(self, section: str) -> Iterator[Tuple[str, Given]]:
        for key in OPTION_KEYS:
            given = self.given(section, key)
            if given is not None:
                yield key, given

    def _first_key(self) -> Optional[Tuple[str, str, Given]]:
        """Return the stronger of api_key and api_key_env: its name, its layer's kind, its value."""
        for layer, section in self._places():
            for key in ("api_key", "api_key_env"):  # one place never has both
                if (section, key) in layer.values:
                    return key, layer.kind, layer.values[section, key]
        return None

    def _places(self) -> Iterator[Tuple[Layer, str]]:
        """Yield the sections that count for the provider, with their layers, strongest first."""
        name = str(self.provider.value)
        for number, layer in reversed(list(enumerate(self.layers))):
            yield layer, provider_section(name)
            if self._provider_at(number) in (None, name):
                yield layer, MAIN

    def _provider_at(self, number: int) -> Optional[str]:
        """Return the provider that the layers up to this one name."""
        found = Choice(self.layers[: number + 1], None).given(MAIN, "provider")
        return None if found is None else str(found.value)

    def _variable(self, name: str) -> str:
        return "" if self.environ is None else self.environ.get(name, "").strip()


def _base(name: str, like: Optional[Given]) -> ProviderProfile:
    if name in PROFILES:
        return PROFILES[name]
    # The variables of the profile in ``like`` hold that provider's key, not this provider's.
    base = PROFILES[DEFAULT_PROVIDER if like is None else like.value]
    return replace(base, name=name, key_env=(), base_url_env=None)


def _with_options(profile: ProviderProfile, changes: Mapping[str, Any]) -> ProviderProfile:
    """Return the profile with these dialect options, which count for each of its models too."""
    facts = {key: changes[key] for key in ("context_window", "images") if key in changes}
    models = tuple(replace(model, **facts) for model in profile.models)
    window = changes.get("context_window", profile.context_window)
    options = replace(profile.options, **changes)
    return replace(profile, options=options, models=models, context_window=window)


def _unknown(name: str) -> str:
    """Return a sentence about a name without a profile; it suggests similar names."""
    try:
        get_profile(name)
    except ValueError as error:
        return str(error)
    return f"{name} has a profile"
