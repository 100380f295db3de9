# SPDX-License-Identifier: MIT
"""E12: the key appears nowhere: not in a message, a repr, a cause, a pickle, a log, a file.

The calls fail in every way, with keys in every place where a key can be, and with providers
that echo what they were sent. Then everything that a program can get hold of is searched.
"""

from __future__ import annotations

import base64
import json
import logging
import pickle
import random
import string
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from streamcore.client import Client
from streamcore.loopback import LoopbackServer
from streamcore.providers import ProviderProfile, get_profile
from streamcore.runtime.secrets import hide, mask
from streamcore.session import Session
from streamcore.values.errors import LlmError, error_chain
from streamcore.values.limits import Limits
from streamcore.values.retry import RetryPolicy

PLAIN = "sk-plain-Zq7Xw9Kd2Lm4"
QUERY = "qk-query-Yp6Vu8Jc1Hn3"
PASSWORD = "pw-user-Tr5Bs7Gf0Ek2"
HEADER = "hd-extra-Mn4Aq6Dz9Wj1"
COOKIE = "ck-bite-Lk3Zp5Cy8Vh0"
SECRETS = (PLAIN, QUERY, PASSWORD, HEADER, COOKIE)
ECHO = " ".join(SECRETS)
BASIC = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
LIMITS = Limits(connect_timeout=3, idle_timeout=3, total_timeout=8)


def addressed(base: str, tail: str = "") -> str:
    """Return a base URL with user, password and a key in its query."""
    scheme, _, rest = base.partition("://")
    return f"{scheme}://user:{PASSWORD}@{rest}{tail}?key={QUERY}&api-version=1"


def client_for(base: str, **rest: Any) -> Client:
    """Return a client with a secret in every possible place."""
    given: Dict[str, Any] = {
        "base_url": addressed(base), "api_key": PLAIN, "limits": LIMITS,
        "headers": {"X-Api-Key": HEADER, "Cookie": f"theme=dark; sid={COOKIE}"},
    }
    return Client("m", **{**given, **rest})


def chain_of(error: BaseException) -> List[BaseException]:
    """Return the error, and all its causes and contexts."""
    found: List[BaseException] = []
    waiting: List[Optional[BaseException]] = [error]
    while waiting:
        link = waiting.pop()
        if link is not None and link not in found:
            found.append(link)
            waiting += [link.__cause__, link.__context__]
            waiting += [arg for arg in link.args if isinstance(arg, BaseException)]
            waiting += [v for v in vars(link).values() if isinstance(v, BaseException)]
    return found


def all_of(error: BaseException) -> str:
    """Return every text that a program can get from an error without a debugger."""
    told: List[str] = []
    for link in chain_of(error):
        told += [str(link), repr(link), repr(link.args), repr(vars(link)), type(link).__name__]
        told += traceback.format_exception(type(link), link, link.__traceback__)
        told.append(pickle.dumps(link).decode("latin-1"))
    if isinstance(error, LlmError):
        told += [repr(error.failure), repr(error.failure.to_dict()), repr(error.partial)]
    told.append(error_chain(error))
    return "\n".join(told)


def parts_of(secret: str) -> Iterator[str]:
    """Return the halves of a secret: a text that was cut must not show one either."""
    yield secret[:11]
    yield secret[-11:]


def assert_clean(text: str, *more: str) -> None:
    """Check that no secret, and no half of one, is in a text."""
    for secret in (*SECRETS, BASIC, *more):
        for part in parts_of(secret):
            assert part not in text, text[max(0, text.find(part) - 200):][:600]


