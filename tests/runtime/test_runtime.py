# SPDX-License-Identifier: MIT
"""The runtime: which adapter answers, and one call that is resolved, frozen, dispatched once."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from typing import Any, Callable, Iterable, Iterator, List, Optional

import pytest

from streamcore.providers import ModelInfo, get_profile
from streamcore.runtime import LlmRuntime
from streamcore.values.calls import CallConfig, CallContext, LlmRequest
from streamcore.values.chunks import (
    BlockEnd, BlockStart, Finish, FinishReason, StreamChunk, TextDelta, UsageChunk,
)
from streamcore.values.errors import LlmError, Partial
from streamcore.values.grammar import check_grammar
from streamcore.values.messages import TextBlock
from streamcore.values.retry import RetryPolicy
from streamcore.values.usage import TokenUsage

STOP = Finish(FinishReason("stop"), "stop")


def answer(text: str = "hello") -> List[StreamChunk]:
    """Return the chunks of a good answer with one text block."""
    return [BlockStart(0, "text"), TextDelta(0, text), BlockEnd(0, TextBlock(text)), STOP]


class Canned:
    """An adapter that yields these chunks, and raises an exception that is among them."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks: Iterable[Any] = chunks or answer()
        self.requests: List[LlmRequest] = []
        self.closed = 0

    def stream(self, request: LlmRequest) -> Iterator[StreamChunk]:
        """Return the chunks."""
        self.requests.append(request)
        return self._run()

    def _run(self) -> Iterator[StreamChunk]:
        try:
            for chunk in self.chunks:
                if isinstance(chunk, BaseException):
                    raise chunk
                yield chunk
        finally:
            self.closed += 1


class Knowing(Canned):
    """An adapter that knows one model."""

    def __init__(self, info: Any) -> None:
        super().__init__()
        self.info = info

    def resolve_model(self, model: str) -> Any:
        """Return the metadata, or raise it."""
        if isinstance(self.info, Exception):
            raise self.info
        return self.info

    def list_models(self) -> List[str]:
        """Return the names."""
        return ["big", "small"]


def runtime(adapter: Any = None, *routes: str) -> LlmRuntime:
    """A runtime with one adapter."""
    one = LlmRuntime()
    one.register_adapter(routes or ("p",), adapter or Canned())
    return one


def code_of(call: Callable[[], Any]) -> str:
    """Return the code of the error that a call must raise."""
    with pytest.raises(LlmError) as caught:
        call()
    return caught.value.code


def run(one: LlmRuntime, config: CallConfig = CallConfig("m", "p"), **context: Any) -> List[Any]:
    """Prepare a call, stream it, and check its grammar."""
    prepared = one.prepare_call(config, context=CallContext(**context))
    request = LlmRequest.make("m", "hi").with_config(prepared.config)
    return list(check_grammar(prepared.stream(request)))


# Registering.


def test_register_is_all_or_nothing() -> None:
    """If one route is taken, none of the others is registered."""
    one = runtime(None, "a", "b")
    assert code_of(lambda: one.register_adapter(["c", "b"], Canned())) == "DUPLICATE_ADAPTER"
    assert one.list_providers() == ("a", "b")
    one.register_adapter("word", Canned())
    assert one.list_providers() == ("a", "b", "word")


@pytest.mark.parametrize(
    "routes, code",
    [
        ([], "INVALID_ADAPTER"), ([""], "INVALID_ADAPTER"), (["a", "  "], "INVALID_ADAPTER"),
        ("", "INVALID_ADAPTER"), ([None], "INVALID_ADAPTER"), (["a", "a"], "DUPLICATE_ADAPTER"),
    ],
)
def test_register_bad_routes(routes: Any, code: str) -> None:
    """Empty or duplicate routes are refused, in register and in replace."""
    one = LlmRuntime()
    assert code_of(lambda: one.register_adapter(routes, Canned())) == code
    handle = one.register_adapter(["x"], Canned())
    assert code_of(lambda: handle.replace(routes)) == code
    assert one.list_providers() == ("x",) and handle.routes == ("x",)


@pytest.mark.parametrize("adapter", [None, object(), "adapter", type("A", (), {"stream": 1})()])
def test_register_what_is_no_adapter(adapter: Any) -> None:
    """An object without stream(request) is refused."""
    assert code_of(lambda: LlmRuntime().register_adapter(["a"], adapter)) == "INVALID_ADAPTER"


