# SPDX-License-Identifier: MIT
"""A script of answers, checked when it is made.

In: values that JSON can carry, or a JSON file. Out: ``Script``, frozen ``Answer`` values.
Refused: unknown keys and wrong types, with a ``ValueError`` that names the place.
The docstring of the package describes the format.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import checks
from .dialects import CHAT, DIALECTS, writer_of
from .ops import EMIT, ENDINGS, PLACEHOLDER, Op, Step, fill, iter_ops
from .steps import STEP_NAMES, check_steps, is_endless, repeated_text

FRAMINGS = ("chunked", "close", "content-length", "http10")
CODING_MODES = ("flush", "noflush", "bad")
HeaderValues = Optional[Tuple[str, ...]]

_BOM_STEP = {"raw_base64": base64.b64encode(b"\xef\xbb\xbf").decode("ascii")}


@dataclass(frozen=True)
class Answer:
    """One scripted answer; the fields are the keys of the script format."""

    status: int = 200
    reason: Optional[str] = None
    headers: Mapping[str, HeaderValues] = field(default_factory=dict)
    framing: str = "chunked"
    pieces: Union[None, int, Tuple[int, ...]] = None
    every: float = 0.0
    chunk_dripped: bool = False
    gzip: Optional[str] = None
    deflate: Optional[str] = None
    keep_alive: bool = True
    announce_close: bool = False
    header_delay: float = 0.0
    header_drip: float = 0.0
    read_request: bool = True
    drain_after: Optional[float] = None
    no_answer: bool = False
    slam: bool = False
    raw_head: Optional[str] = None
    newline: str = "\n"
    envelope: Mapping[str, Any] = field(default_factory=dict)
    close_idle_after: Optional[float] = None
    reset_idle_after: Optional[float] = None
    when: Mapping[str, str] = field(default_factory=dict)
    steps: Tuple[Step, ...] = ()
    index: Optional[int] = None
    dialect: str = CHAT

    def ops(self, last_user: str = "") -> Iterator[Op]:
        """Return an iterator of the operations of the body, with the placeholder filled in."""
        steps: List[Step] = list(self.steps)
        if PLACEHOLDER in repr(steps):
            steps = fill(steps, last_user)
        return iter_ops(steps, writer_of(self.dialect, self.newline, self.envelope))

    def fits(self, path: str, body: bytes) -> bool:
        """Return whether this answer's ``when`` fits a request of this path and body."""
        wanted_path = self.when.get("path")
        if wanted_path is not None and wanted_path not in (path, path.split("?")[0]):
            return False
        contained = self.when.get("contains")
        if contained is None:
            return True
        # A JSON body may have the text as it is or with escaped characters.
        forms = (contained, json.dumps(contained)[1:-1])
        return any(form.encode("utf-8") in body for form in forms)


