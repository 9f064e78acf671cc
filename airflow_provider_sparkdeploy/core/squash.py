"""What changes stand for: those in their ``baselinedChanges``, and what these stand for in turn.

``Squashes`` say of every change that stands for others, for which. They come from a file, where a
change that was squashed itself may still be, and from the log, which keeps them when it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from .order import components

Squashes = Mapping[str, tuple[str, ...]]
Inner = tuple[tuple[str, tuple[str, ...]], ...]  # the squashes among what a change stands for


def behind(names: Iterable[str], squashes: Squashes) -> tuple[str, ...]:
    """These changes, and all that they stand for, each once."""
    found: dict[str, None] = {}
    waiting = [*names][::-1]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += squashes.get(name, ())[::-1]
    return tuple(found)


def inner(names: Iterable[str], squashes: Squashes) -> Inner:
    """The squashes among these changes and all that they stand for."""
    return tuple((name, squashes[name]) for name in behind(names, squashes) if squashes.get(name))


def missing(names: Iterable[str], there: Collection[str], squashes: Squashes) -> tuple[str, ...]:
    """Those of these changes that are not there. One that stands for others is there if they are; if
    only some of them are, the others are missing."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = [*names][::-1]
    while waiting:
        name = waiting.pop()
        if name in there or name in seen:
            continue
        seen.add(name)
        if any(other in there for other in behind(squashes.get(name, ()), squashes)):
            waiting += squashes[name][::-1]
        else:
            found[name] = None
    return tuple(found)


def circles(squashes: Squashes) -> Iterator[tuple[str, ...]]:
    """Changes that stand for each other, or for themselves, in the order in which they are given."""
    number = {name: place for place, name in enumerate(squashes)}
    edges = [[number[name] for name in names if name in number] for names in squashes.values()]
    names = list(squashes)
    for group in sorted(components(edges)):
        if len(group) > 1 or group[0] in edges[group[0]]:
            yield tuple(names[place] for place in group)
