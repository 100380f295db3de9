# SPDX-License-Identifier: MIT
"""Secrets are kept out of texts."""

from __future__ import annotations

import time

import pytest

from streamcore.values.redaction import (
    MASK, is_secret_field, is_secret_parameter, redact, redact_headers,
)


@pytest.mark.parametrize(
    "text, secrets, shown",
    [
        ("key sk-1234 used", ["sk-1234"], "key *** used"),
        ("sk-1234sk-1234", ["sk-1234"], "******"),
        ("a sk-12345678 b", ["sk-1234", "sk-12345678"], "a *** b"),
        ("an a is an a", ["a", ""], "an a is an a"),
        ("nothing", ["sk-1234"], "nothing"),
        ("", ["sk-1234"], ""),
        ("schlüssel-ключ!", ["ключ"], "schlüssel-***!"),
    ],
)
def test_redact_known_secrets(text, secrets, shown):
    """Every known secret of four characters or more is masked, the longest first."""
    assert redact(text, secrets) == shown


@pytest.mark.parametrize(
    "text, shown",
    [
        ("http://user:pass@host/x", "http://***@host/x"),
        ("http://user@host", "http://***@host"),
        ("http://:pass@host", "http://***@host"),
        ("http://user:p@ss:w@host:80/a@b", "http://***@host:80/a@b"),
        ("to http://u:p@h, then https://v:q@i.", "to http://***@h, then https://***@i."),
        ('{"u":"http://host","m":"a@b"}', '{"u":"http://host","m":"a@b"}'),
        ("http://host/a@b", "http://host/a@b"),
        ("mail a@b", "mail a@b"),
        ("/v1?key=SECRET&x=1", "/v1?key=***&x=1"),
        ("/v1?x=1&api_key=SECRET#f", "/v1?x=1&api_key=***#f"),
        ("?X-Amz-Signature=abc&access_token=def ", "?X-Amz-Signature=***&access_token=*** "),
        ("'http://h/?api-key=SECRET'", "'http://h/?api-key=***'"),
        ("?model=x&stream=true", "?model=x&stream=true"),
        ("/v1?pwd=SECRET&jwt=SECRET&sas=SECRET&code=SECRET",
         "/v1?pwd=***&jwt=***&sas=***&code=***"),
        ("?X-Amz-Credential=SECRET&passwd=SECRET", "?X-Amz-Credential=***&passwd=***"),
        ("http://h/v1#key=SECRET", "http://h/v1#key=***"),
        ("?country_code=de&atlas=x", "?country_code=de&atlas=x"),
    ],
)
def test_redact_urls(text, shown):
    """The user, the password and the secret query values of a URL are masked."""
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text, shown",
    [
        ("Authorization: Bearer abcdefgh12", "Authorization: Bearer ***"),
        ("authorization: BASIC dTpwYXNzd29yZA==", "authorization: BASIC ***"),
        ("{'Authorization': 'Bearer abcdefgh12'}", "{'Authorization': 'Bearer ***'}"),
        ("use Bearer auth", "use Bearer auth"),
        ("Basic authentication is not supported", "Basic authentication is not supported"),
    ],
)
def test_redact_authorization(text, shown):
    """The text after Bearer or Basic is masked; the scheme stays."""
    assert redact(text) == shown


@pytest.mark.parametrize(
    "name", ["Authorization", "x-api-key", "api-key", "Cookie", "Set-Cookie", "X-Auth-Token",
             "Proxy-Authorization", "ocp-apim-subscription-key", "client-secret", "X-Auth", "auth",
             "X-Sig", "X-Goog-Signature", "X-Password", "X-Credential", "X-Session", "X-Jwt",
             "x-passphrase", "X-Pwd", "session-id"],
)  # fmt: skip
def test_redact_headers_secret(name):
    """A header that carries a secret keeps only its name."""
    assert redact_headers({name: "SECRET"}) == ((name, MASK),)


def test_redact_headers_plain():
    """Other headers keep their value and their order."""
    headers = {"Accept": "text/event-stream", "User-Agent": "x", "X-Author": "a",
               "X-Design": "d", "x-session-affinity": "s", "Passage": "p", "X-Sigma": "s"}
    assert redact_headers(headers) == tuple(headers.items())


@pytest.mark.parametrize(
    "text",
    ["=?" + "key" * 60000, "://" + ":" * 200000, "://" * 60000, "?key=" * 40000, "bearer " * 30000,
     "bearer" + " " * 200000, "@" * 200000, "://" + "@" * 200000],
    ids=range(8),
)  # fmt: skip
def test_redact_hostile_text_stays_linear(text):
    """A hostile text of a few hundred kilobytes is redacted within three seconds."""
    start = time.process_time()
    redact(text, ["sk-1234"])
    assert time.process_time() - start < 3.0


@pytest.mark.parametrize("name, secret", [
    ("api-key", True), ("X-Amz-Signature", True), ("sig", True), ("code", True), ("sas", True),
    ("access_token", True), ("session_id", True), ("api-version", False), ("country_code", False),
    ("atlas", False), ("alt", False),
])
def test_secret_parameters(name, secret):
    """A parameter's name is judged alike in a quoted URL and in the request's own URL."""
    assert is_secret_parameter(name) is secret
    assert redact(f"https://a.example/?{name}=value") == (
        f"https://a.example/?{name}={MASK if secret else 'value'}"
    )


@pytest.mark.parametrize("name, secret", [
    ("api_key", True), ("API-Key", True), ("azure_api_key", True), ("token", True),
    ("password", True), ("db_password", True), ("Authorization", True), ("max_tokens", False),
    ("prompt_cache_key", False), ("tokens", False), ("key", False), ("eos_token", False),
    ("authorization_token", True), ("github_token", True), ("accessToken", True),
    ("passphrase", True), ("connection_string", True), ("subscription-key", True), ("auth", True),
])
def test_secret_fields(name, secret):
    """Only whole names count in a body, because some of its fields only sound like secrets."""
    assert is_secret_field(name) is secret