def test_replace_is_one_swap() -> None:
    """Old routes go and new ones come in one step; a taken route changes nothing."""
    one = LlmRuntime()
    handle = one.register_adapter(["a", "b"], Canned())
    one.register_adapter(["c"], Canned())
    handle.replace(["b", "d"])
    assert one.list_providers() == ("b", "c", "d") and handle.routes == ("b", "d")
    assert code_of(lambda: handle.replace(["e", "c"])) == "DUPLICATE_ADAPTER"
    assert one.list_providers() == ("b", "c", "d")


def test_dispose_ends_the_registration() -> None:
    """Its routes are free again, and the handle refuses further use."""
    one = LlmRuntime()
    handle = one.register_adapter(["a"], Canned())
    handle.dispose()
    assert one.list_providers() == () and handle.disposed
    assert code_of(lambda: one.prepare_call(CallConfig("m", "a"))) == "NO_ADAPTER"
    assert code_of(lambda: handle.replace(["a"])) == "REGISTRATION_DISPOSED"
    assert code_of(handle.dispose) == "REGISTRATION_DISPOSED"
    one.register_adapter(["a"], Canned())


def test_no_adapter_names_the_routes_there_are() -> None:
    """The error lists the routes that exist."""
    with pytest.raises(LlmError, match="there are: a, b") as caught:
        runtime(None, "b", "a").prepare_call(CallConfig("m", "c"))
    assert caught.value.code == "NO_ADAPTER"
    assert code_of(lambda: LlmRuntime().list_models("x")) == "NO_ADAPTER"
    assert code_of(lambda: LlmRuntime().resolve_model("x", "m")) == "NO_ADAPTER"


def test_registering_from_many_threads() -> None:
    """One of many threads gets a route, and no reader sees half a replacement."""
    one = LlmRuntime()
    won: List[str] = []
    odd: List[Any] = []
    pair = one.register_adapter(["left-0", "right-0"], Canned())
    start = threading.Barrier(9)

    def want(name: str) -> None:
        start.wait()
        for _ in range(50):
            try:
                handle = one.register_adapter(["one", name], Canned())
            except LlmError as error:
                if error.code != "DUPLICATE_ADAPTER":
                    odd.append(error)
            else:
                won.append(name)
                handle.dispose()

    def look() -> None:
        start.wait()
        for number in range(400):
            pair.replace([f"left-{number}", f"right-{number}"])
            seen = [r for r in one.list_providers() if r.startswith(("left", "right"))]
            if len({r.partition("-")[2] for r in seen}) != 1 or len(seen) != 2:
                odd.append(seen)

    threads = [threading.Thread(target=want, args=(f"t{n}",)) for n in range(8)]
    threads.append(threading.Thread(target=look))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not odd and won
    assert one.list_providers() == pair.routes


# Models.


def test_models_are_advice() -> None:
    """The known names are listed, and other names are accepted."""
    one = runtime(Knowing(ModelInfo("big", context_window=10)))
    assert one.list_models("p") == ("big", "small")
    assert one.resolve_model("p", "never-heard-of").context_window == 10
    assert runtime().list_models("p") == ()
    assert runtime().resolve_model("p", "m") == ModelInfo("m")


@pytest.mark.parametrize("info", [None, {"name": "m"}, ValueError("window"), TypeError("efforts")])
def test_models_bad_metadata_is_a_clear_error(info: Any) -> None:
    """resolve_model and prepare_call raise INVALID_ADAPTER that names the model."""
    one = runtime(Knowing(info))
    with pytest.raises(LlmError, match="metadata of 'm'") as caught:
        one.prepare_call(CallConfig("m", "p"))
    assert caught.value.code == "INVALID_ADAPTER"
    assert code_of(lambda: one.resolve_model("p", "m")) == "INVALID_ADAPTER"


@pytest.mark.parametrize("model", ["", " ", None, 5])
def test_model_without_a_name_is_an_invalid_request(model: Any) -> None:
    """The code is INVALID_REQUEST, not INVALID_ADAPTER."""
    assert code_of(lambda: runtime().prepare_call(CallConfig(model, "p"))) == "INVALID_REQUEST"


# Preparing.


