# SPDX-License-Identifier: MIT
"""Configuration: which layer wins, what each text means, what is refused and where it says so.

Every test hands over its own file, variables and overrides; nothing here reads the process'
environment but the one test that is about it. Requests go to the loopback provider only.
"""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
import traceback
from dataclasses import fields
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

import pytest

from streamcore import Limits, LlmError, LoopbackServer, RetryPolicy, get_profile
from streamcore.agent import AgentLimits
from streamcore.config import Config
from streamcore.config.ini import MAX_FILE_BYTES, read_entries
from streamcore.config.settings import SETTINGS
from streamcore.config.values import (
    as_text, read_clock, read_count, read_flag, read_headers, read_number, read_seconds,
    read_size, read_verify, read_words,
)

ROOT = Path(__file__).resolve().parents[2]
SECRET = "sk-secret-0123456789abcdef"
posix = pytest.mark.skipif(os.name != "posix", reason="permission bits as POSIX has them")
ANSWER = {"steps": [{"text": "ok"}, {"finish": "stop"}, {"done": True}]}

Write = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Write a configuration file and return its name."""
    def write(text: str, mode: int = 0o600) -> str:
        file = tmp_path / "c.ini"
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)
        return str(file)

    return write


def refusal(
    file: Optional[str] = None, env: Optional[Mapping[str, str]] = None, overrides: Any = None
) -> str:
    """Return the message of a configuration that is refused."""
    with pytest.raises(LlmError) as caught:
        Config.load(file, env, overrides)
    assert caught.value.code == "INVALID_CONFIG" and not caught.value.retryable
    shown = traceback.format_exception(type(caught.value), caught.value, caught.tb)
    assert SECRET not in "".join(shown)
    return caught.value.failure.message


def rows(config: Config) -> Dict[str, Any]:
    """Return the explained settings by name: value and origin."""
    return {row.setting: (row.value, row.origin) for row in config.explain()}


# -- layers -------------------------------------------------------------------------------


def test_later_layers_win(written: Write) -> None:
    """For each setting: defaults < file < environment < overrides."""
    name = written("[limits]\nconnect_timeout = 1\nidle_timeout = 1\ntotal_timeout = 1\n")
    env = {"STREAMCORE_LIMITS_IDLE_TIMEOUT": "2", "STREAMCORE_LIMITS_TOTAL_TIMEOUT": "2"}
    config = Config.load(name, env, {"limits.total_timeout": 3})
    assert config.limits() == Limits(connect_timeout=1, idle_timeout=2, total_timeout=3)
    origins = {key: origin for key, (_, origin) in rows(config).items()}
    assert origins["limits.connect_timeout"] == f"{name}:2"
    assert origins["limits.idle_timeout"] == "environment STREAMCORE_LIMITS_IDLE_TIMEOUT"
    assert origins["limits.total_timeout"] == "override"
    assert origins["limits.max_event_bytes"] == "default"


def test_every_limit_can_be_set_in_each_layer(written: Write) -> None:
    """Every field of Limits, RetryPolicy and AgentLimits can be set in each layer."""
    values = {Limits: "7", RetryPolicy: "1", AgentLimits: "300"}
    words = {"mode": "always", "retryable_codes": "SERVER"}
    for section, owner in (("limits", Limits), ("retry", RetryPolicy), ("agent", AgentLimits)):
        keys = [field.name for field in fields(owner)]
        text = {key: words.get(key, values[owner]) for key in keys}
        listed = "".join(f"{key} = {value}\n" for key, value in text.items())
        variables = {f"STREAMCORE_{section}_{key}".upper(): v for key, v in text.items()}
        loaded = [
            Config.load(written(f"[{section}]\n{listed}"), None),
            Config.load(None, variables),
            Config.load(None, None, {f"{section}.{key}": v for key, v in text.items()}),
        ]
        made = [{"limits": one.limits, "retry": one.retry, "agent": one.agent_limits}[section]()
                for one in loaded]
        assert made[0] == made[1] == made[2]
        assert all(getattr(made[0], key) != getattr(owner(), key) for key in keys)


def test_nothing_given_is_the_defaults() -> None:
    """An empty configuration gives no limits, no retry policy and the agent's own caps."""
    config = Config.load(None, None)
    assert (config.model, config.provider) == (None, "openai-compatible")
    assert (config.limits(), config.retry(), config.agent_limits()) == (
        Limits(), None, AgentLimits())


