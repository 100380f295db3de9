# SPDX-License-Identifier: MIT
"""The HTTP adapter: what it sends, where it finds the key, and what it refuses before any I/O.

The loopback provider shows what was sent.
"""

from __future__ import annotations

import copy
import logging
import pickle
import threading
from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from streamcore import __version__
from streamcore.loopback import LoopbackServer
from streamcore.providers import ModelInfo, ProviderProfile, get_profile
from streamcore.runtime import HttpAdapter, HttpSettings
from streamcore.runtime.secrets import begun_secret, mask, secrets_of
from streamcore.transport import Transport
from streamcore.values.calls import CallConfig, CallContext, LlmRequest
from streamcore.values.chunks import Finish, StreamChunk, TextDelta
from streamcore.values.errors import LlmError
from streamcore.values.limits import Limits
from streamcore.wire.dialects.chat_completions import ChatCompletionsOptions

KEY = "sk-adapter-0123456789"
ECHO = [{"steps": [{"answer": {"text": "you said {last_user}"}}]}]
PLAIN = ProviderProfile(name="plain", key_env=("PLAIN_KEY", "PLAIN_KEY_2"))
NAMED = replace(
    PLAIN, headers={"X-Profile": "p", "X-Both": "p"}, session_header="X-Session",
    user_header="X-User",
)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A provider that answers every request."""
    with LoopbackServer(ECHO) as one:
        yield one


@pytest.fixture
def transport() -> Iterator[Transport]:
    """A transport that is closed afterwards."""
    one = Transport()
    yield one
    one.close()


@pytest.fixture
def ask(server: LoopbackServer, transport: Transport) -> Callable[..., Dict[str, str]]:
    """Make one call by these settings; return the headers that arrived."""

    def ask(
        profile: ProviderProfile = PLAIN,
        config: CallConfig = CallConfig("m"),
        call_headers: Optional[Dict[str, str]] = None,
        **settings: Any,
    ) -> Dict[str, str]:
        settings = {"base_url": server.base_url, "api_key": KEY, **settings}
        adapter = HttpAdapter(HttpSettings(profile, **settings), transport)
        request = LlmRequest.make("m", "hi").with_config(config).with_context(
            CallContext(headers=call_headers)
        )
        chunks = list(adapter.stream(request))
        assert isinstance(chunks[-1], Finish)
        return server.requests[-1].headers

    return ask


def refused(
    profile: ProviderProfile = PLAIN, config: Any = CallConfig("m"), **settings: Any
) -> Any:
    """Return the failure of a call that must be refused before the transport is called."""
    headers = settings.pop("call_headers", None)
    settings = {"base_url": "http://127.0.0.1:9/v1", "api_key": KEY, **settings}
    adapter = HttpAdapter(HttpSettings(profile, **settings), None)  # type: ignore[arg-type]
    request = LlmRequest.make("m", "hi").with_config(config).with_context(
        CallContext(headers=headers))
    with pytest.raises(LlmError) as caught:
        adapter.stream(request)
    assert caught.value.failure.phase == "prepare"
    assert KEY not in str(caught.value)
    return caught.value.failure


# Headers.


def test_headers_of_every_request(ask: Any) -> None:
    """User-Agent, Accept, Content-Type, and the key where the profile says."""
    headers = ask()
    assert headers["user-agent"] == f"streamcore/{__version__}"
    assert headers["accept"] == "text/event-stream"
    assert headers["accept-encoding"] == "identity"
    assert headers["content-type"] == "application/json"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert ask(app="tool/1.2")["user-agent"] == f"tool/1.2 streamcore/{__version__}"


def test_headers_a_later_layer_wins_whatever_its_case(ask: Any) -> None:
    """Call beats client, client beats profile, profile beats ours; no header is sent twice."""
    headers = ask(
        NAMED, headers={"x-both": "client", "USER-AGENT": "mine", "X-Client": "c"},
        call_headers={"X-BOTH": "call", "Accept": "*/*"},
    )
    assert headers["x-both"] == "call" and headers["x-profile"] == "p"
    assert headers["user-agent"] == "mine" and headers["accept"] == "*/*"
    assert headers["x-client"] == "c"


@pytest.mark.parametrize(
    "value", [None, "", " ", "a\nb", "a\r\nX: y", " a", "é\u20ac", 5, b"a", "\x7f"]
)
@pytest.mark.parametrize("name", ["User-Agent", "Accept", "X-Other"])
def test_header_value_no_header_can_carry(name: str, value: Any) -> None:
    """None and "" do not remove a header: a User-Agent can be replaced, but is always sent."""
    assert refused(headers={name: value}).code == "INVALID_REQUEST"
    failure = refused(call_headers={name: value})
    assert failure.code == "INVALID_REQUEST" and name in failure.message


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "cookie"])
@pytest.mark.parametrize("value", [None, "", f"{KEY}\n", "sk-…"])
def test_header_with_a_credential_no_header_can_carry(name: str, value: Any) -> None:
    """The message names the header and shows no part of the key."""
    failure = refused(headers={name: value})
    assert failure.code == "INVALID_CREDENTIAL" and name in failure.message
    assert "sk-" not in failure.message


@pytest.mark.parametrize("name", ["", "a b", "a:", "é", 5, None, "a\n"])
def test_header_name_that_is_none(name: Any) -> None:
    """A name that would break the request is refused."""
    assert refused(headers={name: "x"}).code == "INVALID_REQUEST"


def test_latin_1_header_value_is_sent(ask: Any) -> None:
    """A value that HTTP can carry is sent as it is."""
    assert ask(headers={"X-Name": "Zoë\tB"})["x-name"] == "Zoë\tB"


def test_ids_travel_as_the_headers_the_profile_names(ask: Any, server: LoopbackServer) -> None:
    """Session and user id are sent in headers, and never in the body."""
    headers = ask(NAMED, CallConfig("m", session_id="sess-1", user_id="user-1"))
    assert headers["x-session"] == "sess-1" and headers["x-user"] == "user-1"
    assert b"sess-1" not in server.requests[-1].body and b"user-1" not in server.requests[-1].body


def test_ids_not_given_or_not_named_are_not_sent(ask: Any, server: LoopbackServer) -> None:
    """Without an id, or without a header for it, nothing is sent."""
    assert not {"x-session", "x-user"} & set(ask(NAMED, CallConfig("m", user_id=None)))
    headers = ask(PLAIN, CallConfig("m", session_id="sess-1", user_id="user-1"))
    assert "sess-1" not in str(headers) and b"sess-1" not in server.requests[-1].body


def test_id_no_header_can_carry_is_refused() -> None:
    """An id with a line break cannot add a header."""
    assert refused(NAMED, CallConfig("m", session_id="a\r\nX: y")).code == "INVALID_REQUEST"


def test_azure_key_and_query(ask: Any, server: LoopbackServer) -> None:
    """Azure's key is sent bare in its own header, and the query of the address is kept."""
    base = f"http://{server.host_port}/openai/deployments/d?api-version=2024-10-21"
    headers = ask(get_profile("azure"), base_url=base)
    assert headers["api-key"] == KEY and "authorization" not in headers
    path = "/openai/deployments/d/chat/completions?api-version=2024-10-21"
    assert server.requests[-1].path == path


