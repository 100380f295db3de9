# SPDX-License-Identifier: MIT
"""Write the reference tables of the rooms' README pages from the code.

    python3 scripts/tables.py             rewrites each table in its page
    python3 scripts/tables.py --check     exits 1 if a page differs, writes nothing
    python3 scripts/tables.py --print     prints all tables, reads and writes no page

A table stands between two marker comments, <!-- NAME:begin --> and <!-- NAME:end -->. The text
outside of them stays unchanged. Nothing has to be installed. This script has the words for error
codes, for settings without a docstring, and for kinds of values; a missing word is an error.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "streamcore"

sys.path.insert(0, str(ROOT))

from streamcore import cli, loopback  # noqa: E402
from streamcore.agent.result import REASONS, STATUSES  # noqa: E402
from streamcore.cli import exits  # noqa: E402
from streamcore.cli.arguments import Parser  # noqa: E402
from streamcore.config import settings  # noqa: E402
from streamcore.config import values as kinds  # noqa: E402
from streamcore.providers import OptionNote, ProviderProfile, list_profiles  # noqa: E402
from streamcore.session import CALL_ENDS  # noqa: E402
from streamcore.values.agent_limits import AgentLimits  # noqa: E402
from streamcore.values.chunks import FINISH_KINDS  # noqa: E402
from streamcore.values.errors import CODES  # noqa: E402
from streamcore.values.limits import (  # noqa: E402
    DEFAULT_LIMITS, NOT_GIVEN, Limits, NotGiven, resolve_limits,
)
from streamcore.values.retry import RetryPolicy  # noqa: E402
from streamcore.wire.dialects import dialect_names, find_dialect  # noqa: E402

WHEN: Dict[str, str] = {
    "MISSING_CREDENTIAL": "The provider needs a key, and none was given.",
    "INVALID_CREDENTIAL": "The key has characters that no header can carry.",
    "INVALID_REQUEST": "The request was refused before any I/O, or with HTTP 400, 413 or 422.",
    "UNSUPPORTED_CONTENT": "The provider cannot take a part of the request. Raised before any I/O.",
    "UNSUPPORTED_REASONING_EFFORT": "The provider has no such effort. Raised before any I/O.",
    "AUTH": "The provider refuses the key.",
    "QUOTA": "The money or the quota is used up.",
    "RATE_LIMIT": "Too many requests or tokens in a period of time.",
    "CONTEXT_WINDOW_EXCEEDED": "The request does not fit the model's context window.",
    "SERVER": "HTTP 5xx, or an error inside the stream.",
    "TRANSPORT": "DNS, refused, TLS, proxy, reset, broken framing; `phase` says where. After a bad "
                 "certificate, a proxy that forbids it, or a closed client, there is no other try.",
    "TIMEOUT": "A clock fired, or HTTP 408. `clock` names the clock, and the message names the "
               "setting to raise. After the total clock there is no other try.",
    "STREAM_CLOSED": "The body ended without a proven end.",
    "MALFORMED_RESPONSE": "The body is no stream, or has bad UTF-8, bad JSON, wrong shapes, or too "
                          "many bytes.",
    "MALFORMED_TOOL_CALL": "A tool call that cannot be trusted.",
    "EMPTY_RESPONSE": "The answer has a proven end and no content.",
    "ABORTED": "You cancelled the call, or closed its stream.",
    "CONTENT_FILTER": "The provider refuses the content, or its filter ended the answer.",
    "INSUFFICIENT_SYSTEM_RESOURCE": "A finish word of DeepSeek: it had no capacity.",
    "NO_ADAPTER": "No adapter is registered for the provider.",
    "DUPLICATE_ADAPTER": "Another adapter already has the route.",
    "REGISTRATION_DISPOSED": "The registration has ended.",
    "INVALID_ADAPTER": "An adapter or middleware raised, or broke the grammar of the chunks.",
    "INVALID_PREPARED_CALL": "A prepared call was used twice, or with another config.",
    "INVALID_CONFIG": "A configuration file or variable is wrong; the message names the place.",
    "SESSION": "The session's file, its lock or its disk failed.",
    "AGENT_LIMIT": "Only in an agent's result: a cap was reached.",
    "TOOL_FAILED": "Only in an agent's result: a tool crashed, hung, or failed twice alike.",
}
SETTING_WORDS: Dict[str, str] = {
    "provider": "the name of a provider, or of a section `[provider NAME]`",
    "model": "the model's name at the provider",
    "base_url": "an address to use instead of the provider's",
    "api_key": "the API key; in a file only if nobody but its owner can access the file",
    "api_key_env": "the variables that may hold the API key; the first one that is set counts",
    "headers": "headers for every request",
    "app": "your tool as name/version, for the User-Agent",
    "proxy": "the proxy of every request",
    "verify": "yes, no, or a file of certificates",
    "cert": "the file of a client certificate",
    "pool_size": "idle connections kept, 1 or more",
    "like": "the provider whose profile this one starts from",
}
KIND_WORDS: Dict[Callable[..., Any], str] = {
    kinds.read_clock: "time or none", kinds.read_seconds: "time", kinds.read_size: "size",
    kinds.read_count: "whole number", kinds.read_number: "number", kinds.read_flag: "yes or no",
    kinds.read_text: "text", kinds.read_words: "words", kinds.read_headers: "lines `Name: value`",
    kinds.read_verify: "yes, no or a file",
}


def table(head: str, rows: List[Tuple[str, ...]]) -> str:
    """Return a table in Markdown; ``head`` has bars between its cells."""
    names = [name.strip() for name in head.split("|")]
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def cell(text: str) -> str:
    """Return a text that is safe in a cell; text in backquotes stays unchanged."""
    parts = " ".join(text.split()).replace("``", "`").replace("|", "\\|").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def described(owner: Any) -> Dict[str, str]:
    """Return a docstring's text on each field, written ``name: text`` or ``name  text``."""
    names = "|".join(item.name for item in fields(owner))
    found: Dict[str, str] = {}
    name, depth = "", 0
    for line in inspect.cleandoc(owner.__doc__).splitlines():
        begun = re.match(rf"( +)({names})(?::|  ) *(.*)", line)
        if begun:
            name, depth = begun[2], len(begun[1])
            found[name] = begun[3]
        elif name and len(line) - len(line.lstrip()) > depth:
            found[name] += f" {line}"
        else:
            name = ""
    return {name: cell(text) for name, text in found.items()}


