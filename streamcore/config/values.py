# SPDX-License-Identifier: MIT
"""Values read from texts, and the texts that mean a value.

In: a text from a file or a variable, or a plain Python value from an override. Out: seconds,
bytes, numbers, flags, words, headers. Refused with ``ValueError``, in words that can follow
the setting's name: a text that is not such a value, or has an unknown unit. Units: ``ms s m h``;
``B``, ``kB MB GB`` (powers of 1000), ``KiB MiB GiB`` (powers of 1024), in any case.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

from ..values.headers import HEADER_NAME
from ..values.numbers import is_number, is_whole
from ..values.showing import shorten

Read = Callable[[Any], Any]

NONE_WORDS = ("none", "off")
FLAGS = {
    "yes": True, "true": True, "on": True, "1": True,
    "no": False, "false": False, "off": False, "0": False,
}

_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES = {
    "": 1, "b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3,
    "kib": 1024, "mib": 1024**2, "gib": 1024**3,
}
_LONGEST = 30  # characters of a number: a longer one adds no meaning, and takes time to read
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_HEADER = re.compile(rf"\s*({HEADER_NAME.pattern})\s*:\s*(.*?)\s*")


def read_text(given: Any) -> str:
    """Return a text that is not blank, without the blanks around it."""
    if not isinstance(given, str):
        raise ValueError(f"a text is wanted, not {_kind(given)}")
    if not given.strip():
        raise ValueError("it is empty")
    return given.strip()


def read_seconds(given: Any) -> float:
    """Return a time in seconds: ``90``, ``1500ms``, ``2m``."""
    if not isinstance(given, str):
        return _number(given, "a number of seconds")
    number, unit = _split(given, _SECONDS, "a time such as 30s, 1500ms or 2m")
    return _rounded(float(number), _SECONDS[unit])


def read_clock(given: Any) -> Optional[float]:
    """Return a time in seconds, or None for ``none`` and ``off``: no clock."""
    if given is None or (isinstance(given, str) and given.strip().lower() in NONE_WORDS):
        return None
    return read_seconds(given)


def read_size(given: Any) -> int:
    """Return a number of bytes: ``4096``, ``256KiB``, ``1MB``."""
    if not isinstance(given, str):
        return _whole(given)
    number, unit = _split(given, _BYTES, "a size such as 4096, 256KiB or 1MB")
    size = float(number) * _BYTES[unit]
    if "." not in number:
        return int(number) * _BYTES[unit]
    if size != int(size):
        raise ValueError(f"{given.strip()} is not a whole number of bytes")
    return int(size)


def read_count(given: Any) -> int:
    """Return a whole number."""
    if not isinstance(given, str):
        return _whole(given)
    number, _ = _split(given, {"": 1}, "a whole number")
    if "." in number:
        raise ValueError(f"a whole number is wanted, not {number}")
    return int(number)


def read_number(given: Any) -> float:
    """Return a number without a unit."""
    if not isinstance(given, str):
        return _number(given, "a number")
    number, _ = _split(given, {"": 1}, "a number")
    return float(number)


def read_flag(given: Any) -> bool:
    """Return True for yes and False for no."""
    if isinstance(given, bool):
        return given
    flag = FLAGS.get(given.strip().lower()) if isinstance(given, str) else None
    if flag is None:
        raise ValueError(f"yes or no is wanted, not {shown(given)}")
    return flag


def read_words(given: Any) -> Tuple[str, ...]:
    """Return words that are separated by commas or blanks."""
    if isinstance(given, str):
        given = [word for word in re.split(r"[,\s]+", given) if word]
    if not isinstance(given, (list, tuple, set, frozenset)):
        raise ValueError(f"words are wanted, not {_kind(given)}")
    words = tuple(given)
    if not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise ValueError("words are wanted, but there are none")
    return words


def read_verify(given: Any) -> Union[bool, str]:
    """Return whether certificates are checked, or the path of a CA bundle."""
    if isinstance(given, bool):
        return given
    text = read_text(given)
    return FLAGS.get(text.lower(), text)


def read_headers(given: Any) -> Dict[str, str]:
    """Return headers, written one per line as ``Name: value``. No error shows a value."""
    if isinstance(given, Mapping):
        given = "\n".join(f"{name}: {value}" for name, value in given.items())
    if not isinstance(given, str):
        raise ValueError(f"headers are wanted, not {_kind(given)}")
    found: Dict[str, str] = {}
    for number, line in enumerate(filter(str.strip, given.split("\n")), 1):
        parts = _HEADER.fullmatch(line)
        if parts is None or not parts.group(2):
            raise ValueError(f"header {number} of the list is not written as Name: value")
        name, value = parts.groups()
        if name.lower() in map(str.lower, found):
            raise ValueError(f"the header {name} is there twice")
        if not all(" " <= letter <= "~" for letter in value):
            raise ValueError(f"the header {name} holds a character no header can carry")
        found[name] = value
    if not found:
        raise ValueError("it is empty")
    return found


def shown(value: Any) -> str:
    """Return a short text for a value that is not secret, safe on any terminal."""
    text = ascii(value if isinstance(value, (str, int, float, bool)) else str(value))
    return shorten(text, 60, "...")


def as_text(value: Any, read: Read) -> str:
    """Return a text from which ``read`` makes ``value``."""
    if value is None:
        return NONE_WORDS[0]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if read in (read_seconds, read_clock):
        return f"{value:.15g}s"
    if read is read_size:
        return _size_text(value)
    if isinstance(value, (tuple, list, set, frozenset)):
        return ", ".join(sorted(value) if isinstance(value, (set, frozenset)) else value)
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _size_text(value: int) -> str:
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if value and value % unit == 0:
            return f"{value // unit}{name}"
    return str(value)


def _split(text: str, units: Mapping[str, Any], wanted: str) -> Tuple[str, str]:
    """Return the number and the unit of a text."""
    parts = _NUMBER.fullmatch(text.strip()) if len(text.strip()) <= _LONGEST else None
    if parts is None:
        hint = "; a comment needs a line of its own" if " #" in text or " ;" in text else ""
        raise ValueError(f"{wanted} is wanted, not {shown(text.strip())}{hint}")
    number, unit = parts.group(1), parts.group(2).lower()
    if unit not in units:
        known = ", ".join(name for name in units if name) or "none"
        raise ValueError(
            f"{wanted} is wanted, not {shown(text.strip())} (units: {known})"
        )
    return number, unit


def _rounded(number: float, unit: float) -> float:
    # 1500 * 0.001 is not exactly 1.5; rounding gives the number that a person wrote
    return float(f"{number * unit:.15g}")


def _whole(given: Any) -> int:
    if not is_whole(given):
        raise ValueError(f"a whole number is wanted, not {_kind(given)}")
    return int(given)


def _number(given: Any, wanted: str) -> float:
    if not is_number(given):
        raise ValueError(f"{wanted} is wanted, not {_kind(given)}")
    number: float = given
    return number


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