# Keys.


@pytest.mark.parametrize("given", [KEY, f"  {KEY}\n", lambda: KEY, lambda: f"{KEY} "])
def test_key_from_a_value_or_a_function(ask: Any, given: Any) -> None:
    """Blanks around a pasted key are removed."""
    assert ask(api_key=given)["authorization"] == f"Bearer {KEY}"


def test_key_function_is_asked_at_every_call(ask: Any) -> None:
    """The function is called at each call, so a new key is used at once."""
    keys = iter(["first-key", "second-key"])
    next_key: Callable[[], str] = lambda: next(keys)  # noqa: E731
    assert ask(api_key=next_key)["authorization"] == "Bearer first-key"
    assert ask(api_key=next_key)["authorization"] == "Bearer second-key"


def test_key_function_that_raises_comes_out_unchanged() -> None:
    """The caller's own exception is raised unchanged."""

    def locked() -> str:
        raise PermissionError("the vault is locked")

    with pytest.raises(PermissionError, match="vault"):
        refused(api_key=locked)


@pytest.mark.parametrize("key", ["", "  ", "sk-…", "sk abc", "é", "sk-a\nb", "\x00", 5, b"sk"])
@pytest.mark.parametrize("entry", ["argument", "function", "variable"])
def test_key_no_header_can_carry(key: Any, entry: str) -> None:
    """INVALID_CREDENTIAL names the place of the key and shows no part of it."""
    if entry == "variable":
        if not isinstance(key, str) or not key.strip():
            return  # an unset or empty variable is no key at all
        failure = refused(api_key=None, environ={"PLAIN_KEY": key})
        assert "PLAIN_KEY" in failure.message
    else:
        failure = refused(api_key=key if entry == "argument" else lambda: key)
        assert f"api_key {entry}" in failure.message
    assert failure.code == "INVALID_CREDENTIAL"
    assert "sk" not in failure.message and "…" not in failure.message