def test_environment_is_read_only_when_asked() -> None:
    """``env=None`` reads no variable, not even in a client; the default is ``os.environ``."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from streamcore.config import Config\n"
        "none, own = Config.load(None, None, {'provider': 'ollama', 'model': 'm'}), Config.load()\n"
        "print(Config.load(None, None).model, own.model, none.client().adapter._settings.environ)\n"
        "print(next(row.value for row in none.explain() if row.setting == 'base_url'))\n"
    )
    env = {"STREAMCORE_MODEL": "from-env", "OLLAMA_BASE_URL": "http://elsewhere.test"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT)], env=env, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
    )
    assert done.stderr == ""
    assert done.stdout.split("\n")[:2] == ["None from-env None", "http://localhost:11434/v1"]


def test_signature_shows_no_variable() -> None:
    """The environment, which may hold a key, is not a default that help() could show."""
    code = (
        "import inspect, pydoc; from streamcore import Config\n"
        "print(inspect.signature(Config.load), pydoc.render_doc(Config))\n"
        "print(Config.load().model, Config.load()._choice, Config.load(env=None).model)"
    )
    variables = {**os.environ, "STREAMCORE_MODEL": "m7", "OPENAI_API_KEY": "sk-shown-nowhere-01"}
    out = subprocess.run(
        [sys.executable, "-c", code], env=variables, stdout=subprocess.PIPE, check=True,
        universal_newlines=True,
    ).stdout
    assert "sk-shown-nowhere-01" not in out and "environ(" not in out
    assert out.splitlines()[-1].startswith("m7 ") and out.endswith(" None\n")
    assert inspect.signature(Config.load).parameters["env"].default is not None


def test_empty_variable_is_none() -> None:
    """An empty variable is ignored."""
    assert Config.load(None, {"STREAMCORE_MODEL": " "}).model is None


def test_variable_may_name_the_file(written: Write) -> None:
    """``STREAMCORE_CONFIG`` names the file if none is given."""
    env = {"STREAMCORE_CONFIG": written("[streamcore]\nmodel = m\n")}
    assert Config.load(None, env).model == "m"
    assert "/no/such" in refusal(None, {"STREAMCORE_CONFIG": "/no/such"})


def test_override_none_gives_nothing_but_for_a_clock() -> None:
    """None means not given, except that it turns a clock off."""
    config = Config.load(None, None, {"model": None, "limits.idle_timeout": None,
                                      "limits.max_tool_calls": None})
    assert (config.model, config.limits()) == (None, Limits(idle_timeout=None))


# -- the file -----------------------------------------------------------------------------


def test_file_lines_are_right() -> None:
    """Comments, blank lines, continuations and a BOM leave the line numbers right."""
    text = ("# one\n\n[a]\n; four\nb = 1\n\n[p x]\nheaders =\n  A: 1\n  # ten\n  B: 2\n\n"
            "c=%(x)s # y\n")
    sections, entries = read_entries(text, "f")
    assert sections == {"a": 3, "p x": 7}
    assert [(e.section, e.key, e.value, e.line) for e in entries] == [
        ("a", "b", "1", 5), ("p x", "headers", "A: 1\nB: 2", 8), ("p x", "c", "%(x)s # y", 13),
    ]


@pytest.mark.parametrize("text, place, words", [
    ("[streamcore]\nmodel\n", ":2:", "key = value"),
    ("[streamcore]\nmodel: x\n", ":2:", "key = value"),
    ("model = x\n", ":1:", "before the first"),
    ("[streamcore\n", ":1:", "a section is written"),
    ("[streamcore] # x\n", ":1:", "a section is written"),
    ("[]\n", ":1:", "a section is written"),
    ("[limits]\n[limits]\n", ":2:", "in line 1"),
    ("[limits]\nidle_timeout=1\nidle_timeout=2\n", ":3: [limits] idle_timeout", "in line 2"),
    ("[limit]\n", ":1:", "[limits]"),
    ("[provider]\n", ":1:", "name"),
    ("[limits]\nidle_timout = 1\n", ":2: [limits] idle_timout", "did you mean idle_timeout"),
    ("[limits]\nidle-timeout = 1\n", ":2: [limits] idle-timeout", "did you mean idle_timeout"),
    ("[streamcore]\nIDLE_TIMEOUT = 1\n", ":2: [streamcore] IDLE_TIMEOUT", "no such setting"),
    ("[streamcore]\nidle_timeout = 1\n", ":2: [streamcore] idle_timeout", "to [limits]"),
    ("[limits]\nidle_timeout = soon\n", ":2: [limits] idle_timeout", "'soon'"),
    ("[limits]\nidle_timeout = 5 # s\n", ":2: [limits] idle_timeout", "line of its own"),
    ("[limits]\nidle_timeout = 0\n", ":2: [limits] idle_timeout", "above 0"),
    ("[limits]\nidle_timeout =\n", ":2: [limits] idle_timeout", "a time"),
    ("[limits]\nmax_tool_calls = 1.5\n", ":2: [limits] max_tool_calls", "whole number"),
    ("[limits]\nmax_tool_calls = none\n", ":2: [limits] max_tool_calls", "whole number"),
    ("[limits]\nmax_event_bytes = 1 MBit\n", ":2: [limits] max_event_bytes", "units: b, kb"),
    ("[retry]\nmax_retries = -1\n", ":2: [retry] max_retries", "0 or more"),
    ("[retry]\nmode = often\n", ":2: [retry] mode", "normal"),
    ("[retry]\njitter = 2\n", ":2: [retry] jitter", "at most 1"),
    ("[agent]\nmax_steps = 0\n", ":2: [agent] max_steps", "1 or more"),
    ("[streamcore]\nprovider = opnai\n", ":2: provider", "did you mean openai"),
    ("[streamcore]\nbase_url = localhost/v1\n", ":2: [streamcore] base_url", "no scheme"),
    ("[streamcore]\npool_size = 0\n", ":2: [streamcore] pool_size", "1 or more"),
    ("[streamcore]\nmodel =\n", ":2: [streamcore] model", "empty"),
    ("[streamcore]\nheaders = X\n", ":2: [streamcore] headers", "Name: value"),
    ("[streamcore]\nheaders =\n A: 1\n a: 2\n", ":2: [streamcore] headers", "twice"),
    ("[provider opnai]\nimages = no\n", ":2: no provider", "did you mean openai"),
    ("[provider openai]\nimages = maybe\n", ":2: [provider openai] images", "yes or no"),
    ("[provider openai]\ndone_marker = never\n", ":2: [provider openai] done_marker", "required"),
    ("[provider openai]\ncontext_window = 0\n", ":2: [provider openai] context_window",
     "1 or more: 0"),
    ("[provider openai]\nlike = groq\n", ":2: [provider openai]", "like is refused"),
    ("[provider x]\nbase_url = http://h\nlike = grok\n", ":3: like", "did you mean groq"),
])
def test_bad_file_is_refused_with_its_place(
    written: Write, text: str, place: str, words: str
) -> None:
    """Each fault names file, line and key, and says what is wanted."""
    name = written(text)
    message = refusal(name)
    assert message.startswith(name + place), message
    assert words in message


@pytest.mark.parametrize("data, words", [
    (b"[limits]\n\n\xff = 1\n", ":3: this is not UTF-8"),
    (b"#" * (MAX_FILE_BYTES + 1), "more than"),
])
def test_bad_bytes_are_refused(tmp_path: Path, data: bytes, words: str) -> None:
    """A file that is not text, or is too large, is refused."""
    file = tmp_path / "c.ini"
    file.write_bytes(data)
    assert words in refusal(str(file))


@pytest.mark.parametrize("name", ["/no/such/file.ini", ".", "a\0b"])
def test_file_that_cannot_be_read_is_refused(name: str) -> None:
    """A file that cannot be read is refused, and the message has its name."""
    assert "cannot be read" in refusal(name)


def test_bom_and_crlf_are_nothing(tmp_path: Path) -> None:
    """A file with the line ends and BOM of Windows reads the same."""
    file = tmp_path / "c.ini"
    file.write_bytes(b"\xef\xbb\xbf[streamcore]\r\nmodel = m\r\n")
    assert Config.load(str(file), None).model == "m"


# -- variables and overrides --------------------------------------------------------------


@pytest.mark.parametrize("name, value, words", [
    ("STREAMCORE_MODLE", "x", "did you mean STREAMCORE_MODEL"),
    ("STREAMCORE_LIMITS_IDLE_TIMOUT", "1", "did you mean STREAMCORE_LIMITS_IDLE_TIMEOUT"),
    ("STREAMCORE_LIMITS_IDLE_TIMEOUT", "soon", "'soon'"),
    ("STREAMCORE_PROVIDER", "opnai", "did you mean openai"),
])
def test_bad_variable_is_refused_with_its_name(name: str, value: str, words: str) -> None:
    """A wrong variable with our prefix is named, and similar names are suggested."""
    message = refusal(None, {name: value})
    assert name in message and words in message


@pytest.mark.parametrize("name, value, words", [
    ("modle", "x", "did you mean model"),
    ("limits.idle", 1, "no such setting"),
    ("limits.idle_timeout", "soon", "'soon'"),
    ("limits.idle_timeout", True, "type bool"),
    ("limits.idle_timeout", float("nan"), "above 0"),
    ("limits.max_tool_calls", 1.5, "whole number"),
    ("limits.max_tool_calls", "9" * 5000, "whole number"),
    ("model", 5, "a text"),
    ("provider.nobody.images", True, "no such setting"),
])
def test_bad_override_is_refused_with_its_name(name: str, value: Any, words: str) -> None:
    """A wrong override is named, and similar names are suggested."""
    message = refusal(None, None, {name: value})
    assert message.startswith(f"the override {name}: ") and words in message


def test_variable_reaches_one_provider() -> None:
    """The variable's name has the provider's name, with underscores for other characters."""
    env = {"STREAMCORE_PROVIDER_LLAMA_CPP_DONE_MARKER": "optional",
           "STREAMCORE_PROVIDER_AZURE_AI_FOUNDRY_THINK_TAGS": "yes"}
    one = Config.load(None, env, {"provider": "llama.cpp"}).profile()
    two = Config.load(None, env, {"provider": "azure-ai-foundry"}).profile()
    resolved = one.options.resolved()
    assert (resolved.done_marker, resolved.think_tags) == ("optional", False)
    assert two.options.think_tags


def test_options_are_read_as_their_own_kind(written: Write) -> None:
    """A dialect's option of words, and a text without a default, can be set in a file."""
    name = written("[provider openai]\nschema_without = $schema, examples\n"
                   "reasoning_filler = (no reasoning)\n")
    options = Config.load(name, None, {"provider": "openai"}).profile().options
    assert options.schema_without == ("$schema", "examples")
    assert options.reasoning_filler == "(no reasoning)"


