# SPDX-License-Identifier: MIT
"""Each setting, its value and where the value came from, for people.

In: a ``Choice``. Out: one ``Explained`` row for each setting, defaults included; secrets are
``***``. A setting has the name that an override uses. The text of a value means the same value
in a file. Nothing is refused.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Iterator, NamedTuple, Optional

from ..values.agent_limits import AgentLimits
from ..values.limits import DEFAULT_LIMITS, NOT_GIVEN
from ..values.redaction import MASK, is_secret_header, redact
from ..values.retry import RetryPolicy
from .choice import DEFAULT, Choice
from .layers import Given, setting_name
from .settings import AGENT, LIMITS, MAIN, PROVIDER, RETRY, SETTINGS
from .values import as_text, read_text

NOT_SET = "(not set)"


class Explained(NamedTuple):
    """One row: a setting, its value as text, and where the value came from."""

    setting: str
    value: str
    origin: str


def iter_rows(choice: Choice) -> Iterator[Explained]:
    """Yield the rows, in the order of the table of settings."""
    yield Explained("provider", *choice.provider)
    model = choice.bound("model")
    yield _row("model", model[0][1] if model else None)
    address = choice.base_url()
    yield _row("base_url", None if address.value is None else address)
    yield _key_row(choice)
    for name, given in choice.headers().items():
        value = MASK if is_secret_header(name) else given.value
        yield Explained(f"headers.{name}", value, given.origin)
    for key in ("app", "proxy", "verify", "cert", "pool_size"):
        yield _row(key, choice.given(MAIN, key))
    for name, value, origin in choice.options():
        read = SETTINGS[PROVIDER][name.rpartition(".")[2]].read
        shown = NOT_SET if value is None else as_text(value, read)
        yield Explained(name, shown, origin)
    yield from _limit_rows(choice)
    yield from _retry_rows(choice)
    yield from _field_rows(choice, AGENT, AgentLimits())
    for name, given in choice.left_behind():
        yield Explained(name, "(not used)", f"{given.origin}: it belongs to {given.value}")


def _row(key: str, given: Optional[Given]) -> Explained:
    if given is None:
        return Explained(key, NOT_SET, DEFAULT)
    return Explained(key, redact(as_text(given.value, read_text)), given.origin)


def _key_row(choice: Choice) -> Explained:
    key = choice.key()
    there = key.literal is not None or key.origin.startswith("environment ")
    if there and not key.origin.endswith(", not set"):
        return Explained("api_key", MASK, key.origin)
    looked = f"looked in {', '.join(key.variables)}" if key.variables else DEFAULT
    return Explained("api_key", NOT_SET, key.origin if key.named else looked)


def _limit_rows(choice: Choice) -> Iterator[Explained]:
    profile = choice.profile()
    given = choice.fields(LIMITS)
    for field in fields(DEFAULT_LIMITS):
        name, read = field.name, SETTINGS[LIMITS][field.name].read
        layers = (
            (given[name].value if name in given else NOT_GIVEN,
             given[name].origin if name in given else ""),
            (getattr(profile.limits, name), f"{PROVIDER} {profile.name}"),
            (getattr(DEFAULT_LIMITS, name), DEFAULT),
        )
        value, origin = next((one for one in layers if one[0] is not NOT_GIVEN), (None, ""))
        row = Explained(setting_name(LIMITS, name), as_text(value, read), origin)
        yield row if origin else row._replace(value="the same as idle_timeout", origin=DEFAULT)


def _retry_rows(choice: Choice) -> Iterator[Explained]:
    if choice.fields(RETRY):
        yield from _field_rows(choice, RETRY, RetryPolicy())
        return
    yield Explained(setting_name(RETRY, "max_retries"), "0", DEFAULT)


def _field_rows(choice: Choice, section: str, defaults: Any) -> Iterator[Explained]:
    given = choice.fields(section)
    for field in fields(defaults):
        name = field.name
        told = given.get(name, Given(getattr(defaults, name), DEFAULT))
        shown = NOT_SET
        if told.value is not None:
            shown = as_text(told.value, SETTINGS[section][name].read)
        yield Explained(setting_name(section, name), shown, told.origin)