@pytest.mark.parametrize(
    "settings, places",
    [
        ({}, ["api_key argument"]),
        ({"api_key": lambda: None}, ["api_key function"]),
        ({"environ": {}}, ["api_key argument", "PLAIN_KEY", "PLAIN_KEY_2"]),
        ({"environ": {"PLAIN_KEY": " "}, "api_key_env": ("MY_KEY",)},
         ["api_key argument", "MY_KEY", "PLAIN_KEY", "PLAIN_KEY_2"]),
    ],
)
def test_key_missing_names_every_place_looked_in(
    settings: Dict[str, Any], places: List[str]
) -> None:
    """MISSING_CREDENTIAL names the provider and each place where a key could be."""
    failure = refused(**{"api_key": None, **settings})
    assert failure.code == "MISSING_CREDENTIAL"
    assert failure.message.startswith("no key for plain: looked in ")
    told = failure.message.partition("looked in ")[2].split(", ")
    assert [place.split()[-2] + " " + place.split()[-1] if "api_key" in place else
            place.split()[-1] for place in told] == places


def test_key_from_the_environment_the_first_set_name_wins(ask: Any) -> None:
    """The caller's names come before the profile's, and an empty variable is skipped."""
    environ = {"MINE": "", "PLAIN_KEY": " ", "PLAIN_KEY_2": "second-key", "OTHER": "x"}
    headers = ask(api_key=None, environ=environ, api_key_env=("MINE",))
    assert headers["authorization"] == "Bearer second-key"
    headers = ask(api_key=None, environ={**environ, "MINE": "my-key"}, api_key_env="MINE")
    assert headers["authorization"] == "Bearer my-key"


def test_key_not_needed_and_not_there(ask: Any) -> None:
    """A call to a local server has no key header."""
    assert "authorization" not in ask(replace(PLAIN, key_required=False), api_key=None)
    assert "authorization" not in ask(replace(PLAIN, key_required=False), api_key=lambda: None)


def test_key_header_of_the_caller_needs_no_key(ask: Any) -> None:
    """A caller who gives the key's header needs no key, whatever the header's case."""
    called: List[int] = []
    headers = ask(api_key=lambda: called.append(1), headers={"authorization": "Token t-123456"})
    assert headers["authorization"] == "Token t-123456" and called == []


# What is refused, and in which order.


@pytest.mark.parametrize(
    "base", ["localhost:1/v1", "http:///v1", "ftp://h/v1", "", "http://h:x/v1", "https://ex ample"]
)
def test_base_url_that_is_none(base: str) -> None:
    """A base URL that is not valid is INVALID_REQUEST, before any I/O."""
    assert refused(base_url=base).code == "INVALID_REQUEST"