def codes() -> str:
    """The error codes, from ``CODES``."""
    return table("code | when | worth another try", [
        (f"`{code}`", WHEN[code], "yes" if retryable else "no")
        for code, retryable in CODES.items()
    ])


def finishes() -> str:
    """The words for how an answer ended."""
    return words("finish", FINISH_KINDS)


def words(head: str, meanings: Mapping[str, str]) -> str:
    """A closed list of words, and what each means."""
    rows: List[Tuple[str, ...]] = [(f"`{word}`", cell(text)) for word, text in meanings.items()]
    return table(f"{head} | meaning", rows)


def limits() -> str:
    """The clocks and sizes of one call."""
    return _fields_table(Limits, DEFAULT_LIMITS)


def retry_policy() -> str:
    """The fields of a ``RetryPolicy``."""
    return _fields_table(RetryPolicy, RetryPolicy())


def agent_limits() -> str:
    """The caps of an agent."""
    return _fields_table(AgentLimits, AgentLimits())


def _fields_table(owner: Any, defaults: Any) -> str:
    said = described(owner)
    return table("field | meaning | default", [
        (f"`{item.name}`", said[item.name], _shown(item.name, getattr(defaults, item.name)))
        for item in fields(owner)
    ])


def _shown(name: str, value: Any) -> str:
    if value is NOT_GIVEN:
        return "as `idle_timeout`"
    if name.endswith("_bytes"):
        unit, size = ("MiB", 1 << 20) if value >= 1 << 20 else ("KiB", 1 << 10)
        return f"{value // size} {unit}"
    if name.endswith(("_timeout", "_delay", "_after")):
        return f"{value:g} s"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def providers() -> str:
    """The providers known by name."""
    return table("provider | base URL | key | reasoning efforts | images | clocks", [
        (f"`{one.name}`", _address(one), _key(one), _efforts(one),
         "yes" if one.options.resolved().images else "no", _clocks(one))
        for one in list_profiles()
    ])


def notes() -> str:
    """The notes of each provider: the option, what it does, its reason and source."""
    return table("provider | option | what it does | why | source", [
        (f"`{one.name}`", _set(one, note), cell(note.text), cell(note.reason), cell(note.source))
        for one in list_profiles() for note in one.notes
    ])


def _set(profile: ProviderProfile, note: OptionNote) -> str:
    values: Any = profile.options.resolved()
    return "<br>".join(cell(f"`{name}={getattr(values, name)!r}`") for name in note.options)


def _address(profile: ProviderProfile) -> str:
    variable = f"`{profile.base_url_env}`" if profile.base_url_env else "yours"
    return f"{profile.base_url} ({variable})" if profile.base_url else f"yours ({variable})"


def _key(profile: ProviderProfile) -> str:
    names = " or ".join(f"`{name}`" for name in profile.key_env)
    return names if profile.key_required else f"none needed ({names})"


def _efforts(profile: ProviderProfile) -> str:
    if profile.efforts is None:
        return "passed through"
    return ", ".join(
        f"{word} (default)" if word == profile.default_effort else word for word in profile.efforts
    ) or "none"


def _clocks(profile: ProviderProfile) -> str:
    resolved = resolve_limits(profile.limits)
    given = not isinstance(profile.limits.first_byte_timeout, NotGiven)
    first = f"first byte {resolved.first_byte_timeout:g} s, " if given else ""
    total = "no total" if resolved.total_timeout is None else f"total {resolved.total_timeout:g} s"
    return f"{first}idle {resolved.idle_timeout:g} s, {total}"


