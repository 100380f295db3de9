# SPDX-License-Identifier: MIT
"""Containers that read like plain ones and refuse every change."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from streamcore.values.frozen import FrozenDict, FrozenList, freeze, thaw

PLAIN = {"a": [1, {"b": [None, True, 1.5, "x"]}], "c": {}, "d": []}


def test_freeze_equals_plain():
    """A frozen value equals, prints and serialises as the plain one."""
    frozen = freeze(PLAIN)
    assert frozen == PLAIN and PLAIN == frozen
    assert repr(frozen) == repr(PLAIN)
    assert json.dumps(frozen) == json.dumps(PLAIN)
    assert frozen["a"][1]["b"][3] == "x"
    assert isinstance(frozen["a"][1], FrozenDict) and isinstance(frozen["d"], FrozenList)


def test_freeze_copies():
    """Later changes to what was given do not reach the frozen value."""
    given = {"a": [1]}
    frozen = freeze(given)
    given["a"].append(2)
    given["b"] = 3
    assert frozen == {"a": [1]}


def test_freeze_once():
    """A frozen value is not copied again; scalars stay; tuples become lists."""
    frozen = freeze(PLAIN)
    assert freeze(frozen) is frozen
    assert freeze("x") == "x" and freeze(None) is None
    assert freeze((1, [2])) == [1, [2]]


def test_thaw_gives_plain():
    """Thawing gives plain containers at every depth, which can be changed."""
    plain = thaw(freeze(PLAIN))
    assert plain == PLAIN
    assert type(plain) is dict and type(plain["a"]) is list and type(plain["a"][1]) is dict
    plain["a"].append(2)


def set_item(value, key):
    value[key] = 1


def del_item(value, key):
    del value[key]


def add_in_place(value):
    value += [1]


def repeat_in_place(value):
    value *= 2


@pytest.mark.parametrize(
    "change",
    [
        lambda d: set_item(d, "a"),
        lambda d: del_item(d, "a"),
        lambda d: d.clear(),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.setdefault("z", 1),
        lambda d: d.update(z=1),
        lambda d: d.__ior__({"z": 1}),
        lambda d: setattr(d, "z", 1),
    ],
)
def test_frozen_dict_refuses_change(change):
    """No method and no operator changes a frozen dict."""
    frozen = freeze(PLAIN)
    with pytest.raises((TypeError, AttributeError)):
        change(frozen)
    assert frozen == PLAIN


@pytest.mark.parametrize(
    "change",
    [
        lambda li: set_item(li, 0),
        lambda li: set_item(li, slice(0, 1)),
        lambda li: del_item(li, 0),
        add_in_place,
        repeat_in_place,
        lambda li: li.append(1),
        lambda li: li.clear(),
        lambda li: li.extend([1]),
        lambda li: li.insert(0, 1),
        lambda li: li.pop(),
        lambda li: li.remove(1),
        lambda li: li.reverse(),
        lambda li: li.sort(),
        lambda li: setattr(li, "z", 1),
    ],
)
def test_frozen_list_refuses_change(change):
    """No method and no operator changes a frozen list."""
    frozen = freeze([1, 2])
    with pytest.raises((TypeError, AttributeError)):
        change(frozen)
    assert frozen == [1, 2]


def test_every_mutator_is_refused():
    """Every method that changes a dict or list in this Python is overridden."""
    readers = {"copy", "count", "fromkeys", "get", "index", "items", "keys", "values"}
    for frozen, plain in ((FrozenDict, dict), (FrozenList, list)):
        public = {name for name in dir(plain) if not name.startswith("_")} - readers
        operators = {"__setitem__", "__delitem__", "__ior__", "__iadd__", "__imul__"}
        for name in public | (operators & set(dir(plain))):
            assert getattr(frozen, name) is not getattr(plain, name), name


def test_frozen_pickle_and_copy():
    """A pickle comes back frozen and equal; a copy is the value itself."""
    frozen = freeze(PLAIN)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(frozen, protocol))
        assert back == frozen and type(back) is FrozenDict and type(back["a"]) is FrozenList
    assert copy.copy(frozen) is frozen and copy.deepcopy(frozen) is frozen
    assert copy.deepcopy(frozen["a"]) is frozen["a"]


def test_frozen_hash():
    """Equal frozen values have equal hashes, whatever the order of keys."""
    assert hash(freeze({"a": [1], "b": {}})) == hash(freeze({"b": {}, "a": [1]}))
    assert len({freeze([1, {"a": 2}]), freeze([1, {"a": 2}]), freeze([])}) == 2
    with pytest.raises(TypeError):
        hash(freeze({"a": {1, 2}}))
