# SPDX-License-Identifier: MIT
"""Arguments that had another name in an earlier version.

A call that still uses the old name is refused. The error tells the new name, which Python's
own "unexpected keyword argument" does not.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def renamed(**names: str) -> Callable[[Function], Function]:
    """Return a decorator for a function with renamed arguments; ``names`` maps old to new.

    The decorated function raises ``TypeError`` for an old name; the message tells the new name.
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
