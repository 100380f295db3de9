# SPDX-License-Identifier: MIT
"""What a docstring says about a function and about each of its parameters.

In: the docstring. Out: the text before its first section, and a text for each parameter
that is described. A description stands under ``Args:`` (name, colon, text; a deeper line
continues it) or reads ``:param name: text``. Anything else is left out; nothing is refused.
"""

from __future__ import annotations

import inspect
import re
from typing import Dict, List, Optional, Tuple

_ARGS = re.compile(r"(?:args|arguments|parameters|params):\s*", re.IGNORECASE)
_SECTION = re.compile(
    r"(?:args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|see also):\s*",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_FIELD = re.compile(r":(param|type|returns?|rtype|raises?)\b([^:]*):\s*(.*)")


def read_docstring(text: Optional[str]) -> Tuple[str, Dict[str, str]]:
    """Return the description of the function, and those of its parameters by name."""
    about: List[str] = []
    params: Dict[str, List[str]] = {}
    section = ""  # "" before the first section, "args", ":param", or "other"
    indent: Optional[int] = None  # of the entries under "Args:"
    entry: List[str] = []  # the lines of the parameter being read
    for line in inspect.cleandoc(text or "").splitlines():
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        field = _FIELD.fullmatch(bare) if depth == 0 else None
        if depth == 0 and _SECTION.fullmatch(bare):
            section, indent = ("args" if _ARGS.fullmatch(bare) else "other"), None
        elif field is not None:
            section, entry = ":param", []
            words = field.group(2).split()  # the last word is the name; a type may come before it
            if field.group(1) == "param" and words:
                entry = params.setdefault(words[-1], [])
            entry.append(field.group(3))
        elif section == "":
            about.append(line)
        elif section == ":param" and depth:
            entry.append(bare)
        elif section == "args" and bare:
            indent = depth if indent is None else indent
            found = _ENTRY.fullmatch(bare) if depth <= indent else None
            if found is not None:
                entry = params.setdefault(found.group(1), [])
                bare = found.group(2)
            entry.append(bare)
    told = {name: " ".join(lines).strip() for name, lines in params.items()}
    return "\n".join(about).strip(), {name: words for name, words in told.items() if words}
