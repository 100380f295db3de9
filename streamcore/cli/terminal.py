# SPDX-License-Identifier: MIT
"""How the commands write to stdout and stderr.

In: an answer's text (to stdout, unchanged), asides such as reasoning (to stderr, with a label,
dim on a terminal), notes (to stderr, whole lines). Every write is flushed. A character that the
stream's encoding lacks is replaced; on a terminal, control characters become visible escapes.
Raised: ``OutputGone`` and ``OutputFailed`` for stdout. An error of stderr is ignored, because
there is no other place to report it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, BinaryIO, Mapping, Optional, TextIO

from ..values.redaction import redact
from .exits import OutputFailed, OutputGone, Usage

# C0 without tab and LF; DEL; C1; line separators; characters that change the writing direction.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


def visible(text: str) -> str:
    """Return the text with escapes for its control characters, except tab and line feed."""
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text.replace("\r\n", "\n"))


def fitting(text: str, encoding: Optional[str]) -> str:
    """Return the text; characters that ``encoding`` lacks are replaced."""
    name = encoding or "utf-8"
    return text.encode(name, "replace").decode(name)


class Terminal:
    """The three streams of a command.

    Args:
        stdin, stdout, stderr: text streams; None for a stream that the process does not have.
        environ: the environment; here it says whether to dim, the commands look up keys in it.
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
        self._label: Optional[str] = None  # label of the aside whose line is open
        self._line_open = False  # the text does not end with a line feed
        self._broken = False  # an aside ended the text's open line on the screen

    @property
    def watched(self) -> bool:
        """Whether stderr is a terminal."""
        return self._err_tty

    @property
    def live(self) -> bool:
        """Whether stdout is a terminal."""
        return self._out_tty

    def merged(self) -> Terminal:
        """Return a terminal that writes asides and notes to stdout too."""
        return Terminal(self.stdin, self._out, self._out, self.environ)

    def check_stdout(self) -> None:
        """Check that stdout can be written, before a command begins.

        Raises:
            OutputFailed: when the process has no stdout, or stdout is closed.
            OutputGone: when the reader of stdout has gone away.
        """
        self._write_out("")

    def text(self, text: str) -> None:
        """Write more of an answer's text to stdout."""
        self.end_aside()
        self._write_out(visible(text) if self._out_tty else text)
        self._line_open, self._broken = not text.endswith("\n"), False

    def line(self, text: str = "") -> None:
        """Write a text and a line feed to stdout; line feeds inside the text stay."""
        self.end_text()
        self._write_out((visible(text) if self._out_tty else text) + "\n")

    def json_line(self, value: Any) -> None:
        """Write a value to stdout as one line of ASCII JSON, safe on any terminal."""
        self._write_out(json.dumps(value).replace("\x7f", "\\u007f") + "\n")

    def aside(self, label: str, text: str) -> None:
        """Write to stderr a piece that is not the answer's text; a new label begins a line."""
        if label != self._label:
            self._leave_line()
            self._write_err(self._dimmed(f"[{visible(label)}] "))
            self._label = label
        self._write_err(self._dimmed(visible(text) if self._err_tty else text))

    def note(self, text: str) -> None:
        """Write whole lines to stderr, with secrets masked and control characters escaped."""
        self._leave_line()
        self._write_err(visible(redact(text)) + "\n")

    def end_aside(self) -> None:
        """End the line of an aside, if one is open."""
        if self._label is not None:
            self._label = None
            self._write_err("\n")

    def end_text(self) -> None:
        """End the open line of an aside or of the text, if there is an open line."""
        self.end_aside()
        if self._line_open and not (self._broken and self._out_tty):
            self._write_out("\n")
        self._line_open = self._broken = False

    def flush(self) -> None:
        """Flush stdout. Raises: as ``check_stdout``."""
        self._write_out("")

    def give_up_stdout(self) -> None:
        """Send buffered output to the null device, so that Python's exit reports no error."""
        if self._out is not None and self._out is sys.stdout:
            try:
                number = self._out.fileno()
            except (OSError, ValueError):  # stdout has no file descriptor to replace
                return
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)

    def stdin_bytes(self) -> BinaryIO:
        """Return stdin as a binary stream. Raises: ``Usage`` if the process has no stdin."""
        if self.stdin is None:
            raise Usage("there is no stdin to read")
        return self.stdin.buffer

    def _leave_line(self) -> None:
        """End an open line, so that the next write to stderr begins a line."""
        if self._label is not None:
            self.end_aside()
        elif self._line_open and self._shared and not self._broken:
            self._broken, self._line_open = True, self._err is not self._out
            self._write_err("\n")

    def _dimmed(self, text: str) -> str:
        # each write ends the dimming, so that an interruption never leaves the terminal dim
        return f"{_DIM}{text}{_PLAIN}" if self._dim and text else text

    def _write_out(self, text: str) -> None:
        if self._out is None:
            raise OutputFailed("there is no stdout to write to")
        try:
            self._out.write(fitting(text, self._out.encoding))
            self._out.flush()
        except BrokenPipeError:
            raise OutputGone from None
        except (OSError, ValueError) as error:  # ValueError: stdout was closed
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
    except ValueError:  # the stream is closed
        return False


def _shows_dim(environ: Mapping[str, str]) -> bool:
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return os.name != "nt" or "WT_SESSION" in environ  # older Windows consoles show the escapes


def _same_place(one: Optional[TextIO], two: Optional[TextIO]) -> bool:
    if one is None or two is None:
        return False
    if one is two or (_is_tty(one) and _is_tty(two)):
        return True
    try:
        return os.path.sameopenfile(one.fileno(), two.fileno())
    except (OSError, ValueError):  # a stream has no file descriptor
        return False
