"""Values that are made when somebody looks at them.

Of 10,000 cached objects a plan looks closely at a few; the others need not be built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar, overload

from .names import ObjectName
from .objects import ObjectDef, Outlines
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


class _Made(Mapping[ObjectName, Item]):
    """Values by name, each made of its row when somebody looks at it."""

    def __init__(self, packed: dict[Any, Any], make: Callable[[Any], Item]) -> None:
        self._packed = packed
        self._make = make
        self._made: dict[ObjectName, Item] = {}

    def __getitem__(self, name: ObjectName) -> Item:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(self._packed[name])
        return made

    def get(self, name: ObjectName, default: Any = None, /) -> Any:
        return self[name] if name in self._packed else default

    def __iter__(self) -> Iterator[ObjectName]:
        return (ObjectName(*name) for name in self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    def __contains__(self, name: object) -> bool:
        return name in self._packed


class Objects(_Made[ObjectDef]):
    """The objects of a repository, sorted by name. What every plan looks at of all of them is in
    ``outlines``."""

    def __init__(
        self, outlines: Outlines, rows: Sequence[tuple[Any, ...]], make: Callable[[Any], ObjectDef]
    ) -> None:
        super().__init__(dict(zip(outlines.names, rows, strict=True)), make)
        self.outlines = outlines

    def __iter__(self) -> Iterator[ObjectName]:
        return iter(self._packed)


class Records(_Made[DeployedObject], MutableMapping[ObjectName, DeployedObject]):
    """A deployed state."""

    def __init__(
        self, packed: dict[tuple[str, ...], tuple[Any, ...]], make: Callable[[bytes], DeployedObject]
    ) -> None:
        super().__init__(packed, lambda row: make(row[2]))  # digest, dependencies, and the rest

    def changed(
        self, outlines: Outlines, needs: Mapping[ObjectName, tuple[ObjectName, ...]]
    ) -> list[ObjectName]:
        """Those objects that are not recorded with their digests and these dependencies."""
        rows = zip(outlines.names, outlines.digests, map(self._packed.get, outlines.names), strict=True)
        return [
            name
            for name, digest, found in rows
            if found is None or found[0] != digest or found[1] != needs[name]
        ]

    def outside(self, names: Iterable[tuple[str, ...]]) -> list[ObjectName]:
        """The recorded names that are not among these."""
        return [ObjectName(*name) for name in self._packed.keys() - set(names)]

    def __setitem__(self, name: ObjectName, record: DeployedObject) -> None:
        self._made[name] = record
        self._packed[name] = (record.digest, record.dependencies, b"")

    def __delitem__(self, name: ObjectName) -> None:
        del self._packed[name]
        self._made.pop(name, None)