# -- values -------------------------------------------------------------------------------


@pytest.mark.parametrize("read, text, value", [
    (read_seconds, "30s", 30.0), (read_seconds, "1500ms", 1.5), (read_seconds, "2m", 120.0),
    (read_seconds, " 1.5 h ", 5400.0), (read_seconds, "7", 7.0), (read_seconds, "2 min", 120.0),
    (read_seconds, "0.1ms", 0.0001), (read_seconds, "2300ms", 2.3),
    (read_clock, "none", None), (read_clock, "OFF", None),
    (read_size, "256KiB", 262144), (read_size, "1MB", 1000000), (read_size, "1.5kib", 1536),
    (read_size, "4096", 4096), (read_size, "2 GiB", 2**31), (read_size, "10B", 10),
    (read_count, "32", 32), (read_number, "0.5", 0.5), (read_number, "2", 2.0),
    (read_flag, "Yes", True), (read_flag, "off", False), (read_words, "A, B  C", ("A", "B", "C")),
    (read_verify, "no", False), (read_verify, "/a/ca.pem", "/a/ca.pem"),
    (read_headers, "A: b:c\n B:d ", {"A": "b:c", "B": "d"}),
])
def test_units_are_understood(read: Any, text: str, value: Any) -> None:
    """Times, sizes, counts, flags and words are read as people write them."""
    assert read(text) == value
    assert type(read(text)) is type(value)