def test_prepare_fills_the_adapters_defaults_and_marks_them() -> None:
    """What the caller gave stays, and the filled fields are listed."""
    info = ModelInfo("m", default_max_tokens=99, efforts=("low", "high"), default_effort="low")
    one = runtime(Knowing(info))
    prepared = one.prepare_call(CallConfig("m", "p"))
    assert (prepared.config.max_tokens, prepared.config.reasoning_effort) == (99, "low")
    assert prepared.adapter_defaults == ("max_tokens", "reasoning_effort")
    assert prepared.model is info
    given = CallConfig("m", "p", max_tokens=5, reasoning_effort="high")
    prepared = one.prepare_call(given)
    assert prepared.config == given and prepared.adapter_defaults == ()


def test_prepare_refuses_an_unsupported_effort() -> None:
    """The effort is never replaced by another, and the adapter's stream is not called."""
    adapter = Knowing(ModelInfo("m", efforts=("low",)))
    one = runtime(adapter)
    config = CallConfig("m", "p", reasoning_effort="max")
    with pytest.raises(LlmError, match="there are: low") as caught:
        one.prepare_call(config)
    assert caught.value.code == "UNSUPPORTED_REASONING_EFFORT" and adapter.requests == []
    none = runtime(Knowing(ModelInfo("m", efforts=())))
    assert code_of(lambda: none.prepare_call(config)) == "UNSUPPORTED_REASONING_EFFORT"
    assert runtime().prepare_call(config).config is config  # nothing is known: it passes


def test_prepared_call_goes_through_the_registration_of_its_moment() -> None:
    """Replacing its routes or ending the registration later changes nothing."""
    one, first, second = LlmRuntime(), Canned(*answer("first")), Canned(*answer("second"))
    handle = one.register_adapter(["p"], first)
    prepared = one.prepare_call(CallConfig("m", "p"))
    handle.dispose()
    one.register_adapter(["p"], second)
    chunks = list(prepared.stream(LlmRequest.make("m", "hi", provider="p")))
    assert chunks == answer("first") and second.requests == []


def test_prepared_call_is_dispatched_once() -> None:
    """A second stream() is refused, even if the first one was never pulled."""
    adapter = Canned()
    prepared = runtime(adapter).prepare_call(CallConfig("m", "p"))
    request = LlmRequest.make("m", "hi", provider="p")
    stream = prepared.stream(request)
    assert code_of(lambda: prepared.stream(request)) == "INVALID_PREPARED_CALL"
    assert list(stream) == answer() and len(adapter.requests) == 1


def test_prepared_call_is_dispatched_once_from_many_threads() -> None:
    """Of many threads one gets the stream."""
    adapter = Canned()
    prepared = runtime(adapter).prepare_call(CallConfig("m", "p"))
    request = LlmRequest.make("m", "hi", provider="p")
    start, codes = threading.Barrier(8), []

    def go() -> None:
        start.wait()
        try:
            list(prepared.stream(request))
        except LlmError as error:
            codes.append(error.code)

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == ["INVALID_PREPARED_CALL"] * 7 and len(adapter.requests) == 1


@pytest.mark.parametrize("drift", [{"seed": 1}, {"model": "n"}, {"max_tokens": None}])
def test_prepared_call_with_another_config_is_refused(drift: Any) -> None:
    """The refused request does not use up the call."""
    prepared = runtime(Knowing(ModelInfo("m", default_max_tokens=9))).prepare_call(
        CallConfig("m", "p")
    )
    request = LlmRequest(prepared.config, "hi")  # type: ignore[arg-type]
    drifted = replace(request, config=replace(prepared.config, **drift))
    assert code_of(lambda: prepared.stream(drifted)) == "INVALID_PREPARED_CALL"
    assert list(prepared.stream(request)) == answer()


def test_prepared_call_carries_its_own_context() -> None:
    """The cancel event given to prepare is used, whatever context the request has."""
    adapter, cancel = Canned(), threading.Event()
    prepared = runtime(adapter).prepare_call(CallConfig("m", "p"), cancel)
    stream = prepared.stream(LlmRequest.make("m", "hi", provider="p"))
    next(stream)
    assert adapter.requests[0].context is prepared.context
    cancel.set()
    (end,) = stream
    assert isinstance(end, Finish) and end.reason.kind == "aborted"
    assert adapter.closed == 1


# One finish, whatever happens.


