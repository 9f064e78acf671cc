"""A sequence that is made when somebody looks at it.

Of 10,000 cached objects a plan looks closely at a few; the others need not be built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

Item = TypeVar("Item")


class Lazy(Sequence[Item]):
    """``make(source)`` at the first look; equal to any sequence with the same items."""

    __slots__ = ("_items", "_length", "_make", "_source")

    def __init__(self, length: int, source: Any, make: Callable[[Any], tuple[Item, ...]]) -> None:
        self._length = length
        self._source = source
        self._make = make
        self._items: tuple[Item, ...] | None = None

    def _all(self) -> tuple[Item, ...]:
        if self._items is None:
            self._items = self._make(self._source)
        return self._items

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        return self._all()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())