@pytest.mark.parametrize("read, text", [
    (read_seconds, "none"), (read_seconds, "1d"), (read_seconds, "1 0"), (read_seconds, "nan"),
    (read_seconds, "1e3"), (read_seconds, ""), (read_seconds, "٣"), (read_size, "1.3B"),
    (read_size, "1m"), (read_count, "1_000"), (read_count, "0x10"), (read_flag, "2"),
    (read_words, ","), (read_headers, "A:"), (read_headers, "A b: c"), (read_headers, "A: é"),
])
def test_what_is_no_value_is_refused(read: Any, text: str) -> None:
    """A text with two possible meanings, or without a meaning, is refused."""
    with pytest.raises(ValueError):
        read(text)


@pytest.mark.parametrize("section", sorted(SETTINGS))
def test_explained_value_reads_back(section: str) -> None:
    """The text that ``explain`` shows for a value means this value."""
    samples: Dict[Any, List[Any]] = {
        read_clock: [None, 0.25, 90.0], read_seconds: [0.0, 1.5], read_size: [1, 262144, 1000000],
        read_count: [0, 5], read_number: [0.1, 2.0], read_flag: [True, False],
        read_words: [("A", "B")], read_verify: [True, "/x"],
    }
    for setting in SETTINGS[section].values():
        for value in samples.get(setting.read, []):
            assert setting.read(as_text(value, setting.read)) == value