def test_base_url_secret_is_not_in_the_cause() -> None:
    """The error has no cause, because that would quote the address."""
    adapter = HttpAdapter(
        HttpSettings(PLAIN, base_url=f"http://u:{KEY}@h:x/v1", api_key="k-123456"),
        None,  # type: ignore[arg-type]
    )
    with pytest.raises(LlmError) as caught:
        adapter.stream(LlmRequest.make("m", "hi"))
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert KEY not in str(caught.value)


def test_base_url_from_the_environment(ask: Any, server: LoopbackServer) -> None:
    """The profile's variable is read if the caller allows the environment."""
    profile = replace(PLAIN, base_url="http://127.0.0.1:9/v1", base_url_env="PLAIN_URL")
    ask(profile, base_url=None, environ={"PLAIN_URL": server.base_url})
    assert len(server.requests) == 1
    ask(profile, environ={"PLAIN_URL": "http://127.0.0.1:9"})
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"limits": {"idle_timeout": 1}}, r"limits is a Limits\(\.\.\.\), not dict"),
        ({"limits": None}, r"limits is a Limits\(\.\.\.\), not NoneType"),
        ({"headers": [("a", "b")]}, "headers is a mapping of header names to values, not list"),
        ({"options": {"images": False}},
         r"options is the options of a dialect, or None, not dict"),
    ],
)
def test_settings_of_wrong_types_are_refused_when_made(settings: Any, words: str) -> None:
    """Settings are checked when they are made, and the message says what is wanted."""
    with pytest.raises(TypeError, match=words):
        HttpSettings(PLAIN, **settings)
    with pytest.raises(TypeError, match=words):
        HttpAdapter(HttpSettings(PLAIN), None).configure(**settings)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"profile is a ProviderProfile\(\.\.\.\), not str"):
        HttpSettings("openai")  # type: ignore[arg-type]


def test_settings_show_and_pickle_no_key() -> None:
    """repr, pickle and copy do not show a key."""
    settings = HttpSettings(
        PLAIN, base_url=f"https://u:{KEY}@h/v1", api_key=KEY, headers={"Authorization": KEY},
        environ={"K": KEY},
    )
    assert KEY not in repr(settings)
    assert KEY not in repr(HttpAdapter(settings, None))  # type: ignore[arg-type]
    for make in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="pickled"):
            make(settings)


def test_settings_keep_their_own_copy_of_the_headers() -> None:
    """A dict changed later does not change a generation of settings."""
    headers = {"X-A": "1"}
    settings = HttpSettings(PLAIN, headers=headers)
    headers["X-A"] = "2"
    assert settings.headers == {"X-A": "1"}


# Settings: one generation per stream.


def test_snapshot_keeps_the_settings_of_its_moment(server: LoopbackServer, transport: Any) -> None:
    """Endpoint, key, headers and options of one request belong together."""
    with LoopbackServer(ECHO) as other:
        adapter = HttpAdapter(
            HttpSettings(PLAIN, base_url=server.base_url, api_key="old-key"), transport
        )
        kept = adapter.snapshot()
        adapter.configure(
            base_url=other.base_url, api_key="new-key", headers={"X-G": "2"},
            options=ChatCompletionsOptions(max_tokens_field="max_completion_tokens"),
        )
        request = LlmRequest.make("m", "hi", max_tokens=5)
        assert list(kept.stream(request)) and list(adapter.stream(replace(request)))
        (old,), (new,) = server.requests, other.requests
        assert old.headers["authorization"] == "Bearer old-key" and "x-g" not in old.headers
        assert new.headers["authorization"] == "Bearer new-key" and new.headers["x-g"] == "2"
        assert "max_tokens" in old.json() and "max_completion_tokens" in new.json()