@pytest.fixture
def fails(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> Callable[..., LlmError]:
    """Make a call that must fail, with trace and session file on, and search everything.

    Our own loggers at DEBUG, all others at WARNING: urllib3's at DEBUG writes the path and query
    of each request, which is documented, since a key in a query is the caller's choice.
    """
    caplog.set_level(logging.DEBUG, "streamcore")

    def run(
        base: str, *more: str, ask: str = "hi", extra_body: Any = None, tools: Any = (),
        **rest: Any,
    ) -> LlmError:
        shown: List[str] = []
        with Session(tmp_path / "session.jsonl") as log, client_for(base, **rest) as client:
            stream = None
            with pytest.raises(LlmError) as caught:
                stream = client.stream(ask, session=log, headers={"X-Token": HEADER},
                                       extra_body=extra_body, tools=tools)
                for chunk in stream:
                    shown.append(repr(chunk))
            shown += [repr(client), repr(client.adapter), repr(stream), repr(client.runtime)]
            if stream is not None:
                shown += [repr(stream.partial), repr(stream.request_id), repr(stream.finish)]
                with pytest.raises(LlmError) as again:
                    stream.message
                shown.append(all_of(again.value))
        shown.append((tmp_path / "session.jsonl").read_text("utf-8"))
        shown += [record.getMessage() for record in caplog.records]
        shown += [str(record.args) for record in caplog.records]
        assert_clean("\n".join([caplog.text, all_of(caught.value), *shown]), *more)
        return caught.value

    return run


@pytest.fixture
def serve() -> Iterator[Callable[..., LoopbackServer]]:
    """Start a loopback provider, and close it after the test."""
    servers: List[LoopbackServer] = []

    def start(*answers: Any, **rest: Any) -> LoopbackServer:
        servers.append(LoopbackServer(list(answers), **rest).start())
        return servers[-1]

    yield start
    for server in servers:
        server.close()


PAGE = f"<html><title>{ECHO}</title><p>Authorization: Bearer {PLAIN}</p></html>"
LONG = {"error": {"message": "x" * 470 + " " + ECHO * 3}}

ECHOES: Dict[str, Dict[str, Any]] = {
    "401": {"status": 401, "json": {"error": {"message": f"Incorrect API key: {ECHO}"}}},
    "401 code": {"status": 401, "json": {"error": {"code": PLAIN, "type": QUERY, "param": HEADER}}},
    "401 text": {"status": 401, "body": f"bad {ECHO}"},
    "401 page": {"status": 401, "body": PAGE},
    "401 cut": {"status": 401, "json": LONG},
    "401 broken": {"status": 401, "body": '{"error": {"message": "bad ' + ECHO},
    "401 detail": {"status": 401, "json": {"detail": [{"loc": [PLAIN], "msg": ECHO}]}},
    "400 basic": {"status": 400, "json": {"error": {"message": f"Basic {BASIC} or {BASIC}"}}},
    "400 url": {"status": 400, "json": {"error": f"http://h/v1?key={QUERY}&x={PLAIN}"}},
    "302": {"status": 302, "headers": {"Location": f"http://user:{PASSWORD}@other/?key={QUERY}"}},
    "302 path": {"status": 302, "headers": {"Location": f"/{PLAIN}/?k={QUERY}"}},
    "request id": {"status": 500, "headers": {"x-request-id": PLAIN}, "json": {"error": ECHO}},
    "request id of a stream": {"headers": {"x-request-id": PLAIN}, "steps": [{"text": "a"}]},
    "content type": {"headers": {"content-type": f"text/{PLAIN}"}, "body": "hello"},
    "page": {"body": PAGE, "headers": {"content-type": "text/html"}},
    "page cut": {"body": "<html>" + "x" * 176 + PLAIN, "headers": {"content-type": "text/html"}},
    "no stream": {"body": f"hello {ECHO}"},
    "no stream cut": {"body": "y" * 186 + PLAIN},
    "document": {"json": {"error": {"message": ECHO, "code": "insufficient_quota"}}},
    "document odd": {"json": {"hello": ECHO}},
    "type and code": {"steps": [{"error": {"message": "m", "type": ECHO, "code": PLAIN}}]},
    "401 type": {"status": 401, "json": {"error": {"message": "m", "type": ECHO}}},
    "first event": {"steps": [{"error": {"message": ECHO}}]},
    "later event": {"steps": [{"text": "a"}, {"error": {"message": ECHO, "code": 401}}]},
    "event cut": {"steps": [{"text": "a"}, {"error": LONG["error"]}]},
    "named event": {"steps": [{"event": {"event": "error", "data": f"bad {ECHO}"}}]},
    "event odd": {"steps": [{"error": {"weird": [PLAIN, {"x": QUERY}]}}]},
    "finish word": {"steps": [{"text": "a"}, {"finish": PLAIN}, {"done": True}]},
    "finish word cut": {"steps": [{"finish": "z" * 50 + PLAIN}, {"done": True}]},
    "bad json": {"steps": [{"raw": 'data: {"x": "' + PLAIN + "\n\n"}]},
    "bad json cut": {"steps": [{"raw": 'data: {"x": "' + "w" * 96 + PLAIN + "\n\n"}]},
    "tail": {"steps": [{"text": "a"}, {"raw": f"data: {ECHO}"}]},
    "tail cut": {"steps": [{"text": "a"}, {"raw": f"data: {PLAIN}{'v' * 108}"}]},
    "stray lines": {"steps": [{"text": "a"}, {"raw": f"oops {ECHO}\n"}]},
    "reset": {"steps": [{"text": "a"}, {"sleep": 0.05}, {"reset": True}]},
    "cut": {"steps": [{"text": "a"}, {"close": True}]},
    "bad chunk": {"steps": [{"text": "a"}, {"chunk_size_bad": True}]},
    "bad head": {"raw_head": f"HTTP/9.9 {PLAIN}\r\nX: {QUERY}\r\n\r\n"},
    "bad gzip": {"gzip": "bad", "steps": [{"text": "a"}, {"text": "b"}]},
}


@pytest.mark.parametrize("name", ECHOES)
def test_e12_provider_that_echoes_the_key(
    serve: Any, fails: Callable[..., LlmError], name: str
) -> None:
    """Whatever the provider quotes, and wherever it cuts, no text of ours shows the key."""
    server = serve(ECHOES[name])
    fails(server.base_url)
    assert server.requests[0].headers["x-api-key"] == HEADER
    assert server.requests[0].headers["authorization"] == f"Bearer {PLAIN}"
    assert f"key={QUERY}" in server.requests[0].path


@pytest.mark.parametrize("arguments", [f'{{"k":"{PLAIN}', f'{{"{PLAIN}{"u" * 52}'])
def test_e12_arguments_that_quote_the_key(serve: Any, arguments: str) -> None:
    """A model's own words are shown unchanged; the error that quotes their end is clean."""
    call = {"index": 0, "id": "c", "name": "f", "arguments": arguments}
    server = serve({"steps": [{"tool_call": call}, {"finish": "tool_calls"}, {"done": True}]})
    with client_for(server.base_url) as client, pytest.raises(LlmError) as caught:
        client.complete("hi")
    assert caught.value.code == "MALFORMED_TOOL_CALL"
    assert_clean(all_of(caught.value))


@pytest.mark.parametrize("name", ["401", "first event", "page", "tail"])
@pytest.mark.parametrize("pieces", [1, 7])
def test_e12_echo_in_small_pieces(serve: Any, fails: Any, name: str, pieces: int) -> None:
    """The trace shows the pieces as they arrived, without the key."""
    fails(serve({**ECHOES[name], "pieces": pieces}).base_url)


def test_e12_user_and_password_as_the_only_credential(serve: Any, fails: Any) -> None:
    """The address's user is sent as Basic, and is masked in that form too."""
    server = serve(ECHOES["400 basic"])
    fails(server.base_url, api_key=None)
    assert server.requests[0].headers["authorization"] == f"Basic {BASIC}"


BODY = "bd-field-Xe7Ro2Nw5Ti9"

FIELDS: Dict[str, Any] = {
    "key": {"api_key": BODY},
    "inner": {"router": {"credentials": {"password": BODY}}},
    "list": {"routes": [{"to": "a"}, {"to": "b", "auth_token": BODY}]},
    "headers": {"mcp": {"headers": {"Authorization": f"Bearer {BODY}", "Accept": "x"}}},
    "pairs": {"extra_headers": [["Accept", "x"], ["X-Api-Key", BODY]]},
    "address": {"webhook": f"https://user:{BODY}@hooks.example/x"},
    "query": {"webhook": f"https://hooks.example/x?sig={BODY}"},
    "many": {"password": [BODY, "x"]},
}


@pytest.mark.parametrize("name", ["401", "later event", "bad json cut", "tail"])
@pytest.mark.parametrize("field", FIELDS)
def test_e12_key_in_a_field_of_the_body(serve: Any, fails: Any, name: str, field: str) -> None:
    """A field that the log masks by name is masked in the trace and in errors too."""
    answer = json.loads(json.dumps(ECHOES[name]).replace(PLAIN, BODY))
    server = serve(answer)
    fails(server.base_url, BODY, extra_body=FIELDS[field])
    assert BODY in server.requests[0].body.decode()


@pytest.mark.parametrize("name", ["401", "later event"])
def test_e12_key_of_a_tool_that_the_provider_runs(serve: Any, fails: Any, name: str) -> None:
    """A remote tool's key is masked in the log, the trace and every error."""
    remote = {"type": "mcp", "server_url": "http://h/", "headers": {"Authorization": BODY}}
    server = serve(json.loads(json.dumps(ECHOES[name]).replace(PLAIN, BODY)))
    fails(server.base_url, BODY, tools=[remote])
    assert BODY in server.requests[0].body.decode()


def test_e12_azure_key_in_its_own_header(serve: Any, fails: Any) -> None:
    """A key without a scheme before it is masked too."""
    server = serve(ECHOES["401"])
    fails(server.base_url, provider=get_profile("azure"))
    assert server.requests[0].headers["api-key"] == PLAIN


def test_e12_key_in_a_header_of_an_innocent_name(serve: Any, fails: Any) -> None:
    """The profile names the key's header, so its name need not sound secret."""
    profile = ProviderProfile(name="odd", key_header="X-Pass", key_prefix="v1:")
    server = serve(ECHOES["401"])
    fails(server.base_url, provider=profile)
    assert server.requests[0].headers["x-pass"] == f"v1:{PLAIN}"


@pytest.mark.parametrize("key", ['q"uo\\te\'d-Zq7Xw9Kd2', "perc%41nt-Zq7Xw9Kd2/+="])
@pytest.mark.parametrize("name", ["json", "text", "bad json"])
def test_e12_key_that_is_escaped_when_quoted(
    serve: Any, fails: Any, key: str, name: str
) -> None:
    """The key is masked in the forms that JSON and repr write."""
    answer: Dict[str, Any] = {
        "json": {"status": 401, "json": {"error": {"message": f"bad {key}"}}},
        "text": {"body": f"hello {key}"},
        "bad json": {"steps": [{"payload": f"bad {key}"}]},
    }[name]
    fails(serve(answer).base_url, key[:12] + "###", api_key=key)


@pytest.mark.parametrize(
    "base",
    ["http://127.0.0.1:9/v1", "https://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"],
)
def test_e12_provider_that_is_not_there(fails: Any, base: str) -> None:
    """Refused ports and names that do not resolve show no secret."""
    assert fails(base).code == "TRANSPORT"


@pytest.mark.parametrize(
    "base", ["localhost:1/v1", "http://h:port/v1", "ftp://h/v1", "http:///v1", "http://h^/v1",
             "http://[::1/v1"],
)
def test_e12_base_url_that_is_none(fails: Any, base: str) -> None:
    """A broken address is refused without its user, password and query."""
    assert fails(base).code == "INVALID_REQUEST"


def test_e12_base_url_from_the_environment() -> None:
    """A broken address in a variable is hidden like one in an argument."""
    from streamcore.runtime import HttpAdapter, HttpSettings
    from streamcore.values.calls import LlmRequest

    profile = replace(ProviderProfile(name="p", base_url_env="P_URL"), key_required=False)
    settings = HttpSettings(profile, environ={"P_URL": addressed("http://h:port/v1")})
    with pytest.raises(LlmError) as caught:
        HttpAdapter(settings, None).stream(LlmRequest.make("m", "hi"))  # type: ignore[arg-type]
    assert_clean(all_of(caught.value))


@pytest.mark.parametrize(
    "key", [PLAIN + "\nX-Other: 1", PLAIN + " " + QUERY, PLAIN + "…", "é" + PLAIN, PLAIN + "\0"]
)
@pytest.mark.parametrize("entry", ["value", "function", "header"])
def test_e12_key_no_header_can_carry(fails: Any, key: str, entry: str) -> None:
    """The codec's own error would quote the key, so it is not shown."""
    rest: Dict[str, Any] = {"api_key": key}
    if entry == "function":
        rest = {"api_key": lambda: key}
    elif entry == "header":
        if "é" in key or " " in key and "\n" not in key:
            key += "\x7f"
        rest = {"headers": {"Authorization": key}}
    assert fails("http://127.0.0.1:9/v1", **rest).code == "INVALID_CREDENTIAL"


def test_e12_tls_failure(serve: Any, fails: Any) -> None:
    """An untrusted certificate, and a server that hangs up in the handshake, show no secret."""
    tls = Path(__file__).resolve().parents[1] / "tls"
    server = serve(ECHOES["401"], tls=(str(tls / "server.pem"), str(tls / "server.key")))
    assert fails(server.base_url).code == "TRANSPORT"
    slammed = serve({"slam": True})
    assert fails(f"https://{slammed.host_port}/v1").code == "TRANSPORT"


def test_e12_proxy_failures(serve: Any, fails: Any) -> None:
    """A proxy that is absent, refuses or answers rubbish shows no secret, nor its password."""
    for scheme in ("http", "https"):
        for answer in ({"status": 407, "body": ECHO}, {"raw_head": f"{ECHO}\r\n\r\n"}, None):
            place = "127.0.0.1:9" if answer is None else serve(answer).host_port
            proxies = {scheme: f"http://user:{PASSWORD}@{place}"}
            fails(f"{scheme}://127.0.0.1:9/v1", proxies=proxies)


def test_part_of_a_proxys_password_is_in_no_cause() -> None:
    """Where a sign ends the password too early, a library quotes the part before the sign."""
    proxies = {"http": "http://user:pa55word#1@127.0.0.1:9"}
    with Client("m", base_url="http://10.0.0.1/v1", proxies=proxies) as client:
        with pytest.raises(LlmError) as caught:
            client.complete("hi")
    shown = traceback.format_exception(LlmError, caught.value, caught.value.__traceback__)
    assert caught.value.code == "INVALID_REQUEST" and "pa55" not in "".join(shown)


def test_e12_timeouts_and_cancel(serve: Any, fails: Any) -> None:
    """The error says which clock and where, and shows nothing of the request."""
    for answer in ({"no_answer": True}, {"steps": [{"text": "a"}, {"stall": True}]}):
        error = fails(serve(answer).base_url, limits=Limits(idle_timeout=0.2, total_timeout=3))
        assert error.code == "TIMEOUT"


def test_e12_retries_and_their_records(serve: Any, fails: Any) -> None:
    """on_retry and the log of failed attempts show no secret."""
    seen: List[Any] = []
    policy = RetryPolicy(initial_delay=0.002, jitter=0.0)
    fails(serve({"status": 503, "body": ECHO}).base_url, retry=policy, on_retry=seen.append)
    assert len(seen) == 2
    assert_clean(repr(seen) + str([record.to_dict() for record in seen]))


def test_e12_callers_session(serve: Any, fails: Any) -> None:
    """A caller's session with requests' own adapter shows no secret."""
    import requests

    with requests.Session() as session:
        session.headers["X-Session-Kind"] = "mine"
        fails(serve(ECHOES["401"]).base_url, http_session=session)


OWN = "own-secret-Vd8Xe2Ru6Ti9"


class Signer:
    """An object that signs requests with a token, as callers write them."""

    def __init__(self) -> None:
        self.token = OWN

    def __call__(self, request: Any) -> Any:
        request.headers["X-Signed"] = self.token
        return request


def session_with(kind: str) -> Any:
    """Return a caller's session that has a secret of its own."""
    import requests

    session = requests.Session()
    if kind == "cookie":
        session.cookies.set("sid", OWN)
    elif kind == "params":
        session.params = {"key": OWN}
    elif kind == "pairs":
        session.auth = ("user", OWN)
    elif kind == "signer":
        session.auth = Signer()
    elif kind == "digest":
        session.auth = requests.auth.HTTPDigestAuth("user", OWN)
    else:
        name, _, prefix = kind.partition(":")
        session.headers[name] = prefix + OWN
    return session


@pytest.mark.parametrize(
    "kind", ["x-api-key:", "Authorization:Bearer ", "X-Auth:", "Proxy-Authorization:Basic ",
             "pairs", "signer", "digest", "cookie", "params"],
)
def test_e12_secrets_of_the_callers_session(serve: Any, fails: Any, kind: str) -> None:
    """The secrets that a session adds to a request are masked like ours."""
    basic = base64.b64encode(f"user:{OWN}".encode()).decode()
    with session_with(kind) as session:
        server = serve({"status": 401, "body": f"bad {OWN}, " + (basic if kind == "pairs" else "")})
        error = fails(server.base_url, OWN, basic, http_session=session, api_key=None)
        assert error.code == "AUTH" and "***" in error.failure.message
        server = serve({"steps": [{"text": "a"}, {"error": {"message": f"bad {OWN}"}}]})
        fails(server.base_url, OWN, http_session=session, api_key=None)


@pytest.mark.parametrize("scheme, how", [
    ("http", "argument"), ("https", "argument"), ("http", "session"), ("https", "session"),
    ("http", "http_proxy"), ("https", "HTTPS_PROXY"), ("http", "ALL_PROXY"),
])
def test_e12_password_of_a_proxy(
    serve: Any, fails: Any, monkeypatch: pytest.MonkeyPatch, scheme: str, how: str
) -> None:
    """It is masked if the proxy echoes it in a body or in its answer to CONNECT."""
    import requests

    head = f"HTTP/1.1 407 no {OWN}\r\nContent-Length: {len(OWN)}\r\n\r\n{OWN}"
    proxy = f"http://user:{OWN}@{serve({'raw_head': head}).host_port}"
    with requests.Session() as session:
        rest: Dict[str, Any] = {}
        if how == "argument":
            rest["proxies"] = {scheme: proxy}
        elif how == "session":
            session.proxies[scheme] = proxy
            rest["http_session"] = session
        else:
            monkeypatch.setenv(how, proxy)
            monkeypatch.setenv("NO_PROXY", "")
        error = fails(f"{scheme}://127.0.0.1:9/v1", OWN, **rest)
    assert "***" in error.failure.message and error.code in ("HTTP_407", "TRANSPORT")


def test_e12_fragment_of_a_base_url(fails: Any) -> None:
    """A base URL with a part after # is refused, and that part is masked: it may be a key."""
    error = fails("x", OWN, base_url=f"http://127.0.0.1:9/v1#key={OWN}")
    assert error.code == "INVALID_REQUEST"
    assert "'http://127.0.0.1:9/v1#***'" in error.failure.message


@pytest.mark.parametrize("name", [f"X Key: {OWN}", f"{OWN}:", f"{OWN} x"])
def test_e12_line_where_a_headers_name_should_stand(fails: Any, name: str) -> None:
    """If name and value are one string, the message shows only the odd character."""
    error = fails("http://127.0.0.1:9/v1", OWN, headers={name: "x"})
    assert error.code == "INVALID_REQUEST"
    assert error.failure.message.startswith("a header's name cannot hold ")


@pytest.mark.parametrize("name", ["X-Auth", "X-Sig", "X-Password", "X-Credential", "X-Jwt"])
def test_e12_header_by_its_name(serve: Any, fails: Any, name: str) -> None:
    """The values of headers with a secret name are masked."""
    fails(serve({"status": 401, "body": f"bad {OWN}"}).base_url, OWN, headers={name: OWN})


@pytest.mark.parametrize("name", ["pwd", "jwt", "sas", "code", "sig", "X-Amz-Credential"])
def test_e12_query_by_its_name(serve: Any, fails: Any, name: str) -> None:
    """The values of query parameters with a secret name are masked."""
    server = serve({"status": 401, "body": f"bad {OWN}"})
    fails(server.base_url, OWN, base_url=f"{server.base_url}?{name}={OWN}")


def test_e12_exception_of_a_mocked_session(fails: Any) -> None:
    """A custom adapter's exception holds the request and its headers; nothing shows them."""
    import requests

    class Broken(requests.adapters.BaseAdapter):
        def send(self, request: Any, *args: Any, **rest: Any) -> Any:
            raise requests.ConnectionError(f"cannot reach {request.url}", request=request)

        def close(self) -> None:
            pass

    with requests.Session() as session:
        session.mount("http://", Broken())
        assert fails("http://127.0.0.1:9/v1", http_session=session).code == "TRANSPORT"


def test_e12_a_guard_that_sees(serve: Any) -> None:
    """The search of these tests finds a key in each place it looks at."""
    inner = ValueError(f"inner {PLAIN}")
    outer = LlmError("outer", "SERVER")
    outer.__context__ = inner
    for text in (all_of(outer), all_of(LlmError(ECHO, "SERVER")), f"...{COOKIE[:11]}…"):
        with pytest.raises(AssertionError):
            assert_clean(text)


@pytest.mark.parametrize("text, shown", [
    ("key-ab12345\n[output cut: 5 of", "***\n[output cut: 5 of"),
    ("89xyz-tail and more", "*** and more"),
    ('key-ab12345"6" x', '***"6" x'),
    ("key-ab" + "key-ab12" + '"', 'key-ab***"'),
    ("key-a is short; tail too", "key-a is short; tail too"),
    ("key-ab12345 6789 goes on", "key-ab12345 6789 goes on"),
])
def test_longest_part_of_a_secret_is_masked(text: str, shown: str) -> None:
    """The longest part before and after a cut is masked, and other text stays."""
    assert hide(text, ["key-ab123456789xyz-tail"]) == shown


LONG_KEY = "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=1500))


@pytest.mark.parametrize("key, text", [
    (LONG_KEY, ("{\"delta\": \"words\"}\n" * 4 + LONG_KEY[:700] + "x") * 1300),
    (LONG_KEY, LONG_KEY[:6] * 170_000),
    (LONG_KEY, (LONG_KEY[:40] + '"') * 25_000),
    ("k" * 1500, ("k" * 1499 + "x") * 700),
    ("k" * 1500, ("x" + "k" * 1499) * 700),
], ids=["halves", "heads", "cuts", "same letter", "same letter, ends"])
def test_masking_a_megabyte_takes_no_time(key: str, text: str) -> None:
    """The time grows with the text only, whatever the key's length."""
    start = time.process_time()
    mask(text, [key])
    assert time.process_time() - start < 0.5