@pytest.mark.parametrize("code, kind", [("TRANSPORT", "error"), ("ABORTED", "aborted")])
def test_failure_of_the_network_is_a_finish(code: str, kind: str) -> None:
    """It is not raised, and ``answer.error`` is the error itself."""
    usage = TokenUsage(input_tokens=1)
    cause = OSError("reset")
    error = LlmError("reset", code, partial=Partial("he", usage=usage), status=503)
    error.__cause__ = cause
    adapter = Canned(BlockStart(0, "text"), TextDelta(0, "he"), error)
    one = runtime(adapter)
    prepared = one.prepare_call(CallConfig("m", "p"))
    chunks = list(check_grammar(prepared.stream(LlmRequest.make("m", "hi", provider="p"))))
    assert chunks[-2:] == [UsageChunk(usage), Finish(FinishReason(kind, error.failure))]
    assert prepared.answer.error is error and error.__cause__ is cause
    assert adapter.closed == 1


def test_stream_without_a_finish_is_a_failure() -> None:
    """An adapter that stops without a finish fails the call."""
    (*_, end) = run(runtime(Canned(BlockStart(0, "text"), TextDelta(0, "he"))))
    assert end.reason.kind == "error" and end.reason.failure.code == "STREAM_CLOSED"


def test_failure_after_the_finish_changes_nothing() -> None:
    """The answer is whole; an error of the adapter's cleanup is not a second finish."""
    assert run(runtime(Canned(*answer(), LlmError("reset", "TRANSPORT")))) == answer()


@pytest.mark.parametrize("whole", [True, False])
def test_cleanup_that_raises_is_a_finish(whole: bool) -> None:
    """A middleware's bug after its last chunk, or beside another failure, is never raised."""
    def middleware(request: LlmRequest, call_next: Any) -> Iterator[Any]:
        try:
            yield from call_next(request)
            if not whole:
                yield TextDelta(0, "after")
        finally:
            raise RuntimeError("cleanup")

    one = runtime(Canned(*answer()))
    one.use(middleware)
    (*_, end) = run(one)
    assert end.reason.failure.code == "INVALID_ADAPTER"


def test_finish_of_a_subclass_is_a_finish() -> None:
    """The stream ends with it."""
    class Own(Finish):
        pass

    adapter = Canned(*answer()[:-1], Own(FinishReason("stop")))
    assert run(runtime(adapter))[-1].reason.kind == "stop"


@pytest.mark.parametrize("raised, code", [
    (KeyError("bug"), "INVALID_ADAPTER"), (ConnectionResetError(104, "reset"), "TRANSPORT"),
])
@pytest.mark.parametrize("when", ["at once", "later"])
def test_other_exception_of_an_adapter_is_a_finish(raised: Exception, code: str, when: str) -> None:
    """It names class and adapter, quotes no text, and has the exception as its cause."""
    adapter = Canned(*answer()[:2], raised)
    if when == "at once":
        adapter.stream = lambda request: (_ for _ in ()).throw(raised)  # type: ignore
    prepared = runtime(adapter).prepare_call(CallConfig("m", "p"))
    chunks = list(check_grammar(prepared.stream(LlmRequest.make("m", "hi", provider="p"))))
    failure = chunks[-1].reason.failure
    assert (failure.code, failure.retryable) == (code, code == "TRANSPORT")
    assert failure.message == f"the adapter raised {type(raised).__name__}"
    assert prepared.answer.error is not None and prepared.answer.error.__cause__ is raised


def test_cancel_wins_over_what_an_adapter_raises_then() -> None:
    """After a cancel the finish is aborted, whatever exception was raised."""
    cancel = threading.Event()

    def chunks() -> Iterator[Any]:
        yield BlockStart(0, "text")
        cancel.set()
        raise KeyError("torn down")

    adapter = Canned()
    adapter.chunks = chunks()
    (*_, end) = run(runtime(adapter), cancel=cancel)
    assert end.reason.kind == "aborted" and end.reason.failure.code == "ABORTED"