def test_configure_in_the_middle_of_a_stream(transport: Any) -> None:
    """A running stream keeps its settings, and still masks its own key."""
    script = [{"steps": [{"text": "a"}, {"sleep": 0.05}, {"error": {"message": "bad old-key-1"}}]}]
    with LoopbackServer(script) as server:
        adapter = HttpAdapter(
            HttpSettings(PLAIN, base_url=server.base_url, api_key="old-key-1"), transport
        )
        chunks = adapter.stream(LlmRequest.make("m", "hi"))
        next(chunks)
        adapter.configure(api_key="new-key-1", base_url="http://127.0.0.1:9/v1")
        with pytest.raises(LlmError) as caught:
            list(chunks)
        assert "old-key-1" not in str(caught.value) and "***" in str(caught.value)


def test_settings_changed_from_threads_are_never_mixed(transport: Any) -> None:
    """While another thread changes key and header, each request has a matching pair."""
    with LoopbackServer(ECHO) as server:
        adapter = HttpAdapter(
            HttpSettings(PLAIN, base_url=server.base_url, api_key="key-0", headers={"X-N": "0"}),
            transport,
        )
        over = threading.Event()

        def change() -> None:
            number = 0
            while not over.wait(0.001):
                number += 1
                adapter.configure(api_key=f"key-{number}", headers={"X-N": str(number)})

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(60):
                list(adapter.snapshot().stream(LlmRequest.make("m", "hi")))
        finally:
            over.set()
            thread.join()
        for request in server.requests:
            assert request.headers["authorization"] == f"Bearer key-{request.headers['x-n']}"
        assert len({request.headers["x-n"] for request in server.requests}) > 1


# Models, options, efforts.


def test_models_are_those_of_the_profile(transport: Any) -> None:
    """Known models are listed; an unknown one has the profile's defaults."""
    profile = replace(
        PLAIN, models=(ModelInfo("big", context_window=9000),), default_max_tokens=77
    )
    adapter = HttpAdapter(HttpSettings(profile), transport)
    assert adapter.profile is profile and adapter.list_models() == ("big",)
    assert adapter.resolve_model("big").context_window == 9000
    assert adapter.resolve_model("new").default_max_tokens == 77


def test_describe_is_what_the_body_is_written_by(transport: Any) -> None:
    """Dialect, options and effort fields are plain values that a log can keep."""
    deepseek = HttpAdapter(HttpSettings(get_profile("deepseek")), transport)
    told = deepseek.describe(CallConfig("deepseek-chat", reasoning_effort="off"))
    assert told["dialect"] == "chat-completions"
    assert told["options"]["context_window"] == 1_000_000
    assert told["effort_fields"]["thinking"] == {"type": "disabled"}


def test_options_of_the_settings_replace_the_profiles(ask: Any, server: LoopbackServer) -> None:
    """A deployment with another format is described by its options alone."""
    ask(options=ChatCompletionsOptions(stream_options=False))
    assert "stream_options" not in server.requests[-1].json()
    options = ChatCompletionsOptions(stream_options=False)
    profile = replace(PLAIN, options=options, context_window=100)
    ask(profile)
    assert "stream_options" not in server.requests[-1].json()
    settings = HttpSettings(profile, options=ChatCompletionsOptions())
    own = HttpAdapter(settings, None)  # type: ignore[arg-type]
    assert own.describe(CallConfig("m"))["options"]["context_window"] == 100


def test_images_where_the_model_has_none_are_refused() -> None:
    """An image for a model without images is refused before any I/O."""
    profile = replace(PLAIN, models=(ModelInfo("blind", images=False),))
    said = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://i"}}]}]
    adapter = HttpAdapter(HttpSettings(profile, api_key=KEY), None)  # type: ignore[arg-type]
    with pytest.raises(LlmError) as caught:
        adapter.stream(LlmRequest.make("blind", said))
    assert caught.value.code == "UNSUPPORTED_CONTENT"