# -- providers ----------------------------------------------------------------------------


def test_section_bends_only_its_provider(written: Write) -> None:
    """``[provider NAME]`` counts if that provider is chosen, its model included."""
    name = written("[provider ollama]\nmodel = qwen\ndone_marker = optional\n"
                   "context_window = 4096\n[provider openai]\nmodel = gpt\nimages = no\n")
    ollama = Config.load(name, None, {"provider": "ollama"})
    assert (ollama.model, ollama.profile().options.resolved().done_marker) == ("qwen", "optional")
    assert ollama.profile().model("x").context_window == 4096
    openai = ollama.over({"provider": "openai"})
    assert (openai.model, openai.profile().options.resolved().done_marker) == ("gpt", "required")
    assert not openai.profile().dialect_options(openai.profile().model("gpt-5")).images
    assert get_profile("openai").options.resolved().images


def test_context_window_of_a_file_wins_over_the_models(written: Write) -> None:
    """A context window in the file counts for every model."""
    name = written("[streamcore]\nprovider = openai\n[provider openai]\ncontext_window = 900\n")
    profile = Config.load(name, None).profile()
    assert {profile.model(n).context_window for n in ("gpt-5", "other")} == {900}


def test_provider_of_ones_own(written: Write) -> None:
    """A name without a profile is a provider of the user's own, with or without ``like``."""
    name = written("[streamcore]\nprovider = mylab\nmodel = m\n[provider mylab]\n"
                   "base_url = http://127.0.0.1:9/v1\nlike = groq\n")
    config = Config.load(name, {"GROQ_API_KEY": SECRET})
    profile = config.profile()
    assert (profile.name, profile.base_url_env, profile.key_env) == ("mylab", None, ())
    assert profile.options == get_profile("groq").options
    assert rows(config)["api_key"][0] == "(not set)"


