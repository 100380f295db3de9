# SPDX-License-Identifier: MIT
"""What the commands write, and how it survives the place it is written to.

In: an answer's text (stdout, as it is), asides such as reasoning (stderr, labelled, dim on a
terminal), notes (stderr, whole lines). Every write is flushed. A character the stream cannot
show is replaced; on a terminal, control characters of a model become visible escapes.
Raised: ``OutputGone`` and ``OutputFailed`` for stdout. A stderr that fails is passed over:
there is nowhere to say it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, BinaryIO, Mapping, Optional, TextIO

from ..values.redaction import redact
from .exits import OutputFailed, OutputGone, Usage

# C0 but tab and LF, DEL, C1; what turns the writing direction or breaks a line unseen.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


def visible(text: str) -> str:
    """Return the text with its control characters, tab and line feed excepted, as escapes."""
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text.replace("\r\n", "\n"))


def fitting(text: str, encoding: Optional[str]) -> str:
    """Return the text with what ``encoding`` cannot carry replaced."""
    name = encoding or "utf-8"
    return text.encode(name, "replace").decode(name)


class Terminal:
    """The three streams of a command.

    Args:
        stdin, stdout, stderr: text streams; None where the process has none.
        environ: asked for ``NO_COLOR`` and ``TERM``, and by the commands for keys.
    """

    def __init__(
        self,
        stdin: Optional[TextIO],
        stdout: Optional[TextIO],
        stderr: Optional[TextIO],
        environ: Mapping[str, str],
    ) -> None:
        self.stdin = stdin
        self.environ = environ
        self.debug = False  # tracebacks are shown
        self._out = stdout
        self._err = stderr
        self._out_tty, self._err_tty = _is_tty(stdout), _is_tty(stderr)
        self._dim = self._err_tty and _shows_dim(environ)
        self._shared = _same_place(stdout, stderr)
        self._label: Optional[str] = None  # of the aside whose line is open
        self._line_open = False  # the text does not end with a line feed
        self._broken = False  # an aside ended the text's open line on the screen

    @property
    def watched(self) -> bool:
        """Whether a person reads stderr."""
        return self._err_tty

    @property
    def live(self) -> bool:
        """Whether a person reads stdout."""
        return self._out_tty

    def merged(self) -> Terminal:
        """Return a terminal that writes asides and notes to stdout too."""
        return Terminal(self.stdin, self._out, self._out, self.environ)

    def check_stdout(self) -> None:
        """Refuse to begin where nothing can be written.

        Raises:
            OutputFailed: where the process has no stdout, or a closed one.
        """
        self._write_out("")

    def text(self, text: str) -> None:
        """Write more of an answer's text to stdout."""
        self.end_aside()
        self._write_out(visible(text) if self._out_tty else text)
        self._line_open, self._broken = not text.endswith("\n"), False

    def line(self, text: str = "") -> None:
        """Write one whole line to stdout; a line feed inside it stays."""
        self.end_text()
        self._write_out((visible(text) if self._out_tty else text) + "\n")

    def json_line(self, value: Any) -> None:
        """Write a value to stdout as one line of ASCII JSON, which any terminal can show."""
        self._write_out(json.dumps(value).replace("\x7f", "\\u007f") + "\n")

    def aside(self, label: str, text: str) -> None:
        """Write more of what is no text to stderr, under its label."""
        if label != self._label:
            self._leave_line()
            self._write_err(self._dimmed(f"[{visible(label)}] "))
            self._label = label
        self._write_err(self._dimmed(visible(text) if self._err_tty else text))

    def note(self, text: str) -> None:
        """Write whole lines to stderr, without secrets and control characters."""
        self._leave_line()
        self._write_err(visible(redact(text)) + "\n")

    def end_aside(self) -> None:
        """End the line of an aside, if one is open."""
        if self._label is not None:
            self._label = None
            self._write_err("\n")

    def end_text(self) -> None:
        """End the last line of what was written so far."""
        self.end_aside()
        if self._line_open and not (self._broken and self._out_tty):
            self._write_out("\n")
        self._line_open = self._broken = False

    def flush(self) -> None:
        """Hand over to the system what is still held of stdout."""
        self._write_out("")

    def give_up_stdout(self) -> None:
        """Send what is still buffered nowhere, so that the interpreter's exit is quiet."""
        if self._out is not None and self._out is sys.stdout:
            try:
                number = self._out.fileno()
            except (OSError, ValueError):  # no real file below it: nothing will be flushed
                return
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)

    def stdin_bytes(self) -> BinaryIO:
        """Return stdin as bytes. Raises: ``Usage`` where there is none."""
        if self.stdin is None:
            raise Usage("there is no stdin to read")
        return self.stdin.buffer

    def _leave_line(self) -> None:
        """Make sure that what is written to stderr next begins a line."""
        if self._label is not None:
            self.end_aside()
        elif self._line_open and self._shared and not self._broken:
            self._broken, self._line_open = True, self._err is not self._out
            self._write_err("\n")

    def _dimmed(self, text: str) -> str:
        # whole in each write, so that an interruption never leaves a terminal dim
        return f"{_DIM}{text}{_PLAIN}" if self._dim and text else text

    def _write_out(self, text: str) -> None:
        if self._out is None:
            raise OutputFailed("there is no stdout to write to")
        try:
            self._out.write(fitting(text, self._out.encoding))
            self._out.flush()
        except BrokenPipeError:
            raise OutputGone from None
        except (OSError, ValueError) as error:  # ValueError: it was closed
            raise OutputFailed(f"stdout cannot be written: {error}") from None

    def _write_err(self, text: str) -> None:
        if self._err is None:
            return
        if self._err is self._out:
            self._write_out(text)
            return
        try:
            self._err.write(fitting(text, self._err.encoding))
            self._err.flush()
        except (OSError, ValueError):
            self._err = None


def _is_tty(stream: Optional[TextIO]) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def _shows_dim(environ: Mapping[str, str]) -> bool:
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return os.name != "nt" or "WT_SESSION" in environ  # older Windows consoles show it raw


def _same_place(one: Optional[TextIO], two: Optional[TextIO]) -> bool:
    if one is None or two is None:
        return False
    if one is two or (_is_tty(one) and _is_tty(two)):
        return True
    try:
        return os.path.sameopenfile(one.fileno(), two.fileno())
    except (OSError, ValueError):  # no real files below them
        return False
