# SPDX-License-Identifier: MIT
"""Token counts: an unknown count stays unknown."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from streamcore.values.usage import TokenUsage


def test_usage_starts_unknown():
    """No count is invented: each count and the billed sum are None."""
    usage = TokenUsage()
    assert usage.to_dict() == {}
    assert usage.billed_input_tokens is None


@pytest.mark.parametrize(
    "usage, billed",
    [
        (TokenUsage(input_tokens=5), 5),
        (TokenUsage(5, 9, 3, 2), 10),
        (TokenUsage(cache_read_tokens=3), 3),
        (TokenUsage(0, 0, 0, 0), 0),
        (TokenUsage(output_tokens=4, reasoning_tokens=2), None),
    ],
)
def test_usage_billed_input(usage, billed):
    """Billed input is the sum of the input counts that are known."""
    assert usage.billed_input_tokens == billed


@pytest.mark.parametrize(
    "mine, theirs, total",
    [
        (TokenUsage(1, 2), TokenUsage(3, 4), TokenUsage(4, 6)),
        (TokenUsage(1), TokenUsage(output_tokens=2), TokenUsage(1, 2)),
        (TokenUsage(), TokenUsage(), TokenUsage()),
        (TokenUsage(0), TokenUsage(), TokenUsage(0)),
        (TokenUsage(), TokenUsage(0), TokenUsage(0)),
        (TokenUsage(1, 2, 3, 4, 5), TokenUsage(1, 2, 3, 4, 5), TokenUsage(2, 4, 6, 8, 10)),
    ],
)
def test_usage_sum(mine, theirs, total):
    """A sum keeps a count that one side knows; a count unknown to both stays unknown."""
    assert mine + theirs == total == theirs + mine


@pytest.mark.parametrize("other", [5, None, "x", {"input_tokens": 1}])
def test_usage_sum_wrong_type(other):
    """A usage can be added only to a usage."""
    with pytest.raises(TypeError):
        TokenUsage(1) + other


def test_usage_dict_round_trip():
    """to_dict writes known counts, zero included; from_dict ignores unknown names."""
    usage = TokenUsage(0, 7, reasoning_tokens=3)
    assert usage.to_dict() == {"input_tokens": 0, "output_tokens": 7, "reasoning_tokens": 3}
    assert TokenUsage.from_dict({**usage.to_dict(), "later": 1}) == usage


def test_usage_is_a_frozen_value():
    """A usage cannot be changed, can be hashed, copied and pickled."""
    usage = TokenUsage(1, 2)
    with pytest.raises(AttributeError):
        usage.input_tokens = 3
    assert {usage: 1}[TokenUsage(1, 2)] == 1
    assert copy.deepcopy(usage) == pickle.loads(pickle.dumps(usage)) == usage


@pytest.mark.parametrize(
    "usage, total",
    [
        (TokenUsage(), None),
        (TokenUsage(reasoning_tokens=2), None),
        (TokenUsage(output_tokens=4), 4),
        (TokenUsage(5, 9, 3, 2, 7), 19),
        (TokenUsage(0, 0), 0),
    ],
)
def test_usage_total(usage, total):
    """The total is the known input and output; reasoning is part of the output."""
    assert usage.total_tokens == total


def test_usage_raw_is_kept_and_frozen():
    """The provider's report survives dicts, JSON, copies and pickles, and cannot be changed."""
    report = {"prompt_tokens": 1, "cost": 0.25, "server_tool_use": {"web_search_requests": 2}}
    usage = TokenUsage(1, raw=report)
    report["server_tool_use"]["web_search_requests"] = 9
    kept = {"prompt_tokens": 1, "cost": 0.25, "server_tool_use": {"web_search_requests": 2}}
    shown = json.loads(json.dumps(usage.to_dict()))
    assert shown == {"input_tokens": 1, "raw": kept}
    twins = TokenUsage.from_dict(shown), copy.deepcopy(usage), pickle.loads(pickle.dumps(usage))
    for twin in twins:
        assert twin == usage and twin.raw == kept
    with pytest.raises(TypeError):
        usage.raw["cost"] = 0


def test_usage_raw_is_no_part_of_the_counts():
    """Usages with equal counts are equal; a sum has no report."""
    told = TokenUsage(1, 2, raw={"cost": 1})
    assert told == TokenUsage(1, 2) and hash(told) == hash(TokenUsage(1, 2))
    assert (told + told).raw is None and told + told == TokenUsage(2, 4)
    assert "cost" not in repr(told)