def test_another_provider_leaves_address_and_key_behind(written: Write) -> None:
    """A value for one provider never reaches another provider that a stronger layer chooses."""
    name = written("[streamcore]\nprovider = mylab\nmodel = m\nbase_url = http://lab.test/v1\n"
                   f"api_key = {SECRET}\nheaders = X-Lab: 1\n"
                   "[provider mylab]\nbase_url = http://lab.test/v2\n")
    config = Config.load(name, {"STREAMCORE_PROVIDER": "ollama", "OLLAMA_API_KEY": "ollama-key"})
    shown = rows(config)
    assert config.model is None
    assert "headers.X-Lab" not in shown
    left = {row.setting: row.origin for row in config.explain() if row.value == "(not used)"}
    assert set(left) == {"model", "base_url", "api_key", "headers"}
    assert left["model"] == f"{name}:3: it belongs to mylab"
    first = next(row for row in config.explain() if row.setting == "base_url")
    assert first.value == "http://localhost:11434/v1"
    back = config.over({"provider": "mylab"})
    assert rows(back)["base_url"][0] == "http://lab.test/v2" and back.model == "m"


def test_address_without_a_provider_is_for_any(written: Write) -> None:
    """The values of a layer that names no provider count for the chosen provider."""
    name = written("[streamcore]\nmodel = m\nbase_url = http://gate.test/v1\n")
    config = Config.load(name, None, {"provider": "openai"})
    assert (config.model, rows(config)["base_url"][0]) == ("m", "http://gate.test/v1")


@pytest.mark.parametrize("env, overrides, expected", [
    ({}, {}, "http://file.test"),
    ({"OPENAI_BASE_URL": "http://usual.test"}, {}, "http://usual.test"),
    ({"OPENAI_BASE_URL": "http://usual.test", "STREAMCORE_BASE_URL": "http://env.test"}, {},
     "http://env.test"),
    ({"OPENAI_BASE_URL": "http://usual.test"}, {"base_url": "http://flag.test"},
     "http://flag.test"),
])
def test_address_layers(
    written: Write, env: Dict[str, str], overrides: Dict[str, str], expected: str
) -> None:
    """The provider's own variable wins over the file, and ``STREAMCORE_BASE_URL`` over both."""
    name = written("[streamcore]\nprovider = openai\n[provider openai]\n"
                   "base_url = http://file.test\n")
    assert rows(Config.load(name, env, overrides))["base_url"][0] == expected


def test_headers_are_merged_name_by_name(written: Write) -> None:
    """A stronger layer replaces a header, ignoring case; other headers stay."""
    name = written("[streamcore]\nheaders =\n X-A: 1\n X-B: 1\n"
                   "[provider ollama]\nheaders = X-C: 1\n")
    env = {"STREAMCORE_HEADERS": "x-a: 2"}
    shown = rows(Config.load(name, env, {"provider": "ollama"}))
    assert {key: value[0] for key, value in shown.items() if key.startswith("headers.")} == {
        "headers.x-a": "2", "headers.X-B": "1", "headers.X-C": "1",
    }


# -- keys ---------------------------------------------------------------------------------


def sent(config: Config, **arguments: Any) -> Dict[str, str]:
    """Ask the loopback provider and return the headers it got."""
    with LoopbackServer([ANSWER]) as server:
        arguments = {"model": "m", "base_url": server.base_url, **arguments}
        with config.client(**arguments) as client:
            client.complete("hi")
        return dict(server.requests[0].headers)


