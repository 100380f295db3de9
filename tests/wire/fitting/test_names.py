# SPDX-License-Identifier: MIT
"""Ids of calls and names of tools: what fits stays, the rest is mapped, always the same way."""

from __future__ import annotations

import random
import re
from typing import Dict, List

import pytest

from streamcore.values.messages import Message, ToolCall
from fitting_support import answer, fitted, result, user

NINE = "[A-Za-z0-9]{9}"
FORTY = "[A-Za-z0-9_-]{1,40}"


def steps(*ids: str) -> List[Message]:
    """Return a history of one step for each word, a call for each of its comma-parted ids."""
    history: List[Message] = [user()]
    for word in ids:
        each = word.split(",")
        history.append(answer(*(ToolCall(one, "f") for one in each)))
        history += [result(one) for one in reversed(each)]
    return history


def sent_ids(messages: List[Message], pattern: str, unique: bool = False) -> List[str]:
    """Return the ids of the calls as sent; a result without its call fails the test."""
    sent = fitted(messages, call_ids=pattern, unique_call_ids=unique)
    calls = [call.id for message in sent for call in message.tool_calls]
    assert calls == [one.call_id for message in sent for one in message.tool_results]
    return calls


def test_id_that_fits_stays() -> None:
    """An id that matches stays, even repeated, if ids need not be unique."""
    ids = ["abcdefgh1", "abcdefgh1,abcdefgh2", "abcdefgh1"]
    assert sent_ids(steps(*ids), NINE) == ",".join(ids).split(",")


@pytest.mark.parametrize("told", [
    "call_0", "call_0_2", "x" * 60, "", "functions.f:0", "é\n", "\ud83d",
])
def test_id_that_does_not_fit_is_mapped(told: str) -> None:
    """A call and its result get the same id, and the same one each time."""
    first, again, other = sent_ids(steps(told, told, "call_1"), NINE)
    assert re.fullmatch(NINE, first) and first == again != other


def test_ids_that_repeat_are_told_apart_where_unique() -> None:
    """The first stays, so that nothing changes before the repeat."""
    counters: Dict[str, int] = {}
    history = steps("call_0", "call_0", "call_0,call_1")
    fitted(history, counters, call_ids=FORTY, unique_call_ids=True)
    ids = sent_ids(history, FORTY, unique=True)
    assert ids[0] == "call_0" and ids[3] == "call_1" and len(set(ids)) == 4
    assert counters == {"call_id_mapped": 2}


def test_id_never_meets_one_that_was_made() -> None:
    """An id told later that equals a made one gives way: ids depend on what precedes them."""
    made = sent_ids(steps("call_0"), NINE)[0]
    for unique in (True, False):
        for history in (steps("call_0", made, made), steps(f"call_0,{made}")):
            ids = sent_ids(history, NINE, unique)
            assert ids[0] == made and made not in ids[1:]


@pytest.mark.parametrize("pattern", ["", NINE, FORTY, "(?s:.{1,40})"])
@pytest.mark.parametrize("unique", [True, False])
def test_random_ids(pattern: str, unique: bool) -> None:
    """Ids fit, pairs stay pairs, no two calls of a step are one, and a prefix keeps its ids."""
    for seed in range(40):
        rng = random.Random(seed)
        pool = ["call_0", "call_1", "a" * 41, "", "x.y:1", "abcdefgh1", "é", "call_0_2"]
        words = [",".join(rng.sample(pool, rng.randrange(1, 4))) for _ in range(8)]
        ids = sent_ids(steps(*words), pattern, unique)
        assert all(re.fullmatch(pattern or "(?s:.*)", one) for one in ids), seed
        assert not unique or len(set(ids)) == len(ids), seed
        place = 0
        for word in words:
            count = len(word.split(","))
            assert len(set(ids[place : place + count])) == count, seed
            place += count
        half = sent_ids(steps(*words[:4]), pattern, unique)
        assert ids[: len(half)] == half, seed
        by_id = dict(zip(",".join(words).split(","), ids))
        assert len(set(by_id.values())) == len(by_id), seed


def test_many_repeats_are_quick() -> None:
    """A session of thousands of steps that all say ``call_0`` is mapped in one pass."""
    ids = sent_ids(steps(*["call_0"] * 3000), FORTY, unique=True)
    assert len(set(ids)) == 3000


@pytest.mark.parametrize("name", ["a.b", "a b", "ä", "x" * 65, "1.2", "-.", "\ud83d"])
@pytest.mark.parametrize("pattern", [
    "[A-Za-z0-9_-]{1,64}", "[A-Za-z_][A-Za-z0-9_-]{0,63}", "[a-z0-9_]{1,10}",
])
def test_name_in_a_history_is_mapped(name: str, pattern: str) -> None:
    """The name matches, is the same each time, and differs from every other name."""
    counters: Dict[str, int] = {}
    names = [name, name, name + "!", "plain_1"]
    history: List[Message] = [user()]
    for one in names:
        history += [answer(ToolCall("c", one)), result("c")]
    sent = fitted(history, counters, tool_names=pattern)
    first, again, other, plain = [c.name for m in sent for c in m.tool_calls]
    assert re.fullmatch(pattern, first) and first == again != other and plain == "plain_1"
    assert counters == {"tool_name_mapped": 3}
