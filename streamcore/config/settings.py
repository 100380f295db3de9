# SPDX-License-Identifier: MIT
"""The table of settings: how each setting is read and checked.

In: nothing. Out: ``SETTINGS`` by section and key. A setting may be a field of ``Limits``,
``RetryPolicy``, ``AgentLimits`` or a dialect's options. Such a setting is checked by making that
object with this field alone, so that each range is written only once. Meanings: DESIGN.md §7, §8.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from ..providers import ProviderProfile
from ..values.agent_limits import AgentLimits
from ..values.limits import Limits
from ..values.numbers import check_whole
from ..values.retry import RetryPolicy
from ..wire.dialects import dialect_names, find_dialect
from .values import (
    Read, read_clock, read_count, read_flag, read_headers, read_number, read_seconds, read_size,
    read_text, read_verify, read_words,
)

MAIN, PROVIDER, LIMITS, RETRY, AGENT = "streamcore", "provider", "limits", "retry", "agent"

BOUND = ("model", "base_url", "api_key", "api_key_env", "headers")
"""The settings that belong to one provider, also in ``[streamcore]``."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ANY_PROFILE = ProviderProfile(name="any")
_POLICY_KINDS: Dict[str, Read] = {
    "mode": read_text, "max_retries": read_count, "retryable_codes": read_words,
    "multiplier": read_number, "jitter": read_number,
}


class Setting(NamedTuple):
    """One setting. ``read``, and then ``check``, raise an error for a value that is not valid."""

    section: str
    key: str
    read: Read
    check: Callable[[Any], Any]


def check_model(value: str) -> None:
    """Refuse a name that no model can have."""
    if not value.isprintable():
        raise ValueError("a model's name is printable and on one line")


def check_address(value: str) -> None:
    """Refuse a text that is not an http(s) base URL.

    Raises:
        LlmError: for such a text; the message shows no secret.
    """
    _ANY_PROFILE.url(value)


def check_variables(names: Tuple[str, ...]) -> None:
    """Refuse names that no variable can have, such as an API key; the error does not show them."""
    if not all(_VARIABLE.fullmatch(name) for name in names):
        raise ValueError("names of environment variables are wanted, not the key itself")


def _check_key(value: str) -> None:
    if not re.fullmatch(r"[!-~]+", value):
        raise ValueError("a key is visible ASCII without blanks inside")


def _check_app(value: str) -> None:
    if not all(" " <= letter <= "~" for letter in value):
        raise ValueError("it is sent in a header, which carries printable ASCII only")


def _pass(value: Any) -> None:
    """Accept every value that could be read."""


def _of_fields(
    section: str, owner: Callable[..., Any], kind: Callable[[str], Read]
) -> List[Setting]:
    def setting(name: str) -> Setting:
        return Setting(section, name, kind(name), lambda value: owner(**{name: value}))

    made: Any = owner
    return [setting(field.name) for field in fields(made)]


def _limit_kind(name: str) -> Read:
    if name.endswith("_timeout"):
        return read_clock
    return read_size if name.endswith("_bytes") else read_count


def _options() -> List[Setting]:
    """Return the options of all dialects; an option of several dialects comes once."""
    made: Dict[str, Setting] = {}
    for dialect in map(find_dialect, dialect_names()):
        defaults = dialect.options.DEFAULTS
        kinds = {name: _option_kind(name, default) for name, default in defaults.items()}
        for setting in _of_fields(PROVIDER, dialect.options, kinds.__getitem__):
            made.setdefault(setting.key, setting)
    return list(made.values())


def _option_kind(name: str, default: Any) -> Read:
    if isinstance(default, bool):
        return read_flag
    if isinstance(default, tuple):
        return read_words
    if name == "reasoning_filler":  # a text, although its default is None
        return read_text
    return read_text if isinstance(default, str) else read_count


_ADDRESS_AND_KEY: Dict[str, Tuple[Read, Callable[[Any], Any]]] = {
    "model": (read_text, check_model),
    "base_url": (read_text, check_address),
    "api_key": (read_text, _check_key),
    "api_key_env": (read_words, check_variables),
    "headers": (read_headers, _pass),
}
_TABLE: List[Setting] = [
    Setting(MAIN, "provider", read_text, _pass),
    *(Setting(MAIN, key, *how) for key, how in _ADDRESS_AND_KEY.items()),
    Setting(MAIN, "app", read_text, _check_app),
    Setting(MAIN, "proxy", read_text, check_address),
    Setting(MAIN, "verify", read_verify, _pass),
    Setting(MAIN, "cert", read_text, _pass),
    Setting(MAIN, "pool_size", read_count, lambda value: check_whole("pool_size", value)),
    *(Setting(PROVIDER, key, *how) for key, how in _ADDRESS_AND_KEY.items()),
    Setting(PROVIDER, "like", read_text, _pass),
    *_options(),
    *_of_fields(LIMITS, Limits, _limit_kind),
    *_of_fields(RETRY, RetryPolicy, lambda name: _POLICY_KINDS.get(name, read_seconds)),
    *_of_fields(AGENT, AgentLimits, _limit_kind),
]

SETTINGS: Dict[str, Dict[str, Setting]] = {
    section: {one.key: one for one in _TABLE if one.section == section}
    for section in (MAIN, PROVIDER, LIMITS, RETRY, AGENT)
}
"""Every setting by section and key, in the order in which ``explain`` shows them."""

OPTION_KEYS: Tuple[str, ...] = tuple(setting.key for setting in _options())
"""The settings of a provider that are options of its dialect."""
