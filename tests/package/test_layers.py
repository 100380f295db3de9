# SPDX-License-Identifier: MIT
"""Who may import whom: the picture of DESIGN.md §3 as data, and the check that it holds.

In: the package's sources, read as text. A room imports only from lower rows; the modules of one
room may see each other, without cycles. A room that each copy needs imports none that a copy may
leave out, and those import one another only where ``MAY_NEED`` says so. Imports inside functions
and under TYPE_CHECKING count like any other. In the rooms below transport, clock, sleep and
random are arguments with real defaults, and no file is opened. Each kind of violation is shown
to be caught on small made-up sources.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple

import pytest

from streamcore.values.rooms import OPTIONAL, REQUIRED

PACKAGE = Path(__file__).resolve().parents[2] / "streamcore"

ROWS: Tuple[Tuple[str, ...], ...] = (
    ("values",),
    ("wire",),
    ("transport", "providers"),
    ("runtime",),
    ("client",),
    ("session", "loopback"),
    ("agent", "config"),
    ("cli",),
    ("__main__",),
    ("__init__",),
)
"""Bottom first. A name may stand here before its module exists."""

MAY_NEED: Dict[str, Set[str]] = {
    "session": set(),
    "loopback": set(),
    "agent": {"session"},
    "config": set(),
    "cli": {"session", "loopback", "agent", "config"},
}
"""A room that a copy may leave out → the rooms of this kind that it may import."""
TOP = {"__main__", "__init__"}
"""What is in front of all rooms: they see each one, and say it where a room is missing."""
LOADERS = {
    ("__init__",), ("cli", "__init__"), ("providers", "profiles"), ("wire", "dialects", "__init__"),
}
"""Where a module is imported by name: a public name's, a command's, a provider's, a dialect's."""

HTTP = {"requests", "urllib3"}
HTTP_OWNER = "transport"

WORLD = {
    "asyncio", "concurrent", "glob", "io", "mmap", "multiprocessing", "os", "pathlib", "random",
    "secrets", "select", "selectors", "shutil", "signal", "socket", "ssl", "subprocess",
    "tempfile", "uuid",
}
"""What no pure module may import: every room below transport's row."""
DEFAULTS = {(("values", "retry"), "random"), (("values", "messages", "blocks"), "io")}
"""Where the real thing is the default of an argument, and so may be imported."""
ONLY_DEFAULTS = {"time", "random", "io"}
"""A pure module names what is in these as the default of an argument and nowhere else."""
HARMLESS = {"threading": {"Event"}, "sys": {"float_info", "modules", "version_info", "exc_info"}}
"""All that a pure module may name of these: a type to be given, and facts."""
BUILTINS = {"open", "input", "print", "breakpoint"}

Name = Tuple[str, ...]  # a module inside the package: ("wire", "sse")


class Import(NamedTuple):
    """One import: the line, and either a module of the package or a foreign top-level name."""

    line: int
    own: Name = ()
    foreign: str = ""
    fault: str = ""


def name_of(path: str) -> Name:
    """Return the module's name: ``wire/__init__.py`` is ``("wire", "__init__")``."""
    return tuple(path[: -len(".py")].split("/"))