@pytest.mark.parametrize("chunks", [
    [*answer(), TextDelta(0, "more")], [*answer(), STOP], [*answer()[:2], *answer()[2:3] * 2, STOP],
])
@pytest.mark.parametrize("wrapped", [False, True])
def test_chunks_that_break_the_grammar_are_no_message(chunks: List[Any], wrapped: bool) -> None:
    """An error finish says what is wrong, and there is no message."""
    one = runtime(Canned() if wrapped else Canned(*chunks))
    if wrapped:
        one.use(lambda request, send: iter(chunks))
    prepared = one.prepare_call(CallConfig("m", "p"))
    given = list(prepared.stream(LlmRequest.make("m", "hi", provider="p")))
    failure = given[-1].reason.failure  # type: ignore[attr-defined]
    assert failure.code == "INVALID_ADAPTER" and not failure.retryable
    assert failure.message.startswith("the middleware" if wrapped else "the adapter")
    assert [chunk.type for chunk in given].count("finish") == 1
    with pytest.raises(LlmError, match="INVALID_ADAPTER"):
        prepared.answer.message


def test_exception_thrown_by_the_consumer_closes_the_stream() -> None:
    """The adapter's stream is closed, and no other chunk is pulled."""
    adapter = Canned()
    prepared = runtime(adapter).prepare_call(CallConfig("m", "p"))
    stream: Any = prepared.stream(LlmRequest.make("m", "hi", provider="p"))
    next(stream)
    stream.close()
    assert adapter.closed == 1 and next(stream, None) is None


def test_cancelled_before_the_call_asks_no_adapter() -> None:
    """There is one aborted finish and no request."""
    adapter, cancel = Canned(), threading.Event()
    cancel.set()
    (end,) = run(runtime(adapter), cancel=cancel)
    assert end.reason.kind == "aborted" and end.reason.failure.code == "ABORTED"
    assert adapter.requests == []


def test_cancel_that_comes_with_the_finish_wins() -> None:
    """A cancel before the finish is handed out gives one aborted finish."""
    cancel = threading.Event()

    def chunks() -> Iterator[Any]:
        yield from answer()[:-1]
        cancel.set()
        yield STOP

    adapter = Canned()
    adapter.chunks = chunks()
    ends = [c for c in run(runtime(adapter), cancel=cancel) if isinstance(c, Finish)]
    assert [end.reason.kind for end in ends] == ["aborted"]


def test_local_mistake_is_raised_at_stream() -> None:
    """What an adapter's ``prepare`` raises, before any I/O, is not a finish."""

    class Refusing(Canned):
        def prepare(self, request: LlmRequest) -> Iterator[StreamChunk]:
            raise LlmError("no key", "MISSING_CREDENTIAL")

    prepared = runtime(Refusing()).prepare_call(CallConfig("m", "p"))
    request = LlmRequest.make("m", "hi", provider="p")
    assert code_of(lambda: prepared.stream(request)) == "MISSING_CREDENTIAL"


def test_adapter_needs_only_a_stream_of_any_kind() -> None:
    """An adapter's stream may return a list."""

    class Simple:
        def stream(self, request: LlmRequest) -> Any:
            return answer()

    assert run(runtime(Simple())) == answer()


# Hooks.


def test_hook_may_propose_another_config() -> None:
    """Hooks run in order and may change provider, model and effort; None changes nothing."""
    one, other = runtime(Canned()), Canned(*answer("other"))
    one.register_adapter(["q"], other)
    seen: List[CallConfig] = []
    one.on_request(lambda config: replace(config, provider="q", model="n"))
    one.on_request(lambda config: seen.append(config))  # type: ignore[func-returns-value]
    prepared = one.prepare_call(CallConfig("m", "p"))
    assert prepared.config == CallConfig("n", "q") == seen[0]
    request = LlmRequest(prepared.config, "hi")  # type: ignore[arg-type]
    assert list(prepared.stream(request)) == answer("other")


def test_hook_that_raises_or_returns_rubbish_stays_raised() -> None:
    """The caller sees the hook's exception, or a TypeError for its answer."""
    one = runtime()
    remove = one.on_request(lambda config: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        one.prepare_call(CallConfig("m", "p"))
    remove()
    one.on_request(lambda config: {"model": "n"})  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="returns a CallConfig"):
        one.prepare_call(CallConfig("m", "p"))


def test_hook_given_twice_is_two_and_each_is_removed_by_itself() -> None:
    """Removing one of the two, even twice, leaves the other."""
    one, calls = runtime(), []

    def hook(config: CallConfig) -> Optional[CallConfig]:
        calls.append(config)
        return None

    first, second = one.on_request(hook), one.on_request(hook)
    one.prepare_call(CallConfig("m", "p"))
    assert len(calls) == 2
    first()
    first()
    one.prepare_call(CallConfig("m", "p"))
    assert len(calls) == 3
    second()
    one.prepare_call(CallConfig("m", "p"))
    assert len(calls) == 3