def escaped(value: Any) -> str:
    """Return a value as it stands in a cell: a bar would begin another one."""
    return str(value).replace("|", "\\|")


def options() -> str:
    """The options of each dialect."""
    rows: Dict[str, Tuple[str, ...]] = {}
    for name in dialect_names():
        owner = find_dialect(name).options
        said = {key: text for one in reversed(owner.__mro__[:-1])
                for key, text in described(one).items()}
        for key, default in owner.DEFAULTS.items():
            rows.setdefault(key, (f"`{key}`", said[key], f"`{escaped(default)}`"))
    return table("option | meaning | default", list(rows.values()))


def commands() -> str:
    """Each command of the program with its arguments, and the exit codes."""
    parser = Parser(prog=PACKAGE)
    made = parser.add_commands()
    found, _absent = cli._load()
    for module in found:
        module.add_parser(made)
    parts = []
    for name, command in made.choices.items():
        rows = [row for action in command._actions for row in _argument(action)]
        text = cell(command.description or "")
        parts.append(f"### {name}\n\n{text}\n\n{table('argument | meaning', rows)}")
    ends = re.sub(r"^exit codes:\n", "", exits.TABLE)
    rows = [(code, cell(text)) for code, text in re.findall(
        r"^  (\d+) +(.*?)(?=\n  \d|\Z)", ends, re.MULTILINE | re.DOTALL)]
    parts.append(f"### Exit codes\n\n{table('code | meaning', rows)}")
    return "\n\n".join(parts)


def _argument(action: argparse.Action) -> Iterator[Tuple[str, str]]:
    if action.help is argparse.SUPPRESS or "--help" in action.option_strings:
        return
    shown = action.metavar or ""
    if action.choices is not None:
        shown = " or ".join(map(str, action.choices))
    names = [f"{name} {shown}".strip() for name in action.option_strings] or [str(shown)]
    yield ", ".join(f"`{name}`" for name in names), cell((action.help or "") % vars(action))


def setting_table() -> str:
    """Each setting with its kind and meaning."""
    said = {**SETTING_WORDS, **described(Limits), **described(RetryPolicy),
            **described(AgentLimits)}
    for name in dialect_names():
        for owner in reversed(find_dialect(name).options.__mro__[:-1]):
            said.update(described(owner))
    parts = []
    for section, keys in settings.SETTINGS.items():
        shown = f"{section} NAME" if section == settings.PROVIDER else section
        rows = [(f"`{key}`", KIND_WORDS[one.read], said[key]) for key, one in keys.items()]
        parts.append(f"### [{shown}]\n\n{table('key | value | meaning', rows)}")
    return "\n\n".join(parts)


def loopback_script() -> str:
    """The format of a loopback script, from the docstring of the room."""
    return f"```text\n{(loopback.__doc__ or '').strip()}\n```"


TABLES: Dict[str, Dict[str, Callable[[], str]]] = {
    "values": {"codes": codes, "finishes": finishes, "limits": limits, "retry": retry_policy},
    "wire": {"options": options},
    "providers": {"providers": providers, "notes": notes},
    "session": {"call-ends": lambda: words("reason", CALL_ENDS)},
    "agent": {
        "agent-limits": agent_limits, "reasons": lambda: words("reason", REASONS),
        "statuses": lambda: words("status", STATUSES),
    },
    "config": {"settings": setting_table},
    "loopback": {"script": loopback_script},
    "cli": {"commands": commands},
}
"""Room → the tables in its README, by name."""


def replaced(page: str, name: str, text: str) -> str:
    """Return the page with a new table between its markers.

    Raises:
        ValueError: when the page does not have the markers.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"there is no {begin} … {end}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def main(args: List[str], root: Path = ROOT) -> int:
    """Run the script on a checkout; return its exit status."""
    if args == ["--print"]:
        for tables in TABLES.values():
            for make in tables.values():
                print(make(), end="\n\n")
        return 0
    if args not in ([], ["--check"]):
        print((__doc__ or "").strip())
        return 0 if set(args) & {"-h", "--help"} else 2
    failed = False
    for room, tables in TABLES.items():
        path = root / PACKAGE / room / "README.md"
        try:
            failed |= _update(path, tables, write=not args)
        except (OSError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = True
    return int(failed)


def _update(path: Path, tables: Mapping[str, Callable[[], str]], write: bool) -> bool:
    """Update a page, or, without ``write``, return whether it differs."""
    page = wanted = path.read_text(encoding="utf-8")
    for name, make in tables.items():
        wanted = replaced(wanted, name, make())
    if wanted == page:
        return False
    if write:
        path.write_text(wanted, encoding="utf-8")
        return False
    print(f"{path} differs from the code: run scripts/tables.py", file=sys.stderr)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