def dynamic(node: ast.AST) -> bool:
    """Say whether this is a call of ``__import__`` or ``import_module``."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    word = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return word in ("__import__", "import_module")


def imports(name: Name, source: str, known: Set[Name]) -> Iterator[Import]:
    """Yield every import of a module, wherever in it the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield absolute(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield absolute(node.lineno, node.module or "")
        elif isinstance(node, ast.ImportFrom):
            yield from relative(name, node, known)
        elif dynamic(node) and name not in LOADERS:
            yield Import(getattr(node, "lineno"), fault="dynamic import")


def absolute(line: int, module: str) -> Import:
    """Classify an import that names its module from the top."""
    top = module.split(".")[0]
    fault = "absolute import of our own package" if top == PACKAGE.name else ""
    return Import(line, foreign=top, fault=fault)


def relative(name: Name, node: ast.ImportFrom, known: Set[Name]) -> Iterator[Import]:
    """Resolve ``from .x import y``: to module ``x.y`` when there is one, else to ``x``."""
    package = name[:-1]
    if node.level - 1 > len(package):
        yield Import(node.lineno, fault="import from outside the package")
        return
    base = package[: len(package) - (node.level - 1)]
    base += tuple(node.module.split(".")) if node.module else ()
    for alias in node.names:
        inner = base + (alias.name,)
        if inner == ("__version__",):
            continue  # a literal at the top of the package, there before any module runs
        if inner in known or inner + ("__init__",) in known:
            base_or_inner = inner
        else:
            base_or_inner = base
        if base_or_inner not in known:
            base_or_inner += ("__init__",)
        yield Import(node.lineno, own=base_or_inner)


def violations(sources: Mapping[str, str], rows: Sequence[Sequence[str]] = ROWS) -> List[str]:
    """Return one line for everything in ``sources`` (path → text) that breaks the picture."""
    row_of = {name: number for number, row in enumerate(rows) for name in row}
    known = {name_of(path) for path in sources}
    edges: Dict[Name, Set[Name]] = {}
    found = []
    for path, source in sorted(sources.items()):
        name = name_of(path)
        if name[0] not in row_of:
            found.append(f"{path}: no row")
            continue
        pure = is_pure(name[0], row_of)
        for item in (*imports(name, source, known), *(reaches(source) if pure else ())):
            fault = item.fault or judge(name, item, row_of)
            if fault:
                found.append(f"{path}:{item.line}: {fault}")
            if item.own and item.own[0] == name[0]:
                edges.setdefault(name, set()).add(item.own)
    return found + [f"{'.'.join(name)}: import cycle" for name in in_cycles(edges)]


def judge(name: Name, item: Import, row_of: Mapping[str, int]) -> str:
    """Say what is wrong with one import; nothing when it is right."""
    unit, row = name[0], row_of[name[0]]
    if item.foreign:
        if item.foreign in HTTP and unit != HTTP_OWNER:
            return f"{item.foreign} outside {HTTP_OWNER}"
        pure = is_pure(unit, row_of)
        if pure and item.foreign in WORLD and (name, item.foreign) not in DEFAULTS:
            return f"{item.foreign} in a pure module"
        return ""
    target = item.own[0]
    if target == unit:
        return ""
    if target not in row_of:
        return f"imports {target}, which has no row"
    if row_of[target] > row:
        return f"upward import of {target}"
    if row_of[target] == row:
        return f"sideways import of {target}"
    if target in MAY_NEED and unit not in TOP and target not in MAY_NEED.get(unit, set()):
        return f"imports {target}, which can be left out"
    return ""


def is_pure(unit: str, row_of: Mapping[str, int]) -> bool:
    """Say whether a room may not reach for the world: those below transport's row."""
    return row_of[unit] < row_of.get(HTTP_OWNER, 0)


def reaches(source: str) -> Iterator[Import]:
    """Yield what a pure module does with the clock, sleep, threads, files and the terminal."""
    tree = ast.parse(source)
    names = bound(tree)
    defaults, stand_ins = default_nodes(tree)
    for node in ast.walk(tree):
        module, word = named(node, names)
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in BUILTINS:
            yield Import(line, fault=f"{getattr(node.func, 'id')}() in a pure module")
        elif module in ONLY_DEFAULTS and node not in defaults and node not in stand_ins:
            yield Import(line, fault=f"{module}.{word} beside an argument's default")
        elif module in HARMLESS and word not in HARMLESS[module]:
            yield Import(line, fault=f"{module}.{word} in a pure module")


def bound(tree: ast.AST) -> Dict[str, Tuple[str, str]]:
    """Return what each imported name stands for: (module, "") or (module, word of it)."""
    names: Dict[str, Tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({alias.asname or alias.name: (alias.name, "") for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                names[alias.asname or alias.name] = (node.module or "", alias.name)
    return names


def named(node: ast.AST, names: Mapping[str, Tuple[str, str]]) -> Tuple[str, str]:
    """Return module and word where the node is ``module.word``, or the word by itself."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        module, word = names.get(node.value.id, ("", ""))
        return (module, node.attr) if module and not word else ("", "")
    if isinstance(node, ast.Name):
        module, word = names.get(node.id, ("", ""))
        return (module, word) if word else ("", "")
    return "", ""


def default_nodes(tree: ast.AST) -> Tuple[Set[ast.AST], Set[ast.AST]]:
    """Return the nodes that are an argument's default, and those that stand in for None.

    The second kind is the value of ``now``, say, in ``time.time() if now is None else now``:
    a default that has to be made when the call is.
    """
    defaults: Set[ast.AST] = set()
    stand_ins: Set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):  # the clock itself, not what it says at import
            defaults.update(one for one in (*node.defaults, *node.kw_defaults) if one)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
            for inner in ast.walk(node):
                if isinstance(inner, ast.IfExp) and compared_with_none(inner.test) in given:
                    if getattr(inner.orelse, "id", None) == compared_with_none(inner.test):
                        stand_ins.update(ast.walk(inner.body))
    return defaults, stand_ins


def compared_with_none(test: ast.AST) -> str:
    """Return the name in ``name is None``; "" for any other test."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        if getattr(test.comparators[0], "value", "") is None:
            return getattr(test.left, "id", "")
    return ""


def in_cycles(edges: Mapping[Name, Set[Name]]) -> List[Name]:
    """Return the modules that reach themselves."""
    def reach(start: Name) -> Set[Name]:
        seen: Set[Name] = set()
        todo = [start]
        while todo:
            for target in edges.get(todo.pop(), set()) - seen:
                seen.add(target)
                todo.append(target)
        return seen

    return sorted(name for name in edges if name in reach(name))


def package_sources() -> Dict[str, str]:
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
    }


def test_package_keeps_the_picture() -> None:
    """No module of the package imports upward, sideways, absolutely, or HTTP out of place."""
    sources = package_sources()
    assert len(sources) > 10
    assert violations(sources) == []


def test_optional_rooms_are_those_of_the_package() -> None:
    """What comes along with a room is in the picture, and its import is in the table."""
    assert set(MAY_NEED) == set(OPTIONAL)
    assert all(set(needed) <= MAY_NEED[room] for room, needed in OPTIONAL.items())
    assert {name for row in ROWS for name in row} == {*REQUIRED, *OPTIONAL, *TOP}


def test_rows_name_each_module_once() -> None:
    """Each module has one row."""
    names = [name for row in ROWS for name in row]
    assert len(names) == len(set(names))


INIT = {"wire/__init__.py": ""}


@pytest.mark.parametrize("sources, expected", [
    ({"values/a.py": "from ..wire.sse import P"}, "values/a.py:1: upward import of wire"),
    ({"values/a.py": "from .. import wire", **INIT}, "values/a.py:1: upward import of wire"),
    ({"runtime/a.py": "from ..session import Session"},
     "runtime/a.py:1: upward import of session"),
    ({"config/a.py": "from ..session import Session"},
     "config/a.py:1: imports session, which can be left out"),
    ({"agent/a.py": "def f():\n    from ..loopback import x"},
     "agent/a.py:2: imports loopback, which can be left out"),
    ({"config/a.py": "from ..agent import A"}, "config/a.py:1: sideways import of agent"),
    ({"transport.py": "from .providers import P"},
     "transport.py:1: sideways import of providers"),
    ({"wire/a.py": "def f():\n    from ..transport import x"},
     "wire/a.py:2: upward import of transport"),
    ({"wire/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
      "    from ..client import C"}, "wire/a.py:3: upward import of client"),
    ({"wire/a.py": "from .. import parse_stream"}, "wire/a.py:1: upward import of __init__"),
    ({"__main__.py": "", "cli.py": "from . import __main__"},
     "cli.py:1: upward import of __main__"),
    ({**INIT, "wire/chat/a.py": "from ...client import x"},
     "wire/chat/a.py:1: upward import of client"),
    ({"cli.py": "import streamcore.wire"}, "cli.py:1: absolute import of our own package"),
    ({"cli.py": "from streamcore.wire import x"}, "cli.py:1: absolute import of our own package"),
    ({"cli.py": "from streamcore import x"}, "cli.py:1: absolute import of our own package"),
    ({"client.py": "import requests"}, "client.py:1: requests outside transport"),
    ({"client.py": "def f():\n    from urllib3.util import x"},
     "client.py:2: urllib3 outside transport"),
    ({"client.py": "import requests.adapters as a"}, "client.py:1: requests outside transport"),
    ({"newcomer.py": ""}, "newcomer.py: no row"),
    ({"cli.py": "from .newcomer import x"}, "cli.py:1: imports newcomer, which has no row"),
    ({"wire/a.py": "from ...other import x"}, "wire/a.py:1: import from outside the package"),
    ({"cli.py": "import importlib\nimportlib.import_module('requests')"},
     "cli.py:2: dynamic import"),
    ({"cli.py": "__import__('requests')"}, "cli.py:1: dynamic import"),
    ({"wire/a.py": "import socket"}, "wire/a.py:1: socket in a pure module"),
    ({"wire/a.py": "from os import environ"}, "wire/a.py:1: os in a pure module"),
    ({"values/a.py": "import random"}, "values/a.py:1: random in a pure module"),
    ({"wire/a.py": "import selectors"}, "wire/a.py:1: selectors in a pure module"),
    ({"values/a.py": "import time\ntime.sleep(1)"},
     "values/a.py:2: time.sleep beside an argument's default"),
    ({"values/a.py": "import time as t\ndef f():\n    now = t.monotonic\n    return now()"},
     "values/a.py:3: time.monotonic beside an argument's default"),
    ({"values/a.py": "from time import time as wall\ndef f():\n    return wall()"},
     "values/a.py:3: time.time beside an argument's default"),
    ({"values/a.py": "import time\ndef f(now=time.time()): ..."},
     "values/a.py:2: time.time beside an argument's default"),
    ({"values/a.py": "import time\ndef f(now):\n    return time.time() if now is None else 0"},
     "values/a.py:3: time.time beside an argument's default"),
    ({"values/retry.py": "import random as r\ndef f():\n    return r.random()"},
     "values/retry.py:3: random.random beside an argument's default"),
    ({"wire/a.py": "import threading\nLOCK = threading.Lock()"},
     "wire/a.py:2: threading.Lock in a pure module"),
    ({"values/a.py": "from threading import Thread\nThread()"},
     "values/a.py:2: threading.Thread in a pure module"),
    ({**INIT, "wire/a.py": "def f():\n    return open('x')"},
     "wire/a.py:2: open() in a pure module"),
    ({"wire/a.py": "print('x')"}, "wire/a.py:1: print() in a pure module"),
    ({"wire/a.py": "import sys\nsys.stderr.write('x')"},
     "wire/a.py:2: sys.stderr in a pure module"),
])
def test_violation_is_caught(sources: Dict[str, str], expected: str) -> None:
    """Each kind of forbidden import, and of reaching for the world, gives its line."""
    assert violations(sources) == [expected]


def test_cycle_inside_an_inner_package_is_caught() -> None:
    """The modules of a package may see each other, but not in a ring."""
    sources = {
        "wire/__init__.py": "from .a import x",
        "wire/a.py": "def f():\n    from .b import y",
        "wire/b.py": "from . import c",
        "wire/c.py": "from .a import x",
    }
    assert violations(sources) == [
        "wire.a: import cycle", "wire.b: import cycle", "wire.c: import cycle",
    ]


@pytest.mark.parametrize("sources", [
    {"wire/a.py": "import json\nfrom ..values.errors import LlmError\nfrom .sse import S"},
    {"transport.py": "def f():\n    import requests\n    from urllib3 import x\nimport socket"},
    {"transport/__init__.py": "", "transport/reading.py": "import requests\nimport socket"},
    {**INIT, "wire/a.py": "from ..values import M", "wire/b.py": "from .a import x"},
    {"values/retry.py": "import random as r\ndef f(random=r.random):\n    return random()"},
    {"values/a.py": "import time\nclass C:\n    def f(self, *, clock=time.monotonic): ..."},
    {"values/a.py":
     "import time\ndef f(now=None):\n    return time.time() if now is None else now"},
    {"values/a.py": "import threading\nclass Stop(threading.Event):\n    pass"},
    {"transport.py": "import time\ntime.sleep(1)", "session.py": "open('x')"},
    {"cli.py": "from . import __version__", "__main__.py": "from .cli import main"},
    {"__init__.py": "from importlib import import_module\nimport_module('.cli', __name__)"},
])
def test_allowed_import_passes(sources: Dict[str, str]) -> None:
    """Imports that the picture allows give no line."""
    assert violations(sources) == []
