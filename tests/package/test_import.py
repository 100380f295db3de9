# SPDX-License-Identifier: MIT
"""What ``import streamcore`` does, and does not do, in a fresh interpreter.

No third-party module, no changed warning filter, no look at the environment, no socket, file or
thread; the parsing half without ``requests``; and the list of public names.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from fresh_support import fresh

from streamcore.values.rooms import OPTIONAL

ROOT = Path(__file__).resolve().parents[2]

PUBLIC: List[str] = [
    "Agent", "AgentEvent", "AgentLimits", "AgentResult", "AnthropicMessagesOptions",
    "AssistantMessage", "BlockEnd",
    "BlockStart", "CallConfig", "ChatCompletionsOptions", "Client", "Config", "Dialect",
    "DialectOptions", "Failure", "Finish",
    "FinishReason", "HttpAdapter", "HttpSettings", "ImageBlock", "Limits", "LlmAdapter",
    "LlmError", "LlmRequest", "LlmRuntime", "LoopbackServer", "Message", "MessageAssembler",
    "ModelInfo", "OptionNote", "Partial", "PreparedCall", "ProviderProfile", "ReasoningBlock",
    "ReasoningDelta", "RetryPolicy", "RetryRecord", "Session", "SseEvent", "SseParser", "Stream",
    "StreamChunk", "TextBlock", "TextDelta", "TokenUsage", "Tool", "ToolCall", "ToolCallAssembler",
    "ToolCallDelta", "ToolError", "ToolOutcome", "ToolRegistry", "ToolResult", "Transport",
    "UsageChunk", "__version__", "assemble", "check_grammar", "chunk_from_dict", "error_chain",
    "find_dialect", "get_profile", "list_profiles", "parse_stream", "register_dialect", "tool",
]
"""Every public name. A change here is a change for users: say so in CHANGELOG.md."""

DUNDERS = {
    "__all__", "__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__",
    "__package__", "__path__", "__spec__", "__version__",
}
"""What ``dir()`` may show beside the public names."""

STREAM = (
    'data: {"choices":[{"index":0,"delta":{"content":"hel"}}]}\n\n'
    'data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\n'
    "data: [DONE]\n\n"
)

PARSING_HALF = [
    "values.chunks", "values.errors", "values.grammar", "values.limits", "values.messages",
    "values.usage", "wire.assembler", "wire.dialects", "wire.failures", "wire.pipeline",
    "wire.sse", "wire.toolcalls",
]

BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"requests", "urllib3", "certifi", "idna", "chardet"}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Block())
"""


def test_import_pulls_in_no_third_party_module() -> None:
    """After the import, every new module is the standard library's or the package's own."""
    found = fresh(
        "import json, sys, sysconfig\n"
        "before = set(sys.modules)\n"
        "import streamcore\n"
        "new = {n: getattr(sys.modules[n], '__file__', None) for n in set(sys.modules) - before}\n"
        "paths = sysconfig.get_paths()\n"
        "print(json.dumps([new, paths['stdlib'], paths['platstdlib']]))"
    )
    new, *libraries = found
    assert "streamcore" in new
    for name, file in new.items():
        assert name.split(".")[0] not in ("requests", "urllib3"), name
        if file is None or name.split(".")[0] == "streamcore":
            continue
        assert "site-packages" not in file and "dist-packages" not in file, (name, file)
        assert file.startswith(tuple(libraries)), (name, file)


def test_import_leaves_the_process_as_it_was() -> None:
    """Warning filters, logging, signal handlers, threads and excepthook stay untouched."""
    state = (
        "[repr(warnings.filters), repr(logging.root.handlers), logging.root.level, "
        "repr(signal.getsignal(signal.SIGINT)), threading.active_count(), "
        "sys.excepthook is sys.__excepthook__, socket.getdefaulttimeout(), "
        "locale.setlocale(locale.LC_ALL)]"
    )
    before, after = fresh(
        "import json, locale, logging, signal, socket, sys, threading, warnings\n"
        f"before = {state}\n"
        "import streamcore\n"
        f"print(json.dumps([before, {state}]))"
    )
    assert before == after


def test_parsing_a_good_stream_does_not_load_what_judges_errors() -> None:
    """The tables of error codes and words are loaded when the first error comes."""
    loaded = fresh(
        "import json\n"
        "from streamcore import assemble, parse_stream\n"
        f"text = assemble(parse_stream([{STREAM.encode()!r}])).text\n"
        "judges = ['streamcore.wire.failures.' + name for name in ('codes', 'words', 'body')]\n"
        "print(json.dumps([text, [name for name in judges if name in sys.modules]]))"
    )
    assert loaded == ["hello", []]


MOST_MODULES = {"streamcore": 12, "streamcore.wire.pipeline": 130}
"""How many modules an import may add, twice or half more than it does. The former is the package
and what names loaded lazily need; the latter the parsing half on top of dataclasses and json."""


@pytest.mark.parametrize("name", MOST_MODULES)
def test_import_adds_few_modules_over_a_bare_interpreter(name: str) -> None:
    """A heavy import shows as a number of modules, which no busy machine blurs."""
    new = fresh(
        "before = set(sys.modules)\n"
        f"import {name}\n"
        "new = sorted(set(sys.modules) - before)\n"
        "import json\n"
        "print(json.dumps(new))"
    )
    assert name in new
    assert len(new) <= MOST_MODULES[name], new


