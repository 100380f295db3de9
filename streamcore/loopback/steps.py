# SPDX-License-Identifier: MIT
"""Checks the steps of a scripted answer.

In: the ``steps`` list of an answer. Out: the same list for ``ops.iter_ops``, with every
``answer`` step replaced by its single steps.
Refused: unknown steps and wrong types, with a ``ValueError`` that names the place.
The docstring of the package describes the format.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import re
from typing import Any, Callable, Dict, Iterable, List, Optional

from . import checks
from .dialects import ANTHROPIC, CHAT
from .ops import Step, compact_json

_REPEAT_BLOCK = 65536  # characters; short texts are written in blocks, not one by one
_ARGUMENT_PIECE = 12


def check_steps(value: Any, where: str, dialect: str = CHAT) -> List[Step]:
    """Return the steps of a list, checked, with every ``answer`` replaced by single steps.

    ``dialect`` is the one they are written in.
    Raises: ``ValueError`` that names the place of an unknown step or a wrong type.
    """
    steps: List[Step] = []
    for number, item in enumerate(checks.listing(value, where)):
        steps.extend(_check_step(item, f"{where}[{number}]", dialect))
    return steps


def is_endless(steps: Iterable[Step]) -> bool:
    """Return whether some step in the list is repeated for ever."""
    for step in steps:
        inner = step.get("repeat") or step.get("drip")
        if inner and (inner.get("times", 1) is None or is_endless(inner["steps"])):
            return True
    return False


def repeated_text(value: Any, where: str) -> List[Step]:
    """Return the steps of ``body_repeat``: a text repeated in large blocks."""
    value = checks.mapping(value, where)
    checks.known_keys(value, where, ("text", "times"))
    text = checks.text(value.get("text"), f"{where}.text")
    times = checks.count(value.get("times"), f"{where}.times")
    per_block = max(1, _REPEAT_BLOCK // max(1, len(text)))
    whole, rest = divmod(times, per_block)
    block = {"times": whole, "every": 0.0, "steps": [{"raw": text * per_block}]}
    return [{"repeat": block}, {"raw": text * rest}]


def _check_step(value: Any, where: str, dialect: str) -> List[Step]:
    step = checks.mapping(value, where)
    names = [key for key in step if key != "field"]
    if len(names) != 1:
        checks.refuse(where, f"a step has one name, not {names!r}")
    name = names[0]
    if "field" in step:
        if name != "reasoning":
            checks.refuse(where, "only a reasoning step has a 'field'")
        checks.text(step["field"], f"{where}.field")
    check = _CHECKS.get(name)
    if check is None:
        checks.refuse(where, f"unknown step {name!r}; known are {', '.join(_CHECKS)}")
    if name in ("signature", "block") and dialect == CHAT:
        checks.refuse(where, f"there is no step {name!r} in {CHAT}")
    place = f"{where}.{name}"
    if name == "answer":
        return _whole_answer(step[name], place, dialect)
    if name in ("drip", "repeat"):
        return [{name: _CONTAINERS[name](step[name], place, dialect)}]
    return [{**step, name: check(step[name], place)}]


def _check_tool_call(value: Any, where: str) -> Any:
    checks.known_keys(checks.mapping(value, where), where,
                      ("index", "id", "type", "name", "arguments", "extra_content"))
    return value


def _check_event(value: Any, where: str) -> Any:
    checks.known_keys(checks.mapping(value, where), where, ("event", "id", "retry", "data"))
    return value


def _check_base64(value: Any, where: str) -> str:
    try:
        base64.b64decode(checks.text(value, where), validate=True)
    except binascii.Error as fault:
        checks.refuse(where, f"not base64: {fault}")
    return str(value)


def _check_drip(value: Any, where: str, dialect: str = CHAT) -> Step:
    value = checks.mapping(value, where)
    checks.known_keys(value, where, ("text", "raw", "steps", "every"))
    given = [name for name in ("text", "raw", "steps") if name in value]
    if len(given) != 1:
        checks.refuse(where, "one of text, raw, steps is wanted")
    steps = value["steps"] if given == ["steps"] else [{given[0]: value[given[0]]}]
    return {"every": checks.seconds(value.get("every", 0), f"{where}.every"),
            "steps": check_steps(steps, f"{where}.steps", dialect)}


def _check_repeat(value: Any, where: str, dialect: str = CHAT) -> Step:
    value = checks.mapping(value, where)
    checks.known_keys(value, where, ("times", "every", "steps"))
    times = value.get("times")
    if times is not None:
        checks.count(times, f"{where}.times")
    steps = check_steps(value.get("steps"), f"{where}.steps", dialect)
    if not steps:
        checks.refuse(where, "nothing to repeat")
    every = checks.seconds(value.get("every", 0), f"{where}.every")
    return {"times": times, "every": every, "steps": steps}


def _anything(value: Any, where: str) -> Any:
    return value


def _text_or_null(value: Any, where: str) -> Optional[str]:
    return None if value is None else checks.text(value, where)


_CHECKS: Dict[str, Callable[[Any, str], Any]] = {
    "text": checks.text, "reasoning": checks.text, "tool_call": _check_tool_call,
    "delta": _anything, "payload": _anything, "finish": _text_or_null, "usage": _anything,
    "done": checks.true, "comment": checks.text, "event": _check_event, "error": _anything,
    "raw": checks.text, "raw_base64": _check_base64, "json": _anything,
    "sleep": checks.seconds, "stall": checks.true, "drip": _check_drip,
    "repeat": _check_repeat, "reset": checks.true, "close": checks.true,
    "shutdown_write": checks.true, "chunk_size_bad": checks.true, "answer": _anything,
    "ping": checks.true, "signature": checks.text, "block": checks.mapping,
}
_CONTAINERS = {"drip": _check_drip, "repeat": _check_repeat}
STEP_NAMES = tuple(_CHECKS)


def _whole_answer(value: Any, where: str, dialect: str) -> List[Step]:
    """Return the step ``answer`` as the single steps that a provider would send."""
    value = checks.mapping(value, where)
    signed = () if dialect == CHAT else ("signature",)
    checks.known_keys(value, where, ("text", "reasoning", "tool_calls", "finish", "usage",
                                     "done", "words", "every", *signed))
    by_word = checks.flag(value.get("words", True), f"{where}.words")
    steps: List[Step] = []
    for name in ("reasoning", "text"):
        whole = checks.text(value.get(name, ""), f"{where}.{name}")
        cut = re.findall(r"\S+\s*|\s+", whole) if by_word else [whole] if whole else []
        steps.extend({name: piece} for piece in cut)
        if name == "reasoning" and "signature" in value:
            steps.append({"signature": checks.text(value["signature"], f"{where}.signature")})
    calls = _call_steps(value.get("tool_calls", []), f"{where}.tool_calls", by_word)
    steps.extend(calls if dialect == CHAT else sorted(calls, key=_index_of))
    finish = value.get("finish", _FINISHES[dialect][bool(calls)])
    last = [{"finish": _text_or_null(finish, f"{where}.finish")}]
    if "usage" in value:  # before the finish where it stands in the same event
        last.insert(1 if dialect == CHAT else 0, {"usage": value["usage"]})
    steps.extend(last)
    if checks.flag(value.get("done", True), f"{where}.done"):
        steps.append({"done": True})
    every = checks.seconds(value.get("every", 0), f"{where}.every")
    return _spaced(steps, every) if every else steps


_FINISHES = {CHAT: ("stop", "tool_calls"), ANTHROPIC: ("end_turn", "tool_use")}
"""Dialect → how an answer ends: without calls, and with them."""


def _index_of(step: Step) -> int:
    index: int = step["tool_call"]["index"]
    return index


def _spaced(steps: List[Step], every: float) -> List[Step]:
    pairs = [[{"sleep": every}, step] for step in steps]
    return list(itertools.chain.from_iterable(pairs))[1:]


def _call_steps(value: Any, where: str, by_piece: bool) -> List[Step]:
    """Return the fragments of parallel calls: all heads, then the arguments interleaved."""
    heads: List[Step] = []
    tails: List[List[Step]] = []
    for index, item in enumerate(checks.listing(value, where)):
        call = checks.mapping(item, f"{where}[{index}]")
        checks.known_keys(call, f"{where}[{index}]", ("id", "name", "arguments"))
        name = checks.text(call.get("name"), f"{where}[{index}].name")
        arguments = call.get("arguments", "{}")
        text = arguments if isinstance(arguments, str) else compact_json(arguments)
        size = _ARGUMENT_PIECE if by_piece else max(1, len(text))
        heads.append({"tool_call": {"index": index, "id": call.get("id", f"call_{index}"),
                                    "type": "function", "name": name, "arguments": ""}})
        tails.append([{"tool_call": {"index": index, "arguments": text[at:at + size]}}
                      for at in range(0, len(text), size)])
    rounds = itertools.zip_longest(*tails)
    return heads + [step for fragments in rounds for step in fragments if step is not None]
