"""Values that are made when somebody looks at them.

Of 10,000 cached objects a plan looks closely at a few; the others need not be built.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar, overload

from .names import ObjectName
from .objects import ObjectDef
from .state import DeployedObject

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


class Records(MutableMapping[ObjectName, DeployedObject]):
    """A deployed state whose records are made when somebody looks at them."""

    def __init__(
        self, packed: dict[tuple[str, ...], tuple[Any, ...]], make: Callable[[bytes], DeployedObject]
    ) -> None:
        self._packed = packed  # name -> digest, dependencies, and what ``make`` makes the record of
        self._make = make
        self._made: dict[ObjectName, DeployedObject] = {}

    def changed(
        self, objects: Mapping[ObjectName, ObjectDef], needs: Mapping[ObjectName, tuple[ObjectName, ...]]
    ) -> list[ObjectName]:
        """Those objects that are not recorded with their digests and these dependencies."""
        recorded = self._packed.get
        return [
            name
            for name, item in objects.items()
            if (found := recorded(name)) is None or found[0] != item.digest or found[1] != needs[name]
        ]

    def outside(self, names: Container[tuple[str, ...]]) -> list[ObjectName]:
        """The recorded names that are not among these."""
        return [ObjectName(*name) for name in self._packed if name not in names]

    def __getitem__(self, name: ObjectName) -> DeployedObject:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(self._packed[name][2])
        return made

    def __setitem__(self, name: ObjectName, record: DeployedObject) -> None:
        self._made[name] = record
        self._packed[name] = (record.digest, record.dependencies, b"")

    def __delitem__(self, name: ObjectName) -> None:
        del self._packed[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[ObjectName]:
        return (ObjectName(*name) for name in self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    def __contains__(self, name: object) -> bool:
        return name in self._packed
