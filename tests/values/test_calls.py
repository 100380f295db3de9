# SPDX-License-Identifier: MIT
"""A call's config and request, frozen at every depth, and the context beside them."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from dataclasses import FrozenInstanceError, replace
from typing import Any, Dict, List

import pytest

from streamcore.values.calls import CallConfig, CallContext, LlmRequest
from streamcore.values.clock import WaitBudget
from streamcore.values.errors import LlmError
from streamcore.values.limits import Limits
from streamcore.values.messages import Message, TextBlock

TOOL = {"name": "look", "parameters": {"type": "object", "properties": {"at": {"enum": ["a"]}}}}


def everything() -> Dict[str, Any]:
    """Return a config in which every field is set."""
    return {
        "model": "m", "provider": "p", "tool_choice": {"type": "x"}, "parallel_tool_calls": False,
        "response_format": {"type": "json_object"}, "temperature": 0.0, "top_p": 1.0, "seed": 0,
        "max_tokens": 1, "stop": ["a", "b"], "reasoning_effort": "high",
        "extra_body": {"k": [1, {"x": None}]}, "session_id": "s", "user_id": "u",
    }


def test_config_to_dict_and_back_loses_nothing() -> None:
    """A config's dict keeps zero and False, leaves None out, and has plain containers."""
    config = CallConfig(**everything())
    assert config.to_dict() == everything()
    assert type(config.to_dict()["extra_body"]["k"]) is list
    assert CallConfig.from_dict(config.to_dict()) == config
    assert CallConfig("m").to_dict() == {"model": "m", "provider": "openai-compatible"}
    assert CallConfig.from_dict({"model": "m", "later": 1}) == CallConfig("m")


def test_config_is_frozen_and_its_own_copy() -> None:
    """A later change to the caller's containers does not reach the config."""
    given = everything()
    config = CallConfig(**given)
    given["extra_body"]["k"].append("more")
    given["stop"].append("c")
    assert config.to_dict() == everything()
    with pytest.raises(TypeError):
        config.extra_body["k"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        config.extra_body["k"].append(1)  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        config.model = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", ["tool_choice", "response_format", "stop", "extra_body"])
def test_config_circular_value_is_an_invalid_request(name: str) -> None:
    """A value that contains itself is refused; the error names the field."""
    circle: Dict[str, Any] = {}
    circle["inner"] = [circle]
    with pytest.raises(LlmError, match=name) as caught:
        CallConfig("m", **{name: circle})
    assert caught.value.code == "INVALID_REQUEST"


def test_request_is_frozen_and_its_own_copy() -> None:
    """Messages, tools and their schemas are copied when the request is made."""
    said: List[Any] = [{"role": "user", "content": [{"type": "odd", "x": [1]}]}]
    tools = [dict(TOOL, parameters={"type": "object", "required": ["at"]})]
    request = LlmRequest.make("m", said, "be good", tools)
    before = (request.messages, request.tools)
    said[0]["content"][0]["x"].append(2)
    said.append("more")
    tools[0]["parameters"]["required"].append("b")  # type: ignore[index]
    assert (request.messages, request.tools) == before
    assert request.tools[0]["function"]["parameters"]["required"] == ["at"]
    with pytest.raises(TypeError):
        request.tools[0]["function"]["parameters"]["required"].append("b")


def test_request_read_twice_is_the_same() -> None:
    """A request made from another request's messages and tools equals that request."""
    request = LlmRequest.make("m", "hi", None, [TOOL], temperature=0.5)
    again = replace(request, config=replace(request.config, seed=1))
    assert (again.messages, again.tools) == (request.messages, request.tools)
    assert request.messages == (Message("user", (TextBlock("hi"),)),)


def test_request_context_is_no_part_of_its_value() -> None:
    """Two requests that ask the same are equal, even with different contexts."""
    one = LlmRequest.make("m", "hi")
    other = replace(one, context=CallContext(threading.Event()))
    assert one == other
    assert "context" not in repr(one)


@pytest.mark.parametrize("rest", [{"limits": {"idle_timeout": 3}}, {"headers": [("a", "b")]}])
def test_context_of_wrong_types_is_refused(rest: Dict[str, Any]) -> None:
    """Limits or headers of a wrong type are refused when they are given."""
    with pytest.raises(TypeError):
        CallContext(**rest)
    assert CallContext(limits=Limits(idle_timeout=3)).limits == Limits(idle_timeout=3)


def test_context_stop_is_set_by_cancel_and_by_close() -> None:
    """The stop event is set by cancel and by close alike."""
    cancel = threading.Event()
    cancelled, closed, neither = CallContext(cancel), CallContext(), CallContext()
    assert not cancelled.stop.is_set()
    cancel.set()
    closed.close()
    assert cancelled.stop.is_set() and cancelled.cancelled and not cancelled.closed
    assert closed.stop.is_set() and closed.closed and not closed.cancelled
    assert not neither.stop.is_set()


def test_context_close_drops_the_connection_there_is_and_the_one_that_comes() -> None:
    """A connection made while close() runs in another thread is dropped too."""
    dropped: List[str] = []
    context = CallContext()
    context.connected(lambda: dropped.append("first"))
    context.connected(None)
    context.close()
    assert dropped == []
    context.connected(lambda: dropped.append("second"))
    assert dropped == ["second"]
    context.close()
    assert dropped == ["second", "second"]


def test_context_stop_does_not_keep_the_context_alive() -> None:
    """A connection that holds the stop event does not keep the call's context alive."""
    context = CallContext()
    stop, gone = context.stop, weakref.ref(context)
    gc.disable()
    try:
        del context
        assert gone() is None and not stop.is_set()
    finally:
        gc.enable()


def test_context_pause_counts_on_the_total_clock_and_ends_with_cancel() -> None:
    """A wait between attempts is spent from the budget; a set event ends it at once."""
    context = CallContext(threading.Event())
    context.budget = WaitBudget(5.0)
    assert context.pause(0.03) >= 0.02
    assert context.budget.left() <= 4.98
    assert context.cancel is not None
    context.cancel.set()
    began = time.monotonic()
    context.pause(5.0)
    assert time.monotonic() - began < 1.0


def test_context_begin_again_forgets_the_failed_attempt() -> None:
    """The facts of one attempt are gone before the next attempt."""
    context = CallContext(raw_events=["event"])
    context.request_id, context.status = "req", 503
    context.diagnostics["skipped"] = 1
    shown, raw = context.diagnostics, context.raw_events
    context.begin_again()
    assert (context.request_id, context.status, shown, raw) == (None, None, {}, [])
    assert context.diagnostics is shown and context.raw_events is raw
