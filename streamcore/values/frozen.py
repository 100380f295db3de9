# SPDX-License-Identifier: MIT
"""JSON-like values that cannot be changed.

In: dicts, lists and scalars as a caller or a provider gave them.
Out: ``freeze`` makes a deep copy in containers that compare, print, pickle and
serialise like plain ones but refuse every change. ``thaw`` makes a plain copy.
A value that was frozen when it was made needs no second check and no second copy.
"""

from __future__ import annotations

from typing import Any, Dict, List, NoReturn, Tuple


def freeze(value: Any) -> Any:
    """Copy dicts, lists and tuples into frozen ones; return other values as they are."""
    if isinstance(value, (FrozenDict, FrozenList)):
        return value
    if isinstance(value, dict):
        return FrozenDict((key, freeze(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return FrozenList(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """Copy frozen containers back into plain dicts and lists."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in value]
    return value


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"this {type(self).__name__} is frozen; change a copy made by thaw()")


class FrozenDict(Dict[str, Any]):
    """A dict that can only be read; equal to a plain dict with the same items."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset((key, _hashable(item)) for key, item in self.items()))

    def __reduce__(self) -> Tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: Any) -> FrozenDict:
        return self


class FrozenList(List[Any]):
    """A list that can only be read; equal to a plain list with the same items."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(_hashable(item) for item in self))

    def __reduce__(self) -> Tuple[Any, ...]:
        return FrozenList, (list(self),)

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: Any) -> FrozenList:
        return self


def _hashable(item: Any) -> int:
    return hash(item)
