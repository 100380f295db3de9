# SPDX-License-Identifier: MIT
"""The configuration, loaded once into a frozen value, and the objects made from it.

In: a file, variables, overrides. Out: a ``Client``, ``Limits``, a ``RetryPolicy``,
``AgentLimits``, the provider's profile; ``explain`` shows each value's origin. Refused with
``INVALID_CONFIG`` when loaded: every value that is not valid. No repr and no row of ``explain``
shows an API key.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Union

from ..client import Client
from ..providers import PROFILES, ProviderProfile
from ..values.agent_limits import AgentLimits
from ..values.limits import NOT_GIVEN, Limits, NotGiven
from ..values.retry import RetryPolicy
from .choice import Choice
from .explain import Explained, iter_rows
from .ini import read_file, refused
from .layers import (
    CONFIG_VARIABLE, Layer, environment_layer, file_layer, override_layer, own_providers,
)
from .settings import AGENT, LIMITS, MAIN, RETRY

Path = Union[str, "os.PathLike[str]"]

_PASSED = ("app", "verify", "cert", "pool_size")  # given to the client as they are


class Config:
    """Settings from a file, the environment and the caller. ``load`` makes it."""

    def __init__(self, choice: Choice, file: Optional[str]) -> None:
        choice.check()
        self._choice = choice
        self._file = file

    @classmethod
    def load(
        cls,
        file: Optional[Path] = None,
        env: Union[Mapping[str, str], None, NotGiven] = NOT_GIVEN,
        overrides: Optional[Mapping[str, Any]] = None,
    ) -> Config:
        """Load a configuration: defaults < file < environment < overrides.

        Args:
            file: an INI-style file; by default the file that ``STREAMCORE_CONFIG`` names, if
                any. It may hold an API key, a header that carries one, or a URL with a
                password only if nobody but the owner can access it (mode 0600). The mode is
                not checked on Windows, which controls access by other means.
            env: where ``STREAMCORE_`` variables and the variables of the named provider are
                looked up; by default ``os.environ``. The key is looked up at every call.
                None reads no environment at all.
            overrides: values by name, such as ``model``, ``limits.idle_timeout`` or
                ``provider.ollama.base_url``; as text, or as the value itself. None means
                not given, except for a clock, which it turns off.
        Raises:
            LlmError: ``INVALID_CONFIG`` with the file and line, the variable or the override.
        """
        if isinstance(env, NotGiven):  # as a default, help() would show each key in it
            env = os.environ
        if file is None and env is not None:
            file = env.get(CONFIG_VARIABLE) or None
        layers: List[Layer] = []
        known = list(PROFILES)
        if file is not None:
            layers.append(file_layer(read_file(file)))
            known += own_providers(layers)
        if env is not None:
            layers.append(environment_layer(env, known))
        if overrides:
            layers.append(override_layer(overrides, known))
        return cls(Choice(tuple(layers), env), None if file is None else os.fsdecode(file))

    @property
    def file(self) -> Optional[str]:
        """The path of the configuration file, or None."""
        return self._file

    @property
    def model(self) -> Optional[str]:
        """The model's name, or None."""
        found = self._choice.bound("model")
        return str(found[0][1].value) if found else None

    @property
    def provider(self) -> str:
        """The provider's name."""
        return str(self._choice.provider.value)

    @property
    def base_url(self) -> Optional[str]:
        """The provider's address, or None if no source gives one; it may hold a password."""
        found = self._choice.base_url().value
        return None if found is None else str(found)

    def over(self, overrides: Mapping[str, Any]) -> Config:
        """Return a configuration with these overrides over this one; they are as in ``load``."""
        choice = self._choice
        known = [*PROFILES, *own_providers(choice.layers)]
        layers = (*choice.layers, override_layer(overrides, known))
        return Config(Choice(layers, choice.environ), self._file)

    def profile(self) -> ProviderProfile:
        """Return the provider's profile with this configuration's options and key variables."""
        profile, key = self._choice.profile(), self._choice.key()
        if not key.named:
            return profile
        return replace(profile, key_env=key.variables, key_required=True)

    def limits(self) -> Limits:
        """Return the limits that are given; the provider's limits count for the others."""
        return Limits(**self._values(LIMITS))

    def retry(self) -> Optional[RetryPolicy]:
        """Return the retry policy; None (one request) if no setting of it is given."""
        values = self._values(RETRY)
        return RetryPolicy(**values) if values else None

    def agent_limits(self) -> AgentLimits:
        """Return the caps of an agent."""
        return AgentLimits(**self._values(AGENT))

    def client(self, **overrides: Any) -> Client:
        """Return a client.

        Args:
            overrides: arguments of ``Client`` that win over the configuration's. ``provider``
                is a name. None means not given. Of ``limits`` and ``headers``, each field
                wins by itself.
        Raises:
            LlmError: ``INVALID_CONFIG`` if no model is given.
            ValueError, TypeError: as ``Client``.
        """
        provider = overrides.pop("provider", None)
        if provider is not None:
            if not isinstance(provider, str):
                raise TypeError("provider is a name here; give a profile to Client itself")
            return self.over({"provider": provider}).client(**overrides)
        given = {name: value for name, value in overrides.items() if value is not None}
        arguments = {**self._arguments(), **given}
        if arguments["model"] is None:
            raise refused("no model is named: set model in the file's [streamcore], or "
                          f"STREAMCORE_MODEL, or pass one ({self.provider})")
        if "limits" in given:
            arguments["limits"] = given["limits"].over(self.limits())
        arguments["headers"] = _merged(self._headers(), given.get("headers", {}))
        client = Client(arguments.pop("model"), provider=self.profile(), **arguments)
        client.adapter.configure(environ=self._choice.environ)
        return client

    def explain(self) -> List[Explained]:
        """Return each setting's value and origin, secrets masked."""
        return list(iter_rows(self._choice))

    def __repr__(self) -> str:
        place = f" from {self._file}" if self._file else ""
        return f"<Config {self.model or 'no model'} at {self.provider}{place}>"

    def __reduce__(self) -> Any:
        raise TypeError("a configuration may hold a key, and is not pickled")

    def _values(self, section: str) -> Dict[str, Any]:
        return {key: given.value for key, given in self._choice.fields(section).items()}

    def _headers(self) -> Dict[str, str]:
        return {name: given.value for name, given in self._choice.headers().items()}

    def _arguments(self) -> Dict[str, Any]:
        main = self._values(MAIN)
        proxy = main.get("proxy")
        arguments = {
            "model": self.model,
            "base_url": self._choice.base_url().value,
            "api_key": self._choice.key().literal,
            "limits": self.limits(),
            "retry": self.retry(),
            "proxies": None if proxy is None else {"http": proxy, "https": proxy},
        }
        arguments.update((name, main[name]) for name in _PASSED if name in main)
        return arguments


def _merged(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Dict[str, str]:
    """Return both; a caller's header replaces ours, ignoring the case of its name."""
    names = {name.lower() for name in theirs if isinstance(name, str)}
    kept = {name: value for name, value in ours.items() if name.lower() not in names}
    return {**kept, **theirs}