# Middleware.


def labelled(label: str, log: List[str]) -> Any:
    """Return a middleware that notes its beginning, its chunks and its end."""

    def middleware(request: LlmRequest, call: Any) -> Iterator[StreamChunk]:
        log.append(f"{label} begins")
        for chunk in call(request):
            log.append(f"{label} {chunk.type}")
            yield chunk
        log.append(f"{label} ends")

    return middleware


def test_middleware_wraps_in_order_and_is_removable() -> None:
    """The first one is outermost, and the code after its loop runs."""
    one, log = runtime(Canned(STOP)), []  # type: ignore[var-annotated]
    one.use(labelled("a", log))
    remove = one.use(labelled("b", log))
    assert run(one) == [STOP]
    assert log == ["a begins", "b begins", "b finish", "a finish", "b ends", "a ends"]
    remove()
    del log[:]
    run(one)
    assert log == ["a begins", "a finish", "a ends"]


def test_middleware_given_twice_keeps_its_places() -> None:
    """Removing the last of two equal ones leaves the first in its place."""
    one, log = runtime(Canned(STOP)), []  # type: ignore[var-annotated]
    twice = labelled("twice", log)
    one.use(twice)
    one.use(labelled("middle", log))
    remove = one.use(twice)
    remove()
    run(one)
    assert log[:2] == ["twice begins", "middle begins"]


def test_middleware_may_answer_by_itself() -> None:
    """A cache can answer without a call to the adapter."""
    adapter = Canned()
    one = runtime(adapter)
    one.use(lambda request, call: iter(answer("cached")))
    assert run(one) == answer("cached") and adapter.requests == []


def test_middleware_error_is_a_finish_and_closes_the_stream() -> None:
    """It names the middleware, and has the exception as its cause."""
    adapter, mine = Canned(), RuntimeError("mine")
    one = runtime(adapter)

    def failing(request: LlmRequest, call: Any) -> Iterator[StreamChunk]:
        for chunk in call(request):
            yield chunk
            raise mine

    one.use(failing)
    prepared = one.prepare_call(CallConfig("m", "p"))
    (*_, end) = prepared.stream(LlmRequest.make("m", "hi", provider="p"))
    assert end.reason.failure.message == "the middleware raised RuntimeError"
    assert prepared.answer.error is not None and prepared.answer.error.__cause__ is mine
    assert adapter.closed == 1


@pytest.mark.parametrize("lazy", [False, True])
def test_middleware_cannot_change_the_request(lazy: bool) -> None:
    """Another request than the recorded one is never sent."""
    adapter = Canned()
    one = runtime(adapter)

    def changing(request: LlmRequest, call: Any) -> Iterator[StreamChunk]:
        changed = replace(request, messages="something else")  # type: ignore[arg-type]
        return iter(call(changed))

    def lazily(request: LlmRequest, call: Any) -> Iterator[StreamChunk]:
        yield from changing(request, call)

    one.use(lazily if lazy else changing)
    assert run(one)[-1].reason.failure.code == "INVALID_PREPARED_CALL"
    assert adapter.requests == []


def test_middleware_may_hand_on_an_equal_request() -> None:
    """A copy of the request is accepted, and the call keeps its own cancel."""
    adapter, cancel = Canned(), threading.Event()
    one = runtime(adapter)
    one.use(lambda request, call: call(replace(request, context=CallContext())))
    prepared = one.prepare_call(CallConfig("m", "p"), cancel)
    list(prepared.stream(LlmRequest.make("m", "hi", provider="p")))
    assert adapter.requests[0].context.cancel is cancel


def test_middleware_cannot_dispatch_twice() -> None:
    """A retry inside a middleware is refused, because nothing would count it."""
    adapter = Canned()
    one = runtime(adapter)

    def twice(request: LlmRequest, call: Any) -> Iterator[StreamChunk]:
        list(call(request))
        yield from call(request)

    one.use(twice)
    assert run(one)[-1].reason.failure.code == "INVALID_PREPARED_CALL"
    assert len(adapter.requests) == 1


