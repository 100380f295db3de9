# SPDX-License-Identifier: MIT
"""The public error: its facts, its copies, and the line that shows its causes."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from streamcore.values.errors import (
    CODES, Failure, LlmError, Partial, aborted_error, error_chain, is_retryable,
)
from streamcore.values.usage import TokenUsage

PARTIAL = Partial("text", "thought", TokenUsage(1, 2))


def full_error():
    return LlmError(
        "slow down",
        "RATE_LIMIT",
        partial=PARTIAL,
        status=429,
        retry_after=1.5,
        request_id="r1",
        phase="headers",
    )


def twins(error):
    yield copy.copy(error)
    yield copy.deepcopy(error)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(error, protocol))


@pytest.mark.parametrize("error, text", [
    (aborted_error(), "cancelled by the caller"),
    (aborted_error("while waiting"), "cancelled by the caller while waiting"),
    (aborted_error("while reading", closed=True), "closed by the caller while reading"),
])
def test_aborted_error_says_who_stopped_what(error, text):
    """A stop by the caller always has the same words, and is never worth another try."""
    assert error.failure == Failure("ABORTED", text)
    assert aborted_error(phase="body").failure.phase == "body"


@pytest.mark.parametrize("code", sorted(CODES))
def test_retryable_default_by_code(code):
    """An error is retryable when its code says so, unless the raiser says otherwise."""
    assert LlmError("m", code).retryable is CODES[code]
    assert LlmError("m", code, retryable=not CODES[code]).retryable is not CODES[code]


@pytest.mark.parametrize("code, retryable", [("HTTP_409", True), ("HTTP_404", False), ("X", False)])
def test_retryable_unknown_code(code, retryable):
    """Of the codes outside ``CODES``, only HTTP 409 is worth another try."""
    assert is_retryable(code) is retryable


def test_error_shows_code_and_message():
    """The text has code and message, the repr is short, and ``args`` is the message alone."""
    error = full_error()
    assert str(error) == "RATE_LIMIT: slow down"
    assert repr(error) == "LlmError('slow down', 'RATE_LIMIT')"
    assert error.args == ("slow down",)


def test_error_copies_keep_facts():
    """Failure, partial, text and repr survive copy, deepcopy and every pickle protocol."""
    error = full_error()
    for twin in twins(error):
        assert type(twin) is LlmError and twin is not error
        assert (twin.failure, twin.partial) == (error.failure, error.partial)
        assert (str(twin), repr(twin), twin.args) == (str(error), repr(error), error.args)


def test_error_copies_after_change():
    """A copy has what with_facts and with_partial changed."""
    error = LlmError("a", "SERVER")
    assert error.with_facts(message="b", phase="body") is error
    assert error.with_partial(PARTIAL) is error
    for twin in twins(error):
        assert (twin.failure.message, twin.failure.phase) == ("b", "body")
        assert (twin.partial, twin.args) == (PARTIAL, ("b",))


def chained(how):
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            if how == "from":
                raise LlmError("outer", "SERVER") from inner
            if how == "from none":
                raise LlmError("outer", "SERVER") from None
            raise LlmError("outer", "SERVER")
    except LlmError as error:
        return error


@pytest.mark.parametrize("how", ["from", "context", "from none"])
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_error_copy_keeps_chain(how, make):
    """A copy has the same chain as the error: cause, context, or hidden context."""
    error = chained(how)
    twin = make(error)
    assert error_chain(twin) == error_chain(error)
    assert (twin.__cause__, twin.__context__) == (error.__cause__, error.__context__)
    assert twin.__suppress_context__ is error.__suppress_context__


def test_error_pickles_with_odd_cause():
    """A cause that cannot be pickled or copied does not spoil the error's own copies."""
    error = full_error()
    error.__cause__ = ValueError(lambda: None)
    for twin in twins(error):
        assert twin.failure == error.failure


def test_error_subclass_of_exception_only():
    """The error is an Exception, and wrong facts are a TypeError."""
    assert issubclass(LlmError, Exception)
    with pytest.raises(TypeError):
        LlmError("m", "SERVER", no_such_fact=1)


def test_failure_dict_round_trip():
    """to_dict keeps the set fields in JSON types; from_dict reads them and ignores other names."""
    failure = full_error().failure
    written = json.loads(json.dumps(failure.to_dict()))
    assert "clock" not in written
    assert Failure.from_dict({**written, "later": 1}) == failure
    assert LlmError.from_failure(failure, PARTIAL).failure == failure


def test_failure_values_frozen():
    """A failure and a partial cannot be changed, and can be hashed."""
    for value, name in ((full_error().failure, "code"), (PARTIAL, "text")):
        with pytest.raises(AttributeError):
            setattr(value, name, "x")
        hash(value)