@pytest.mark.parametrize("text, env, overrides, key", [
    ("", {"OLLAMA_API_KEY": "usual"}, {}, "usual"),
    ("[provider ollama]\napi_key_env = MINE\n", {"OLLAMA_API_KEY": "u", "MINE": "m"}, {}, "m"),
    ("[provider ollama]\napi_key_env = NOT, MINE\n", {"MINE": "mine"}, {}, "mine"),
    ("[provider ollama]\napi_key = literal\n", {}, {}, "literal"),
    ("[provider ollama]\napi_key = literal\n", {"OLLAMA_API_KEY": "usual"}, {}, "usual"),
    ("[streamcore]\napi_key = general\n[provider ollama]\napi_key = literal\n", {}, {}, "literal"),
    ("[provider ollama]\napi_key = literal\n", {"STREAMCORE_API_KEY": "env"}, {}, "env"),
    ("[provider ollama]\napi_key_env = MINE\n",
     {"STREAMCORE_API_KEY_ENV": "YOURS", "MINE": "mine", "YOURS": "yours"}, {}, "yours"),
    ("", {"OLLAMA_API_KEY": "usual", "MINE": "mine"}, {"api_key_env": "MINE"}, "mine"),
    ("", {"OLLAMA_API_KEY": "usual"}, {"api_key": "flag"}, "flag"),
    ("", {"OPENAI_API_KEY": "never"}, {}, None),
])
def test_key_layers(
    written: Write, text: str, env: Dict[str, str], overrides: Dict[str, str], key: Optional[str]
) -> None:
    """The key that is sent is the chosen provider's, from the strongest layer."""
    config = Config.load(written(text), env, {"provider": "ollama", **overrides})
    assert sent(config).get("authorization") == (None if key is None else f"Bearer {key}")
    shown = rows(config)["api_key"]
    assert shown[0] == ("(not set)" if key is None else "***")


def test_named_variable_that_is_not_set_is_missing(written: Write) -> None:
    """If the user names a key variable, no other is read, and an unset one means no key."""
    name = written("[provider ollama]\napi_key_env = MINE\n")
    config = Config.load(name, {"OLLAMA_API_KEY": "usual"}, {"provider": "ollama"})
    with pytest.raises(LlmError) as caught:
        sent(config)
    assert caught.value.code == "MISSING_CREDENTIAL" and "MINE" in str(caught.value)
    assert rows(config)["api_key"] == ("(not set)", f"{name}:2, not set")


def test_key_variable_is_read_at_every_call() -> None:
    """A key that changes in the environment counts from the next call on."""
    env = {"OLLAMA_API_KEY": "one"}
    config = Config.load(None, env, {"provider": "ollama"})
    assert sent(config)["authorization"] == "Bearer one"
    env["OLLAMA_API_KEY"] = "two"
    assert sent(config)["authorization"] == "Bearer two"


@posix
@pytest.mark.parametrize("line", [
    f"api_key = {SECRET}", f"headers = X-Api-Key: {SECRET}",
    f"base_url = http://u:{SECRET}@h.test", f"base_url = http://h.test/?api-key={SECRET}",
])
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o602])
def test_secret_in_a_file_others_may_access_is_refused(
    written: Write, line: str, mode: int
) -> None:
    """A literal secret needs mode 0600; the message names the place and never the secret."""
    text = f"[provider openai]\nimages = no\n{line}\n"
    message = refusal(written(text, mode))
    assert ":3: [provider openai] " in message and "chmod 600" in message
    assert Config.load(written(text, 0o600), None).provider == "openai-compatible"
    assert Config.load(written("[provider openai]\nimages = no\n", mode), None)


