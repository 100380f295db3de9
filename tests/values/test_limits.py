# SPDX-License-Identifier: MIT
"""The clocks and sizes of a call: their layers, and what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields

import pytest

from streamcore.values.limits import DEFAULT_LIMITS, NOT_GIVEN, Limits, NotGiven, resolve_limits

CLOCKS = ["connect_timeout", "first_byte_timeout", "idle_timeout", "total_timeout"]
SIZES = ["max_stream_bytes", "max_event_bytes", "max_tool_calls", "max_tool_argument_bytes"]


def test_limits_defaults():
    """Nothing given anywhere resolves to the table of DESIGN.md §7."""
    limits = resolve_limits()
    assert (limits.connect_timeout, limits.first_byte_timeout) == (10.0, 30.0)
    assert (limits.idle_timeout, limits.total_timeout) == (30.0, 60.0)
    assert (limits.max_stream_bytes, limits.max_event_bytes) == (100 * 2**20, 256 * 2**10)
    assert (limits.max_tool_calls, limits.max_tool_argument_bytes) == (32, 2**20)


def test_limits_layers_merge_by_field():
    """For each field, the call wins over the client, and the client over the profile."""
    call, client = Limits(idle_timeout=1), Limits(idle_timeout=2, total_timeout=3)
    profile = Limits(idle_timeout=4, total_timeout=5, connect_timeout=6)
    limits = resolve_limits(call, client, profile)
    assert (limits.idle_timeout, limits.total_timeout, limits.connect_timeout) == (1, 3, 6)
    assert resolve_limits(None, client, None).idle_timeout == 2
    assert call.over(client) == Limits(idle_timeout=1, total_timeout=3)


def test_limits_none_is_a_value():
    """None turns a clock off and is not overridden by a lower layer."""
    assert resolve_limits(Limits(total_timeout=None), Limits(total_timeout=9)).total_timeout is None


@pytest.mark.parametrize(
    "layers, first_byte",
    [
        ([Limits(idle_timeout=7)], 7),
        ([Limits(idle_timeout=None)], None),
        ([Limits(idle_timeout=7, first_byte_timeout=9)], 9),
        ([Limits(idle_timeout=7), Limits(first_byte_timeout=600)], 600),
        ([Limits(first_byte_timeout=None)], None),
    ],
)
def test_limits_first_byte_follows_idle(layers, first_byte):
    """A first-byte clock that nobody set has the value of the idle clock, also if it is off."""
    assert resolve_limits(*layers).first_byte_timeout == first_byte


@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize(
    "value", [0, -1, 0.0, -0.5, float("nan"), float("inf"), float("-inf"), 10**400, -(10**400)]
)
def test_limits_clock_out_of_range(name, value):
    """A clock is above 0 and finite."""
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize("value", ["5", True, False, [1], 1j, object()])
def test_limits_clock_wrong_type(name, value):
    """A clock is a number; True is refused."""
    with pytest.raises(TypeError, match=name):
        Limits(**{name: value})


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize(
    "value, error", [(0, ValueError), (-1, ValueError), (1.0, TypeError), (None, TypeError),
                     ("1", TypeError), (True, TypeError), (float("nan"), TypeError)],
)  # fmt: skip
def test_limits_size_refused(name, value, error):
    """A size is a whole number of 1 or more and cannot be turned off."""
    with pytest.raises(error, match=name):
        Limits(**{name: value})


def test_limits_smallest_and_largest():
    """The ends of the ranges are accepted."""
    edges = {**{name: 5e-324 for name in CLOCKS}, **{name: 1 for name in SIZES}}
    assert resolve_limits(Limits(**edges)).max_tool_calls == 1
    assert Limits(total_timeout=1.7e308, max_stream_bytes=10**30).total_timeout == 1.7e308


def test_limits_frozen_and_equal():
    """Limits are values: equal by content, hashable, unchangeable, picklable."""
    one = Limits(idle_timeout=5)
    assert one == Limits(idle_timeout=5) and hash(one) == hash(Limits(idle_timeout=5))
    with pytest.raises(FrozenInstanceError):
        one.idle_timeout = 6
    for twin in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert twin == one and twin.total_timeout is NOT_GIVEN


def test_default_limits_every_field_but_first_byte():
    """Only the first-byte clock has no default of its own."""
    empty = [f.name for f in fields(Limits) if getattr(DEFAULT_LIMITS, f.name) is NOT_GIVEN]
    assert empty == ["first_byte_timeout"]


def test_not_given_is_one_falsy_mark():
    """NOT_GIVEN exists once; it is false, shows its name, and is the same object when copied."""
    assert NotGiven() is NOT_GIVEN and not NOT_GIVEN and repr(NOT_GIVEN) == "NOT_GIVEN"
    assert copy.copy(NOT_GIVEN) is copy.deepcopy(NOT_GIVEN) is NOT_GIVEN
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(NOT_GIVEN, protocol)) is NOT_GIVEN