def test_middleware_added_later_is_not_in_a_prepared_call() -> None:
    """A call keeps the middleware of the time it was prepared."""
    one, log = runtime(Canned(STOP)), []  # type: ignore[var-annotated]
    prepared = one.prepare_call(CallConfig("m", "p"))
    one.use(labelled("late", log))
    assert list(prepared.stream(LlmRequest.make("m", "hi", provider="p"))) == [STOP]
    assert log == []


# Real profiles.


def test_deepseek_effort_lock_is_refused_before_io() -> None:
    """A deployment that only allows the effort off refuses all others."""
    from streamcore.runtime import HttpAdapter, HttpSettings

    profile = get_profile("deepseek").locked_to("off")
    adapter = HttpAdapter(HttpSettings(profile, api_key="k-123456"), None)  # type: ignore[arg-type]
    one = runtime(adapter, "deepseek")
    assert one.resolve_model("deepseek", "deepseek-chat").efforts == ("off",)
    prepared = one.prepare_call(CallConfig("deepseek-chat", "deepseek"))
    assert prepared.config.reasoning_effort == "off"
    assert prepared.facts["effort_fields"]["thinking"] == {"type": "disabled"}
    config = CallConfig("deepseek-chat", "deepseek", reasoning_effort="high")
    assert code_of(lambda: one.prepare_call(config)) == "UNSUPPORTED_REASONING_EFFORT"


def test_prepared_facts_are_frozen() -> None:
    """The facts that are recorded of a call cannot change later."""

    class Describing(Canned):
        def describe(self, config: CallConfig) -> Any:
            return {"options": {"list": [1]}}

    facts = runtime(Describing()).prepare_call(CallConfig("m", "p")).facts
    with pytest.raises(TypeError):
        facts["options"]["list"].append(2)
    assert pickle.loads(pickle.dumps(facts)) == {"options": {"list": [1]}}


def test_prepared_call_is_read_only() -> None:
    """Config, context and retry policy cannot be changed."""
    policy = RetryPolicy(max_retries=7)
    prepared = runtime().prepare_call(CallConfig("m", "p"), retry=policy)
    assert prepared.retry is policy
    for name in ("config", "adapter_defaults", "model", "context", "retry", "facts"):
        with pytest.raises(AttributeError):
            setattr(prepared, name, None)


def test_retry_policy_is_the_adapters_where_none_is_given() -> None:
    """Each call for a profile gets its policy; without one there is no retry."""
    adapter = Canned()
    assert runtime(adapter).prepare_call(CallConfig("m", "p")).retry.max_retries == 0
    adapter.retry = RetryPolicy(max_retries=3)  # type: ignore[attr-defined]
    assert runtime(adapter).prepare_call(CallConfig("m", "p")).retry.max_retries == 3


@pytest.mark.parametrize(
    "code", ["TRANSPORT", "TIMEOUT", "SERVER", "ABORTED", "INVALID_REQUEST", "UNSUPPORTED_CONTENT"]
)
def test_failure_of_stream_itself_is_a_finish(code: str) -> None:
    """An adapter without ``prepare`` may do all its work in ``stream``."""
    class Eager:
        def stream(self, request: LlmRequest) -> Iterator[StreamChunk]:
            raise LlmError("at once", code)

    prepared = runtime(Eager()).prepare_call(CallConfig("m", "p"))
    (finish,) = prepared.stream(LlmRequest(prepared.config, "hi"))  # type: ignore[arg-type]
    assert isinstance(finish, Finish) and finish.reason.failure is not None
    assert finish.reason.failure.code == code
    assert finish.reason.kind == ("aborted" if code == "ABORTED" else "error")


def test_adapter_that_sends_at_once_is_asked_after_the_recording() -> None:
    """The request is recorded before anything is sent."""
    order: List[str] = []

    class Eager:
        def stream(self, request: LlmRequest) -> Any:
            order.append("sent")
            return answer()

    class Recorder:
        def attempt(self, call: Any, request: LlmRequest, chunks: Any) -> Any:
            order.append("recorded")
            yield from chunks

    prepared = runtime(Eager()).prepare_call(
        CallConfig("m", "p"), recorder=Recorder()  # type: ignore[arg-type]
    )
    stream = prepared.stream(LlmRequest.make("m", "hi", provider="p"))
    assert order == [] and list(stream) == answer() and order == ["recorded", "sent"]