@dataclass(frozen=True)
class Script:
    """Answers in order, and ``after_last``: ``repeat`` the last answer, or send status ``500``."""

    answers: Tuple[Answer, ...]
    after_last: str = "repeat"

    @classmethod
    def parse(cls, value: Any) -> "Script":
        """Check values and return the script.

        ``value``: a list of answers, an object with ``answers`` and ``after_last``, or a
        ``Script``. Raises: ``ValueError`` that names the place of the mistake.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            value = {"answers": value}
        checks.known_keys(value, "script", ("answers", "after_last"))
        items = checks.listing(value.get("answers"), "answers")
        after_last = checks.word(value.get("after_last", "repeat"), "after_last",
                                 ("repeat", "500"))
        answers = [parse_answer(item, f"answers[{n}]", n) for n, item in enumerate(items)]
        return cls(tuple(answers), after_last)


def load_script(path: Union[str, "os.PathLike[str]"]) -> Script:
    """Return the script in a JSON file.

    Raises: ``ValueError`` for text that is not JSON or not a script, ``OSError`` for the file.
    """
    with open(path, encoding="utf-8") as file:
        return Script.parse(json.load(file))


def answer_bytes(answer: Any, last_user: str = "") -> bytes:
    """Return the decoded body of an answer, without its timing and framing.

    The body ends early at a step that resets, closes or stalls. ``last_user``: replaces the
    placeholder. Raises: ``ValueError`` for an invalid answer, or a body without an end.
    """
    if not isinstance(answer, Answer):
        answer = parse_answer(answer, "answer")
    pieces: List[bytes] = []
    if is_endless(answer.steps):
        checks.refuse("answer", "a body without an end")
    for op in answer.ops(last_user):
        if op.kind in ENDINGS:
            break
        if op.kind == EMIT:
            pieces.append(op.data)
    return b"".join(pieces)


def parse_answer(value: Any, where: str, index: Optional[int] = None) -> Answer:
    """Return one checked answer; ``where`` is its place, for error messages.

    Raises: ``ValueError`` that names the place of the mistake.
    """
    value = checks.mapping(value, where)
    checks.known_keys(value, where, (*_FIELDS, *_BODIES, "bom"), STEP_NAMES)
    _check_json(value, where)
    fields = {key: check(value[key], f"{where}.{key}")
              for key, check in _FIELDS.items() if key in value}
    steps = _body_steps(value, where)
    if checks.flag(value.get("bom", False), f"{where}.bom"):
        steps.insert(0, _BOM_STEP)
    if fields.get("read_request") is False and not any(key in value for key in _BODIES):
        fields.setdefault("no_answer", "status" not in value and "raw_head" not in value)
    answer = Answer(steps=tuple(steps), index=index, **fields)
    _check_together(answer, where)
    return answer


def _check_json(value: Any, where: str) -> None:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError) as fault:
        checks.refuse(where, f"not JSON-able: {fault}")


def _check_together(answer: Answer, where: str) -> None:
    measured = answer.framing == "content-length" or answer.chunk_dripped
    if measured and is_endless(answer.steps):
        checks.refuse(where, "a body without an end has no length to announce")
    if answer.chunk_dripped and answer.framing != "chunked":
        checks.refuse(where, "chunk_dripped needs the chunked framing")
    if answer.gzip and answer.deflate:
        checks.refuse(where, "gzip or deflate, not both")
    if answer.close_idle_after is not None and answer.reset_idle_after is not None:
        checks.refuse(where, "close_idle_after or reset_idle_after, not both")
    if not answer.read_request and "contains" in answer.when:
        checks.refuse(where, "a request that is not read cannot be picked by its body")


def _body_steps(value: Dict[str, Any], where: str) -> List[Step]:
    """Return the body as steps, in whichever key it is given."""
    given = [name for name in _BODIES if name in value]
    if len(given) > 1:
        checks.refuse(where, f"one body, not {' and '.join(given)}")
    if not given:
        return []
    if given == ["steps"]:
        dialect = checks.word(value.get("dialect", CHAT), f"{where}.dialect", DIALECTS)
        return check_steps(value["steps"], f"{where}.steps", dialect)
    return _BODIES[given[0]](value[given[0]], f"{where}.{given[0]}")


_BODIES: Dict[str, Callable[[Any, str], List[Step]]] = {
    "steps": check_steps,
    "body": lambda value, where: [{"raw": checks.text(value, where)}],
    "body_base64": lambda value, where: check_steps([{"raw_base64": value}], where),
    "body_repeat": repeated_text,
    "json": lambda value, where: [{"json": value}],
}


def _status(value: Any, where: str) -> int:
    if checks.count(value, where, 100) > 999:
        checks.refuse(where, "a status has three digits")
    return int(value)


def _latin1(value: Any, where: str) -> str:
    try:
        checks.text(value, where).encode("latin-1")
    except UnicodeEncodeError:
        checks.refuse(where, "a character no header can carry")
    return str(value)


def _header_name(value: str, where: str) -> str:
    if any(character in "\r\n\0" for character in _latin1(value, where)):
        checks.refuse(where, "a line end or a NUL in the name of a header; raw_head carries them")
    return value


def _headers(value: Any, where: str) -> Dict[str, HeaderValues]:
    headers: Dict[str, HeaderValues] = {}
    for name, item in checks.mapping(value, where).items():
        items = item if isinstance(item, (list, tuple)) else [item]
        place = f"{where}.{name if name.isprintable() else ascii(name)}"
        headers[_header_name(name, place)] = None if item is None else tuple(
            _latin1(str(one) if isinstance(one, int) else one, place) for one in items)
    return headers


def _pieces(value: Any, where: str) -> Union[None, int, Tuple[int, ...]]:
    if value is None or not isinstance(value, (list, tuple)):
        return None if value is None else checks.count(value, where, 1)
    offsets = tuple(checks.count(item, f"{where}[{n}]", 1) for n, item in enumerate(value))
    if list(offsets) != sorted(set(offsets)):
        checks.refuse(where, "offsets must grow")
    return offsets


def _coding(value: Any, where: str) -> Optional[str]:
    return None if value is False or value is None else checks.word(value, where, CODING_MODES)


def _when(value: Any, where: str) -> Dict[str, str]:
    checks.known_keys(checks.mapping(value, where), where, ("path", "contains"))
    if not value:
        checks.refuse(where, "path or contains is wanted")
    return {key: _sendable(item, f"{where}.{key}") for key, item in value.items()}


def _sendable(value: Any, where: str) -> str:
    try:
        checks.text(value, where).encode("utf-8")
    except UnicodeEncodeError:
        checks.refuse(where, "it has a lone surrogate half, which no request can have")
    return str(value)


def _optional_seconds(value: Any, where: str) -> Optional[float]:
    return None if value is None else checks.seconds(value, where)


_FIELDS: Dict[str, Callable[[Any, str], Any]] = {
    "status": _status, "reason": _latin1, "headers": _headers,
    "framing": lambda value, where: checks.word(value, where, FRAMINGS),
    "pieces": _pieces, "every": checks.seconds, "chunk_dripped": checks.flag,
    "gzip": _coding, "deflate": _coding, "keep_alive": checks.flag,
    "announce_close": checks.flag, "header_delay": checks.seconds,
    "header_drip": checks.seconds, "read_request": checks.flag,
    "drain_after": _optional_seconds, "no_answer": checks.flag, "slam": checks.flag,
    "dialect": lambda value, where: checks.word(value, where, DIALECTS),
    "raw_head": _latin1, "envelope": checks.mapping, "when": _when,
    "newline": lambda value, where: checks.word(value, where, ("\n", "\r\n", "\r")),
    "close_idle_after": _optional_seconds, "reset_idle_after": _optional_seconds,
}