def test_limits_the_calls_win_field_by_field(transport: Any) -> None:
    """Call beats client, client beats profile; the error names the clock that applied."""
    script = [{"steps": [{"text": "a"}, {"stall": True}]}]
    profile = replace(PLAIN, limits=Limits(idle_timeout=20, first_byte_timeout=20))
    with LoopbackServer(script) as server:
        adapter = HttpAdapter(
            HttpSettings(
                profile, base_url=server.base_url, api_key=KEY, limits=Limits(idle_timeout=10)
            ),
            transport,
        )
        context = CallContext(limits=Limits(idle_timeout=0.2))
        with pytest.raises(LlmError, match="0.2 s") as caught:
            list(adapter.stream(replace(LlmRequest.make("m", "hi"), context=context)))
        assert caught.value.failure.clock == "idle"


# Status, request id and failures.


IN_THE_STREAM: Dict[str, Any] = {
    "page": {"body": "<html>", "headers": {"content-type": "text/html"}},
    "error": {"steps": [{"text": "a"}, {"error": {"message": "overloaded"}}]},
    "cut": {"steps": [{"text": "a"}, {"close": True}]},
    "bad": {"steps": [{"text": "a"}, {"raw": "data: {\n\n"}]},
    "finish": {"steps": [{"text": "a"}, {"finish": "content_filter"}, {"done": True}]},
}


def failed(transport: Transport, answer: Dict[str, Any], key: str = KEY) -> LlmError:
    """Return the failure of a call whose provider answers like this."""
    headers = {**answer.get("headers", {}), "x-request-id": "req-8"}
    with LoopbackServer([{**answer, "headers": headers}]) as server:
        adapter = HttpAdapter(HttpSettings(PLAIN, base_url=server.base_url, api_key=key), transport)
        with pytest.raises(LlmError) as caught:
            list(adapter.stream(LlmRequest.make("m", "hi")))
    return caught.value


@pytest.mark.parametrize("name", IN_THE_STREAM)
def test_failure_inside_an_answer_has_its_status_and_request_id(transport: Any, name: str) -> None:
    """A failure after the headers has the status and request id of its answer."""
    failure = failed(transport, IN_THE_STREAM[name]).failure
    assert (failure.status, failure.request_id) == (200, "req-8")


def test_failure_in_the_stream_keeps_its_own_status(transport: Any) -> None:
    """An error in the stream of a 200 keeps the status that it names itself."""
    answer = {"steps": [{"text": "a"}, {"error": {"message": "slow down", "code": 429}}]}
    failure = failed(transport, answer).failure
    assert (failure.status, failure.request_id) == (429, "req-8")


def test_error_answer_names_its_address_and_the_providers_code(transport: Any) -> None:
    """The message has the address without its query; type and code are in the details."""
    answer = {"status": 404, "json": {"error": {"message": "no", "type": "t", "code": "c"}}}
    with LoopbackServer([answer]) as server:
        settings = HttpSettings(PLAIN, base_url=f"{server.base_url}?key=hidden", api_key=KEY)
        with pytest.raises(LlmError) as caught:
            list(HttpAdapter(settings, transport).stream(LlmRequest.make("m", "hi")))
        place = f"{server.base_url}{PLAIN.path}"
    failure = caught.value.failure
    assert failure.message == f"HTTP 404 Not Found from {place}: no"
    assert failure.details == {"code": "c", "type": "t"}


@pytest.mark.parametrize("status", [200, 500])
def test_request_id_is_read_from_the_headers_the_profile_names(
    transport: Any, status: int
) -> None:
    """The context of each answer has it, and the failure of a bad one too."""
    headers = {"x-ds-trace-id": "ds-1", "x-request-id": "edge-1"}
    for profile, found in ((PLAIN, "edge-1"), (get_profile("deepseek"), "ds-1")):
        with LoopbackServer([{"status": status, "headers": headers, "json": {}}]) as server:
            settings = HttpSettings(profile, base_url=server.base_url, api_key=KEY)
            request = LlmRequest.make("m", "hi")
            with pytest.raises(LlmError) as caught:
                list(HttpAdapter(settings, transport).stream(request))
        assert caught.value.failure.request_id == request.context.request_id == found