class Unshowable(Exception):
    def __str__(self):
        raise RuntimeError("no")


class OddText(Exception):
    def __str__(self):
        return 5


class OddCause(Exception):
    __cause__ = property(lambda self: 1 / 0)


class NoException:
    __cause__ = None
    __suppress_context__ = False
    __context__ = "a string"


class PointsElsewhere(Exception):
    __cause__ = NoException()


def link(*exceptions):
    for outer, inner in zip(exceptions, exceptions[1:]):
        outer.__cause__ = inner
    return exceptions[0]


@pytest.mark.parametrize(
    "exc, line",
    [
        (None, ""),
        (ValueError(), "ValueError"),
        (ValueError("a\n  b\u2028c"), "ValueError: a b c"),
        (LlmError("m", "SERVER"), "SERVER: m"),
        (link(LlmError("m", "SERVER"), OSError("x")), "SERVER: m ← OSError: x"),
        (link(OSError("x"), OSError("x"), OSError("y")), "OSError: x ← OSError: y"),
        (Unshowable(), "Unshowable: (cannot be shown)"),
        (OddText(), "OddText: (cannot be shown)"),
        (OddCause("x"), "OddCause: x"),
        (ValueError("\ud83d"), "ValueError: ?"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
def test_chain_links(exc, line):
    """Each link is its type and text on one line, whatever the exception is."""
    assert error_chain(exc) == line


def test_chain_cycle_ends():
    """A cycle of causes ends the line."""
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert error_chain(first) == "ValueError: 1 ← ValueError: 2"
    second.__cause__ = second
    assert error_chain(first) == "ValueError: 1 ← ValueError: 2"


def test_chain_objects_that_are_no_exceptions():
    """A chain that leads to other objects is shown as far as it goes."""
    assert error_chain(PointsElsewhere("x")).startswith("PointsElsewhere: x ← NoException: ")


def test_chain_is_bounded():
    """At most eight links of at most 400 characters are shown."""
    line = error_chain(link(*(ValueError(f"{n}" + "x" * 10**5) for n in range(50))))
    links = line.split(" ← ")
    assert len(links) == 9 and links[-1] == "…"
    assert max(map(len, links)) == 400


@pytest.mark.parametrize("how, shown", [("from", True), ("context", True), ("from none", False)])
def test_chain_context(how, shown):
    """The context is shown unless `from None` hides it."""
    assert ("inner" in error_chain(chained(how))) is shown


@pytest.mark.parametrize("facts, error, text", [
    ({"code": 7}, TypeError, "a code is a string, not int"),
    ({"code": None}, TypeError, "a code is a string, not NoneType"),
    ({"status": 42}, ValueError, "from 100 to 999: 42"),
    ({"status": 1000}, ValueError, "from 100 to 999: 1000"),
    ({"status": "429"}, TypeError, "a status is a whole number, not str"),
    ({"status": True}, TypeError, "a status is a whole number, not bool"),
    ({"retry_after": -1}, ValueError, "retry_after"),
    ({"retry_after": float("nan")}, ValueError, "retry_after"),
    ({"retry_after": float("inf")}, ValueError, "retry_after"),
    ({"retry_after": "5"}, TypeError, "retry_after"),
    ({"details": "x"}, ValueError, "dictionary"),
])
def test_facts_that_cannot_be_are_refused(facts, error, text):
    """A failure is checked when it is made, and when its facts change."""
    with pytest.raises(error, match=text):
        LlmError(**{"message": "m", "code": "SERVER", **facts})
    if "code" not in facts:
        with pytest.raises(error, match=text):
            LlmError("m", "SERVER").with_facts(**facts)


def test_edges_of_the_facts_pass():
    """Every status of three digits and every wait of 0 or more is accepted."""
    for status in (100, 999):
        assert LlmError("m", "SERVER", status=status, retry_after=0).failure.status == status


def test_details_are_frozen_and_kept():
    """The details survive dicts, JSON, copies and pickles, and cannot be changed."""
    given = {"type": "overloaded_error", "stop": {"category": ["cyber"]}}
    error = LlmError("m", "SERVER", details=given)
    given["stop"]["category"].append("later")
    kept = {"type": "overloaded_error", "stop": {"category": ["cyber"]}}
    assert error.failure.details == kept
    with pytest.raises(TypeError):
        error.failure.details["stop"]["category"].append("x")
    shown = json.loads(json.dumps(error.failure.to_dict()))
    assert shown["details"] == kept and Failure.from_dict(shown) == error.failure
    for twin in twins(error):
        assert twin.failure == error.failure and twin.failure.details == kept
    error.failure.to_dict()["details"]["stop"]["category"].append("y")
    assert error.failure.details == kept
    assert "details" not in LlmError("m", "SERVER").failure.to_dict()
