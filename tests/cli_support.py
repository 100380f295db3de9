# SPDX-License-Identifier: MIT
"""What the tests of the command line share: ``main`` on streams of its own, or in a process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, NamedTuple, Optional

from streamcore.cli import main
from support import ROOT


class Result(NamedTuple):
    """What one run of ``main`` came to."""

    code: int
    out: str
    err: str


class Tty(io.TextIOWrapper):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def run(
    *argv: str,
    stdin: bytes = b"",
    environ: Optional[Mapping[str, str]] = None,
    stream: Any = io.TextIOWrapper,
    encoding: str = "utf-8",
) -> Result:
    """Run ``main`` on streams of its own."""
    ins = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    out, err = (stream(io.BytesIO(), encoding=encoding, newline="\n") for _ in range(2))
    code = main(list(argv), stdin=ins, stdout=out, stderr=err, environ=environ or {})
    shown = [one.buffer.getvalue().decode(encoding) for one in (out, err)]
    return Result(code, *shown)


@contextmanager
def process(*argv: str, **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the command line in a process of its own, gone at the end."""
    poor = ("PYTHONUTF8", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "LC_ALL", "NO_COLOR")
    inherited = {name: value for name, value in os.environ.items() if name not in poor}
    variables = {**inherited, "PYTHONPATH": str(ROOT), **options.pop("variables", {})}
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, **options}
    command = [sys.executable, "-W", "error::ResourceWarning", "-m", "streamcore", *argv]
    child = subprocess.Popen(command, env=variables, **options)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
        child.wait(20)
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