def test_failure_before_an_answer_has_no_status(transport: Any) -> None:
    """If no answer came, the failure has no status."""
    settings = HttpSettings(PLAIN, base_url="http://127.0.0.1:9", api_key=KEY)
    with pytest.raises(LlmError) as caught:
        list(HttpAdapter(settings, transport).stream(LlmRequest.make("m", "hi")))
    assert (caught.value.code, caught.value.failure.status) == ("TRANSPORT", None)


@pytest.mark.parametrize("word", [KEY, f"Bearer {KEY}", "z" * 50 + KEY])
def test_finish_word_that_is_the_key_is_no_code(transport: Any, word: str) -> None:
    """A finish word that echoes the key does not become a code, which would show it."""
    error = failed(transport, {"steps": [{"text": "a"}, {"finish": word}, {"done": True}]})
    assert error.code == "SERVER" and error.retryable
    assert "ADAPTER" not in repr(error.failure).upper()


def test_finish_word_that_is_none_stays_the_code(transport: Any) -> None:
    """A provider's own word becomes the code if no key is in it."""
    answer = {"steps": [{"finish": "odd-adapter"}, {"done": True}]}
    assert failed(transport, answer).code == "ODD-ADAPTER"


def test_context_gets_status_and_request_id(transport: Any) -> None:
    """The context has both before the first chunk."""
    with LoopbackServer([{**ECHO[0], "headers": {"x-request-id": "req-7"}}]) as server:
        adapter = HttpAdapter(HttpSettings(PLAIN, base_url=server.base_url, api_key=KEY), transport)
        request = LlmRequest.make("m", "hi")
        chunks = adapter.stream(request)
        assert request.context.status is None
        next(chunks)
        assert (request.context.status, request.context.request_id) == (200, "req-7")
        list(chunks)


def test_nothing_is_sent_before_the_first_pull(server: LoopbackServer, transport: Any) -> None:
    """A stream that is dropped unread has sent nothing."""
    adapter = HttpAdapter(HttpSettings(PLAIN, base_url=server.base_url, api_key=KEY), transport)
    chunks: Any = adapter.stream(LlmRequest.make("m", "hi"))
    chunks.close()
    assert server.connection_count == 0


# The wire trace.


