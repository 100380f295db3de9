# SPDX-License-Identifier: MIT
"""Arguments that had another name in an earlier version.

A call that still uses the old name is refused with the new one, rather than with Python's
bare "unexpected keyword argument".
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def renamed(**names: str) -> Callable[[Function], Function]:
    """Return a decorator for a function whose arguments were renamed, old name to new.

    The decorated function raises ``TypeError`` for an old name and tells the new one.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            for old in names:
                if old in given:
                    name = function.__qualname__.replace(".__init__", "")
                    raise TypeError(f"{name}() has no argument {old!r}: it is {names[old]!r} now")
            return function(*args, **given)

        return cast(Function, checked)

    return decorate
