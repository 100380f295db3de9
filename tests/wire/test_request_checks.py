# SPDX-License-Identifier: MIT
"""The checks of a request that every dialect makes: tools and the choice of a tool.

The plain settings are tried, value by value, where a dialect writes them.
"""

from __future__ import annotations

from typing import Any, Dict

import pytest

from streamcore.values.calls import LlmRequest
from streamcore.values.errors import LlmError
from streamcore.wire.dialects.options import DialectOptions
from streamcore.wire.request_checks import check_request
from support import build_body

FUNCTION = {"type": "function", "function": {"name": "f"}}


def check(pattern: str = "", **given: Any) -> None:
    """Check a request with these settings."""
    options = DialectOptions(tool_names=pattern).resolved()
    check_request(LlmRequest.make("m", "hi", **given), options, ("model", "input"))


def refused(pattern: str = "", **given: Any) -> str:
    """Return the sentence of the refusal."""
    with pytest.raises(LlmError) as caught:
        check(pattern, **given)
    assert caught.value.code == "INVALID_REQUEST" and caught.value.failure.phase == "prepare"
    return caught.value.failure.message


@pytest.mark.parametrize("name", ["a.b", "a b", "ä", "x" * 65, "\ud83d"])
def test_tool_name_that_is_not_taken(name: str) -> None:
    """A name that does not match the pattern is refused; another provider accepts it."""
    text = refused("[A-Za-z0-9_-]{1,64}", tools=[{"name": "good"}, {"name": name}])
    assert "tool name" in text and text.isascii()
    check(tools=[{"name": name}])


@pytest.mark.parametrize("choice", ["auto", "none", "required", "f", FUNCTION, {"type": "auto"}])
def test_choice_without_tools(choice: Any) -> None:
    """Any tool choice without tools is refused."""
    assert "has no tools" in refused(tool_choice=choice)
    check(tool_choice=choice, tools=[FUNCTION])


@pytest.mark.parametrize("choice", ["g", "Auto", {"type": "function", "function": {"name": "g"}}])
def test_choice_that_names_no_tool(choice: Any) -> None:
    """The error tells the tools of the request."""
    assert "'f'" in refused(tool_choice=choice, tools=[FUNCTION, {"type": "web_search"}])


def test_choice_with_tools_in_the_extra_body() -> None:
    """A choice is not checked if extra_body has tools in the provider's own form."""
    check(tool_choice="g", extra_body={"tools": [{"name": "g"}]})


@pytest.mark.parametrize("parallel", [True, False])
def test_parallel_calls_without_tools(parallel: bool) -> None:
    """The setting is in the body only if there are tools."""
    asked: Dict[str, Any] = {"parallel_tool_calls": parallel}
    assert "parallel_tool_calls" not in build_body(LlmRequest.make("m", "hi", **asked))
    body = build_body(LlmRequest.make("m", "hi", tools=[FUNCTION], **asked))
    assert body["parallel_tool_calls"] is parallel
    body = build_body(LlmRequest.make("m", "hi", extra_body={"tools": []}, **asked))
    assert body["parallel_tool_calls"] is parallel


def test_extra_body_cannot_set_what_the_dialect_keeps() -> None:
    """extra_body cannot set the fields that the dialect reserves."""
    assert "input" in refused(extra_body={"input": []})
    check(extra_body={"messages": []})