@pytest.mark.parametrize("text, words", [
    (f"[streamcore]\napi_key_env = {SECRET}\n", "not the key itself"),
    (f"[streamcore]\napi_key = {SECRET} x\n", "visible ASCII"),
    (f"[streamcore]\napi_key = {SECRET}\napi_key_env = X\n", "one of them"),
    (f"[streamcore]\n{SECRET}\n", "a line is"),
    (f"[streamcore]\nbase_url = ftp://u:{SECRET}@h\n", "http"),
    (f"[streamcore]\nproxy = {SECRET}@h:1\n", "no scheme"),
    (f"[streamcore]\nheaders = {SECRET}\n", "Name: value"),
])
def test_faulty_secret_is_not_shown(written: Write, text: str, words: str) -> None:
    """A message about a line with a secret shows no part of the secret (``refusal`` checks)."""
    assert words in refusal(written(text))


def test_secrets_are_in_no_repr_row_or_pickle(written: Write) -> None:
    """The key, secret headers and passwords in URLs are masked wherever a configuration shows."""
    name = written(
        f"[streamcore]\nmodel = m\nprovider = openai\napi_key = {SECRET}\n"
        f"base_url = http://u:{SECRET}@h.test/v1?api-key={SECRET}\n"
        f"proxy = http://u:{SECRET}@p.test\nheaders =\n X-Token: {SECRET}\n X-B: 1\n"
    )
    config = Config.load(name, None)
    assert SECRET not in repr(config) + str(config) + repr(config.explain())
    assert SECRET not in repr(config.client()) + repr(config.profile())
    assert rows(config)["headers.X-Token"][0] == "***"
    with pytest.raises(TypeError):
        pickle.dumps(config)


# -- what is made from it -----------------------------------------------------------------


def test_client_has_the_settings(written: Write) -> None:
    """Headers, app, retry and limits reach the request; each argument wins over its setting."""
    name = written("[streamcore]\napp = tool/1\nheaders =\n X-A: 1\n X-B: 1\n"
                   "[retry]\nmax_retries = 1\ninitial_delay = 1ms\n[limits]\nidle_timeout = 9\n")
    config = Config.load(name, None)
    headers = sent(config, headers={"x-a": "2"}, limits=Limits(total_timeout=5))
    assert headers["user-agent"].startswith("tool/1 ")
    assert (headers["x-a"], headers["x-b"]) == ("2", "1")
    busy = {"status": 503, "json": {"error": {"message": "busy"}}}
    with LoopbackServer([busy, ANSWER]) as server:
        with config.client(model="m", base_url=server.base_url) as client:
            assert client.complete("hi").text == "ok"


def test_client_of_another_provider(written: Write) -> None:
    """``client(provider=…)`` uses that provider's section."""
    name = written("[streamcore]\nprovider = openai\nmodel = gpt\n[provider ollama]\nmodel = q\n")
    config = Config.load(name, None)
    made = config.client(provider="ollama", limits=None, headers=None, api_key=None)
    assert (made.model, made.provider) == ("q", "ollama")
    with pytest.raises(TypeError):
        config.client(provider=get_profile("ollama"))


def test_client_without_a_model_is_refused() -> None:
    """A missing model is refused before a client is made; the message says where to set it."""
    with pytest.raises(LlmError, match="STREAMCORE_MODEL") as caught:
        Config.load(None, None).client()
    assert caught.value.code == "INVALID_CONFIG"


def test_explain_tells_the_providers_limits() -> None:
    """A limit that is not given comes from the provider or the defaults; its origin says which."""
    shown = rows(Config.load(None, None, {"provider": "ollama"}))
    assert shown["limits.idle_timeout"] == ("300s", "provider ollama")
    assert shown["limits.total_timeout"] == ("none", "provider ollama")
    assert shown["limits.max_event_bytes"] == ("256KiB", "default")
    plain = rows(Config.load(None, None))
    assert plain["limits.first_byte_timeout"] == ("the same as idle_timeout", "default")
    assert plain["retry.max_retries"] == ("0", "default")
    assert plain["agent.max_steps"] == ("20", "default")