def test_trace_shows_both_directions_and_masks(
    server: LoopbackServer, transport: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """At DEBUG the package's logger shows request, status and pieces, secrets masked."""
    caplog.set_level(logging.DEBUG, "streamcore")
    base = f"http://{server.host_port}/v1?api-key={KEY}2"
    adapter = HttpAdapter(HttpSettings(PLAIN, base_url=base, api_key=KEY), transport)
    list(adapter.stream(LlmRequest.make("m", f"is {KEY} right?")))
    log = caplog.text
    assert "sent: POST" in log and "'messages'" not in log and '"messages"' in log
    assert "received: HTTP 200" in log and "you " in log
    assert KEY not in log and "***" in log


def test_trace_masks_a_key_cut_by_reads(
    transport: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A key that is echoed in pieces is not shown by any piece, nor by all of them together."""
    caplog.set_level(logging.DEBUG, "streamcore")
    script = [{"steps": [{"text": f"<{KEY}> sk-adapter sk-"}, {"finish": "stop"}, {"done": True}],
               "pieces": 1}]
    with LoopbackServer(script) as server:
        adapter = HttpAdapter(HttpSettings(PLAIN, base_url=server.base_url, api_key=KEY), transport)
        chunks = list(adapter.stream(LlmRequest.make("m", "hi")))
    assert any(isinstance(chunk, TextDelta) and KEY in chunk.text for chunk in chunks)
    told = "".join(
        record.getMessage()[len("received: "):] for record in caplog.records
        if record.getMessage().startswith("received: ") and "HTTP" not in record.getMessage()
    )
    assert KEY not in told and "<***> sk-adapter sk-" in told


def test_trace_is_silent_when_off(
    server: LoopbackServer, transport: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Without DEBUG nothing is logged at all."""
    caplog.set_level(logging.INFO, "streamcore")
    adapter = HttpAdapter(HttpSettings(PLAIN, base_url=server.base_url, api_key=KEY), transport)
    list(adapter.stream(LlmRequest.make("m", "hi")))
    assert [record for record in caplog.records if record.name.startswith("streamcore")] == []


# Secrets, and masking them.


@pytest.mark.parametrize(
    "headers, url, key, inside",
    [
        ({"Authorization": "Bearer abcd1234"}, "http://h", "abcd1234", "the key abcd1234 is bad"),
        ({"Authorization": "Bearer k5k5"}, "http://h", "", "k5k5"),
        ({"api-key": "abcd1234"}, "http://h", "", "api-key: abcd1234"),
        ({"Cookie": "a=1; sid=abcd1234"}, "http://h", "", "sid abcd1234?"),
        ({"X-Odd": "abcd1234"}, "http://h", "abcd1234", "<p>abcd1234</p>"),
        ({}, "http://h/?key=abcd1234", "", "abcd1234"),
        ({}, "http://h/?code=ab%2Fcd%2F12", "", "ab/cd/12 or ab%2Fcd%2F12"),
        ({}, "http://u:p%40ssword@h/", "", "p@ssword p%40ssword dTpwQHNzd29yZA=="),
        ({"Authorization": 'Bearer ab"cd\\12\'x'}, "http://h", "",
         r'''"ab\"cd\\12'x" ab"cd\12'x'''),
    ],
)
def test_secrets_in_every_form(headers: Any, url: str, key: str, inside: str) -> None:
    """A secret is masked as it is, decoded, and as JSON and repr write it."""
    shown = mask(inside, secrets_of(headers, url, key))
    for part in ("abcd1234", "k5k5", "cd/12", "cd%2F12", "ssword", "dTpwQ", "cd\\12", "cd\\\\12"):
        assert part not in shown
    assert "***" in shown


@pytest.mark.parametrize("url", ["http://h/?api-version=2024-10-21", "http://h/v1?tokenizer"])
def test_what_is_no_secret_stays_readable(url: str) -> None:
    """Versions and words are not masked."""
    secrets = secrets_of({"User-Agent": "x", "Authorization": "Bearer abcd1234"}, url)
    text = "version 2024-10-21: the Authorization is wrong, bearer of a token"
    assert mask(text, secrets) == text


@pytest.mark.parametrize(
    "text",
    ["begins with 'x <p>sk-adapter-01'", "ends with '456789 was wrong", 'quote "-0123456789"',
     "said sk-adapter-…", "said sk-adapter-0123", "key sk-adapter-01 ... is wrong",
     "key sk-adapter-01... is wrong", "key sk-adapter-01 … is wrong", "no ...23456789 here",
     "key sk-adapter-0*****6789 is wrong"],
)
def test_part_of_a_secret_at_a_cut_edge_is_masked(text: str) -> None:
    """A text that was cut in the middle of a secret does not show the half of it."""
    shown = mask(text, secrets_of({}, "http://h", KEY))
    assert "***" in shown
    assert "adapter" not in shown and "456789" not in shown


def test_begun_secret_is_held_back() -> None:
    """The result is the longest beginning of any secret at the end of the data."""
    secrets = ["Bearer abcdef", "abcdef"]
    assert begun_secret(b"x abc", secrets) == 3
    assert begun_secret(b"x Bearer abc", secrets) == 10
    assert begun_secret(b"abcdef", secrets) == 0
    assert begun_secret(b"", secrets) == 0


def test_chunks_are_those_of_the_wire(server: LoopbackServer, transport: Any) -> None:
    """The adapter adds and drops no chunk."""
    adapter = HttpAdapter(HttpSettings(PLAIN, base_url=server.base_url, api_key=KEY), transport)
    chunks: List[StreamChunk] = list(adapter.stream(LlmRequest.make("m", "hello")))
    texts = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert "".join(texts) == "you said hello"
    assert [chunk.type for chunk in chunks[-2:]] == ["block-end", "finish"]