WATCH = f"""
import json, os, sys
PACKAGE = {str(ROOT / "streamcore")!r}
seen = []
def ours():
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__") in ("os", "_collections_abc"):
        frame = frame.f_back
    return bool(frame) and frame.f_code.co_filename.startswith(PACKAGE)
class Watched(dict):
    def __getitem__(self, key):
        if ours(): seen.append(key)
        return dict.__getitem__(self, key)
    def get(self, key, default=None):
        if ours(): seen.append(key)
        return dict.get(self, key, default)
    def __contains__(self, key):
        if ours(): seen.append(key)
        return dict.__contains__(self, key)
os.environ = Watched(os.environ)
def audit(event, args):
    if event.startswith(("socket.", "subprocess.")) or event == "os.system":
        seen.append(event)
sys.addaudithook(audit)
"""


def test_import_reads_no_environment_and_opens_nothing() -> None:
    """Importing the package and its parsing half reads no variable, makes no socket."""
    modules = ", ".join(f"streamcore.{name}" for name in PARSING_HALF)
    assert fresh(WATCH + f"import streamcore, {modules}\nprint(json.dumps(seen))") == []


def test_watch_sees_a_read_of_the_environment() -> None:
    """The check above would notice: a made-up module in the package's place is caught."""
    read = "exec(compile(\"os.getenv('A'); 'B' in os.environ\", PACKAGE + '/x.py', 'exec'))\n"
    sock = "import socket; socket.socket().close()\n"
    seen = fresh(WATCH + read + sock + "print(json.dumps(seen))")
    assert seen == ["A", "B", "socket.__new__"]


@pytest.mark.parametrize("flags", [("-S",), ()], ids=["no-site", "site"])
def test_parsing_half_works_without_requests(flags: List[str]) -> None:
    """A captured stream comes to its message where requests cannot be imported."""
    text, types, loaded = fresh(
        BLOCK + "import json, streamcore\n"
        f"pieces = [{STREAM!r}.encode()]\n"
        "chunks = [chunk.type for chunk in streamcore.parse_stream(pieces)]\n"
        "message = streamcore.assemble(streamcore.parse_stream(pieces))\n"
        "print(json.dumps([message.text, chunks, 'requests' in sys.modules]))",
        *flags,
    )
    assert text == "hello"
    assert types == ["block-start", "text-delta", "text-delta", "block-end", "finish"]
    assert not loaded


def test_error_without_requests_keeps_its_code() -> None:
    """A cut stream is refused with its code where requests cannot be imported."""
    code = fresh(
        BLOCK + "import json, streamcore\n"
        "try:\n"
        f"    streamcore.assemble(streamcore.parse_stream([{STREAM[:-14]!r}.encode()]))\n"
        "except streamcore.LlmError as error:\n"
        "    print(json.dumps(error.code))",
        "-S",
    )
    assert code == "STREAM_CLOSED"


def test_public_names_are_the_listed_ones() -> None:
    """``__all__`` is the list held here."""
    import streamcore

    assert sorted(streamcore.__all__) == sorted(PUBLIC)
    assert len(set(PUBLIC)) == len(PUBLIC)


def test_dir_shows_no_more_than_the_public_names() -> None:
    """``dir()`` shows the public names and the usual dunders, before and after all are loaded."""
    first, second = fresh(
        "import json, streamcore\n"
        "first = dir(streamcore)\n"
        "for name in streamcore.__all__: getattr(streamcore, name)\n"
        "print(json.dumps([first, dir(streamcore)]))"
    )
    assert first == second
    assert set(PUBLIC) <= set(first) <= set(PUBLIC) | DUNDERS


def test_every_public_name_is_there() -> None:
    """Each listed name can be had, as an attribute and by ``from … import``."""
    import streamcore

    for name in streamcore.__all__:
        assert getattr(streamcore, name) is not None
    space: dict[str, object] = {}
    exec("from streamcore import *", space)
    assert set(streamcore.__all__) <= set(space)


def test_unknown_name_is_an_attribute_error() -> None:
    """A name the package lacks fails as Python's own do."""
    import streamcore

    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(streamcore, "no_such_name")


def test_version_is_a_literal_with_three_numbers() -> None:
    """The version is known without looking up metadata."""
    import streamcore

    assert [part.isdigit() for part in streamcore.__version__.split(".")] == [True] * 3


def test_type_checkers_see_every_public_name() -> None:
    """The imports for type checkers name what __getattr__ loads, and nothing else."""
    source = (ROOT / "streamcore" / "__init__.py").read_text(encoding="utf-8")
    seen = re.findall(r"\b(\w+) as \1\b", source)
    assert sorted([*seen, "__version__"]) == PUBLIC


def test_type_checkers_of_a_host_pass_over_a_room_left_out() -> None:
    """An import of an optional room may fail in a copy, and is no error of the host's there."""
    source = (ROOT / "streamcore" / "__init__.py").read_text(encoding="utf-8")
    lines = re.findall(r"^    from \.(\w+)[\w.]* import (.*)$", source, re.MULTILINE)
    assert {room for room, rest in lines if room in OPTIONAL} == set(OPTIONAL) - {"cli"}
    for room, rest in lines:
        marked = rest.endswith("# type: ignore[import-not-found,unused-ignore]")
        assert marked == (room in OPTIONAL), room


def test_call_without_requests_says_what_to_install() -> None:
    """The half that calls is there, and names what it needs when it is used."""
    code = (
        "import sys; sys.modules['requests'] = None\n"
        "from streamcore import Client\n"
        "with Client('m', base_url='http://127.0.0.1:1/v1') as client:\n"
        "    try:\n"
        "        client.complete('hi')\n"
        "    except ModuleNotFoundError as missing:\n"
        "        print(missing.name, missing.__cause__, missing)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE,
                          universal_newlines=True, check=True)
    assert done.stdout.startswith("requests None ") and "pip install requests" in done.stdout
